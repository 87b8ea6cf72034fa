"""Inference: labels from scores and probabilities."""

from metricwise.inference.f_measure import LabelSets, gfm, gfm_from_samples, gfm_threshold
from metricwise.inference.f_measure_marginals import hamming, lewis, meuf, meuf_approx, multinomial
from metricwise.inference.long_vectors import ExpectedFLabels, expected_f_labels
from metricwise.inference.threshold import best_threshold, fraction_threshold, threshold_for

__all__ = [
    "ExpectedFLabels",
    "LabelSets",
    "best_threshold",
    "expected_f_labels",
    "fraction_threshold",
    "gfm",
    "gfm_from_samples",
    "gfm_threshold",
    "hamming",
    "lewis",
    "meuf",
    "meuf_approx",
    "multinomial",
    "threshold_for",
]
