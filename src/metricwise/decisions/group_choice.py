"""Choose thresholds under constraints by group: one shared by all groups, or one per group.

With one per group, the thresholds of each group that keep the constraints on it are found first, and the best
combination of them after that (`joint_thresholds`). A bound on differences holds if the shares of all groups lie in an
interval of that length: intervals that begin at a share which some group can have are tried, all of them if there are
few, otherwise some and then those near the best.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from metricwise._typing import Floats, Mask
from metricwise.decisions.group_aim import GroupAim, GroupedSamples, shares_by_group, standard_deviations
from metricwise.decisions.group_constraints import GroupConstraint
from metricwise.decisions.joint_thresholds import (
    GroupCurve,
    JointChoice,
    Tables,
    Value,
    add_tables,
    choose_corner,
    choose_jointly,
    improve_choice,
)

_MOST_SHARED = 10_000  # shared thresholds that are considered, evenly spaced if there are more
# Intervals of shares that are tried at first, and again around the best, by the number of bounds on differences.
_MOST_INTERVALS = (24, 8, 4)
_MOST_STEPS = 200  # of the order in which thresholds are tested
_MARGINS = 20  # margins that thresholds per group are chosen for
_WIDER_MARGINS = 5  # beyond the widest of these
_WIDEST_MARGIN = 5.0  # standard deviations, from which on margins need not be told apart
_ROUNDING = 1e-12


class OrderedThresholds(NamedTuple):
    """Thresholds from the safest to the best by the measure; one per row, or a row with one per group."""

    thresholds: Floats
    margins: Floats


@dataclass(frozen=True)
class SharedThresholds:
    """All thresholds that the groups may share, with their margins on given samples."""

    aim: GroupAim
    samples: GroupedSamples

    @cached_property
    def _curve(self) -> GroupCurve:
        return GroupCurve.of(self.samples.samples, _MOST_SHARED)

    @cached_property
    def _judged(self) -> tuple[Floats, Floats]:
        tables = self.aim.tables(self.samples, self._curve.thresholds)
        return self.aim.margins(tables), self.aim.values(tables)

    def best(self) -> Floats | None:
        """Return the best threshold that keeps the constraints on the samples; None if there is none."""
        margins, values = self._judged
        kept = margins >= 0.0
        return self._curve.thresholds[[int(np.argmax(np.where(kept, values, -np.inf)))]] if kept.any() else None

    def safest(self) -> Floats:
        """Return the threshold with the widest margin."""
        return self._curve.thresholds[[int(np.argmax(self._judged[0]))]]

    def order(self) -> OrderedThresholds:
        """Return thresholds by their margins, widest first, each better by the measure than all before it."""
        margins, values = self._judged
        order = np.lexsort((-values, -margins))
        ordered = values[order]
        best_before = np.concatenate([[-np.inf], np.maximum.accumulate(ordered)[:-1]])
        front = order[(ordered > best_before) & (margins[order] > -np.inf)]
        front = front if front.size else order[:1]
        if front.size > _MOST_STEPS:
            front = front[np.unique(np.linspace(0, front.size - 1, _MOST_STEPS).astype(np.int64))]
        extreme = _find_extreme(margins, values)
        if values[extreme] < values[front[0]]:
            front = np.concatenate([[extreme], front])
        return OrderedThresholds(self._curve.thresholds[front], margins[front])


def _find_extreme(margins: Floats, values: Floats) -> int:
    """Return the safest threshold: of those with the widest margin, the one that is worst by the measure.

    Where several have the same margin, such as a recall of 1 on the samples, the others owe it to chance.
    """
    return int(np.argmin(np.where(margins == margins.max(), values, np.inf)))


class _Spread(NamedTuple):
    """The standard deviation of the difference of two equal shares, given the samples that count."""

    n_first: float
    n_second: float

    def at(self, shares: Floats) -> Floats:
        """Return the standard deviation at each of several shares."""
        first, second = (standard_deviations(shares, np.array(one)) for one in self)
        deviations: Floats = np.hypot(first, second)
        return deviations


@dataclass(frozen=True)
class ThresholdsByGroup:
    """All combinations of one threshold per group of the only column."""

    aim: GroupAim
    samples: GroupedSamples

    @cached_property
    def _curves(self) -> list[GroupCurve]:
        return [GroupCurve.of(self.samples.of_group(0, group)) for group in range(len(self.aim.columns[0].groups))]

    @cached_property
    def _own_margins(self) -> list[Floats]:
        """The margin of the constraints on each group, by group and threshold."""
        bounds = [one.constraint for one in self.aim.constraints if not one.is_difference]
        return [
            np.min([np.full(curve.thresholds.size, np.inf), *(one.margin(*curve.tables) for one in bounds)], axis=0)
            for curve in self._curves
        ]

    @cached_property
    def _differences(self) -> list[GroupConstraint]:
        return [one for one in self.aim.constraints if one.is_difference]

    @cached_property
    def _shares(self) -> list[list[Floats]]:
        """The share of every bound on differences, by group and threshold; NaN where it has no samples."""
        return [
            [shares_by_group(one.constraint, np.array(curve.tables)[None])[0][0] for curve in self._curves]
            for one in self._differences
        ]

    def best(self) -> Floats | None:
        """Return the best thresholds that keep the constraints on the samples, as a row; None if there are none."""
        found = self._choose(0.0)
        return None if found is None else self._rows([found])

    def safest(self) -> Floats:
        """Return the thresholds with the widest margins."""
        margin = self._widest_margin
        while (found := self._choose(margin, is_limited=True)) is None:
            margin = margin / 2.0 if margin > 0.1 else min(2.0 * margin, -0.1)
        return self._rows([found])

    def order(self) -> OrderedThresholds:
        """Return the best thresholds for margins that shrink, each better by the measure than all before it.

        A group that cannot have the margin has its widest: small groups do not keep large ones from being safe.
        """
        widest = max(self._widest_margin, 0.0)
        margins = np.linspace(min(widest, _WIDEST_MARGIN), 0.0, _MARGINS + 1)
        if widest > _WIDEST_MARGIN:
            margins = np.concatenate([np.linspace(widest, _WIDEST_MARGIN, _WIDER_MARGINS, endpoint=False), margins])
        found = [(margin, self._choose(margin, is_limited=True)) for margin in margins.tolist()]
        kept = self._start()
        for margin, choice in found:
            if choice is not None and (not kept or choice.value > kept[-1][1].value):
                kept.append((margin, choice))
        if not kept:
            return OrderedThresholds(self.safest(), np.array([-np.inf]))
        rows = self._rows([choice for _, choice in kept])
        return self._add_constant(OrderedThresholds(rows, np.array([margin for margin, _ in kept])))

    def _add_constant(self, found: OrderedThresholds) -> OrderedThresholds:
        """Return the order with equal labels for all samples in front, where shares then differ by as little for sure.

        All groups have a recall of 1 if every sample is predicted positive; other thresholds owe it to chance.
        """
        if not self._differences:
            return found
        for place in (0, -1):
            row = np.array([[curve.thresholds[place] for curve in self._curves]])
            tables = self.aim.tables(self.samples, np.concatenate([row, found.thresholds[:1]]))
            margins, values = self.aim.margins(tables), self.aim.values(tables)
            if margins[0] >= margins[1] and values[0] < values[1]:
                widest = max(float(margins[0]), float(found.margins[0]))
                return OrderedThresholds(
                    np.concatenate([row, found.thresholds]), np.concatenate([[widest], found.margins])
                )
        return found

    def _start(self) -> list[tuple[float, JointChoice]]:
        """Return the safest thresholds of all groups as the start of the order; none if only differences are bound."""
        if self._differences or self.aim.pooled:
            return []
        parts = zip(self._own_margins, self._curves, strict=True)
        chosen = np.array([_find_extreme(own, np.asarray(self.aim.table.value(*one.tables))) for own, one in parts])
        value = float(np.asarray(self.aim.table.value(*add_tables(self._curves, chosen)))[0])
        return [(np.inf, JointChoice(chosen, value))]

    def _rows(self, choices: list[JointChoice]) -> Floats:
        return np.array(
            [
                [curve.thresholds[one] for curve, one in zip(self._curves, choice.chosen.tolist(), strict=True)]
                for choice in choices
            ]
        )

    @cached_property
    def _spreads(self) -> list[_Spread]:
        """The standard deviation of a difference of each share, for the groups with the fewest samples that count."""
        every = [np.ones(curve.thresholds.size, dtype=np.bool_) for curve in self._curves]
        free = choose_jointly(lambda tables: np.asarray(self.aim.table.value(*tables)), self._curves, every)
        assert free is not None
        tables = np.array([np.array(c.tables)[:, [k]] for c, k in zip(self._curves, free.chosen.tolist(), strict=True)])
        counted = [np.sort(shares_by_group(one.constraint, tables)[1][:, 0]) for one in self._differences]
        return [_Spread(float(among[0]), float(among[1])) for among in counted]

    @cached_property
    def _widest_margin(self) -> float:
        """The widest margin that any group can have on its own."""
        own = [float(margins.max()) for margins in self._own_margins]
        pairs = zip(self._differences, self._spreads, strict=True)
        between = [float(one.constraint.bound / spread.at(np.ones(1))[0]) for one, spread in pairs]
        finite = [one for one in (*own, *between) if np.isfinite(one)]
        return max(finite, default=0.0)

    def _choose(self, margin: float, is_limited: bool = False) -> JointChoice | None:
        """Return the best combination whose constraints hold by a margin, in standard deviations.

        If the margin ``is_limited``, it is no wider for a group than that group can have.
        """
        allowed = [
            margins >= (min(margin, float(margins.max())) if is_limited else margin) for margins in self._own_margins
        ]

        def value(tables: Tables) -> Floats:
            values = np.asarray(self.aim.table.value(*tables), dtype=np.float64)
            parts = [constraint.margin(*tables) >= margin for constraint in self.aim.pooled]
            return np.where(np.all(parts, axis=0), values, -np.inf) if parts else values

        every = [_find_starts(shares, allowed) for shares in self._shares]
        most = _MOST_INTERVALS[min(len(every), len(_MOST_INTERVALS)) - 1]
        starts = [_thin_out(one, most) for one in every]
        best = self._search(value, allowed, margin, starts)
        if best is None:
            return None
        if any(some.size < one.size for some, one in zip(starts, every, strict=True)):
            near = [_find_near(*parts) for parts in zip(every, starts, best.starts, strict=True)]
            closer = self._search(value, allowed, margin, [_thin_out(one, most) for one in near])
            if closer is not None and closer.choice.value > best.choice.value:
                best = closer
        return improve_choice(value, self._curves, best.allowed, best.choice)

    def _search(self, value: Value, allowed: list[Mask], margin: float, starts: list[Floats]) -> _Found | None:
        """Return the best corner over all combinations of one interval of shares per bound on differences."""
        intervals = []
        for one, spread, low in zip(self._differences, self._spreads, starts, strict=True):
            length = one.constraint.bound - margin * spread.at(low)
            intervals.append(list(zip(low[length >= 0.0], (low + length)[length >= 0.0], strict=True)))
        best: _Found | None = None
        for chosen in product(*intervals):
            inside = [self._restrict(mask, group, chosen) for group, mask in enumerate(allowed)]
            found = choose_corner(value, self._curves, inside)
            if found is not None and (best is None or found.value > best.choice.value):
                best = _Found(found, inside, [low for low, _ in chosen])
        return best

    def _restrict(self, mask: Mask, group: int, intervals: tuple[tuple[float, float], ...]) -> Mask:
        """Return the allowed thresholds of a group whose shares lie in the intervals."""
        for shares, (low, high) in zip(self._shares, intervals, strict=True):
            mask = mask & (shares[group] >= low - _ROUNDING) & (shares[group] <= high + _ROUNDING)
        return mask


class _Found(NamedTuple):
    """A choice, the thresholds that it was chosen from, and where the intervals of its shares begin."""

    choice: JointChoice
    allowed: list[Mask]
    starts: list[float]


def _find_starts(shares: list[Floats], allowed: list[Mask]) -> Floats:
    """Return the shares that allowed thresholds have, ascending: where intervals may begin."""
    every = np.concatenate([own[mask] for own, mask in zip(shares, allowed, strict=True)])
    return np.unique(every[~np.isnan(every)])


def _thin_out(values: Floats, most: int) -> Floats:
    if values.size <= most:
        return values
    return values[np.unique(np.linspace(0, values.size - 1, most).astype(np.int64))]


def _find_near(every: Floats, tried: Floats, best: float) -> Floats:
    """Return the values between the neighbours of the best of those that were tried."""
    place = int(np.searchsorted(tried, best))
    low, high = tried[max(place - 1, 0)], tried[min(place + 1, tried.size - 1)]
    near: Floats = every[(every >= low) & (every <= high)]
    return near
