"""Trainings killed at random moments go on from their last checkpoint and end with the same bits."""

from __future__ import annotations

import multiprocessing
import random
import signal
import time

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from tests.faults.killed_training import train_and_save

# Processes of their own, made by one that has imported everything already.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([train_and_save.__module__])
KILLS = {"fit": 6, "batches": 5, "svmlight": 6, "csv": 6}  # 23 in all


def write_rows(folder, way):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(6000, 12)), 3)
    y = (X[:, 0] + 0.5 * rng.normal(size=6000) > 1.2).astype(int)
    path = folder / ("rows.svm" if way == "svmlight" else "rows.csv")
    if way == "svmlight":
        dump_svmlight_file(X, y, str(path), zero_based=False)
    else:
        np.savetxt(path, np.column_stack([X, y]), delimiter=",", fmt="%.4g")
    return path


def start(way, rows, checkpoint, output, waits_at=None):
    """Return a process, and what tells when it is about to write its checkpoint for the given time."""
    news, telling = PROCESSES.Pipe(duplex=False)
    child = PROCESSES.Process(
        target=train_and_save, args=(way, str(rows), str(checkpoint), str(output), waits_at, telling)
    )
    child.start()
    telling.close()
    return child, news


@pytest.mark.parametrize("way", list(KILLS))
def test_killed_training_ends_with_the_same_bits(way, tmp_path):
    rows = write_rows(tmp_path, way)
    whole, _ = start(way, rows, tmp_path / "whole.ckpt", tmp_path / "whole.npz")
    whole.join()
    assert whole.exitcode == 0
    expected = np.load(tmp_path / "whole.npz")
    n_written, pause = int(expected["n_written"]), float(expected["pause"])
    checkpoint, output, dice = tmp_path / "run.ckpt", tmp_path / "run.npz", random.Random(way)
    with_checkpoint = 0
    for _ in range(KILLS[way]):
        child, news = start(way, rows, checkpoint, output, 1 + dice.randrange(int(0.8 * n_written / KILLS[way])))
        news.recv_bytes()
        time.sleep(dice.uniform(0.0, pause))
        child.kill()
        child.join()
        assert child.exitcode == -signal.SIGKILL
        with_checkpoint += checkpoint.exists()
    child, _ = start(way, rows, checkpoint, output)
    child.join()
    assert child.exitcode == 0
    assert 2 * with_checkpoint >= KILLS[way]
    found = np.load(output)
    for name in ("coef", "intercept", "threshold"):
        np.testing.assert_array_equal(found[name], expected[name])
    assert found["n_written"] < n_written
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == sorted({rows.name, "whole.npz", "run.npz"})
