"""ONNX graphs of boosted trees, of scikit-learn and of other libraries, in double precision.

The converter of skl2onnx 1.20 for histogram-based boosting gives numbers of numpy to protobuf, which refuses them,
rounds thresholds to single precision, and takes splits of categories for splits of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from metricwise._sklearn import boosted_trees
from metricwise.persistence.boosters.links import SIGMOID, SOFTMAX
from metricwise.persistence.boosters.stored import StoredBooster
from metricwise.persistence.exports.onnx_boosters import list_booster_nodes
from metricwise.persistence.exports.onnx_labels import add_labels, get_label_type
from metricwise.persistence.exports.onnx_nodes import CategoricalSplitError, OnnxNodes


class _Trees(NamedTuple):
    """Trees, the link of their scores, and whether they compare samples in single precision."""

    nodes: OnnxNodes
    link: str
    is_single: bool


@contextmanager
def convert_boosted_trees() -> Iterator[None]:
    """Let skl2onnx convert histogram-based boosting and stored boosters by the converter of this module."""
    from skl2onnx import update_registered_converter
    from skl2onnx._supported_operators import sklearn_operator_name_map

    classes = (HistGradientBoostingClassifier, StoredBooster)
    before = {cls: sklearn_operator_name_map.get(cls) for cls in classes}
    for cls in classes:
        options = {"zipmap": [True, False, "columns"]}
        update_registered_converter(cls, f"Metricwise{cls.__name__}", _set_shapes, _convert, options=options)
    try:
        yield
    finally:  # other users of skl2onnx keep their own converters
        for cls, name in before.items():
            if name is None:
                del sklearn_operator_name_map[cls]
            else:
                sklearn_operator_name_map[cls] = name


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
    is_histogram = isinstance(model, HistGradientBoostingClassifier)
    nodes, link, is_single = _extract_histogram_trees(model) if is_histogram else _extract_booster_trees(model)
    samples = operator.inputs[0]
    if is_single:
        samples = OnnxCast(samples, to=onnx_proto.TensorProto.FLOAT, op_version=version)
    samples = OnnxCast(samples, to=onnx_proto.TensorProto.DOUBLE, op_version=version)
    scores = OnnxCast(nodes.make_graph(samples, version), to=onnx_proto.TensorProto.DOUBLE, op_version=version)
    if link == SOFTMAX:
        chances = OnnxSoftmax(scores, axis=1, op_version=version)
    else:
        chances = OnnxSigmoid(scores, op_version=version)
    if link == SIGMOID:
        chances = OnnxConcat(OnnxSub(np.array([1.0]), chances, op_version=version), chances, axis=1, op_version=version)
    best = OnnxArgMax(chances, axis=1, keepdims=0, op_version=version)
    for output in add_labels(operator, model, best, chances, version):
        output.add_to(scope, container)


def _extract_booster_trees(model: StoredBooster) -> _Trees:
    boosted = model.boosted_trees_
    return _Trees(list_booster_nodes(boosted), boosted.link, boosted.samples.is_single)


def _extract_histogram_trees(model: Any) -> _Trees:
    baseline, iterations = boosted_trees(model)
    trees = [(nodes, target) for iteration in iterations for target, nodes in enumerate(iteration)]
    nodes = np.concatenate([tree for tree, _ in trees])
    sizes = [tree.size for tree, _ in trees]
    is_leaf = nodes["is_leaf"] != 0
    if np.any(nodes["is_categorical"][~is_leaf]):
        raise CategoricalSplitError
    found = OnnxNodes(
        tree_ids=np.repeat(np.arange(len(trees)), sizes),
        node_ids=np.concatenate([np.arange(size) for size in sizes]),
        is_leaf=is_leaf,
        features=nodes["feature_idx"],
        thresholds=nodes["num_threshold"],
        left=nodes["left"],
        right=nodes["right"],
        is_missing_left=nodes["missing_go_to_left"] != 0,
        columns=np.repeat([target for _, target in trees], sizes)[is_leaf],
        leaf_values=nodes["value"][is_leaf][:, None],
        base_scores=baseline,
    )
    return _Trees(found, SIGMOID if model.classes_.size == 2 else SOFTMAX, is_single=False)
