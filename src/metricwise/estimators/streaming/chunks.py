"""Chunks of labelled samples as a source; samples are scored before they are learnt from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from metricwise._typing import Floats, Labels, Mask
from metricwise.decisions.targets import distinct_labels
from metricwise.estimators.streaming.training import BinaryModel, Progress, StreamPlan, evaluate_recent
from metricwise.estimators.training_identity import digest
from metricwise.io.chunk_reader import ChunkReader
from metricwise.results import StreamEntry
from metricwise.solvers.point_updates import StreamLearner, learn_around
from metricwise.solvers.stream_data import StreamData
from metricwise.solvers.stream_state import StreamState

_HELD_OUT = 10  # one sample in ten, if there is more than one pass
_MOST_ENTRIES = 1000
_SAMPLES_BETWEEN_ENTRIES = 131_072
_BLOCK = 64  # entries of X, of which one block in so many enters the hash of a large chunk
_BLOCKS_PER_HASHED = 32
_FEW_ENTRIES = 4096  # which all enter it
_HASH_DIGITS = 13  # hexadecimal ones: whole numbers that are exact as floating-point numbers
_KINDS_OF_LABELS = "biuU"  # arrays of booleans, integers and strings, which need no search for fractions


class Chunk(NamedTuple):
    """Valid samples, which of them are positive in every binary problem, and their weights."""

    X: Any
    positives: list[Mask]
    weights: Floats


def learn_chunk(learner: StreamLearner, states: Sequence[StreamState], chunk: Chunk, held: Mask | None = None) -> None:
    """Learn from samples; if some are ``held`` out, these are scored and not learnt from, and no others are scored."""
    if sparse.issparse(chunk.X) != states[0].is_sparse:
        before = "sparse" if states[0].is_sparse else "dense"
        raise ValueError(f"the samples learnt from before were {before}, these are not: convert X")
    samples = np.flatnonzero(chunk.weights > 0.0)
    for positive, state in zip(chunk.positives, states, strict=True):
        data = StreamData(chunk.X, positive, chunk.weights, is_checked=True)
        if held is None:
            learner.learn(state, data, samples)
        else:
            learn_around(learner, state, data, samples[~held[samples]], samples[held[samples]])


def hash_chunk(chunk: Chunk) -> int:
    """Return a hash of labels and weights, and of X: of all of it if it is small, else of evenly spaced blocks of it.

    To hash all of a large X would take as long as to learn from it.
    """
    X = chunk.X
    parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    return int(digest(X.shape, chunk.positives, chunk.weights, *map(_thin, parts))[:_HASH_DIGITS], 16)


def _thin(array: NDArray[Any]) -> NDArray[Any]:
    """Return all of a small array, or evenly spaced blocks of its entries."""
    entries = array.ravel()
    if entries.size <= _FEW_ENTRIES:
        return entries
    return entries[: entries.size // _BLOCK * _BLOCK].reshape(-1, _BLOCK)[::_BLOCKS_PER_HASHED]


def evaluate_stream(
    plan: StreamPlan, states: Sequence[StreamState], entries: Sequence[StreamEntry], seconds: float
) -> StreamEntry | None:
    """Return the next history entry; None if it is not due yet. The intervals between entries grow."""
    position, last = states[0].position, entries[-1].n_samples if entries else 0
    if position < max(last + min(last, _SAMPLES_BETWEEN_ENTRIES), 1):
        return None
    return StreamEntry(position, seconds, _recent_value(plan, states), plan.learner.duals(states[0]))


def _recent_value(plan: StreamPlan, states: Sequence[StreamState]) -> float:
    return float(np.mean([evaluate_recent(plan.measure, state).value for state in states]))


def thin_history(entries: Sequence[StreamEntry]) -> Sequence[StreamEntry]:
    """Return a history thinned so that another entry fits."""
    return entries[::2] if len(entries) >= _MOST_ENTRIES else entries


class ChunkSource:
    """Chunks of samples that need not fit into memory, for all binary problems at once, whose first states are given.

    ``check`` returns a valid `Chunk` of samples, labels and weights. With more than one pass, one sample in ten is only
    scored.
    """

    is_stream = True
    most_offset = None

    def __init__(
        self, plan: StreamPlan, reader: ChunkReader, check: Callable[..., Chunk], states: Sequence[StreamState]
    ) -> None:
        self.plan, self.reader, self.check, self.states = plan, reader, check, states
        self._has_begun = False

    def start(self) -> Progress:
        """Return the progress before the first pass."""
        return Progress(list(self.states))

    def learn_pass(self, progress: Progress) -> Iterator[None]:
        """Learn from chunk after chunk."""
        holds_out = self.plan.n_passes > 1
        for chunk in self._read(progress):
            positions = progress.offset + np.arange(chunk.weights.size)
            held = positions % _HELD_OUT == _HELD_OUT - 1 if holds_out else None
            learn_chunk(self.plan.learner, progress.states, chunk, held)
            progress.chunk, progress.offset = progress.chunk + 1, progress.offset + chunk.weights.size
            yield
        if holds_out:
            value = _recent_value(self.plan, progress.states)
            progress.improvement = value - progress.best_value
            if progress.improvement > 0.0:
                progress.best_value = value

    def _read(self, progress: Progress) -> Iterator[Chunk]:
        """Return the chunks that are left of a pass."""
        checkpoint, begins, self._has_begun = self.plan.checkpoint, not self._has_begun, True
        if checkpoint is not None and begins and progress.chunk_hashes:
            return self._read_compared(progress, checkpoint.path)
        if begins:
            progress.file_version = self.reader.file_version()
        chunks = (self.check(*part) for part in self.reader.read(progress.chunk))
        return chunks if checkpoint is None or progress.passes else _hash_chunks(chunks, progress)

    def _read_compared(self, progress: Progress, path: Path) -> Iterator[Chunk]:
        """Yield the chunks that are left of a pass after comparing them, and those before, with the first pass.

        Those before are not read in a file that has not been modified since.
        """
        known, start, version = len(progress.chunk_hashes), progress.chunk, self.reader.file_version()
        is_unchanged = any(version) and version == progress.file_version
        progress.file_version = version
        number = first = start if is_unchanged else 0
        for number, part in enumerate(self.reader.read(first), first + 1):
            chunk = self.check(*part)
            found = hash_chunk(chunk)
            if number <= known:
                self._require_same(found == progress.chunk_hashes[number - 1], path, f"chunk {number - 1} is another")
            else:
                self._require_same(not progress.passes, path, f"it has more than the {known} chunks of the first pass")
                progress.chunk_hashes.append(found)
            if number > start:
                yield chunk
        self._require_same(number >= known, path, f"it has {number} chunks, and the first pass had at least {known}")

    def _require_same(self, is_same: bool, path: Path, difference: str) -> None:
        if not is_same:
            raise ValueError(
                f"checkpoint {str(path)!r} belongs to a training with other data than {self.reader.name}: "
                f"{difference}. Give the same chunks, or remove the file to start anew"
            )

    def evaluate(self, progress: Progress) -> StreamEntry | None:
        """Evaluate on recent samples, which were scored before they were learnt from, ever more rarely."""
        entry = evaluate_stream(self.plan, progress.states, progress.entries, progress.seconds)
        n_samples = self.reader.n_samples
        if entry is None:
            return None
        progress.entries = list(thin_history(progress.entries))
        left = None if n_samples is None else progress.seconds_left(n_samples, self.plan.n_passes)
        return replace(entry, seconds_left=left)

    def select_models(self, progress: Progress) -> tuple[BinaryModel, ...]:
        """Return no model: the averages of the states are the models."""
        return ()


def _hash_chunks(chunks: Iterator[Chunk], progress: Progress) -> Iterator[Chunk]:
    for chunk in chunks:
        progress.chunk_hashes.append(hash_chunk(chunk))
        yield chunk


def check_n_passes(n_passes: Any, reader: ChunkReader) -> int:
    """Return the number of passes; raise if it is invalid, or if the source cannot be read so often."""
    if not isinstance(n_passes, int | np.integer) or n_passes < 1:
        raise ValueError(f"n_passes must be a whole number of at least 1, got {n_passes!r}")
    if reader.is_read_once and n_passes > 1:
        raise ValueError(
            f"source can be read once only, but n_passes={n_passes}: give a path or a list, or set n_passes=1"
        )
    return int(n_passes)


def first_classes(reader: ChunkReader, y: Any, classes: Any) -> Labels:
    """Return the given classes, or those of the first chunk; raise if there are fewer than two."""
    found: Labels = distinct_labels(y if classes is None else np.asarray(classes))
    if found.size < 2:
        raise ValueError(
            f"the first chunk of {reader.name} has samples of one class only, {found.tolist()}: give all labels as "
            "classes=[...]"
        )
    return found


def check_chunk_labels(y: Any, classes: Any, known: NDArray[Any] | None) -> NDArray[Any]:
    """Return all labels; raise if they are not given in the first chunk, change, or lack one of ``y``."""
    if classes is None:
        if known is None:
            raise ValueError(
                "classes must be given in the first call of partial_fit: all labels there are, as an array"
            )
        given = known
    else:
        given = distinct_labels(np.asarray(classes))
    if known is not None and not np.array_equal(given, known):
        raise ValueError(
            f"classes={given.tolist()} is not the same as on last call to partial_fit, was: {known.tolist()}"
        )
    if given.size < 2:
        raise ValueError(f"classes has {given.size} label(s), {given.tolist()}: training needs at least two")
    labels = column_or_1d(y, warn=True)
    if labels.size and labels.dtype.kind not in _KINDS_OF_LABELS:
        check_classification_targets(labels)
    is_known = np.isin(labels, given)
    if not is_known.all():
        row = int(np.argmin(is_known))
        raise ValueError(
            f"y[{row}] is {labels[row : row + 1].tolist()[0]!r}, a label not among classes={given.tolist()}: name all "
            "labels in classes from the start"
        )
    return given
