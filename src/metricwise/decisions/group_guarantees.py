"""Thresholds that keep constraints by group on new samples, with a confidence.

As for constraints on all samples (`metricwise.decisions.guarantees`), thresholds, or combinations of one per group, are
put in an order by some samples and tested in that order on others, up to the first that fails. A combination breaks the
guarantee if one group breaks its constraint, or two groups differ too much. It passes if the test of every group, and
of every ordered pair of groups, passes at the full level: a combination that breaks the guarantee has to pass the very
test of what it breaks (an intersection-union test). No level is divided among the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats
from metricwise.decisions.difference_test import difference_bound, difference_p_value
from metricwise.decisions.group_aim import GroupAim, GroupedSamples, shares_by_group, standard_deviations
from metricwise.decisions.group_choice import SharedThresholds, ThresholdsByGroup
from metricwise.decisions.group_constraints import GroupConstraint
from metricwise.decisions.guarantees import Constraint, UnreachableGuaranteeError

Choices = SharedThresholds | ThresholdsByGroup
Shown = Callable[[float], float]
_MOST_SAMPLES = 10_000_000  # that a group may be asked for


def find_guaranteed_thresholds(
    aim: GroupAim, confidence: float, ordering: Choices, testing: GroupedSamples, shown: Shown = float
) -> Floats:
    """Return the thresholds known to keep all constraints on new samples, the best by the measure last.

    Parameters
    ----------
    aim : GroupAim
        The measure and its constraints.
    confidence : float
        Probability, over the samples of ``testing``, that all constraints hold in all groups.
    ordering : SharedThresholds or ThresholdsByGroup
        Thresholds to choose from, with the samples that they are ordered by.
    testing : GroupedSamples
        Samples that neither the model nor the order has seen, with the model's scores.
    shown : callable
        Converts a threshold for messages.

    Returns
    -------
    array of shape (n_thresholds,) or (n_thresholds, n_groups)

    Raises
    ------
    UnreachableGuaranteeError
        If the safest fails its test; the message names the groups that fail, and what is possible for them.
    """
    rows, level = ordering.order().thresholds, 1.0 - confidence
    tables = aim.tables(testing, rows)
    for number in range(len(rows)):
        if any(True for _ in find_broken(aim, [one[:, :, number] for one in tables], level)):
            if number == 0:
                nearest = _find_nearest(aim, confidence, aim.tables(ordering.samples, rows))
                own = [one[:, :, nearest] for one in tables]
                raise UnreachableGuaranteeError(_refuse(aim, confidence, own, rows[nearest], shown))
            return rows[:number]
    return rows


class Broken(NamedTuple):
    """A constraint that fails its test, where, and the bound on it that would pass."""

    constraint: Constraint | GroupConstraint
    where: str
    possible: Constraint


def find_broken(aim: GroupAim, tables: list[Floats], level: float) -> Iterator[Broken]:
    """Yield the constraints that fail their tests, with their groups.

    Parameters
    ----------
    aim : GroupAim
        The constraints.
    tables : list of arrays of shape (n_groups, 4)
        Counts of the samples of every group, for every column.
    level : float
        The level of each test.
    """
    for constraint in aim.pooled:
        yield from _test_share(constraint, constraint, tables[0].sum(axis=0), level, "all samples")
    for one in aim.constraints:
        own, groups = tables[aim.column_of(one)], aim.groups_of(one)
        if one.is_difference:
            yield from _test_differences(one, own, groups, level)
            continue
        for group, table in zip(groups, own, strict=True):
            yield from _test_share(one, one.constraint, table, level, f"group {group!r}")


def _test_share(
    given: Constraint | GroupConstraint, constraint: Constraint, table: Floats, level: float, where: str
) -> Iterator[Broken]:
    if float(constraint.p_value(*table)) > level:
        bound = float(constraint.guaranteed_bound(1.0 - level, *table))
        yield Broken(given, _describe_group(where, table), replace(constraint, bound=bound))


def _test_differences(one: GroupConstraint, tables: Floats, groups: tuple[Any, ...], level: float) -> Iterator[Broken]:
    counts = [tuple(float(part) for part in one.constraint.share.counts(*table)) for table in tables]
    for first, second in permutations(range(len(groups)), 2):
        kind, among = zip(counts[first], counts[second], strict=True)
        if difference_p_value(kind, among, one.constraint.bound, level) > level:
            possible = replace(one.constraint, bound=difference_bound(kind, among, level))
            pair = (
                f"groups {groups[first]!r} ({among[0]:.0f} samples that count) and {groups[second]!r} ({among[1]:.0f})"
            )
            yield Broken(one, pair, possible)


def _describe_group(where: str, table: Floats) -> str:
    return f"{where} ({table.sum():.0f} samples, {table[0] + table[2]:.0f} positive)"


def _find_nearest(aim: GroupAim, confidence: float, tables: list[Floats]) -> int:
    """Return the row whose own samples guarantee most, compared with what is wanted."""
    room = []
    bounds = [(one, tables[0].sum(axis=0)[None]) for one in aim.pooled]
    bounds += [(one.constraint, tables[aim.column_of(one)]) for one in aim.constraints if not one.is_difference]
    for constraint, own in bounds:
        sign = 1.0 if constraint.is_lower_bound else -1.0
        room += [sign * (constraint.guaranteed_bound(confidence, *cells) - constraint.bound) for cells in own]
    for one in (one for one in aim.constraints if one.is_difference):
        shares, among = shares_by_group(one.constraint, tables[aim.column_of(one)])
        spread = np.sqrt(2.0) * standard_deviations(shares, among).max(axis=0)
        room.append(one.constraint.bound - np.ptp(np.nan_to_num(shares), axis=0) - spread)
    return int(np.argmax(np.min(room, axis=0)))


def _refuse(aim: GroupAim, confidence: float, tables: list[Floats], thresholds: Any, shown: Shown) -> str:
    broken = list(find_broken(aim, tables, 1.0 - confidence))
    wanted = " and ".join(dict.fromkeys(str(one.constraint) for one in broken))
    possible = "; ".join(f"{_name_possible(one)} in {one.where}" for one in broken)
    at = (
        "thresholds " + ", ".join(f"{shown(float(one)):.6g}" for one in thresholds)
        if np.ndim(thresholds)
        else f"threshold {shown(float(thresholds)):.6g}"
    )
    return (
        f"no threshold can guarantee {wanted} with confidence {confidence:g} on the samples set aside to test it. The "
        f"nearest, {at}, can only guarantee {possible}. Ask for that, lower the confidence, collect more samples of "
        f"these groups, or {'use a better estimator' if np.ndim(thresholds) else 'set group_thresholds=True'}"
    )


def _name_possible(broken: Broken) -> str:
    given = broken.constraint
    return str(replace(given, constraint=broken.possible) if isinstance(given, GroupConstraint) else broken.possible)


# ------------------------------------------------------------------------------------------------------ too few samples


def refuse_small_groups(aim: GroupAim, confidence: float | None, testing: GroupedSamples) -> None:
    """Raise if a group has too few samples to pass a test, or none that count, whatever the classifier.

    Parameters
    ----------
    aim : GroupAim
        The constraints.
    confidence : float or None
        Confidence of the guarantee; None if constraints need to hold on the samples only.
    testing : GroupedSamples
        The samples that constraints are tested on.

    Raises
    ------
    UnreachableGuaranteeError
        The message names the group and the number of samples that it needs.
    """
    for one in aim.constraints:
        column, groups = aim.column_of(one), aim.groups_of(one)
        extremes = [_extreme_tables(testing, column, number) for number in range(len(groups))]
        for group, own in zip(groups, extremes, strict=True):
            n_counted = max(float(one.constraint.share.counts(*table)[1]) for table in own)
            if confidence is None:
                if n_counted <= 0:
                    raise UnreachableGuaranteeError(_describe_small(one, group, 0, 1, "these samples"))
                continue
            needed = _find_needed(one, extremes, own, 1.0 - confidence)
            if needed is not None:
                where = "the samples set aside to test it"
                raise UnreachableGuaranteeError(_describe_small(one, group, n_counted, needed, where))


def _extreme_tables(samples: GroupedSamples, column: int, group: int) -> list[tuple[float, float, float, float]]:
    """Return the tables of a group where all labels are right, and where all samples have one label."""
    target = samples.of_group(column, group).target
    n_pos, n_neg = float(np.count_nonzero(target)), float(np.count_nonzero(~target))
    return [(n_pos, 0.0, 0.0, n_neg), (0.0, 0.0, n_pos, n_neg), (n_pos, n_neg, 0.0, 0.0)]


def _find_needed(one: GroupConstraint, extremes: list[Any], own: Any, level: float) -> int | None:
    """Return how many samples that count a group needs to pass a test without a mistake; None if it has enough."""
    if not one.is_difference:
        if min(float(one.constraint.p_value(*table)) for table in own) <= level:
            return None
        bound = one.constraint.bound if one.constraint.is_lower_bound else 1.0 - one.constraint.bound
        return int(np.ceil(np.log(level) / np.log(bound) - 1e-9))
    counts = one.constraint.share.counts
    # The group with most samples is the easiest to compare with.
    for kind in range(3):
        mine = float(counts(*own[kind])[1])
        theirs = max(float(counts(*other[kind])[1]) for other in extremes)
        if _can_compare(mine, theirs, one.constraint.bound, level):
            return None
    return _fewest_to_compare(one.constraint.bound, level)


def _can_compare(n_first: float, n_second: float, bound: float, level: float) -> bool:
    """Return whether equal shares of 1 in so many samples pass the test of a difference, both ways."""
    pairs = ((n_first, n_second), (n_second, n_first))
    return all(difference_p_value(pair, pair, bound, level) <= level for pair in pairs)


def _fewest_to_compare(bound: float, level: float) -> int:
    high = 2
    while high < _MOST_SAMPLES and not _can_compare(high, high, bound, level):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _can_compare(middle, middle, bound, level) else (middle, high)
    return high


def _describe_small(one: GroupConstraint, group: Any, found: float, needed: int, where: str) -> str:
    return (
        f"group {group!r} of {one.by!r} is too small for {one}: {where} have {found:.0f} of it that count for "
        f"{one.constraint.share.name}, and {needed} are needed even if every label is right. Collect more samples of "
        "it, merge it with another group, or lower the bound or the confidence"
    )
