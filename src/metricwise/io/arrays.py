"""Arrays in .npy and .npz files: their location, and reading and writing them in parts."""

from __future__ import annotations

import builtins
import math
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from metricwise.io.errors import name_damaged_file
from metricwise.io.files import check_file
from metricwise.io.npy import parse_npy
from metricwise.io.spec import suffix_of

_MOST_OF_HEADER = 1 << 16  # bytes that are read at a time
_KINDS = "biufSU"  # of entries
_NUMBERS = "biuf"
_LARGEST_SIZE = int(np.iinfo(np.int64).max)  # of rows and of columns: what indices can count
LABEL_KINDS = "biufSUmM"  # numbers, text, dates and times
_LOCAL_HEADER = struct.Struct("<26xHH")  # of a member of a zip file: lengths of its name and of its extra field


@dataclass(frozen=True)
class StoredArray:
    """The location of an array in C order within a file.

    Parameters
    ----------
    path : str
        The file.
    offset : int
        First byte of the numbers.
    shape : tuple of int
        Shape of the array.
    dtype : dtype
        Type of the numbers.
    stamp : tuple of int
        Size and modification time of the file when the array was located.
    """

    path: str
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    stamp: tuple[int, int]

    @property
    def row_bytes(self) -> int:
        """Bytes per entry of the first axis."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    def read(self, file: FileIO, start: int, stop: int, buffer: NDArray[np.uint8]) -> NDArray[Any]:
        """Read the entries start..stop of the first axis into a buffer of bytes, and return them as an array."""
        size = (stop - start) * self.row_bytes
        view = memoryview(buffer.data)[:size]
        file.seek(self.offset + start * self.row_bytes)
        done = 0
        while done < size:
            count = file.readinto(view[done:])
            if not count:
                raise ValueError(f"{self.path} ends before its last row: it is damaged, write it again")
            done += count
        return np.frombuffer(buffer, self.dtype, size // self.dtype.itemsize).reshape(stop - start, *self.shape[1:])


@contextmanager
def open_arrays(arrays: list[StoredArray]) -> Iterator[list[FileIO]]:
    """Open the files of some arrays, unbuffered; raise a ValueError if one has changed since it was located.

    The files are compared again after the last read, so that samples of two versions of a file never make one result.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(builtins.open(array.path, "rb", buffering=0)) for array in arrays]
        _refuse_changed(arrays, files)
        try:
            yield files
        except ValueError:  # a file that is being written looks damaged
            _refuse_changed(arrays, files)
            raise
        _refuse_changed(arrays, files)


def _refuse_changed(arrays: list[StoredArray], files: list[FileIO]) -> None:
    """Raise a ValueError if an open file was written to, or another one has taken its name."""
    for array, file in zip(arrays, files, strict=True):
        found = [os.fstat(file.fileno())]
        with suppress(FileNotFoundError, NotADirectoryError):  # one that was removed is intact while it is open
            found.append(os.stat(array.path))
        if any(_stamp(each) != array.stamp for each in found):
            raise ValueError(f"{array.path} has changed since it was opened: call metricwise.io.open again")


def read_stamp(path: str) -> tuple[int, int]:
    """Return size and modification time of a file."""
    return _stamp(os.stat(path))


def _stamp(found: os.stat_result) -> tuple[int, int]:
    return found.st_size, found.st_mtime_ns


def locate_npy(path: str, kinds: str = _NUMBERS) -> StoredArray:
    """Return the location of the array of a .npy file, whose entries are of some kinds, as numpy abbreviates them."""
    with builtins.open(path, "rb") as file:
        shape, dtype, offset = read_header(path, file, kinds)
        found = StoredArray(path, offset, shape, dtype, _stamp(os.fstat(file.fileno())))
    _check_length(found, found.stamp[0])
    return found


def load_array(array: StoredArray) -> NDArray[Any]:
    """Return all of an array, in the byte order of the machine."""
    buffer = np.empty(array.shape[0] * array.row_bytes, dtype=np.uint8)
    with open_arrays([array]) as (file,):
        found = array.read(file, 0, array.shape[0], buffer)
    return found.astype(array.dtype.newbyteorder("="), copy=False)


def read_header(path: str, file: IO[bytes], kinds: str = _NUMBERS) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Read the header of an array; return shape and type, and how many bytes it took."""
    counted = _Counted(file)
    with name_damaged_file(path, ".npy"):
        version = np.lib.format.read_magic(counted)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_columns, dtype = read(counted)
        if min(shape, default=0) < 0:
            raise EOFError(f"shape {shape}")
    if dtype.hasobject or dtype.kind not in kinds or dtype.itemsize == 0:
        wanted, advice = "numbers", "convert it, for example with X.astype(numpy.float32)"
        if kinds != _NUMBERS:
            wanted, advice = "numbers or text", "convert the labels, for example with y.astype(str)"
        raise ValueError(f"{path} holds {dtype}, not {wanted}: {advice}")
    if by_columns and len(shape) > 1:
        raise ValueError(
            f"{path} is stored column by column (Fortran order), and rows cannot be read from it in blocks: write it "
            "again with numpy.save(path, numpy.ascontiguousarray(X))"
        )
    return shape, dtype, counted.count


class _Counted:
    """A file that counts the bytes read from it, a few at a time: a damaged header may claim to have billions."""

    def __init__(self, file: IO[bytes]) -> None:
        self.count, self._file = 0, file

    def read(self, size: int = _MOST_OF_HEADER, /) -> bytes:
        found = self._file.read(min(size, _MOST_OF_HEADER))
        self.count += len(found)
        return found


@contextmanager
def open_npz(path: str) -> Iterator[zipfile.ZipFile]:
    """Open a .npz file; raise a ValueError if it is none."""
    with name_damaged_file(path, ".npz"), zipfile.ZipFile(path) as archive:
        yield archive


def locate_npz_member(path: str, name: str) -> StoredArray | None:
    """Return the location of an array of a .npz file; None if it is compressed."""
    with open_npz(path) as archive:
        member = archive.getinfo(f"{name}.npy")
    if member.compress_type != zipfile.ZIP_STORED:
        return None
    with builtins.open(path, "rb") as file, name_damaged_file(path, ".npz"):
        file.seek(member.header_offset)
        start = member.header_offset + _LOCAL_HEADER.size + sum(_LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size)))
        file.seek(start)
        shape, dtype, length = read_header(f"{path}, array {name!r}", file)
        found = StoredArray(path, start + length, shape, dtype, _stamp(os.fstat(file.fileno())))
    _check_length(found, min(start + member.file_size, found.stamp[0]))
    return found


def count_csr_columns(path: str) -> int:
    """Return the number of columns of the CSR matrix in a .npz file; raise a ValueError if there is none."""
    with open_npz(path) as archive:
        members = set(archive.namelist())
    needed = {f"{name}.npy" for name in ("data", "indices", "indptr", "shape", "format")}
    if not needed <= members:
        raise ValueError(
            f"{path} holds no CSR matrix: write it with scipy.sparse.save_npz(path, X, compressed=False), or a dense "
            "array with numpy.save"
        )
    with open_npz(path) as archive:
        form, shape = _read_small(archive, "format").item(), [int(size) for size in _read_small(archive, "shape")]
        form = form.decode("ascii") if isinstance(form, bytes) else str(form)
        if len(shape) != 2 or min(shape) < 0 or max(shape) > _LARGEST_SIZE:
            raise EOFError(f"shape {shape}")
    if form != "csr":
        raise ValueError(
            f"{path} holds a sparse matrix in {form.upper()} format, and rows are read from CSR: write it again with "
            "scipy.sparse.save_npz(path, X.tocsr(), compressed=False)"
        )
    return shape[1]


def _read_small(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    member = archive.getinfo(f"{name}.npy")
    if member.file_size > _MOST_OF_HEADER:
        raise ValueError(f"{name!r} is too long")
    return parse_npy(archive.read(member), _KINDS)


def _check_length(array: StoredArray, end: int) -> None:
    if array.offset + math.prod(array.shape) * array.dtype.itemsize > end:  # whole numbers of any size
        raise ValueError(f"{array.path} is shorter than its header states: it is damaged, write it again")


class GrowingArray:
    """A .npy file that is written row by row, its header last.

    Parameters
    ----------
    file : binary file
        Open for writing, empty.
    dtype : dtype
        Type of the numbers.
    width : int, optional
        Numbers per row; None for an array with one axis.
    """

    _HEADER = 128  # bytes, as numpy aligns short headers

    def __init__(self, file: IO[bytes], dtype: Any, width: int | None = None) -> None:
        self._file, self._dtype, self._width = file, np.dtype(dtype), width
        self.length = 0
        file.write(bytes(self._HEADER))

    def append(self, rows: NDArray[Any]) -> None:
        """Write more rows."""
        self._file.write(memoryview(np.ascontiguousarray(rows, dtype=self._dtype).data).cast("B") if rows.size else b"")
        self.length += len(rows)

    def finish(self) -> None:
        """Write the header, now that the number of rows is known."""
        shape = (self.length,) if self._width is None else (self.length, self._width)
        header = f"{{'descr': {self._dtype.str!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
        text = np.lib.format.magic(1, 0) + struct.pack("<H", self._HEADER - 10)
        self._file.seek(0)
        self._file.write(text + header.encode("latin1").ljust(self._HEADER - 11) + b"\n")
        self._file.seek(0, os.SEEK_END)


def load_labels(target: Any, n_rows: int, path: str) -> NDArray[Any] | None:
    """Return the labels of the rows of an array: given as an array, or as the path of a .npy file."""
    if target is None:
        return None
    if not isinstance(target, str | os.PathLike):
        labels = _read_given_labels(target)
        _check_label_shape("target", labels.shape, n_rows, path)
        return labels.reshape(n_rows)
    where = check_file(target, repeatedly=True)
    if suffix_of(where) != ".npy":
        raise ValueError(f"target={where!r} must be an array or the path of a .npy file with the labels of {path}")
    stored = locate_npy(where, LABEL_KINDS)
    _check_label_shape(where, stored.shape, n_rows, path)
    return load_array(stored).reshape(n_rows)


def _read_given_labels(target: Any) -> NDArray[Any]:
    try:
        labels = np.asarray(target)
    except ValueError:
        raise ValueError("target holds lists of different lengths: give one label per row") from None
    if labels.ndim == 0:
        raise ValueError(
            f"target must be an array with one label per row, or the path of one, not {type(target).__name__}"
        )
    return labels


def _check_label_shape(where: str, shape: tuple[int, ...], n_rows: int, path: str) -> None:
    if shape not in ((n_rows,), (n_rows, 1)):
        raise ValueError(f"{where} has the shape {shape}, but {path} has {n_rows} rows: give one label per row")
