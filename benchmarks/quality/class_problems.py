"""Multiclass and multilabel problems with repeated splits, on which intervals are tested."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import (
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_multilabel_classification,
)
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.data import load
from benchmarks.quality.problems import Split

Data = tuple[Any, Any]

MOST_SAMPLES = 300  # of training, and of testing, from data sets
FEWEST_OF_CLASS = 150  # samples of a class or label that is kept


def _generate_classes(n_classes: int, shares: list[float], separation: float, n_samples: int, seed: int) -> Data:
    """Return fresh samples of a population, twice as many as are trained on."""
    random = np.random.default_rng(seed)
    X, y = make_classification(
        20_000,
        12,
        n_informative=8,
        n_redundant=2,
        n_classes=n_classes,
        n_clusters_per_class=1,
        weights=shares,
        class_sep=separation,
        flip_y=0.02,
        random_state=1,
    )
    drawn = random.choice(len(y), 2 * n_samples, replace=False)
    return X[drawn], y[drawn]


@lru_cache  # scikit-learn draws sample by sample
def _label_population(n_labels: int, labels_per_sample: int) -> Data:
    X, Y = make_multilabel_classification(
        5_000, 20, n_classes=n_labels, n_labels=labels_per_sample, allow_unlabeled=True, random_state=1
    )
    return X, Y


def _generate_labels(n_labels: int, labels_per_sample: int, n_samples: int, seed: int) -> Data:
    X, Y = _label_population(n_labels, labels_per_sample)
    drawn = np.random.default_rng(seed).choice(len(Y), 2 * n_samples, replace=False)
    return X[drawn], Y[drawn]


def _load_arrays(read: Callable[..., Any], seed: int) -> Data:
    X, y = read(return_X_y=True)
    return X, y


@lru_cache(maxsize=1)
def _read_folder(name: str) -> Data:
    data = load(name)
    X, y = data["X"], data["y"].toarray() if sparse.issparse(data["y"]) else data["y"]
    if y.ndim == 2:
        return X, y[:, y.sum(axis=0) >= FEWEST_OF_CLASS]
    classes, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, classes[counts >= FEWEST_OF_CLASS])
    return X[kept], y[kept]


def _load_folder(name: str, seed: int) -> Data:
    return _read_folder(name)


MULTICLASS: dict[str, Callable[[int], Data]] = {
    "iris": partial(_load_arrays, load_iris),
    "wine": partial(_load_arrays, load_wine),
    "digits": partial(_load_arrays, load_digits),
    "optdigits": partial(_load_folder, "optdigits"),
    "abalone": partial(_load_folder, "abalone"),
    "generated, 3 classes": partial(_generate_classes, 3, [0.7, 0.2, 0.1], 1.0, 300),
    "generated, 3 rare classes": partial(_generate_classes, 4, [0.85, 0.05, 0.05, 0.05], 1.5, 300),
    "generated, 5 classes": partial(_generate_classes, 5, [0.5, 0.2, 0.15, 0.1, 0.05], 1.0, 300),
    "generated, 10 classes": partial(_generate_classes, 10, [0.4] + [0.1] * 3 + [0.05] * 6, 1.5, 300),
}
MULTILABEL: dict[str, Callable[[int], Data]] = {
    "emotions": partial(_load_folder, "emotions"),
    "scene": partial(_load_folder, "scene"),
    "yeast": partial(_load_folder, "yeast_ml"),
    "generated, 5 labels": partial(_generate_labels, 5, 2, 300),
    "generated, 10 labels": partial(_generate_labels, 10, 2, 300),
    "generated, 20 labels": partial(_generate_labels, 20, 4, 300),
}


def split_classes(name: str, repetition: int) -> Split:
    """Return a problem with the random split of a repetition, half of it for training; features are standardised."""
    makers = MULTICLASS if name in MULTICLASS else MULTILABEL
    X, y = makers[name](repetition)
    size = min(MOST_SAMPLES, len(y) // 2)
    train, test = train_test_split(np.arange(len(y)), train_size=size, test_size=size, random_state=repetition)
    scaler = StandardScaler().fit(X[train])
    return Split(name, scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])
