"""Ranking measures of queries: the mean over queries of the measure of each, such as mean average precision."""

from __future__ import annotations

from typing import Any, Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from metricwise._typing import Floats, Indices
from metricwise.measures.base import GradesRelevance, Measure, Ranks
from metricwise.measures.checks import (
    check_binary,
    check_finite,
    check_one_dimensional,
    check_relevance,
    check_same_length,
)
from metricwise.measures.registry import get_measure

NoRelevant = Literal["zero", "one", "skip", "raise"]


@overload
def score_queries(
    measure: str | Measure,
    y: ArrayLike,
    scores: ArrayLike,
    groups: ArrayLike | None = ...,
    *,
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
    no_relevant: NoRelevant = ...,
    per_query: Literal[True],
) -> dict[Any, float]: ...
def score_queries(
    measure: str | Measure,
    y: ArrayLike,
    scores: ArrayLike,
    groups: ArrayLike | None = None,
    *,
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
    no_relevant : {"zero", "one", "skip", "raise"}, default="zero"
        What a query without any relevant sample counts: 0, as in `sklearn.metrics.ndcg_score`; 1, as in LightGBM;
        nothing, so that the mean is over the other queries; or an error that names it.
    per_query : bool, default=False
        Whether to return the value of each query instead of the mean.

    Returns
    -------
    float or dict
        The mean; with ``per_query=True`` the values by query, in sorted order, without those that are skipped.

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
    relevance = check_relevance(y, "y") if isinstance(found, GradesRelevance) else check_binary(y, "y")
    real = check_finite(scores, "scores")
    check_same_length(real, "scores", relevance, "y")
    values = {
        query: _score_query(found, query, relevance[samples], real[samples], no_relevant)
        for query, samples in split_queries(groups, relevance.size)
    }
    kept = {query: value for query, value in values.items() if value is not None}
    if per_query:
        return kept
    if not kept:
        raise ValueError(
            f"none of the {len(values)} queries has a relevant sample, and no_relevant='skip' leaves out all of them: "
            "check y, or set no_relevant='zero'."
        )
    return float(np.mean(list(kept.values())))


def split_queries(groups: ArrayLike | None, n_samples: int) -> list[tuple[Any, Indices]]:
    """Return every query and its samples, queries in sorted order; all samples are one query without groups.

    Examples
    --------
    >>> split_queries(["b", "a", "b"], 3)
    [('a', array([1])), ('b', array([0, 2]))]
    """
    if groups is None:
        return [(None, np.arange(n_samples))]
    names = check_one_dimensional(groups, "groups")
    if names.size != n_samples:
        raise ValueError(f"groups has {names.size} entries for {n_samples} samples; pass the query of every sample.")
    if names.dtype.kind == "f" and np.isnan(names).any():
        raise ValueError(
            f"groups[{int(np.argmax(np.isnan(names)))}] is missing; pass the query of every sample, or leave it out."
        )
    distinct, codes = np.unique(names, return_inverse=True)
    parts = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    return list(zip(distinct.tolist(), parts, strict=True))


def _score_query(measure: Measure, query: Any, y: Any, scores: Floats, no_relevant: NoRelevant) -> float | None:
    if np.any(y > 0):
        return float(measure.score(y, scores))
    if no_relevant == "raise":
        where = "y" if query is None else f"query {query!r}"
        raise ValueError(f"{where} has no relevant sample: leave it out, or set no_relevant='skip' or 'zero'.")
    return {"zero": 0.0, "one": 1.0, "skip": None}[no_relevant]
