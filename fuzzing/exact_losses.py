"""Losses of measures and slacks of scores in exact arithmetic, over all labellings and pairs of a few samples.

Roots have 60 digits. Nothing is shared with training, its oracles or its certificates but the parameters of a measure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from metricwise.measures.base import RestrictsLabellings
from metricwise.measures.ranking_capabilities import GainsByRank, RanksPairs

Scores = Sequence[Fraction]
_DIGITS = 60


# ------------------------------------------------------------------------------------------------------------ measures


def _divide(part: Fraction, whole: Fraction) -> Fraction:
    return part / whole if whole else Fraction(0)


def take_root(value: Fraction) -> Fraction:
    """Return the square root; exact for squares of fractions."""
    roots = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if roots[0] ** 2 == value.numerator and roots[1] ** 2 == value.denominator:
        return Fraction(*roots)
    with localcontext() as context:
        context.prec = _DIGITS
        return Fraction((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())


def _f_beta(beta: float) -> Callable[..., Fraction]:
    square = Fraction(beta) ** 2
    return lambda tp, fp, fn, tn: _divide((1 + square) * tp, (1 + square) * tp + square * fn + fp)


def _of_rates(function: Callable[[Fraction, Fraction], Fraction]) -> Callable[..., Fraction]:
    return lambda tp, fp, fn, tn: function(_divide(tp, tp + fn), _divide(tn, tn + fp))


_VALUES: dict[str, Callable[..., Fraction]] = {
    "accuracy": lambda tp, fp, fn, tn: (tp + tn) / (tp + fp + fn + tn),
    "balanced_accuracy": _of_rates(lambda tpr, tnr: (tpr + tnr) / 2),
    "cohen_kappa": lambda tp, fp, fn, tn: _divide(
        2 * (tp * tn - fp * fn), (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    ),
    "f0.5": _f_beta(0.5),
    "f1": _f_beta(1.0),
    "f2": _f_beta(2.0),
    "g_mean": _of_rates(lambda tpr, tnr: take_root(tpr * tnr)),
    "gower_legendre": lambda tp, fp, fn, tn: (tp + tn) / (tp + tn + 2 * (fp + fn)),
    "h_mean": _of_rates(lambda tpr, tnr: _divide(2 * tpr * tnr, tpr + tnr)),
    "jaccard": lambda tp, fp, fn, tn: _divide(tp, tp + fp + fn),
    "matthews_corrcoef": lambda tp, fp, fn, tn: _divide(
        tp * tn - fp * fn, take_root((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    ),
    "min_rate": _of_rates(min),
    "q_mean": _of_rates(lambda tpr, tnr: 1 - take_root(((1 - tpr) ** 2 + (1 - tnr) ** 2) / 2)),
}


def _discount(rank: int) -> Fraction:
    """Return 1 / log2(rank + 1)."""
    with localcontext() as context:
        context.prec = _DIGITS
        return Fraction(Decimal(2).ln() / Decimal(rank + 1).ln())


# The gain f(i, k) of the i-th best of so many positives at rank k.
_GAINS: dict[str, Callable[[int, int, int], Fraction]] = {
    "average_precision": lambda i, k, n_pos: Fraction(i, k * n_pos),
    "ndcg": lambda i, k, n_pos: _discount(k) / sum(map(_discount, range(1, n_pos + 1))),
    "reciprocal_rank": lambda i, k, n_pos: Fraction(int(i == 1), k),
}


def has_exact_loss(measure: Any) -> bool:
    """Return whether `find_slack` covers a measure."""
    return measure.name in {*_VALUES, *_GAINS} or isinstance(measure, RanksPairs | RestrictsLabellings)


def _find_loss(measure: Any, n_pos: int, n_neg: int, missed: int, alarms: int) -> Fraction | None:
    """Return the loss of a labelling with some positives missed and some false alarms; None if it is not allowed."""
    tp, fp = Fraction(n_pos - missed), Fraction(alarms)
    if not isinstance(measure, RestrictsLabellings):
        return 1 - _VALUES[measure.name](tp, fp, Fraction(missed), n_neg - fp)
    # The size varies between that of the true labels and k; the loss is that of the former.
    size, chosen = measure.predicted_positives(n_pos, n_pos + n_neg), tp + fp
    if (size > n_pos and chosen > size) or (size < n_pos and chosen < size) or (size == n_pos and chosen != size):
        return None
    return 1 - (tp / n_pos if size >= n_pos else tp / chosen)


# -------------------------------------------------------------------------------------------------------------- slacks


def find_slack(measure: Any, mistakes: Fraction, pos: Scores, neg: Scores) -> Fraction:
    """Return max over labellings of loss + sum of (label - true label) score / mistakes, or the loss of pairs."""
    if isinstance(measure, GainsByRank):
        return _find_gain_slack(_GAINS[measure.name], pos, neg)
    if isinstance(measure, RanksPairs):
        return _find_region_slack(pos, neg, *(Fraction(rate) for rate in measure.roc_region))
    freed, added = _find_best_sums([-score for score in pos]), _find_best_sums(neg)
    found = []
    for missed, without in enumerate(freed):
        for alarms, gained in enumerate(added):
            loss = _find_loss(measure, len(pos), len(neg), missed, alarms)
            if loss is not None:
                found.append(loss + (without + gained) / mistakes)
    return max(found)


def _find_best_sums(values: Scores) -> list[Fraction]:
    """Return the largest sum over all subsets of every size."""
    unit = math.lcm(*(value.denominator for value in values))
    whole = [value.numerator * (unit // value.denominator) for value in values]
    sums, best = [0], [0] + [None] * len(values)
    for subset in range(1, 1 << len(whole)):
        lowest = subset & -subset
        sums.append(sums[subset ^ lowest] + whole[lowest.bit_length() - 1])
        size, total = subset.bit_count(), sums[subset]
        best[size] = total if best[size] is None else max(best[size], total)
    return [Fraction(total, unit) for total in best]


def _find_gain_slack(gain: Callable[[int, int, int], Fraction], pos: Scores, neg: Scores) -> Fraction:
    """Return max over rankings of the loss of gains minus the mean over pairs of s_i - t_j where j stands above i.

    Rankings are built from the top: a positive is placed below the negatives that were placed before it.
    """
    n_pos, pos, neg = len(pos), sorted(pos, reverse=True), sorted(neg, reverse=True)
    sums = [sum(neg[:count], Fraction(0)) for count in range(len(neg) + 1)]
    best = [Fraction(0)] * len(
        sums
    )  # of the positives placed so far, by the number of negatives above the last of them
    for i, score in enumerate(pos, start=1):
        lost = [gain(i, i, n_pos) - gain(i, i + count, n_pos) for count in range(len(sums))]
        swapped = [(sums[count] - count * score) / (n_pos * len(neg)) for count in range(len(sums))]
        before = [max(best[: count + 1]) for count in range(len(sums))]
        best = [sum(parts, Fraction(0)) for parts in zip(before, lost, swapped, strict=True)]
    return max(best)


def _find_region_slack(pos: Scores, neg: Scores, low: Fraction, high: Fraction, least: Fraction) -> Fraction:
    """Return the mean over positives of the most violated rank below the top negatives of a region of the ROC curve.

    A positive below the first t negatives, in order of their scores, adds their scores minus t times its own, and loses
    what exceeds low n_neg of t. The last negative before high n_neg counts in part. Those 1 - least of the positives
    count that add most, the last of them in part.
    """
    neg, start, end = sorted(neg, reverse=True), low * len(neg), high * len(neg)
    added = []
    for score in pos:
        best = place = value = Fraction(0)
        for other in neg:
            step = min(Fraction(1), end - place)
            if step <= 0:
                break
            value, place = value + step * (other - score), place + step
            best = max(best, value + max(place - start, Fraction(0)))
        added.append(best)
    added, counted = sorted(added, reverse=True), (1 - least) * len(pos)
    shares = [min(Fraction(1), max(Fraction(0), counted - before)) for before in range(len(pos))]
    total = sum((share * best for share, best in zip(shares, added, strict=True)), Fraction(0))
    return total / (counted * (end - start))


def sum_hinge(pos: Scores, neg: Scores, weights: tuple[Scores, Scores]) -> Fraction:
    """Return the weighted sum of max(0, 1 -/+ score)."""
    missed = sum(weight * max(Fraction(0), 1 - score) for weight, score in zip(weights[0], pos, strict=True))
    return Fraction(missed + sum(w * max(Fraction(0), 1 + score) for w, score in zip(weights[1], neg, strict=True)))


def average_squared_pairs(pos: Scores, neg: Scores) -> Fraction:
    """Return the mean over pairs of max(0, 1 - (s_i - s_j))^2."""
    losses = (max(Fraction(0), 1 - (score - other)) ** 2 for score in pos for other in neg)
    return sum(losses, Fraction(0)) / (len(pos) * len(neg))
