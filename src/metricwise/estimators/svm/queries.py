"""The queries of a ranking problem: relevance, query and weight of every sample, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metricwise._sklearn import check_sample_weight
from metricwise._typing import Floats, Integers, Labels
from metricwise.measures import GradesRelevance, Measure
from metricwise.measures.checks import check_relevance
from metricwise.measures.queries import encode_queries, weigh_queries


@dataclass(frozen=True)
class Queries:
    """Relevance of all samples, the number of the query of each, and the weights of the queries."""

    relevance: Floats
    codes: Integers
    weights: Floats


def read_queries(measure: Measure, X: Any, y: Labels, groups: Any, sample_weight: Any) -> Queries:
    """Return the queries of samples; raise a ValueError that names what is wrong with them.

    Parameters
    ----------
    measure : Measure
        What is trained for: it may grade relevance.
    X : array or sparse matrix
        Samples.
    y : array of shape (n_samples,)
        Relevance.
    groups : array of shape (n_samples,) or None
        The query of every sample; None if all samples are one query.
    sample_weight : array of shape (n_samples,) or None
        The weight of the query of every sample.
    """
    relevance = check_relevance(y, "y")
    grades = np.unique(relevance)
    if not isinstance(measure, GradesRelevance) and np.any((grades != 0.0) & (grades != 1.0)):
        shown = ", ".join(f"{grade:g}" for grade in grades[:5]) + ", ..." * (grades.size > 5)
        raise ValueError(
            f"measure {measure.name!r} takes the relevances 0 and 1, and y has {shown}: train for 'ndcg', which takes "
            "grades, or pass y >= the lowest grade that is relevant"
        )
    names, codes = encode_queries(groups, relevance.size)
    weights = np.asarray(check_sample_weight(sample_weight, X), dtype=np.float64)
    return Queries(relevance, codes, weigh_queries(names, codes, weights))
