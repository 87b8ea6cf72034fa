"""Chunks of labelled samples from wherever they come."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

_BYTES_AT_THE_END = 1 << 16


def check_chunk_labels(y: Any, classes: Any, known: NDArray[Any] | None) -> NDArray[Any]:
    """Return all labels; raise if they are not given in the first chunk, change, or lack one of ``y``."""
    if classes is None:
        if known is None:
            raise ValueError(
                "classes must be given in the first call of partial_fit: all labels there are, as an array"
            )
        given = known
    else:
        given = np.unique(np.asarray(classes))
    if known is not None and not np.array_equal(given, known):
        raise ValueError(
            f"classes={given.tolist()} is not the same as on last call to partial_fit, was: {known.tolist()}"
        )
    if given.size < 2:
        raise ValueError(f"classes has {given.size} label(s), {given.tolist()}: training needs at least two")
    labels = column_or_1d(y, warn=True)
    if labels.size:
        check_classification_targets(labels)
    unknown = np.setdiff1d(labels, given)
    if unknown.size:
        row = int(np.flatnonzero(np.isin(labels, unknown))[0])
        raise ValueError(
            f"y[{row}] is {labels[row : row + 1].tolist()[0]!r}, a label not among classes={given.tolist()}: name all "
            "labels in classes from the start"
        )
    return given


class ChunkReader:
    """Reads chunks (X, y, sample_weight or None) from a path, a `metricwise.io.Stream` or any iterable, repeatedly."""

    def __init__(self, source: Any, options: dict[str, Any]) -> None:
        if isinstance(source, str | PathLike):
            from metricwise.io import stream

            source = stream(source, **options)
        elif options:
            raise TypeError(f"{', '.join(map(repr, options))}: options of a file, but source is no path")
        elif not isinstance(source, Iterable):
            raise TypeError(f"source must be a path, a metricwise.io.Stream or an iterable of chunks, got {source!r}")
        self.source = source
        # What to call the source: its path, or its type.
        self.name = str(getattr(source, "path", type(source).__name__))

    @property
    def n_samples(self) -> int | None:
        """Samples of one pass, if they are known."""
        return getattr(self.source, "n_rows", None)

    @property
    def once_only(self) -> bool:
        """Whether reading uses the source up."""
        return isinstance(self.source, Iterator)

    def identity(self) -> list[Any]:
        """Return what tells these samples from others: the first chunk and, of a file, its size and its end."""
        if self.once_only:
            first = list(islice(self.source, 1))
            self.source = chain(first, self.source)  # what was looked at is put back
            chunks = _unpacked(first, 0)
        else:
            chunks = self.read()
        parts = [_content(part) for chunk in islice(chunks, 1) for part in chunk]
        if os.path.isfile(self.name):
            with open(self.name, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - _BYTES_AT_THE_END, 0))
                parts += [size, file.read()]
        return parts

    def read(self, start: int = 0) -> Iterator[tuple[Any, Any, Any]]:
        """Yield the chunks from number ``start`` on."""
        chunks = self.source.chunks(start=start) if hasattr(self.source, "chunks") else islice(self.source, start, None)
        return _unpacked(chunks, start)


def _unpacked(chunks: Iterable[Any], start: int) -> Iterator[tuple[Any, Any, Any]]:
    for number, chunk in enumerate(chunks, start):
        if hasattr(chunk, "sample_weight"):
            yield chunk.X, chunk.y, chunk.sample_weight
        elif isinstance(chunk, tuple) and len(chunk) in (2, 3):
            yield chunk if len(chunk) == 3 else (*chunk, None)
        else:
            raise TypeError(
                f"chunk {number} of source is {type(chunk).__name__}: it must be (X, y) or (X, y, sample_weight)"
            )


def _content(values: Any) -> Any:
    """Return what is the same for the same samples in every process."""
    if sparse.issparse(values):
        rows = values.tocsr()
        return [rows.shape, rows.data.tobytes(), rows.indices.tolist(), rows.indptr.tolist()]
    array = np.asarray(values)
    return array.tolist() if array.dtype == object else array
