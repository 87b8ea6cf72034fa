"""Training in a process of its own, to be killed by the tests."""

from __future__ import annotations

import sys
import time

import numpy as np

from metricwise import MiniBatchSVC, SPADEClassifier, STAMPClassifier

N_PASSES = 30


def train(case, path, checkpoint):
    """Train on the samples of a file; return the model. Many passes make it slow enough to be killed."""
    common = {"checkpoint": checkpoint, "every": 2000, "tol": -1.0}
    if case == "fit":
        table = np.loadtxt(path, delimiter=",")
        model = STAMPClassifier("f1", n_passes=2 * N_PASSES, **common)
        return model.fit(table[:, :-1], table[:, -1])
    if case == "batches":
        table = np.loadtxt(path, delimiter=",")
        model = MiniBatchSVC("prbep", batch_size=300, n_passes=N_PASSES, **common)
        return model.fit(table[:, :-1], table[:, -1])
    options = {"chunk_rows": 700}
    if case == "svmlight":
        return STAMPClassifier("jaccard", patience=N_PASSES, **common).fit_stream(path, n_passes=N_PASSES, **options)
    return SPADEClassifier("g_mean", patience=N_PASSES, **common).fit_stream(path, n_passes=N_PASSES, **options)


def train_and_save(case, path, checkpoint, output, signal_at, connection):
    """Train, and write the model's arrays, the number of checkpoints and the median of the seconds between them.

    Before checkpoint number ``signal_at`` is written, a message is sent to ``connection``; two checkpoints later, the
    process sleeps until it is killed.
    """
    times = []

    def count_checkpoints(event, arguments):
        if event == "os.rename" and arguments[1] == checkpoint:
            times.append(time.monotonic())
            if len(times) == signal_at:
                connection.send_bytes(b"now")
            if signal_at is not None and len(times) > signal_at + 1:
                time.sleep(3600.0)

    sys.addaudithook(count_checkpoints)
    model = train(case, path, checkpoint)
    arrays = {"coef": model.coef_, "intercept": model.intercept_, "threshold": model.threshold_}
    np.savez(output, **arrays, n_written=len(times), pause=np.median(np.diff(times)))
