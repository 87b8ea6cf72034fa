"""The design of labelled samples whose scores stay with them: what comes back has one entry per bin or feature.

`RemoteDesign` sends requests to labelled data, in this process (`LocalData`) or on the workers of a cluster, and merges
their answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import count
from math import frexp, ldexp
from typing import Any, Protocol

import numpy as np

from metricwise._typing import Floats, Integers
from metricwise.designs.base import Design, sample_sizes
from metricwise.designs.cluster.encoding import encode_coefficients, sum_weights
from metricwise.designs.cluster.messages import AnswerT, Request
from metricwise.designs.labelled import (
    Bins,
    CombineBins,
    CountScores,
    DrawSamples,
    DropOtherScores,
    Edges,
    LabelledSamples,
    StoreCombination,
    StoreScores,
    SumFingerprints,
    SumSizes,
    UnknownScoresError,
)
from metricwise.designs.matrix import LinearWeights
from metricwise.designs.remote_scores import BinCoefficients, RemoteScores, ScoreHistogram, to_point

_MAX_ATTEMPTS = 20
_KEYS = count()  # of scores, so that no two problems use the same one


class LabelledData(Protocol):
    """Labelled samples that answer requests where they are.

    Attributes
    ----------
    n_samples, n_weights : int
        Size of the data, the constant column included.
    is_sparse : bool
        Whether chunks are CSR matrices.
    threads : int
        How many threads may compute products.
    most_gathered : int
        How many samples may be held in memory at once.
    class_counts : array of shape (n_chunks, n_classes)
        Samples per chunk and class.
    bytes_moved : int
        Bytes of arrays that were exchanged with a cluster so far.
    """

    @property
    def n_samples(self) -> int: ...

    @property
    def n_weights(self) -> int: ...

    @property
    def is_sparse(self) -> bool: ...

    @property
    def threads(self) -> int: ...

    @property
    def most_gathered(self) -> int: ...

    @property
    def class_counts(self) -> Integers: ...

    @property
    def bytes_moved(self) -> int: ...

    def ask(self, request: Request[LabelledSamples, AnswerT]) -> list[AnswerT]:
        """Return the answers of all workers."""
        ...

    def stack(self, blocks: Sequence[Any]) -> Design:
        """Return the design of gathered samples."""
        ...


class LocalData:
    """Labelled samples in this process, as one chunk.

    Parameters
    ----------
    design : Design
        The samples.
    codes : array of int
        Their labels, as integers from 0 on.
    """

    bytes_moved = 0

    def __init__(self, design: Design, codes: Integers) -> None:
        self.n_samples, self.n_weights = design.shape
        self.is_sparse, self.threads = design.is_sparse, design.threads
        self.most_gathered = design.most_gathered
        self.class_counts = np.bincount(codes)[None, :]
        self._samples = LabelledSamples(
            {0: design}, {0: codes.astype(np.int32)}, lambda _, samples: design.gather(samples)
        )

    def ask(self, request: Request[LabelledSamples, AnswerT]) -> list[AnswerT]:
        """Return the only answer."""
        return [request.answer(self._samples)]

    def stack(self, blocks: Sequence[Design]) -> Design:
        """Return the only block."""
        (design,) = blocks
        return design


class RemoteDesign(LinearWeights):
    """The samples of one binary problem, multiplied where they are.

    Parameters
    ----------
    data : LabelledData
        The samples.
    positive : int
        Code of the label of the positives.
    """

    def __init__(self, data: LabelledData, positive: int) -> None:
        self._data, self._positive = data, positive
        self.shape = data.n_samples, data.n_weights
        self.is_sparse, self.threads = data.is_sparse, data.threads
        self.most_gathered = data.most_gathered
        of_chunks = data.class_counts
        self._chunk_counts = np.column_stack([of_chunks[:, positive], of_chunks.sum(axis=1) - of_chunks[:, positive]])
        self.n_pos, self.n_neg = (int(number) for number in self._chunk_counts.sum(axis=0))
        self._weights: dict[int, Floats] = {}
        self._largest: dict[int, float] = {}

    @property
    def bytes_moved(self) -> int:
        """Bytes that were exchanged with a cluster so far."""
        return self._data.bytes_moved

    def scores(self, w: Floats) -> RemoteScores:
        """Compute X w where the samples are, and return a handle of it."""
        if not np.any(w):
            return RemoteScores({})
        key = next(_KEYS)
        self._largest[key] = max(self._ask(StoreScores(key, w)))
        self._weights[key] = w.copy()
        return RemoteScores({key: 1.0})

    def weights(self, scores: RemoteScores) -> Floats:
        """Return the weights of scores."""
        w = np.zeros(self.shape[1])
        for key, factor in scores.factors.items():
            w += factor * self._weights[key]
        return w

    def store_combination(self, scores: RemoteScores) -> RemoteScores:
        """Store a combination of scores as one vector, drop all other scores, and return its handle."""
        kept = {key: factor for key, factor in scores.factors.items() if factor != 0.0}
        if kept and list(kept.values()) != [1.0]:
            key, w = next(_KEYS), self.weights(scores)
            self._largest[key] = max(self._ask(StoreCombination(key, to_point(scores))))
            self._weights[key] = w
            kept = {key: 1.0}
        if set(self._weights) - set(kept):
            self._weights = {key: self._weights[key] for key in kept}
            self._largest = {key: self._largest[key] for key in kept}
            self._ask(DropOtherScores(tuple(kept)))
        return RemoteScores(kept)

    def drop_scores(self) -> None:
        """Drop all scores that are stored with the samples."""
        self.store_combination(RemoteScores({}))

    def histogram(self, scores: RemoteScores, edges: Edges) -> ScoreHistogram:
        """Count the samples of both classes by score, in the bins between given edges."""
        point = to_point(scores)
        units = self._units(point.a), self._units(point.b)
        answers = self._ask(CountScores(self._positive, point, units, edges))
        pos, neg = (reduce(Bins.merge, bins) for bins in zip(*answers, strict=True))
        return ScoreHistogram((point.a, point.b), units, edges, (pos, neg))

    def largest(self, scores: RemoteScores) -> float:
        """Return an upper bound of the absolute values of scores."""
        return float(sum(abs(factor) * self._largest[key] for key, factor in scores.factors.items()))

    def _units(self, key: int | None) -> float:
        """Return how many units make 1: as many as keep sums over all samples within 62 bits."""
        largest = self._largest[key] if key is not None else 0.0
        if largest == 0.0:
            return 1.0
        exponent = frexp(largest)[1]  # largest < 2^exponent
        return ldexp(1.0, max(min(61 - self.shape[0].bit_length() - exponent, 1000), -1000))

    def combine(self, c: BinCoefficients) -> Floats:
        """Return X' c, where every sample has the coefficient of its bin."""
        pos, neg = c.by_bin
        coefficients = encode_coefficients(pos), encode_coefficients(neg)
        answers = self._ask(CombineBins(self._positive, to_point(c.scores), c.edges, coefficients))
        by_chunk = {number: weights for answer in answers for number, weights in answer.items()}
        return sum_weights((by_chunk[number] for number in sorted(by_chunk)), self.shape[1])

    def column_sizes(self) -> tuple[Floats, Floats]:
        """Return the sums of the absolute features of the positives and of the negatives."""
        by_chunk = {number: sizes for answer in self._ask(SumSizes(self._positive)) for number, sizes in answer.items()}
        pos, neg = (sum_weights((by_chunk[number][k] for number in sorted(by_chunk)), self.shape[1]) for k in (0, 1))
        return pos, neg

    def sample(self, n_samples: int, seed: int) -> tuple[Design, int]:
        """Return a stratified random sample in memory, positives first, and how many positives it has.

        Every chunk contributes in proportion to its samples of either class.
        """
        few_pos, few_neg = sample_sizes(self.n_pos, self.n_neg, n_samples)
        shares = [_divide(few, self._chunk_counts[:, k]) for k, few in enumerate((few_pos, few_neg))]
        sizes = {number: (int(pos), int(neg)) for number, (pos, neg) in enumerate(zip(*shares, strict=True))}
        answers = self._ask(DrawSamples(self._positive, sizes, seed))
        by_chunk = {number: block for answer in answers for number, block in answer.items()}
        design = self._data.stack([by_chunk[number] for number in sorted(by_chunk)])
        is_pos = np.concatenate([np.arange(sum(sizes[number])) < sizes[number][0] for number in sorted(by_chunk)])
        return design.take(np.concatenate([np.flatnonzero(is_pos), np.flatnonzero(~is_pos)])), few_pos

    def fingerprint(self) -> int:
        """Return a hash of all samples and labels that depends neither on their order nor on their location."""
        return int(sum(self._ask(SumFingerprints()))) % 2**64

    def _ask(self, request: Request[LabelledSamples, AnswerT]) -> list[AnswerT]:
        """Return the answers of all workers; where chunks have moved, the scores in use are computed again."""
        for _ in range(_MAX_ATTEMPTS):
            try:
                return self._data.ask(request)
            except UnknownScoresError:
                for key, w in self._weights.items():
                    self._data.ask(StoreScores(key, w))
        raise ConnectionError(
            f"chunks moved between the workers {_MAX_ATTEMPTS} times during one request: look at the logs of the "
            "workers, which are probably restarted again and again"
        )


def _divide(amount: int, sizes: Integers) -> Integers:
    """Divide an amount, which is at most the sum of all sizes, into integers in proportion to the sizes.

    Examples
    --------
    >>> _divide(5, np.array([10, 0, 20]))
    array([2, 0, 3])
    """
    upto = np.round(np.cumsum(sizes) * (amount / sizes.sum())).astype(np.int64)
    parts: Integers = np.diff(upto, prepend=0)
    return parts
