"""Tables per group: what a model does in every group of a column, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricwise._typing import Labels
from metricwise.decisions.subgroups import is_column_given, read_column
from metricwise.measures.shares import Share
from metricwise.reporting.evaluation import evaluate
from metricwise.reporting.guarantees import evaluate_group_constraints, find_group_rule
from metricwise.reporting.markup import Markup, number, paragraph, percent, section, spread, table, tally
from metricwise.reporting.predictions import Predictions

SHARES = ("recall", "precision", "positive_rate", "false_positive_rate")
_MOST_GROUPS = 100
_NONE = (float("nan"), float("nan"))


@dataclass(frozen=True)
class GroupSummary:
    """What a model does in one group.

    Attributes
    ----------
    group : object
        The group.
    n_samples, n_positives : float
        Its samples and its positive samples, or their weights.
    share : float
        Its share of all samples.
    values : dict
        Recall, precision, positive rate (the share predicted positive) and false positive rate; NaN if not defined.
    intervals : dict
        Their intervals.
    """

    group: Any
    n_samples: float
    share: float
    n_positives: float
    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]


def summarize_groups(found: Predictions, groups: Labels, confidence: float = 0.9, seed: int = 0) -> list[GroupSummary]:
    """Return what a model of two classes does in every group.

    Parameters
    ----------
    found : Predictions
        Its predictions.
    groups : array of shape (n_samples,)
        The group of every sample.
    confidence : float
        Confidence level of the intervals.
    seed : int
        Seeds the resamples.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.reporting.predictions import Problem
    >>> truth = np.arange(400) % 4 == 0
    >>> perfect = Problem("1", 1, truth, truth, truth * 1.0, "score", 0.5, np.ones(400))
    >>> found = Predictions("binary", ["0", "1"], [perfect])
    >>> first, second = summarize_groups(found, np.arange(400) < 100)
    >>> first.group, first.share, first.n_positives, first.values["recall"]
    (False, 0.75, 75.0, 1.0)
    """
    if found.kind != "binary":
        raise ValueError("tables per group are for two classes: leave the column of groups out")
    distinct = np.unique(groups)
    if distinct.size > _MOST_GROUPS:
        raise ValueError(
            f"the column has {distinct.size} different values, and tables are for at most {_MOST_GROUPS} groups: make "
            "groups of its values first"
        )
    total = float(found.weights.sum())
    return [_summarize(found.take(np.flatnonzero(groups == one)), one, total, confidence, seed) for one in distinct]


def _summarize(found: Predictions, group: Any, total: float, confidence: float, seed: int) -> GroupSummary:
    cells = found.problems[0].table
    values, intervals = {}, {}
    for name in SHARES:
        share = Share(name)
        is_defined = float(share.counts(cells.tp, cells.fp, cells.fn, cells.tn)[1]) > 0.0
        judged = evaluate([found], share, confidence, seed)[0] if is_defined else None
        values[name] = float("nan") if judged is None else judged.value
        intervals[name] = _NONE if judged is None else judged.interval
    n_samples = float(found.weights.sum())
    label = group.item() if hasattr(group, "item") else group
    return GroupSummary(label, n_samples, n_samples / total, float(cells.tp + cells.fn), values, intervals)


def find_columns_by(model: Any, X: Any, by: Any, n_samples: int) -> dict[str, Labels]:
    """Return the columns of groups to report: those given, or those that the constraints of the model are by.

    Parameters
    ----------
    model : fitted classifier
        The model, of any class.
    X : samples
        Samples; a data frame if columns are named.
    by : str, list of str, data frame, dict or None
        Names of columns of X, or columns by name. None for the model's own that X has.
    n_samples : int
        Number of samples.
    """
    if by is None:
        own = find_group_rule(model)
        names = [] if own is None else [column.name for column in own.columns]
        return {
            name: read_column(name, X, None, n_samples, may_be_missing=True)
            for name in names
            if is_column_given(name, X, None)
        }
    if isinstance(by, Mapping) or hasattr(by, "columns"):
        names, given = list(by), by
    else:
        names, given = [by] if isinstance(by, str) else list(by), None
    return {str(name): read_column(name, X, given, n_samples, may_be_missing=True) for name in names}


def drop_weightless_groups(columns: Mapping[str, Labels], sample_weight: Any) -> dict[str, Labels]:
    """Return the groups of the samples that have a weight above zero."""
    if sample_weight is None:
        return dict(columns)
    kept = np.asarray(sample_weight, dtype=np.float64).ravel() > 0.0
    return {name: values[kept] for name, values in columns.items()}


def groups_section(
    model: Any, columns: Mapping[str, Labels], found: Predictions, confidence: float, seed: int
) -> Markup | None:
    """Return a section with the constraints by group and a table per column of groups; None without columns."""
    if not columns or found.kind != "binary":
        return None
    head = ["group", "samples", "share", "positives"]
    shown = {"positive_rate": "predicted positive"}
    for name in SHARES:
        head += [shown.get(name, name.replace("_", " ")), f"{percent(confidence)} interval"]
    tables = _constraints_table(evaluate_group_constraints(find_group_rule(model), found, columns))
    for column, groups in columns.items():
        rows = [
            (
                str(one.group),
                tally(one.n_samples),
                percent(one.share),
                tally(one.n_positives),
                *(cell for name in SHARES for cell in (number(one.values[name]), spread(one.intervals[name]))),
            )
            for one in summarize_groups(found, groups, confidence, seed)
        ]
        tables.append(table(f"Groups of {column}", head, rows))
    words = "What the model does in every group. Intervals are for each group on its own, not for differences."
    return section("groups", "Is it as good in every group?", paragraph(words), *tables)


def _constraints_table(records: list[dict[str, Any]]) -> list[Markup]:
    """Return a table of constraints by group, with the worst group of each; nothing without constraints."""
    judged = [one for one in records if one["kept"] is not None]
    rows = [
        (one["guarantee"], name_groups(one["group"]), number(one["share"]), "yes" if one["kept"] else "no")
        for one in judged
    ]
    return (
        [table("Constraints by group", ["constraint", "worst group", "its share", "kept here"], rows)] if rows else []
    )


def name_groups(group: Any) -> str:
    """Return the name of a group, or of the two that a difference is between.

    Examples
    --------
    >>> name_groups("north"), name_groups(["north", "south"])
    ('north', 'north, south')
    """
    return ", ".join(map(str, group)) if isinstance(group, list) else str(group)
