"""Blocks of stored arrays: how large they are, and how they are read into buffers that are reused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from io import FileIO
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise._typing import Indices
from metricwise.csr import check_csr_arrays
from metricwise.io.arrays import StoredArray, open_arrays

Buffers = list[NDArray[np.uint8]]

BUFFERS = 2  # one is filled while the other is in use
_LEAST_READ_AHEAD_BYTES = 2**17  # of a block: copying less takes no longer than the switch between threads
_SCANNED_ROWS = 1_000_000  # row ends that are read together
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))  # which compiled code reads, in the byte order of the machine
INTEGERS = (np.dtype(np.int64), np.dtype(np.int32))


class Layout(Protocol):
    """Division of stored rows into blocks."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    bounds: Indices
    n_entries: int

    @property
    def block_bytes(self) -> int:
        """Bytes of the largest block."""
        ...

    @property
    def row_bytes(self) -> float:
        """Bytes of a row, on average."""
        ...

    def open_files(self) -> AbstractContextManager[list[FileIO]]:
        """Open the files."""
        ...

    def buffers(self) -> Buffers:
        """Return buffers that hold any block."""
        ...

    def read(self, files: list[FileIO], block: int, buffers: Buffers) -> Any:
        """Return a block of rows, in the given buffers."""
        ...


class DenseLayout:
    """Blocks of a dense array.

    Parameters
    ----------
    array : StoredArray
        The array, with two axes.
    block_rows : int
        Rows of a block; the last may have fewer.
    """

    def __init__(self, array: StoredArray, block_rows: int) -> None:
        if len(array.shape) != 2 or array.dtype not in FLOATS:
            raise ValueError(
                f"{array.path} holds {array.dtype} in {len(array.shape)} axes, where float32 or float64 in two belong"
            )
        self.shape, self.dtype = (array.shape[0], array.shape[1]), array.dtype
        self.n_entries = array.shape[0] * array.shape[1]
        self.bounds: Indices = np.append(np.arange(0, array.shape[0], block_rows, dtype=np.int64), array.shape[0])
        self._array = array

    @property
    def row_bytes(self) -> float:
        """Bytes of a row."""
        return self._array.row_bytes

    @property
    def block_bytes(self) -> int:
        """Bytes of the largest block."""
        return int(np.diff(self.bounds).max()) * self._array.row_bytes

    def open_files(self) -> AbstractContextManager[list[FileIO]]:
        """Open the file."""
        return open_arrays([self._array])

    def buffers(self) -> Buffers:
        """Return buffers that hold any block."""
        return [np.empty(self.block_bytes, dtype=np.uint8)]

    def read(self, files: list[FileIO], block: int, buffers: Buffers) -> NDArray[Any]:
        """Return a block of rows, in the given buffer."""
        start, stop = self.bounds[block : block + 2].tolist()
        return self._array.read(files[0], start, stop, buffers[0])


class SparseLayout:
    """Blocks of a CSR matrix.

    Parameters
    ----------
    data, indices, indptr : StoredArray
        The entries, their columns, and where the entries of each row begin and end.
    shape : tuple of int
        Rows and columns.
    block_bytes : int
        Largest size of a block, unless a single row is larger.
    block_rows : int
        Largest number of rows in a block.
    """

    def __init__(
        self,
        data: StoredArray,
        indices: StoredArray,
        indptr: StoredArray,
        shape: tuple[int, int],
        *,
        block_bytes: int,
        block_rows: int,
    ) -> None:
        self.shape, self.dtype, self.n_entries = shape, data.dtype, math.prod(data.shape)
        self._arrays = [data, indices, indptr]
        self._entry_bytes = data.dtype.itemsize + indices.dtype.itemsize
        fits = len(data.shape) == 1 and data.shape == indices.shape and indptr.shape == (shape[0] + 1,)
        has_types = data.dtype in FLOATS and indices.dtype in INTEGERS and indptr.dtype in INTEGERS
        if not (fits and has_types):
            raise ValueError(f"{data.path} is no CSR matrix of shape {shape}: its arrays do not fit together")
        self.bounds, self._entry_bounds = self._divide(block_bytes, block_rows)

    @property
    def row_bytes(self) -> float:
        """Bytes of a row, on average."""
        return self._arrays[0].shape[0] * self._entry_bytes / max(self.shape[0], 1) + self._arrays[2].dtype.itemsize

    @property
    def block_bytes(self) -> int:
        """Bytes of the largest block."""
        return sum(self._sizes())

    def _sizes(self) -> list[int]:
        entries, rows = int(np.diff(self._entry_bounds).max()), int(np.diff(self.bounds).max())
        data, indices, indptr = (array.dtype.itemsize for array in self._arrays)
        return [entries * data, entries * indices, (rows + 1) * indptr]

    def open_files(self) -> AbstractContextManager[list[FileIO]]:
        """Open the files."""
        return open_arrays(self._arrays)

    def buffers(self) -> Buffers:
        """Return buffers that hold any block."""
        return [np.empty(size, dtype=np.uint8) for size in self._sizes()]

    def read(self, files: list[FileIO], block: int, buffers: Buffers) -> Any:
        """Return a block of rows, in the given buffers."""
        (start, stop), (first, last) = (
            self.bounds[block : block + 2].tolist(),
            self._entry_bounds[block : block + 2].tolist(),
        )
        data, indices = (self._arrays[k].read(files[k], first, last, buffers[k]) for k in (0, 1))
        indptr = self._arrays[2].read(files[2], start, stop + 1, buffers[2])
        indptr -= first
        try:  # compiled code follows the indices unchecked, and the file may have changed since the block was last read
            check_csr_arrays(data, indices, indptr, (stop - start, self.shape[1]))
        except ValueError as error:
            raise ValueError(
                f"{self._arrays[1].path} is damaged: in rows {start} to {stop - 1}, {error}. Write it again"
            ) from None
        matrix = sparse.csr_matrix((stop - start, self.shape[1]), dtype=self.dtype)
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        return matrix

    def _divide(self, block_bytes: int, block_rows: int) -> tuple[Indices, Indices]:
        """Return the bounds of the blocks, in rows and in entries."""
        most = max(block_bytes // self._entry_bytes, 1)
        rows, entries, last_end = [0], [0], 0
        for start, found in self._row_ends():
            ends = np.append(last_end, found)  # of the rows from start - 1 on
            if np.any(ends[1:] < ends[:-1]):  # differences could overflow
                raise ValueError(f"{self._arrays[2].path} is damaged: a row ends before it begins. Write it again")
            while True:
                fitting = int(np.searchsorted(found, entries[-1] + most, side="right"))  # rows that end early enough
                stop = min(max(start + fitting, rows[-1] + 1), rows[-1] + block_rows)
                if stop >= start + len(found):  # the block may continue in the rows that follow
                    break
                rows.append(stop)
                entries.append(int(ends[stop - start]))
            last_end = int(found[-1])
        if last_end != self._arrays[0].shape[0]:
            raise ValueError(f"{self._arrays[2].path} is damaged: its last row does not end with the last entry")
        return np.array([*rows, self.shape[0]], dtype=np.int64), np.array([*entries, last_end], dtype=np.int64)

    def _row_ends(self) -> Iterator[tuple[int, Indices]]:
        indptr = self._arrays[2]
        buffer = np.empty(min(_SCANNED_ROWS, self.shape[0]) * indptr.row_bytes, dtype=np.uint8)
        with open_arrays([indptr]) as (file,):
            if indptr.read(file, 0, 1, np.empty(indptr.row_bytes, dtype=np.uint8))[0] != 0:
                raise ValueError(f"{indptr.path} is damaged: its first row does not begin with the first entry")
            for start in range(0, self.shape[0], _SCANNED_ROWS):
                stop = min(start + _SCANNED_ROWS, self.shape[0])
                yield start, indptr.read(file, start + 1, stop + 1, buffer).astype(np.int64)


def read_ahead(layout: Layout, blocks: list[int]) -> Iterator[tuple[int, Any]]:
    """Yield blocks with their numbers; the next one is read while one is in use, into the other buffer."""
    if layout.block_bytes < _LEAST_READ_AHEAD_BYTES or len(blocks) < BUFFERS:
        with layout.open_files() as files:
            buffers = layout.buffers()
            for block in blocks:
                yield block, layout.read(files, block, buffers)
        return
    with layout.open_files() as files, ThreadPoolExecutor(1, thread_name_prefix="metricwise-reader") as reader:
        buffers_in_turn = [layout.buffers() for _ in range(BUFFERS)]
        pending = reader.submit(layout.read, files, blocks[0], buffers_in_turn[0])
        for k, block in enumerate(blocks, start=1):
            matrix = pending.result()
            if k < len(blocks):
                pending = reader.submit(layout.read, files, blocks[k], buffers_in_turn[k % BUFFERS])
            yield block, matrix
