"""A training in a process of its own, meant to be killed."""

from __future__ import annotations

import numpy as np

from metricwise import MiniBatchSVC, SPADEClassifier, STAMPClassifier

PASSES = 60


def train(way, rows, checkpoint, tell):
    """Train one of the ways on the rows of a file; slow because of its many passes only."""
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


def train_and_save(way, rows, checkpoint, output, messages):
    """Send a message at every step, and write the model's numbers at the end."""
    model = train(way, rows, checkpoint, lambda _: messages.send_bytes(b"."))
    np.savez(output, coef=model.coef_, intercept=model.intercept_, threshold=model.threshold_)
