"""Passes over samples in memory: shuffled, with samples held out, until the measure on these stops improving."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Self

import numpy as np

from metricwise._typing import Floats, Indices, Mask
from metricwise.decisions.folds import assign_folds
from metricwise.designs import make_design
from metricwise.inference import best_threshold, threshold_for
from metricwise.kernels.random_numbers import shuffle
from metricwise.measures import CountsTable, Measure, RestrictsLabellings
from metricwise.results import Status, StreamEntry
from metricwise.solvers.point_updates import StreamLearner
from metricwise.solvers.saved import Arrays, join_parts, pack_fields, split_parts, unpack_fields
from metricwise.solvers.stream_data import StreamData
from metricwise.solvers.stream_state import StreamState

_MOST_HELD_OUT = 20_000
_FEWEST_HELD_OUT = 10  # of either class
_FOLLOW_CONTENT = 20_000  # samples up to which copies of a sample are held out together
_SCALED_AHEAD = 8192  # samples whose scale is learnt ahead
_MANY_ROWS = 20_000  # from which the first pass is evaluated more than once
_EVALUATIONS_OF_FIRST_PASS = 5
_BITS_OF_PASSES = 24
_FOLDS = 5
# The weight of a training sample in the choice of a threshold, beside samples held out: at least so much, and half of
# theirs if there are so many samples of the rare class for every feature.
_LEAST_SHARE = 0.1
_RARE_ROWS_A_FEATURE = 50


class Evaluation(NamedTuple):
    """A threshold, and the measure it gives."""

    threshold: float
    value: float


def evaluate(measure: Measure, truth: Mask, scores: Floats, weights: Floats) -> Evaluation:
    """Choose the threshold for a measure on given scores, and say what the measure is then."""
    if isinstance(measure, CountsTable) and not isinstance(measure, RestrictsLabellings):
        return Evaluation(*best_threshold(measure, truth, scores, weights))
    threshold = threshold_for(measure, truth, scores, weights)
    response = scores if measure.response == "scores" else scores > threshold
    return Evaluation(threshold, float(measure.score(truth, response, weights)))


@dataclass(frozen=True)
class Passes:
    """When to stop."""

    n_passes: int
    tol: float
    patience: int
    validation_fraction: float
    max_seconds: float | None
    seed: int


@dataclass
class Progress:
    """How far a binary training has come; with its state, all that a checkpoint has to hold."""

    state: StreamState
    passes: int = 0
    offset: int = 0
    seconds: float = 0.0
    stale: int = 0
    best_value: float = -np.inf
    best_bias: float = 0.0
    best_threshold: float = 0.0
    best_weights: Floats = field(default_factory=lambda: np.zeros(0))
    status: str = ""
    entries: list[StreamEntry] = field(default_factory=list)

    def to_arrays(self) -> Arrays:
        """Return all there is, for a file."""
        own = pack_fields(self, (item.name for item in fields(self)[1:-1])) | {"entries": pack_history(self.entries)}
        return join_parts({"own": own, "state": self.state.to_arrays()})

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Undo `to_arrays`."""
        parts = split_parts(arrays)
        own = unpack_fields(parts["own"], (item.name for item in fields(cls)[1:-1]))
        state = StreamState.from_arrays(parts["state"])
        return cls(state, **own, entries=unpack_history(parts["own"]["entries"]))


def pack_history(entries: list[StreamEntry]) -> Floats:
    """Return a history as an array."""
    return np.asarray([(entry.n_samples, entry.seconds, entry.measure, *entry.duals) for entry in entries])


def unpack_history(history: Floats) -> list[StreamEntry]:
    """Return what `pack_history` was given, without the time that was left."""
    return [
        StreamEntry(int(n_samples), seconds, value, tuple(duals))
        for n_samples, seconds, value, *duals in history.tolist()
    ]


class Pauses(NamedTuple):
    """Every so many samples, training pauses and says how far it has come."""

    every: int
    save: Callable[[Progress], None]


def seed_of_pass(seed: int, number: int) -> int:
    """Return what seeds the order of the samples in a pass."""
    return (seed << _BITS_OF_PASSES) + number


def held_out_rows(data: StreamData, rows: Indices, fraction: float, seed: int) -> Indices:
    """Return samples to hold out, of both classes alike; none if there would be too few of one."""
    n_folds = round(1.0 / fraction)
    smallest = min(np.count_nonzero(data.positive[rows] == side) for side in (True, False))
    if smallest < _FEWEST_HELD_OUT * n_folds:
        return rows[:0]
    if rows.size <= _FOLLOW_CONTENT:
        folds = assign_folds(make_design(data.X).take(rows), data.positive[rows], n_folds, seed)
        held = rows[:0] if folds is None else rows[folds == 0]
    else:
        random = np.random.default_rng((seed, 0))
        share = min(fraction, _MOST_HELD_OUT / rows.size)
        parts = [rows[data.positive[rows] == side] for side in (True, False)]
        counts = [max(int(share * part.size), _FEWEST_HELD_OUT) for part in parts]
        held = np.concatenate([random.choice(part, count, False) for part, count in zip(parts, counts, strict=True)])
    found = min(np.count_nonzero(data.positive[held] == side) for side in (True, False))
    return np.sort(held) if found >= _FEWEST_HELD_OUT else rows[:0]


class BinaryFitting:
    """The passes of one binary problem."""

    def __init__(
        self, learner: StreamLearner, measure: Measure, data: StreamData, rows: Indices, passes: Passes, held: Indices
    ) -> None:
        self.learner, self.measure, self.data, self.passes, self.held = learner, measure, data, passes, held
        self.train = np.setdiff1d(rows, held, assume_unique=True)

    def start(self) -> Progress:
        """Return the progress before the first pass."""
        state = self.learner.start(self.data.n_features, self.data.is_sparse)
        random = np.random.default_rng((self.passes.seed, 1))
        few = self.train
        if few.size > _SCALED_AHEAD:
            few = np.sort(random.choice(few, _SCALED_AHEAD, replace=False))
        self.learner.prepare(state, *self._few_rows(few))
        return Progress(state)

    def _few_rows(self, rows: Indices) -> tuple[StreamData, Indices]:
        """Return samples in memory, and which of them are the given ones."""
        return self.data, rows

    def run(
        self, progress: Progress, pauses: Pauses | None = None, tell: Callable[[StreamEntry], Any] | None = None
    ) -> Progress:
        """Make the passes that are left."""
        started = time.perf_counter() - progress.seconds
        while not progress.status:
            current = progress.passes
            order = self._order(current)
            while progress.passes == current and not progress.status:
                stop = self._next_stop(progress, pauses)
                self._learn(progress, order[progress.offset : stop])
                progress.offset = stop
                progress.seconds = time.perf_counter() - started
                self._after_part(progress, tell)
                if pauses is not None:
                    pauses.save(progress)
        return progress

    def _learn(self, progress: Progress, rows: Indices) -> None:
        self.learner.learn(progress.state, self.data, rows, remember=False)

    def _order(self, number: int) -> Indices:
        """Return the samples in the order of a pass, which depends on the seed and the number of the pass alone."""
        order = self.train.copy()
        shuffle(order, np.uint64(seed_of_pass(self.passes.seed, number)))
        return order

    def _next_stop(self, progress: Progress, pauses: Pauses | None) -> int:
        """Return where in this pass to stop next: to evaluate, or to pause."""
        stops = self._evaluations(progress.passes)
        if pauses is not None:
            stops = [*stops, progress.offset + pauses.every]
        return int(min(stop for stop in stops if stop > progress.offset))

    def _evaluations(self, passes: int) -> list[int]:
        n_samples = self.train.size
        if passes > 0 or n_samples < _MANY_ROWS:
            return [n_samples]
        return [n_samples * part // _EVALUATIONS_OF_FIRST_PASS for part in range(1, _EVALUATIONS_OF_FIRST_PASS + 1)]

    def _after_part(self, progress: Progress, tell: Callable[[StreamEntry], Any] | None) -> None:
        if progress.offset not in self._evaluations(progress.passes):
            return
        improved = self._evaluate(progress)
        if progress.offset == self.train.size:
            progress.passes, progress.offset = progress.passes + 1, 0
            progress.stale = 0 if improved else progress.stale + 1
            progress.status = self._reason_to_stop(progress)
        entry = self._entry(progress)
        progress.entries.append(entry)
        if tell is not None and tell(entry):
            progress.status = Status.STOPPED.value

    def _evaluate(self, progress: Progress) -> bool:
        """Keep the model if it is the best so far; say whether it is noticeably better."""
        weights, bias = progress.state.average()
        rows = self.held if self.held.size else self.train
        scores = self.data.scores(rows, weights, bias)
        found = evaluate(self.measure, self.data.positive[rows], scores, self.data.weights[rows])
        self._value = found.value if self.held.size else np.nan
        better = found.value - progress.best_value
        if better > 0.0 or not self.held.size:
            progress.best_value, progress.best_threshold = found.value, found.threshold
            progress.best_weights, progress.best_bias = weights, bias
        return better > self.passes.tol or not self.held.size

    def final_threshold(self, progress: Progress) -> float:
        """Return the threshold of the best model.

        Samples held out are few, and a threshold chosen on them alone depends on single samples. Training samples, with
        a small weight, steady it: measured over data sets of all kinds, that came nearer to the best threshold. The
        more of them there are for every feature, the less their scores differ from those of new samples.
        """
        random = np.random.default_rng((self.passes.seed, 3))
        most = round(self.held.size / _LEAST_SHARE)
        some = self.train if self.train.size <= most else np.sort(random.choice(self.train, most, replace=False))
        rows = np.concatenate([self.held, some])
        share = np.repeat([1.0, self._share_of_training_rows()], [self.held.size, some.size])
        scores = self.data.scores(rows, progress.best_weights, progress.best_bias)
        return threshold_for(self.measure, self.data.positive[rows], scores, share * self.data.weights[rows])

    def _share_of_training_rows(self) -> float:
        positives = np.count_nonzero(self.data.positive[self.train])
        rare = min(positives, self.train.size - positives)
        return max(rare / (rare + _RARE_ROWS_A_FEATURE * self.data.n_features), _LEAST_SHARE)

    def _seen(self, progress: Progress) -> int:
        return progress.state.position

    def _entry(self, progress: Progress) -> StreamEntry:
        seen = self._seen(progress)
        wanted = self.passes.n_passes * self.train.size
        left = progress.seconds * max(wanted - seen, 0) / seen
        return StreamEntry(seen, progress.seconds, self._value, self.learner.duals(progress.state), left)

    def _reason_to_stop(self, progress: Progress) -> str:
        seconds = self.passes.max_seconds
        if progress.stale >= self.passes.patience:
            return Status.SETTLED.value
        if progress.passes >= self.passes.n_passes:
            return Status.MAX_ITER.value
        return Status.MAX_SECONDS.value if seconds is not None and progress.seconds > seconds else ""


def out_of_fold_threshold(
    make_fitting: Callable[[Indices], BinaryFitting], measure: Measure, data: StreamData, rows: Indices, seed: int
) -> float | None:
    """Return the threshold on out-of-fold scores, where too few samples can be held out; None if it fails."""
    folds = assign_folds(make_design(data.X).take(rows), data.positive[rows], _FOLDS, seed)
    if folds is None:
        return None
    scores = np.zeros(rows.size)
    for fold in range(int(folds.max()) + 1):
        train, test = rows[folds != fold], folds == fold
        if np.unique(data.positive[train]).size < 2:
            return None
        fitting = make_fitting(train)
        progress = fitting.run(fitting.start())
        scores[test] = data.scores(rows[test], progress.best_weights, progress.best_bias)
    return evaluate(measure, data.positive[rows], scores, data.weights[rows]).threshold
