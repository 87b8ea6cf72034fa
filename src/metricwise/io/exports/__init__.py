"""Models for other programs: text that SVM-perf and LIBLINEAR read, and ONNX."""

from metricwise.io.exports.onnx_graphs import to_onnx
from metricwise.io.exports.texts import export_text

__all__ = ["export_text", "to_onnx"]
