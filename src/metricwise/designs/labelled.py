"""Labelled samples with their scores, and the requests that a coordinator sends to them.

The coordinator knows scores by key only. Answers have one entry per bin or feature, whatever the number of samples, and
are the same bits however the samples are distributed: counts and sums in bins are whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats, Indices, Integers, Mask
from metricwise.designs.base import Design
from metricwise.designs.cluster.encoding import (
    EncodedCoefficients,
    EncodedWeights,
    decode_coefficients,
    encode_weights,
)
from metricwise.designs.cluster.messages import Request
from metricwise.kernels import histograms
from metricwise.kernels.random_numbers import STEP, mix

Codes = NDArray[np.int32]
Edges = tuple[Floats, Floats]


class UnknownScoresError(LookupError):
    """Requested scores were never computed by this worker: its chunks have moved here from another one."""


class Point(NamedTuple):
    """Scores as a combination p a + q b of two stored vectors, given by their keys; None is a vector of zeros."""

    a: int | None
    b: int | None
    p: float
    q: float


class Bins(NamedTuple):
    """Histogram of the scores of one class.

    Attributes
    ----------
    counts : array
        Samples per bin.
    low, high : arrays
        Least and greatest score per bin; infinite where there are no samples.
    a_sums, b_sums : arrays
        Sums over the samples of every bin of the two vectors that scores are combined of, in whole units.
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

    def merge(self, other: Bins) -> Bins:
        """Return the bins of the samples of both."""
        return Bins(
            self.counts + other.counts,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.a_sums + other.a_sums,
            self.b_sums + other.b_sums,
        )


class LabelledSamples:
    """Some chunks of samples with their labels, and with the scores that requests have stored.

    Parameters
    ----------
    designs : mapping of int to Design
        The chunks by number.
    codes : mapping of int to array
        The labels of their samples, as integers.
    gather : callable
        Returns some samples of a chunk, given its number and their positions.
    """

    def __init__(
        self, designs: Mapping[int, Design], codes: Mapping[int, Codes], gather: Callable[[int, Indices], Any]
    ) -> None:
        self.designs, self.codes, self.gather = designs, codes, gather
        self.stored: dict[int, dict[int, Floats]] = {}
        self._positives: tuple[int, dict[int, Mask]] = (-1, {})

    def positives(self, label: int) -> dict[int, Mask]:
        """Return which samples of every chunk have a label; the last result is cached."""
        if self._positives[0] != label:
            self._positives = label, {number: codes == label for number, codes in self.codes.items()}
        return self._positives[1]

    def vectors(self, number: int, point: Point) -> tuple[Floats, Floats]:
        """Return the two vectors of scores of a chunk that a point combines."""
        return self._vector(number, point.a), self._vector(number, point.b)

    def largest_score(self, key: int) -> float:
        """Return the largest absolute value of stored scores."""
        return max((float(np.abs(scores).max(initial=0.0)) for scores in self.stored[key].values()), default=0.0)

    def _vector(self, number: int, key: int | None) -> Floats:
        if key is None:
            return np.zeros(self.designs[number].shape[0])
        if key not in self.stored:
            raise UnknownScoresError(f"scores {key} are not stored on this worker: send their weights again")
        return self.stored[key][number]


@dataclass(frozen=True)
class StoreScores(Request[LabelledSamples, float]):
    """Compute and store X w under a key; the answer is the largest absolute score."""

    key: int
    w: Floats

    def answer(self, data: LabelledSamples) -> float:
        if self.key not in data.stored:
            data.stored[self.key] = {number: design.scores(self.w) for number, design in data.designs.items()}
        return data.largest_score(self.key)


@dataclass(frozen=True)
class StoreCombination(Request[LabelledSamples, float]):
    """Store the scores of a point under a key of their own; the answer is the largest absolute score."""

    key: int
    point: Point

    def answer(self, data: LabelledSamples) -> float:
        if self.key not in data.stored:
            vectors = {number: data.vectors(number, self.point) for number in data.designs}
            data.stored[self.key] = {k: self.point.p * a + self.point.q * b for k, (a, b) in vectors.items()}
        return data.largest_score(self.key)


@dataclass(frozen=True)
class DropOtherScores(Request[LabelledSamples, None]):
    """Drop all scores but those stored under some keys."""

    kept: tuple[int, ...]

    def answer(self, data: LabelledSamples) -> None:
        data.stored = {key: scores for key, scores in data.stored.items() if key in self.kept}


@dataclass(frozen=True)
class CountScores(Request[LabelledSamples, tuple[Bins, Bins]]):
    """Ask for the histograms of the samples with the label ``positive`` and of all others."""

    positive: int
    point: Point
    units: tuple[float, float]
    edges: Edges

    def answer(self, data: LabelledSamples) -> tuple[Bins, Bins]:
        pos, neg = (Bins.empty(between.size + 1) for between in self.edges)
        p, q = self.point.p, self.point.q
        for number, mask in data.positives(self.positive).items():
            a, b = data.vectors(number, self.point)
            for bins, between, of_class in zip((pos, neg), self.edges, (True, False), strict=True):
                histograms.count_scores(a, b, p, q, mask, between, of_class, *self.units, *bins)
        return pos, neg


@dataclass(frozen=True)
class CombineBins(Request[LabelledSamples, dict[int, EncodedWeights]]):
    """Ask for X' c of every chunk, where samples have the coefficients of their bins."""

    positive: int
    point: Point
    edges: Edges
    coefficients: tuple[EncodedCoefficients, EncodedCoefficients]

    def answer(self, data: LabelledSamples) -> dict[int, EncodedWeights]:
        p, q = self.point.p, self.point.q
        found: dict[int, EncodedWeights] = {}
        for number, mask in data.positives(self.positive).items():
            (a, b), c = data.vectors(number, self.point), np.zeros(mask.size)
            for encoded, between, of_class in zip(self.coefficients, self.edges, (True, False), strict=True):
                by_bin = decode_coefficients(encoded)
                histograms.spread_over_samples(a, b, p, q, mask, between, of_class, by_bin, c)
            found[number] = encode_weights(data.designs[number].combine(c))
        return found


@dataclass(frozen=True)
class SumSizes(Request[LabelledSamples, dict[int, tuple[Floats, Floats]]]):
    """Ask for the sums of abs(X) of every chunk over the samples with the label ``positive``, and over all others."""

    positive: int

    def answer(self, data: LabelledSamples) -> dict[int, tuple[Floats, Floats]]:
        found = {}
        for number, mask in data.positives(self.positive).items():
            design: Any = data.designs[number]
            found[number] = (
                design.column_sizes(mask.astype(np.float64)),
                design.column_sizes((~mask).astype(np.float64)),
            )
        return found


@dataclass(frozen=True)
class DrawSamples(Request[LabelledSamples, dict[int, Any]]):
    """Ask for random samples of every chunk, positives first; ``sizes`` has the numbers of both classes by chunk."""

    positive: int
    sizes: Mapping[int, tuple[int, int]]
    seed: int

    def answer(self, data: LabelledSamples) -> dict[int, Any]:
        found = {}
        for number, mask in data.positives(self.positive).items():
            random = np.random.default_rng([self.seed, number])
            samples = [
                np.sort(random.choice(np.flatnonzero(mask == of_class), count, replace=False))
                for count, of_class in zip(self.sizes[number], (True, False), strict=True)
            ]
            found[number] = data.gather(number, np.concatenate(samples))
        return found


@dataclass(frozen=True)
class SumFingerprints(Request[LabelledSamples, int]):
    """Ask for a hash of all samples and labels that does not depend on their order."""

    def answer(self, data: LabelledSamples) -> int:
        total = np.zeros(1, dtype=np.uint64)
        for number, design in data.designs.items():
            total += mix(design.fingerprints() + data.codes[number].astype(np.uint64) * STEP).sum(dtype=np.uint64)
        return int(total[0])
