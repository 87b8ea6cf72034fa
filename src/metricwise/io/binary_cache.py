"""Files converted once to arrays that can be read in blocks.

The arrays are in a folder named ``<file>.metricwise-<key>``. The key is a hash of the file's size, its modification
time and the options it was read with, so that a changed file is converted anew. A folder gets its name when it is
complete, so that an unfinished one is never used.
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

from metricwise.io.arrays import GrowingArray, StoredArray, locate_npy, open_arrays, open_npz, read_header, read_stamp
from metricwise.io.atomic import PARTIAL, name_full_disk
from metricwise.io.chunks import Chunk

_VERSION = 1
_ABANDONED_AFTER = 3600.0  # seconds without a change: no process is writing to an unfinished folder any more
_COPIED_NUMBERS = 2**20  # numbers converted together

Writer = Callable[[Path], dict[str, Any]]


def convert_once(path: str, options: dict[str, Any], cache: str | os.PathLike[str] | None, write: Writer) -> Path:
    """Return the folder with the arrays of a file; convert the file if there is none.

    Parameters
    ----------
    path : str
        The file.
    options : dict
        How it is read; other options lead to another folder.
    cache : path-like, optional
        Parent of the folder; by default that of the file.
    write : callable
        Writes the arrays to a folder and returns facts to store beside them; called only if the file must be converted.
    """
    home = Path(path).resolve().parent if cache is None else Path(cache)
    source = [os.path.abspath(path), *read_stamp(path)]
    key = json.dumps([_VERSION, source, sorted(options.items())], default=str)
    folder = home / f"{Path(path).name}.metricwise-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    partial = home / f".{folder.name}.{secrets.token_hex(8)}{PARTIAL}"
    try:
        home.mkdir(parents=True, exist_ok=True)
        partial.mkdir()
    except OSError as error:
        raise ValueError(
            f"{path} is converted once before it is read in blocks, and {home} cannot be written to "
            f"({error.strerror}): choose another folder with cache=..."
        ) from error
    try:
        with name_full_disk(folder):
            facts = write(partial)
        if [os.path.abspath(path), *read_stamp(path)] != source:
            raise ValueError(f"{path} has changed while it was converted: open it again when it is complete")
        with name_full_disk(folder):
            with builtins.open(partial / "about.json", "w", encoding="utf-8") as file:
                json.dump(facts | {"source": source}, file)
            _flush_to_disk(partial)
        _publish(partial, folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    _remove_stale(home, folder, source)
    return folder


def read_facts(folder: Path) -> dict[str, Any]:
    """Return the facts that are stored beside the arrays of a folder."""
    found: dict[str, Any] = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    return found


def _flush_to_disk(folder: Path) -> None:
    for path in folder.iterdir():
        with builtins.open(path, "r+b") as file:  # Windows refuses to flush what is open for reading alone
            os.fsync(file.fileno())


def _publish(partial: Path, folder: Path) -> None:
    try:
        os.rename(partial, folder)
    except OSError:
        if not folder.is_dir():
            raise
        shutil.rmtree(partial, ignore_errors=True)  # another process was faster


def _remove_stale(home: Path, folder: Path, source: list[Any]) -> None:
    """Remove folders of earlier versions of the file, and unfinished folders that were abandoned."""
    stem = glob.escape(folder.name.rpartition("-")[0])
    for other in home.glob(f"{stem}-*"):
        other_source = read_facts(other)["source"] if (other / "about.json").is_file() else None
        if other_source is not None and other_source[0] == source[0] and other_source != source:
            shutil.rmtree(other, ignore_errors=True)
    for other in home.glob(f".{stem}-*{PARTIAL}"):
        times = [path.stat().st_mtime for path in [other, *other.iterdir()]]
        if time.time() - max(times) > _ABANDONED_AFTER:
            shutil.rmtree(other, ignore_errors=True)


# ------------------------------------------------------------------------------------------------------------- writing


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
    """Write an array of another type as floating-point numbers."""
    n_rows = max(_COPIED_NUMBERS // max(array.shape[1], 1), 1)
    buffer = np.empty(min(n_rows, array.shape[0]) * array.row_bytes, dtype=np.uint8)
    with open_arrays([array]) as (source,), builtins.open(folder / "X.npy", "wb") as file:
        growing = GrowingArray(file, dtype, array.shape[1])
        for start in range(0, array.shape[0], n_rows):
            growing.append(array.read(source, start, min(start + n_rows, array.shape[0]), buffer))
        growing.finish()


def write_members(folder: Path, path: str, dtypes: dict[str, np.dtype[Any] | None]) -> None:
    """Write arrays of a .npz file, compressed or not; None keeps single precision, and makes all else double."""
    with open_npz(path) as archive:
        for name, dtype in dtypes.items():
            with archive.open(f"{name}.npy") as member, builtins.open(folder / f"{name}.npy", "wb") as file:
                shape, found, _ = read_header(f"{path}, array {name!r}", member)
                if dtype is not None and dtype.kind == "i" and found.kind not in "iu":
                    raise EOFError(f"array {name!r} holds {found}, not whole numbers")
                kept = np.dtype(np.float32 if found == np.float32 else np.float64) if dtype is None else dtype
                growing = GrowingArray(file, kept)
                while content := member.read(_COPIED_NUMBERS * found.itemsize):
                    growing.append(np.frombuffer(content, found))
                if shape != (growing.length,):
                    raise EOFError(f"array {name!r} has {growing.length} entries, and its header states {shape}")
                growing.finish()


def locate_array(folder: Path, name: str) -> StoredArray:
    """Return the location of an array of a folder."""
    return locate_npy(str(folder / f"{name}.npy"))
