"""Data files of every format: valid ones hold the numbers that other readers find; damaged ones too, or raise."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import metricwise.io
from fuzzing.archives import mutate_archive
from fuzzing.cases import Case, Kind, pack_bytes, unpack_bytes
from fuzzing.judging import Finding, attempt
from fuzzing.mutation import mutate_bytes
from fuzzing.reference_readers import Numbers, Unreadable, read_reference
from fuzzing.tables import DELIMITERS, FORMATS, DataFile, write_random_file

_MOST_COMPARED = 10**6  # numbers; damaged sparse files may claim any number of features
_CODES = {"no": 0.0, "yes": 1.0}


def _prepare() -> None:
    """Read one file of every format, so that all functions are compiled."""
    random, seen = Random(0), set[str]()
    while len(seen) < len(FORMATS):
        file = write_random_file(random)
        seen.add(file.format)
        with TemporaryDirectory() as folder:
            path = Path(folder, file.name)
            path.write_bytes(file.content)
            for read in _list_readers(file.format).values():
                attempt(read, path, {})


def _make_case(random: Random) -> Case:
    file = write_random_file(random)
    is_valid = random.random() < 0.4
    content = file.content if is_valid else _damage(file, random)
    options = {}
    if file.format in DELIMITERS and random.random() < 0.7:
        options = {"delimiter": DELIMITERS[file.format], "has_header": True, "decimal": "."}
    return {
        "format": file.format,
        "name": file.name,
        "is_valid": is_valid,
        "options": options,
        "content": pack_bytes(content),
    }


def _damage(file: DataFile, random: Random) -> bytes:
    if file.format == "npz":
        return mutate_archive(file.content, random)
    if file.name.endswith(".gz") and random.random() < 0.7:  # damaged before it was compressed
        return gzip.compress(mutate_bytes(gzip.decompress(file.content), random), mtime=0)
    return mutate_bytes(file.content, random)


def _check(case: Case, folder: Path) -> str:
    format, content = case["format"], unpack_bytes(case["content"])
    path = folder / case["name"]
    path.write_bytes(content)
    # The reference comes last: it may not survive what our readers refuse.
    results = {name: attempt(read, path, case["options"]) for name, read in _list_readers(format).items()}
    try:
        expected: Numbers | None = read_reference(format, content)
    except Unreadable:
        expected = None
    outcomes = []
    for name, found in results.items():
        if isinstance(found, Exception):
            outcomes.append("refused")
            if case["name"] not in str(found):
                raise Finding(f"{name} of {format}: the error does not name the file: {found}") from found
            if case["is_valid"] and (name == "read_table" or expected is not None):  # chunks hold numbers alone
                raise Finding(f"{name} refuses a valid file of {format}: {found}") from found
            continue
        outcomes.append("read")
        _compare(f"{name} of {format}", found, expected, case)
    if format == "parquet":
        _compare_hashed(path)
    return "read" if "read" in outcomes else "refused"


def _compare(what: str, found: tuple[Any, Any], expected: Numbers | None, case: Case) -> None:
    """Raise a `Finding` unless the numbers are those of the reference, as far as that has any."""
    X, y = found
    n_rows = X.shape[0]
    if y is not None and len(y) != n_rows:
        raise Finding(f"{what}: {n_rows} rows with {len(y)} labels")
    numbers = _to_numbers(X, y)
    if (
        expected is None
        or numbers is None
        or not (case["is_valid"] or case["options"] or case["format"] not in DELIMITERS)
    ):
        return
    if numbers.shape != expected.shape:
        raise Finding(f"{what}: shape {numbers.shape}, and the reference has {expected.shape}")
    if not np.array_equal(numbers, expected, equal_nan=True):
        at = np.argwhere(~((numbers == expected) | (np.isnan(numbers) & np.isnan(expected))))[0]
        raise Finding(f"{what}: {numbers[tuple(at)]!r} where the reference has {expected[tuple(at)]!r}")


def _compare_hashed(path: Path) -> None:
    """Raise a `Finding` if a stream hashes a file to other features than its whole table."""
    try:
        rows = metricwise.io.stream(path, hash_features=64, chunk_rows=7)
        rule = rows.hashed_columns
        streamed = sparse.vstack([chunk.X for chunk in rows]).toarray()
        table = metricwise.io.read_table(path, columns=rule.file_kinds)
    except ValueError:
        return  # refused, which is compared above
    if not np.array_equal(rule.transform(table.X).toarray(), streamed):
        raise Finding("the features that a stream of parquet hashes are not those of the whole table")


def _to_numbers(X: Any, y: Any) -> Numbers | None:
    """Return features and labels as one array; None if they are not all numbers."""
    if isinstance(X, pd.DataFrame):
        if not all(dtype.kind in "fiub" for dtype in X.dtypes if isinstance(dtype, np.dtype)):
            return None
        if not all(isinstance(dtype, np.dtype) for dtype in X.dtypes):
            return None
    if X.shape[0] * X.shape[1] > _MOST_COMPARED:
        return None
    # Double precision comes first, since repeated entries are added up.
    values = X.astype(np.float64).toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if y is None:
        return values
    labels = np.asarray(y)
    if labels.dtype.kind in "OU":
        if not set(labels.tolist()) <= set(_CODES):
            return None
        labels = np.array([_CODES[label] for label in labels.tolist()])
    return np.column_stack([values, labels.astype(np.float64)])


# ------------------------------------------------------------------------------------------------------------- readers

Reader = Callable[[Path, dict[str, Any]], tuple[Any, Any]]


def _list_readers(format: str) -> dict[str, Reader]:
    if format in ("npy", "npz"):
        return {"open": _open_array}
    if format in ("arff", "sparse_arff"):
        return {"read_table": _read_table}
    return {"read_table": _read_table, "stream": _read_stream, "open": _open}


def _read_table(path: Path, options: dict[str, Any]) -> tuple[Any, Any]:
    table = metricwise.io.read_table(path, **options)
    return table.X, table.y


def _read_stream(path: Path, options: dict[str, Any]) -> tuple[Any, Any]:
    chunks = list(metricwise.io.stream(path, chunk_rows=7, **options))
    return _join([chunk.X for chunk in chunks]), np.concatenate([chunk.y for chunk in chunks])


def _open(path: Path, options: dict[str, Any]) -> tuple[Any, Any]:
    data = metricwise.io.open(path, block_rows=9, **options)
    return _join(_read_blocks(data)), data.y


def _open_array(path: Path, options: dict[str, Any]) -> tuple[Any, Any]:
    data = metricwise.io.open(path, block_rows=9, **options)
    return _join(_read_blocks(data)), None


def _read_blocks(data: Any) -> list[Any]:
    return [block.copy() for _, block in data.blocks()]


def _join(blocks: list[Any]) -> Any:
    return sparse.vstack(blocks) if sparse.issparse(blocks[0]) else np.concatenate(blocks)


KIND = Kind(_prepare, _make_case, _check)
