"""Training killed at random moments resumes from its last checkpoint and ends with the same bits."""

from __future__ import annotations

import multiprocessing
import random
import signal
import time

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from tests.faults.killed_training import train_and_save

# Every training has a process of its own, forked from one that has imported all modules already.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([train_and_save.__module__])
KILLS = {"fit": 6, "batches": 5, "svmlight": 6, "csv": 6}  # 23 in all


def write_samples(folder, case):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(6000, 12)), 3)
    y = (X[:, 0] + 0.5 * rng.normal(size=6000) > 1.2).astype(int)
    path = folder / ("rows.svm" if case == "svmlight" else "rows.csv")
    if case == "svmlight":
        dump_svmlight_file(X, y, str(path), zero_based=False)
    else:
        np.savetxt(path, np.column_stack([X, y]), delimiter=",", fmt="%.4g")
    return path


def start(case, path, checkpoint, output, signal_at=None):
    """Start training in a process; return it and the connection that receives a message at the given checkpoint."""
    receiver, sender = PROCESSES.Pipe(duplex=False)
    child = PROCESSES.Process(
        target=train_and_save, args=(case, str(path), str(checkpoint), str(output), signal_at, sender)
    )
    child.start()
    sender.close()
    return child, receiver


@pytest.mark.parametrize("case", list(KILLS))
def test_killed_training_ends_with_the_same_bits(case, tmp_path):
    path = write_samples(tmp_path, case)
    whole, _ = start(case, path, tmp_path / "whole.ckpt", tmp_path / "whole.npz")
    whole.join()
    assert whole.exitcode == 0
    expected = np.load(tmp_path / "whole.npz")
    n_written, pause = int(expected["n_written"]), float(expected["pause"])
    checkpoint, output, dice = tmp_path / "run.ckpt", tmp_path / "run.npz", random.Random(case)
    with_checkpoint = 0
    for _ in range(KILLS[case]):
        child, receiver = start(case, path, checkpoint, output, 1 + dice.randrange(int(0.8 * n_written / KILLS[case])))
        receiver.recv_bytes()
        time.sleep(dice.uniform(0.0, pause))
        child.kill()
        child.join()
        assert child.exitcode == -signal.SIGKILL
        with_checkpoint += checkpoint.exists()
    child, _ = start(case, path, checkpoint, output)
    child.join()
    assert child.exitcode == 0
    assert 2 * with_checkpoint >= KILLS[case]
    found = np.load(output)
    for name in ("coef", "intercept", "threshold"):
        np.testing.assert_array_equal(found[name], expected[name])
    assert found["n_written"] < n_written
    files = sorted(file.name for file in tmp_path.iterdir())
    assert files == sorted({path.name, "whole.npz", "run.npz"})
