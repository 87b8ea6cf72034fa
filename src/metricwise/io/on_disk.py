"""Files larger than memory, opened for classifiers that pass over all samples several times."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from metricwise.io.arrays import (
    StoredArray,
    count_csr_columns,
    load_array,
    load_labels,
    locate_npy,
    locate_npz_member,
)
from metricwise.io.binary_cache import ConvertedFile, convert_once, write_chunks, write_members, write_numbers
from metricwise.io.blocks import BUFFERS, FLOATS, INTEGERS, DenseLayout, Layout, SparseLayout, read_ahead
from metricwise.io.disk_memory import LIBRARIES, check_memory, count_needed, count_vector_bytes
from metricwise.io.errors import SkippedLinesWarning
from metricwise.io.labels import restore_labels
from metricwise.io.options import check_float_type
from metricwise.io.roles import Which
from metricwise.io.spec import FileSpec, Format, check_count, describe_file
from metricwise.io.streaming import STREAMED, make_stream
from metricwise.memory import parse_bytes
from metricwise.registry import entries, join_names

_FORMATS: tuple[Format, ...] = ("npy", "npz", *STREAMED)

_BLOCK_BYTES = 8 * 2**20  # larger blocks are no faster to read, and exceed the processor's caches
_SMALLEST_BLOCK = 2**16
_GATHERED_SHARE = 0.25  # of the limit, for a subsample that is brought into memory
_CONVERTED_BYTES = 32 * 10**6  # of the rows that are parsed together, if they are dense
_CONVERTED_ROWS = 10_000
_CSR_ARRAYS = ("data", "indices", "indptr")


class DiskData:
    """Samples of a file that are read in blocks: made by :func:`metricwise.io.open`.

    Classifiers that train on all samples at once take it in place of X; ``fit(data)`` finds the labels in ``data.y``
    and the weights in ``data.sample_weight``.

    Parameters
    ----------
    path : str
        The file.
    layout : Layout
        Where its samples are stored.
    y : array or None
        Labels.
    feature_names : tuple of str or None
        Names of the columns.
    memory_limit : int
        Memory that the process may take, in bytes.
    recognised : str
        One sentence on the format that was recognised.
    sample_weight : array or None
        Weights.

    Attributes
    ----------
    path : str
        The file.
    shape : tuple of int
        Samples and features.
    dtype : dtype
        Type of the features: float32 or float64.
    is_sparse : bool
        Whether blocks are CSR matrices.
    y : array or None
        Labels.
    sample_weight : array or None
        Weights, if a column of weights was named.
    feature_names : tuple of str or None
        Names of the columns, if the file has them.
    memory_limit : int
        Memory that the process may take, in bytes.
    bounds : array
        The first sample of every block, followed by the number of all samples.
    most_gathered : int
        How many samples may be held in memory at once.
    recognised : str
        One sentence on the format that was recognised.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import metricwise.io
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "X.npy")
    >>> np.save(path, np.arange(12.0).reshape(6, 2))
    >>> data = metricwise.io.open(path, block_rows=4)
    >>> data
    DiskData('X.npy', shape=(6, 2), dtype=float64, 2 blocks)
    >>> [(first_row, block.shape) for first_row, block in data.blocks()]
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
        check_memory(path, layout, memory_limit, is_training=False)
        least = count_needed(layout, count_vector_bytes(memory_limit, self.shape, layout.n_entries))
        room = min(_GATHERED_SHARE * memory_limit, max(memory_limit - least, 0))
        self.most_gathered = int(min(room / layout.row_bytes, self.shape[0]))

    def check_training_memory(self) -> None:
        """Raise a ValueError if a linear machine cannot be trained on all samples within the memory limit."""
        check_memory(self.path, self._layout, self.memory_limit, is_training=True)

    def blocks(self, which: Iterable[int] | None = None) -> Iterator[tuple[int, Any]]:
        """Yield blocks of samples, each with the index of its first sample, reading ahead in another thread.

        A block is an array or a CSR matrix in a buffer that is reused: copy what is needed later before requesting the
        next block.

        Parameters
        ----------
        which : iterable of int, optional
            Numbers of the blocks, in the order in which they are read; all of them by default.

        Yields
        ------
        tuple of int and array or csr_matrix
            The index of the first sample of the block, and its samples.
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
            f"{join_names(entries(trains_on='disk'))}, which read them in blocks; or, with fit_stream, "
            f"{join_names(entries(trains_on='stream'))}; or load the file (numpy.load, metricwise.io.read_table) if it "
            "fits into memory"
        )


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
    drop: Sequence[Which] = (),
    labelled: bool = True,
    delimiter: str | None = None,
    has_header: bool | None = None,
    decimal: str | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    encoding: str | None = None,
    on_error: Literal["raise", "skip"] = "raise",
) -> DiskData:
    r"""Open a file larger than memory for ``fit``, ``predict`` and ``certify``.

    A .npy file in C order (float32 or float64), and a .npz file as ``scipy.sparse.save_npz(path, X, compressed=False)``
    writes it from a CSR matrix, are read directly. All others (Parquet, svmlight, CSV, compressed .npz, other
    types of numbers) are converted once, in chunks, to a folder of .npy files named ``<file>.metricwise-<key>``, which
    may be deleted at any time. It is used as long as size and modification time of the file stay the same; otherwise,
    or if the folder is damaged, the file is converted anew and the old folder is removed.

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
        its libraries, 30 bytes per sample and 60 per feature for labels and the like, and at most a quarter for a
        subsample. Training a linear machine on all samples takes 220 bytes per sample and up to 720 per feature.
    cache : path-like, default=None
        Folder for converted files; by default that of the file.
    format : {"npy", "npz", "svmlight", "csv", "parquet"}, default=None
        Format of the file; recognised by its suffix and its first lines by default.
    dtype : {float32, float64}, default=None
        Type of the numbers. By default that of the file if it is one of the two, else float64.
    block_rows : int, default=None
        Largest number of samples in a block; by default as many as make 8 MiB.
    columns : sequence of str, default=None
        The features of a Parquet or CSV file by name, in this order; other columns are ignored.
    drop : sequence of str or int, default=()
        Columns to leave out, by name or position.
    labelled : bool, default=True
        Whether labels are read. If not, all columns but the weight are features: samples to predict.
    delimiter : str, default=None
        Delimiter of a CSV file; recognised by default.
    has_header : bool, default=None
        Whether the first line of a CSV file names the columns; recognised by default.
    decimal : {".", ","}, default=None
        The decimal point of the numbers of a CSV file. By default it is a dot, or a comma where a column
        of the first rows shows it: all values are written as numbers with decimal commas, such as 1,5 or 1.234,5.
    n_features : int, default=None
        The number of features. By default, svmlight files are read once to find the largest index.
    zero_based : bool, default=False
        Whether the first feature of an svmlight file has the index 0, not 1.
    encoding : str, default=None
        How the text of a CSV or svmlight file is written, such as "latin-1" or "cp1252". By default UTF-8, or UTF-16 or
        UTF-32 if the file starts with its byte order mark.
    on_error : {"raise", "skip"}, default="raise"
        Whether a malformed line of a file that is converted raises an error or is left out with a warning.

    Returns
    -------
    DiskData
        The samples, with their labels and weights if the file has them.

    Raises
    ------
    MalformedLineError
        At the first line that is no labelled row, while a file is converted.
    ValueError
        If ``memory_limit`` is too little for the samples, or an option does not suit the file.

    See Also
    --------
    stream : One pass over the samples, for classifiers that learn sample by sample.
    read_table : Load all samples into memory.

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
    ...     data = metricwise.io.open(path, target=y, memory_limit="800MB")
    ...     model = MultivariateSVC("f1", threshold="train").fit(data)
    ...     same = np.allclose(model.decision_function(data), model.decision_function(X))
    >>> same
    True
    """
    limit = parse_bytes(memory_limit)
    if block_rows is not None:
        check_count("block_rows", block_rows, least=1)
    wanted = None if dtype is None else check_float_type(dtype)
    are_labels = not isinstance(target, str | Integral | None)
    spec = describe_file(
        path,
        _FORMATS,
        format=format,
        target=None if are_labels else target,
        weight=weight,
        columns=columns,
        drop=drop,
        n_features=n_features,
        labelled=labelled,
        zero_based=zero_based,
        delimiter=delimiter,
        has_header=has_header,
        decimal=decimal,
        encoding=encoding,
    )
    divide = partial(_divide_into_blocks, memory_limit=limit, block_rows=block_rows)
    if spec.format in ("npy", "npz"):
        if on_error != "raise":
            problem = f"on_error={on_error!r} has no meaning for the format {spec.format!r}"
            raise ValueError(f"{spec.path}: {problem}: leave it out")
        layout = (_open_npy if spec.format == "npy" else _open_npz)(spec.path, wanted, cache, divide)
        labels = load_labels(target, layout.shape[0], spec.path)
        kind = "CSR matrix" if spec.format == "npz" else "array"
        return DiskData(spec.path, layout, labels, None, limit, f"{spec.path}: {kind} of {layout.dtype}")
    if are_labels:
        raise ValueError(
            f"{spec.path} has the format {spec.format!r}, whose labels are in the file: give target as the name or "
            f"position of their column, or leave it out, got {type(target).__name__}"
        )
    _, arrays, facts = _convert(spec, wanted or np.dtype(np.float64), cache, on_error)
    if facts["skipped"]:
        warnings.warn(SkippedLinesWarning(facts["skipped"]), stacklevel=2)
    layout = divide([arrays[name] for name in ("X", *_CSR_ARRAYS) if name in arrays], facts["n_features"])
    names = None if facts["feature_names"] is None else tuple(facts["feature_names"])
    y = restore_labels(spec.path, load_array(arrays["y"])) if spec.roles.labelled else None
    weights = None if weight is None else load_array(arrays["sample_weight"])
    return DiskData(spec.path, layout, y, names, limit, spec.description, weights)


def _divide_into_blocks(
    arrays: list[StoredArray], n_features: int, *, memory_limit: int, block_rows: int | None
) -> Layout:
    """Divide one dense array, or the three of a CSR matrix, into blocks that suit the memory."""
    if len(arrays) > 1 and not (all(len(array.shape) == 1 for array in arrays) and arrays[2].shape[0] > 0):
        raise ValueError(f"{arrays[2].path} is damaged: the arrays of its CSR matrix have wrong shapes. Write it again")
    n_rows = arrays[0].shape[0] if len(arrays) == 1 else arrays[2].shape[0] - 1
    if n_rows == 0 or n_features == 0:
        raise ValueError(f"{arrays[0].path} has {n_rows} rows and {n_features} columns: there is nothing to read")
    vectors = count_vector_bytes(memory_limit, (n_rows, n_features), math.prod(arrays[0].shape))
    room = (memory_limit - LIBRARIES - vectors) // (4 * BUFFERS)
    size = min(max(room, _SMALLEST_BLOCK), _BLOCK_BYTES)
    most_rows = block_rows or n_rows
    if len(arrays) == 1:
        return DenseLayout(arrays[0], min(most_rows, max(size // arrays[0].row_bytes, 1)))
    data, indices, indptr = arrays
    return SparseLayout(data, indices, indptr, (n_rows, n_features), block_bytes=size, block_rows=most_rows)


def _open_npy(path: str, dtype: np.dtype[Any] | None, cache: Any, divide: Callable[..., Layout]) -> Layout:
    array = locate_npy(path)
    if len(array.shape) != 2:
        raise ValueError(f"{path} has {len(array.shape)} axes; samples and features make two: reshape the array")
    kept = dtype or (array.dtype if array.dtype in FLOATS else np.dtype(np.float64))
    if array.dtype != kept:

        def write(folder: Path) -> dict[str, Any]:
            write_numbers(folder, array, kept)
            return {}

        array = convert_once(path, {"dtype": str(kept)}, cache, ["X"], write).arrays["X"]
    return divide([array], array.shape[1])


def _open_npz(path: str, dtype: np.dtype[Any] | None, cache: Any, divide: Callable[..., Layout]) -> Layout:
    n_features = count_csr_columns(path)
    members = [locate_npz_member(path, name) for name in _CSR_ARRAYS]
    found = [member for member in members if member is not None]
    is_readable = len(found) == len(members) and found[0].dtype in FLOATS and dtype in (None, found[0].dtype)
    is_readable = is_readable and all(member.dtype in INTEGERS for member in found[1:])
    if not is_readable:

        def write(folder: Path) -> dict[str, Any]:
            write_members(folder, path, {"data": dtype, "indices": np.dtype(np.int64), "indptr": np.dtype(np.int64)})
            return {}

        converted = convert_once(path, {"dtype": str(dtype)}, cache, _CSR_ARRAYS, write)
        found = [converted.arrays[name] for name in _CSR_ARRAYS]
    return divide(found, n_features)


def _convert(spec: FileSpec, dtype: np.dtype[Any], cache: Any, on_error: Literal["raise", "skip"]) -> ConvertedFile:
    stream = make_stream(spec, _CONVERTED_ROWS, dtype, on_error)

    def write(folder: Path) -> dict[str, Any]:
        n_features = stream.n_features
        chunk_rows = min(max(_CONVERTED_BYTES // (8 * n_features), 1), _CONVERTED_ROWS)
        chunks = stream if spec.format == "svmlight" else make_stream(spec, chunk_rows, dtype, on_error)
        with warnings.catch_warnings():  # the summary is kept, and shown whenever the folder is opened
            warnings.simplefilter("ignore", SkippedLinesWarning)
            write_chunks(folder, iter(chunks), n_features, dtype)
        skipped = chunks.skipped_summary
        return {"n_features": n_features, "feature_names": stream.feature_names, "skipped": skipped}

    names = [*(_CSR_ARRAYS if spec.format == "svmlight" else ["X"]), "y"]
    names += [] if spec.roles.weight is None else ["sample_weight"]
    options = {"spec": spec, "dtype": str(dtype), "on_error": on_error}
    return convert_once(spec.path, options, cache, names, write)
