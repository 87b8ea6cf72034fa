"""ONNX graphs of scikit-learn's histogram-based boosted trees, in double precision.

The converter of skl2onnx 1.20 gives numbers of numpy to protobuf, which refuses them, rounds thresholds to single
precision, and takes splits of categories for splits of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from metricwise._sklearn import boosted_trees
from metricwise.persistence.exports.onnx_labels import add_labels, get_label_type

_ALIAS = "MetricwiseHistGradientBoostingClassifier"


class CategoricalSplitError(TypeError):
    """Boosted trees split categories, for which ONNX has no operator."""


@contextmanager
def convert_boosted_trees() -> Iterator[None]:
    """Let skl2onnx convert boosted trees by the converter of this module."""
    from skl2onnx import update_registered_converter
    from skl2onnx._supported_operators import sklearn_operator_name_map

    before = sklearn_operator_name_map[HistGradientBoostingClassifier]
    update_registered_converter(
        HistGradientBoostingClassifier, _ALIAS, _set_shapes, _convert, options={"zipmap": [True, False, "columns"]}
    )
    try:
        yield
    finally:  # other users of skl2onnx keep its own converter
        sklearn_operator_name_map[HistGradientBoostingClassifier] = before


def _set_shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType

    model, n_samples = operator.raw_operator, operator.inputs[0].get_first_dimension()
    operator.outputs[0].type = get_label_type(model)([n_samples])
    operator.outputs[1].type = DoubleTensorType([n_samples, model.classes_.size])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the graph of labels and probabilities."""
    from skl2onnx.algebra.onnx_ops import OnnxArgMax, OnnxCast, OnnxConcat, OnnxSigmoid, OnnxSoftmax, OnnxSub
    from skl2onnx.proto import onnx_proto

    model, version = operator.raw_operator, container.target_opset
    samples = OnnxCast(operator.inputs[0], to=onnx_proto.TensorProto.DOUBLE, op_version=version)
    scores = OnnxCast(_sum_trees(model, samples, version), to=onnx_proto.TensorProto.DOUBLE, op_version=version)
    if model.classes_.size == 2:
        positive = OnnxSigmoid(scores, op_version=version)
        negative = OnnxSub(np.array([1.0]), positive, op_version=version)
        chances = OnnxConcat(negative, positive, axis=1, op_version=version)
    else:
        chances = OnnxSoftmax(scores, axis=1, op_version=version)
    best = OnnxArgMax(chances, axis=1, keepdims=0, op_version=version)
    for output in add_labels(operator, model, best, chances, version):
        output.add_to(scope, container)


def _sum_trees(model: Any, samples: Any, version: int) -> Any:
    """Return the graph of the raw scores of samples in double precision: one column, or one per class."""
    from onnx.numpy_helper import from_array
    from skl2onnx.algebra.onnx_ops import OnnxTreeEnsembleRegressor_3

    baseline, iterations = boosted_trees(model)
    trees = [(nodes, target) for iteration in iterations for target, nodes in enumerate(iteration)]
    nodes = np.concatenate([tree for tree, _ in trees])
    sizes = [tree.size for tree, _ in trees]
    leaf, tree_ids = nodes["is_leaf"] != 0, np.repeat(np.arange(len(trees)), sizes)
    if np.any(nodes["is_categorical"][~leaf]):
        raise CategoricalSplitError(
            "boosted trees that split categories have no operator in ONNX: encode the categories, for instance by "
            "OneHotEncoder, and leave categorical_features out"
        )
    node_ids = np.concatenate([np.arange(size) for size in sizes])
    inner = np.where(leaf, 0, 1)
    return OnnxTreeEnsembleRegressor_3(
        samples,
        aggregate_function="SUM",
        n_targets=baseline.size,
        base_values_as_tensor=from_array(baseline),
        nodes_treeids=tree_ids.tolist(),
        nodes_nodeids=node_ids.tolist(),
        nodes_modes=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_featureids=(inner * nodes["feature_idx"]).tolist(),
        nodes_values_as_tensor=from_array(np.where(leaf, 0.0, nodes["num_threshold"])),
        nodes_truenodeids=(inner * nodes["left"]).tolist(),
        nodes_falsenodeids=(inner * nodes["right"]).tolist(),
        nodes_missing_value_tracks_true=(inner * nodes["missing_go_to_left"]).tolist(),
        target_treeids=tree_ids[leaf].tolist(),
        target_nodeids=node_ids[leaf].tolist(),
        target_ids=np.repeat([target for _, target in trees], sizes)[leaf].tolist(),
        target_weights_as_tensor=from_array(nodes["value"][leaf]),
        op_version=version,
    )
