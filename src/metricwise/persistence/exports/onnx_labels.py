"""The last part of the ONNX graph of a classifier: labels, by their numbers, beside scores or probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np


def get_label_type(model: Any) -> Any:
    """Return the type of skl2onnx for the labels of a model: whole numbers or text."""
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    return Int64TensorType if model.classes_.dtype.kind in "iub" else StringTensorType


def add_labels(operator: Any, model: Any, numbers: Any, scores: Any, version: int) -> Any:
    """Return the graph that gives labels, by their numbers, and scores."""
    from skl2onnx.algebra.onnx_ops import OnnxArrayFeatureExtractor, OnnxIdentity, OnnxReshape

    classes = model.classes_
    values = classes.astype(np.int64) if classes.dtype.kind in "iub" else classes.astype(str)
    labels = OnnxArrayFeatureExtractor(values, numbers, op_version=version)
    flat = OnnxReshape(labels, np.array([-1]), op_version=version, output_names=operator.outputs[:1])
    return flat, OnnxIdentity(scores, op_version=version, output_names=operator.outputs[1:])
