"""The measure of one or several models on the same samples, with intervals from resamples of the samples.

A sample of weight 3 counts as three in the value, but as one in the interval: copies of it add no information.
Where samples are in groups, such as those of one patient, whole groups are drawn: intervals are for new groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats, Mask
from metricwise.decisions.intervals import interval_around, middle_part
from metricwise.decisions.multiclass import average_measure
from metricwise.decisions.targets import choose_positive_class
from metricwise.measures import Averaged, BalancedAccuracy, Measure, RestrictsLabellings
from metricwise.measures.averages import is_sample_average, matrix_table
from metricwise.measures.base import CountsTable, IsCost, Table, show_value
from metricwise.measures.multiclass_capabilities import needs_whole_matrix
from metricwise.reporting.predictions import NOUNS, Predictions
from metricwise.reporting.resampling import distinct_codes, distinct_patterns, draw_weights
from metricwise.reporting.steps import Steps

RESAMPLES = 2000
_RANKING_RESAMPLES = 300
_BAND_RESAMPLES = 300
_UNSEEN = 0.5  # samples, or groups, that an outcome counts for if it has not been seen (Jeffreys)
_GRADES, _JOINT_GRADES = 2000, 100  # into which scores are grouped to be resampled: for one model, for several
_FEW_SAMPLES = 20_000


@dataclass(frozen=True)
class Evaluation:
    """The measure of a model, and its values on resamples, which are the same for all models compared."""

    value: float
    draws: Floats
    confidence: float
    is_cost: bool = False  # less is better

    @property
    def interval(self) -> tuple[float, float]:
        """The middle part of the resamples, extended to the value where that lies outside."""
        return interval_around(self.value, self.draws, self.confidence)

    @property
    def badness(self) -> float:
        """The value, negative unless it is a cost: the best model has the least."""
        return self.value if self.is_cost else -self.value

    def ahead_of(self, other: Evaluation) -> tuple[float, float, float]:
        """Return the difference of this model's measure and another's, with its interval."""
        return (self.value - other.value, *middle_part(self.draws - other.draws, self.confidence))


def resolve_measure(measure: Measure, predictions: Predictions) -> Measure:
    """Return the measure as it applies to these problems: the macro average of one that is for two classes only.

    ValueError if the measure depends on which of two classes is positive, and neither is named.
    """
    if predictions.unnamed is not None:
        n_positive = int(predictions.problems[0].truth.sum())
        choose_positive_class(predictions.unnamed, None, measure, [predictions.n_samples - n_positive, n_positive])
    if predictions.kind == "binary":
        return measure
    found: Measure = average_measure(measure, NOUNS[predictions.kind])
    return found


def threshold_measure(measure: Measure) -> CountsTable:
    """Return the measure that thresholds are chosen for: the measure, the base of an average, or balanced accuracy."""
    base = measure.base if isinstance(measure, Averaged) else measure
    return base if isinstance(base, CountsTable) else BalancedAccuracy()


def evaluate(
    models: Sequence[Predictions], measure: Measure, confidence: float = 0.9, seed: int = 0
) -> list[Evaluation]:
    """Evaluate models by their predictions for the same samples.

    Parameters
    ----------
    models : sequence of Predictions
        Predictions of each model for the same samples; the weights and groups of the first count for all.
    measure : Measure
        The measure, as returned by `resolve_measure`.
    confidence : float
        Confidence level of the intervals.
    seed : int
        Seeds the resamples.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import Accuracy
    >>> from metricwise.reporting.predictions import Problem
    >>> truth = np.arange(400) % 4 == 0
    >>> never = Problem("1", 1, truth, truth & False, truth * 1.0, "score", None, np.ones(400))
    >>> evaluated, = evaluate([Predictions("binary", ["0", "1"], [never])], Accuracy())
    >>> low, high = evaluated.interval
    >>> evaluated.value, bool(low < 0.75 < high), bool(0.05 < high - low < 0.1)
    (0.75, True, True)
    """
    random = np.random.default_rng(seed)
    by_scores = measure.response == "scores"
    values, draws = (_evaluate_rankings if by_scores else _evaluate_labels)(models, measure, random)
    is_cost, n_samples = isinstance(measure, IsCost), float(models[0].weights.sum())
    shown_values, shown_draws = (show_value(measure, np.asarray(part), n_samples) for part in (values, draws))
    return [
        Evaluation(float(value), column, confidence, is_cost)
        for value, column in zip(shown_values, shown_draws.T, strict=True)
    ]


def _evaluate_labels(
    models: Sequence[Predictions], measure: Any, random: np.random.Generator
) -> tuple[list[float], Floats]:
    two = models[0].kind == "binary"
    rows = np.hstack([models[0].truth, *(model.predicted for model in models)])
    patterns, totals = distinct_patterns(rows, models[0].weights, models[0].groups)
    unseen = _unseen_outcomes(patterns, len(models)) if two else patterns[:0]
    patterns = np.vstack([patterns, unseen])
    drawn = totals.add_unseen(_UNSEEN, len(unseen))
    seen = np.concatenate([totals.weight, np.zeros(len(unseen))])
    truth, *found = np.hsplit(patterns, len(models) + 1)
    values = _values_of(measure, truth, found, two)
    draws = [values(weights) for weights in draw_weights(drawn, RESAMPLES, random)]
    return list(values(seen[None, :])[0]), np.concatenate(draws)


def _unseen_outcomes(patterns: Mask, n_models: int) -> Mask:
    """Return samples with the mistakes, and the right labels, that a model has not shown yet and may still show.

    The other models are right about such a sample.
    """
    found = []
    for model in range(1, n_models + 1):
        for truth in (True, False):
            is_right = patterns[patterns[:, 0] == truth, model] == truth
            if is_right.all():
                row = np.full(n_models + 1, truth)
                row[model] = not truth
                found.append(row)
            elif not is_right.any():
                found.append(np.full(n_models + 1, truth))
    return np.array(found, dtype=bool).reshape(-1, n_models + 1)


def _values_of(measure: Any, truth: Mask, found: list[Mask], two: bool) -> Callable[[Floats], Floats]:
    """Return the measure of every model (columns) as a function of weights of the patterns (one resample per row)."""
    if is_sample_average(measure):
        ones = np.ones(truth.shape[1])
        per_sample = np.column_stack(
            [measure.evaluate_tables(matrix_table(truth.T, predicted.T, ones)) for predicted in found]
        )
        return lambda weights: np.asarray(weights @ per_sample / weights.sum(axis=1, keepdims=True))

    whole = needs_whole_matrix(measure) and not two

    def values(weights: Floats) -> Floats:
        columns = []
        for predicted in found:
            if whole:
                columns.append(measure.of_confusion(_matrices(weights, truth, predicted)))
                continue
            table = _tables(weights, truth, predicted)
            cells: tuple[Any, ...] = (table.tp, table.fp, table.fn, table.tn)
            if two and isinstance(measure, Averaged):  # over both classes: the other one has the mirrored table
                cells = tuple(np.hstack(pair) for pair in zip(cells, cells[::-1], strict=True))
            elif two:
                columns.append(measure.value(*(cell[:, 0] for cell in cells)))
                continue
            columns.append(measure.of_tables(*cells))
        return np.column_stack(columns)

    return values


def _matrices(weights: Floats, truth: Mask, predicted: Mask) -> Floats:
    """Return the confusion matrix of every resample (rows)."""
    size = truth.shape[1]
    cells = np.argmax(truth, axis=1) * size + np.argmax(predicted, axis=1)
    hits = (cells[:, None] == np.arange(size * size)).astype(np.float64)
    return np.asarray(weights @ hits).reshape(-1, size, size)


def _tables(weights: Floats, truth: Mask, predicted: Mask) -> Table:
    """Return the weighted table of every resample (rows) and every column of labels."""
    tp, positive, true = (weights @ mask.astype(np.float64) for mask in (truth & predicted, predicted, truth))
    return Table(tp, positive - tp, true - tp, weights.sum(axis=1, keepdims=True) - positive - true + tp)


def _evaluate_rankings(
    models: Sequence[Predictions], measure: Measure, random: np.random.Generator
) -> tuple[list[float], Floats]:
    truth = models[0].problems[0].truth
    scores = [model.problems[0].scores for model in models]
    sample_weight = models[0].weights
    values = [measure.score(truth, own, sample_weight) for own in scores]
    grades = _GRADES if len(models) == 1 or truth.size <= _FEW_SAMPLES else _JOINT_GRADES
    columns = np.column_stack([truth, *(_assign_grades(own, grades) for own in scores)])
    patterns, totals = distinct_codes(columns, sample_weight, models[0].groups)
    positive = patterns[:, 0] == 1
    coarse = np.array([measure.score(positive, grade, totals.weight) for grade in patterns.T[1:]])
    draws = np.array(
        [
            [_score_resample(measure, positive, grade, weights) for grade in patterns.T[1:]]
            for block in draw_weights(totals, _RANKING_RESAMPLES, random)
            for weights in block
        ]
    )
    draws = draws[~np.isnan(draws).any(axis=1)]
    # Grades tie samples with different scores, which biases the value but not the spread: draws are centred again.
    return values, np.minimum(draws - coarse + np.array(values), 1.0)


def _score_resample(measure: Measure, positive: Mask, grade: NDArray[np.int64], weights: Floats) -> float:
    """Return the measure of a resample; NaN if it has fewer samples than the measure predicts positive."""
    n_positives, n_samples = float(weights @ positive), float(weights.sum())
    if isinstance(measure, RestrictsLabellings) and not _has_labelling(measure, n_positives, n_samples):
        return float("nan")
    return float(measure.score(positive, grade, weights))


def _has_labelling(measure: RestrictsLabellings, n_positives: float, n_samples: float) -> bool:
    try:
        measure.predicted_positives(n_positives, n_samples)
    except ValueError:
        return False
    return True


def _assign_grades(scores: Floats, grades: int) -> NDArray[np.int64]:
    """Return ranks of scores in ``grades`` grades of about equally many samples; equal scores share a grade."""
    distinct, codes, counts = np.unique(scores, return_inverse=True, return_counts=True)
    if distinct.size <= grades:
        return np.asarray(codes, dtype=np.int64)
    return np.asarray(((np.cumsum(counts) - 1) * grades // scores.size)[codes], dtype=np.int64)


def measure_curve(
    steps: Steps, measure: CountsTable, confidence: float = 0.9, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Return the measure at every step, and the band that holds it with the given probability at each of them.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import FBeta
    >>> steps = Steps(np.array([0.2, 0.5]), np.array([50, 40]), np.array([50, 10]), 50, 950, 1, 2)
    >>> value, low, high = measure_curve(steps, FBeta())
    >>> value.tolist(), bool((low < value).all() and (value < high).all())
    ([0.6666666666666666, 0.8], True)
    """
    tp, fp, n_pos, n_neg = draw_counts(steps, seed)
    values = np.asarray(measure.value(tp, fp, n_pos - tp, n_neg - fp), dtype=np.float64)[:, ::-1]
    at_steps, drawn_values = (
        np.asarray(show_value(measure, part, steps.n_pos + steps.n_neg), dtype=np.float64)
        for part in (measure.value(*steps.tables), values)
    )
    low, high = np.quantile(drawn_values, middle_ends(confidence), axis=0)
    return at_steps, low, high


def draw_counts(steps: Steps, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return true and false positives of the steps, the highest threshold first, and class sizes, of resamples."""
    random = np.random.default_rng(seed)
    # Samples between two neighbouring thresholds, from the greatest score on; the last lie below all thresholds.
    parts = ((steps.tp, steps.n_pos, steps.pos_weight), (steps.fp, steps.n_neg, steps.neg_weight))
    drawn = []
    for counts, total, of_one in parts:
        between = np.maximum(np.diff(np.concatenate([[0], counts[::-1], [total]])), 0.0)
        samples = random.gamma(between / of_one, size=(_BAND_RESAMPLES, between.size))
        drawn.append(np.cumsum(of_one * samples, axis=1))
    (tp, fp), (n_pos, n_neg) = ((sums[:, :-1] for sums in drawn), (sums[:, -1:] for sums in drawn))
    return tp, fp, n_pos, n_neg


def middle_ends(confidence: float) -> tuple[float, float]:
    """Return the quantiles between which the middle part lies."""
    return (1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0


def evaluate_resamples(predictions: Predictions, measure: Measure, weights: Floats) -> Floats:
    """Return the measure of a model's predictions for several weightings of the samples.

    Parameters
    ----------
    predictions : Predictions
        The predictions.
    measure : Measure
        The measure, as returned by `resolve_measure`.
    weights : array of shape (n_weightings, n_samples)
        Weights of the samples, which replace those of the predictions.
    """
    problem = predictions.problems[0]
    if measure.response == "scores":
        return np.array([measure.score(problem.truth, problem.scores, row) for row in weights])
    values = _values_of(measure, predictions.truth, [predictions.predicted], predictions.kind == "binary")
    return np.asarray(values(weights)[:, 0])


def evaluate_constant(predictions: Predictions, measure: Measure) -> float:
    """Return the measure of the best constant prediction: what a model that ignores the features can reach.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import FBeta
    >>> from metricwise.reporting.predictions import Problem
    >>> truth = np.arange(400) % 4 == 0
    >>> problem = Problem("1", 1, truth, truth, truth * 1.0, "score", 0.5, np.ones(400))
    >>> evaluate_constant(Predictions("binary", ["0", "1"], [problem]), FBeta())
    0.4
    """
    if measure.response == "scores":
        first = predictions.problems[0]
        return float(measure.score(first.truth, np.zeros(first.truth.size), first.weights))
    truth, totals = distinct_patterns(predictions.truth, predictions.weights)
    size = truth.shape[1]
    constants = np.eye(size, dtype=bool) if predictions.kind == "multiclass" else np.array([[False], [True]])
    found = [np.broadcast_to(labels, truth.shape) for labels in constants]
    best = _values_of(measure, truth, found, predictions.kind == "binary")(totals.weight[None, :]).max()
    return float(show_value(measure, best, float(predictions.weights.sum())))


def evaluate_predictions(predictions: Predictions, measure: Measure) -> float:
    """Return the measure of a model's predictions, without an interval."""
    return float(evaluate_resamples(predictions, measure, predictions.weights[None, :])[0])
