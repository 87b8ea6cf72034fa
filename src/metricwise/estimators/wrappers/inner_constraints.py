"""Constraints of a wrapped classifier, which a wrapper with thresholds of its own cannot keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metricwise.measures import PrecisionAtRecall, RecallAtPrecision, get_measure
from metricwise.registry import entry_of

_REMEDIES = {
    "TriageClassifier": (
        "write TriageClassifier(..., subject_to=...) for a least precision or npv, or use {inner} alone for other "
        "constraints, without reviews"
    )
}
_REMEDY = "write {outer}(..., subject_to=...) and leave it out of {inner}, or use {inner} alone"


def refuse_inner_constraints(outer: str, learner: Any) -> None:
    """Raise if a classifier, or a part of it, has constraints of its own: its thresholds would not be used.

    Parameters
    ----------
    outer : str
        Name of the class that wraps the classifier and chooses thresholds for its scores.
    learner : classifier
        The classifier.

    Raises
    ------
    ValueError
        If it has; the message says where to put them.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from metricwise import PlugInClassifier
    >>> refuse_inner_constraints("TriageClassifier", PlugInClassifier(LogisticRegression()))
    >>> refuse_inner_constraints("PlugInClassifier", PlugInClassifier(LogisticRegression(), subject_to="recall>=0.8"))
    Traceback (most recent call last):
        ...
    ValueError: the PlugInClassifier inside has subject_to='recall>=0.8', which PlugInClassifier would not keep: ...
    """
    for inner, setting in _find_constraints(learner):
        remedy = _REMEDIES.get(outer, _REMEDY).format(outer=outer, inner=inner)
        raise ValueError(
            f"the {inner} inside has {setting}, which {outer} would not keep: it chooses thresholds of its own for the "
            f"scores of the classifier inside. Put the constraints there: {remedy}"
        )


def _find_constraints(learner: Any) -> Iterator[tuple[str, str]]:
    """Yield the name of each part that has constraints, with the parameter that sets them."""
    if not hasattr(learner, "get_params"):
        return
    parts = [learner, *learner.get_params(deep=True).values()]
    for part in parts:
        if isinstance(part, type | str) or entry_of(part) is None:
            continue
        own = part.get_params(deep=False)
        if own.get("subject_to"):
            yield type(part).__name__, f"subject_to={own['subject_to']!r}"
        elif "subject_to" in own and isinstance(get_measure(own["measure"]), PrecisionAtRecall | RecallAtPrecision):
            yield type(part).__name__, f"measure={own['measure']!r}"
