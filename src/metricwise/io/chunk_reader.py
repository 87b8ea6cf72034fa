"""Chunks of labelled samples from a file, a stream or any iterable, read as often as wanted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise.io.chunks import Chunk
from metricwise.io.hashing import HashedColumns
from metricwise.io.labels import restore_labels
from metricwise.io.streaming import Stream, stream
from metricwise.raw_inputs import check_sparse

_BYTES_AT_THE_END = 1 << 16


class ChunkReader:
    """Reads chunks (X, y, sample_weight or None) from a path, a `metricwise.io.Stream` or any iterable, repeatedly."""

    def __init__(self, source: Any, options: dict[str, Any]) -> None:
        if isinstance(source, str | PathLike):
            source = stream(source, **options)
        elif options:
            raise TypeError(f"{', '.join(map(repr, options))}: options of a file, but source is no path")
        elif not isinstance(source, Iterable):
            raise TypeError(f"source must be a path, a metricwise.io.Stream or an iterable of chunks, got {source!r}")
        self.source = source
        # The name of the source in messages: its path, or its type.
        self.name = source.path if isinstance(source, Stream) else type(source).__name__
        self._begun: Iterator[tuple[Any, Any, Any]] | None = None  # a reading from which only the first chunk was taken

    @property
    def n_samples(self) -> int | None:
        """Samples of one pass, if they are known."""
        return self.source.n_rows if isinstance(self.source, Stream) else None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns of a file, if it has them; chunks of data frames have their own."""
        return self.source.feature_names if isinstance(self.source, Stream) else None

    @property
    def hashed_columns(self) -> HashedColumns | None:
        """The rule by which the columns of a file became features, if it was hashed."""
        return self.source.hashed_columns if isinstance(self.source, Stream) else None

    @property
    def is_read_once(self) -> bool:
        """Whether the source can be read only once."""
        return isinstance(self.source, Iterator)

    def first(self) -> tuple[Any, Any, Any]:
        """Return the first chunk, which `read` will yield again; raise a ValueError if there is none."""
        begun = self.read()
        chunk = next(begun)
        self._begun = chain([chunk], begun)
        return chunk

    def first_labels(self) -> NDArray[Any]:
        """Return the labels of the first chunk; whole numbers of a file are integers, as `read_table` has them."""
        y = np.asarray(self.first()[1])
        return restore_labels(self.name, y) if isinstance(self.source, Stream) else y

    def file_version(self) -> tuple[int, int]:
        """Return size and modification time of a file; zeros of any other source."""
        if not os.path.isfile(self.name):
            return 0, 0
        found = os.stat(self.name)
        return found.st_size, found.st_mtime_ns

    def identity(self) -> list[Any]:
        """Return what identifies the samples: the first chunk and, for a file, its size, its end and its hashing."""
        parts = [_represent(part) for part in self.first()]
        if self.hashed_columns is not None:
            parts.append(repr(self.hashed_columns))
        if os.path.isfile(self.name):
            with open(self.name, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - _BYTES_AT_THE_END, 0))
                parts += [size, file.read()]
        return parts

    def read(self, start: int = 0) -> Iterator[tuple[Any, Any, Any]]:
        """Return the chunks from number ``start`` on; reading the first of none raises a ValueError."""
        begun, self._begun = self._begun, None
        if begun is not None and (self.is_read_once or start == 0):
            return islice(begun, start, None)
        is_stream = isinstance(self.source, Stream)
        return self._unpack(self.source.chunks(start) if is_stream else islice(self.source, start, None), start)

    def _unpack(self, chunks: Iterable[Any], start: int) -> Iterator[tuple[Any, Any, Any]]:
        number = start
        for number, chunk in enumerate(chunks, start + 1):
            if isinstance(chunk, Chunk):
                yield chunk.X, chunk.y, chunk.sample_weight
            elif isinstance(chunk, tuple) and len(chunk) in (2, 3):
                yield chunk if len(chunk) == 3 else (*chunk, None)
            else:
                raise TypeError(
                    f"chunk {number - 1} of source is {type(chunk).__name__}: it must be (X, y) or (X, y, "
                    "sample_weight)"
                )
        if number == 0:
            raise ValueError(f"{self.name} has no samples: training needs samples of at least two classes")


def _represent(values: Any) -> Any:
    """Return a representation that is the same for the same samples in every process."""
    if sparse.issparse(values):
        matrix = check_sparse(values, "X of the first chunk").tocsr()
        # 32 bits or 64 are the same positions.
        return [matrix.shape, matrix.data, *(part.astype(np.int64) for part in (matrix.indices, matrix.indptr))]
    array = np.asarray(values)
    return array.tolist() if array.dtype == object else array
