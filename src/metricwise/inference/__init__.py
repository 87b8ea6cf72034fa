"""Labels from scores and probabilities."""

from metricwise.inference.threshold import best_threshold, fraction_threshold

__all__ = ["best_threshold", "fraction_threshold"]
