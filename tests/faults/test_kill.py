"""Trainings killed at random moments go on from their last checkpoint and end with the same bits."""

from __future__ import annotations

import contextlib
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


def start(way, rows, checkpoint, output):
    """Return a process, and what receives its messages: one for every step of the training."""
    messages, telling = PROCESSES.Pipe(duplex=False)
    child = PROCESSES.Process(target=train_and_save, args=(way, str(rows), str(checkpoint), str(output), telling))
    child.start()
    telling.close()
    return child, messages


def undisturbed(way, rows, folder):
    """Train in one go; return the numbers, how many messages there were, and the seconds from one to the next."""
    child, messages = start(way, rows, folder / "whole.ckpt", folder / "whole.npz")
    began, count = time.monotonic(), take(messages)
    child.join()
    assert child.exitcode == 0
    return np.load(folder / "whole.npz"), count, (time.monotonic() - began) / count


def take(messages, most=None):
    """Take so many messages, or all until the other end is closed, as a full pipe would stop the training."""
    count = 0
    with contextlib.suppress(EOFError):
        while most is None or count < most:
            messages.recv_bytes()
            count += 1
    return count


@pytest.mark.parametrize("way", list(KILLS))
def test_killed_training_ends_with_the_same_bits(way, tmp_path):
    rows = write_rows(tmp_path, way)
    expected, count, pause = undisturbed(way, rows, tmp_path)
    checkpoint, output, dice = tmp_path / "run.ckpt", tmp_path / "run.npz", random.Random(way)
    kills = with_checkpoint = 0
    while not output.exists():
        child, messages = start(way, rows, checkpoint, output)
        if kills < KILLS[way]:
            take(messages, 1 + dice.randrange(max(1, int(0.35 * count / KILLS[way]))))
            time.sleep(dice.uniform(0.0, pause))
            child.kill()
            child.join()
            killed = child.exitcode == -signal.SIGKILL
            kills += killed
            with_checkpoint += killed and checkpoint.exists()
        take(messages)
        child.join()
        assert child.exitcode in (0, -signal.SIGKILL)
        assert kills > 0
    # A training that had ended before it was killed is not a kill, but most must have been hit.
    assert kills >= KILLS[way] - 1
    assert 2 * with_checkpoint >= kills
    found = np.load(output)
    for name in ("coef", "intercept", "threshold"):
        np.testing.assert_array_equal(found[name], expected[name])
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == sorted({rows.name, "whole.npz", "run.npz"})
