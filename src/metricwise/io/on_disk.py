"""Files of rows larger than memory, opened for classifiers that pass over all rows several times."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from metricwise.io.arrays import StoredArray, count_csr_columns, npy_array, npz_array
from metricwise.io.binary_cache import about, converted, stored, write_chunks, write_members, write_numbers
from metricwise.io.blocks import BUFFERS, DenseLayout, Layout, SparseLayout, read_ahead
from metricwise.io.errors import SkippedLinesWarning
from metricwise.io.files import check_file
from metricwise.io.roles import Which
from metricwise.io.spec import FileSpec, Format, check_count, describe_file, suffix_of
from metricwise.io.streaming import STREAMED, make_stream
from metricwise.memory import bytes_of, megabytes
from metricwise.registry import entries, listed

_FORMATS: tuple[Format, ...] = ("npy", "npz", *STREAMED)

# What training takes of the memory, measured: Python with its libraries, and the vectors over all rows (labels,
# weights, scores, and what the sorts of the oracles need).
_LIBRARIES = 320 * 10**6
_BYTES_A_ROW = 220
_BLOCK_BYTES = 8 * 2**20  # larger ones are no faster to read, and leave the caches of the processor
_SMALLEST_BLOCK = 2**16
_GATHERED = 0.25  # of the limit, for rows that are brought into memory as a sample
_CONVERTED_BYTES = 32 * 10**6  # of the rows that are parsed together, if dense
_CONVERTED_ROWS = 10_000
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


class DiskData:
    """Rows of a file that are read in blocks: made by :func:`metricwise.io.open`.

    Classifiers that train on all rows at once take it in the place of X; ``fit(rows)`` finds the labels in ``rows.y``
    and the weights in ``rows.sample_weight``.

    Parameters
    ----------
    path : str
        The file.
    layout : Layout
        Where its rows lie.
    y : array or None
        Labels.
    feature_names : tuple of str or None
        Names of the columns.
    memory_limit : int
        Bytes.
    recognised : str
        What the file was taken for, in a sentence.
    sample_weight : array or None
        Weights.

    Attributes
    ----------
    path : str
        The file.
    shape : tuple of int
        Rows and features.
    dtype : dtype
        Of the numbers: float32 or float64.
    is_sparse : bool
        Whether blocks are CSR matrices.
    y : array or None
        Labels.
    sample_weight : array or None
        Weights, if a column of weights was named.
    feature_names : tuple of str or None
        Names of the columns, if the file has them.
    memory_limit : int
        Bytes.
    bounds : array
        The first row of every block, and the number of all rows.
    most_gathered : int
        Rows that may be brought into memory at once.
    recognised : str
        What the file was taken for, in a sentence.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import metricwise.io
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "X.npy")
    >>> np.save(path, np.arange(12.0).reshape(6, 2))
    >>> rows = metricwise.io.open(path, block_rows=4)
    >>> rows
    DiskData('X.npy', shape=(6, 2), dtype=float64, 2 blocks)
    >>> [(first_row, block.shape) for first_row, block in rows.blocks()]
    [(0, (4, 2)), (4, (2, 2))]
    """

    def __init__(
        self,
        path: str,
        layout: Layout,
        y: NDArray[Any] | None,
        feature_names: tuple[str, ...] | None,
        memory_limit: int,
        recognised: str = "",
        sample_weight: NDArray[np.float64] | None = None,
    ) -> None:
        self.recognised, self.sample_weight = recognised, sample_weight
        self.path, self.y, self.feature_names, self.memory_limit = path, y, feature_names, memory_limit
        self._layout = layout
        self.shape, self.dtype, self.bounds = layout.shape, layout.dtype, layout.bounds
        self.is_sparse = isinstance(layout, SparseLayout)
        least = _least(layout)
        if memory_limit < least:
            raise ValueError(
                f"memory_limit={megabytes(memory_limit)} is too little for the {self.shape[0]} rows of {path}: Python "
                f"with its libraries takes {megabytes(_LIBRARIES)}, and training holds about {_BYTES_A_ROW} bytes "
                f"per row, however wide. Give at least memory_limit={megabytes(least)!r}"
            )
        room = min(_GATHERED * memory_limit, memory_limit - least)
        self.most_gathered = int(min(room / layout.row_bytes, self.shape[0]))

    def blocks(self, which: Iterable[int] | None = None) -> Iterator[tuple[int, Any]]:
        """Yield blocks of rows, each with the number of its first row, reading ahead in another thread.

        A block is an array or a CSR matrix in memory that is used again: what is to stay must be copied before the next
        block is asked for.

        Parameters
        ----------
        which : iterable of int, optional
            Numbers of the blocks, in the order in which they are wanted; all of them by default.
        """
        numbers = range(len(self.bounds) - 1) if which is None else which
        for block, matrix in read_ahead(self._layout, [int(number) for number in numbers]):
            yield int(self.bounds[block]), matrix

    def __repr__(self) -> str:
        n_blocks = len(self.bounds) - 1
        blocks = "1 block" if n_blocks == 1 else f"{n_blocks} blocks"
        return f"DiskData({Path(self.path).name!r}, shape={self.shape}, dtype={self.dtype}, {blocks})"

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def __getitem__(self, _: Any) -> NoReturn:
        self._refuse()

    def __iter__(self) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TypeError(
            f"the rows of {self.path} are on disk, and what was called needs them in memory: train "
            f"{listed(entries(trains_on='disk'))}, which read them in blocks; or, with fit_stream, "
            f"{listed(entries(trains_on='stream'))}; or load the file (numpy.load, metricwise.io.read_table) if it "
            "fits into memory"
        )


def _least(layout: Layout) -> int:
    """Return the bytes without which training cannot go on."""
    return int(_LIBRARIES + _BYTES_A_ROW * layout.shape[0] + 2 * BUFFERS * layout.block_bytes)


def open(
    path: str | os.PathLike[str],
    *,
    target: Any = None,
    weight: Which | None = None,
    memory_limit: int | str = "1GB",
    cache: str | os.PathLike[str] | None = None,
    format: str | None = None,
    dtype: Any = None,
    block_rows: int | None = None,
    columns: Sequence[str] | None = None,
    labelled: bool = True,
    delimiter: str | None = None,
    has_header: bool | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    encoding: str | None = None,
    on_error: Literal["raise", "skip"] = "raise",
) -> DiskData:
    r"""Open a file of rows larger than memory, for ``fit``, ``predict`` and ``certify``.

    A .npy file in C order (float32 or float64), and a .npz file as ``scipy.sparse.save_npz(path, X, compressed=False)``
    writes it from a CSR matrix, are read where they are. All others (Parquet, svmlight, CSV, compressed .npz, other
    numbers) are converted once, in chunks, to a folder of .npy files named ``<file>.metricwise-<key>``, which may be
    deleted at any time. It is used as long as size and time of the last change of the file stay as they are; if they
    do not, the file is converted anew and the old folder is removed.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : array, path, str or int, default=None
        Labels. For .npy and .npz files an array or the path of a .npy file; without, they are passed to ``fit``. For
        Parquet and CSV files the column, by name or position, the last by default. Svmlight files have them.
    weight : str or int, default=None
        The column of sample weights of a Parquet or CSV file, by name or position; those of others are passed to
        ``fit``.
    memory_limit : int or str, default="1GB"
        How much memory the process may take, in bytes or as text ("800MB", "2GiB"). 320 MB of it are for Python with
        its libraries, 220 bytes per row for labels, scores and the like, at most a quarter for a sample of the rows
        that training starts from.
    cache : path-like, default=None
        Folder for converted files; by default that of the file.
    format : {"npy", "npz", "svmlight", "csv", "parquet"}, default=None
        How the file is written, where it should not be recognised by its suffix and its first lines.
    dtype : {float32, float64}, default=None
        Type of the numbers. By default that of the file if it is one of the two, else float64.
    block_rows : int, default=None
        Most rows of a block; by default as many as make 8 MiB.
    columns : sequence of str, default=None
        The features of a Parquet or CSV file by name, in this order; other columns are ignored.
    labelled : bool, default=True
        Whether labels are read. If not, all columns but the weight are features: rows to predict.
    delimiter : str, default=None
        What divides the fields of a CSV file, where it should not be recognised.
    has_header : bool, default=None
        Whether the first line of a CSV file names the columns, where that should not be recognised.
    n_features : int, default=None
        The number of features. By default, svmlight files are read once to find the largest index.
    zero_based : bool, default=False
        Whether the first feature of an svmlight file has the index 0, not 1.
    encoding : str, default=None
        How the text of a CSV or svmlight file is written, such as "latin-1", "cp1252" or "utf-16"; UTF-8 by default.
    on_error : {"raise", "skip"}, default="raise"
        What becomes of a malformed line of a file that is converted: an error, or it is left out, with a warning.

    Returns
    -------
    DiskData

    Raises
    ------
    MalformedLineError
        At the first line that is no labelled row, while a file is converted.

    See Also
    --------
    stream : One pass over the rows, for classifiers that learn row by row.
    read_table : All rows in memory.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import metricwise.io
    >>> from metricwise import MultivariateSVC
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(2000, 5)).astype(np.float32)
    >>> y = X[:, 0] + 0.3 * random.normal(size=2000) > 1.0
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "X.npy")
    ...     np.save(path, X)
    ...     rows = metricwise.io.open(path, target=y, memory_limit="800MB")
    ...     model = MultivariateSVC("f1", threshold="train").fit(rows)
    ...     same = np.allclose(model.decision_function(rows), model.decision_function(X))
    >>> same
    True
    """
    limit = bytes_of(memory_limit)
    if block_rows is not None:
        check_count("block_rows", block_rows, least=1)
    if dtype is not None and np.dtype(dtype) not in _FLOATS:
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}")
    are_labels = not isinstance(target, str | Integral | None)
    spec = describe_file(
        path,
        _FORMATS,
        format=format,
        target=None if are_labels else target,
        weight=weight,
        columns=columns,
        n_features=n_features,
        labelled=labelled,
        zero_based=zero_based,
        delimiter=delimiter,
        has_header=has_header,
        encoding=encoding,
    )
    wanted = None if dtype is None else np.dtype(dtype)
    divide = partial(_divided, memory_limit=limit, block_rows=block_rows)
    if spec.format in ("npy", "npz"):
        if on_error != "raise":
            raise ValueError(f"on_error={on_error!r} has no meaning for the format {spec.format!r}: leave it out")
        layout = (_open_npy if spec.format == "npy" else _open_npz)(spec.path, wanted, cache, divide)
        labels = _labels(target, layout.shape[0], spec.path)
        kind = "CSR matrix" if spec.format == "npz" else "array"
        return DiskData(spec.path, layout, labels, None, limit, f"{spec.path}: {kind} of {layout.dtype}")
    if are_labels:
        raise ValueError(
            f"{spec.path} has the format {spec.format!r}, whose labels are in the file: give target as the name or "
            f"position of their column, or leave it out, got {type(target).__name__}"
        )
    folder = _convert(spec, wanted or np.dtype(np.float64), cache, on_error)
    facts = about(folder)
    if facts.get("skipped"):
        warnings.warn(SkippedLinesWarning(facts["skipped"]), stacklevel=2)
    layout = divide([stored(folder, part) for part in facts["arrays"]], facts["n_features"])
    names = None if facts["feature_names"] is None else tuple(facts["feature_names"])
    y = np.load(folder / "y.npy") if spec.roles.labelled else None
    weights = None if weight is None else np.load(folder / "sample_weight.npy")
    return DiskData(spec.path, layout, y, names, limit, spec.description, weights)


def _divided(arrays: list[StoredArray], n_features: int, *, memory_limit: int, block_rows: int | None) -> Layout:
    """Divide one dense array, or the three of a CSR matrix, into blocks that suit the memory."""
    n_rows = arrays[0].shape[0] if len(arrays) == 1 else arrays[2].shape[0] - 1
    if n_rows == 0 or n_features == 0:
        raise ValueError(f"{arrays[0].path} has {n_rows} rows and {n_features} columns: there is nothing to read")
    room = (memory_limit - _LIBRARIES - _BYTES_A_ROW * n_rows) // (4 * BUFFERS)
    size = min(max(room, _SMALLEST_BLOCK), _BLOCK_BYTES)
    rows = block_rows or n_rows
    if len(arrays) == 1:
        return DenseLayout(arrays[0], min(rows, max(size // arrays[0].row_bytes, 1)))
    data, indices, indptr = arrays
    return SparseLayout(data, indices, indptr, (n_rows, n_features), block_bytes=size, block_rows=rows)


def _open_npy(path: str, dtype: np.dtype[Any] | None, cache: Any, divide: Any) -> Layout:
    array = npy_array(path)
    if len(array.shape) != 2:
        raise ValueError(f"{path} has {len(array.shape)} axes, and rows need two: reshape the array")
    kept = dtype or (array.dtype if array.dtype in _FLOATS else np.dtype(np.float64))
    if array.dtype != kept:

        def write(folder: Path) -> dict[str, Any]:
            write_numbers(folder, array, kept)
            return {}

        array = stored(converted(path, {"dtype": str(kept)}, cache, write), "X")
    layout: Layout = divide([array], array.shape[1])
    return layout


def _open_npz(path: str, dtype: np.dtype[Any] | None, cache: Any, divide: Any) -> Layout:
    n_features = count_csr_columns(path)
    places = [npz_array(path, name) for name in ("data", "indices", "indptr")]
    found = [place for place in places if place is not None]
    direct = len(found) == len(places) and found[0].dtype in _FLOATS and dtype in (None, found[0].dtype)
    if not direct:

        def write(folder: Path) -> dict[str, Any]:
            write_members(folder, path, {"data": dtype, "indices": None, "indptr": None})
            return {}

        folder = converted(path, {"dtype": str(dtype)}, cache, write)
        found = [stored(folder, name) for name in ("data", "indices", "indptr")]
    layout: Layout = divide(found, n_features)
    return layout


def _convert(spec: FileSpec, dtype: np.dtype[Any], cache: Any, on_error: Literal["raise", "skip"]) -> Path:
    rows = make_stream(spec, _CONVERTED_ROWS, dtype, on_error)

    def write(folder: Path) -> dict[str, Any]:
        n_features = rows.n_features
        chunk_rows = min(max(_CONVERTED_BYTES // (8 * n_features), 1), _CONVERTED_ROWS)
        chunks = rows if spec.format == "svmlight" else make_stream(spec, chunk_rows, dtype, on_error)
        with warnings.catch_warnings():  # the summary is kept, and shown whenever the folder is opened
            warnings.simplefilter("ignore", SkippedLinesWarning)
            write_chunks(folder, iter(chunks), n_features, dtype)
        arrays = ["data", "indices", "indptr"] if spec.format == "svmlight" else ["X"]
        facts = {"arrays": arrays, "n_features": n_features, "feature_names": rows.feature_names}
        return facts | {"skipped": chunks.skipped_summary}

    return converted(spec.path, {"spec": spec, "dtype": str(dtype), "on_error": on_error}, cache, write)


def _labels(target: Any, n_rows: int, path: str) -> NDArray[Any] | None:
    if target is None:
        return None
    if isinstance(target, str | os.PathLike):
        where = check_file(target)
        if suffix_of(where) != ".npy":
            raise ValueError(f"target={where!r} must be an array or the path of a .npy file with the labels of {path}")
        labels = np.load(where, allow_pickle=False)
    else:
        where, labels = "target", np.asarray(target)
    if labels.shape not in ((n_rows,), (n_rows, 1)):
        raise ValueError(f"{where} has the shape {labels.shape}, but {path} has {n_rows} rows: give one label per row")
    found: NDArray[Any] = labels.reshape(n_rows)
    return found
