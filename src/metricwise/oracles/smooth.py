"""Smooth losses of scores, with slopes and second derivatives: squared hinges of pairs and of single samples.

They are to `metricwise.solvers.newton` what an oracle is to cutting planes. Scores come with the positives first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats
from metricwise.kernels import pairs, squared_pairs
from metricwise.oracles.base import Classes
from metricwise.threads import both

Integers = NDArray[np.int32]


class LossAt(Protocol):
    """A loss at certain scores."""

    @property
    def value(self) -> float: ...

    @property
    def slopes(self) -> Floats:
        """The derivative by every score."""
        ...

    def bend(self, direction: Floats) -> Floats:
        """Return the second derivative times a direction."""
        ...


class SmoothLoss(Protocol):
    """A convex function of the scores with a derivative, and a second one almost everywhere."""

    def at(self, scores: Floats) -> LossAt: ...

    def sample(self, rows: NDArray[np.int64]) -> SmoothLoss:
        """Return the loss of some samples, ascending, with both classes among them."""
        ...


@dataclass(frozen=True)
class PairsAt:
    """Squared hinge losses of pairs at certain scores: who is violated by whom."""

    value: float
    slopes: Floats
    classes: Classes
    scale: float
    pos_rows: Integers
    neg_rows: Integers
    first_pos: Integers
    last_neg: Integers

    def bend(self, direction: Floats) -> Floats:
        out = np.zeros(direction.size)
        rows = self.classes
        shared = rows.weight_array, rows.weighted, self.scale, direction, out
        both(
            lambda: squared_pairs.curvature_of_negatives(self.pos_rows, self.neg_rows, self.first_pos, *shared),
            lambda: squared_pairs.curvature_of_positives(self.pos_rows, self.neg_rows, self.last_neg, *shared),
            rows.sorting_threads,
        )
        return out


class PairSquares:
    """The mean over all pairs of max(0, 1 - (s_i - s_j))^2, i a positive and j a negative; one sort of each class."""

    def __init__(self, classes: Classes) -> None:
        self.classes = classes
        self._scale = 1.0 / (classes.pos_weight * classes.neg_weight)

    def at(self, scores: Floats) -> PairsAt:
        rows, n_pos = self.classes, self.classes.n_pos
        lowest, highest = float(scores[:n_pos].min()), float(scores[n_pos:].max())
        # A little more than can be violated: the partners are counted exactly.
        near = 1.0 + 1e-9 * max(1.0, abs(lowest), abs(highest))
        (pos_rows, pos), (neg_rows, neg) = both(
            lambda: pairs.near_rows(scores, 0, n_pos, -1.0, -(highest + near)),
            lambda: pairs.near_rows(scores, n_pos, scores.size, 1.0, lowest - near),
            rows.sorting_threads,
        )
        first_pos, last_neg = np.empty(neg.size, np.int32), np.empty(pos.size, np.int32)
        squared_pairs.count_partners(pos, neg, first_pos, last_neg)
        slopes = np.zeros(scores.size)
        weights = rows.weight_array, rows.weighted, self._scale, slopes
        (value, _), _ = both(
            lambda: squared_pairs.squares_by_negatives(pos_rows, pos, neg_rows, neg, first_pos, *weights),
            lambda: squared_pairs.slopes_of_positives(pos_rows, pos, neg_rows, neg, last_neg, *weights),
            rows.sorting_threads,
        )
        return PairsAt(value, slopes, rows, self._scale, pos_rows, neg_rows, first_pos, last_neg)

    def sample(self, rows: NDArray[np.int64]) -> PairSquares:
        weights = None if self.classes.weights is None else self.classes.weights[rows]
        n_pos = int(np.searchsorted(rows, self.classes.n_pos))
        return PairSquares(Classes(n_pos, rows.size - n_pos, weights, self.classes.threads))


@dataclass(frozen=True)
class RowsAt:
    """Squared hinge losses of samples at certain scores."""

    value: float
    slopes: Floats
    curvature: Floats

    def bend(self, direction: Floats) -> Floats:
        return self.curvature * direction


class RowSquares:
    """The weighted sum of max(0, 1 - s)^2."""

    def __init__(self, weights: Floats) -> None:
        self.weights = weights

    def at(self, scores: Floats) -> RowsAt:
        losses = np.maximum(1.0 - scores, 0.0)
        slopes = -2.0 * self.weights * losses
        return RowsAt(float(self.weights @ losses**2), slopes, 2.0 * self.weights * (losses > 0.0))

    def sample(self, rows: NDArray[np.int64]) -> RowSquares:
        return RowSquares(self.weights[rows])
