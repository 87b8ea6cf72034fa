"""Read models whose threshold was an attribute beside their decision, in log-odds where it is a probability now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from metricwise._state import Values
from metricwise.decisions.decision import Calibration, Decision, Sigmoid
from metricwise.decisions.multilabel_task import Multilabel
from metricwise.decisions.scoring import gives_probabilities, log_odds
from metricwise.decisions.tasks import Multiclass


def move_into_decision(values: Values) -> Values:
    """Make the threshold, which a user may have set, that of the decision; fitted models only have one."""
    threshold = values.pop("threshold_", None)
    if threshold is not None:
        values["_decision"] = _replace_threshold(values["_decision"], threshold)
    return values


def move_into_decision_of_selection(values: Values) -> Values:
    """Make the threshold that of the decision; it is a probability now, unless it is offsets of classes."""
    values = move_into_decision(values)
    if "_decision" in values:
        is_probability = not isinstance(values["_task"], Multiclass)
        values["_decision"] = replace(values["_decision"], is_probability=is_probability)
    return values


def move_into_decision_of_plug_in(values: Values) -> Values:
    """Make the threshold that of the decision; those of labels are probabilities now, if their learners give any."""
    values = move_into_decision(values)
    if "_decision" in values and isinstance(values["_task"], Multilabel):
        is_probability = all(map(gives_probabilities, values["estimator_"]))
        values["_decision"] = replace(values["_decision"], is_probability=is_probability)
    return values


def move_into_rules(values: Values) -> Values:
    """Drop the thresholds of labels, which the decisions of the rules hold: as probabilities now."""
    values.pop("thresholds_", None)
    decisions = values.get("_decisions", {})
    return values | {"_decisions": {rule: replace(one, is_probability=True) for rule, one in decisions.items()}}


def undo_class_weights(values: Values) -> Values:
    """Free probabilities and their thresholds of class weights, by the line that threshold rules used already."""
    decision = values.get("_decision")
    if decision is not None and decision.is_probability and decision.calibration != Calibration((Sigmoid(),)):
        decision = replace(decision, link=decision.calibration)
        values |= {"_decision": decision, "threshold_interval_": decision.shown_interval}
    return values | {"calibrate": False}


def _replace_threshold(decision: Decision, threshold: Any) -> Decision:
    in_scores = log_odds(np.asarray(threshold)) if decision.is_probability else np.asarray(threshold)
    return replace(decision, threshold=in_scores if in_scores.ndim else float(in_scores))
