"""ONNX graphs of the scores of learners, and of their weighted sum in `MetricClassifier`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import BaseEnsemble
from sklearn.pipeline import Pipeline

from metricwise.decisions.decision import Sigmoid
from metricwise.decisions.scoring import SMALLEST_PROBABILITY
from metricwise.decisions.task import Task
from metricwise.estimators.selection.booster import BoosterClassifier
from metricwise.estimators.selection.preprocessing import Dense, FilledColumns, Prepared
from metricwise.persistence.boosters.conversion import find_learner, make_stored_booster
from metricwise.persistence.exports.linear import extract_log_odds
from metricwise.registry import entry_of

_LARGEST = 1e300


def selects_models(model: Any) -> bool:
    """Return whether a model is the result of model selection."""
    own = entry_of(model)
    return own is not None and own.family == "selection"


def check_ensemble(model: Any) -> None:
    """Raise TypeError if scores of a selected model are not those of classes, or of no operator of ONNX."""
    if model._task.plural == "labels":
        raise TypeError("to_onnx is for classes, and the model is multilabel: convert one model per label")
    for learner in model._ensemble.models:
        if not hasattr(learner, "predict_proba") and extract_log_odds(learner) is None:
            name = type(learner.learner_ if isinstance(learner, Prepared) else learner).__name__
            raise TypeError(
                f"{name}, which was selected, has neither probabilities nor scores that are linear in the features, so "
                "that ONNX cannot compute it: leave it out of the candidates"
            )
        if isinstance(learner, Prepared) and _sends_missing_values_on(learner):
            raise TypeError(
                f"{type(learner.learner_).__name__}, which was selected, was trained with missing values, and skl2onnx "
                "would send these to the wrong side of its trees: fill them before (SimpleImputer), or leave it out of "
                "the candidates"
            )


def _sends_missing_values_on(learner: Prepared) -> bool:
    """Return whether a forest was trained with missing values; our own converter of boosted trees knows them."""
    return isinstance(learner.transformer_, FilledColumns) and isinstance(learner.learner_, BaseEnsemble)


def combine_scores(model: Any, X: Any, version: int) -> Any:
    """Return the graph of the calibrated scores of the selected models, combined."""
    from skl2onnx.algebra.onnx_ops import OnnxAdd, OnnxMul

    ensemble, total = model._ensemble, None
    for learner, calibration, weight in zip(ensemble.models, ensemble.calibrations, ensemble.weights, strict=True):
        scores = _learner_scores(model._task, ensemble.prior, learner, X, version)
        line = calibration.lines[0] if calibration.lines else Sigmoid()
        part = OnnxMul(scores, np.array([weight * line.slope]), op_version=version)
        part = OnnxAdd(part, np.array([weight * line.intercept]), op_version=version)
        total = part if total is None else OnnxAdd(total, part, op_version=version)
    rest = (1.0 - ensemble.weights.sum()) * np.atleast_1d(ensemble.prior)  # of what weights add to the prior
    return OnnxAdd(total, rest, op_version=version)


def _learner_scores(task: Task, prior: Any, learner: Any, X: Any, version: int) -> Any:
    """Return the graph of the scores of one learner, those from probabilities clipped as in training."""
    from skl2onnx.algebra.onnx_ops import OnnxMax, OnnxMin

    scores = _linear_scores(task, learner, X, version)
    if scores is None:
        scores = probability_scores(task, learner, X, version)
    shape = (1,) if task.is_binary else (1, task.classes.size)
    lowest, highest = (task.limit_certainty(learner, np.full(shape, end), prior) for end in (-_LARGEST, _LARGEST))
    return OnnxMin(OnnxMax(scores, lowest, op_version=version), highest, op_version=version)


def _linear_scores(task: Task, learner: Any, X: Any, version: int) -> Any:
    """Return the graph of scores that are linear in the features, in double precision; None if they are not."""
    from skl2onnx.algebra.onnx_ops import OnnxAdd, OnnxCast, OnnxMatMul, OnnxReshape
    from skl2onnx.proto import onnx_proto

    found = extract_log_odds(learner)
    if found is None or (not task.is_binary and hasattr(learner, "predict_proba")):
        return None
    sign = float(task.orient(np.ones(1))[0])
    samples = OnnxCast(X, to=onnx_proto.TensorProto.DOUBLE, op_version=version)
    sums = OnnxMatMul(samples, np.ascontiguousarray(sign * found.weights.T), op_version=version)
    columns = OnnxAdd(sums, np.ascontiguousarray(sign * found.constants), op_version=version)
    return OnnxReshape(columns, np.array([-1]), op_version=version) if task.is_binary else columns


def probability_scores(task: Task, learner: Any, X: Any, version: int) -> Any:
    """Return the graph of the log-odds of the positive class, or of the log-probabilities of all classes."""
    from skl2onnx.algebra.onnx_operator import OnnxSubEstimator
    from skl2onnx.algebra.onnx_ops import OnnxCast, OnnxClip, OnnxDiv, OnnxGather, OnnxLog, OnnxSub
    from skl2onnx.proto import onnx_proto

    while isinstance(learner, Pipeline | Prepared):
        *steps, learner = _list_steps(learner)
        for step in steps:
            X = _transform(step, X, version)
    options = {"zipmap": False}
    chances = OnnxSubEstimator(_get_convertible(learner), X, op_version=version, options=options)[1]
    # The mask of the positive class among those of the learner, or the numbers of all classes.
    codes = task.encode(learner.classes_)
    at = np.argmax(codes) if task.is_binary else np.argsort(codes)
    wanted = OnnxGather(chances, np.array(at), axis=1, op_version=version)
    exact = OnnxCast(wanted, to=onnx_proto.TensorProto.DOUBLE, op_version=version)
    bounds = np.array(SMALLEST_PROBABILITY), np.array(1.0 - SMALLEST_PROBABILITY if task.is_binary else 1.0)
    inside = OnnxClip(exact, *bounds, op_version=version)
    if not task.is_binary:
        return OnnxLog(inside, op_version=version)
    odds = OnnxDiv(inside, OnnxSub(np.array([1.0]), inside, op_version=version), op_version=version)
    return OnnxLog(odds, op_version=version)


def _get_convertible(learner: Any) -> Any:
    """Return a booster in the form that has a converter, with the numbers of its classes as labels; others as given."""
    booster = learner.learner_ if isinstance(learner, BoosterClassifier) else learner
    name = find_learner(booster)
    return booster if name is None else make_stored_booster(booster, name)


def _list_steps(learner: Pipeline | Prepared) -> list[Any]:
    """Return transformers and, last, the learner; skl2onnx cannot convert the whole as a part of another model."""
    if isinstance(learner, Prepared):
        return [learner.transformer_, learner.learner_]
    return [step for _, step in learner.steps if step not in (None, "passthrough")]


def _transform(transformer: Any, X: Any, version: int) -> Any:
    from skl2onnx.algebra.onnx_operator import OnnxSubEstimator
    from skl2onnx.algebra.onnx_ops import OnnxCast
    from skl2onnx.proto import onnx_proto

    if isinstance(transformer, Dense):
        return OnnxCast(X, to=onnx_proto.TensorProto.FLOAT, op_version=version)
    if isinstance(transformer, FilledColumns):
        return X  # no tree splits a column that it fills
    return OnnxSubEstimator(transformer, X, op_version=version)
