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
import logging
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise.io.arrays import (
    LABEL_KINDS,
    GrowingArray,
    StoredArray,
    locate_npy,
    open_arrays,
    open_npz,
    read_header,
    read_stamp,
)
from metricwise.io.atomic import PARTIAL, name_full_disk
from metricwise.io.chunks import Chunk

_LOG = logging.getLogger("metricwise")
_VERSION = 2
_ABOUT = "about.json"
_ABANDONED_AFTER = 3600.0  # seconds without a change: no process is writing to an unfinished folder any more
# Any other OSError, as of too many open files, says nothing about the files of a folder.
_DAMAGE = (ValueError, FileNotFoundError, NotADirectoryError, IsADirectoryError)
_NOT_ABOUT = (ValueError, LookupError, TypeError, AttributeError, RecursionError)  # no JSON, or JSON of anything else
_COPIED_NUMBERS = 2**20  # numbers converted together

Writer = Callable[[Path], dict[str, Any]]


class ConvertedFile(NamedTuple):
    """A folder with the arrays of a file.

    Parameters
    ----------
    folder : Path
        The folder.
    arrays : dict of StoredArray
        Where its arrays are, by name.
    facts : dict
        What is stored beside them.
    """

    folder: Path
    arrays: dict[str, StoredArray]
    facts: dict[str, Any]


def convert_once(
    path: str, options: dict[str, Any], cache: str | os.PathLike[str] | None, names: Sequence[str], write: Writer
) -> ConvertedFile:
    """Return the arrays of a file; convert the file if they are not stored yet, or damaged.

    Parameters
    ----------
    path : str
        The file.
    options : dict
        How it is read; other options lead to another folder.
    cache : path-like, optional
        Parent of the folder; by default that of the file.
    names : sequence of str
        The arrays.
    write : callable
        Writes the arrays to a folder and returns facts to store beside them; called only if the file must be converted.
    """
    home = Path(path).resolve().parent if cache is None else _check_cache(cache)
    source = [os.path.abspath(path), *read_stamp(path)]
    key = json.dumps([_VERSION, source, sorted(options.items())], default=str)
    folder = home / f"{Path(path).name}.metricwise-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    if folder.is_dir():
        try:
            return _open_folder(folder, source, names)
        except _DAMAGE as error:
            _LOG.warning("%s is converted anew: its converted copy is damaged (%s)", path, error)
    partial = _name_partial(folder)
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
            written = {name: _describe_array(_locate_array(partial, name)) for name in names}
            about = {"facts": facts, "source": source, "arrays": written}
            with builtins.open(partial / _ABOUT, "w", encoding="utf-8") as file:
                json.dump({"about": about, "checksum": _compute_checksum(about)}, file)
            _flush_to_disk(partial)
        converted = _publish(partial, folder, source, names)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    _remove_stale(home, folder, source)
    return converted


def _check_cache(cache: Any) -> Path:
    if not isinstance(cache, str | bytes | os.PathLike):
        raise TypeError(f"cache must be the path of a folder, got {cache!r}")
    name = os.fsdecode(cache)
    if "\0" in name:
        raise ValueError(f"cache={name!r} is no path, as it holds a NUL byte: give the path of a folder")
    return Path(name)


def _open_folder(folder: Path, source: list[Any], names: Sequence[str]) -> ConvertedFile:
    """Return the arrays of a folder; raise one of ``_DAMAGE`` unless they are as they were written."""
    about = _read_about(folder)
    if about["source"] != source:
        raise ValueError(f"{_ABOUT} is about another file")
    arrays = {name: _locate_array(folder, name) for name in names}
    for name, array in arrays.items():
        if about["arrays"].get(name) != _describe_array(array):
            raise ValueError(f"{name}.npy is not the array that was written")
    return ConvertedFile(folder, arrays, about["facts"])


def _read_about(folder: Path) -> dict[str, Any]:
    """Return what was written beside the arrays of a folder: their source, types and shapes, and facts."""
    try:
        content = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        about: dict[str, Any] = content["about"]
        if content["checksum"] == _compute_checksum(about) and _is_complete(about):
            return about
    except _NOT_ABOUT:
        pass
    raise ValueError(f"{_ABOUT} is damaged")


def _is_complete(about: dict[str, Any]) -> bool:
    """Return whether source, arrays and facts are there."""
    return isinstance(about["source"], list) and all(isinstance(about[name], dict) for name in ("arrays", "facts"))


def _compute_checksum(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _locate_array(folder: Path, name: str) -> StoredArray:
    return locate_npy(str(folder / f"{name}.npy"), LABEL_KINDS)


def _describe_array(array: StoredArray) -> list[Any]:
    """Return type, shape and size of the file of an array, as they come back from JSON."""
    return [array.dtype.str, list(array.shape), array.stamp[0]]


def _flush_to_disk(folder: Path) -> None:
    for path in folder.iterdir():
        with builtins.open(path, "r+b") as file:  # Windows refuses to flush what is open for reading alone
            os.fsync(file.fileno())


def _name_partial(folder: Path) -> Path:
    """Return a name beside a folder that no other process uses, for an unfinished or a discarded folder."""
    return folder.with_name(f".{folder.name}.{secrets.token_hex(8)}{PARTIAL}")


def _publish(partial: Path, folder: Path, source: list[Any], names: Sequence[str]) -> ConvertedFile:
    """Give a complete folder its name, unless another process was faster; a damaged folder of that name is replaced.

    A folder of that name is never removed before it was found damaged: another process may be reading it.
    """
    try:
        os.rename(partial, folder)
    except OSError:
        if not folder.is_dir():
            raise
        try:
            found = _open_folder(folder, source, names)
        except _DAMAGE:
            _replace_damaged(partial, folder, source, names)
        else:
            shutil.rmtree(partial, ignore_errors=True)
            return found
    return _open_folder(folder, source, names)


def _replace_damaged(partial: Path, folder: Path, source: list[Any], names: Sequence[str]) -> None:
    """Give a complete folder the name of a damaged one, which is removed."""
    damaged = _name_partial(folder)
    with suppress(FileNotFoundError):  # another process has set it aside
        os.rename(folder, damaged)
        with suppress(*_DAMAGE):
            _open_folder(damaged, source, names)
            # It is not damaged: another process has replaced the one that was, and may be reading it.
            shutil.rmtree(partial, ignore_errors=True)
            partial = damaged
    try:
        os.rename(partial, folder)
    except OSError:
        if not folder.is_dir():
            raise
        shutil.rmtree(partial, ignore_errors=True)  # another process was faster
    if damaged != partial:
        shutil.rmtree(damaged, ignore_errors=True)


def _remove_stale(home: Path, folder: Path, source: list[Any]) -> None:
    """Remove folders of earlier versions of the file, and unfinished folders that were abandoned.

    Other processes rename and remove folders meanwhile, and a folder may be damaged: neither concerns this file.
    """
    stem = glob.escape(folder.name.rpartition("-")[0])
    for name in glob.glob(f"{stem}-*", root_dir=home):
        with suppress(OSError, *_NOT_ABOUT):
            content = json.loads((home / name / _ABOUT).read_text(encoding="utf-8"))
            other_source = content.get("about", content)["source"]  # the first version had it at the top
            if other_source[0] == source[0] and (other_source != source or "about" not in content):
                shutil.rmtree(home / name, ignore_errors=True)
    for name in glob.glob(f".{stem}-*{PARTIAL}", root_dir=home):
        with suppress(OSError):
            times = [path.stat().st_mtime for path in [home / name, *(home / name).iterdir()]]
            if time.time() - max(times) > _ABANDONED_AFTER:
                shutil.rmtree(home / name, ignore_errors=True)


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
