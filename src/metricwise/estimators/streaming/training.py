"""Train on a source of samples: make passes, evaluate, save, and stop when the measure no longer improves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Protocol, Self

import numpy as np

from metricwise._state import HasStoredForm, stored_fields
from metricwise._typing import Floats, Integers, Labels
from metricwise.estimators.checkpoints import Checkpoint
from metricwise.inference.threshold import BestThreshold, evaluate_threshold_for
from metricwise.measures import Measure
from metricwise.progress import Stage, add_stage
from metricwise.results import Status, StreamEntry
from metricwise.solvers.point_updates import StreamLearner
from metricwise.solvers.saved import COUNT, Arrays, join_parts, pack_fields, split_parts, unpack_fields
from metricwise.solvers.schema import MOST, ArrayField, Schema, check_arrays, require_state
from metricwise.solvers.stream_state import StreamState

_BEST: Schema = {
    "weights": ArrayField("float", ("features",)),
    "intercept": ArrayField("float"),
    "threshold": ArrayField("float", may_be_infinite=True),
}
_NUMBER = ArrayField("float", may_be_infinite=True, may_be_nan=True)
_NUMBERS: Schema = {
    "passes": COUNT,
    "chunk": COUNT,
    "offset": COUNT,
    "seconds": ArrayField("float", low=0.0),
    "stale": COUNT,
    "best_value": _NUMBER,
    "improvement": _NUMBER,
    "n_elsewhere": COUNT,
    "status": ArrayField("text", options=("", *(status.value for status in Status))),
}
_ENTRY_NUMBERS = ArrayField("float", ("entries",), may_be_infinite=True, may_be_nan=True)
_ENTRIES: Schema = {
    "entry_samples": ArrayField("count", ("entries",), low=0, high=MOST, is_rising=True),
    "entry_seconds": ArrayField("float", ("entries",), low=0.0),
    "entry_measures": _ENTRY_NUMBERS,
    "entry_duals": ArrayField("float", ("entries", "duals"), may_be_infinite=True, may_be_nan=True),
}
_CHUNKS: Schema = {
    "chunk_hashes": ArrayField("count", ("chunks",), low=0, high=MOST),
    "file_version": ArrayField("count", (2,)),
}


@dataclass(frozen=True)
class StreamPlan:
    """Everything that training needs beside the samples; the names are those of the classifiers' parameters.

    ``threshold`` is None if it is to be chosen. ``report`` is called with every history entry of the final training and
    returns whether to stop; ``checkpoint`` is the file from which training resumes. ``groups`` of the samples are held
    out as a whole.
    """

    measure: Measure
    learner: StreamLearner
    threshold: float | None
    n_passes: int
    tol: float
    patience: int
    validation_fraction: float
    max_seconds: float | None
    n_jobs: int | None
    n_shards: int
    every: int
    seed: int
    report: Callable[[StreamEntry], bool] | None
    checkpoint: Checkpoint | None = None
    groups: Integers | None = None

    def is_out_of_time(self, seconds: float) -> bool:
        """Return whether training has exceeded its time limit."""
        return self.max_seconds is not None and seconds > self.max_seconds


def evaluate_recent(measure: Measure, state: StreamState) -> BestThreshold:
    """Return threshold and measure on the scores of recent samples, computed before they were learnt from."""
    recent = state.recent_scores()
    return BestThreshold(0.0, float("nan")) if recent is None else evaluate_threshold_for(measure, *recent)


@stored_fields(version=1)
@dataclass(frozen=True)
class BinaryModel:
    """Weights, intercept and threshold of one binary problem; scores point to its positives.

    ``lacks_folds`` if the threshold was chosen on training scores, as there were too few samples to hold some out.
    """

    weights: Floats
    intercept: float
    threshold: float
    lacks_folds: bool = False


@stored_fields(version=1)
@dataclass(frozen=True)
class StreamModel:
    """The model after training; further training returns a new one.

    Only the arrays of ``states`` are handed on and updated in place: with a copy, learning from one sample would take
    time proportional to the number of features.

    Parameters
    ----------
    measure : Measure
        The measure that the model was trained for.
    classes : array
        The labels, sorted.
    states : tuple of StreamState
        The solver's state of every binary problem.
    threshold : float, optional
        The threshold that the user has set; by default it is chosen on scores of recent samples.
    selected : tuple of BinaryModel
        The best models of the passes of `fit`. Empty: the averages of the states.
    entries : tuple of StreamEntry
        The history.
    n_elsewhere : int
        Samples seen by shards other than the one whose position the states have.
    n_passes, status, seconds, bytes_moved
        Values that `result_` reports.
    """

    measure: Measure
    classes: Labels
    states: tuple[StreamState, ...]
    threshold: float | None = None
    selected: tuple[BinaryModel, ...] = ()
    entries: tuple[StreamEntry, ...] = ()
    n_elsewhere: int = 0
    n_passes: int = 1
    status: Status = Status.STREAMING
    seconds: float = 0.0
    bytes_moved: int = 0

    @property
    def n_samples(self) -> int:
        """Samples seen, those of all passes together."""
        return self.states[0].position + self.n_elsewhere

    @cached_property
    def binary_models(self) -> tuple[BinaryModel, ...]:
        """The model of every binary problem, formed on demand: learning from a sample costs no more than the sample."""
        return self.selected or tuple(
            BinaryModel(*state.average(), self._select_threshold(state)) for state in self.states
        )

    def stored_form(self) -> StreamModel:
        """Return the model as a file holds it: with its thresholds, if only a user's function could choose them."""
        return replace(self, selected=self.binary_models) if isinstance(self.measure, HasStoredForm) else self

    def _select_threshold(self, state: StreamState) -> float:
        return float(evaluate_recent(self.measure, state).threshold if self.threshold is None else self.threshold)


@dataclass
class Progress:
    """The progress of training on a source: the content of a checkpoint.

    Parameters
    ----------
    states : list of StreamState
        One per binary problem that the source trains.
    passes, chunk, offset, stale : int
        Finished passes; chunks and samples read in the current one; passes since the last improvement.
    seconds : float
        Time spent.
    best_value, improvement : float
        The best measure on samples that were not learnt from, and by how much the last evaluation exceeded the best one
        before; nan if there are no such samples.
    n_elsewhere : int
        Samples seen by shards other than the one whose position the states have.
    status : str
        Why training ended; empty while it continues.
    chunk_hashes : list of int
        Of the chunks of the first pass, by which a training that resumes recognises them.
    file_version : tuple of int
        Size and modification time of the file that they came from; zeros if it was none.
    entries, best
        The history and, of sources that select a model, the best one.
    """

    states: list[StreamState]
    passes: int = 0
    chunk: int = 0
    offset: int = 0
    seconds: float = 0.0
    stale: int = 0
    best_value: float = -np.inf
    improvement: float = float("nan")
    n_elsewhere: int = 0
    status: str = ""
    chunk_hashes: list[int] = field(default_factory=list)
    file_version: tuple[int, int] = (0, 0)
    entries: list[StreamEntry] = field(default_factory=list)
    best: BinaryModel | None = None

    def seconds_left(self, n_samples: int, n_passes: int) -> float:
        """Return how long the passes still allowed would take, each over ``n_samples`` samples, at the speed so far."""
        seen = self.passes * n_samples + self.offset
        return self.seconds * max(n_passes * n_samples - seen, 0) / max(seen, 1)

    def to_arrays(self) -> Arrays:
        """Return all fields as arrays for a checkpoint."""
        parts = {f"state{k}": state.to_arrays() for k, state in enumerate(self.states)}
        parts["own"] = pack_fields(self, {**_NUMBERS, **_CHUNKS}) | self._pack_entries()
        if self.best is not None:
            parts["best"] = pack_fields(self.best, _BEST)
        return join_parts(parts)

    def _pack_entries(self) -> Arrays:
        history = [(entry.n_samples, entry.seconds, entry.measure) for entry in self.entries]
        columns = zip(*history, strict=True) if history else [(), (), ()]
        names = ("entry_samples", "entry_seconds", "entry_measures")
        packed = {name: _ENTRIES[name].pack(column) for name, column in zip(names, columns, strict=True)}
        duals = np.array([entry.duals for entry in self.entries], dtype=np.float64)
        return packed | {"entry_duals": duals if history else np.zeros((0, 0))}

    @classmethod
    def from_arrays(cls, arrays: Arrays, source: Source) -> Self:
        """Return the progress that `to_arrays` has written; the estimated time left is not restored.

        Raises
        ------
        StateError
            If it cannot be the progress of a training on this source.
        """
        parts, fresh = split_parts(arrays), source.start()
        own, best = parts.pop("own", {}), parts.pop("best", None)
        check_arrays(own, {**_NUMBERS, **_CHUNKS, **_ENTRIES})
        require_state(parts.keys() == {f"state{k}" for k in range(len(fresh.states))}, "the number of states is wrong")
        states = [StreamState.from_arrays(parts[f"state{k}"], state) for k, state in enumerate(fresh.states)]
        if best is not None:
            check_arrays(best, _BEST, features=fresh.states[0].v.size)
        n_duals = len(source.plan.learner.duals(fresh.states[0]))
        n_entries, n_columns = own["entry_duals"].shape
        require_state(n_columns == n_duals or not n_entries, "'entry_duals' has the wrong number of columns")
        columns = [own[name].tolist() for name in _ENTRIES]
        progress = cls(
            states,
            **unpack_fields(own, _NUMBERS),
            chunk_hashes=own["chunk_hashes"].tolist(),
            file_version=tuple(own["file_version"].tolist()),
            best=None if best is None else BinaryModel(**unpack_fields(best, _BEST)),
            entries=[
                StreamEntry(n_samples, seconds, value, tuple(duals))
                for n_samples, seconds, value, duals in zip(*columns, strict=True)
            ],
        )
        progress._check_position(source)
        return progress

    def _check_position(self, source: Source) -> None:
        """Raise unless training on a source can go on from here, and end with a model."""
        learner, most = source.plan.learner, source.most_offset
        can_go_on = all(learner.until_boundary(state) > 0 for state in self.states)
        require_state(can_go_on, "a state is past its next landmark or stage")
        require_state(self.passes <= source.plan.n_passes, "'passes' exceeds n_passes")
        require_state(not source.is_stream or self.chunk <= len(self.chunk_hashes), "'chunk' exceeds 'chunk_hashes'")
        require_state(most is None or self.offset <= most, "'offset' exceeds the samples of a pass")
        has_evaluated = self.passes > 0 or bool(self.status) or self.offset == most
        is_complete = self.best is None if source.is_stream else self.best is not None or not has_evaluated
        require_state(is_complete, "the best model is missing, or there is one that training does not select")


class Source(Protocol):
    """Samples in memory, in chunks or on a cluster, and how to learn from them."""

    plan: StreamPlan

    @property
    def most_offset(self) -> int | None:
        """Samples of a pass; None if they are not known before it ends."""

    @property
    def is_stream(self) -> bool:
        """Whether a pass may end early at the time limit, and reaching all passes is no reason for a warning."""

    def start(self) -> Progress:
        """Return the progress before the first pass."""

    def learn_pass(self, progress: Progress) -> Iterator[None]:
        """Learn from the rest of the current pass; pause where an evaluation or a checkpoint may be due."""

    def evaluate(self, progress: Progress) -> StreamEntry | None:
        """Evaluate the current model if that is due; return what enters the history."""

    def select_models(self, progress: Progress) -> tuple[BinaryModel, ...]:
        """Return the best model with its threshold; none if the averages of the states are the model."""


def train(plan: StreamPlan, sources: Iterable[Source], classes: Labels) -> StreamModel:
    """Make the passes over every source, or those left by a checkpoint, and remove the checkpoint."""
    checkpoint = plan.checkpoint
    saved = [] if checkpoint is None else checkpoint.load()
    done: list[Progress] = []
    selected: list[BinaryModel] = []

    def save() -> None:
        if checkpoint is not None:
            checkpoint.save([progress.to_arrays() for progress in done])

    for number, source in enumerate(sources):
        done.append(_resume(checkpoint, saved[number], source) if number < len(saved) else source.start())
        selected += source.select_models(run_passes(source, plan, done[-1], save))
    if checkpoint is not None:
        checkpoint.remove()
    return StreamModel(
        plan.measure,
        classes,
        states=tuple(chain.from_iterable(progress.states for progress in done)),
        threshold=plan.threshold,
        selected=tuple(selected),
        entries=average_histories([progress.entries for progress in done]),
        n_elsewhere=done[0].n_elsewhere,
        n_passes=max(progress.passes + (progress.offset > 0) for progress in done),
        status=Status(done[0].status),
        seconds=sum(progress.seconds for progress in done),
    )


def _resume(checkpoint: Checkpoint | None, arrays: Arrays, source: Source) -> Progress:
    assert checkpoint is not None
    with checkpoint.naming_damage():
        return Progress.from_arrays(arrays, source)


def run_passes(
    source: Source, plan: StreamPlan, progress: Progress, save: Callable[[], None] = lambda: None
) -> Progress:
    """Make the passes that are left; save after each, and within one after every ``plan.every`` samples."""
    started = time.perf_counter() - progress.seconds
    with add_stage() as stage:
        while not progress.status:
            saved_at = progress.offset
            for _ in source.learn_pass(progress):
                progress.seconds = time.perf_counter() - started
                progress.status = _evaluate_part(source, plan, progress, stage)
                if progress.status:
                    return progress
                if progress.offset - saved_at >= plan.every:
                    saved_at = progress.offset
                    save()
            progress.status = _end_pass(source, plan, progress)
            if not progress.status:
                save()
    return progress


def _evaluate_part(source: Source, plan: StreamPlan, progress: Progress, stage: Stage) -> str:
    """Evaluate where that is due; return why to stop, or nothing."""
    entry = source.evaluate(progress)
    if entry is not None:
        progress.entries.append(entry)
        _show_entry(stage, entry, progress.passes + 1, plan.n_passes)
        if plan.report is not None and plan.report(entry):
            return Status.STOPPED.value
    return Status.MAX_SECONDS.value if source.is_stream and plan.is_out_of_time(progress.seconds) else ""


def _show_entry(stage: Stage, entry: StreamEntry, number: int, n_passes: int) -> None:
    left = entry.seconds_left
    fraction = None if left is None else entry.seconds / max(entry.seconds + left, 1e-9)
    stage.update(f"pass {number} of {n_passes}, {entry.n_samples:,} samples, measure {entry.measure:.4f}", fraction)


def _end_pass(source: Source, plan: StreamPlan, progress: Progress) -> str:
    """Count a pass; return why to stop, or nothing."""
    progress.passes, progress.chunk, progress.offset = progress.passes + 1, 0, 0
    progress.stale = progress.stale + 1 if progress.improvement <= plan.tol else 0
    if progress.stale >= plan.patience:
        return Status.SETTLED.value
    if progress.passes >= plan.n_passes:
        return Status.STREAMING.value if source.is_stream else Status.MAX_ITER.value
    return Status.MAX_SECONDS.value if plan.is_out_of_time(progress.seconds) else ""


def average_histories(histories: list[list[StreamEntry]]) -> tuple[StreamEntry, ...]:
    """Return the history of one problem, or of several the mean over those still training at each evaluation."""
    if len(histories) == 1:
        return tuple(histories[0])
    entries = []
    longest = max(histories, key=len)
    for k, entry in enumerate(longest):
        current = [history[min(k, len(history) - 1)] for history in histories if history]
        seconds, value = sum(one.seconds for one in current), float(np.mean([one.measure for one in current]))
        entries.append(StreamEntry(entry.n_samples, seconds, value, entry.duals, entry.seconds_left))
    return tuple(entries)
