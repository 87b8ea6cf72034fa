"""The training of a streaming classifier on chunks of samples, in constant memory, with checkpoints."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metricwise.estimators.checkpoints import Checkpoint, check_writable, digest, settings_of
from metricwise.estimators.streaming.chunks import ChunkReader
from metricwise.estimators.streaming.passes import pack_history, unpack_history
from metricwise.measures import Measure
from metricwise.results import Status
from metricwise.solvers.saved import pack_fields, unpack_fields
from metricwise.solvers.stream_state import StreamState

if TYPE_CHECKING:
    from metricwise.estimators.streaming.base import StreamingClassifier

_PROGRESS = ("passes", "chunk", "rows", "stale", "best", "seconds")
_HELD_OUT = 10  # one sample in so many, if there is more than one pass


class FileJob:
    """Passes over chunks. The model is put in place when the last one has ended, or training was stopped."""

    def __init__(
        self, model: StreamingClassifier, measure: Measure, reader: ChunkReader, classes: Any, n_passes: Any
    ) -> None:
        if not isinstance(n_passes, int | np.integer) or n_passes < 1:
            raise ValueError(f"n_passes must be a whole number of at least 1, got {n_passes!r}")
        if reader.once_only and n_passes > 1:
            raise ValueError(
                f"source can be read once only, but n_passes={n_passes}: give a path or a list, or set n_passes=1"
            )
        self.model, self.measure, self.reader, self.n_passes = model, measure, reader, int(n_passes)
        self.classes: NDArray[Any] | None = None if classes is None else np.unique(np.asarray(classes))
        self.path = None if model.checkpoint is None else Path(model.checkpoint)
        # A model apart, so that whatever goes wrong leaves the user's as it was.
        self.scratch: StreamingClassifier = type(model)(**model.get_params(deep=False))
        self.passes, self.chunk, self.rows, self.stale, self.unsaved = 0, 0, 0, 0, 0
        self.best, self.seconds, self._started = -np.inf, 0.0, 0.0

    def run(self) -> None:
        """Make the passes, or what a checkpoint leaves of them."""
        checkpoint = None
        if self.path is not None:
            check_writable(self.path)
            labels = None if self.classes is None else self.classes.tolist()
            training = digest(settings_of(self.model), self.n_passes, labels, *self.reader.identity())
            checkpoint = Checkpoint(self.path, training)
            self._resume(checkpoint)
        self._started = time.perf_counter() - self.seconds
        status = Status.STREAMING
        while self.passes < self.n_passes and status is Status.STREAMING:
            status = self._one_pass(checkpoint)
            if status is Status.STREAMING:
                self.passes, self.chunk = self.passes + 1, 0
                status = self._after_pass()
        self._hand_over(status)
        if checkpoint is not None:
            checkpoint.remove()

    def _one_pass(self, checkpoint: Checkpoint | None) -> Status:
        for X, y, weights in self.reader.read(self.chunk):
            self._learn(X, y, weights)
            self.chunk += 1
            self.seconds = time.perf_counter() - self._started
            if self.scratch._note_progress(self._seconds_left()):
                return Status.STOPPED
            if self.model.max_seconds is not None and self.seconds > self.model.max_seconds:
                return Status.MAX_SECONDS
            if checkpoint is not None and self.unsaved >= self.model.every:
                self.unsaved = 0
                self._save(checkpoint)
        if self.chunk == 0:
            raise ValueError(f"{self.reader.name} has no samples: training needs samples of at least two classes")
        return Status.STREAMING

    def _learn(self, X: Any, y: Any, weights: Any) -> None:
        scratch = self.scratch
        if not hasattr(scratch, "classes_"):
            classes = np.unique(y) if self.classes is None else self.classes
            if classes.size < 2:
                raise ValueError(
                    f"the first chunk of {self.reader.name} has samples of one class only, {classes.tolist()}: give "
                    "all labels as classes=[...]"
                )
            self.classes = classes
            scratch._begin(self.measure, X, y, classes)
        X, y, row_weight = scratch._checked_chunk(X, y, weights)
        held = None
        if self.n_passes > 1:
            held = (self.rows + np.arange(len(y))) % _HELD_OUT == _HELD_OUT - 1
        self.rows += len(y)
        self.unsaved += len(y)
        scratch._learn_chunk(X, y, row_weight, held)
        scratch._seconds = time.perf_counter() - self._started

    def _after_pass(self) -> Status:
        """Return whether to go on, judged by the samples that every pass holds out."""
        self.rows = 0
        if self.n_passes == 1:
            return Status.STREAMING
        values = [self.scratch._recent(state).value for state in self.scratch._states]
        value = float(np.mean(values))
        self.stale = 0 if value > self.best + self.model.tol or np.isnan(value) else self.stale + 1
        self.best = value if np.isnan(self.best) else max(self.best, value)
        return Status.SETTLED if self.stale >= self.model.patience else Status.STREAMING

    def _seconds_left(self) -> float | None:
        total = self.reader.n_samples
        if total is None:
            return None
        seen = self.passes * total + self.rows
        return self.seconds * max(self.n_passes * total - seen, 0) / max(seen, 1)

    def _hand_over(self, status: Status) -> None:
        scratch = self.scratch
        scratch._seconds, scratch._passes = self.seconds, max(self.passes, 1)
        scratch._status = status.value
        scratch._cache = None
        own = {name: value for name, value in vars(scratch).items() if name not in scratch.get_params(deep=False)}
        self.model._take_features(scratch)
        self.model.__dict__.update(own)

    # ---------------------------------------------------------------------------------------------------- checkpoints

    def _save(self, checkpoint: Checkpoint) -> None:
        scratch = self.scratch
        own = pack_fields(self, _PROGRESS) | {
            "classes": np.array(scratch.classes_.tolist()),
            "dtype": np.array(scratch.classes_.dtype.str),
            "features": np.array(scratch.n_features_in_),
            "names": np.array(list(getattr(scratch, "feature_names_in_", [])), dtype=str),
            "entries": pack_history(scratch._entries),
        }
        checkpoint.save([own, *(state.to_arrays() for state in scratch._states)])

    def _resume(self, checkpoint: Checkpoint) -> None:
        runs = checkpoint.load()
        if not runs:
            return
        with checkpoint.naming_damage():
            own, *others = runs
            vars(self).update(unpack_fields(own, _PROGRESS))
            classes = self.classes = own["classes"].astype(own["dtype"].item())
            states = [StreamState.from_arrays(arrays) for arrays in others]
            notes = {"seconds": self.seconds, "features": own["features"].item(), "names": own["names"].tolist()}
            notes["entries"] = unpack_history(own["entries"])
        self.scratch._restore(self.measure, classes, states, notes)
