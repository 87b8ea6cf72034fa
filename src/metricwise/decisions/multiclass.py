"""Offsets of multiclass scores and thresholds of multilabel scores, from out-of-fold scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from metricwise._typing import Floats, Mask
from metricwise.decisions.binary import Aim, ThresholdRule, choose
from metricwise.decisions.class_offsets import TablesValue, bagged_offsets, best_offsets
from metricwise.decisions.decision import Calibration, Decision, ScoredSamples, Sigmoid
from metricwise.decisions.intervals import resampled_interval, score_interval
from metricwise.measures import Averaged, Measure
from metricwise.measures.averages import matrix_table
from metricwise.measures.base import CountsClassTables, CountsTable, RestrictsLabellings


def average_measure(measure: Measure, what: Literal["classes", "labels"]) -> Any:
    """Return a measure of all classes or labels: the macro average of one that is defined for two classes only."""
    if isinstance(measure, Averaged) or (what == "classes" and isinstance(measure, CountsClassTables)):
        return measure
    if isinstance(measure, CountsTable) and not isinstance(measure, RestrictsLabellings):
        return Averaged(measure, "macro")
    raise ValueError(
        f"measure {measure.name!r} is for two classes, but y has several {what}: use an average of a measure of the "
        "contingency table, such as 'f1_macro', 'f1_micro' or 'f1_weighted'"
    )


def check_thresholds_serve(measure: Measure, what: Literal["classes", "labels"]) -> None:
    """Raise a ValueError unless offsets of the classes, or thresholds of the labels, serve a measure."""
    if isinstance(measure, Averaged) and measure.average == "samples":
        raise ValueError(
            f"{measure.name!r} is a mean over samples: use BinaryRelevance(estimator, inference='meuf'), which "
            "chooses the labels of each sample for it"
        )
    average_measure(measure, what)


def choose_offsets(value: TablesValue, rule: ThresholdRule, samples: ScoredSamples) -> Decision:
    """Choose offsets of the classes: the best on the out-of-fold samples ("max"), or their mean over resamples."""
    if rule.strategy not in ("auto", "bagged", "max"):
        raise ValueError(f"for more than two classes threshold is 'auto', 'bagged' or 'max', got {rule.strategy!r}")
    codes, scores, weights = samples
    bagged = bagged_offsets(value, codes, scores, weights, rule.seed)
    offsets = best_offsets(value, codes, scores, weights).offsets if rule.strategy == "max" else bagged.offsets
    size = scores.shape[1]
    predicted = np.argmax(scores - offsets, axis=1)
    cells = np.bincount(codes * size + predicted, weights, size * size).astype(np.float64)

    def value_of_cells(*drawn: Floats) -> Any:
        return value(*_tables(np.stack(drawn, axis=-1), size))

    interval = score_interval(value_of_cells, tuple(cells), n_samples=max(1, round(float(weights.sum()))))
    return Decision(offsets, bagged.interval, float(value(*_tables(cells, size))), interval)


def _tables(cells: Floats, size: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the tables of all classes from cells (true class, predicted class) in the last axis."""
    matrix = cells.reshape(*cells.shape[:-1], size, size)
    tp = np.diagonal(matrix, axis1=-2, axis2=-1)
    fp, fn = matrix.sum(axis=-2) - tp, matrix.sum(axis=-1) - tp
    return tp, fp, fn, cells.sum(axis=-1)[..., None] - tp - fp - fn


def choose_thresholds(
    measure: Averaged, rule: ThresholdRule, samples: ScoredSamples, has_probabilities: bool
) -> Decision:
    """Choose the thresholds of the labels and estimate the score to expect."""
    labels = choose_label_thresholds(measure, rule, samples, has_probabilities)
    thresholds = np.array([label.threshold for label in labels])
    low, high = np.array([label.interval for label in labels]).T
    value = value_by_weights(measure.of_tables, samples.target, samples.scores > thresholds)
    interval = resampled_interval(value, samples.weights, seed=rule.seed)
    calibration = Calibration(tuple(line for label in labels for line in label.calibration.lines))
    return Decision(thresholds, (low, high), value(samples.weights), interval, calibration=calibration)


def choose_label_thresholds(
    measure: Averaged, rule: ThresholdRule, samples: ScoredSamples, has_probabilities: bool
) -> list[Decision]:
    """Choose one threshold per label, or one for all where the measure pools the labels ("micro")."""
    if rule.strategy == "batch":
        raise ValueError("for several labels threshold is 'auto', 'bagged', 'expected' or 'max', got 'batch'")
    labels, scores, weights = samples
    aim = Aim(measure.base, measure.base, [])
    if measure.average == "micro":
        pooled = ScoredSamples(labels.ravel(), scores.ravel(), np.repeat(weights, labels.shape[1]))
        return [_choose_for_label(aim, rule, pooled, has_probabilities)] * labels.shape[1]
    return [
        _choose_for_label(aim, rule, ScoredSamples(has_label, column, weights), has_probabilities)
        for has_label, column in zip(labels.T, scores.T, strict=True)
    ]


def _choose_for_label(aim: Aim, rule: ThresholdRule, samples: ScoredSamples, has_probabilities: bool) -> Decision:
    if 0 < np.count_nonzero(samples.target) < samples.target.size:
        return choose(aim, rule, samples, has_probabilities)
    # All samples have the label, or none: scores are constant, and any threshold between the two is right.
    return Decision(0.0, (0.0, 0.0), 1.0, (1.0, 1.0), calibration=Calibration((Sigmoid(),)))


def value_by_weights(value: TablesValue, truth: Mask, predicted: Mask) -> Callable[[Floats], float]:
    """Return the measure of the columns of predictions as a function of the weights of the samples."""

    def evaluate(weights: Floats) -> float:
        table = matrix_table(truth, predicted, weights)
        return float(value(table.tp, table.fp, table.fn, table.tn))

    return evaluate
