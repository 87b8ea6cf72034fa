"""What thresholds are chosen for where constraints are by group, and by how much they keep the constraints."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats, Integers
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.group_constraints import GroupConstraint
from metricwise.decisions.guarantees import Constraint
from metricwise.decisions.joint_thresholds import Tables
from metricwise.decisions.subgroups import GroupColumn
from metricwise.measures.base import CountsTable
from metricwise.measures.tables import divide


class GroupedSamples(NamedTuple):
    """Scored samples, and the number of each sample's group in every column (-1 for a group not seen in training)."""

    samples: ScoredSamples
    codes: Integers

    def of_group(self, column: int, group: int) -> ScoredSamples:
        """Return the samples of one group of a column."""
        own = self.codes[:, column] == group
        target, scores, weights = self.samples
        return ScoredSamples(target[own], scores[own], weights[own])


@dataclass(frozen=True)
class GroupAim:
    """A measure of all samples, constraints on all of them, and constraints by group.

    Attributes
    ----------
    table : CountsTable
        The measure.
    pooled : tuple of Constraint
        Constraints on all samples together.
    constraints : tuple of GroupConstraint
        Constraints by group.
    columns : tuple of GroupColumn
        The columns that these name.
    """

    table: CountsTable
    pooled: tuple[Constraint, ...]
    constraints: tuple[GroupConstraint, ...]
    columns: tuple[GroupColumn, ...]

    def column_of(self, constraint: GroupConstraint) -> int:
        """Return the number of the column that a constraint is by."""
        return [column.name for column in self.columns].index(constraint.by)

    def groups_of(self, constraint: GroupConstraint) -> tuple[Any, ...]:
        """Return the groups that a constraint is on."""
        return self.columns[self.column_of(constraint)].groups

    def tables(self, samples: GroupedSamples, thresholds: Floats) -> list[Floats]:
        """Return contingency tables by group, for several thresholds.

        Parameters
        ----------
        samples : GroupedSamples
            The samples.
        thresholds : array of shape (n_thresholds,) or (n_thresholds, n_groups)
            Shared thresholds, or one per group of the only column in every row.

        Returns
        -------
        list with one array of shape (n_groups, 4, n_thresholds) per column
        """
        return [
            np.array(
                [
                    count_tables(
                        samples.of_group(number, group), thresholds[:, group] if thresholds.ndim == 2 else thresholds
                    )
                    for group in range(len(column.groups))
                ]
            )
            for number, column in enumerate(self.columns)
        ]

    def margins(self, tables: list[Floats]) -> Floats:
        """Return by how many standard deviations all constraints hold at every threshold; negative if one does not."""
        pooled = tables[0].sum(axis=0)
        parts = [constraint.margin(*pooled) for constraint in self.pooled]
        for constraint in self.constraints:
            own = tables[self.column_of(constraint)]
            if constraint.is_difference:
                parts.append(difference_margin(constraint.constraint, own))
            else:
                parts += [constraint.constraint.margin(*cells) for cells in own]
        margins: Floats = np.min(parts, axis=0)
        return margins

    def values(self, tables: list[Floats]) -> Floats:
        """Return the measure of all samples at every threshold."""
        return np.asarray(self.table.value(*tables[0].sum(axis=0)), dtype=np.float64)


def count_tables(samples: ScoredSamples, thresholds: Floats) -> Tables:
    """Return the weighted tables tp, fp, fn, tn of samples at several thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> samples = ScoredSamples(np.array([True, False, True]), np.array([1.0, 0.7, 0.2]), np.array([1.0, 1.0, 3.0]))
    >>> [cell.tolist() for cell in count_tables(samples, np.array([0.5, 0.1]))]
    [[1.0, 4.0], [1.0, 1.0], [3.0, 0.0], [0.0, 0.0]]
    """
    above, total = [], []
    for own in (samples.target, ~samples.target):
        order = np.argsort(samples.scores[own], kind="stable")
        sums = np.concatenate([[0.0], np.cumsum(samples.weights[own][order])])
        below = np.searchsorted(samples.scores[own][order], thresholds, side="right")
        above.append(sums[-1] - sums[below])
        total.append(sums[-1])
    return above[0], above[1], total[0] - above[0], total[1] - above[1]


def shares_by_group(constraint: Constraint, tables: Floats) -> tuple[Floats, Floats]:
    """Return the share of every group (NaN without samples) and the number of its samples, for every threshold."""
    kind, among = constraint.share.counts(*np.moveaxis(tables, 1, 0))
    return np.where(among > 0, divide(kind, among), np.nan), among


def difference_margin(constraint: Constraint, tables: Floats) -> Floats:
    """Return by how many standard deviations all differences between two groups are below a bound.

    Parameters
    ----------
    constraint : Constraint
        The share and the bound on differences.
    tables : array of shape (n_groups, 4, n_thresholds)
        Contingency tables.

    Returns
    -------
    array of shape (n_thresholds,)
        Minus infinity where a group has no samples that count.
    """
    shares, among = shares_by_group(constraint, tables)
    deviations = standard_deviations(shares, among)
    worst = np.full(shares.shape[1], np.inf)
    for one, other in permutations(range(len(shares)), 2):
        room = constraint.bound - (shares[one] - shares[other])
        room = np.where(np.abs(room) < 1e-12, 0.0, room)
        spread = np.hypot(deviations[one], deviations[other])
        worst = np.minimum(worst, np.where(np.isnan(room), -np.inf, room / spread))
    return worst


def standard_deviations(shares: Floats, among: Floats) -> Floats:
    """Return the standard deviations of shares; half a sample of either kind is added, so that none is zero."""
    smoothed = (np.nan_to_num(shares) * among + 0.5) / (among + 1.0)
    deviations: Floats = np.sqrt(smoothed * (1.0 - smoothed) / (among + 1.0))
    return deviations
