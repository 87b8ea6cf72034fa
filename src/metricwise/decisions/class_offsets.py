"""One offset per class: a sample gets the class whose score exceeds its offset by most.

The measure is maximised one offset at a time. With the others fixed, lowering the offset of a class adds samples to it
one by one, each from its runner-up; cumulative sums give the measure after every sample, so each step is exact. Of many
samples, it is computed after evenly spaced ones first, and then after all around the best of these. The measure never
falls, and the ascent ends where no single offset can raise it. That depends on where it starts: at equal offsets, at
offsets that balance the classes, and at the best thresholds of each class vs the rest; the best end counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from metricwise._typing import Floats, Integers, Mask
from metricwise.decisions.threshold_choice import draw_weights
from metricwise.inference.threshold import Candidates, are_distinct
from metricwise.measures.averages import matrix_table

TablesValue = Callable[[Floats, Floats, Floats, Floats], Any]

_SWEEPS = 20
_SWEEPS_OF_RESAMPLES = 2  # they start close to where they end
_MOST_STEPS = 400  # offsets of a class that are evaluated at first; then those around the best of them
_GAIN = 1e-12
_RESAMPLES = 10
_MOST_EXPECTED = 5000  # samples from whose probabilities tables are expected
_NEGLIGIBLE = 1e-3  # probability of a class


class ClassOffsets(NamedTuple):
    """Offsets of the classes, their mean zero, and the measure they give."""

    offsets: Floats
    value: float


class BaggedOffsets(NamedTuple):
    """Offsets averaged over resamples, the ends of the interval that holds 90 % of them, and the measure."""

    offsets: Floats
    interval: tuple[Floats, Floats]
    value: float


def best_offsets(value: TablesValue, codes: Integers, scores: Floats, weights: Floats | None = None) -> ClassOffsets:
    """Return offsets of the scores that no change of a single offset improves.

    Parameters
    ----------
    value : callable
        The measure of tables tp, fp, fn, tn whose last axis runs over the classes.
    codes : int array of shape (samples,)
        The true classes, numbered from 0.
    scores : array of shape (samples, classes)
        Log-probabilities or other scores; greater means more probable.
    weights : array, optional
        Weights of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import Averaged, FBeta
    >>> scores = np.log([[0.9, 0.05, 0.05], [0.6, 0.3, 0.1], [0.7, 0.1, 0.2], [0.8, 0.1, 0.1]])
    >>> found = best_offsets(Averaged(FBeta()).of_tables, np.array([0, 1, 2, 0]), scores)
    >>> found.value
    1.0
    >>> np.argmax(scores - found.offsets, axis=1)
    array([0, 1, 2, 0])
    """
    weight = np.ones(len(codes)) if weights is None else weights
    starts = _starts(codes, scores, weight, value)
    found = [ascend_offsets(value, codes, scores, weight, offsets, _SWEEPS) for offsets in starts]
    return max(found, key=lambda end: end.value)


def bagged_offsets(
    value: TablesValue, codes: Integers, scores: Floats, weights: Floats | None = None, seed: int = 0
) -> BaggedOffsets:
    """Return the mean of the best offsets of resamples of the samples, less noisy than those of the samples themselves.

    Each ascent starts from the offsets that are best for all samples, and the mean's own measure is returned with it.
    """
    weight = np.ones(len(codes)) if weights is None else weights
    # Equal samples are drawn as one, so that a sample of weight two and the same sample twice give the same numbers.
    distinct, which = np.unique(np.column_stack([codes, scores]), axis=0, return_inverse=True)
    codes, scores = distinct[:, 0].astype(np.int64), distinct[:, 1:]
    weight = np.bincount(which.ravel(), weight).astype(np.float64)
    whole = best_offsets(value, codes, scores, weight)
    random = np.random.default_rng(seed)
    drawn = [
        ascend_offsets(value, codes, scores, draw_weights(weight, random), whole.offsets, _SWEEPS_OF_RESAMPLES).offsets
        for _ in range(_RESAMPLES)
    ]
    offsets: Floats = np.mean(drawn, axis=0)
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    return BaggedOffsets(offsets, (low, high), value_of(value, codes, scores, weight, offsets))


def expected_offsets(value: TablesValue, scores: Floats, weights: Floats, seed: int = 0) -> Floats:
    """Return the offsets that maximise the measure of the tables which the probabilities of the classes expect.

    A sample counts for every class by its probability, so that a class with few samples is judged by all that resemble
    it. Of many samples, some are drawn.

    Parameters
    ----------
    value : callable
        The measure of tables tp, fp, fn, tn whose last axis runs over the classes.
    scores : array of shape (samples, classes)
        Log-probabilities, up to a constant for each sample.
    weights : array of shape (samples,)
        Weights of the samples.
    seed : int
        Seeds the draw.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import Averaged, FBeta
    >>> scores = np.log([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.8, 0.2]])
    >>> offsets = expected_offsets(Averaged(FBeta()).of_tables, scores, np.ones(4))
    >>> np.argmax(scores - offsets, axis=1)
    array([0, 1, 0, 0])
    """
    # Equal samples count as one, so that a sample of weight two and the same sample twice give the same numbers.
    scores, which = np.unique(scores, axis=0, return_inverse=True)
    weights = np.bincount(which.ravel(), weights).astype(np.float64)
    if len(scores) > _MOST_EXPECTED:
        drawn = np.random.default_rng(seed).choice(len(scores), _MOST_EXPECTED, replace=False)
        scores, weights = scores[drawn], weights[drawn]
    shares = softmax(scores, axis=1) * weights[:, None]
    samples, codes = np.nonzero(shares > _NEGLIGIBLE * weights[:, None])
    return best_offsets(value, codes, scores[samples], shares[samples, codes]).offsets


def value_of(value: TablesValue, codes: Integers, scores: Floats, weights: Floats, offsets: Floats) -> float:
    """Return the measure of the classes predicted with given offsets."""
    table = tables_of(codes, np.argmax(scores - offsets, axis=1), weights, scores.shape[1])
    return float(value(table.tp, table.fp, table.fn, table.tn))


def tables_of(codes: Integers, found: Integers, weights: Floats, size: int) -> Any:
    """Return the weighted one-vs-rest table of each class, given true and predicted classes."""
    classes = np.arange(size)
    return matrix_table(codes[:, None] == classes, found[:, None] == classes, weights)


def _starts(codes: Integers, scores: Floats, weights: Floats, value: TablesValue) -> list[Floats]:
    classes = np.arange(scores.shape[1])
    shares = np.bincount(codes, weights, classes.size) / weights.sum()
    balanced = np.log(np.maximum(shares, 1.0 / (weights.sum() + 1.0)))
    single = [_threshold_vs_rest(value, codes == k, scores, weights, k) for k in range(classes.size)]
    return [np.zeros(classes.size), balanced - balanced.mean(), np.array(single) - np.mean(single)]


def _threshold_vs_rest(value: TablesValue, positive: Any, scores: Floats, weights: Floats, k: int) -> float:
    """Return the best threshold on the lead of a class over the rest."""
    lead = scores[:, k] - np.max(np.delete(scores, k, axis=1), axis=1)
    candidates = Candidates.of(positive, lead, weights)
    tp, fp, fn, tn = candidates.tables()
    both = (np.stack(pair, axis=-1) for pair in ((tp, tn), (fp, fn), (fn, fp), (tn, tp)))
    return float(candidates.thresholds(candidates.best(np.asarray(value(*both), dtype=np.float64))))


def ascend_offsets(
    value: TablesValue, codes: Integers, scores: Floats, weights: Floats, offsets: Floats, sweeps: int
) -> ClassOffsets:
    """Return offsets that are changed one at a time as long as that improves the measure, for so many sweeps."""
    offsets = offsets.astype(np.float64, copy=True)
    reached = value_of(value, codes, scores, weights, offsets)
    for _ in range(sweeps):
        before = reached
        for k in range(scores.shape[1]):
            offset, gained = _best_offset(value, codes, scores, weights, offsets, k)
            if gained > reached + _GAIN:
                offsets[k], reached = offset, gained
        if reached <= before + _GAIN:
            break
    return ClassOffsets(offsets - offsets.mean(), reached)


def _best_offset(
    value: TablesValue, codes: Integers, scores: Floats, weights: Floats, offsets: Floats, k: int
) -> tuple[float, float]:
    """Return the best offset of one class given the others, and the measure it gives."""
    shifted = scores - offsets
    shifted[:, k] = -np.inf
    rival = np.argmax(shifted, axis=1)
    lead = scores[:, k] - shifted[np.arange(len(codes)), rival]
    order = np.argsort(-lead, kind="stable")
    ends = np.flatnonzero(np.append(are_distinct(lead[order]), True))  # the last sample of each lead
    candidates = Candidates.of(np.ones(len(codes), dtype=bool), lead)
    moved, values = np.append(0, ends + 1), np.full(ends.size + 1, -np.inf)
    is_known = np.zeros(values.size, dtype=bool)
    steps = np.unique(np.linspace(0, ends.size, _MOST_STEPS).astype(np.int64))
    while steps.size:
        tables = _tables_along(codes[order], rival[order], weights[order], k, scores.shape[1], moved[steps])
        values[steps], is_known[steps] = value(*tables), True
        steps = _unknown_neighbours(int(np.argmax(values)), is_known)
    best = candidates.best(values)
    return float(candidates.thresholds(best)), float(values[best])


def _unknown_neighbours(best: int, is_known: Mask) -> Integers:
    """Return the steps between the best of the known ones and the next known on either side."""
    known = np.flatnonzero(is_known)
    at = int(np.searchsorted(known, best))
    around = np.arange(known[max(at - 1, 0)], known[min(at + 1, known.size - 1)] + 1)
    unknown: Integers = around[~is_known[around]]
    return unknown


def _tables_along(
    codes: Integers, rival: Integers, weights: Floats, k: int, size: int, moved: Integers
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the tables of all classes when the first of the samples have class k, and the others that of their rival.

    Parameters
    ----------
    codes, rival : arrays of int of shape (n_samples,)
        The true class, and the class that is predicted unless k is.
    weights : array of shape (n_samples,)
        Weights of the samples.
    k, size : int
        The class, and the number of classes.
    moved : array of int
        Ascending numbers of samples that have class k, one for each table.
    """
    step = np.searchsorted(moved, np.arange(codes.size), side="right")  # from which on a sample has class k

    def sum_steps(columns: Integers, weights: Floats, n_columns: int) -> Floats:
        sums = np.bincount(step * n_columns + columns, weights, (moved.size + 1) * n_columns)
        return np.asarray(sums, dtype=np.float64).reshape(moved.size + 1, n_columns)

    lost, right = sum_steps(rival, weights, size), sum_steps(rival, weights * (codes == rival), size)
    gone = np.cumsum(lost, axis=0)[:-1]
    predicted = lost.sum(axis=0) - gone
    tp = right.sum(axis=0) - np.cumsum(right, axis=0)[:-1]
    predicted[:, k] = gone.sum(axis=1)
    tp[:, k] = np.cumsum(sum_steps(np.zeros_like(codes), weights * (codes == k), 1)[:-1, 0])
    true = np.bincount(codes, weights, size)
    fp, fn = predicted - tp, true - tp
    return tp, fp, fn, weights.sum() - tp - fp - fn
