"""Files of every format with the same samples, for the tests of training on disk."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

RNG = np.random.default_rng(0)
X = np.round(16 * RNG.normal(size=(3000, 6))) / 16
X[RNG.random(X.shape) < 0.3] = 0.0
Y = X[:, 0] + X[:, 1] + 0.4 * RNG.normal(size=3000) > 1.3
NAMES = tuple("abcdef")


def write_npy(folder):
    """Write X.npy and y.npy, and return the path of the samples."""
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", Y)
    return folder / "X.npy"


def write_wide_samples(folder, n_samples, width):
    """Write X.npy and y.npy with more samples than a test should hold in memory."""
    samples = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(n_samples, width))
    random = np.random.default_rng(0)
    samples[:] = np.resize(random.standard_normal((1000, width), dtype=np.float32), samples.shape)
    labels = random.random(n_samples) < 0.1
    samples[labels, :5] += 2.0
    samples.flush()
    np.save(folder / "y.npy", labels)


def write_samples(folder, kind):
    """Write the samples to a file of the given kind; return its path and the options to open it."""
    path = folder / f"X.{kind.split()[-1]}"
    if kind == "npy":
        np.save(path, X)
    elif kind == "single npy":
        np.save(path, X.astype(np.float32))
    elif kind.endswith("npz"):
        sparse.save_npz(path, sparse.csr_matrix(X), compressed=kind == "compressed npz")
    elif kind == "svm":
        dump_svmlight_file(X, Y.astype(int), str(path), zero_based=False)
        return path, {}
    else:
        frame = pd.DataFrame(X, columns=list(NAMES)).assign(label=Y.astype(int))
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
        return path, {"target": "label"}
    return path, {"target": Y}
