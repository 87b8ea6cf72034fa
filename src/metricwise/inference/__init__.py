"""Labels from scores and probabilities."""

from metricwise.inference.threshold import best_threshold, fraction_threshold, threshold_for

__all__ = ["best_threshold", "fraction_threshold", "threshold_for"]
