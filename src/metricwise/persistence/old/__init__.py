"""Readers of model files that earlier versions of metricwise wrote.

There is one module per step: `metricwise.persistence.old.format_1` reads files from before classes declared their
state, and `metricwise.persistence.old.thresholds` those whose thresholds were attributes of their own. A class that
raises the version of its state adds a step to `STEPS`, which makes the values of its last version those of the next;
steps stay, so that files of all versions can be read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from metricwise._state import Values
from metricwise.persistence.old.thresholds import (
    move_into_decision,
    move_into_decision_of_plug_in,
    move_into_decision_of_selection,
    move_into_rules,
    undo_class_weights,
)

Step = Callable[[Values], Values]

NEWEST_FORMAT = 2

_KINDS_OF_RESULTS = ("", "Amp", "Selection", "Smoothed", "SparseCoding", "SquaredPairs")

# By the class, as files name it, and the version whose values the step takes.
STEPS: dict[tuple[str, int], Step] = {
    # Constraints, of a measure only, held on out-of-fold samples.
    ("metricwise.MetricClassifier", 1): lambda values: values | {"subject_to": None, "confidence": None},
    ("metricwise.Extrapolation", 1): lambda values: values | {"left_at_worst": 0.0},
    ("metricwise.Decision", 1): lambda values: values,  # without a posterior for several classes and labels
    ("metricwise.Decision", 2): lambda values: values,  # without what an adaptation to another prior needs
    ("metricwise.CohenKappa", 1): lambda values: values,  # without weights
    ("metricwise.AdaptationData", 1): lambda values: values,  # whose samples count as independent
    ("metricwise.Constraint", 1): lambda values: values,  # of two classes, of which none has to be named
    ("metricwise.GuaranteeMonitor", 1): lambda values: values | {"_kind": "binary"},
    ("metricwise.ScoreReference", 1): lambda values: values,  # of two classes, with one score per sample
    ("metricwise.Multilabel", 1): lambda values: values,  # whose labels had numbers only
    # Results that never fell back.
    **{(f"metricwise.{name}Result", 1): lambda values: values | {"fallback": None} for name in _KINDS_OF_RESULTS},
    ("metricwise.AdaptedSVC", 1): move_into_decision,
    ("metricwise.BinaryRelevance", 1): move_into_rules,
    ("metricwise.CostSensitiveClassifier", 1): move_into_decision_of_plug_in,
    ("metricwise.CostSensitiveClassifier", 2): undo_class_weights,
    ("metricwise.MetricClassifier", 2): move_into_decision_of_selection,
    ("metricwise.PlugInClassifier", 1): move_into_decision_of_plug_in,
    # Probabilities were the learner's own, and constraints were on all samples together.
    ("metricwise.MetricClassifier", 3): lambda values: values | {"group_thresholds": False},
    ("metricwise.PlugInClassifier", 2): lambda values: values | {"calibrate": False, "group_thresholds": False},
    ("metricwise.PlugInClassifier", 3): lambda values: values | {"randomised": False},
    ("metricwise.ProbabilisticClassifierChain", 1): move_into_rules,
}


class StoredObject(NamedTuple):
    """What a file stores of an object: its class, the version of the class, and values.

    If the class ``is_gone``, what is stored stands for the object until the step of its holder takes the values.
    """

    name: Any
    version: Any
    values: Values
    is_gone: bool = False


def translate(stored: StoredObject) -> StoredObject:
    """Return an object of a file of format 1 as the newest format names it."""
    from metricwise.persistence.old.format_1 import translate_object

    return translate_object(stored)


def upgrade(stored: StoredObject, current: int) -> StoredObject:
    """Return an object of another version as the current version of its class stores it.

    Raises
    ------
    ValueError
        If the object is of a later version than this metricwise knows, or of one whose step is missing.

    Examples
    --------
    >>> upgrade(StoredObject("metricwise.FBeta", 3, {}), current=1)
    Traceback (most recent call last):
        ...
    ValueError: it holds version 3 of metricwise.FBeta, and this metricwise reads it up to version 1
    """
    name, version, values, _ = stored
    if type(version) is not int or version < 0:
        raise ValueError(f"{name} has {str(version)[:50]!r} where its version belongs")
    if version > current:
        raise ValueError(f"it holds version {version} of {name}, and this metricwise reads it up to version {current}")
    for step in range(version, current):
        values = _find_step(name, step)(values)
    return stored._replace(version=current, values=values)


def _find_step(name: str, version: int) -> Step:
    if version > 0:
        if (name, version) not in STEPS:
            raise ValueError(
                f"it holds version {version} of {name}, and this metricwise has no step from it to version "
                f"{version + 1}: load and save the file with the version of metricwise that wrote it, or add the step "
                "to metricwise.persistence.old.STEPS"
            )
        return STEPS[name, version]
    from metricwise.persistence.old.format_1 import find_step

    return find_step(name)
