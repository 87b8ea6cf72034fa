"""Offsets of multiclass scores and thresholds of multilabel scores, from out-of-fold scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from metricwise._typing import Floats, Integers, Mask
from metricwise.decisions.binary import ThresholdRule, expect, separate_folds
from metricwise.decisions.calibrating import fit_limited_calibration
from metricwise.decisions.class_offsets import TablesValue, bagged_offsets, best_offsets, expected_offsets
from metricwise.decisions.confusion_posterior import ConfusionPosterior
from metricwise.decisions.decision import Calibration, Decision, ScoredSamples, Sigmoid
from metricwise.decisions.label_posterior import summarize_labels
from metricwise.decisions.threshold_choice import ThresholdChoice, choose_threshold
from metricwise.measures import Averaged, Measure
from metricwise.measures.averages import matrix_table
from metricwise.measures.base import CountsTable, IsCost, IsTotal, NeedsConstraint, RestrictsLabellings
from metricwise.measures.confusion import of_matrices
from metricwise.measures.multiclass_capabilities import CountsClassTables, CountsConfusion, needs_whole_matrix


def refuse_other_number(measure: Measure, n_classes: int) -> None:
    """Raise a ValueError if a user's function of the confusion matrix is for another number of classes."""
    wanted = getattr(measure, "n_classes", None)
    if wanted is not None and wanted != n_classes:
        raise ValueError(f"measure {measure.name!r} was made for {wanted} classes, and there are {n_classes}")


def average_measure(measure: Measure, what: Literal["classes", "labels"]) -> Any:
    """Return a measure of all classes or labels: the macro average of one that is defined for two classes only."""
    if isinstance(measure, Averaged) or (
        what == "classes" and isinstance(measure, CountsClassTables | CountsConfusion)
    ):
        return measure
    if needs_whole_matrix(measure) and not isinstance(measure, CountsTable):
        raise ValueError(f"measure {measure.name!r} is for more than two classes, but y has several labels")
    if isinstance(measure, CountsTable) and not isinstance(measure, RestrictsLabellings | IsCost | IsTotal):
        return Averaged(measure, "macro")
    if isinstance(measure, IsTotal):
        raise ValueError(f"a {measure.name} is for two classes, but y has several {what}: use CostMatrix for classes")
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
    if isinstance(measure, NeedsConstraint):
        raise ValueError(f"{measure.why_not_alone}. For several {what}, train for 'f1_macro' or 'balanced_accuracy'")
    if what == "labels" and isinstance(measure, Averaged) and isinstance(measure.base, NeedsConstraint):
        raise ValueError(f"{measure.name!r} cannot be trained for, label by label: {measure.base.why_not_alone}")
    average_measure(measure, what)


def choose_offsets(
    measure: CountsClassTables, rule: ThresholdRule, samples: ScoredSamples, has_probabilities: bool
) -> Decision:
    """Choose offsets of the classes on out-of-fold samples.

    They are the best ("max"), the mean of the best of resamples ("bagged"), those that maximise the measure expected by
    calibrated probabilities ("expected"), or the mean of the latter two ("auto"; "bagged" without probabilities).
    """
    check_strategy(rule.strategy, has_probabilities)
    bagged = bagged_offsets(measure.of_tables, *samples, rule.seed)
    offsets = find_offsets(measure, rule, samples, has_probabilities, bagged.offsets)
    posterior = ConfusionPosterior(measure, confusion_matrix(offsets, samples)[None])
    return expect(Decision(offsets, bagged.interval, np.nan, (np.nan, np.nan)), posterior, samples.weights)


def check_strategy(strategy: str, has_probabilities: bool) -> None:
    """Raise a ValueError unless a strategy chooses offsets of classes."""
    if strategy not in ("auto", "bagged", "max", "expected"):
        raise ValueError(
            f"for more than two classes threshold is 'auto', 'bagged', 'max', 'expected' or 'gains', got {strategy!r}"
        )
    if strategy == "expected" and not has_probabilities:
        raise ValueError("threshold='expected' needs probabilities: use a classifier with predict_proba, or 'auto'")


def find_offsets(
    measure: CountsClassTables,
    rule: ThresholdRule,
    samples: ScoredSamples,
    has_probabilities: bool,
    bagged: Floats | None = None,
) -> Floats:
    """Return the offsets of a strategy; ``bagged`` are those of this name, if they are known already."""
    value = measure.of_tables
    if rule.strategy == "max":
        return best_offsets(value, *samples).offsets
    found = []
    if rule.strategy != "expected":
        found.append(bagged_offsets(value, *samples, rule.seed).offsets if bagged is None else bagged)
    if has_probabilities and rule.strategy != "bagged":
        calibration = fit_limited_calibration(samples, has_probabilities).log_probabilities
        found.append(expected_offsets(value, samples.scores, samples.weights, rule.seed, calibration))
    mean: Floats = np.mean(found, axis=0)
    return mean


def judge_offsets(
    measure: CountsClassTables,
    rule: ThresholdRule,
    decision: Decision,
    samples: ScoredSamples,
    sizes: list[int],
    has_probabilities: bool,
) -> Decision:
    """Return a decision with the score to expect from folds, each at the offsets that the other folds choose.

    Parameters
    ----------
    measure, rule, samples, has_probabilities
        What `choose_offsets` was given.
    decision : Decision
        Chosen on all samples.
    sizes : list of int
        Numbers of samples of the folds, in the order of the samples.
    """
    n_classes = samples.scores.shape[1]
    matrices = []
    for own, others in separate_folds(samples, sizes):
        offsets: Any = decision.threshold  # for folds without which a class has no samples
        if np.unique(others.target).size == n_classes:
            offsets = find_offsets(measure, rule, others, has_probabilities)
        matrices.append(confusion_matrix(offsets, own))
    return expect(decision, ConfusionPosterior(measure, np.array(matrices)), samples.weights)


def confusion_matrix(offsets: Floats, samples: ScoredSamples) -> Floats:
    """Return the weights of samples by true and predicted class."""
    codes, scores, weights = samples
    size = scores.shape[1]
    predicted = np.argmax(scores - offsets, axis=1)
    return np.bincount(codes * size + predicted, weights, size * size).astype(np.float64).reshape(size, size)


class LabelThresholds(NamedTuple):
    """Thresholds of the labels, and the ends of the intervals that hold 90 % of those of resamples."""

    thresholds: Floats
    interval: tuple[Floats, Floats]


def choose_thresholds(
    measure: Averaged, rule: ThresholdRule, samples: ScoredSamples, has_probabilities: bool
) -> Decision:
    """Choose the thresholds of the labels and estimate the score to expect."""
    lines = fit_lines(measure, samples, has_probabilities)
    thresholds, interval = choose_label_thresholds(measure, rule, samples, lines)
    posterior = summarize_labels(measure, samples.target, samples.scores > thresholds, samples.weights)
    calibration = Calibration(tuple(lines))
    decision = Decision(
        thresholds, interval, np.nan, (np.nan, np.nan), calibration=calibration, is_probability=has_probabilities
    )
    return expect(decision, posterior, samples.weights)


def judge_thresholds(
    measure: Averaged, rule: ThresholdRule, decision: Decision, samples: ScoredSamples, sizes: list[int]
) -> Decision:
    """Return a decision with the score to expect from folds, each at the thresholds that the other folds choose.

    Parameters
    ----------
    measure, rule, samples
        What `choose_thresholds` was given.
    decision : Decision
        Chosen on all samples.
    sizes : list of int
        Numbers of samples of the folds, in the order of the samples.
    """
    predicted = []
    for own, others in separate_folds(samples, sizes):
        found = choose_label_thresholds(measure, rule, others, decision.calibration.lines).thresholds
        is_known = _has_both_kinds(others.target) if measure.average != "micro" else True
        predicted.append(own.scores > np.where(is_known, found, decision.threshold))
    posterior = summarize_labels(measure, samples.target, np.concatenate(predicted), samples.weights, sizes)
    return expect(decision, posterior, samples.weights)


def choose_label_thresholds(
    measure: Averaged, rule: ThresholdRule, samples: ScoredSamples, lines: Sequence[Sigmoid]
) -> LabelThresholds:
    """Choose one threshold per label, or one for all where the measure pools the labels ("micro").

    Parameters
    ----------
    measure : Averaged
        The measure.
    rule : ThresholdRule
        How to choose.
    samples : ScoredSamples
        A matrix of labels, the scores of each label, and weights.
    lines : sequence of Sigmoid
        Make log-odds of the scores of each label.
    """
    refuse_batches(rule)
    if measure.average == "micro":
        found = [_choose_for_label(measure, rule, _pool(samples), lines[0])] * len(lines)
    else:
        found = [
            _choose_for_label(measure, rule, one, line) for one, line in zip(label_columns(samples), lines, strict=True)
        ]
    low, high = np.array([one.interval for one in found]).T
    return LabelThresholds(np.array([one.threshold for one in found]), (low, high))


def refuse_batches(rule: ThresholdRule) -> None:
    """Raise a ValueError if thresholds of labels are to be adapted to the samples that are predicted together."""
    if rule.strategy == "batch":
        raise ValueError("for several labels threshold is 'auto', 'bagged', 'expected' or 'max', got 'batch'")


def _choose_for_label(measure: Averaged, rule: ThresholdRule, samples: ScoredSamples, line: Sigmoid) -> ThresholdChoice:
    if not _has_both_kinds(samples.target):
        # All samples have the label, or none: scores are constant, and any threshold between the two is right.
        return ThresholdChoice(0.0, (0.0, 0.0))
    log_odds = line.log_odds(samples.scores)
    strategy: Any = rule.strategy
    found = choose_threshold(strategy, measure.base, samples.target, log_odds, samples.weights, rule.seed)
    low, high = (line.score(end) for end in found.interval)
    return ThresholdChoice(line.score(found.threshold), (low, high))


def fit_lines(measure: Averaged, samples: ScoredSamples, has_probabilities: bool) -> list[Sigmoid]:
    """Return what makes log-odds of the scores of each label."""
    if measure.average == "micro":
        return [_fit_line(_pool(samples), has_probabilities)] * samples.scores.shape[1]
    return [_fit_line(one, has_probabilities) for one in label_columns(samples)]


def _fit_line(samples: ScoredSamples, has_probabilities: bool) -> Sigmoid:
    return Sigmoid() if has_probabilities or not _has_both_kinds(samples.target) else Sigmoid.fit(samples)


def _pool(samples: ScoredSamples) -> ScoredSamples:
    labels, scores, weights = samples
    return ScoredSamples(labels.ravel(), scores.ravel(), np.repeat(weights, labels.shape[1]))


def label_columns(samples: ScoredSamples) -> list[ScoredSamples]:
    """Return the samples of each label."""
    return [
        ScoredSamples(labels, scores, samples.weights)
        for labels, scores in zip(samples.target.T, samples.scores.T, strict=True)
    ]


def _has_both_kinds(labels: Mask) -> Any:
    """Return whether some samples have a label and some do not; for a matrix, of each label."""
    return labels.any(axis=0) & ~labels.all(axis=0)


def value_by_weights(value: TablesValue, truth: Mask, predicted: Mask) -> Callable[[Floats], float]:
    """Return the measure of the columns of predictions as a function of the weights of the samples."""

    def evaluate(weights: Floats) -> float:
        table = matrix_table(truth, predicted, weights)
        return float(value(table.tp, table.fp, table.fn, table.tn))

    return evaluate


def value_of_classes(measure: Any, codes: Integers, predicted: Integers, size: int) -> Callable[[Floats], float]:
    """Return a measure of predicted classes as a function of the weights of the samples."""
    cells = codes * size + predicted

    def evaluate(weights: Floats) -> float:
        counts = np.bincount(cells, weights, size * size).astype(np.float64)
        return float(of_matrices(measure, counts.reshape(size, size)))

    return evaluate
