"""Binary problems with repeated stratified splits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.data import load, view, views

Mask = NDArray[np.bool_]

MOST_SAMPLES = 20_000  # for training
MOST_TEST_SAMPLES = 20_000
TRAINING_SHARE = 0.6
# Simulated populations: share of positives, and separation of the classes.
SIMULATED = {
    "simulated, rare": (0.05, 1.0),
    "simulated, apart": (0.1, 1.5),
    "simulated, close": (0.3, 0.7),
    "simulated, even": (0.5, 1.0),
}
FEWEST, MOST = 10, 200  # positives of a topic


@dataclass(frozen=True)
class Split:
    """Training and test samples; terms of news are weighted (tf-idf) by the training samples."""

    name: str
    X: Any
    y: Mask
    X_test: Any
    y_test: Mask


def names() -> list[str]:
    """Return the names of all problems: binary views of the data sets, and topics of news."""
    return [*views(), *(f"topic {number}" for number in topics())]


@lru_cache(maxsize=1)
def topics() -> list[int]:
    """Return the numbers of the topics of news with 10 to 200 positives."""
    counts = np.asarray(_reuters()["y"].sum(axis=0)).ravel()
    return [int(number) for number in np.flatnonzero((counts >= FEWEST) & (counts <= MOST))]


@lru_cache(maxsize=1)
def _reuters() -> dict[str, Any]:
    return load("reuters21578")


def load_topic(name: str) -> tuple[Any, Mask]:
    """Return the term counts of the news, and which of them have a topic such as "topic 2"."""
    data = _reuters()
    return data["X"], np.asarray(data["y"][:, int(name.removeprefix("topic "))]).ravel() == 1


@lru_cache(maxsize=1)
def _load(name: str) -> tuple[Any, Mask]:
    return load_topic(name) if name.startswith("topic ") else view(name)


def simulate(name: str, repetition: int, n_samples: int = 2000) -> Split:
    """Return samples of a simulated population, with enough test samples to estimate its measures closely."""
    rare, separation = SIMULATED[name]
    X, y = make_classification(
        200_000, 10, n_informative=5, n_redundant=2, weights=[1.0 - rare], class_sep=separation, random_state=0
    )
    train, test = train_test_split(np.arange(len(y)), train_size=n_samples, random_state=repetition)
    return Split(name, X[train], y[train] == 1, X[test], y[test] == 1)


def split(name: str, repetition: int, most_samples: int = MOST_SAMPLES) -> Split:
    """Return a problem with the random split of a repetition; dense features are standardised."""
    X, y = _load(name)
    n_train = min(most_samples, round(TRAINING_SHARE * len(y)))
    n_test = min(MOST_TEST_SAMPLES, len(y) - n_train)
    train, test = train_test_split(
        np.arange(len(y)), train_size=n_train, test_size=n_test, random_state=repetition, stratify=y
    )
    if name.startswith("topic "):
        weighting = TfidfTransformer().fit(X[train])
        return Split(name, weighting.transform(X[train]), y[train], weighting.transform(X[test]), y[test])
    if sparse.issparse(X):
        return Split(name, X[train], y[train], X[test], y[test])
    scaler = StandardScaler().fit(X[train])
    return Split(name, scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])
