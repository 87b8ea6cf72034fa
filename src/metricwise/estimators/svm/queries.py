"""The queries of a ranking problem: relevance, query and weight of every sample, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metricwise._sklearn import check_sample_weight
from metricwise._typing import Floats, Integers, Labels
from metricwise.measures import Measure
from metricwise.measures.queries import encode_queries, read_relevance, weigh_queries


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
    relevance = read_relevance(measure, y)
    names, codes = encode_queries(groups, relevance.size)
    weights = np.asarray(check_sample_weight(sample_weight, X), dtype=np.float64)
    return Queries(relevance, codes, weigh_queries(names, codes, weights))
