"""The multivariate support vector problem of queries: the slack is a mean over queries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metricwise._typing import Floats, Integers
from metricwise.designs import Design
from metricwise.oracles.queries import QueryLists, QueryOracle, make_lists
from metricwise.rounding import placing_error
from metricwise.solvers.problem import MultivariateProblem


@dataclass(frozen=True)
class QueryProblem(MultivariateProblem):
    """Minimise J(w) = 1/2 |w|^2 + cost * R(X w), R the mean over queries of the slacks of their rankings.

    The design has the samples of a query one after the other. ``n_pos`` counts the samples that are relevant.
    """

    oracle: Any  # a QueryOracle, which has lists instead of two classes

    @property
    def lists(self) -> QueryLists:
        """The queries."""
        lists: QueryLists = self.oracle.lists
        return lists

    def _placing_error(self, scores: Floats) -> float:
        lists = self.lists
        largest = np.maximum.reduceat(np.abs(scores), lists.starts[:-1])[lists.queries]
        counts = zip(lists.n_pos.tolist(), (lists.sizes - lists.n_pos).tolist(), largest.tolist(), strict=True)
        return float(lists.shares @ [placing_error(*own) for own in counts])

    @property
    def _n_copies(self) -> int:
        """Number of the terms of the loss: those of the samples, and the shares of the lists."""
        return int(self.design.shape[0]) + int(self.lists.queries.size)

    @property
    def _loss_size(self) -> float:
        return 2.0  # of every list, as `metricwise.measures.ranking_capabilities.loss_size` explains

    @property
    def _largest_coefficients(self) -> Floats:
        return self.lists.largest_coefficients

    def sample(self, n_samples: int, random: np.random.Generator) -> QueryProblem:
        """Return the problem of random queries with so many samples, about, at the same cost."""
        order = random.permutation(self.lists.n_queries)
        sizes = np.cumsum(np.diff(self.lists.starts)[order])
        kept = np.sort(order[: int(np.searchsorted(sizes, n_samples)) + 1])
        lists, samples = self.lists.take(kept)
        oracle = QueryOracle(self.measure, lists, self.oracle.mistakes, threads=self.design.threads)
        return replace(self, design=self.design.gather(samples), oracle=oracle)


def make_query_problem(
    design: Design, relevance: Floats, codes: Integers, measure: Any, C: float, weights: Floats
) -> QueryProblem:
    """Return the problem of the queries that can be ranked better or worse.

    Parameters
    ----------
    design : Design
        Samples in any order.
    relevance : array of shape (n_samples,)
        Not negative; 0 and 1 unless the measure grades relevance.
    codes : array of int of shape (n_samples,)
        The query of every sample.
    measure : GainsByRank
        What is trained for.
    C : float
        The cost of one mistake.
    weights : array of shape (n_queries,)
        The weight of every query, not negative.
    """
    lists, samples = make_lists(measure, relevance, codes, weights)
    relevant = relevance[samples] > 0.0
    n_pos = np.add.reduceat(relevant.astype(np.float64), lists.starts[:-1])
    n_neg = np.diff(lists.starts) - n_pos
    # Every query has the mistakes of its own full loss.
    counts = zip(lists.query_weights.tolist(), n_pos.tolist(), n_neg.tolist(), strict=True)
    mistakes = float(sum(weight * float(measure.mistakes_per_loss(*own)) for weight, *own in counts))
    oracle = QueryOracle(measure, lists, mistakes, threads=design.threads)
    return QueryProblem(design.take(samples), oracle, measure, int(relevant.sum()), C * mistakes)
