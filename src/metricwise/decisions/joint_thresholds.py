"""One threshold per group, chosen together: the measure of all samples is not the sum of those of the groups.

Every threshold of a group is a point, its numbers of false and of true positives. Those of all samples are sums of one
point of each group. A measure that is a ratio of linear functions of the table (F-measures, Jaccard, accuracy, linear
costs) is greatest at a corner of the convex hull of all these sums, and the corners of a sum of sets are the sums of
corners in the same direction: the edges of the groups' hulls, sorted by slope, lead from corner to corner. The best
thresholds are thus found exactly, by sorting. For other measures the best corner is a start, from which one group's
threshold is improved at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from metricwise._typing import Floats, Indices, Integers, Mask
from metricwise.decisions.decision import ScoredSamples
from metricwise.inference.threshold import Candidates

Tables = tuple[Floats, Floats, Floats, Floats]
# The value of tables, minus infinity where they are not allowed.
Value = Callable[[Tables], Floats]

_MOST_CANDIDATES = 1000  # per group; of more thresholds, as many are kept, evenly spaced among positives and negatives
_MOST_ROUNDS = 20
_GAIN = 1e-12


@dataclass(frozen=True)
class GroupCurve:
    """All thresholds of one group, from the highest, and their contingency tables."""

    thresholds: Floats
    tables: Tables

    @classmethod
    def of(cls, samples: ScoredSamples, most: int = _MOST_CANDIDATES) -> GroupCurve:
        """Return the thresholds that separate the samples of a group, at most so many of them.

        Examples
        --------
        >>> import numpy as np
        >>> samples = ScoredSamples(np.array([True, False]), np.array([2.0, 1.0]), np.ones(2))
        >>> GroupCurve.of(samples).tables[0]
        array([0., 1., 1.])
        """
        candidates = Candidates.of(*samples)
        tp, fp, fn, tn = candidates.tables()
        kept = np.arange(tp.size)
        if tp.size > most:
            place = tp / max(tp[-1], 1e-300) + fp / max(fp[-1], 1e-300)
            kept = np.unique(np.searchsorted(place, np.linspace(0.0, place[-1], most)).clip(0, tp.size - 1))
        thresholds = np.asarray(candidates.thresholds(kept), dtype=np.float64)
        return cls(thresholds, (tp[kept], fp[kept], fn[kept], tn[kept]))


class JointChoice(NamedTuple):
    """The number of the threshold of each group, and the value of the table of all samples."""

    chosen: Integers
    value: float


def choose_jointly(value: Value, curves: list[GroupCurve], allowed: list[Mask]) -> JointChoice | None:
    """Return the allowed thresholds, one per group, with the greatest value of the table of all samples.

    Parameters
    ----------
    value : callable
        The value of tables tp, fp, fn, tn; it grows with tp and falls with fp.
    curves : list of GroupCurve
        The thresholds of each group.
    allowed : list of arrays of bool
        Which thresholds of each group may be chosen.

    Returns
    -------
    JointChoice or None
        None if a group has no allowed threshold, or no combination has a finite value.
    """
    found = choose_corner(value, curves, allowed)
    return None if found is None else improve_choice(value, curves, allowed, found)


def choose_corner(value: Value, curves: list[GroupCurve], allowed: list[Mask]) -> JointChoice | None:
    """Return the best corner of the hull of all allowed sums: the best choice if the measure is a ratio."""
    if not all(mask.any() for mask in allowed):
        return None
    return _best_corner(value, curves, [_corners(*pair) for pair in zip(curves, allowed, strict=True)])


def add_tables(curves: list[GroupCurve], chosen: Integers) -> Tables:
    """Return the table of all samples, as arrays of one entry."""
    sums = [
        np.array([sum(curve.tables[cell][one] for curve, one in zip(curves, chosen.tolist(), strict=True))])
        for cell in range(4)
    ]
    return sums[0], sums[1], sums[2], sums[3]


def _corners(curve: GroupCurve, allowed: Mask) -> Indices:
    """Return the allowed thresholds at corners of the hull: few false positives first, each with more true ones."""
    places = np.flatnonzero(allowed)
    tp, fp = curve.tables[0][places].tolist(), curve.tables[1][places].tolist()
    hull: list[int] = []
    for k in range(places.size):  # both counts rise along the curve
        while hull and fp[hull[-1]] >= fp[k]:  # as many false positives, and not more true ones
            hull.pop()
        if hull and tp[hull[-1]] >= tp[k]:
            continue
        while len(hull) > 1 and _turns_left(fp, tp, hull[-2], hull[-1], k):
            hull.pop()
        hull.append(k)
    return places[hull]


def _turns_left(x: list[float], y: list[float], a: int, b: int, c: int) -> bool:
    """Return whether b is on or below the line from a to c."""
    return (y[b] - y[a]) * (x[c] - x[a]) <= (y[c] - y[a]) * (x[b] - x[a])


def _best_corner(value: Value, curves: list[GroupCurve], corners: list[Indices]) -> JointChoice | None:
    """Return the best corner of the sum of the hulls, as one threshold per group."""
    n_pos, n_neg = (sum(float(c.tables[cell][0] + c.tables[cell + 2][0]) for c in curves) for cell in (0, 1))
    tp, fp = ([curve.tables[cell][own] for curve, own in zip(curves, corners, strict=True)] for cell in (0, 1))
    rises, runs = (np.concatenate([np.diff(own) for own in parts]) for parts in (tp, fp))
    owners = np.repeat(np.arange(len(curves)), [own.size - 1 for own in corners])
    order = np.argsort(-rises / runs, kind="stable")
    above = [
        np.concatenate([[0.0], np.cumsum(steps[order])]) + sum(float(own[0]) for own in parts)
        for parts, steps in ((tp, rises), (fp, runs))
    ]
    values = value((above[0], above[1], n_pos - above[0], n_neg - above[1]))
    best = int(np.argmax(values))
    if not values[best] > -np.inf:
        return None
    taken = np.bincount(owners[order[:best]], minlength=len(curves))
    chosen = np.array([own[one] for own, one in zip(corners, taken.tolist(), strict=True)], dtype=np.int64)
    return JointChoice(chosen, float(values[best]))


def improve_choice(value: Value, curves: list[GroupCurve], allowed: list[Mask], found: JointChoice) -> JointChoice:
    """Return the choice after changing one group's threshold at a time, as long as the value grows."""
    chosen, best = found
    for _ in range(_MOST_ROUNDS):
        before = best
        for number, curve in enumerate(curves):
            places = np.flatnonzero(allowed[number])
            total = add_tables(curves, chosen)
            own = [total[cell] + curve.tables[cell][places] - curve.tables[cell][chosen[number]] for cell in range(4)]
            values = value((own[0], own[1], own[2], own[3]))
            place = int(np.argmax(values))
            if values[place] > best + _GAIN * max(1.0, abs(best)):
                chosen, best = chosen.copy(), float(values[place])
                chosen[number] = places[place]
        if best == before:
            break
    return JointChoice(chosen, best)
