"""Files converted once to arrays that can be read in blocks.

The arrays are in a folder named ``<file>.metricwise-<key>``, where the key stands for size and time of the last change
of the file and for how it was read: a file that has changed has another key and is converted anew. A folder takes its
name when all is written, so that an unfinished one is never used.
"""

from __future__ import annotations

import builtins
import glob
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise.io.arrays import GrowingArray, StoredArray, npy_array, opened, read_header, stamp_of, zip_of_arrays
from metricwise.io.atomic import PARTIAL
from metricwise.io.chunks import Chunk

_VERSION = 1
_DESERTED = 3600.0  # seconds without a change after which an unfinished folder has nobody who writes to it
_COPIED = 2**20  # numbers converted together

Writer = Callable[[Path], dict[str, Any]]


def converted(path: str, options: dict[str, Any], cache: str | os.PathLike[str] | None, write: Writer) -> Path:
    """Return the folder of a file's arrays; ``write`` makes them in a folder and returns what else is known.

    Parameters
    ----------
    path : str
        The file.
    options : dict
        How it is read: files read in other ways have folders of their own.
    cache : path-like, optional
        Where the folder is; by default beside the file.
    write : callable
        Called only if there is no folder for the file as it is.
    """
    home = Path(path).resolve().parent if cache is None else Path(cache)
    source = [os.path.abspath(path), *stamp_of(path)]
    told = json.dumps([_VERSION, source, sorted(options.items())], default=str)
    folder = home / f"{Path(path).name}.metricwise-{hashlib.sha256(told.encode()).hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    partial = home / f".{folder.name}.{secrets.token_hex(8)}{PARTIAL}"
    try:
        home.mkdir(parents=True, exist_ok=True)
        partial.mkdir()
    except OSError as error:
        raise ValueError(
            f"{path} is converted once before it is read in blocks, and {home} cannot be written to "
            f"({error.strerror}): choose another folder with cache="
        ) from error
    try:
        facts = write(partial)
        if [os.path.abspath(path), *stamp_of(path)] != source:
            raise ValueError(f"{path} has changed while it was converted: open it again when it is complete")
        with builtins.open(partial / "about.json", "w", encoding="utf-8") as file:
            json.dump(facts | {"source": source}, file)
        _to_disk(partial)
        _take_name(partial, folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    _clear(home, folder, source)
    return folder


def about(folder: Path) -> dict[str, Any]:
    """Return what is known of converted rows beside their arrays."""
    found: dict[str, Any] = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    return found


def _to_disk(folder: Path) -> None:
    for path in folder.iterdir():
        with builtins.open(path, "r+b") as file:  # Windows refuses to flush what is open for reading alone
            os.fsync(file.fileno())


def _take_name(partial: Path, folder: Path) -> None:
    try:
        os.rename(partial, folder)
    except OSError:
        if not folder.is_dir():
            raise
        shutil.rmtree(partial, ignore_errors=True)  # another process was faster


def _clear(home: Path, folder: Path, source: list[Any]) -> None:
    """Remove what was made of the file when it was another, and what was begun and deserted."""
    stem = glob.escape(folder.name.rpartition("-")[0])
    for other in home.glob(f"{stem}-*"):
        made_of = about(other)["source"] if (other / "about.json").is_file() else None
        if made_of is not None and made_of[0] == source[0] and made_of != source:
            shutil.rmtree(other, ignore_errors=True)
    for other in home.glob(f".{stem}-*{PARTIAL}"):
        times = [path.stat().st_mtime for path in [other, *other.iterdir()]]
        if time.time() - max(times) > _DESERTED:
            shutil.rmtree(other, ignore_errors=True)


# ------------------------------------------------------------------------------------------------------ what is written


def write_chunks(folder: Path, chunks: Iterator[Chunk], n_features: int, dtype: np.dtype[Any]) -> None:
    """Write the rows, labels and weights of a stream."""
    labels: list[NDArray[Any]] = []
    weights: list[NDArray[Any]] = []
    with ExitStack() as stack:

        def growing(name: str, kind: Any, width: int | None = None) -> GrowingArray:
            return GrowingArray(stack.enter_context(builtins.open(folder / f"{name}.npy", "wb")), kind, width)

        arrays: list[GrowingArray] = []
        for chunk in chunks:
            labels.append(chunk.y)
            weights += [] if chunk.sample_weight is None else [chunk.sample_weight]
            if sparse.issparse(chunk.X):
                kinds = {"data": dtype, "indices": np.int32 if n_features < 2**31 else np.int64, "indptr": np.int64}
                arrays = arrays or [growing(name, kind) for name, kind in kinds.items()]
                _append_sparse(arrays, chunk.X)
            else:
                arrays = arrays or [growing("X", dtype, n_features)]
                arrays[0].append(chunk.X)
        for array in arrays:
            array.finish()
    np.save(folder / "y.npy", np.concatenate(labels))
    if weights:
        np.save(folder / "sample_weight.npy", np.concatenate(weights))


def _append_sparse(arrays: list[GrowingArray], X: Any) -> None:
    data, indices, indptr = arrays
    if indptr.length == 0:
        indptr.append(np.zeros(1, dtype=np.int64))
    indptr.append(X.indptr[1:].astype(np.int64) + data.length)
    data.append(X.data)
    indices.append(X.indices)


def write_numbers(folder: Path, array: StoredArray, dtype: np.dtype[Any]) -> None:
    """Write an array of other numbers as floating-point numbers."""
    rows = max(_COPIED // max(array.shape[1], 1), 1)
    buffer = np.empty(min(rows, array.shape[0]) * array.row_bytes, dtype=np.uint8)
    with opened([array]) as (source,), builtins.open(folder / "X.npy", "wb") as file:
        growing = GrowingArray(file, dtype, array.shape[1])
        for start in range(0, array.shape[0], rows):
            growing.append(array.read(source, start, min(start + rows, array.shape[0]), buffer))
        growing.finish()


def write_members(folder: Path, path: str, dtypes: dict[str, np.dtype[Any] | None]) -> None:
    """Write arrays of a .npz file, compressed or not; None keeps their type."""
    with zip_of_arrays(path) as archive:
        for name, dtype in dtypes.items():
            with archive.open(f"{name}.npy") as member, builtins.open(folder / f"{name}.npy", "wb") as file:
                _, found, _ = read_header(f"{path}, array {name!r}", member)
                growing = GrowingArray(file, found if dtype is None else dtype)
                while content := member.read(_COPIED * found.itemsize):
                    growing.append(np.frombuffer(content, found))
                growing.finish()


def stored(folder: Path, name: str) -> StoredArray:
    """Return where an array of a folder lies."""
    return npy_array(str(folder / f"{name}.npy"))
