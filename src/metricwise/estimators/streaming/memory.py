"""Samples in memory as a source: shuffled passes, evaluated on held-out samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from metricwise._typing import Floats, Indices, Integers, Mask
from metricwise.decisions.groups import assign_group_folds
from metricwise.decisions.out_of_fold import assign_folds, merge_equal_samples, score_out_of_fold, split_samples
from metricwise.designs import make_design
from metricwise.estimators.streaming.training import BinaryModel, Progress, StreamPlan, run_passes
from metricwise.inference.threshold import evaluate_threshold_for, threshold_for
from metricwise.kernels.random_numbers import shuffle
from metricwise.results import StreamEntry
from metricwise.solvers.stream_data import StreamData
from metricwise.threads import available_threads

_MOST_SAMPLES_FOR_FOLDS = 50_000
_MOST_HELD_OUT = 20_000
_FEWEST_HELD_OUT = 10  # of either class
_FOLLOW_CONTENT = 20_000  # samples up to which copies of a sample are held out together
_SCALED_AHEAD = 8192  # samples that the scale of the features is estimated from before the first pass
_MANY_SAMPLES = 20_000  # from which the first pass is evaluated more than once
_EVALUATIONS_OF_FIRST_PASS = 5
_BITS_OF_PASSES = 24
# The weight of a training sample in the choice of a threshold, relative to a held-out sample: at least the first
# number, and one half if there are as many minority samples per feature as the second.
_LEAST_SHARE = 0.1
_MINORITY_SAMPLES_PER_FEATURE = 50


class MemorySource:
    """One binary problem: the ``samples`` of the data that have weight; those ``held`` out are not learnt from."""

    is_stream = False

    def __init__(self, plan: StreamPlan, data: StreamData, samples: Indices, held: Indices) -> None:
        self.plan, self.data, self.samples, self.held = plan, data, samples, held
        self.learner = plan.learner.adapt_to(samples.size)
        self.train = np.setdiff1d(samples, held, assume_unique=True)

    @property
    def most_offset(self) -> int:
        """The training samples: a pass learns from all of them."""
        return self.train.size

    def start(self) -> Progress:
        """Return the progress before the first pass, with the scale of the features learnt from some samples."""
        state = self.learner.start(self.data.n_features, self.data.is_sparse)
        some = self._draw((self.plan.seed, 1), _SCALED_AHEAD)
        self.learner.prepare(state, *self._gather(some))
        return Progress([state])

    def _draw(self, seed: tuple[int, int], most: int) -> Indices:
        """Return training samples: all of them or, if there are more, ``most`` random ones."""
        if self.train.size <= most:
            return self.train
        return np.sort(np.random.default_rng(seed).choice(self.train, most, replace=False))

    def _gather(self, samples: Indices) -> tuple[StreamData, Indices]:
        """Return data in memory, and which of its samples are the given ones."""
        return self.data, samples

    def learn_pass(self, progress: Progress) -> Iterator[None]:
        """Learn in an order that depends on the seed and the number of the pass alone."""
        order = self.train.copy()
        shuffle(order, np.uint64(seed_of_pass(self.plan.seed, progress.passes)))
        pause = order.size if self.plan.checkpoint is None else self.plan.every
        while progress.offset < order.size:
            stops = [*self._evaluation_points(progress.passes), progress.offset + pause]
            stop = min(stop for stop in stops if stop > progress.offset)
            self.learner.learn(progress.states[0], self.data, order[progress.offset : stop], remember=False)
            progress.offset = stop
            yield

    def _evaluation_points(self, passes: int) -> list[int]:
        """Return after how many samples of a pass the model is evaluated."""
        n_samples = self.train.size
        if passes > 0 or n_samples < _MANY_SAMPLES:
            return [n_samples]
        return [n_samples * part // _EVALUATIONS_OF_FIRST_PASS for part in range(1, _EVALUATIONS_OF_FIRST_PASS + 1)]

    def evaluate(self, progress: Progress) -> StreamEntry | None:
        """Evaluate on held-out samples where that is due; keep the model if it is the best so far."""
        if progress.offset not in self._evaluation_points(progress.passes):
            return None
        state, has_held_out = progress.states[0], self.held.size > 0
        weights, intercept = state.average()
        samples = self.held if has_held_out else self.train
        scores = self.data.scores(samples, weights, intercept)
        found = evaluate_threshold_for(
            self.plan.measure, self.data.positive[samples], scores, self.data.weights[samples]
        )
        progress.improvement = found.value - progress.best_value if has_held_out else np.nan
        if progress.improvement > 0.0 or not has_held_out:
            progress.best_value, progress.best = found.value, BinaryModel(weights, intercept, found.threshold)
        return StreamEntry(
            progress.passes * self.train.size + progress.offset,
            progress.seconds,
            found.value if has_held_out else np.nan,
            self.learner.duals(state),
            progress.seconds_left(self.train.size, self.plan.n_passes),
        )

    def select_models(self, progress: Progress) -> tuple[BinaryModel, ...]:
        """Return the best model with the given threshold, or one chosen on held-out or out-of-fold scores."""
        best = progress.best
        assert best is not None  # every pass ends with an evaluation
        if self.plan.threshold is not None:
            return (replace(best, threshold=self.plan.threshold),)
        threshold = self._held_out_threshold(best) if self.held.size else self._out_of_fold_threshold()
        return (replace(best, lacks_folds=True) if threshold is None else replace(best, threshold=threshold),)

    def _held_out_threshold(self, model: BinaryModel) -> float:
        """Return the threshold on the scores of held-out samples and, with a small weight, of training samples.

        A threshold chosen on few held-out samples alone depends on single samples. Training samples stabilise it:
        measured over many data sets, the threshold comes closer to the best one. The more of them there are per
        feature, the less their scores differ from those of new samples.
        """
        data, some = self.data, self._draw((self.plan.seed, 3), round(self.held.size / _LEAST_SHARE))
        samples = np.concatenate([self.held, some])
        share = np.repeat([1.0, self._share_of_training_samples()], [self.held.size, some.size])
        scores = data.scores(samples, model.weights, model.intercept)
        return threshold_for(self.plan.measure, data.positive[samples], scores, share * data.weights[samples])

    def _share_of_training_samples(self) -> float:
        positives = np.count_nonzero(self.data.positive[self.train])
        rare = min(positives, self.train.size - positives)
        return max(rare / (rare + _MINORITY_SAMPLES_PER_FEATURE * self.data.n_features), _LEAST_SHARE)

    def _out_of_fold_threshold(self) -> float | None:
        """Return the threshold on out-of-fold scores; None if there are too many samples or too few for folds."""
        if self.samples.size > _MOST_SAMPLES_FOR_FOLDS:
            return None
        positive, weights = self.data.positive[self.samples], self.data.weights[self.samples]
        design, groups = make_design(self.data.X).take(self.samples), groups_of(self.plan, self.samples)
        splits = split_samples(None, design, None, positive, self.plan.seed, groups)
        if not splits or any(np.unique(positive[train]).size < 2 for train, _ in splits):
            return None
        out_of_fold = score_out_of_fold(self._score_fold, splits, n_jobs=1)
        scores = np.zeros(self.samples.size)
        scores[out_of_fold.samples] = out_of_fold.scores
        return evaluate_threshold_for(self.plan.measure, positive, scores, weights).threshold

    def _score_fold(self, train: Indices, test: Indices, seen: Indices) -> tuple[Floats, Floats]:
        """Train on some of the samples; return the scores of others, and of samples trained on."""
        fold = self._restrict(self.samples[train])
        best = run_passes(fold, fold.plan, fold.start()).best
        assert best is not None
        scores = [self.data.scores(self.samples[part], best.weights, best.intercept) for part in (test, seen)]
        return scores[0], scores[1]

    def _restrict(self, samples: Indices) -> Self:
        """Return a source of some of the samples, all to be learnt from, that neither reports nor saves."""
        return type(self)(replace(self.plan, report=None, checkpoint=None), self.data, samples, samples[:0])


def make_memory_sources(plan: StreamPlan, X: Any, positives: Sequence[Mask], weights: Floats) -> Iterator[MemorySource]:
    """Yield the source of every binary problem."""
    n_threads = available_threads() if plan.n_jobs in (None, -1) else int(plan.n_jobs or 1)
    for positive in positives:
        samples, merged = select_samples(X, positive, weights)
        data = StreamData(X, positive, merged, n_threads)
        yield MemorySource(plan, data, samples, hold_out(plan, data, samples))


def select_samples(X: Any, positive: Mask, weights: Floats) -> tuple[Indices, Floats]:
    """Return the samples with weight, and the weights of all samples, equal ones merged where that costs nothing."""
    samples, merged = merge_equal_samples(make_design(X), np.flatnonzero(weights > 0.0), positive, weights)
    spread = np.zeros_like(weights)
    spread[samples] = merged
    return samples, spread


def groups_of(plan: StreamPlan, samples: Indices) -> Integers | None:
    """Return the groups of some samples; None if there are none."""
    return None if plan.groups is None else plan.groups[samples]


def hold_out(plan: StreamPlan, data: StreamData, samples: Indices) -> Indices:
    """Return samples to hold out, about the same share of both classes; none if there would be too few of one."""
    n_folds, positive, none = round(1.0 / plan.validation_fraction), data.positive, samples[:0]
    if min(np.count_nonzero(positive[samples] == side) for side in (True, False)) < _FEWEST_HELD_OUT * n_folds:
        return none
    groups = groups_of(plan, samples)
    if groups is not None:
        folds = assign_group_folds(groups, positive[samples], max(n_folds, samples.size // _MOST_HELD_OUT), plan.seed)
        held = none if folds is None else samples[folds == 0]
    elif samples.size <= _FOLLOW_CONTENT:
        folds = assign_folds(make_design(data.X).take(samples), positive[samples], n_folds, plan.seed)
        held = none if folds is None else samples[folds == 0]
    else:
        random = np.random.default_rng((plan.seed, 0))
        share = min(plan.validation_fraction, _MOST_HELD_OUT / samples.size)
        parts = [samples[positive[samples] == side] for side in (True, False)]
        counts = [max(int(share * part.size), _FEWEST_HELD_OUT) for part in parts]
        held = np.concatenate([random.choice(part, count, False) for part, count in zip(parts, counts, strict=True)])
    found = min(np.count_nonzero(positive[held] == side) for side in (True, False))
    return np.sort(held) if found >= _FEWEST_HELD_OUT else none


def seed_of_pass(seed: int, number: int) -> int:
    """Return the seed of the order of the samples in a pass."""
    return (seed << _BITS_OF_PASSES) + number
