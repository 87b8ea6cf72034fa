"""A training in a process of its own, meant to be killed: arguments are the way, the file of rows, checkpoint, output.

Prints a line for every checkpoint file it sees, and writes the model's numbers when it ends.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from metricwise import MiniBatchSVC, SPADEClassifier, STAMPClassifier

PASSES = 60


def train(way, rows, checkpoint):
    """Train one of the ways on the rows of a file; slow because of its many passes only."""

    def tell(_):
        sys.stdout.write("saved\n" if Path(checkpoint).exists() else "working\n")
        sys.stdout.flush()

    common = {"checkpoint": checkpoint, "every": 2000, "tol": -1.0, "callback": tell}
    if way == "fit":
        table = np.loadtxt(rows, delimiter=",")
        model = STAMPClassifier("f1", n_passes=2 * PASSES, **common)
        return model.fit(table[:, :-1], table[:, -1])
    if way == "batches":
        table = np.loadtxt(rows, delimiter=",")
        model = MiniBatchSVC("prbep", batch_rows=300, n_passes=PASSES, **common)
        return model.fit(table[:, :-1], table[:, -1])
    options = {"chunk_rows": 700}
    if way == "svmlight":
        return STAMPClassifier("jaccard", patience=PASSES, **common).fit_stream(rows, n_passes=PASSES, **options)
    return SPADEClassifier("g_mean", patience=PASSES, **common).fit_stream(rows, n_passes=PASSES, **options)


if __name__ == "__main__":
    way, rows, checkpoint, output = sys.argv[1:]
    model = train(way, rows, checkpoint)
    np.savez(output, coef=model.coef_, intercept=model.intercept_, threshold=model.threshold_)
