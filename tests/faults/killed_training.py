"""A training in a process of its own, meant to be killed."""

from __future__ import annotations

import sys
import time

import numpy as np

from metricwise import MiniBatchSVC, SPADEClassifier, STAMPClassifier

PASSES = 60


def train(way, rows, checkpoint):
    """Train one of the ways on the samples of a file; slow because of its many passes only."""
    common = {"checkpoint": checkpoint, "every": 2000, "tol": -1.0}
    if way == "fit":
        table = np.loadtxt(rows, delimiter=",")
        model = STAMPClassifier("f1", n_passes=2 * PASSES, **common)
        return model.fit(table[:, :-1], table[:, -1])
    if way == "batches":
        table = np.loadtxt(rows, delimiter=",")
        model = MiniBatchSVC("prbep", batch_size=300, n_passes=PASSES, **common)
        return model.fit(table[:, :-1], table[:, -1])
    options = {"chunk_rows": 700}
    if way == "svmlight":
        return STAMPClassifier("jaccard", patience=PASSES, **common).fit_stream(rows, n_passes=PASSES, **options)
    return SPADEClassifier("g_mean", patience=PASSES, **common).fit_stream(rows, n_passes=PASSES, **options)


def train_and_save(way, rows, checkpoint, output, waits_at, news):
    """Train, and write the model's numbers, how often the checkpoint was written, and the seconds from one to the next.

    Before the checkpoint is written for the given time, there is news; two later, the process waits to be killed.
    """
    times = []

    def before(event, arguments):
        if event == "os.rename" and arguments[1] == checkpoint:
            times.append(time.monotonic())
            if len(times) == waits_at:
                news.send_bytes(b"now")
            if waits_at is not None and len(times) > waits_at + 1:
                time.sleep(3600.0)

    sys.addaudithook(before)
    model = train(way, rows, checkpoint)
    numbers = {"coef": model.coef_, "intercept": model.intercept_, "threshold": model.threshold_}
    np.savez(output, **numbers, n_written=len(times), pause=np.median(np.diff(times)))
