"""Trainings killed at random moments go on from their last checkpoint and end with the same bits."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

ROOT = Path(__file__).resolve().parents[2]
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
    command = [sys.executable, "-m", "tests.faults.killed_training", way, str(rows), str(checkpoint), str(output)]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths}
    )


def undisturbed(way, rows, folder):
    """Train in one go; return the numbers, and how long the training itself took."""
    child = start(way, rows, folder / "whole.ckpt", folder / "whole.npz")
    child.stdout.readline()
    began = time.monotonic()
    child.stdout.read()
    assert child.wait() == 0
    return np.load(folder / "whole.npz"), time.monotonic() - began


@pytest.mark.parametrize("way", list(KILLS))
def test_killed_training_ends_with_the_same_bits(way, tmp_path):
    rows = write_rows(tmp_path, way)
    expected, seconds = undisturbed(way, rows, tmp_path)
    checkpoint, output, dice = tmp_path / "run.ckpt", tmp_path / "run.npz", random.Random(way)
    kills = with_checkpoint = 0
    while not output.exists():
        child = start(way, rows, checkpoint, output)
        child.stdout.readline()  # imports are over, training has begun
        if kills < KILLS[way]:
            time.sleep(dice.uniform(0.0, 0.6 * seconds / KILLS[way]))
            child.send_signal(signal.SIGKILL)
            killed = child.wait() == -signal.SIGKILL
            kills += killed
            with_checkpoint += killed and checkpoint.exists()
        child.stdout.read()
        code = child.wait()
        assert code in (0, -signal.SIGKILL)
        assert kills > 0
    # A training that had ended before it was killed is not a kill, but most must have been hit.
    assert kills >= KILLS[way] - 1
    assert 2 * with_checkpoint >= kills
    found = np.load(output)
    for name in ("coef", "intercept", "threshold"):
        np.testing.assert_array_equal(found[name], expected[name])
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == sorted({rows.name, "whole.npz", "run.npz"})
