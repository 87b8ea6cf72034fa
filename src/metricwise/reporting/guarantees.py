"""The guarantees of a model on labelled samples: which shares its predictions have there."""

from __future__ import annotations

from typing import Any

from metricwise.decisions.class_constraints import ClassConstraints, ClassTables
from metricwise.decisions.monitor import find_constraints
from metricwise.measures.averages import matrix_table
from metricwise.reporting.models import layers
from metricwise.reporting.predictions import Predictions


def find_guaranteed(model: Any, found: Predictions) -> Any:
    """Return the classifier inside a model that has constraints on what was predicted; None if there is none."""
    guaranteed = next((layer for layer in layers(model) if find_constraints(layer)), None)
    if guaranteed is None:
        return None
    task = guaranteed._task
    if task.is_binary:
        return guaranteed if found.kind == "binary" and task.positive == found.problems[0].label else None
    return guaranteed if found.kind != "binary" and len(found.problems) == len(task.names) else None


def evaluate_guarantees(model: Any, found: Predictions) -> list[dict[str, Any]]:
    """Return a record for each constraint of a model: its share among the given samples, and whether it is kept there.

    Parameters
    ----------
    model : fitted classifier
        The model.
    found : Predictions
        Its predictions.

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
    wanted = find_constraints(guaranteed)
    columns: list[int | None] = [0] * len(wanted)
    if not guaranteed._task.is_binary:
        columns = ClassConstraints.locate(wanted, guaranteed._task.names).columns
    cells = matrix_table(found.truth, found.predicted, found.weights)
    tables = ClassTables(cells.tp, cells.fp, cells.fn, cells.tn)
    records = []
    for one, column in zip(wanted, columns, strict=True):
        kind, among = (float(count) for count in one.share.counts(*tables.of(column)))
        share = kind / among if among else None
        kept = None if share is None else (share >= one.bound) == one.is_lower_bound or share == one.bound
        records.append({"guarantee": str(one), "counted": among, "share": share, "kept": kept})
    return records
