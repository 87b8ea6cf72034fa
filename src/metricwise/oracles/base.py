"""The oracle protocol: find the labelling that violates the margin most at given scores.

Scores come with the positives first. With u the measure's mistakes per loss and D = 1 - measure, the oracle finds

    R = max over labellings y' of  D(y') + sum_i c_i s_i,   c_i = weight_i (y'_i - y_i) / (2 u),

which is the slack of the multivariate support vector machine at these scores. The true labels (D = 0, c = 0) are always
one of the labellings, so the slack is never negative.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from metricwise._typing import Floats
from metricwise.kernels import selection
from metricwise.rounding import sum_error

Table = tuple[float, float]  # weights of true and of false positives


class Labelling(Protocol):
    """A labelling (or an average of equally violated ones) found at certain scores."""

    @property
    def value(self) -> float:
        """D + c . s, the violation."""
        ...

    @property
    def loss(self) -> float:
        """D alone."""
        ...

    @property
    def table(self) -> tuple[float, float]:
        """Weights of true and of false positives; NaN where a labelling of pairs has no table."""
        ...

    def coefficients(self) -> Floats:
        """Return c, one entry per sample."""
        ...

    def slope(self, direction: Floats) -> float:
        """Return c . direction."""
        ...


class Oracle(Protocol):
    """Finds the most violated labelling; ``mistakes`` is u."""

    @property
    def classes(self) -> Classes: ...

    @property
    def mistakes(self) -> float: ...

    def violate(self, scores: Floats) -> Labelling: ...


@dataclass(frozen=True)
class Classes:
    """The samples of a problem: positives first, with their weights (None: every sample counts once).

    ``threads`` is the number of threads that may work on them.
    """

    n_pos: int
    n_neg: int
    weights: Floats | None = None
    threads: int = 1

    @property
    def sorting_threads(self) -> int:
        """How many threads sort the two classes: a short sort is over before a second thread has woken up."""
        return self.threads if min(self.n_pos, self.n_neg) >= _SAMPLES_WORTH_SHARING else 1

    @property
    def is_weighted(self) -> bool:
        return self.weights is not None

    @property
    def pos_weight(self) -> float:
        return float(self.n_pos if self.weights is None else self.weights[: self.n_pos].sum())

    @property
    def neg_weight(self) -> float:
        return float(self.n_neg if self.weights is None else self.weights[self.n_pos :].sum())

    @cached_property
    def weight_errors(self) -> tuple[float, float]:
        """By how much sums of weights of either class may differ from the exact ones."""
        if self.weights is None:
            return 0.0, 0.0
        return sum_error(self.weights[: self.n_pos]), sum_error(self.weights[self.n_pos :])

    @property
    def has_whole_weights(self) -> bool:
        """Whether every weight is a whole number, so that a sample stands for that many copies of it."""
        return self.weights is None or bool(np.all(self.weights == np.floor(self.weights)))


class Cut(NamedTuple):
    """The cut of a labelling in one class: samples beyond it are mislabelled, those on it by ``share``."""

    low: float
    high: float
    share: float

    def negate(self) -> Cut:
        """Return the cut of the negated scores."""
        return Cut(-self.high, -self.low, self.share)


NO_CUT = Cut(-np.inf, -np.inf, 0.0)

_SAMPLES_WORTH_SHARING = 10_000

# Scores that differ by less than this share of the largest one are tied: rounding errors must not choose among samples.
TIED = 1e-11

# At solutions many samples and pairs lie exactly on the margin. Those this close to it count as beyond it: the
# violation changes by no more than this, and rounding errors do not choose among them.
ON_MARGIN = 1e-10


@runtime_checkable
class BoundsSlack(Protocol):
    """An oracle with a slower variant whose value is proved to be no smaller than the slack but for rounded sums."""

    def exact(self) -> Oracle:
        """Return the variant."""
        ...


class MarginOracle:
    """An oracle that counts samples or pairs within rounding of the margin as beyond it."""

    _on_margin = ON_MARGIN

    def exact(self) -> Self:
        """Return the oracle that counts them as violated: its value is the largest one."""
        oracle = copy(self)
        oracle._on_margin = 0.0
        return oracle

    def _tolerance(self, scores: Floats, margin: float) -> float:
        """Return the distance from the margin within which samples count as beyond it."""
        return self._on_margin * max(abs(margin), float(scores.max()), -float(scores.min()))


@dataclass(frozen=True)
class CutLabelling:
    """A labelling that misses the positives below one cut and predicts positive the negatives above another."""

    value: float
    loss: float
    table: tuple[float, float]
    pos: Cut
    neg: Cut
    scores: Floats
    classes: Classes
    scale: float

    def _arguments(self) -> tuple[Any, ...]:
        classes = self.classes
        return classes.n_pos, *self.pos, *self.neg, classes.weights, self.scale

    def coefficients(self) -> Floats:
        out = np.empty(self.scores.size)
        selection.labelling_coefficients(self.scores, *self._arguments(), out)
        return out

    def slope(self, direction: Floats) -> float:
        return float(selection.labelling_slope(self.scores, direction, *self._arguments()))


def cut_after(keys: Floats, weights: Floats | None, amount: float, tied: float = TIED) -> Cut:
    """Return the cut that takes ``amount`` of weight off the front of the ascending ``keys``; ties get equal shares.

    Keys are tied if they differ by at most ``tied`` times the largest one. A sample at the end of ``amount`` is left
    out if its part is lost in the rounding of sums: `bound_table` bounds what the cut really takes.
    """
    if amount <= 0.0 or keys.size == 0:
        return NO_CUT
    if weights is None:
        last = min(int(np.ceil(amount)), keys.size) - 1
    else:
        total = np.cumsum(weights)
        # Rounding in the sums must not push the cut past the sample at which the amount is reached.
        last = min(int(np.searchsorted(total, amount * (1.0 - 1e-12))), keys.size - 1)
    reach = tied * max(abs(keys[0]), abs(keys[-1]))
    low, high = float(keys[last] - reach), float(keys[last] + reach)
    first, end = np.searchsorted(keys, low, "left"), np.searchsorted(keys, high, "right")
    before = float(first) if weights is None else float(total[first - 1]) if first > 0 else 0.0
    on_cut = float(end - first) if weights is None else float(total[end - 1]) - before
    if weights is not None and end == keys.size and amount >= total[-1] * (1.0 - 1e-12):
        return Cut(low, high, 1.0)  # a loss may be steep where rounding leaves out a little of the whole class
    return Cut(low, high, min(max((amount - before) / on_cut, 0.0), 1.0))


def bound_table(classes: Classes, cuts: tuple[Cut, Cut], keys: tuple[Floats, Floats], weights: Any) -> Table:
    """Return the most true and the fewest false positives that two cuts of sorted samples with weights may leave."""
    totals = classes.pos_weight, classes.neg_weight
    missed, alarms = (
        _least_weight_taken(*part) for part in zip(cuts, keys, weights, totals, classes.weight_errors, strict=True)
    )
    return classes.pos_weight - missed, alarms


def _least_weight_taken(cut: Cut, keys: Floats, weights: Floats, total: float, error: float) -> float:
    """Return a lower bound of the weight that a cut takes of a class of weight ``total``; exact for all or nothing."""
    first, end = np.searchsorted(keys, cut.low, "left"), np.searchsorted(keys, cut.high, "right")
    if end == keys.size and (cut.share == 1.0 or first == end):
        return total
    taken = float(weights[:first].sum()) + cut.share * float(weights[first:end].sum())
    return max(taken - error, 0.0)
