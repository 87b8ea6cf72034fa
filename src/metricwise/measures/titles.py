"""The usual names of measures, for pages and pictures."""

from __future__ import annotations

from dataclasses import fields

from metricwise.measures.averages import Averaged
from metricwise.measures.base import Measure
from metricwise.measures.rank_gains import NDCG
from metricwise.measures.ranking import PartialAuc, TwoWayPartialAuc
from metricwise.measures.restricted import PrecisionAtK, PrecisionAtRecall, RecallAtK, RecallAtPrecision

_WITH_SETTINGS = (NDCG, PartialAuc, PrecisionAtK, PrecisionAtRecall, RecallAtK, RecallAtPrecision, TwoWayPartialAuc)
_USUAL_GAIN = ("gain", "linear")
_TITLES = {
    "f1": "F1",
    "f2": "F2",
    "f0.5": "F0.5",
    "jaccard": "Jaccard index",
    "gower_legendre": "Gower-Legendre index",
    "g_mean": "G-mean",
    "h_mean": "H-mean",
    "q_mean": "Q-mean",
    "min_rate": "lesser rate",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "matthews_corrcoef": "Matthews correlation",
    "cohen_kappa": "Cohen's kappa",
    "npv": "negative predictive value",
    "prbep": "break-even point",
    "precision_at_k": "precision at k",
    "recall_at_k": "recall at k",
    "roc_auc": "ROC area",
    "partial_roc_auc": "partial ROC area",
    "two_way_partial_auc": "two-way partial ROC area",
    "average_precision": "average precision",
    "ndcg": "NDCG",
    "reciprocal_rank": "reciprocal rank",
    "recall_at_precision": "recall at precision",
    "precision_at_recall": "precision at recall",
}


def title_of(measure: Measure) -> str:
    """Return the usual name of a measure.

    Examples
    --------
    >>> from metricwise import get_measure
    >>> title_of(get_measure("roc_auc")), title_of(get_measure("f1_macro"))
    ('ROC area', 'macro F1')
    >>> title_of(get_measure("recall_at_precision"))
    'recall at precision (precision=0.9)'
    >>> title_of(get_measure("precision_at_k:3"))
    'precision at k (k=3, of=positives)'
    >>> title_of(get_measure("ndcg")), title_of(get_measure("ndcg@10"))
    ('NDCG', 'NDCG (k=10)')
    """
    if isinstance(measure, Averaged):
        return f"{measure.average} {title_of(measure.base)}"
    if isinstance(measure, _WITH_SETTINGS):
        settings = ((one.name, getattr(measure, one.name)) for one in fields(measure) if one.init)
        shown = [
            (name, value)
            for name, value in settings
            if value is not None and not isinstance(value, bool) and (name, value) != _USUAL_GAIN
        ]
        values = ", ".join(f"{name}={value if isinstance(value, str) else f'{value:g}'}" for name, value in shown)
        return f"{_TITLES[measure.name]} ({values})" if shown else _TITLES[measure.name]
    return _TITLES.get(measure.name, measure.name)
