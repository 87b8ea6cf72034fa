"""Suites of problems on which methods are compared, with repeated splits that depend on name and repetition alone."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split

from benchmarks.data import load, problem, problem_sizes, view, views
from benchmarks.quality.problems import Split, load_topic, topics

Integers = NDArray[np.int64]

TRAINING_SHARE = 0.6
MOST_SAMPLES, MOST_TEST_SAMPLES = 3000, 8000
FEWEST_POSITIVES = 10  # of training, in tables
# Tables with fewer than 50 positives among the test samples. F1 of a single split is hardly more than chance there.
FEW_TEST_POSITIVES, SPLITS_OF_FEW_POSITIVES = ("oil_spill", "abalone_19", "vowels", "smtp"), 6
SMALL_SAMPLES = 200
FEWEST_OF_SMALL, MOST_OF_SMALL = 8, 49  # training positives of small tables
FEWEST_OF_LABEL = 50  # samples with a label that is kept
# Digits and letters are also multiclass problems; the other multiclass ones are those of `problems()`.
MULTICLASS_FOLDERS = ("letter", "optdigits")
MULTILABEL_FOLDERS = ("emotions", "scene", "yeast_ml", "mediamill_reduced")
MOST_LABELS = 6  # the first of those that are kept, since every learner is trained once per label


@dataclass(frozen=True)
class Suite:
    """Problems that are reported together.

    Parameters
    ----------
    name : str
        The name, which is also that of the folder of its trials.
    repetitions : int
        Number of random splits per problem.
    more_repetitions : dict
        That of problems whose test samples have so few positives that single splits mean little, by name.
    problems : callable
        Returns the names of the problems.
    split : callable
        Returns a problem, by its name, with the split of a repetition.
    """

    name: str
    repetitions: int
    problems: Callable[[], list[str]]
    split: Callable[[str, int], Split]
    more_repetitions: Mapping[str, int] = field(default_factory=dict)

    def count_splits(self, problem: str) -> int:
        """Return the number of random splits of a problem."""
        return self.more_repetitions.get(problem, self.repetitions)


def _seed(name: str, repetition: int) -> int:
    return zlib.crc32(f"{name}, split {repetition}".encode())


def _tables() -> list[str]:
    return [*views(), *(name for name, n_classes in problem_sizes().items() if n_classes == 2)]


def _multiclass() -> list[str]:
    return [*MULTICLASS_FOLDERS, *(name for name, n_classes in problem_sizes().items() if n_classes > 2)]


@lru_cache(maxsize=1)
def _load_table(name: str) -> tuple[Any, NDArray[np.bool_]]:
    if name in views():
        return view(name)
    X, codes = problem(name)
    return X, codes == 1


def thin_to_share(y: NDArray[np.bool_], lowest: float, highest: float, seed: int) -> Integers:
    """Return sorted indices of samples whose share of positives lies between two bounds.

    Samples of the class that is too frequent are left out at random, from training and test samples alike.

    Parameters
    ----------
    y : array of bool
        Which samples are positive.
    lowest, highest : float
        Bounds of the share.
    seed : int
        Seeds the draw.

    Examples
    --------
    >>> y = np.arange(1000) < 10
    >>> indices = thin_to_share(y, 0.04, 0.2, seed=0)
    >>> len(indices), int(y[indices].sum())
    (250, 10)
    """
    random = np.random.default_rng(seed)
    positives, negatives = np.flatnonzero(y), np.flatnonzero(~y)
    share = len(positives) / len(y)
    if share < lowest:
        negatives = random.permutation(negatives)[: round(len(positives) * (1.0 - lowest) / lowest)]
    elif share > highest:
        positives = random.permutation(positives)[: round(len(negatives) * highest / (1.0 - highest))]
    return np.sort(np.concatenate([positives, negatives]))


def _draw(y: NDArray[Any], candidates: Integers, n_samples: int, seed: int) -> tuple[Integers, Integers]:
    """Return the indices of stratified training and test samples."""
    n_test = min(MOST_TEST_SAMPLES, len(candidates) - n_samples)
    train, test = train_test_split(
        candidates, train_size=n_samples, test_size=n_test, random_state=seed % 2**31, stratify=y[candidates]
    )
    return train, test


def _take(X: Any, indices: Integers) -> Any:
    return X[indices].toarray() if sparse.issparse(X) else X[indices]


def _split_binary(name: str, repetition: int, n_samples: int | None, lowest: int, highest: int | None) -> Split:
    X, y = _load_table(name)
    seed = _seed(name, repetition)
    size = n_samples or min(MOST_SAMPLES, round(TRAINING_SHARE * len(y)))
    kept = thin_to_share(y, lowest / size, 1.0 if highest is None else highest / size, seed)
    size = n_samples or min(MOST_SAMPLES, round(TRAINING_SHARE * len(kept)))
    train, test = _draw(y, kept, size, seed)
    return Split(name, _take(X, train), y[train], _take(X, test), y[test])


def split_table(name: str, repetition: int) -> Split:
    """Return a table of two classes with at most 3000 training samples, as dense arrays."""
    return _split_binary(name, repetition, None, FEWEST_POSITIVES, None)


def split_small(name: str, repetition: int) -> Split:
    """Return a table of two classes with 200 training samples, 8 to 49 of them positive."""
    return _split_binary(name, repetition, SMALL_SAMPLES, FEWEST_OF_SMALL, MOST_OF_SMALL)


def split_text(name: str, repetition: int) -> Split:
    """Return a topic of news, its terms weighted (tf-idf) by the training samples."""
    X, y = load_topic(name)
    train, test = train_test_split(
        np.arange(len(y)),
        train_size=round(TRAINING_SHARE * len(y)),
        random_state=_seed(name, repetition) % 2**31,
        stratify=y,
    )
    weighting = TfidfTransformer().fit(X[train])
    return Split(name, weighting.transform(X[train]), y[train], weighting.transform(X[test]), y[test])


def split_multiclass(name: str, repetition: int) -> Split:
    """Return a table of several classes with at most 3000 training samples."""
    if name in MULTICLASS_FOLDERS:
        data = load(name)
        X, y = data["X"], data["y"]
    else:
        X, y = problem(name)
    size = min(MOST_SAMPLES, round(TRAINING_SHARE * len(y)))
    train, test = _draw(y, np.arange(len(y)), size, _seed(name, repetition))
    return Split(name, X[train], y[train], X[test], y[test])


def split_multilabel(name: str, repetition: int) -> Split:
    """Return a multilabel problem with 60 % of its samples for training."""
    data = load(name)
    labels = data["y"].toarray() if sparse.issparse(data["y"]) else data["y"]
    frequent = np.flatnonzero(labels.sum(axis=0) >= FEWEST_OF_LABEL)[:MOST_LABELS]
    y = labels[:, frequent].astype(np.int64)
    train, test = train_test_split(
        np.arange(len(y)), train_size=TRAINING_SHARE, random_state=_seed(name, repetition) % 2**31
    )
    return Split(name, data["X"][train], y[train], data["X"][test], y[test])


SUITES = {
    suite.name: suite
    for suite in (
        Suite("tables", 2, _tables, split_table, dict.fromkeys(FEW_TEST_POSITIVES, SPLITS_OF_FEW_POSITIVES)),
        Suite("small", 4, _tables, split_small),
        Suite("texts", 2, lambda: [f"topic {number}" for number in topics()], split_text),
        Suite("multiclass", 2, _multiclass, split_multiclass),
        Suite("multilabel", 2, lambda: list(MULTILABEL_FOLDERS), split_multilabel),
    )
}
