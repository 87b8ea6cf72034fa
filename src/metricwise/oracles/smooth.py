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
from metricwise.threads import run_both

Integers = NDArray[np.int32]


class LossAt(Protocol):
    """A loss at certain scores."""

    @property
    def value(self) -> float: ...

    @property
    def slopes(self) -> Floats:
        """The derivative by every score."""
        ...

    def hessian_product(self, direction: Floats) -> Floats:
        """Return the Hessian times a direction."""
        ...


class SmoothLoss(Protocol):
    """A convex function of the scores with a derivative, and a second one almost everywhere."""

    def at(self, scores: Floats) -> LossAt: ...

    def sample(self, indices: NDArray[np.int64]) -> SmoothLoss:
        """Return the loss of a subset of the samples; ``indices`` ascend and include both classes."""
        ...


@dataclass(frozen=True)
class PairLossAt:
    """Squared hinge losses of pairs at certain scores, and the partners of each violated sample."""

    value: float
    slopes: Floats
    classes: Classes
    scale: float
    pos_indices: Integers
    neg_indices: Integers
    first_pos: Integers
    last_neg: Integers

    def hessian_product(self, direction: Floats) -> Floats:
        out = np.zeros(direction.size)
        classes = self.classes
        shared = classes.weights, self.scale, direction, out
        run_both(
            lambda: squared_pairs.curvature_of_negatives(self.pos_indices, self.neg_indices, self.first_pos, *shared),
            lambda: squared_pairs.curvature_of_positives(self.pos_indices, self.neg_indices, self.last_neg, *shared),
            classes.sorting_threads,
        )
        return out


class SquaredPairHinge:
    """The mean over all pairs of max(0, 1 - (s_i - s_j))^2, i a positive and j a negative; one sort per class."""

    def __init__(self, classes: Classes) -> None:
        self.classes = classes
        self._scale = 1.0 / (classes.pos_weight * classes.neg_weight)

    def at(self, scores: Floats) -> PairLossAt:
        classes, n_pos = self.classes, self.classes.n_pos
        lowest, highest = float(scores[:n_pos].min()), float(scores[n_pos:].max())
        # Slightly more samples than can be violated; the partners are counted exactly.
        near = 1.0 + 1e-9 * max(1.0, abs(lowest), abs(highest))
        (pos_indices, pos), (neg_indices, neg) = run_both(
            lambda: pairs.sort_near_margin(scores, 0, n_pos, -1.0, -(highest + near)),
            lambda: pairs.sort_near_margin(scores, n_pos, scores.size, 1.0, lowest - near),
            classes.sorting_threads,
        )
        first_pos, last_neg = np.empty(neg.size, np.int32), np.empty(pos.size, np.int32)
        squared_pairs.count_partners(pos, neg, first_pos, last_neg)
        slopes = np.zeros(scores.size)
        weights = classes.weights, self._scale, slopes
        (value, _), _ = run_both(
            lambda: squared_pairs.squares_by_negatives(pos_indices, pos, neg_indices, neg, first_pos, *weights),
            lambda: squared_pairs.slopes_of_positives(pos_indices, pos, neg_indices, neg, last_neg, *weights),
            classes.sorting_threads,
        )
        return PairLossAt(value, slopes, classes, self._scale, pos_indices, neg_indices, first_pos, last_neg)

    def sample(self, indices: NDArray[np.int64]) -> SquaredPairHinge:
        weights = None if self.classes.weights is None else self.classes.weights[indices]
        n_pos = int(np.searchsorted(indices, self.classes.n_pos))
        return SquaredPairHinge(Classes(n_pos, indices.size - n_pos, weights, self.classes.threads))


@dataclass(frozen=True)
class SampleLossAt:
    """Squared hinge losses of samples at certain scores."""

    value: float
    slopes: Floats
    curvature: Floats

    def hessian_product(self, direction: Floats) -> Floats:
        return self.curvature * direction


class SquaredHinge:
    """The weighted sum of max(0, 1 - s)^2."""

    def __init__(self, weights: Floats) -> None:
        self.weights = weights

    def at(self, scores: Floats) -> SampleLossAt:
        losses = np.maximum(1.0 - scores, 0.0)
        slopes = -2.0 * self.weights * losses
        return SampleLossAt(float(self.weights @ losses**2), slopes, 2.0 * self.weights * (losses > 0.0))

    def sample(self, indices: NDArray[np.int64]) -> SquaredHinge:
        return SquaredHinge(self.weights[indices])
