"""The binary problems: all samples of a data set, a random 70 % of them for training, another one in every split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import train_test_split

from benchmarks.data import load

Mask = NDArray[np.bool_]

TEST_SHARE = 0.3
PROBING = ("satan.", "ipsweep.", "portsweep.", "nmap.")
_CODES, _DROPPED = (1, 3), 2  # columns of kddcup99: protocol and flag; service


@dataclass(frozen=True)
class Problem:
    """Training and test samples (dense or CSR), and which of them are positive."""

    name: str
    title: str
    X: Any
    y: Mask
    X_test: Any
    y_test: Mask

    @property
    def share(self) -> float:
        """The share of positives among the training samples."""
        return float(self.y.mean())


def problem(name: str, split: int, n_samples: int | None = None) -> Problem:
    """Return one of ``PROBLEMS``, or ``n_samples`` of its samples, with a numbered random split.

    Raises
    ------
    SkippedError
        Where the data are missing.
    """
    title, read = PROBLEMS[name]
    X, y = read()
    if n_samples is not None and n_samples < len(y):
        indices = np.sort(np.random.default_rng(split).permutation(len(y))[:n_samples])
        X, y = X[indices], y[indices]
    X, X_test, y, y_test = train_test_split(X, y, test_size=TEST_SHARE, random_state=split)
    if not sparse.issparse(X):
        X = np.ascontiguousarray(X)
    return Problem(name, title, X, y, X_test, y_test)


def _covertype(label: int) -> tuple[Any, Mask]:
    data = load("covtype")
    return data["X"], data["y"] == label


def _mnist() -> tuple[Any, Mask]:
    data = load("mnist")
    return data["X"], data["y"] == 8


def _kddcup99() -> tuple[Any, Mask]:
    """The training part; probing attacks vs the rest. Codes are one-hot encoded, services are dropped."""
    data = load("kddcup99_10pct")
    X = data["X_train"]
    encoded = [(X[:, [column]] == np.unique(X[:, column])).astype(np.float64) for column in _CODES]
    plain = np.delete(X, (*_CODES, _DROPPED), axis=1)
    codes = [code for code, name in enumerate(data["label_names"]) if str(name) in PROBING]
    return np.hstack([plain, *encoded]), np.isin(data["y_train"], codes)


def _w8a() -> tuple[Any, Mask]:
    data = load("w8a")
    return data["X"], data["y"] > 0


PROBLEMS: dict[str, tuple[str, Callable[[], tuple[Any, Mask]]]] = {
    "covtype_2": ("Covertype, class 2", lambda: _covertype(2)),
    "covtype_5": ("Covertype, class 5", lambda: _covertype(5)),
    "mnist_8": ("MNIST, digit 8", _mnist),
    "kddcup99": ("KDD Cup 1999, probing", _kddcup99),
    "w8a": ("w8a", _w8a),
}
