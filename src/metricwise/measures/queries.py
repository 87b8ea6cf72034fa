"""Ranking measures of queries: the mean over queries of the measure of each, such as mean average precision."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from metricwise._typing import Floats, Integers
from metricwise.measures.base import Measure
from metricwise.measures.checks import (
    check_finite,
    check_one_dimensional,
    check_relevance,
    check_same_length,
    check_weights,
)
from metricwise.measures.ranking_capabilities import GradesRelevance, Ranks
from metricwise.measures.registry import get_measure

_MOST_SHOWN = 5  # grades in a message

NoRelevant = Literal["zero", "one", "skip", "raise"]


@overload
def score_queries(
    measure: str | Measure,
    y: ArrayLike,
    scores: ArrayLike,
    groups: ArrayLike | None = ...,
    *,
    sample_weight: ArrayLike | None = ...,
    no_relevant: NoRelevant = ...,
    per_query: Literal[False] = ...,
) -> float: ...
@overload
def score_queries(
    measure: str | Measure,
    y: ArrayLike,
    scores: ArrayLike,
    groups: ArrayLike | None = ...,
    *,
    sample_weight: ArrayLike | None = ...,
    no_relevant: NoRelevant = ...,
    per_query: Literal[True],
) -> dict[Any, float]: ...
def score_queries(
    measure: str | Measure,
    y: ArrayLike,
    scores: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    no_relevant: NoRelevant = "zero",
    per_query: bool = False,
) -> float | dict[Any, float]:
    """Return the mean of a ranking measure over queries: mean average precision, mean NDCG, mean reciprocal rank.

    Parameters
    ----------
    measure : str or Measure
        A ranking measure, such as "average_precision", "ndcg", "ndcg@10" or "reciprocal_rank".
    y : array of shape (n_samples,)
        Relevances: 0 and 1, -1 and 1, or booleans; for NDCG any numbers that are not negative.
    scores : array of shape (n_samples,)
        Scores, the greatest of a query first.
    groups : array of shape (n_samples,), optional
        The query of every sample, in any order; by default all samples are one query.
    sample_weight : array of shape (n_samples,), optional
        Weights of the queries in the mean, equal for all samples of a query; those of weight 0 are left out.
    no_relevant : {"zero", "one", "skip", "raise"}, default="zero"
        What a query without any relevant sample counts: 0, as in `sklearn.metrics.ndcg_score`; 1, as in LightGBM;
        nothing, so that the mean is over the other queries; or an error that names it.
    per_query : bool, default=False
        Whether to return the value of each query instead of the mean.

    Returns
    -------
    float or dict of float
        The mean; with ``per_query=True`` the values by query, in sorted order, without those that are skipped.

    Raises
    ------
    TypeError
        If the measure does not rank.
    ValueError
        If a query cannot be evaluated, such as one without relevant samples with ``no_relevant="raise"``, or the
        relevances do not suit the measure.

    Notes
    -----
    ``NDCG(k)`` with a ``k`` larger than a query counts all samples of the query, as in scikit-learn.

    Examples
    --------
    >>> from metricwise import score_queries
    >>> y, scores, groups = [0, 1, 1, 0, 2], [0.3, 0.9, 0.2, 0.7, 0.1], ["a", "a", "b", "b", "b"]
    >>> round(score_queries("ndcg", y, scores, groups), 4)
    0.81
    >>> score_queries("reciprocal_rank", [0, 1, 1, 0, 0], scores, groups, per_query=True)
    {'a': 1.0, 'b': 0.5}
    """
    if no_relevant not in get_args(NoRelevant):
        raise ValueError(f"no_relevant must be 'zero', 'one', 'skip' or 'raise', got {no_relevant!r}.")
    found = get_measure(measure)
    if not isinstance(found, Ranks):
        raise TypeError(
            f"measure {found.name!r} does not rank: queries are ranked for 'ndcg', 'average_precision', "
            "'reciprocal_rank' or 'roc_auc'."
        )
    relevance = read_relevance(found, y)
    real = check_finite(scores, "scores")
    check_same_length(real, "scores", relevance, "y")
    queries, codes = encode_queries(groups, relevance.size)
    weights = weigh_queries(queries, codes, check_weights(sample_weight, relevance))
    parts = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    values = {
        query: _score_query(found, query, relevance[samples], real[samples], no_relevant)
        for query, samples, weight in zip(queries, parts, weights, strict=True)
        if weight > 0.0
    }
    kept = {query: value for query, value in values.items() if value is not None}
    undefined = [query for query, value in kept.items() if math.isnan(value)]
    if undefined:
        raise ValueError(
            f"query {undefined[0]!r} has relevant samples only, and measure {found.name!r} is not defined for them: "
            "leave it out."
        )
    if per_query:
        return kept
    if not kept:
        raise ValueError(
            f"none of the {len(values)} queries has a relevant sample, and no_relevant='skip' leaves out all of them: "
            "check y, or set no_relevant='zero'."
        )
    of_queries = dict(zip(queries, weights, strict=True))
    return float(np.average(list(kept.values()), weights=[of_queries[query] for query in kept]))


def read_relevance(measure: Measure, y: ArrayLike) -> Floats:
    """Return relevances, not negative, and 0 or 1 unless a measure takes grades; raise a ValueError for others.

    Examples
    --------
    >>> from metricwise.measures import NDCG, AveragePrecision
    >>> read_relevance(NDCG(), [0, 2, 1])
    array([0., 2., 1.])
    >>> read_relevance(AveragePrecision(), [0, 2, 1])
    Traceback (most recent call last):
        ...
    ValueError: measure 'average_precision' takes the relevances 0 and 1, and y has 0, 1, 2: choose 'ndcg', ...
    """
    relevance = check_relevance(y, "y")
    grades = np.unique(relevance) + 0.0  # without negative zeros
    if not isinstance(measure, GradesRelevance) and np.any((grades != 0.0) & (grades != 1.0)):
        shown = ", ".join(f"{grade:g}" for grade in grades[:_MOST_SHOWN]) + ", ..." * (grades.size > _MOST_SHOWN)
        raise ValueError(
            f"measure {measure.name!r} takes the relevances 0 and 1, and y has {shown}: choose 'ndcg', which takes "
            "grades, or pass y >= the lowest grade that is relevant"
        )
    return relevance


def encode_queries(groups: ArrayLike | None, n_samples: int) -> tuple[list[Any], Integers]:
    """Return the queries in sorted order, and the number of that of every sample; without groups there is one, None.

    Examples
    --------
    >>> encode_queries(["b", "a", "b"], 3)
    (['a', 'b'], array([1, 0, 1]))
    """
    if groups is None:
        return [None], np.zeros(n_samples, dtype=np.int64)
    # Of a list of text and NaN, numpy would make the text "nan".
    names = np.asarray(groups, dtype=object if isinstance(groups, list | tuple) else None)
    names = check_one_dimensional(names, "groups", keeps_objects=True)
    if names.size != n_samples:
        raise ValueError(f"groups has {names.size} entries for {n_samples} samples; pass the query of every sample.")
    missing = [at for at, name in enumerate(names.tolist()) if _is_missing(name)]
    if missing:
        raise ValueError(
            f"groups[{missing[0]}] is missing; pass the query of every sample, or leave out samples without one."
        )
    if names.dtype != object:
        distinct, codes = np.unique(names, return_inverse=True)
        return distinct.tolist(), codes.astype(np.int64)
    ordered = sorted(set(names.tolist()), key=_sort_key)
    numbers = {name: number for number, name in enumerate(ordered)}
    return ordered, np.fromiter((numbers[name] for name in names.tolist()), np.int64, names.size)


def _is_missing(name: Any) -> bool:
    try:
        return name is None or bool(name != name)
    except TypeError:  # the missing value of pandas equals nothing, nor is it different
        return True


def _sort_key(name: Any) -> tuple[bool, Any, str]:
    """Return a key by which names of mixed types can be sorted: numbers first, in their own precision."""
    return (False, name, "") if isinstance(name, Real) else (True, 0, str(name))


def weigh_queries(names: list[Any], codes: Integers, weights: Floats) -> Floats:
    """Return the weight of every query, given those of the samples; raise a ValueError if they differ within one."""
    of_queries = np.empty(len(names))
    of_queries[codes] = weights
    differs = np.flatnonzero(of_queries[codes] != weights)
    if differs.size:
        which = "the samples" if names == [None] else f"samples of query {names[codes[differs[0]]]!r}"
        raise ValueError(
            f"sample_weight weighs queries, and {which} have different weights, {weights[differs[0]]:g} and "
            f"{of_queries[codes[differs[0]]]:g}: give all samples of a query its weight"
        )
    return of_queries


def _score_query(measure: Measure, query: Any, y: Any, scores: Floats, no_relevant: NoRelevant) -> float | None:
    if np.any(y > 0):
        return float(measure.score(y, scores))
    if no_relevant == "raise":
        where = "y" if query is None else f"query {query!r}"
        raise ValueError(f"{where} has no relevant sample: leave it out, or set no_relevant='skip' or 'zero'.")
    return {"zero": 0.0, "one": 1.0, "skip": None}[no_relevant]
