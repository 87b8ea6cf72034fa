"""Predictions of a fitted classifier as binary problems, one class or label vs the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from metricwise._sklearn import check_sample_weight, count_samples, take_samples
from metricwise._typing import Floats, Integers, Mask
from metricwise.decisions.groups import validate_groups
from metricwise.decisions.label_matrix import validate_label_matrix
from metricwise.decisions.targets import names_positive_class, positive_class, refuse_pos_label
from metricwise.measures.averages import matrix_table
from metricwise.measures.base import Table
from metricwise.raw_inputs import check_samples
from metricwise.reporting.models import positive_label, score_offset, thresholds_of
from metricwise.reporting.resampling import SampleGroups

Scale = Literal["probability", "score"]
Kind = Literal["binary", "multiclass", "multilabel"]
NOUNS: dict[Kind, Literal["classes", "labels"]] = {"binary": "classes", "multiclass": "classes", "multilabel": "labels"}

_METHODS: tuple[tuple[str, Scale], ...] = (("predict_proba", "probability"), ("decision_function", "score"))
# Share of samples whose probability is exactly 0 or 1; above it, probabilities no longer separate samples.
_SATURATED = 0.01


@dataclass(frozen=True)
class Problem:
    """One class or label vs the rest.

    Attributes
    ----------
    name : str
        Name of the class or label.
    label : object
        The class, or the number of the label.
    truth, predicted : arrays of bool
        Which samples are positive, and which are predicted positive.
    scores : array
        Greater means more positive.
    scale : {"probability", "score"}
        Whether the scores are probabilities.
    threshold : float or None
        Samples with a score above it are predicted positive; None if the labels follow from no threshold.
    weights : array
        Weights of the samples: ones, or those given.
    """

    name: str
    label: Any
    truth: Mask
    predicted: Mask
    scores: Floats
    scale: Scale
    threshold: float | None
    weights: Floats

    @property
    def table(self) -> Table:
        """The weighted contingency table of the model's own labels."""
        cells = matrix_table(self.truth[:, None], self.predicted[:, None], self.weights)
        return Table(*(float(cell[0]) for cell in (cells.tp, cells.fp, cells.fn, cells.tn)))


@dataclass(frozen=True)
class Predictions:
    """Truth and predictions of samples: a problem for the positive class, or one for every class or label.

    Attributes
    ----------
    kind : {"binary", "multiclass", "multilabel"}
        The kind of target.
    classes : list of str
        Names of the classes or labels.
    problems : list of Problem
        One, or one per class or label.
    unnamed : array or None
        The two classes if neither is named as positive, so that the last is taken; None otherwise.
    groups : SampleGroups or None
        Groups of the samples, which intervals draw as a whole; None if samples are independent.
    """

    kind: Kind
    classes: list[str]
    problems: list[Problem]
    unnamed: NDArray[Any] | None = None
    groups: SampleGroups | None = None

    @property
    def truth(self) -> Mask:
        """The truth, a column for every problem."""
        return np.column_stack([problem.truth for problem in self.problems])

    @property
    def predicted(self) -> Mask:
        """The labels of the model, a column for every problem."""
        return np.column_stack([problem.predicted for problem in self.problems])

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.problems[0].truth.size)

    @property
    def weights(self) -> Floats:
        """The weights of the samples."""
        return self.problems[0].weights

    @property
    def strata(self) -> Integers:
        """The class of each sample; of multilabel targets, all samples are of one."""
        if self.kind == "multilabel":
            return np.zeros(self.n_samples, dtype=np.int64)
        return (self.truth[:, 0] if self.kind == "binary" else self.truth.argmax(axis=1)).astype(np.int64)

    def take(self, samples: NDArray[Any]) -> Predictions:
        """Return the predictions for some of the samples."""
        problems = [
            replace(one, **{name: getattr(one, name)[samples] for name in ("truth", "predicted", "scores", "weights")})
            for one in self.problems
        ]
        return replace(self, problems=problems, groups=None if self.groups is None else self.groups.take(samples))

    @property
    def is_weighted(self) -> bool:
        """Whether samples have different weights, or weights other than one."""
        return bool(np.any(self.weights != 1.0))


def collect_predictions(
    model: Any,
    X: Any,
    y: Any,
    pos_label: Any = None,
    label_names: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
) -> Predictions:
    """Return the predictions of a model for samples; those without weight are left out.

    Parameters
    ----------
    model : fitted classifier
        With `predict` and ``predict_proba`` or ``decision_function``.
    X : samples
        Samples that the model accepts.
    y : array of shape (n_samples,) or (n_samples, n_labels)
        The truth.
    pos_label : label, optional
        The positive class of two; by default that of the model. If it has none, it is the last in order, and measures
        that depend on it are refused by `resolve_measure`, unless the classes are 0 and 1, -1 and 1, or booleans.
    label_names : list of str, optional
        Names of the labels of multilabel targets.
    sample_weight : array of shape (n_samples,), optional
        Weights of the samples.
    groups : array of shape (n_samples,), optional
        Samples that belong together, such as those of one patient, have the same entry; intervals draw whole groups.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["no", "no", "yes", "yes"])
    >>> found = collect_predictions(LogisticRegression().fit(X, y), X, y)
    >>> found.classes, found.problems[0].name, found.problems[0].threshold
    (['no', 'yes'], 'yes', 0.5)
    """
    if not any(hasattr(model, name) for name, _ in _METHODS):
        raise TypeError(f"{type(model).__name__} has neither predict_proba nor decision_function: a report needs one")
    check_is_fitted(model)
    X = check_samples(X)
    weights = check_sample_weight(sample_weight, X)
    codes, kept = validate_groups(groups, weights.size), np.flatnonzero(weights > 0.0)
    found = _predict(model, X, y, pos_label, label_names, weights)
    found = found if kept.size == weights.size else found.take(kept)
    return found if codes is None else replace(found, groups=SampleGroups.of(codes[kept], found.strata))


def _predict(model: Any, X: Any, y: Any, pos_label: Any, label_names: Any, weights: Floats) -> Predictions:
    """Return the predictions of a model for all samples."""
    if hasattr(y, "tocsr") or (np.ndim(y) == 2 and np.shape(y)[1] > 1):
        refuse_pos_label(pos_label, f"{np.shape(y)[1]} labels")
        return _multilabel_predictions(model, X, validate_label_matrix(y), label_names, weights)
    truth = column_or_1d(np.asarray(y))
    found = np.asarray(model.predict(X))
    if len(truth) != len(found):
        raise ValueError(f"X has {len(found)} samples and y has {len(truth)}: give a label for every sample")
    classes = _known_classes(model, truth)
    if classes.size == 2:
        pos_label = positive_label(model) if pos_label is None else pos_label
        is_named = pos_label is not None or names_positive_class(classes)
        predictions = _binary_predictions(model, X, truth, found, classes, positive_class(classes, pos_label), weights)
        return predictions if is_named else replace(predictions, unnamed=classes)
    refuse_pos_label(pos_label, f"{classes.size} classes")
    columns, scale = _score_columns(model, X, classes.size)
    problems = [
        _problem(label, truth == label, found == label, columns[:, k], scale, model, weights, k)
        for k, label in enumerate(classes)
    ]
    return Predictions("multiclass", [str(label) for label in classes], problems)


def drop_weightless(
    X: Any, y: Any, sample_weight: Any, groups: Any = None
) -> tuple[Any, Any, Floats | None, Integers | None]:
    """Return the samples that have a weight above zero, with their weights and groups: others are as good as absent."""
    X = check_samples(X)
    codes = validate_groups(groups, count_samples(X))
    if sample_weight is None:
        return X, y, None, codes
    weights = check_sample_weight(sample_weight, X)
    kept = np.flatnonzero(weights > 0.0)
    if kept.size == weights.size or count_samples(y) != weights.size:  # other lengths are reported later
        return X, y, weights, codes
    return take_samples(X, kept), take_samples(y, kept), weights[kept], None if codes is None else codes[kept]


def relabel(predictions: Predictions, model: Any, X: Any, changed: NDArray[np.intp] | None = None) -> Predictions:
    """Return predictions with the model's labels of other samples and unchanged scores.

    Parameters
    ----------
    predictions : Predictions
        Predictions for samples of which these are altered copies.
    model : fitted classifier
        The model.
    X : samples
        The altered samples.
    changed : array of int, optional
        Positions of the samples that were altered, which alone are predicted; by default all.
    """
    found = model.predict(X if changed is None else take_samples(X, changed))
    places = slice(None) if changed is None else changed
    columns = validate_label_matrix(found) == 1 if predictions.kind == "multilabel" else None
    problems = []
    for problem in predictions.problems:
        predicted = problem.predicted.copy()
        predicted[places] = np.asarray(found) == problem.label if columns is None else columns[:, problem.label]
        problems.append(replace(problem, predicted=predicted))
    return replace(predictions, problems=problems)


def _known_classes(model: Any, truth: NDArray[Any]) -> NDArray[Any]:
    """Return the classes of a model; raise if samples have others, or if y holds no classes."""
    if type_of_target(truth) not in ("binary", "multiclass"):
        raise ValueError(f"y must hold classes, but it is a {type_of_target(truth)} target")
    classes = np.asarray(model.classes_)
    unknown = [label for label in np.unique(truth).tolist() if label not in classes]
    if unknown:
        raise ValueError(
            f"y has the label {unknown[0]!r}, which the model does not know; its classes are {classes.tolist()}"
        )
    return classes


def _binary_predictions(
    model: Any,
    X: Any,
    truth: NDArray[Any],
    found: NDArray[Any],
    classes: NDArray[Any],
    positive: Any,
    weights: Floats,
) -> Predictions:
    at = int(np.flatnonzero(classes == positive)[0])
    predicted = found == positive
    tries: list[Problem] = []
    for name, scale in _METHODS:
        if not hasattr(model, name):
            continue
        values = np.asarray(getattr(model, name)(X), dtype=np.float64)
        scores = values[:, at] if values.ndim == 2 else values * (1.0 if at == 1 else -1.0)
        if scale == "score" and at == 1:
            scores = scores + score_offset(model)
        tries.append(_problem(positive, truth == positive, predicted, scores, scale, model, weights))
        if tries[-1].threshold is not None and not _is_saturated(scores, scale):
            break
    # The last method separates samples that probabilities of 0 and 1 do not; methods without a threshold do not count.
    best = next((one for one in reversed(tries) if one.threshold is not None), tries[0])
    return Predictions("binary", [str(label) for label in classes], [best])


def _is_saturated(scores: Floats, scale: Scale) -> bool:
    return scale == "probability" and float(np.mean((scores <= 0.0) | (scores >= 1.0))) > _SATURATED


def _multilabel_predictions(model: Any, X: Any, truth: NDArray[Any], label_names: Any, weights: Floats) -> Predictions:
    found = validate_label_matrix(model.predict(X))
    if found.shape != truth.shape:
        raise ValueError(f"the model predicts an array of shape {found.shape}, but y has the shape {truth.shape}")
    columns, scale = _score_columns(model, X, truth.shape[1])
    names = [f"label {j}" for j in range(truth.shape[1])] if label_names is None else list(map(str, label_names))
    if len(names) != truth.shape[1]:
        raise ValueError(f"label_names has {len(names)} names, but y has {truth.shape[1]} labels")
    problems = [
        replace(_problem(j, truth[:, j] == 1, found[:, j] == 1, columns[:, j], scale, model, weights, j), name=name)
        for j, name in enumerate(names)
    ]
    return Predictions("multilabel", names, problems)


def _score_columns(model: Any, X: Any, size: int) -> tuple[Floats, Scale]:
    """Return a score for every sample and every class or label."""
    name, scale = next((name, scale) for name, scale in _METHODS if hasattr(model, name))
    values = getattr(model, name)(X)
    if isinstance(values, list):  # scikit-learn's multi-output classifiers: a matrix of probabilities for each
        values = np.column_stack([part[:, 1] if part.shape[1] > 1 else np.zeros(len(part)) for part in values])
    columns = np.asarray(values, dtype=np.float64)
    if columns.ndim != 2 or columns.shape[1] != size:
        raise ValueError(f"{name} gives an array of shape {columns.shape}, but there are {size} classes or labels")
    return columns, scale


def _problem(
    label: Any, truth: Mask, predicted: Mask, scores: Floats, scale: Scale, model: Any, weights: Floats, column: int = 0
) -> Problem:
    if not np.isfinite(scores).all():
        bad = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ValueError(f"the score of sample {bad} is {scores[bad]}: scores must be finite")
    threshold = _threshold(predicted, scores, scale, thresholds_of(model, column))
    return Problem(str(label), label, truth, predicted, scores, scale, threshold, weights)


def _threshold(predicted: Mask, scores: Floats, scale: Scale, own: list[float]) -> float | None:
    """Return the threshold by which labels follow from scores: the model's own where it is known; None without one."""
    low = float(scores[~predicted].max()) if not predicted.all() else -np.inf
    high = float(scores[predicted].min()) if predicted.any() else np.inf
    if not low < high:
        return None
    usual = 0.0 if scale == "score" else 0.5
    known = next((value for value in (*own, usual) if low <= value < high), None)
    if known is not None:
        return known
    # If all samples are predicted the same, any threshold beyond their scores will do.
    return shortest_between(low if np.isfinite(low) else high - 1.0, high if np.isfinite(high) else low + 1.0)


def shortest_between(low: float, high: float) -> float:
    """Return the number of fewest digits in [low, high), the nearest to the middle.

    Examples
    --------
    >>> shortest_between(0.3120001, 0.3190001)
    0.316
    """
    if low <= 0.0 < high:
        return 0.0
    middle = 0.5 * low + 0.5 * high
    for digits in range(1, 17):
        short = float(f"{middle:.{digits}g}")
        if low <= short < high:
            return short
    return middle if low <= middle < high else low
