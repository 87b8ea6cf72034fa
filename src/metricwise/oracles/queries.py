"""Queries: the most violated ranking of each, one oracle for all (Yue et al. 2007, SVM-map).

The slack is a mean over queries. Where relevance has more than two grades, the loss of a query is a mean of losses of
two grades, one for each level (`metricwise.measures.ranking_capabilities.GradesRelevance`), and its slack the same
mean of theirs: an upper bound of the loss, found exactly. So a problem is a list of weighted lists of positives and
negatives, each with a most violated ranking of its own (`metricwise.oracles.rank_gains`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from metricwise._typing import Floats, Indices, Integers
from metricwise.kernels import pairs, queries, rank_gains, selection
from metricwise.measures.rank_gains import NDCG, AveragePrecision, ReciprocalRank
from metricwise.measures.ranking_capabilities import GradesRelevance
from metricwise.oracles.base import TIED, Classes, MarginOracle
from metricwise.oracles.rank_gains import RankGainOracle
from metricwise.oracles.ranking import PairLabelling
from metricwise.threads import block_bounds, run_blocks

_WORK_PER_SAMPLE = 50.0  # of a list, in multiplications: sorting and placing
_SHORT = 2048  # samples of a query up to which sorting by insertion is as fast as by digits


@dataclass(frozen=True)
class QueryLists:
    """Lists of positives and negatives, one per query and level of relevance.

    Parameters
    ----------
    starts : array of int of shape (n_queries + 1,)
        The first sample of every query, and the number of samples.
    query_weights : array of shape (n_queries,)
        The weights of the queries in the mean, above zero.
    grades : array of int of shape (n_samples,)
        The grade of every sample.
    queries, levels : arrays of int of shape (n_lists,)
        The query of every list, ascending, and the lowest grade of its positives.
    level_shares : array of shape (n_lists,)
        The share of every list in the loss of its query.
    """

    starts: Indices
    query_weights: Floats
    grades: Integers
    queries: Indices
    levels: Integers
    level_shares: Floats

    def __post_init__(self) -> None:
        # Compiled code relies on it.
        sizes = np.diff(self.starts)
        if self.starts[0] != 0 or self.starts[-1] != self.grades.size or np.any(sizes < 1):
            raise ValueError("queries must have samples, one after the other, and all samples must be in one")
        if np.any(np.diff(self.queries) < 0):
            raise ValueError("lists must be in the order of their queries")
        if np.any(self.queries < 0) or np.any(self.queries >= sizes.size) or np.any(self.n_pos < 1):
            raise ValueError("every list must belong to a query and have positives")
        if np.any(self.n_pos >= self.sizes):
            raise ValueError("every list must have negatives")

    @property
    def n_queries(self) -> int:
        return int(self.starts.size) - 1

    @cached_property
    def sizes(self) -> Integers:
        """Number of samples of every list: those of its query."""
        return np.asarray(np.diff(self.starts)[self.queries], dtype=np.int64)

    @cached_property
    def entries(self) -> tuple[Indices, Indices, Any]:
        """All samples of all lists: the list, the sample, and whether it is positive there."""
        ends = np.cumsum(self.sizes)
        number = np.repeat(np.arange(self.queries.size), self.sizes)
        sample = np.arange(number.size) - np.repeat(ends - self.sizes, self.sizes) + self.starts[self.queries[number]]
        return number, sample, self.grades[sample] >= self.levels[number]

    @cached_property
    def n_pos(self) -> Integers:
        """Positives of every list."""
        number, _, positive = self.entries
        return np.bincount(number[positive], minlength=self.queries.size)

    @cached_property
    def shares(self) -> Floats:
        """Share of every list in the mean over queries."""
        of_queries: Floats = self.query_weights / self.query_weights.sum()
        return self.level_shares * of_queries[self.queries]

    @cached_property
    def largest_coefficients(self) -> Floats:
        """The largest absolute coefficient of every sample in any rankings of its lists."""
        number, sample, positive = self.entries
        most = np.where(positive, 1.0 / self.n_pos[number], 1.0 / (self.sizes - self.n_pos)[number])
        total: Floats = np.bincount(sample, self.shares[number] * most, self.grades.size).astype(np.float64)
        return total

    def take(self, kept: Indices) -> tuple[QueryLists, Indices]:
        """Return the lists of some queries, in ascending order, and the samples of these queries."""
        samples = np.concatenate([np.arange(self.starts[q], self.starts[q + 1]) for q in kept])
        place = np.full(self.n_queries, -1, dtype=np.int64)
        place[kept] = np.arange(kept.size)
        lists = place[self.queries] >= 0
        some = replace(
            self,
            starts=np.concatenate([[0], np.cumsum(np.diff(self.starts)[kept])]),
            query_weights=self.query_weights[kept],
            grades=self.grades[samples],
            queries=place[self.queries[lists]],
            levels=self.levels[lists],
            level_shares=self.level_shares[lists],
        )
        return some, samples


def make_lists(measure: Any, relevance: Floats, codes: Integers, weights: Floats) -> tuple[QueryLists, Indices]:
    """Return the lists of all queries that can be ranked better or worse, and their samples, query by query.

    Parameters
    ----------
    measure : GainsByRank
        What is trained for; it must grade relevance unless that is 0 and 1.
    relevance : array of shape (n_samples,)
        Not negative.
    codes : array of int of shape (n_samples,)
        The query of every sample.
    weights : array of shape (n_queries,)
        The weight of every query; those of weight zero are left out.

    Raises
    ------
    ValueError
        If no query has samples of two grades.
    """
    values = np.unique(relevance)
    grades, sizes = np.searchsorted(values, relevance), np.bincount(codes, minlength=weights.size)
    # All grades of all queries, query by query, and how many samples of the query have each or a higher one.
    found, counts = np.unique(codes * values.size + grades, return_counts=True)
    query, grade = np.divmod(found, values.size)
    above = np.cumsum(sizes)[query] - (np.cumsum(counts) - counts)
    shares = _weigh_levels(measure, values, query, grade, above)
    divides = (values[grade] > 0.0) & (above < sizes[query]) & (weights[query] > 0.0)
    kept = np.unique(query[divides])
    if not kept.size:
        raise ValueError(
            f"none of the {weights.size} queries has both a relevant and an irrelevant sample, so that all orders of "
            "their samples are equally good: check y, groups and sample_weight"
        )
    order = np.argsort(codes, kind="stable")
    samples = order[np.isin(codes[order], kept)]
    lists = QueryLists(
        starts=np.concatenate([[0], np.cumsum(sizes[kept])]),
        query_weights=weights[kept],
        grades=np.asarray(grades[samples], dtype=np.int64),
        queries=np.searchsorted(kept, query[divides]),
        levels=grade[divides],
        level_shares=shares[divides],
    )
    return lists, samples


def _weigh_levels(measure: Any, values: Floats, query: Indices, grade: Integers, above: Integers) -> Floats:
    """Return the share of every grade, as a level, in the loss of its query; nothing for irrelevant samples.

    Parameters
    ----------
    measure : GainsByRank
        Grades relevance, or has one level.
    values : array
        The grades, ascending.
    query, grade, above : arrays of int
        Grades of queries, query by query and ascending, by their positions in ``values``, and the number of samples of
        each or a higher one.
    """
    shares = np.where(values[grade] > 0.0, 1.0, 0.0)
    if not isinstance(measure, GradesRelevance):
        return shares
    known: dict[tuple[bytes, bytes], Floats] = {}  # short queries have few different ones
    levels = np.flatnonzero(shares)
    for own in np.split(levels, np.flatnonzero(np.diff(query[levels])) + 1):
        key = grade[own].tobytes(), above[own].tobytes()
        if own.size and key not in known:
            known[key] = measure.weigh_levels(values[grade[own]], above[own].astype(np.float64))
        if own.size:
            shares[own] = known[key]
    return shares


class QueryOracle(MarginOracle):
    """The oracle of a mean over queries of a measure of gains by rank.

    Parameters
    ----------
    measure : GainsByRank
        What is trained for.
    lists : QueryLists
        The queries.
    mistakes : float
        The number of single mistakes in a full loss.
    threads : int
        Threads that may rank; the result does not depend on it.
    loops : bool
        Rank list by list, as the gains of users are, also where compiled code ranks all of them, to check the latter.
    """

    def __init__(
        self, measure: Any, lists: QueryLists, mistakes: float, *, threads: int = 1, loops: bool = False
    ) -> None:
        self.lists = lists
        self.mistakes = mistakes
        kind = None if loops else _find_kind(measure)
        self._rank = _CompiledLists(kind, lists, threads) if kind is not None else _LoopedLists(measure, lists)

    def violate(self, scores: Floats) -> PairLabelling:
        if scores.shape != self.lists.grades.shape:  # compiled code relies on it
            raise ValueError(
                f"{scores.size} scores are not those of the {self.lists.grades.size} samples of the queries"
            )
        loss, out = self._rank(scores, self._on_margin)
        return PairLabelling(loss + float(selection.dot(out, scores)), loss, out)


def _find_kind(measure: Any) -> int | None:
    """Return the number by which compiled code knows the gains of a measure; None if it does not."""
    if type(measure) is NDCG:
        return rank_gains.BY_RANK if measure.k is None else None
    kinds = {AveragePrecision: rank_gains.AVERAGE_PRECISION, ReciprocalRank: rank_gains.FIRST_POSITIVE}
    return kinds.get(type(measure))


class _CompiledLists:
    """Ranks all lists in compiled code, in blocks of queries that do not depend on the number of threads."""

    def __init__(self, kind: int, lists: QueryLists, threads: int) -> None:
        self._kind, self._lists, self._threads = kind, lists, threads
        sizes = np.diff(lists.starts)
        self._discounts = 1.0 / np.log2(np.arange(2.0, int(sizes.max()) + 2.0))
        self._is_long = sizes > _SHORT
        self._bounds = block_bounds(lists.n_queries, _WORK_PER_SAMPLE * float(lists.sizes.sum()))

    def __call__(self, scores: Floats, on_margin: float) -> tuple[float, Floats]:
        keys, order = -scores, np.arange(scores.size, dtype=np.int32)
        out, losses = np.zeros(scores.size), np.zeros(len(self._bounds))

        def rank(block: int, first: int, end: int) -> None:
            self._sort(first, end, keys, order)
            losses[block] = self._rank(first, end, keys, order, on_margin, out)

        run_blocks(rank, self._bounds, self._threads)
        return float(losses.sum()), out

    def _sort(self, first: int, end: int, keys: Floats, order: Any) -> None:
        """Sort the keys of some queries in place, and the samples with them."""
        starts = self._lists.starts
        queries.sort_short_queries(starts[first : end + 1], _SHORT, keys, order)
        for query in first + np.flatnonzero(self._is_long[first:end]):
            part = slice(starts[query], starts[query + 1])
            local, keys[part] = pairs.argsort_scores(keys[part])
            order[part] = local + np.int32(starts[query])

    def _rank(self, first: int, end: int, keys: Floats, order: Any, on_margin: float, out: Floats) -> float:
        """Write the coefficients of some queries; return what their lists add to the mean loss."""
        lists, longest = self._lists, self._discounts.size
        own = slice(*np.searchsorted(lists.queries, [first, end]))
        loss = queries.violate_lists(
            self._kind,
            self._discounts,
            lists.starts,
            lists.grades,
            lists.queries[own],
            lists.levels[own],
            lists.shares[own],
            keys,
            order,
            TIED if on_margin else 0.0,
            on_margin,
            np.empty(longest),
            np.empty((2, longest)),
            np.empty((2, longest), dtype=np.int32),
            out,
        )
        return float(loss)


class _LoopedLists:
    """Ranks list by list, by the oracle of one list."""

    def __init__(self, measure: Any, lists: QueryLists) -> None:
        self._lists = lists
        counts = list(zip(lists.n_pos.tolist(), (lists.sizes - lists.n_pos).tolist(), strict=True))
        oracles = {pair: RankGainOracle(measure, Classes(*pair), 1.0) for pair in set(counts)}
        self._oracles = [oracles[pair] for pair in counts]
        ends = np.cumsum(lists.sizes)[:-1]
        _, sample, positive = lists.entries
        self._samples = [
            np.concatenate([own[flags], own[~flags]])
            for own, flags in zip(np.split(sample, ends), np.split(positive, ends), strict=True)
        ]

    def __call__(self, scores: Floats, on_margin: float) -> tuple[float, Floats]:
        total, out = 0.0, np.zeros(scores.size)
        for oracle, samples, share in zip(self._oracles, self._samples, self._lists.shares, strict=True):
            found = (oracle if on_margin else oracle.exact()).violate(scores[samples])
            total += share * found.loss
            out[samples] += share * found.coefficients()
        return total, out
