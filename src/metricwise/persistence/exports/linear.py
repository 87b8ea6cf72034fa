"""Weights and constants of models whose scores are linear in the features."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from metricwise._typing import Floats
from metricwise.decisions.decision import Decision, Sigmoid
from metricwise.estimators.selection.preprocessing import Prepared
from metricwise.registry import entries, entry_of, join_names

_PROBES = 20
_LARGEST = 1e300
# Classifiers with linear decision values, which are the log-odds of their probabilities where they have any.
_LINEAR = (LinearDiscriminantAnalysis, LinearSVC, LogisticRegression, LogisticRegressionCV, Perceptron, RidgeClassifier)


@dataclass(frozen=True)
class LinearScores:
    """Scores ``X @ weights.T + constants``: one column for two classes, or one per class.

    Attributes
    ----------
    weights : array of shape (n_columns, n_features)
        Weights of the features, towards ``classes[1]`` if there is one column.
    constants : array of shape (n_columns,)
        Intercepts minus thresholds.
    classes : array
        Labels.
    """

    weights: Floats
    constants: Floats
    classes: NDArray[Any]

    def compute(self, X: Any) -> Floats:
        """Return scores of samples."""
        scores: Floats = X @ self.weights.T + self.constants
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def compose(self, scale: Floats, shift: Floats) -> LinearScores:
        """Return the scores of a pipeline in which a scaler makes scale * x + shift of a sample x."""
        return LinearScores(self.weights * scale, self.constants + self.weights @ shift, self.classes)


def extract_linear_scores(model: Any) -> LinearScores:
    """Return the scores of a linear model, those of ``decision_function`` (of `MetricClassifier`, without its limits).

    Raises
    ------
    TypeError
        If the model is not linear in its features.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from metricwise import MultivariateSVC
    >>> X, y = make_classification(100, random_state=0)
    >>> model = MultivariateSVC("f1").fit(X, y)
    >>> bool(np.allclose(extract_linear_scores(model).compute(X), model.decision_function(X)))
    True
    """
    check_is_fitted(model)
    entry = entry_of(model)
    if entry is not None and entry.ranks_queries:
        raise TypeError(
            f"{type(model).__name__} ranks samples, and has no classes to write: its scores are X @ model.coef_[0]; "
            "metricwise.save writes any model"
        )
    found = _extract(model)
    if found is None or not _agrees(model, found):
        raise TypeError(
            f"{type(model).__name__} as it is trained here is not linear in the features, so that it has no weights to "
            f"write: linear are {join_names(entries(is_linear=True), 'and')} without a kernel, PlugInClassifier around "
            "a linear classifier (but threshold='batch'), MetricClassifier that selected one linear classifier of two "
            "classes, and pipelines of scalers and one of these; metricwise.save writes any model"
        )
    return found


def _extract(model: Any) -> LinearScores | None:
    if isinstance(model, Pipeline):
        return _extract_from_steps([step for _, step in model.steps])
    if isinstance(model, Prepared):
        return _extract_from_steps([model.transformer_, model.learner_])
    own = entry_of(model)
    if own is not None and own.thresholds_learner:
        return _extract_from_learner(model, model.estimator_, Sigmoid())
    if own is not None and own.family == "selection":
        return _extract_from_selection(model)
    weights, constants = getattr(model, "coef_", None), getattr(model, "intercept_", None)
    if weights is None or constants is None or (own is not None and not own.is_linear):
        return None
    classes = np.asarray(model.classes_)
    shifted = np.atleast_1d(np.asarray(constants, dtype=np.float64)) - getattr(model, "threshold_", 0.0)
    matrix = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    return LinearScores(matrix, np.broadcast_to(shifted, matrix.shape[:1]), classes)


def _extract_from_steps(steps: Sequence[Any]) -> LinearScores | None:
    found = _extract(steps[-1])
    for step in reversed(steps[:-1]):
        if found is not None and step not in (None, "passthrough"):
            line = _SCALERS.get(type(step), lambda scaler: None)(step)
            found = None if line is None else found.compose(*line)
    return found


def extract_log_odds(learner: Any) -> LinearScores | None:
    """Return the log-odds, or decision values, of a learner if they are linear in the features, else None."""
    last = learner
    while isinstance(last, Pipeline | Prepared):
        last = last.steps[-1][1] if isinstance(last, Pipeline) else last.learner_
    is_logistic = isinstance(last, _LINEAR) or (isinstance(last, SGDClassifier) and last.loss == "log_loss")
    return _extract(learner) if is_logistic or not hasattr(learner, "predict_proba") else None


def _extract_from_selection(model: Any) -> LinearScores | None:
    """Return the scores of a model selection that selected one linear learner of two classes.

    Its scores from probabilities are clipped. Without that the labels are the same if the threshold lies between the
    limits.
    """
    if len(model._ensemble.models) > 1 or not model._task.is_binary:
        return None
    (learner,), ((line,),) = model._ensemble.models, model._ensemble.calibrations[0]
    limits = model._task.limit_certainty(learner, np.array([-_LARGEST, _LARGEST]), model._ensemble.prior)
    low, high = line.log_odds(limits) + margin_at_zero(model)
    return _extract_from_learner(model, learner, line) if low < 0.0 < high else None


def _extract_from_learner(model: Any, learner: Any, line: Sigmoid) -> LinearScores | None:
    """Return the scores of a learner, on a line, minus the threshold of the model."""
    found = extract_log_odds(learner)
    if found is None or found.classes.size != 2 or model._decision.batch is not None:
        return None
    constant = line.intercept + margin_at_zero(model)
    shift = constant if model._task.points_up else -constant
    return LinearScores(line.slope * found.weights, line.slope * found.constants + shift, found.classes)


def margin_at_zero(model: Any) -> Any:
    """Return scores minus thresholds, or offsets of the classes, where all scores are zero."""
    if getattr(model, "_has_group_thresholds", False):
        raise TypeError(
            f"{type(model).__name__} has one threshold per group, and an export has one for all: metricwise.save "
            "writes any model, or train with group_thresholds=False"
        )
    if not model._task.is_binary and type(model._decision) is not Decision:
        raise TypeError(
            f"{type(model).__name__} decides by the expected gain or cost of each class, and an export has offsets of "
            "the classes: metricwise.save writes any model, or train for a measure of one-vs-rest tables"
        )
    return -model._decision.threshold


def _read_standard_scaler(scaler: StandardScaler) -> tuple[Floats, Floats]:
    scale = np.ones(scaler.n_features_in_) if scaler.scale_ is None else 1.0 / scaler.scale_
    return scale, np.zeros(scale.size) if scaler.mean_ is None or not scaler.with_mean else -scaler.mean_ * scale


def _read_max_abs_scaler(scaler: MaxAbsScaler) -> tuple[Floats, Floats] | None:
    return None if getattr(scaler, "clip", False) else (1.0 / scaler.scale_, np.zeros(scaler.scale_.size))


def _read_min_max_scaler(scaler: MinMaxScaler) -> tuple[Floats, Floats] | None:
    return None if scaler.clip else (scaler.scale_, scaler.min_)


_SCALERS: dict[type, Callable[[Any], tuple[Floats, Floats] | None]] = {
    StandardScaler: _read_standard_scaler,
    MaxAbsScaler: _read_max_abs_scaler,
    MinMaxScaler: _read_min_max_scaler,
}


def _agrees(model: Any, found: LinearScores) -> bool:
    """Return whether the scores equal ``decision_function`` on some samples, which tests the assumptions made here.

    Samples are drawn near the threshold, since probabilities near zero and one have lost the digits of their log-odds;
    the tolerance is relative to the weights.
    """
    random = np.random.default_rng(0)
    samples = random.normal(size=(_PROBES, found.weights.shape[1]))
    size = np.abs(found.weights).sum(axis=1).max() + np.abs(found.constants).max()
    samples /= max(size, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the samples have no feature names
        expected = model.decision_function(samples)
    return np.shape(expected) == found.compute(samples).shape and bool(
        np.allclose(found.compute(samples), expected, rtol=1e-6, atol=1e-9 * max(size, 1.0))
    )
