"""A design whose samples, labels and scores all stay where they are: what comes back is as long as bins or features.

`FarRows` asks one or several places (`LabelledRows`) and puts their answers together. Scores are a handle
(`FarScores`): they can be added and scaled like vectors, as a search along a line does, but not looked at. What can be
seen of them is a histogram of each class, and what can be done with one is to give the samples of every bin a
coefficient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count
from math import frexp, ldexp
from typing import Any, Protocol

import numpy as np

from metricwise._typing import Floats, Integers
from metricwise.designs.base import Design, sample_sizes
from metricwise.designs.cluster.numbers import added_up, by_values
from metricwise.designs.labelled import Bins, Edges, LabelledRows, Point, UnknownScoresError

_MOST_ATTEMPTS = 20
_KEYS = count()  # of scores, so that no two problems take each other's for their own


class Places(Protocol):
    """Where the samples are.

    Attributes
    ----------
    n_samples, n_weights : int
        Size of the data, the constant column included.
    is_sparse, threads, most_gathered
        As of a design.
    class_counts : array of shape (n_chunks, n_classes)
        Samples with every label in every chunk.
    bytes_moved : int
        Bytes of arrays that went there and back so far.
    """

    @property
    def n_samples(self) -> int: ...

    @property
    def n_weights(self) -> int: ...

    @property
    def is_sparse(self) -> bool: ...

    @property
    def threads(self) -> int: ...

    @property
    def most_gathered(self) -> int: ...

    @property
    def class_counts(self) -> Integers: ...

    @property
    def bytes_moved(self) -> int: ...

    def ask(self, method: str, *arguments: Any) -> list[Any]:
        """Return the answers of a method of `LabelledRows` from all places."""
        ...

    def stacked(self, blocks: Sequence[Any]) -> Design:
        """Return the design of gathered samples."""
        ...


class OnePlace:
    """All samples in this process, as one chunk.

    Parameters
    ----------
    design : Design
        The samples.
    codes : array of int
        Their labels, as numbers from 0 on.
    """

    bytes_moved = 0

    def __init__(self, design: Design, codes: Integers) -> None:
        self.n_samples, self.n_weights = design.shape
        self.is_sparse, self.threads = design.is_sparse, design.threads
        self.most_gathered = design.most_gathered
        self.class_counts = np.bincount(codes)[None, :]
        self._rows = LabelledRows({0: design}, {0: codes.astype(np.int32)}, lambda _, rows: design.gathered(rows))

    def ask(self, method: str, *arguments: Any) -> list[Any]:
        """Return the answers of the samples."""
        found: list[Any] = getattr(self._rows, method)(*arguments)
        return found

    def stacked(self, blocks: Sequence[Any]) -> Design:
        """Return the design of the only block."""
        (design,) = blocks
        found: Design = design
        return found


@dataclass(frozen=True)
class FarScores:
    """A mixture of scores that are known by number only.

    Examples
    --------
    >>> start, target = FarScores({0: 1.0}), FarScores({1: 1.0})
    >>> (start + 0.25 * (target - start)).mixture
    {0: 0.75, 1: 0.25}
    """

    mixture: Mapping[int, float]

    def share(self, key: int | None) -> float:
        """Return the share that scores with a number have in these."""
        return 0.0 if key is None else self.mixture.get(key, 0.0)

    def __add__(self, other: FarScores) -> FarScores:
        keys = dict.fromkeys([*self.mixture, *other.mixture])
        return FarScores({key: self.mixture.get(key, 0.0) + other.mixture.get(key, 0.0) for key in keys})

    def __rmul__(self, factor: float) -> FarScores:
        return FarScores({key: factor * share for key, share in self.mixture.items()})

    def __sub__(self, other: FarScores) -> FarScores:
        return self + (-1.0) * other


@dataclass(frozen=True)
class ScoreHistogram:
    """Both classes counted by score at one point; the positives come first in every pair.

    ``keys`` are the scores that are summed up in the bins, in ``units`` to one.
    """

    keys: tuple[int | None, int | None]
    units: tuple[float, float]
    edges: Edges
    classes: tuple[Bins, Bins]

    def sums(self, scores: FarScores) -> tuple[Floats, Floats]:
        """Return the sums over the samples of every bin of a mixture of the same scores."""
        p, q = (scores.share(key) / unit for key, unit in zip(self.keys, self.units, strict=True))
        pos, neg = (p * bins.a_sums + q * bins.b_sums for bins in self.classes)
        return pos, neg

    def rounding(self, scores: FarScores) -> float:
        """Return by how much the mean of a bin may be off, since scores are summed in units."""
        pairs = zip(self.keys, self.units, strict=True)
        return sum(0.5 * abs(scores.share(key)) / unit for key, unit in pairs)


class FarRows:
    """The samples of one binary problem.

    Parameters
    ----------
    places : Places
        Where they are.
    positive : int
        Number of the label of the positives.
    """

    def __init__(self, places: Places, positive: int) -> None:
        self._places, self._positive = places, positive
        self.shape = places.n_samples, places.n_weights
        self.is_sparse, self.threads = places.is_sparse, places.threads
        self.most_gathered = places.most_gathered
        of_chunks = places.class_counts
        self._chunk_counts = np.column_stack([of_chunks[:, positive], of_chunks.sum(axis=1) - of_chunks[:, positive]])
        self.n_pos, self.n_neg = (int(number) for number in self._chunk_counts.sum(axis=0))
        self._weights: dict[int, Floats] = {}
        self._largest: dict[int, float] = {}

    @property
    def bytes_moved(self) -> int:
        """Bytes that went to other places and back so far."""
        return self._places.bytes_moved

    def covector(self, w: Floats) -> Floats:
        """Return the vector whose product with any weights is their inner product with ``w``."""
        return w

    def portable(self, w: Floats) -> Floats:
        """Return weights in a form that does not depend on the order of the samples."""
        return w

    def scores(self, w: Floats) -> FarScores:
        """Compute X w where the samples are, and return a handle of it."""
        if not np.any(w):
            return FarScores({})
        key = next(_KEYS)
        self._largest[key] = max(self._ask("scored", key, w))
        self._weights[key] = w.copy()
        return FarScores({key: 1.0})

    def weights(self, scores: FarScores) -> Floats:
        """Return the weights that scores belong to."""
        w = np.zeros(self.shape[1])
        for key, share in scores.mixture.items():
            w += share * self._weights[key]
        return w

    def settled(self, scores: FarScores) -> FarScores:
        """Return the same scores as one vector; all others are forgotten."""
        kept = {key: share for key, share in scores.mixture.items() if share != 0.0}
        if kept and list(kept.values()) != [1.0]:
            key, w = next(_KEYS), self.weights(scores)
            self._largest[key] = max(self._ask("mixed", key, _point(scores)))
            self._weights[key] = w
            kept = {key: 1.0}
        if set(self._weights) - set(kept):
            self._weights = {key: self._weights[key] for key in kept}
            self._largest = {key: self._largest[key] for key in kept}
            self._ask("keep_only", tuple(kept))
        return FarScores(kept)

    def histogram(self, scores: FarScores, edges: Edges) -> ScoreHistogram:
        """Count the samples of both classes by score, in the bins between given edges."""
        point = _point(scores)
        units = self._units(point.a), self._units(point.b)
        found = self._ask("histogram", self._positive, point, units, edges)
        pos, neg = (reduce(Bins.with_rows_of, bins) for bins in zip(*found, strict=True))
        return ScoreHistogram((point.a, point.b), units, edges, (pos, neg))

    def largest(self, scores: FarScores) -> float:
        """Return a number that no score exceeds, in absolute value."""
        return float(sum(abs(share) * self._largest[key] for key, share in scores.mixture.items()))

    def _units(self, key: int | None) -> float:
        """Return how many units make one: as many as let no sum over all samples leave 62 bits."""
        largest = self._largest[key] if key is not None else 0.0
        if largest == 0.0:
            return 1.0
        exponent = frexp(largest)[1]  # largest < 2^exponent
        return ldexp(1.0, max(min(61 - self.shape[0].bit_length() - exponent, 1000), -1000))

    def combine(self, coefficients: BinCoefficients) -> Floats:
        """Return X' c, where every sample has the coefficient of its bin."""
        travelling = tuple(by_values(by_bin) for by_bin in coefficients.by_bin)
        point = _point(coefficients.scores)
        found = sorted(
            self._ask("combine", self._positive, point, coefficients.edges, travelling), key=lambda pair: pair[0]
        )
        return added_up((vector for _, vector in found), self.shape[1])

    def sample(self, n_samples: int, seed: int) -> tuple[Design, int]:
        """Return a random sample in memory, positives first, with the same share of them, and how many they are.

        Every chunk gives its share of either class.
        """
        few_pos, few_neg = sample_sizes(self.n_pos, self.n_neg, n_samples)
        shares = [_shared_out(few, self._chunk_counts[:, k]) for k, few in enumerate((few_pos, few_neg))]
        wanted = {number: (int(pos), int(neg)) for number, (pos, neg) in enumerate(zip(*shares, strict=True))}
        found = sorted(self._ask("sample", self._positive, wanted, seed), key=lambda answer: answer[0])
        design = self._places.stacked([block for _, block, _ in found])
        is_pos = np.concatenate([np.arange(sum(wanted[number])) < n_pos for number, _, n_pos in found])
        return design.take(np.concatenate([np.flatnonzero(is_pos), np.flatnonzero(~is_pos)])), few_pos

    def fingerprint(self) -> int:
        """Return a number that tells these samples and labels from others, whatever their order and their places."""
        return int(sum(self._ask("fingerprints"))) % 2**64

    def _ask(self, method: str, *arguments: Any) -> list[Any]:
        """Return the answers of all places; those that samples have come to anew compute the scores in use again."""
        for _ in range(_MOST_ATTEMPTS):
            try:
                return self._places.ask(method, *arguments)
            except UnknownScoresError:
                for key, w in self._weights.items():
                    self._places.ask("scored", key, w)
        raise ConnectionError(f"samples moved between places {_MOST_ATTEMPTS} times during one question")


@dataclass(frozen=True)
class BinCoefficients:
    """A coefficient for the samples of every bin, at certain scores; the positives come first."""

    scores: FarScores
    edges: Edges
    by_bin: tuple[Floats, Floats]


def _point(scores: FarScores) -> Point:
    """Return scores as those who have them take them."""
    keys = list(scores.mixture)
    if len(keys) > 2:
        raise ValueError(f"scores are a mixture of {len(keys)} vectors: settle them first")
    a, b = [*keys, None, None][:2]
    return Point(a, b, scores.share(a), scores.share(b))


def _shared_out(amount: int, sizes: Integers) -> Integers:
    """Return whole parts of an amount, which is no larger than all sizes together, in proportion to them.

    Examples
    --------
    >>> _shared_out(5, np.array([10, 0, 20]))
    array([2, 0, 3])
    """
    upto = np.round(np.cumsum(sizes) * (amount / sizes.sum())).astype(np.int64)
    parts: Integers = np.diff(upto, prepend=0)
    return parts
