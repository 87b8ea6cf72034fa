"""Models as ONNX graphs, by skl2onnx, with converters for the classifiers of metricwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise.persistence.exports.linear import LinearScores, extract_linear_scores, margin_at_zero
from metricwise.persistence.exports.onnx_ensembles import (
    check_ensemble,
    combine_scores,
    probability_scores,
    selects_models,
)
from metricwise.persistence.exports.onnx_labels import add_labels, get_label_type
from metricwise.persistence.exports.onnx_nodes import CategoricalSplitError
from metricwise.persistence.exports.onnx_trees import convert_boosted_trees
from metricwise.registry import entry_of

_OUTPUTS = ("label", "scores")


def to_onnx(model: Any, X: Any) -> Any:
    """Return a model as an ONNX graph with the same labels and scores.

    Needs skl2onnx: ``pip install "metricwise[onnx]"``.

    Parameters
    ----------
    model : estimator
        A trained linear classifier of metricwise, `PlugInClassifier` around a classifier that skl2onnx converts,
        `MetricClassifier` whose selected learners and their preprocessing skl2onnx converts, or a pipeline of
        scikit-learn that ends in one of these.
    X : array of shape (n_samples, n_features)
        Some samples, which define the number of features and their type: single or double precision.

    Returns
    -------
    onnx.ModelProto
        With the input ``X`` and the outputs ``label`` (as `predict`) and ``scores`` (as `decision_function`).

    Raises
    ------
    TypeError
        If the model cannot be converted, or X is not dense and in single or double precision.
    ImportError
        If skl2onnx is not installed.

    Notes
    -----
    Linear models are evaluated in double precision, and the thresholds of boosted trees (histogram-based ones and
    those of LightGBM, XGBoost and CatBoost) are compared in it; missing values go where they went in training. Other
    learners are as precise as their ONNX operators: mostly single precision, so that a sample that is on the threshold
    but for rounding can get the other label.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from metricwise import MultivariateSVC, to_onnx
    >>> X, y = make_classification(random_state=0)
    >>> graph = to_onnx(MultivariateSVC().fit(X, y), X)
    >>> [output.name for output in graph.graph.output]
    ['label', 'scores']
    """
    try:
        import skl2onnx
    except ImportError as error:
        raise ImportError('to_onnx needs skl2onnx: pip install "metricwise[onnx]"') from error
    samples = np.asarray(X)
    if samples.dtype not in (np.float32, np.float64) or samples.ndim != 2:
        raise TypeError(
            f"X must be a dense array of samples in single or double precision, got {samples.dtype} of shape "
            f"{samples.shape}"
        )
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    _register(last)
    try:
        with convert_boosted_trees():
            return skl2onnx.to_onnx(model, samples[:1], target_opset=_get_opsets())
    except CategoricalSplitError:
        raise
    except Exception as error:  # of any kind: it depends on what skl2onnx cannot convert
        raise TypeError(
            f"skl2onnx {skl2onnx.__version__} cannot convert this {type(model).__name__} ({_shorten(error)}): use "
            "another learner or step, or another version of skl2onnx"
        ) from error


def _shorten(error: Exception) -> str:
    """Return the message of what caused an error: skl2onnx lists all attributes of a node in its own."""
    return str(error.__cause__ or error)[:200]


def _get_opsets() -> dict[str, int]:
    from skl2onnx import __max_supported_opset__

    return {"": min(__max_supported_opset__, 21), "ai.onnx.ml": 3}


def _register(model: Any) -> None:
    """Register the converter of a class with skl2onnx."""
    from skl2onnx import update_registered_converter

    if not type(model).__module__.startswith("metricwise."):
        raise TypeError(f"to_onnx is for models of metricwise, got {type(model).__name__}: use skl2onnx.to_onnx for it")
    _check_convertible(model)
    update_registered_converter(
        type(model), f"Metricwise{type(model).__name__}", _set_shapes, _convert, parser=_parse, overwrite=True
    )


def _check_convertible(model: Any) -> None:
    """Raise TypeError unless a model is linear, a threshold on probabilities of two classes, or an ensemble."""
    if selects_models(model):
        check_ensemble(model)
        return
    if _is_thresholded(model):
        if model._task.is_binary and model._decision.batch is None:
            return
        raise TypeError(
            "to_onnx is for a PlugInClassifier of two classes whose threshold does not depend on the batch: set "
            "threshold='auto'"
        )
    extract_linear_scores(model)


def _is_thresholded(model: Any) -> bool:
    """Return whether a model is a threshold on probabilities computed by skl2onnx, not on a linear score."""
    if not _thresholds_learner(model):
        return False
    try:
        extract_linear_scores(model)
    except TypeError:
        return hasattr(model.estimator_, "predict_proba")
    return False


def _thresholds_learner(model: Any) -> bool:
    own = entry_of(model)
    return own is not None and own.thresholds_learner


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.common.data_types import DoubleTensorType

    operator = scope.declare_local_operator(sklearn_operator_name_map[type(model)], model)
    operator.inputs.extend(inputs)
    operator.outputs.append(scope.declare_local_variable(_OUTPUTS[0], get_label_type(model)()))
    operator.outputs.append(scope.declare_local_variable(_OUTPUTS[1], DoubleTensorType()))
    return operator.outputs


def _set_shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType

    n_samples, classes = operator.inputs[0].get_first_dimension(), operator.raw_operator.classes_.size
    operator.outputs[0].type = get_label_type(operator.raw_operator)([n_samples])
    operator.outputs[1].type = DoubleTensorType([n_samples] if classes == 2 else [n_samples, classes])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    model, version = operator.raw_operator, container.target_opset
    if selects_models(model):
        graph = _convert_ensemble(operator, model, version)
    elif _is_thresholded(model):
        graph = _convert_thresholded(operator, model, version)
    else:
        graph = _convert_linear(operator, model, extract_linear_scores(model), version)
    for output in graph:
        output.add_to(scope, container)


def _convert_linear(operator: Any, model: Any, scores: LinearScores, version: int) -> Any:
    from skl2onnx.algebra.onnx_ops import OnnxAdd, OnnxArgMax, OnnxCast, OnnxMatMul, OnnxReshape
    from skl2onnx.proto import onnx_proto

    samples = OnnxCast(operator.inputs[0], to=onnx_proto.TensorProto.DOUBLE, op_version=version)
    sums = OnnxMatMul(samples, np.ascontiguousarray(scores.weights.T), op_version=version)
    if scores.classes.size == 2:
        flat = OnnxReshape(sums, np.array([-1]), op_version=version)
        return _add_decision(operator, model, OnnxAdd(flat, scores.constants, op_version=version), version)
    columns = OnnxAdd(sums, np.ascontiguousarray(scores.constants), op_version=version)
    best = OnnxArgMax(columns, axis=1, keepdims=0, op_version=version)
    return add_labels(operator, model, best, columns, version)


def _convert_thresholded(operator: Any, model: Any, version: int) -> Any:
    """Return the graph of the log-odds of the positive class minus those of the threshold."""
    from skl2onnx.algebra.onnx_ops import OnnxAdd

    log_odds = probability_scores(model._task, model.estimator_, operator.inputs[0], version)
    margin = OnnxAdd(log_odds, np.array([margin_at_zero(model)]), op_version=version)
    return _add_decision(operator, model, _orient(model, margin, version), version)


def _convert_ensemble(operator: Any, model: Any, version: int) -> Any:
    """Return the graph of the combined scores of the selected models minus thresholds or offsets."""
    from skl2onnx.algebra.onnx_ops import OnnxAdd, OnnxArgMax

    scores = combine_scores(model, operator.inputs[0], version)
    margins = OnnxAdd(scores, np.atleast_1d(margin_at_zero(model)), op_version=version)
    if model._task.is_binary:
        return _add_decision(operator, model, _orient(model, margins, version), version)
    best = OnnxArgMax(margins, axis=1, keepdims=0, op_version=version)
    return add_labels(operator, model, best, margins, version)


def _orient(model: Any, margin: Any, version: int) -> Any:
    from skl2onnx.algebra.onnx_ops import OnnxMul

    return margin if model._task.points_up else OnnxMul(margin, np.array([-1.0]), op_version=version)


def _add_decision(operator: Any, model: Any, scores: Any, version: int) -> Any:
    """Return labels by the sign of scores; on the threshold a sample is negative, whichever class that is."""
    from skl2onnx.algebra.onnx_ops import OnnxCast, OnnxGreater, OnnxGreaterOrEqual
    from skl2onnx.proto import onnx_proto

    is_flipped = (_thresholds_learner(model) or selects_models(model)) and not model._task.points_up
    above = (OnnxGreaterOrEqual if is_flipped else OnnxGreater)(scores, np.array([0.0]), op_version=version)
    return add_labels(
        operator, model, OnnxCast(above, to=onnx_proto.TensorProto.INT64, op_version=version), scores, version
    )
