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

from metricwise._typing import Floats, Indices, Integers, Mask
from metricwise.decisions.threshold_choice import draw_weights
from metricwise.inference.threshold import Candidates
from metricwise.measures.averages import matrix_table

TablesValue = Callable[[Floats, Floats, Floats, Floats], Any]

_SWEEPS = 20
_SWEEPS_OF_RESAMPLES = 2  # they start close to where they end
_MOST_STEPS = 400  # offsets of a class that are evaluated at first; then those around the best of them
_GAIN = 1e-12
_RESAMPLES = 10
_MOST_EXPECTED = 5000  # samples from whose probabilities tables are expected
_NEGLIGIBLE = 1e-3  # probability of a class
_ROUNDED_BITS = 33  # of a large score, by which scores are compared: about ten digits
_LARGE = 0.9  # the share of the distinct scores of a class that are no larger; the largest may be an outlier


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
    return _find_best(value, _KnownClasses.of_labels(codes, scores, weight))


def _find_best(value: TablesValue, samples: _KnownClasses) -> ClassOffsets:
    found = [_ascend(value, samples, offsets, _SWEEPS) for offsets in _starts(value, samples)]
    # Of ends that are equally good up to rounding errors, the first.
    least = max(end.value for end in found) - _GAIN
    return next((end for end in found if end.value >= least), found[0])


def bagged_offsets(
    value: TablesValue, codes: Integers, scores: Floats, weights: Floats | None = None, seed: int = 0
) -> BaggedOffsets:
    """Return the mean of the best offsets of resamples of the samples, less noisy than those of the samples themselves.

    Each ascent starts from the offsets that are best for all samples, and the mean's own measure is returned with it.
    """
    weight = np.ones(len(codes)) if weights is None else weights
    first, weight = _merge_equal(scores, weight, codes)
    codes, scores = codes[first], scores[first]
    whole = best_offsets(value, codes, scores, weight)
    random = np.random.default_rng(seed)
    drawn = [
        ascend_offsets(value, codes, scores, draw_weights(weight, random), whole.offsets, _SWEEPS_OF_RESAMPLES).offsets
        for _ in range(_RESAMPLES)
    ]
    offsets: Floats = np.mean(drawn, axis=0)
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    return BaggedOffsets(offsets, (low, high), value_of(value, codes, scores, weight, offsets))


def expected_offsets(
    value: TablesValue,
    scores: Floats,
    weights: Floats,
    seed: int = 0,
    calibration: Callable[[Floats], Floats] | None = None,
) -> Floats:
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
    calibration : callable, optional
        Makes log-probabilities of scores that are none, or inaccurate ones.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import Averaged, FBeta
    >>> scores = np.log([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.8, 0.2]])
    >>> offsets = expected_offsets(Averaged(FBeta()).of_tables, scores, np.ones(4))
    >>> np.argmax(scores - offsets, axis=1)
    array([0, 1, 0, 0])
    """
    first, weights = _merge_equal(scores, weights)
    scores = scores[first]
    if len(scores) > _MOST_EXPECTED:
        drawn = np.random.default_rng(seed).choice(len(scores), _MOST_EXPECTED, replace=False)
        scores, weights = scores[drawn], weights[drawn]
    chances = softmax(scores if calibration is None else calibration(scores), axis=1).T
    samples = _KnownClasses.of(scores, np.where(chances > _NEGLIGIBLE, chances, 0.0) * weights)
    return _find_best(value, samples).offsets


def _merge_equal(scores: Floats, weights: Floats, codes: Integers | None = None) -> tuple[Indices, Floats]:
    """Return the first of equal samples, of one class if codes are given, and the weights of all that equal it.

    A sample of weight two and the same sample twice then give the same numbers. Rounding errors, which depend on the
    order of the samples in memory, make no difference.
    """
    typical = _quantile_of_sizes(scores, 0.5)
    # A class may have much larger scores than the others, such as those of a mask.
    large = np.array([max(_quantile_of_sizes(column, _LARGE), typical, 1e-300) for column in scores.T])
    with np.errstate(over="ignore"):
        rounded = np.round(scores / np.ldexp(1.0, np.frexp(large)[1] - _ROUNDED_BITS))
    columns = [rounded] if codes is None else [codes, rounded]
    _, first, which = np.unique(np.column_stack(columns), axis=0, return_index=True, return_inverse=True)
    return first, np.bincount(which.ravel(), weights).astype(np.float64)


def _quantile_of_sizes(scores: Floats, share: float) -> float:
    """Return a quantile of the distinct sizes of finite scores, which copies of samples do not change."""
    sizes = np.unique(np.abs(scores[np.isfinite(scores)]))
    return float(np.quantile(sizes, share)) if sizes.size else 0.0


def value_of(value: TablesValue, codes: Integers, scores: Floats, weights: Floats, offsets: Floats) -> float:
    """Return the measure of the classes predicted with given offsets."""
    table = tables_of(codes, np.argmax(scores - offsets, axis=1), weights, scores.shape[1])
    return float(value(table.tp, table.fp, table.fn, table.tn))


def tables_of(codes: Integers, found: Integers, weights: Floats, size: int) -> Any:
    """Return the weighted one-vs-rest table of each class, given true and predicted classes."""
    classes = np.arange(size)
    return matrix_table(codes[:, None] == classes, found[:, None] == classes, weights)


def _starts(value: TablesValue, samples: _KnownClasses) -> list[Floats]:
    n_classes, total = len(samples.scores), samples.true.sum()
    balanced = np.log(np.maximum(samples.true / total, 1.0 / (total + 1.0)))
    leaders = samples.rank(np.zeros(n_classes))
    single = [_threshold_vs_rest(value, samples, leaders, k) for k in range(n_classes)]
    return [np.zeros(n_classes), balanced - balanced.mean(), np.array(single) - np.mean(single)]


def _threshold_vs_rest(value: TablesValue, samples: _KnownClasses, leaders: _Leaders, k: int) -> float:
    """Return the best threshold on the lead of a class over the rest."""
    lead = samples.scores[k] - leaders.without(k)[1]
    order = np.argsort(-lead)
    own, weights = samples.masses[k][order], samples.weights[order]
    candidates = Candidates.of_descending(lead[order], own, weights - own)
    tp, fp, fn, tn = candidates.tables()
    both = (np.stack(pair, axis=-1) for pair in ((tp, tn), (fp, fn), (fn, fp), (tn, tp)))
    return float(candidates.thresholds(candidates.best(np.asarray(value(*both), dtype=np.float64))))


def ascend_offsets(
    value: TablesValue, codes: Integers, scores: Floats, weights: Floats, offsets: Floats, sweeps: int
) -> ClassOffsets:
    """Return offsets that are changed one at a time as long as that improves the measure, for so many sweeps."""
    return _ascend(value, _KnownClasses.of_labels(codes, scores, weights), offsets, sweeps)


class _KnownClasses(NamedTuple):
    """Samples, of each of which a part counts as of each class.

    Attributes
    ----------
    scores, masses : arrays of shape (classes, samples)
        Scores, and the weight that counts as of each class.
    weights : array of shape (samples,)
        Sums of the masses over the classes.
    true : array of shape (classes,)
        Sums of the masses over the samples.
    """

    scores: Floats
    masses: Floats
    weights: Floats
    true: Floats

    @classmethod
    def of(cls, scores: Floats, masses: Floats) -> _KnownClasses:
        """Return samples with one column of scores per class, and masses with one row per class."""
        return cls(np.ascontiguousarray(scores.T), masses, masses.sum(axis=0), masses.sum(axis=1))

    @classmethod
    def of_labels(cls, codes: Integers, scores: Floats, weights: Floats) -> _KnownClasses:
        """Return samples of known classes."""
        return cls.of(scores, np.where(codes == np.arange(scores.shape[1])[:, None], weights, 0.0))

    def tally(self, predicted: Integers) -> _Counts:
        """Return the weights of the samples that are predicted as each class, in all and rightly."""
        n_classes = len(self.scores)
        right = self.masses[predicted, np.arange(predicted.size)]
        both = [np.bincount(predicted, part, n_classes).astype(np.float64) for part in (self.weights, right)]
        return _Counts(*both)

    def evaluate(self, value: TablesValue, counts: _Counts) -> Any:
        """Return the measure of counts."""
        fp, fn = counts.predicted - counts.right, self.true - counts.right
        return value(counts.right, fp, fn, self.true.sum() - counts.predicted - fn)

    def rank(self, offsets: Floats) -> _Leaders:
        """Return the best and the second class of every sample."""
        shifted, samples = self.scores - offsets[:, None], np.arange(self.weights.size)
        first = np.argmax(shifted, axis=0)
        best = shifted[first, samples]
        shifted[first, samples] = -np.inf
        second = np.argmax(shifted, axis=0)
        return _Leaders(first, second, best, shifted[second, samples])


class _Counts(NamedTuple):
    """Weights of the samples that are predicted as the classes of the last axis, in all and rightly."""

    predicted: Floats
    right: Floats


class _Leaders(NamedTuple):
    """The best and the second class of samples, with their scores."""

    first: Integers
    second: Integers
    best: Floats
    next_best: Floats

    def without(self, k: int) -> tuple[Integers, Floats]:
        """Return the best of the classes other than one, and its score."""
        leads = self.first == k
        return np.where(leads, self.second, self.first), np.where(leads, self.next_best, self.best)


def _ascend(value: TablesValue, samples: _KnownClasses, offsets: Floats, sweeps: int) -> ClassOffsets:
    offsets = offsets.astype(np.float64, copy=True)
    leaders = samples.rank(offsets)
    reached = float(samples.evaluate(value, samples.tally(leaders.first)))
    unchanged = 0  # classes in a row, all of them at the end
    for step in range(sweeps * offsets.size):
        k = step % offsets.size
        offset, gained = _best_offset(value, samples, leaders, k)
        unchanged += 1
        if gained > reached + _GAIN:
            offsets[k], reached, unchanged = offset, gained, 1  # nothing is left to gain by the same offset
            leaders = samples.rank(offsets)
        if unchanged == offsets.size:
            break
    return ClassOffsets(offsets - offsets.mean(), reached)


def _best_offset(value: TablesValue, samples: _KnownClasses, leaders: _Leaders, k: int) -> tuple[float, float]:
    """Return the best offset of one class given the others, and the measure it gives."""
    rival, best_of_rest = leaders.without(k)
    lead = samples.scores[k] - best_of_rest
    order = np.argsort(-lead)  # only ends of samples with equal leads are compared: their order does not matter
    candidates = Candidates.of_descending(lead[order], np.ones(lead.size), np.zeros(lead.size))
    moved = np.append(0, np.cumsum(candidates.positives)).astype(np.int64)
    queue = _Queue.of(samples, rival, order, k)
    values, is_known = np.full(moved.size, -np.inf), np.zeros(moved.size, dtype=bool)
    n_steps = min(moved.size, _MOST_STEPS)
    steps = np.arange(n_steps) * (moved.size - 1) // (n_steps - 1)
    while steps.size:
        values[steps], is_known[steps] = samples.evaluate(value, queue.move(moved[steps])), True
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


class _Queue(NamedTuple):
    """Samples in the order in which they are predicted as a class instead of as their rivals.

    Attributes
    ----------
    k, n_classes : int
        The class, and the number of classes.
    rival : array of int of shape (samples,)
        The class that is predicted else.
    weights, right, lost : arrays of shape (samples,)
        Weights of the samples, in all, as of the class, and as of the rival.
    """

    k: int
    n_classes: int
    rival: Integers
    weights: Floats
    right: Floats
    lost: Floats

    @classmethod
    def of(cls, samples: _KnownClasses, rival: Integers, order: Integers, k: int) -> _Queue:
        """Return samples in an order."""
        rival = rival[order]
        right, lost = samples.masses[k][order], samples.masses[rival, order]
        return cls(k, len(samples.scores), rival, samples.weights[order], right, lost)

    def move(self, moved: Integers) -> _Counts:
        """Return the counts when so many of the samples, ascending numbers, are predicted as the class."""
        bounds = np.concatenate([[0], moved, [self.rival.size]])
        step = np.repeat(np.arange(moved.size + 1), np.diff(bounds))  # from which on a sample has class k
        rival = step * self.n_classes + self.rival
        gone, predicted = self._sum_steps(rival, self.weights, self.n_classes, moved.size)
        _, right = self._sum_steps(rival, self.lost, self.n_classes, moved.size)
        predicted[:, self.k] = gone.sum(axis=1)
        right[:, self.k] = self._sum_steps(step, self.right, 1, moved.size)[0][:, 0]
        return _Counts(predicted, right)

    def _sum_steps(self, cells: Integers, weights: Floats, n_columns: int, n_steps: int) -> tuple[Floats, Floats]:
        """Return sums up to every step and from there on; where no sample is left, these are exactly zero."""
        sums = np.bincount(cells, weights, (n_steps + 1) * n_columns).reshape(n_steps + 1, n_columns)
        cumulative: Floats = np.cumsum(sums, axis=0, dtype=np.float64)
        return cumulative[:-1], cumulative[-1] - cumulative[:-1]
