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
    """Rows in two parts (dense or CSR), and their labels."""

    name: str
    X: Any
    Y: Labels
    X_test: Any
    Y_test: Labels

    @property
    def title(self) -> str:
        """What the data set is called on the page."""
        return TITLES[self.name]

    def standardised(self) -> Problem:
        """Return the problem with features of unit variance in the training part, and mean 0 unless they are sparse."""
        scaler = StandardScaler(with_mean=not sparse.issparse(self.X)).fit(self.X)
        return replace(self, X=scaler.transform(self.X), X_test=scaler.transform(self.X_test))


def problem(name: str, n_rows: int | None = None) -> Problem:
    """Return one of ``TITLES``, or so many of its training rows, in the order of the file.

    Raises
    ------
    SkippedError
        Where the data are missing.
    """
    data = load(name)
    X, Y = data["X_train"], np.asarray(data["y_train"]).astype(np.int8)
    if n_rows is not None and n_rows < len(Y):
        rows = np.sort(np.random.default_rng(SEED).permutation(len(Y))[:n_rows])
        X, Y = X[rows], Y[rows]
    return Problem(name, X, Y, data["X_test"], np.asarray(data["y_test"]).astype(np.int8))
