"""The data sets with their official training and test parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from benchmarks.data import load

Labels = NDArray[np.int8]

SEED = 0
SUBSAMPLE = "mediamill_reduced"  # not the data of the paper
TITLES = {"scene": "Scene", "yeast_ml": "Yeast", "enron": "Enron", SUBSAMPLE: "Mediamill, a subsample"}
COMPARABLE = tuple(name for name in TITLES if name != SUBSAMPLE)


@dataclass(frozen=True)
class Problem:
    """Training and test samples (dense or CSR), and their labels."""

    name: str
    X: Any
    Y: Labels
    X_test: Any
    Y_test: Labels

    @property
    def title(self) -> str:
        """The name of the data set on the page."""
        return TITLES[self.name]

    def standardise(self) -> Problem:
        """Return the problem with features of unit variance in the training part, and mean 0 unless they are sparse."""
        scaler = StandardScaler(with_mean=not sparse.issparse(self.X)).fit(self.X)
        return replace(self, X=scaler.transform(self.X), X_test=scaler.transform(self.X_test))


def problem(name: str, n_samples: int | None = None) -> Problem:
    """Return one of ``TITLES``, or ``n_samples`` of its training samples, in the order of the file.

    Raises
    ------
    SkippedError
        Where the data are missing.
    """
    data = load(name)
    X, Y = data["X_train"], np.asarray(data["y_train"]).astype(np.int8)
    if n_samples is not None and n_samples < len(Y):
        indices = np.sort(np.random.default_rng(SEED).permutation(len(Y))[:n_samples])
        X, Y = X[indices], Y[indices]
    return Problem(name, X, Y, data["X_test"], np.asarray(data["y_test"]).astype(np.int8))
