"""Scores that stay with the samples.

Scores are a handle (`RemoteScores`) that can be added and scaled like a vector, as a line search does, but not looked
at. What can be seen of them is one histogram per class, and what can be done with a histogram is to give the samples of
every bin a coefficient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metricwise._typing import Floats
from metricwise.designs.labelled import Bins, Edges, Point


@dataclass(frozen=True)
class RemoteScores:
    """A linear combination of scores that stay with the samples, given by their keys.

    Examples
    --------
    >>> start, target = RemoteScores({0: 1.0}), RemoteScores({1: 1.0})
    >>> (start + 0.25 * (target - start)).factors
    {0: 0.75, 1: 0.25}
    """

    factors: Mapping[int, float]

    def factor(self, key: int | None) -> float:
        """Return the factor of the scores with a key."""
        return 0.0 if key is None else self.factors.get(key, 0.0)

    def __add__(self, other: RemoteScores) -> RemoteScores:
        keys = dict.fromkeys([*self.factors, *other.factors])
        return RemoteScores({key: self.factors.get(key, 0.0) + other.factors.get(key, 0.0) for key in keys})

    def __rmul__(self, scale: float) -> RemoteScores:
        return RemoteScores({key: scale * factor for key, factor in self.factors.items()})

    def __sub__(self, other: RemoteScores) -> RemoteScores:
        return self + (-1.0) * other


@dataclass(frozen=True)
class ScoreHistogram:
    """Histograms of the scores of both classes; the positives come first in every pair.

    ``keys`` are the scores whose sums the bins hold, with ``units`` as the number of units per 1.
    """

    keys: tuple[int | None, int | None]
    units: tuple[float, float]
    edges: Edges
    classes: tuple[Bins, Bins]

    def sums(self, scores: RemoteScores) -> tuple[Floats, Floats]:
        """Return the sums over the samples of every bin of a combination of the same scores."""
        p, q = (scores.factor(key) / unit for key, unit in zip(self.keys, self.units, strict=True))
        pos, neg = (p * bins.a_sums + q * bins.b_sums for bins in self.classes)
        return pos, neg

    def rounding(self, scores: RemoteScores) -> float:
        """Return a bound of the rounding error of the mean of a bin, since scores are summed in whole units."""
        pairs = zip(self.keys, self.units, strict=True)
        return sum(0.5 * abs(scores.factor(key)) / unit for key, unit in pairs)


@dataclass(frozen=True)
class BinCoefficients:
    """One coefficient per bin of a histogram, which all samples of the bin share; the positives come first."""

    scores: RemoteScores
    edges: Edges
    by_bin: tuple[Floats, Floats]


def to_point(scores: RemoteScores) -> Point:
    """Return scores as requests carry them."""
    keys = list(scores.factors)
    if len(keys) > 2:
        raise ValueError(
            f"scores combine {len(keys)} vectors, and requests carry two at most: call store_combination first"
        )
    a, b = [*keys, None, None][:2]
    return Point(a, b, scores.factor(a), scores.factor(b))
