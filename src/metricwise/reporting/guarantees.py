"""The guarantees of a model on labelled samples: which shares its predictions have there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from metricwise._typing import Labels
from metricwise.decisions.class_constraints import ClassConstraints, ClassTables
from metricwise.decisions.group_constraints import GroupConstraint
from metricwise.decisions.group_decision import GroupRule
from metricwise.decisions.guarantees import Constraint
from metricwise.decisions.monitor import find_constraints, find_pooled_constraints
from metricwise.measures.averages import matrix_table
from metricwise.reporting.models import layers
from metricwise.reporting.predictions import Predictions

_ROUNDING = 1e-12  # of the difference of two shares


def find_guaranteed(model: Any, found: Predictions) -> Any:
    """Return the classifier inside a model that has constraints on what was predicted; None if there is none."""
    guaranteed = next((layer for layer in layers(model) if find_constraints(layer)), None)
    if guaranteed is None:
        return None
    task = guaranteed._task
    if task.is_binary:
        return guaranteed if found.kind == "binary" and task.positive == found.problems[0].label else None
    return guaranteed if found.kind != "binary" and len(found.problems) == len(task.names) else None


def find_group_rule(model: Any) -> GroupRule | None:
    """Return the constraints by group of a model, or of a classifier inside; None if there are none."""
    return next((one._group_rule for one in layers(model) if getattr(one, "_group_rule", None) is not None), None)


def evaluate_guarantees(
    model: Any, found: Predictions, columns: Mapping[str, Labels] | None = None
) -> list[dict[str, Any]]:
    """Return a record for each constraint of a model: its share among the given samples, and whether it is kept there.

    The record of a constraint by group has the share of the worst group, or the largest difference between two.

    Parameters
    ----------
    model : fitted classifier
        The model.
    found : Predictions
        Its predictions.
    columns : dict, optional
        The groups of the samples by the name of their column. Constraints by others are not evaluated: their share and
        ``kept`` are None.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from metricwise import PlugInClassifier
    >>> from metricwise.reporting.predictions import collect_predictions
    >>> X, y = make_classification(900, n_classes=3, n_informative=4, class_sep=2.0, random_state=0)
    >>> model = PlugInClassifier(LogisticRegression(), subject_to="recall>=0.6 of 2").fit(X, y)
    >>> (record,) = evaluate_guarantees(model, collect_predictions(model, X, y))
    >>> record["guarantee"], record["kept"]
    ('recall >= 0.6 of 2', True)
    """
    guaranteed = find_guaranteed(model, found)
    if guaranteed is None:
        return []
    wanted = find_pooled_constraints(guaranteed)
    places: list[int | None] = [0] * len(wanted)
    if not guaranteed._task.is_binary:
        places = ClassConstraints.locate(wanted, guaranteed._task.names).columns
    cells = matrix_table(found.truth, found.predicted, found.weights)
    tables = ClassTables(cells.tp, cells.fp, cells.fn, cells.tn)
    records = [_judge(one, *one.share.counts(*tables.of(at))) for one, at in zip(wanted, places, strict=True)]
    return records + evaluate_group_constraints(find_group_rule(guaranteed), found, columns or {})


def evaluate_group_constraints(
    rule: GroupRule | None, found: Predictions, columns: Mapping[str, Labels]
) -> list[dict[str, Any]]:
    """Return a record for each constraint by group: the worst group among those of training, and its share.

    Parameters
    ----------
    rule : GroupRule or None
        The constraints of a model of two classes.
    found : Predictions
        Its predictions.
    columns : dict
        The groups of the samples by the name of their column.
    """
    if rule is None:
        return []
    known = {column.name: column for column in rule.columns}
    records = []
    for one in rule.constraints:
        counts: dict[Any, tuple[float, float]] = {}
        if one.by in columns:
            codes = known[one.by].encode(columns[one.by])
            for code, group in enumerate(known[one.by].groups):
                own = found.take(np.flatnonzero(codes == code)).problems[0].table if np.any(codes == code) else None
                kind, among = (0.0, 0.0) if own is None else one.constraint.share.counts(own.tp, own.fp, own.fn, own.tn)
                counts |= {group: (float(kind), float(among))} if among > 0 else {}
        records.append(_judge_groups(one, counts))
    return records


def _judge_groups(wanted: GroupConstraint, counts: Mapping[Any, tuple[float, float]]) -> dict[str, Any]:
    """Return the record of a constraint by group, given how many samples are of a kind, and among how many."""
    shares = {group: kind / among for group, (kind, among) in counts.items()}
    if len(shares) < 1 + wanted.is_difference:
        return {"guarantee": str(wanted), "counted": 0.0, "share": None, "kept": None, "group": None}
    least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    if wanted.is_difference:
        share, worst = shares[most] - shares[least], [least, most]
        kept = share <= wanted.constraint.bound + _ROUNDING
        counted = counts[least][1] + counts[most][1]
        return {"guarantee": str(wanted), "counted": counted, "share": share, "kept": kept, "group": worst}
    group = least if wanted.constraint.is_lower_bound else most
    return _judge(wanted.constraint, *counts[group]) | {"guarantee": str(wanted), "group": group}


def _judge(wanted: Constraint, kind: Any, among: Any) -> dict[str, Any]:
    """Return the record of a constraint, given how many samples are of a kind, and among how many."""
    share = float(kind) / float(among) if among else None
    kept = None if share is None else (share >= wanted.bound) == wanted.is_lower_bound or share == wanted.bound
    return {"guarantee": str(wanted), "counted": float(among), "share": share, "kept": kept}
