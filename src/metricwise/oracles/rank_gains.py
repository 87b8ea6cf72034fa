"""Gains by rank: the most violated ranking, for average precision, NDCG and their like (Yue et al. 2007, SVM-map).

The i-th best positive gains f(i, k) at rank k. With n+ positives and n- negatives, the slack is

    R = max over rankings of  sum_i f(i, i) - f(i, rank_i)  -  1 / (n+ n-)  sum of s_i - t_j over swapped pairs,

a swapped pair being a negative j above a positive i. Within either class the order of the scores is the best one, so a
ranking is given by the numbers r_j of positives above every negative, and R is a sum over negatives of

    sum over i > r_j of  f(i, i + j - 1) - f(i, i + j) - (s_i - t_j) / (n+ n-).

Where f is convex in the rank, all terms fall with j, so that the best r_j never falls: each is looked for between its
neighbours, in O(n log n) steps after the sort, where the paper takes n+ n-. R bounds the loss of the ranking by the
scores from above, whatever the order of tied samples: swapped pairs then add nothing negative.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats
from metricwise.kernels import pairs, rank_gains, selection
from metricwise.measures.base import Measure
from metricwise.measures.rank_gains import NDCG, AveragePrecision, ReciprocalRank
from metricwise.oracles.base import TIED, Classes, MarginOracle
from metricwise.oracles.ranking import PairLabelling
from metricwise.threads import run_both

Counts = NDArray[np.int64]
# From descending scores of positives and negatives, scale and tolerance to the positives above every negative.
Placement = Callable[[Floats, Floats, float, float], Counts]

MOST_COPIES = 1 << 28  # of samples with weights
_BLOCK = 1 << 20  # gains that are compared at a time
_ROUNDING = 32 * 2.0**-53  # of a gain: by how much computed ones may miss the required shape


class RankGainOracle(MarginOracle):
    """The oracle of a measure of gains by rank; whole-number weights are copies of their samples."""

    def __init__(self, measure: Any, classes: Classes, mistakes: float, *, scans: bool = False) -> None:
        check_copies(measure, classes)
        self.classes = classes
        self.mistakes = mistakes
        self._measure = measure
        self._n_pos, self._n_neg = int(classes.pos_weight), int(classes.neg_weight)
        self._scale = 1.0 / (classes.pos_weight * classes.neg_weight)
        self._place = _place_by_scan(self._drops) if scans else self._choose_placement()

    @cached_property
    def _perfect_gains(self) -> Floats:
        """The gains of the positives where no negative is above any of them."""
        return self._gains(0)

    def _gains(self, passed: Counts | int) -> Floats:
        """Return the gains of the positives, given the number of negatives above each."""
        order = np.arange(1, self._n_pos + 1)
        gains: Floats = self._measure.rank_gain(order, order + passed, self._n_pos)
        return gains

    def _drops(self, i: Counts, j: Counts) -> Floats:
        """Return what the i-th positive loses where the j-th negative comes to stand above it."""
        before, after = (self._measure.rank_gain(i, i + j - shift, self._n_pos) for shift in (1, 0))
        return np.asarray(before - after, dtype=np.float64)

    def _choose_placement(self) -> Placement:
        measure, nothing = self._measure, np.empty(0)
        if type(measure) is AveragePrecision:
            return _place_compiled(rank_gains.AVERAGE_PRECISION, nothing)
        if type(measure) is ReciprocalRank:
            return _place_compiled(rank_gains.FIRST_POSITIVE, nothing)
        if type(measure) is NDCG and measure.k is None:
            ranks = np.arange(1, self._n_pos + self._n_neg)
            return _place_compiled(rank_gains.BY_RANK, self._drops(np.ones_like(ranks), ranks))
        check_gains(measure, self._n_pos, self._n_neg)
        return _place_by_rounds(self._drops)

    def violate(self, scores: Floats) -> PairLabelling:
        n_pos = self.classes.n_pos
        largest = max(float(scores.max()), -float(scores.min()))
        tied = TIED * largest if self._on_margin else 0.0
        sides = run_both(
            lambda: _SortedClass(scores[:n_pos], self._weights(slice(n_pos))),
            lambda: _SortedClass(scores[n_pos:], self._weights(slice(n_pos, None))),
            self.classes.sorting_threads,
        )
        pos, neg = sides
        tolerance = self._tolerance(scores, 1.0) / self._n_neg
        above = self._place(pos.copies, neg.copies, self._scale, tolerance)
        passed = rank_gains.count_passing(above, self._n_pos)
        loss = float((self._perfect_gains - self._gains(passed)).sum())
        out = np.empty(scores.size)
        pos.share(passed, tied, -self._scale, out[:n_pos])
        neg.share(self._n_pos - above, tied, self._scale, out[n_pos:])
        return PairLabelling(loss + float(selection.dot(out, scores)), loss, out)

    def _weights(self, part: slice) -> Floats | None:
        return None if self.classes.weights is None else self.classes.weights[part]


class _SortedClass:
    """The samples of a class in the order of their scores, the best first, each as often as it has copies."""

    def __init__(self, scores: Floats, weights: Floats | None) -> None:
        self._ascending, values = pairs.argsort_scores(scores)
        self._values = np.ascontiguousarray(values[::-1])
        self._weights = weights
        copies = None if weights is None else weights[self._ascending[::-1]].astype(np.int64)
        self.copies = self._values if copies is None else np.repeat(self._values, copies)

    def share(self, partners: Counts, tied: float, scale: float, out: Floats) -> None:
        """Write how many partners every sample has, times ``scale``, given those of the copies."""
        rank_gains.share_partners(self._ascending, self._values, self._weights, partners, tied, scale, out)


def _place_compiled(kind: int, drops: Floats) -> Placement:
    return lambda pos, neg, scale, tolerance: rank_gains.place_negatives(kind, drops, pos, neg, scale, tolerance)


def _place_by_rounds(drops: Callable[[Counts, Counts], Floats]) -> Placement:
    """Return the placement by gains that Python computes, for all negatives of a round at once."""

    def place(pos: Floats, neg: Floats, scale: float, tolerance: float) -> Counts:
        above = np.zeros(neg.size + 1, dtype=np.int64)
        step = 1 << (neg.size.bit_length() - 1)
        while step:
            j = np.arange(step, neg.size + 1, 2 * step)
            lowest = np.where(j + step <= neg.size, above[np.minimum(j + step, neg.size)], pos.size)
            above[j] = _place_round(drops, pos, neg, j, (above[j - step], lowest), scale, tolerance)
            step //= 2
        return above[1:]

    return place


def _place_round(
    drops: Callable[[Counts, Counts], Floats],
    pos: Floats,
    neg: Floats,
    j: Counts,
    limits: tuple[Counts, Counts],
    scale: float,
    tolerance: float,
) -> Counts:
    """Return the best places of the negatives ``j`` between the limits of each."""
    highest, lowest = limits
    ends = np.cumsum(lowest - highest)
    starts = ends - (lowest - highest)
    number = np.repeat(np.arange(j.size), lowest - highest)
    i = np.arange(number.size) - starts[number] + highest[number]  # from 0
    terms = drops(i + 1, j[number]) - scale * (pos[i] - neg[j[number] - 1])
    places = np.empty(j.size, dtype=np.int64)
    rank_gains.place_between(starts, ends, highest, terms, tolerance, places)
    return places


def _place_by_scan(drops: Callable[[Counts, Counts], Floats]) -> Placement:
    """Return the placement that compares all places of each negative, in n+ n- steps, to check the faster ones."""

    def place(pos: Floats, neg: Floats, scale: float, tolerance: float) -> Counts:
        everywhere = np.zeros(1, dtype=np.int64), np.full(1, pos.size)
        parts = [
            _place_round(drops, pos, neg, np.array([j]), everywhere, scale, tolerance) for j in range(1, neg.size + 1)
        ]
        return np.maximum.accumulate(np.concatenate(parts))  # equally good places may come in any order

    return place


def check_copies(measure: Measure, classes: Classes) -> None:
    """Raise a ValueError unless all weights are numbers of copies, not too many in all."""
    if not classes.has_whole_weights:
        raise ValueError(
            f"measure {measure.name!r} is trained with sample weights that are whole numbers, each for so many copies "
            "of a sample, but some weights (class_weight included) have fractions: round them, or train for 'roc_auc', "
            "which takes any weights"
        )
    copies = classes.pos_weight + classes.neg_weight
    if copies > MOST_COPIES:
        raise ValueError(
            f"the sample weights stand for {copies:,.0f} copies of samples, more than the {MOST_COPIES:,} that can be "
            f"ranked for measure {measure.name!r}: give smaller weights, or train for 'roc_auc'"
        )


def check_gains(measure: Any, n_pos: int, n_neg: int) -> None:
    """Raise a ValueError unless the gains of a measure have the shape that training needs, at every rank.

    Examples
    --------
    >>> from metricwise.measures import NDCG
    >>> check_gains(NDCG(), 2, 3)
    >>> check_gains(NDCG(k=3), 2, 3)
    Traceback (most recent call last):
        ...
    ValueError: NDCG(k=3) cannot be trained for: the gain of positive 1 is not convex in the rank at rank 3. ...
    """
    order = np.arange(1, n_pos + 1)
    best = float(np.asarray(measure.rank_gain(order, order, n_pos), dtype=np.float64).sum())
    if not abs(best - 1.0) <= _ROUNDING * max(n_pos, 32):
        raise ValueError(
            f"{measure!r} cannot be trained for: the gains of a perfect ranking of {n_pos} positives add up to "
            f"{best!r}. Divide rank_gain(i, k, n_pos) by their sum"
        )
    width = max(_BLOCK // (n_neg + 1), 1)
    for first in range(1, n_pos + 1, width):
        i = np.arange(first, min(first + width, n_pos + 1))[:, None]
        _check_block(measure, i, np.asarray(measure.rank_gain(i, i + np.arange(n_neg + 1), n_pos), dtype=np.float64))


def _check_block(measure: Measure, i: Counts, gains: Floats) -> None:
    """Raise a ValueError unless the gains of the positives ``i``, at all ranks from their best one, have the shape."""
    drops, room = gains[:, :-1] - gains[:, 1:], _ROUNDING * np.abs(gains[:, :-1])
    for problem, is_bad, shift in (
        ("is negative or NaN", ~(gains >= 0.0), 0),
        ("rises", drops < -room, 0),
        ("is not convex in the rank", drops[:, 1:] > drops[:, :-1] + room[:, :-1], 1),
    ):
        if is_bad.any():
            at, after = np.argwhere(is_bad)[0]
            own = int(i[at, 0])
            raise ValueError(
                f"{measure!r} cannot be trained for: the gain of positive {own} {problem} at rank "
                f"{own + after + shift}. Train for a measure whose gains fall ever more slowly, such as 'ndcg' or "
                "'average_precision', and evaluate the model by the other one"
            )
