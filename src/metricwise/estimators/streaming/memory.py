"""The training of a streaming classifier on samples in memory, with checkpoints."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metricwise._typing import Floats, Indices, Mask
from metricwise.decisions.folds import merge_copies
from metricwise.designs import make_design
from metricwise.estimators.checkpoints import Checkpoint, check_writable, digest, settings_of
from metricwise.estimators.streaming.passes import (
    BinaryFitting,
    Passes,
    Pauses,
    Progress,
    held_out_rows,
    out_of_fold_threshold,
)
from metricwise.measures import Measure
from metricwise.results import StreamEntry
from metricwise.solvers.stream_data import StreamData

if TYPE_CHECKING:
    from metricwise.estimators.streaming.base import StreamingClassifier


# Copies of few samples are merged into weights, so that a sample of weight two and the same sample twice train the same
# model.
_MOST_ROWS_TO_MERGE = 2000
_MOST_ROWS_FOR_FOLDS = 50_000


class MemoryJob:
    """The binary problems of one call of `fit`."""

    def __init__(self, model: StreamingClassifier, measure: Measure, X: Any, weights: Floats, seed: int) -> None:
        self.model, self.measure, self.X, self.weights, self.seed = model, measure, X, weights, seed
        self.path = None if model.checkpoint is None else Path(model.checkpoint)
        self._done: list[Progress] = []
        self._untested_threshold = False

    @property
    def bytes_moved(self) -> int:
        """Bytes that training has moved between here and a cluster so far; 0 where there is none."""
        return 0

    def run(self, positives: list[Mask]) -> list[tuple[Progress, float]]:
        """Train all problems, or what a checkpoint leaves of them; return progress and threshold of each."""
        checkpoint = None
        if self.path is not None:
            check_writable(self.path)
            checkpoint = Checkpoint(self.path, self._digest(positives))
        resumed = [] if checkpoint is None else _load_progress(checkpoint)
        results = []
        for number, positive in enumerate(positives):
            data, rows = self._problem(positive)
            progress = resumed[number] if number < len(resumed) else None
            fitting = self._fitting(data, rows)
            progress = self._train(fitting, progress, checkpoint)
            self._done.append(progress)
            results.append((progress, self._threshold(fitting, rows, progress)))
        if checkpoint is not None:
            checkpoint.remove()
        return results

    def warn(self) -> None:
        """Say what a user should know of the threshold."""
        if self._untested_threshold:
            warnings.warn(
                "too few samples of one class to hold some out: the threshold was chosen on the training scores. "
                "Collect more samples of the rare class, or give the threshold as a number",
                UserWarning,
                stacklevel=3,
            )

    def _problem(self, positive: Mask) -> tuple[StreamData, Indices]:
        rows, weights = np.flatnonzero(self.weights > 0.0), self.weights
        if rows.size <= _MOST_ROWS_TO_MERGE and np.all(weights[rows] == np.floor(weights[rows])):
            rows, merged = merge_copies(make_design(self.X).take(rows), rows, positive[rows], weights[rows])
            weights = np.zeros_like(weights)
            weights[rows] = merged
        return self._stream_rows(positive, weights), rows

    def _stream_rows(self, positive: Mask, weights: Floats) -> StreamData:
        return StreamData(self.X, positive, weights, self.model._threads)

    def _passes(self) -> Passes:
        model = self.model
        return Passes(
            model.n_passes, model.tol, model.patience, model.validation_fraction, model.max_seconds, self.seed
        )

    def _fitting(self, data: StreamData, rows: Indices) -> BinaryFitting:
        passes = self._passes()
        held = held_out_rows(data, rows, passes.validation_fraction, self.seed)
        return self._make_fitting(data, rows, passes, held)

    def _make_fitting(self, data: StreamData, rows: Indices, passes: Passes, held: Indices) -> BinaryFitting:
        return BinaryFitting(
            self.model._learner(self.measure).adapt_to(rows.size), self.measure, data, rows, passes, held
        )

    def _train(self, fitting: BinaryFitting, progress: Progress | None, checkpoint: Checkpoint | None) -> Progress:
        pauses = None
        if checkpoint is not None:
            file = checkpoint
            pauses = Pauses(self.model.every, lambda now: file.save([one.to_arrays() for one in (*self._done, now)]))
        return fitting.run(progress or fitting.start(), pauses, self.model._tell)

    def _threshold(self, fitting: BinaryFitting, rows: Indices, progress: Progress) -> float:
        if not isinstance(self.model.threshold, str):
            return float(self.model.threshold)
        if fitting.held.size:
            return fitting.final_threshold(progress)
        found = None
        if rows.size <= _MOST_ROWS_FOR_FOLDS:
            data, passes = fitting.data, self._passes()
            found = out_of_fold_threshold(
                lambda train: self._make_fitting(data, train, passes, rows[:0]), self.measure, data, rows, self.seed
            )
        self._untested_threshold |= found is None
        return progress.best_threshold if found is None else found

    # ---------------------------------------------------------------------------------------------------- checkpoints

    def _digest(self, positives: list[Mask]) -> str:
        content = make_design(self.X).fingerprints()
        return digest(settings_of(self.model), self._kind(), content, self.weights, np.array(positives), self.seed)

    def _kind(self) -> tuple[Any, ...]:
        """Return what tells matrices apart, as fingerprints are alike for every kind."""
        return self.X.shape, str(self.X.dtype), make_design(self.X).is_sparse


def _load_progress(checkpoint: Checkpoint) -> list[Progress]:
    runs = checkpoint.load()
    with checkpoint.naming_damage():
        return [Progress.from_arrays(arrays) for arrays in runs]


def mean_entries(histories: list[list[StreamEntry]]) -> list[StreamEntry]:
    """Return the history of one problem, or of several the mean over those still training at each evaluation."""
    if len(histories) == 1:
        return histories[0]
    longest = max(histories, key=len)
    entries = []
    for k, entry in enumerate(longest):
        values = [history[min(k, len(history) - 1)].measure for history in histories if history]
        seconds = sum(history[min(k, len(history) - 1)].seconds for history in histories if history)
        entries.append(StreamEntry(entry.n_samples, seconds, float(np.mean(values)), entry.duals, entry.seconds_left))
    return entries
