"""Samples with their labels and scores in one place: what is asked of them where they are, by a coordinator elsewhere.

The coordinator knows scores by number only. Answers are as long as there are bins or features, whatever the number of
samples, and are the same bits however the samples are shared among places: counts and sums in bins are whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats, Indices, Integers
from metricwise.designs.base import Design
from metricwise.designs.cluster.numbers import FewEntries, FewValues, by_entries, in_full
from metricwise.kernels import histograms
from metricwise.kernels.random_numbers import STEP, mix

Codes = NDArray[np.int32]
Edges = tuple[Floats, Floats]


class UnknownScoresError(LookupError):
    """Scores are asked for that were never computed here: samples have come to this place from another one."""


class Point(NamedTuple):
    """Scores as a mixture p a + q b of two vectors, told by their numbers; None is a vector of zeros."""

    a: int | None
    b: int | None
    p: float
    q: float


class Bins(NamedTuple):
    """The samples of a class, counted by score.

    Attributes
    ----------
    counts : array
        Samples in every bin.
    low, high : arrays
        Least and greatest score in every bin; infinite where there are no samples.
    a_sums, b_sums : arrays
        Sums over the samples of every bin of the two vectors that scores are mixed of, in whole units.
    """

    counts: Integers
    low: Floats
    high: Floats
    a_sums: Integers
    b_sums: Integers

    @classmethod
    def empty(cls, n_bins: int) -> Bins:
        """Return bins without samples."""
        a_sums, b_sums, counts = (np.zeros(n_bins, dtype=np.int64) for _ in range(3))
        return cls(counts, np.full(n_bins, np.inf), np.full(n_bins, -np.inf), a_sums, b_sums)

    def with_rows_of(self, other: Bins) -> Bins:
        """Return the bins of the samples of both."""
        return Bins(
            self.counts + other.counts,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.a_sums + other.a_sums,
            self.b_sums + other.b_sums,
        )


class LabelledRows:
    """Some chunks of samples, with their labels and with scores that were asked for.

    Parameters
    ----------
    designs : mapping of int to Design
        The chunks by number.
    codes : mapping of int to array
        The labels of their samples, as numbers.
    gather : callable
        Returns some samples of a chunk, given by its number and their positions.
    """

    def __init__(
        self, designs: Mapping[int, Design], codes: Mapping[int, Codes], gather: Callable[[int, Indices], Any]
    ) -> None:
        self.designs, self.codes, self._gather = designs, codes, gather
        self._scores: dict[int, dict[int, Floats]] = {}
        self._classes: tuple[int, dict[int, NDArray[np.bool_]]] = (-1, {})

    def scored(self, key: int, w: Floats) -> list[float]:
        """Compute X w, keep it by the number ``key``, and return the largest score, in absolute value."""
        if key not in self._scores:
            self._scores[key] = {number: design.scores(w) for number, design in self.designs.items()}
        return [self._largest(key)]

    def mixed(self, key: int, point: Point) -> list[float]:
        """Keep the scores of a point by a number of their own, and return the largest one."""
        if key not in self._scores:
            vectors = {number: self._vectors(number, point) for number in self.designs}
            self._scores[key] = {number: point.p * a + point.q * b for number, (a, b) in vectors.items()}
        return [self._largest(key)]

    def keep_only(self, keys: tuple[int, ...]) -> list[None]:
        """Forget all other scores."""
        self._scores = {key: scores for key, scores in self._scores.items() if key in keys}
        return [None]

    def histogram(self, positive: int, point: Point, units: tuple[float, float], edges: Edges) -> list[Any]:
        """Return the bins of the samples with the label ``positive``, and of all others."""
        found = tuple(Bins.empty(between.size + 1) for between in edges)
        for number, mask in self._positives(positive).items():
            a, b = self._vectors(number, point)
            for bins, between, of_class in zip(found, edges, (True, False), strict=True):
                histograms.count_scores(a, b, point.p, point.q, mask, between, of_class, *units, *bins)
        return [found]

    def combine(
        self, positive: int, point: Point, edges: Edges, coefficients: tuple[Floats | FewValues, Floats | FewValues]
    ) -> list[tuple[int, Floats | FewEntries]]:
        """Return X' c of every chunk, where samples have the coefficients of their bins."""
        answers: list[tuple[int, Floats | FewEntries]] = []
        for number, mask in self._positives(positive).items():
            (a, b), c = self._vectors(number, point), np.zeros(mask.size)
            for by_bin, between, of_class in zip(coefficients, edges, (True, False), strict=True):
                histograms.spread_over_samples(a, b, point.p, point.q, mask, between, of_class, in_full(by_bin), c)
            answers.append((number, by_entries(self.designs[number].combine(c))))
        return answers

    def sample(self, positive: int, wanted: Mapping[int, tuple[int, int]], seed: int) -> list[tuple[int, Any, int]]:
        """Return so many random samples of both classes of every chunk, positives first, and how many these are."""
        answers = []
        for number, mask in self._positives(positive).items():
            random = np.random.default_rng([seed, number])
            rows = [
                np.sort(random.choice(np.flatnonzero(mask == of_class), count, replace=False))
                for count, of_class in zip(wanted[number], (True, False), strict=True)
            ]
            answers.append((number, self._gather(number, np.concatenate(rows)), wanted[number][0]))
        return answers

    def fingerprints(self) -> list[int]:
        """Return a number that is another one if samples or their labels are others, whatever their order."""
        total = np.zeros(1, dtype=np.uint64)
        for number, design in self.designs.items():
            total += mix(design.fingerprints() + self.codes[number].astype(np.uint64) * STEP).sum(dtype=np.uint64)
        return [int(total[0])]

    def _positives(self, positive: int) -> dict[int, NDArray[np.bool_]]:
        if self._classes[0] != positive:
            self._classes = positive, {number: codes == positive for number, codes in self.codes.items()}
        return self._classes[1]

    def _vectors(self, number: int, point: Point) -> tuple[Floats, Floats]:
        a, b = (self._vector(number, key) for key in (point.a, point.b))
        return a, b

    def _vector(self, number: int, key: int | None) -> Floats:
        if key is None:
            return np.zeros(self.designs[number].shape[0])
        if key not in self._scores:
            raise UnknownScoresError(f"scores {key} are not here")
        return self._scores[key][number]

    def _largest(self, key: int) -> float:
        return max((float(np.abs(scores).max(initial=0.0)) for scores in self._scores[key].values()), default=0.0)
