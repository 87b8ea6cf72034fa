"""Pairs of a positive and a negative replaced by the centres of their clusters (Brefeld and Scheffer 2005).

The differences x_i - x_j go through mini-batch k-means in batches and are never held at once: all of them if they are
not too many, else a random sample. A second walk over the same pairs gives every cluster its mean and its weight. The
problem over the centres is a support vector machine without a constant term; half of the centres are negated, so
that there are two classes, which does not change the problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

from metricwise._typing import Floats, Indices, Mask
from metricwise.designs import Design, make_design
from metricwise.measures import Accuracy
from metricwise.oracles.smooth import SquaredHinge
from metricwise.solvers.newton import SmoothProblem
from metricwise.solvers.problem import MultivariateProblem, make_problem

MOST_PAIRS = 1_000_000
_ENTRIES_PER_BATCH = 4_000_000  # of the differences held at once, if dense
_PAIRS_PER_CLUSTER = 10  # in a batch


@dataclass(frozen=True)
class PairClusters:
    """Settings of the clustering.

    Parameters
    ----------
    n_clusters : int
        Largest number of clusters; never more than there are pairs.
    norm : {1, 2}
        Whether losses are squared.
    seed : int
        Seed of the sample of pairs and of the clustering.
    """

    n_clusters: int
    norm: int
    seed: int

    def make_problem(
        self, design: Design, positive: Mask, measure: Any, C: float, weights: Floats
    ) -> MultivariateProblem | SmoothProblem:
        """Return the problem over the centres, with the cost of all pairs."""
        X, samples = design.X, design.samples  # type: ignore[attr-defined]
        used = _find_used_columns(X, samples)
        some = X if used is None else X[:, used]
        pairs = _Pairs(some, samples[positive], samples[~positive], weights[positive], weights[~positive], self.seed)
        # Batches are too small to share: threads would wait for each other, and add up in a varying order.
        with threadpool_limits(limits=1, user_api="openmp"):
            centres, shares = self._cluster(pairs)
        if used is not None:
            used_centres, centres = centres, np.zeros((len(centres), X.shape[1]))
            centres[:, used] = used_centres
        total = float(weights.sum())
        if self.norm == 2:
            whole = make_design(centres, threads=design.threads)
            return SmoothProblem(whole, SquaredHinge(shares), C * total, max(len(shares) // 2, 1))
        turned = np.arange(len(shares)) % 2 == 1
        whole = make_design(np.where(turned[:, None], -centres, centres), threads=design.threads)
        return make_problem(whole, ~turned, Accuracy(), C, total * shares)

    def _cluster(self, pairs: _Pairs) -> tuple[Floats, Floats]:
        n_clusters = min(self.n_clusters, pairs.count)
        size = min(_PAIRS_PER_CLUSTER * n_clusters, max(_ENTRIES_PER_BATCH // max(pairs.n_features, 1), 256))
        means = MiniBatchKMeans(n_clusters, random_state=self.seed % 2**31, n_init=1, batch_size=size)
        waiting: list[Any] = []
        for differences, _ in pairs.batches(size):
            waiting.append(differences)
            if sum(part.shape[0] for part in waiting) >= n_clusters:  # as many as the first centres need
                means.partial_fit(_stack(waiting))
                waiting = []
        sums, shares = np.zeros((n_clusters, pairs.n_features)), np.zeros(n_clusters)
        for differences, weights in pairs.batches(size):
            nearest = means.predict(differences)
            spread = sparse.csr_array((weights, (nearest, np.arange(len(nearest)))), shape=(n_clusters, len(nearest)))
            sums += np.asarray(
                (spread @ differences).todense() if sparse.issparse(differences) else spread @ differences
            )
            shares += np.bincount(nearest, weights, n_clusters)
        filled = shares > 0.0
        centres: Floats = sums[filled] / shares[filled, None]
        if len(centres) == 1:  # two classes need two centres
            centres, shares, filled = np.repeat(centres, 2, axis=0), np.repeat(shares[filled] / 2, 2), np.ones(2, bool)
        return centres, shares[filled] / shares[filled].sum()


def _find_used_columns(X: Any, samples: Indices) -> Indices | None:
    """Return the columns of a sparse matrix that are not zero in all of the samples: the others only cost time."""
    return np.unique(X[samples].indices).astype(np.int64) if sparse.issparse(X) else None


def _stack(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts).tocsr() if sparse.issparse(parts[0]) else np.concatenate(parts)


class _Pairs:
    """All pairs, in random order, or a sample of them drawn by weight."""

    def __init__(self, X: Any, pos: Indices, neg: Indices, pos_weights: Floats, neg_weights: Floats, seed: int) -> None:
        self.X, self.pos, self.neg, self.seed = X, pos, neg, seed
        self.pos_weights, self.neg_weights = pos_weights, neg_weights
        self.all = pos.size * neg.size <= MOST_PAIRS
        self.count = pos.size * neg.size if self.all else MOST_PAIRS

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def batches(self, size: int) -> Iterator[tuple[Any, Floats]]:
        """Yield differences and weights; the same ones every time."""
        random = np.random.default_rng(self.seed)
        order = random.permutation(self.count) if self.all else None
        for start in range(0, self.count, size):
            stop = min(start + size, self.count)
            if order is not None:
                i, j = np.divmod(order[start:stop], self.neg.size)
                weights = self.pos_weights[i] * self.neg_weights[j]
            else:
                i = _draw(random, self.pos_weights, stop - start)
                j = _draw(random, self.neg_weights, stop - start)
                weights = np.ones(stop - start)
            yield self.X[self.pos[i]] - self.X[self.neg[j]], weights


def _draw(random: np.random.Generator, weights: Floats, count: int) -> Indices:
    """Return indices drawn with probabilities proportional to weights."""
    edges = np.cumsum(weights)
    drawn: Indices = np.searchsorted(edges, random.random(count) * edges[-1], "right")
    return np.minimum(drawn, weights.size - 1)
