"""Models for other programs: text that SVM-perf and LIBLINEAR read, and ONNX."""

from metricwise.persistence.exports.onnx_graphs import to_onnx
from metricwise.persistence.exports.texts import export_text

__all__ = ["export_text", "to_onnx"]
