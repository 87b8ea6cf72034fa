"""The streams of the benchmark of online decisions: samples to choose settings on, the stream, test samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import f1_score, recall_score
from sklearn.preprocessing import StandardScaler

from benchmarks.data import load

N_TUNING, N_STREAM, N_TEST = 5000, 50_000, 10_000  # of covtype
TEXTS_TUNING, TEXTS_STREAM = 1000, 3500  # of rcv1sub1, whose other samples are the test
N_LABELS = 12
RARE, FREQUENT, RARER_TOPIC = 5, 2, 11  # classes of covtype; the rank of a topic by frequency
CHECKPOINTS = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
SKIPPED = 16  # the first batch, by which nothing can be predicted, counts for no method
PHASE, SHARES = 8000, (0.4, 0.04, 0.4, 0.04)  # of the drifting stream: samples of a phase, and its positives
N_DRIFT_TUNING, TUNING_PHASE = 25_000, 4000


@dataclass(frozen=True)
class Part:
    """Samples: features as they are, the same scaled, and classes or a matrix of labels."""

    X: Any
    scaled: Any
    y: Any

    def take(self, own: Any) -> Part:
        """Return some of the samples."""
        return Part(self.X[own], self.scaled[own], self.y[own])


@dataclass(frozen=True)
class Stream:
    """Samples to choose settings on, a stream, and test samples; the measures of interest."""

    name: str
    measures: tuple[str, ...]
    tuning: Part
    stream: Part
    test: Part

    @property
    def is_text(self) -> bool:
        """Whether the samples are sparse vectors of words."""
        return not isinstance(self.stream.X, np.ndarray)

    @property
    def classes(self) -> list[int] | None:
        """The classes; None for several labels."""
        return None if self.stream.y.ndim == 2 else np.unique(self.stream.y).tolist()

    def ordered(self, seed: int, most: int | None = None) -> Part:
        """Return the stream in a random order, all of it or the first samples."""
        order = np.random.default_rng(seed).permutation(len(self.stream.y))
        return self.stream.take(order[:most])

    def relabelled(self, name: str, measures: tuple[str, ...], make: Any) -> Stream:
        """Return the same samples with other targets."""
        parts = [replace(part, y=make(part.y)) for part in (self.tuning, self.stream, self.test)]
        return Stream(name, measures, *parts)


def load_streams(is_quick: bool) -> Iterator[Stream]:
    """Yield the stationary streams; raise SkippedError where data are missing."""
    covtype = load_covtype(is_quick)
    yield covtype
    yield covtype.relabelled(f"covtype, class {RARE}", ("f1", "g_mean"), lambda y: (y == RARE - 1).astype(np.int64))
    yield covtype.relabelled(f"covtype, class {FREQUENT}", ("f1",), lambda y: (y == FREQUENT - 1).astype(np.int64))
    texts = load_texts(is_quick)
    yield texts
    for rank, name in ((0, "most frequent topic"), (RARER_TOPIC, "12th most frequent topic")):
        yield texts.relabelled(f"rcv1sub1, {name}", ("f1",), lambda y, rank=rank: np.ascontiguousarray(y[:, rank]))


def load_covtype(is_quick: bool, n_tuning: int = N_TUNING) -> Stream:
    """Return covtype with its seven classes, numbered from 0."""
    found = load("covtype")
    X, y = np.ascontiguousarray(found["X"], dtype=np.float64), found["y"].astype(np.int64) - 1
    order = np.random.default_rng(0).permutation(len(y))
    scaled = StandardScaler().fit(X[order[:n_tuning]]).transform(X)
    n_stream, n_test = (4000, 2000) if is_quick else (N_STREAM, N_TEST)
    parts = _cut(Part(X, scaled, y), order, (n_tuning, n_stream, n_test))
    return Stream("covtype, 7 classes", ("f1_macro", "g_mean"), *parts)


def load_texts(is_quick: bool) -> Stream:
    """Return rcv1sub1 with its most frequent labels, the most frequent first."""
    found = load("rcv1sub1")
    frequent = np.argsort(-found["y"].sum(axis=0), kind="stable")[: RARER_TOPIC + 1 if is_quick else N_LABELS]
    X, y = found["X"].tocsr(), np.ascontiguousarray(found["y"][:, frequent]).astype(np.int64)
    order = np.random.default_rng(0).permutation(len(y))
    sizes = (TEXTS_TUNING, TEXTS_STREAM, len(y) - TEXTS_TUNING - TEXTS_STREAM)
    parts = _cut(Part(X, X, y), order, (300, 700, 500) if is_quick else sizes)
    return Stream(f"rcv1sub1, {y.shape[1]} labels", ("f1_macro", "f1_micro"), *parts)


def load_drifting(is_quick: bool) -> Stream:
    """Return covtype, class 2 vs the rest, of which the positives become rare, frequent and rare again."""
    covtype = load_covtype(is_quick, N_DRIFT_TUNING)
    whole = covtype.relabelled("covtype, class 2, drifting", ("f1",), lambda y: (y == FREQUENT - 1).astype(np.int64))
    phase = 600 if is_quick else PHASE
    tuning, stream = _drift(whole.tuning, TUNING_PHASE, 0), _drift(whole.stream, phase, 1)
    return replace(whole, tuning=tuning, stream=stream)


def _cut(whole: Part, order: Any, sizes: tuple[int, ...]) -> list[Part]:
    ends = np.cumsum(sizes)
    return [whole.take(order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


def _drift(part: Part, phase: int, seed: int) -> Part:
    """Return samples in phases with other shares of positives, each sample at most once."""
    random = np.random.default_rng(seed)
    positives, negatives = (random.permutation(np.flatnonzero(part.y == value)).tolist() for value in (1, 0))
    taken: list[int] = []
    for share in SHARES:
        n_positives = round(share * phase)
        own = [positives.pop() for _ in range(n_positives)] + [negatives.pop() for _ in range(phase - n_positives)]
        taken += random.permutation(own).tolist()
    return part.take(np.array(taken))


def evaluate(measure: str, y: Any, predicted: Any) -> float:
    """Return a measure of predictions by scikit-learn's functions; the G-mean is that of the recalls of all classes."""
    if measure == "g_mean":
        recalls = recall_score(y, predicted, average=None, labels=np.unique(y), zero_division=0.0)
        return float(np.prod(recalls) ** (1.0 / len(recalls)))
    average = {"f1": "binary", "f1_macro": "macro", "f1_micro": "micro"}[measure]
    if average == "macro" and y.ndim == 1:  # classes that have not occurred yet do not count
        return float(f1_score(y, predicted, average=average, labels=np.unique(y), zero_division=0.0))
    return float(f1_score(y, predicted, average=average, zero_division=0.0))
