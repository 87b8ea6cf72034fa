"""Decide by constraints that are by group, and apply such a decision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers
from metricwise.decisions.binary import Aim, describe
from metricwise.decisions.decision import Calibration, Decision, Probe, ScoredSamples, Sigmoid, show_probability
from metricwise.decisions.group_aim import GroupAim, GroupedSamples
from metricwise.decisions.group_choice import SharedThresholds, ThresholdsByGroup
from metricwise.decisions.group_constraints import GroupConstraint, Separated
from metricwise.decisions.group_guarantees import Choices, find_guaranteed_thresholds, refuse_small_groups
from metricwise.decisions.guarantees import UnreachableGuaranteeError, parse_constraints
from metricwise.decisions.score_reference import ScoreReference
from metricwise.decisions.subgroups import (
    GroupColumn,
    find_columns,
    is_column_given,
    read_column,
    refuse_unseen,
    warn_unseen,
)
from metricwise.decisions.threshold_choice import ThresholdChoice


@stored_fields(version=1)
@dataclass(frozen=True)
class GroupRule:
    """Constraints by group of a trained model, and the thresholds of the groups if these have their own.

    Attributes
    ----------
    columns : tuple of GroupColumn
        The columns that have the groups.
    constraints : tuple of GroupConstraint
        The constraints.
    thresholds : array of shape (n_groups,) or None
        The threshold of each group of the only column, on the scale of the scores; None if all share one.
    """

    columns: tuple[GroupColumn, ...]
    constraints: tuple[GroupConstraint, ...]
    thresholds: Floats | None = None

    def margins(self, decision: Decision, scores: Floats, X: Any, sensitive_features: Any) -> Floats:
        """Return scores minus the thresholds of the samples' groups.

        Raises
        ------
        ValueError
            If groups have their own thresholds, and a sample's group was not seen in training, or is not given.
        """
        if self.thresholds is None:
            self._warn_unseen(X, sensitive_features, scores.size)
            return decision.margins(scores)
        (column,) = self.columns
        values = read_column(column.name, X, sensitive_features, scores.size)
        codes = column.encode(values)
        refuse_unseen(column, values, codes < 0)
        margins: Floats = scores - self.thresholds[codes]
        return margins

    def _warn_unseen(self, X: Any, sensitive_features: Any, n_samples: int) -> None:
        """Warn of groups that were not seen in training, where groups are given: a shared threshold needs none."""
        for column in self.columns:
            if not is_column_given(column.name, X, sensitive_features):
                continue
            values = read_column(column.name, X, sensitive_features, n_samples, may_be_missing=True)
            warn_unseen(column, values, column.encode(values) < 0)

    def shown_thresholds(self, decision: Decision) -> dict[Any, float] | None:
        """Return the threshold of each group in the units that users see; None if all share one."""
        if self.thresholds is None:
            return None
        shown = (replace(decision, threshold=float(one)).shown_threshold for one in self.thresholds)
        return {group: float(one) for group, one in zip(self.columns[0].groups, shown, strict=True)}


@dataclass(frozen=True)
class GroupPlan:
    """What is known of constraints by group before training.

    Attributes
    ----------
    pooled : list
        Constraints on all samples together, as the user gave them.
    constraints : tuple of GroupConstraint
        Constraints by group.
    columns : tuple of GroupColumn
        The columns that these name.
    has_own_thresholds : bool
        Whether every group has a threshold of its own.
    codes : array of int of shape (n_samples, n_columns)
        The group of every sample in every column.
    """

    pooled: list[Any]
    constraints: tuple[GroupConstraint, ...]
    columns: tuple[GroupColumn, ...]
    has_own_thresholds: bool
    codes: Integers

    def aim(self, aim: Aim | None) -> GroupAim:
        """Return what thresholds are chosen for, given the aim without groups; ValueError if that is no table."""
        if aim is None:
            raise ValueError("constraints by group are for two classes: leave them out, or merge classes")
        if aim.table is None:
            raise ValueError(
                "subject_to needs a measure of the contingency table to choose among the thresholds that keep the "
                f"constraints, and {aim.measure.name!r} is none; use 'f1' or another measure of the table"
            )
        n_own = len(aim.constraints) - len(parse_constraints(Separated(self.pooled, list(self.constraints)).implied))
        pooled = [*aim.constraints[:n_own], *parse_constraints(self.pooled)]  # those of the measure itself come first
        return GroupAim(aim.table, tuple(pooled), self.constraints, self.columns)

    def describe(self) -> list[str]:
        """Return the constraints as text: those on all samples, and those by group."""
        return [*map(str, parse_constraints(self.pooled)), *map(str, self.constraints)]

    def rule(self, thresholds: Floats) -> GroupRule:
        """Return what predictions need, given the shared threshold or one per group."""
        return GroupRule(self.columns, self.constraints, thresholds if self.has_own_thresholds else None)

    def choices(self, aim: GroupAim, samples: GroupedSamples) -> Choices:
        """Return the thresholds to choose from, given samples that they are chosen by."""
        return (ThresholdsByGroup if self.has_own_thresholds else SharedThresholds)(aim, samples)


def plan_groups(
    separated: Separated, has_own_thresholds: bool, X: Any, sensitive_features: Any, n_samples: int
) -> GroupPlan | None:
    """Return the plan of constraints by group; None without such constraints.

    Parameters
    ----------
    separated : Separated
        The constraints of the user.
    has_own_thresholds : bool
        Whether every group has a threshold of its own.
    X, sensitive_features
        The samples, and the columns of groups given beside them.
    n_samples : int
        Number of samples.

    Raises
    ------
    ValueError
        If the groups are not given as the constraints need them.
    """
    if not separated.by_group:
        given = "sensitive_features is" if sensitive_features is not None else "group_thresholds=True is"
        if sensitive_features is not None or has_own_thresholds:
            raise ValueError(
                f"{given} for constraints by group, and subject_to has none: add one such as 'recall>=0.8 by region', "
                "or leave it out"
            )
        return None
    found = find_columns((one.by for one in separated.by_group), X, sensitive_features, n_samples)
    columns = tuple(GroupColumn.of(name, values) for name, values in found)
    if has_own_thresholds and len(columns) > 1:
        names = ", ".join(repr(column.name) for column in columns)
        raise ValueError(
            f"group_thresholds=True needs constraints by a single column, and these are by {names}: make one column of "
            "all combinations, or set group_thresholds=False"
        )
    codes = np.column_stack([column.encode(values) for column, (_, values) in zip(columns, found, strict=True)])
    return GroupPlan(separated.pooled, tuple(separated.by_group), columns, has_own_thresholds, codes)


@dataclass(frozen=True)
class GroupDecision:
    """A decision, with what predictions need of groups."""

    decision: Decision
    rule: GroupRule

    def shift_to_final(self, probe: Probe) -> GroupDecision:
        """Return the decision shifted from the fold models to the final model, every threshold on its own."""
        moved = self.decision.shift_to_final(probe)
        if self.rule.thresholds is None:
            return GroupDecision(moved, self.rule)
        each = [replace(self.decision, threshold=float(one)).shift_to_final(probe) for one in self.rule.thresholds]
        thresholds = np.array([one.threshold for one in each], dtype=np.float64)
        interval = float(thresholds.min()), float(thresholds.max())
        return GroupDecision(replace(moved, interval=interval), replace(self.rule, thresholds=thresholds))


def choose_by_group(plan: GroupPlan, aim: GroupAim, samples: GroupedSamples, has_probabilities: bool) -> GroupDecision:
    """Choose thresholds that keep the constraints on out-of-fold samples, without a guarantee.

    Raises
    ------
    UnreachableGuaranteeError
        If there are none; the message names the group.
    """
    refuse_small_groups(aim, None, samples)
    line = Sigmoid() if has_probabilities else Sigmoid.fit(samples.samples)
    choices = plan.choices(aim, samples)
    best = choices.best()
    if best is None:
        raise UnreachableGuaranteeError(_describe_nearest(aim, choices, samples, has_probabilities))
    decided = _describe(plan, aim, best, best, samples)
    decision = replace(decided.decision, calibration=Calibration((line,)), is_probability=has_probabilities)
    return replace(decided, decision=decision)


def guarantee_by_group(
    plan: GroupPlan,
    aim: GroupAim,
    confidence: float,
    ordering: GroupedSamples,
    testing: GroupedSamples,
    is_probability: bool,
) -> GroupDecision:
    """Choose thresholds whose constraints hold in every group on new samples, with a confidence.

    Parameters
    ----------
    plan, aim
        The constraints.
    confidence : float
        Probability that all constraints hold.
    ordering : GroupedSamples
        Out-of-fold scores of the samples that the model was trained with.
    testing : GroupedSamples
        The model's scores of samples that it was not trained with.
    is_probability : bool
        Whether users read thresholds as probabilities.

    Raises
    ------
    UnreachableGuaranteeError
        If no thresholds can guarantee them.
    """
    refuse_small_groups(aim, confidence, testing)
    shown = show_probability if is_probability else float
    choices = plan.choices(aim, ordering)
    known = find_guaranteed_thresholds(aim, confidence, choices, testing, shown)
    decided = _describe(plan, aim, known[-1:], known, testing)
    reference = ScoreReference.count(ordering.samples.scores, testing.samples.scores)
    decision = replace(
        decided.decision, calibration=Calibration((Sigmoid(),)), is_probability=is_probability, reference=reference
    )
    return replace(decided, decision=decision)


def _describe(plan: GroupPlan, aim: GroupAim, chosen: Floats, known: Floats, samples: GroupedSamples) -> GroupDecision:
    """Return the decision for chosen thresholds: the score to expect, and its interval on as many new samples."""
    if not plan.has_own_thresholds:
        interval = float(known.min()), float(known.max())
        decision = describe(aim.table, ThresholdChoice(float(chosen[0]), interval), samples.samples)
        return GroupDecision(decision, plan.rule(chosen))
    thresholds: Floats = chosen[0]
    target, scores, weights = samples.samples
    margins = ScoredSamples(target, scores - thresholds[samples.codes[:, 0]], weights)
    decision = describe(aim.table, ThresholdChoice(0.0, (0.0, 0.0)), margins)
    # No threshold of the decision is used; that of its interval is what users read.
    interval = float(thresholds.min()), float(thresholds.max())
    return GroupDecision(replace(decision, threshold=interval[0], interval=interval), plan.rule(thresholds))


def _describe_nearest(aim: GroupAim, choices: Choices, samples: GroupedSamples, has_probabilities: bool) -> str:
    """Return why no threshold keeps the constraints on out-of-fold samples, and what the nearest one has."""
    nearest = choices.safest()
    tables = aim.tables(samples, nearest)
    parts = [f"{one.share.name} {float(one.share.value(*tables[0].sum(axis=0)[:, 0])):.3g}" for one in aim.pooled]
    for one in aim.constraints:
        shares = {
            group: float(one.constraint.share.value(*cells[:, 0]))
            for group, cells in zip(aim.groups_of(one), tables[aim.column_of(one)], strict=True)
        }
        least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
        name, named = one.constraint.share.name, least if one.constraint.is_lower_bound else most
        parts.append(
            f"{name} {shares[least]:.3g} in group {least!r} and {shares[most]:.3g} in group {most!r}"
            if one.is_difference
            else f"{name} {shares[named]:.3g} in group {named!r}"
        )
    wanted = " and ".join(map(str, (*aim.pooled, *aim.constraints)))
    shown = show_probability if has_probabilities else float
    at = ", ".join(f"{shown(float(one)):.6g}" for one in nearest.ravel())
    return (
        f"no threshold has {wanted} on out-of-fold samples; the nearest, {at}, has {', '.join(parts)}: relax the "
        "constraints, or collect more minority samples of these groups"
    )


def refuse_other_tasks(plan: GroupPlan | None, is_binary: bool, amounts: Any) -> None:
    """Raise a ValueError if constraints by group are asked for with several classes or with amounts per sample."""
    if plan is None:
        return
    if not is_binary:
        raise ValueError("constraints by group are for two classes: leave them out, or merge classes")
    if amounts is not None:
        raise ValueError(
            "constraints by group are for thresholds, and a Profit with amounts per sample decides about each sample: "
            "give the Profit numbers, or leave the constraints by group out"
        )
