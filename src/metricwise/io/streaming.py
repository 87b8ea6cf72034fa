"""A file of labelled rows as a stream of chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from numbers import Integral
from typing import Any, Literal

import numpy as np

from metricwise.io.chunks import Chunk, Piece, Reader, Source, joined, read_rows
from metricwise.io.documents import existing_file, suffix_of
from metricwise.io.errors import MalformedLineError, SkipLog

FORMATS = {
    "svmlight": (".svm", ".svmlight", ".libsvm", ".txt", ".dat"),
    "csv": (".csv", ".tsv"),
    "parquet": (".parquet", ".pq"),
}


class Stream:
    r"""A file of labelled rows, read in chunks: made by :func:`metricwise.io.stream`.

    Every ``iter(stream)`` opens the file anew and yields the same chunks. Memory is that of a chunk and a block of the
    file (in Parquet files, a row group), however long the file.

    Parameters
    ----------
    source : Source
        The file and how to read it.
    chunk_rows : int
        Rows in a chunk; the last may have fewer.
    on_error : {"raise", "skip"}
        What becomes of a malformed line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from metricwise.io import stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.csv")
    ...     _ = path.write_text("age,height,label\n31,1.7,yes\n40,1.8,no\n25,1.6,no\n")
    ...     rows = stream(path, chunk_rows=2)
    ...     chunks = list(rows)
    >>> rows.feature_names, rows.n_rows
    (('age', 'height'), 3)
    >>> [chunk.y.tolist() for chunk in chunks]
    [['yes', 'no'], ['no']]
    """

    def __init__(self, source: Source, chunk_rows: int, on_error: Literal["raise", "skip"]) -> None:
        self._source = source
        self._chunk_rows = chunk_rows
        self._on_error = on_error
        self._n_rows: int | None = None
        self._log = SkipLog()

    @property
    def path(self) -> str:
        """The file."""
        return self._source.path

    @property
    def format(self) -> str:
        """How the file is written."""
        return self._source.format

    @property
    def chunk_rows(self) -> int:
        """Rows in a chunk; the last may have fewer."""
        return self._chunk_rows

    @property
    def n_features(self) -> int:
        """The number of features; for an svmlight file, found by reading it once unless it was given."""
        known = self._source.known_features
        return self._prepare() if known is None else known

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns of X, or None if the file has none."""
        return self._source.feature_names

    @property
    def n_rows(self) -> int | None:
        """The number of rows without malformed ones; None until it is known, after the first complete iteration."""
        if self._n_rows is None and self._on_error == "raise":
            return self._source.known_rows
        return self._n_rows

    @property
    def skipped(self) -> int:
        """How many malformed lines the latest iteration has left out so far."""
        return self._log.count

    @property
    def skipped_lines(self) -> list[str]:
        """What was wrong with the first of those lines."""
        return list(self._log.messages)

    @property
    def skipped_summary(self) -> str | None:
        """What the warning says of those lines; None if there are none."""
        return self._log.summary

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    def __repr__(self) -> str:
        known = {"n_features": self._source.known_features, "n_rows": self.n_rows}
        facts = "".join(f", {name}={value}" for name, value in known.items() if value is not None)
        return f"Stream({self._source.path!r}, format={self._source.format!r}, chunk_rows={self._chunk_rows}{facts})"

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        r"""Yield the chunks from number ``start`` on, as a whole iteration would yield them.

        Lines before that are passed over without being parsed, unless malformed lines are left out: then they have to
        be told from rows.

        Parameters
        ----------
        start : int, default=0
            The number of chunks to pass over.

        Yields
        ------
        Chunk
            The next ``chunk_rows`` rows.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from metricwise.io import stream
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "train.svm")
        ...     _ = path.write_text("+1 1:0.5\n-1 2:1.5\n+1 1:2 2:1\n")
        ...     [chunk.first_row for chunk in stream(path, chunk_rows=1).chunks(start=1)]
        [1, 2]
        """
        _check_count("start", start, least=0)
        return self._chunks(start)

    def _chunks(self, start: int) -> Iterator[Chunk]:
        self._prepare()
        self._log = log = SkipLog()
        first_row = 0
        with closing(self._source.open(log if self._on_error == "skip" else None)) as reader:
            if start:
                first_row = reader.skip(start * self._chunk_rows)
            while pieces := self._rows_of(reader):
                chunk = joined(pieces, first_row)
                first_row += len(chunk.y)
                yield chunk
        self._n_rows = first_row
        log.warn(stacklevel=2)

    def _rows_of(self, reader: Reader) -> list[Piece]:
        with _advising():
            return read_rows(reader, self._chunk_rows)

    def _prepare(self) -> int:
        with _advising():
            return self._source.prepare(self._chunk_rows, SkipLog() if self._on_error == "skip" else None)


@contextmanager
def _advising() -> Iterator[None]:
    """Let the error of a line say how to go on without it."""
    try:
        yield
    except MalformedLineError as error:
        error.problem += "; on_error='skip' leaves out such lines"
        raise


def stream(
    path: str | os.PathLike[str],
    *,
    format: Literal["svmlight", "csv", "parquet"] | None = None,
    chunk_rows: int = 10_000,
    target: str | int | None = None,
    weight: str | int | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    has_header: bool | None = None,
    delimiter: str | None = None,
    dtype: Any = np.float64,
    on_error: Literal["raise", "skip"] = "raise",
    labelled: bool = True,
) -> Stream:
    r"""Read labelled rows from a file of any size, a chunk at a time.

    Chunks depend on the rows and ``chunk_rows`` alone. Text files may be compressed with gzip, whatever their name.
    Numbers are those of Python's ``float``, to the last bit; nan and infinity are malformed. Labels are numbers
    (float64) if all labels of the first chunk are, else text.

    Parameters
    ----------
    path : str or path-like
        The file.
    format : {"svmlight", "csv", "parquet"}, default=None
        How the file is written. By default, the suffix says it: .svm, .svmlight, .libsvm, .txt and .dat; .csv and
        .tsv; .parquet and .pq.
    chunk_rows : int, default=10_000
        Rows in a chunk; the last may have fewer.
    target : str or int, default=None
        The column of labels, by name or position; the last by default. In svmlight files the label comes first.
    weight : str or int, default=None
        The column of sample weights, if there is one. Not for svmlight files.
    n_features : int, default=None
        The number of features. By default, svmlight files are read once to find the largest index.
    zero_based : bool, default=False
        Whether the first feature of an svmlight file has the index 0, not 1.
    has_header : bool, default=None
        Whether the first line of a CSV file names the columns. By default, it does unless its fields are numbers.
    delimiter : str, default=None
        What divides the fields of a CSV file; a tab in .tsv files and a comma in others by default.
    dtype : {float64, float32}, default=float64
        The type of the features.
    on_error : {"raise", "skip"}, default="raise"
        What becomes of a malformed line: an error, or it is left out, counted in ``skipped`` and warned about at the
        end of the iteration.
    labelled : bool, default=True
        Whether a CSV or Parquet file has a column of labels. If not, all columns but the weight are features, and
        chunks have zeros for labels: rows to predict.

    Returns
    -------
    Stream
        The chunks, again at every iteration.

    Raises
    ------
    MalformedLineError
        While iterating, at the first line that is no labelled row.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from metricwise.io import stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.svm")
    ...     _ = path.write_text("+1 1:0.5 3:2\n-1 2:1.5 # a comment\n")
    ...     for X, y, sample_weight, first_row in stream(path):
    ...         print(y, X.toarray().tolist())
    [ 1. -1.] [[0.5, 0.0, 2.0], [0.0, 1.5, 0.0]]
    """
    name = checked_path(path)
    chosen = _format_of(name, format)
    _check_count("chunk_rows", chunk_rows, least=1)
    if n_features is not None:
        _check_count("n_features", n_features, least=1)
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}")
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
    given = {
        "target": target,
        "weight": weight,
        "zero_based": zero_based or None,
        "has_header": has_header,
        "delimiter": delimiter,
        "labelled": None if labelled else False,
    }
    source = _make_source(name, chosen, np.dtype(dtype), n_features, given)
    return Stream(source, int(chunk_rows), on_error)


def _make_source(path: str, chosen: str, dtype: Any, n_features: int | None, given: dict[str, Any]) -> Source:
    # The formats load numba, pyarrow or polars, which ``import metricwise.io`` does without.
    if chosen == "svmlight":
        from metricwise.io.svmlight import SvmlightSource

        _refuse(chosen, given, allowed=("zero_based",))
        return SvmlightSource(path, dtype, n_features=n_features, zero_based=bool(given["zero_based"]))
    table = {"target": given["target"], "weight": given["weight"], "n_features": n_features}
    table |= {"labelled": given["labelled"] is None}
    if chosen == "parquet":
        from metricwise.io.parquet import ParquetSource

        _refuse(chosen, given, allowed=("target", "weight", "labelled"))
        return ParquetSource(path, dtype, **table)
    from metricwise.io.delimited import DelimitedSource

    _refuse(chosen, given, allowed=("target", "weight", "has_header", "delimiter", "labelled"))
    delimiter = given["delimiter"] or ("\t" if suffix_of(path) == ".tsv" else ",")
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise ValueError(f"delimiter must be a single ASCII character, not a quote or line end, got {delimiter!r}")
    return DelimitedSource(path, dtype, delimiter=delimiter, has_header=given["has_header"], **table)


def _refuse(chosen: str, given: dict[str, Any], allowed: tuple[str, ...]) -> None:
    for name, value in given.items():
        if value is not None and name not in allowed:
            raise ValueError(f"{name}={value!r} has no meaning for the format {chosen!r}: leave it out")


def checked_path(path: str | os.PathLike[str]) -> str:
    """Return the path of a file that is there and not empty."""
    name = existing_file(path)
    if os.path.getsize(name) == 0:
        raise ValueError(f"{name} has no rows: the file is empty")
    return name


def _format_of(path: str, format: str | None) -> str:
    if format in FORMATS:
        return str(format)
    choices = ", ".join(map(repr, FORMATS))
    if format is not None:
        raise ValueError(f"format must be one of {choices}, got {format!r}")
    for name, suffixes in FORMATS.items():
        if suffix_of(path) in suffixes:
            return name
    raise ValueError(f"{path}: the suffix {suffix_of(path)!r} does not tell the format: pass format=, one of {choices}")


def _check_count(name: str, value: object, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more, got {value!r}")
