"""Synthetic samples for the benchmark of data on disk, written in a process of their own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

N_FEATURES = 1000
SHARE = 0.08  # of positives
_BLOCK = 20_000
_SIGNAL = 0.5  # by which positives differ in the features below
_N_INFORMATIVE = 40


def bytes_per_sample() -> int:
    """Return the bytes of a sample."""
    return 4 * N_FEATURES


def write_samples(folder: Path, n_samples: int, n_features: int = N_FEATURES) -> None:
    """Write ``X.npy`` (float32) and ``y.npy``: noise, and positives that differ a little in some features."""
    random = np.random.default_rng(0)
    y = random.random(n_samples) < SHARE
    np.save(folder / "y.npy", y)
    # Only written to: this process may be as large as it likes.
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(n_samples, n_features))
    for start in range(0, n_samples, _BLOCK):
        stop = min(start + _BLOCK, n_samples)
        block = random.standard_normal((stop - start, n_features), dtype=np.float32)
        block[y[start:stop], :_N_INFORMATIVE] += _SIGNAL
        X[start:stop] = block
    X.flush()


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    write_samples(Path(job["folder"]), job["n_samples"])
