"""The bounds of a model that ranks queries: the mean over queries of their slacks, without any code of the oracles.

Each level of relevance divides the samples of a query into a list of positives and negatives. Lists with the same
number of positives are ranked together, in the rounds that `metricwise.certifying.rankings` explains.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricwise._typing import Floats, Indices, Integers
from metricwise.certifying.bounds import bound_by_witness
from metricwise.certifying.coefficients import check_coefficients
from metricwise.certifying.data import LinearData
from metricwise.certifying.fitted import FittedModel
from metricwise.certifying.rankings import Rankings, group_by_width
from metricwise.measures.checks import check_weights
from metricwise.measures.queries import encode_queries, read_relevance, weigh_queries
from metricwise.measures.ranking_capabilities import GradesRelevance
from metricwise.results import Certificate
from metricwise.rounding import SlackTerms, placing_error, slack_error

_TIED = 1e-11  # of the largest score of a query: samples that differ by less may share a place
_REACH = 1e-10  # of the largest score of a query: places whose violations differ by less are equally good


def certify_queries(fitted: FittedModel, X: Any, y: Any, sample_weight: Any, groups: Any) -> Certificate:
    """Return the bounds of the objective of a model that ranks queries."""
    relevance = read_relevance(fitted.measure, y)
    names, codes = encode_queries(groups, relevance.size)
    weights = weigh_queries(names, codes, check_weights(sample_weight, relevance))[codes]
    kept = _find_ranked(relevance, codes, weights)
    if not kept.size:
        raise ValueError("no query has samples of two grades: pass the y and groups of the training")
    slack = QuerySlack(fitted.measure, relevance[kept], codes[kept], weights[kept])
    (result,) = fitted.results
    check_coefficients(fitted, 0, 1.0, result.weights, X.shape[0])
    data = LinearData(X, kept, 0.0)
    return bound_by_witness(data, fitted.C * slack.u, slack, slack.bound_error, result)


def _find_ranked(relevance: Floats, codes: Integers, weights: Floats) -> Indices:
    """Return the samples of queries with a weight whose samples are not all equally relevant."""
    n_queries = int(codes.max()) + 1
    least, most = np.full(n_queries, np.inf), np.full(n_queries, -np.inf)
    np.minimum.at(least, codes, relevance)
    np.maximum.at(most, codes, relevance)
    return np.flatnonzero((least < most)[codes] & (weights > 0.0))


@dataclass(frozen=True)
class _Lists:
    """Lists with the same number of positives.

    Parameters
    ----------
    rankings : Rankings
        Gains of so many positives.
    pos : array of int of shape (n_lists, n_pos)
        Samples.
    neg, owner : arrays of int
        Samples, and the list of each, ascending.
    shares : array of shape (n_lists,)
        Shares of the lists in the mean over queries.
    queries : array of int of shape (n_lists,)
        The query of each list.
    """

    rankings: Rankings
    pos: Indices
    neg: Indices
    owner: Indices
    shares: Floats
    queries: Indices

    @property
    def n_neg(self) -> Integers:
        return np.bincount(self.owner, minlength=len(self.pos))


class QuerySlack:
    """R(w) = mean over queries of their slacks, and single rankings of all queries."""

    loss_size = 2.0  # the gains of the best ranking and of another

    def __init__(self, measure: Any, relevance: Floats, codes: Integers, weights: Floats) -> None:
        self.measure, self.n_samples = measure, relevance.size
        _, self.query = np.unique(codes, return_inverse=True)
        order = np.argsort(self.query, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(self.query))[:-1])
        total = sum(float(weights[own[0]]) for own in parts)
        self.u, found = 0.0, defaultdict(list)
        for number, own in enumerate(parts):
            weight, n_relevant = float(weights[own[0]]), float(np.count_nonzero(relevance[own] > 0.0))
            self.u += weight * float(measure.mistakes_per_loss(n_relevant, own.size - n_relevant))
            for share, positive in _divide(measure, relevance[own]):
                found[int(positive.sum())].append((number, own[positive], own[~positive], share * weight / total))
        self.lists = [_join(measure, some) for some in found.values()]
        self.n_copies = self.n_samples + sum(len(some.pos) for some in self.lists)

    def at(self, scores: Floats) -> float:
        """Return the slack at given scores."""
        loss, c = self._most_violated(scores, reach=0.0, tied=0.0)
        return float(loss + c @ scores)

    def labelling(self, scores: Floats, table: Any) -> tuple[float, Floats]:
        """Return mean loss and coefficients of the most violated rankings."""
        return self._most_violated(scores, _REACH, _TIED)

    def _most_violated(self, scores: Floats, reach: float, tied: float) -> tuple[float, Floats]:
        loss, c, largest = 0.0, np.zeros(scores.size), self._largest(scores)
        for some in self.lists:
            own = largest[some.queries]
            loss += _rank(some, scores, reach * np.maximum(own, 1.0), tied * own, c)
        return loss, c

    def _largest(self, scores: Floats) -> Floats:
        """Return the largest absolute score of every query."""
        largest = np.zeros(int(self.query.max()) + 1)
        np.maximum.at(largest, self.query, np.abs(scores))
        return largest

    def bound_error(self, scores: Floats, score_errors: Floats) -> float:
        """Return by how much the slack may differ from that of the exact scores."""
        most, search, largest = np.zeros(self.n_samples), 0.0, self._largest(scores)
        for some in self.lists:
            n_pos, n_neg = some.pos.shape[1], some.n_neg
            np.add.at(most, some.pos, (some.shares / n_pos)[:, None])
            np.add.at(most, some.neg, (some.shares / n_neg)[some.owner])
            errors = [placing_error(n_pos, int(m), float(s)) for m, s in zip(n_neg, largest[some.queries], strict=True)]
            search += float(some.shares @ errors)
        moved = float(most @ score_errors)
        terms = SlackTerms(self.loss_size, float(most @ np.abs(scores)), moved, self.n_copies, search)
        return slack_error(terms, ranks=True)


def _divide(measure: Any, relevance: Floats) -> list[tuple[float, Any]]:
    """Return the share and the positives of every level that divides the samples of a query."""
    levels = np.unique(relevance[relevance > 0.0])
    counts = np.array([float(np.count_nonzero(relevance >= level)) for level in levels])
    if isinstance(measure, GradesRelevance):
        shares = np.asarray(measure.weigh_levels(levels, counts), dtype=np.float64)
    else:
        shares = np.ones(levels.size)  # of one level
    return [
        (float(share), relevance >= level)
        for share, level, count in zip(shares, levels, counts, strict=True)
        if count < relevance.size
    ]


def _join(measure: Any, lists: list[tuple[int, Indices, Indices, float]]) -> _Lists:
    queries, pos, neg, shares = zip(*lists, strict=True)
    longest = max(own.size for own in neg)
    flags = np.arange(pos[0].size + longest) < pos[0].size
    return _Lists(
        Rankings(measure, flags, np.ones(flags.size)),
        np.array(pos),
        np.concatenate(neg),
        np.repeat(np.arange(len(neg)), [own.size for own in neg]),
        np.array(shares),
        np.array(queries),
    )


def _rank(lists: _Lists, scores: Floats, reach: Floats, tied: Floats, c: Floats) -> float:
    """Add the coefficients of the most violated rankings to ``c``; return their losses by their shares."""
    n_pos, n_neg = lists.pos.shape[1], lists.n_neg
    by_row = np.argsort(-scores[lists.pos], axis=1, kind="stable")
    pos_samples = np.take_along_axis(lists.pos, by_row, axis=1)
    neg_samples = lists.neg[np.lexsort((-scores[lists.neg], lists.owner))]
    pos, neg = scores[pos_samples], scores[neg_samples]
    above = _place(lists, pos, neg, reach / n_neg)
    counts = np.bincount(lists.owner * (n_pos + 1) + above, minlength=len(pos) * (n_pos + 1))
    before = np.cumsum(counts.reshape(len(pos), n_pos + 1), axis=1)[:, :-1]  # negatives above every positive
    i = np.arange(1, n_pos + 1)
    lost = lists.rankings.gains(i, i) - lists.rankings.gains(np.broadcast_to(i, before.shape), i + before)
    scale = lists.shares / (float(n_pos) * n_neg)
    rows = np.repeat(np.arange(len(pos)), n_pos)
    np.add.at(c, pos_samples.ravel(), -scale[rows] * _average(pos.ravel(), rows, before.ravel(), tied))
    np.add.at(c, neg_samples, scale[lists.owner] * _average(neg, lists.owner, n_pos - above, tied))
    return float(lists.shares @ lost.sum(axis=1))


def _average(scores: Floats, owner: Indices, partners: Integers, tied: Floats) -> Floats:
    """Return the partners of samples that are sorted within lists; neighbours tied in score have equally many."""
    new = np.ones(scores.size, dtype=np.bool_)
    new[1:] = (owner[1:] != owner[:-1]) | (scores[:-1] - scores[1:] > tied[owner[1:]])
    group = np.cumsum(new) - 1
    return np.asarray((np.bincount(group, partners.astype(np.float64)) / np.bincount(group))[group])


def _place(lists: _Lists, pos: Floats, neg: Floats, reach: Floats) -> Integers:
    """Return the number of positives above every negative."""
    above = np.zeros(neg.size, dtype=np.int64)
    starts = np.cumsum(lists.n_neg) - lists.n_neg
    nothing, n_pos = np.zeros(len(pos), dtype=np.int64), np.full(len(pos), pos.shape[1])
    ranges = np.stack([starts, starts + lists.n_neg, nothing, n_pos], axis=1)  # of negatives, and of their places
    while ranges.size:
        first, end, high, low = ranges.T
        middle = (first + end) // 2  # with no more negatives after it than before it
        above[middle] = _place_some(lists, pos, neg, starts, middle, (high, low), reach)
        halves = [(first, middle, high, above[middle]), (middle + 1, end, above[middle], low)]
        ranges = np.concatenate([np.stack(half, axis=1) for half in halves])
        ranges = ranges[ranges[:, 0] < ranges[:, 1]]
    return above


def _place_some(
    lists: _Lists,
    pos: Floats,
    neg: Floats,
    starts: Indices,
    chosen: Indices,
    limits: tuple[Integers, Integers],
    reach: Floats,
) -> Integers:
    """Return the best places of some negatives between the limits of each."""
    high, low = limits
    places, scale = low.copy(), float(pos.shape[1]) * lists.n_neg
    for some, width in group_by_width(low - high):
        negative = chosen[some]
        owner = lists.owner[negative]
        i = low[some, None] - np.arange(width)  # the positives that it may pass, the last first
        may_pass = i > high[some, None]
        i, j = np.maximum(i, 1), (negative - starts[owner])[:, None]
        lost = lists.rankings.gains(i, i + j) - lists.rankings.gains(i, i + j + 1)
        worth = lost - (pos[owner[:, None], i - 1] - neg[negative, None]) / scale[owner, None]
        sums = np.cumsum(np.where(may_pass, worth, -np.inf), axis=1)
        best, room = sums.max(axis=1), reach[owner]
        passed = np.argmax(sums >= (best - room)[:, None], axis=1) + 1
        places[some] = np.where(best > room, low[some] - passed, low[some])
    return places
