"""A file of labelled rows as a stream of chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Literal

import numpy as np

from metricwise.io.chunks import Chunk, Piece, Reader, Source, join_pieces, read_rows
from metricwise.io.errors import MalformedLineError, SkipLog, UndecodableTextError
from metricwise.io.hashing import HashedColumns, HashOptions, make_hash_options
from metricwise.io.labels import refuse_inexact
from metricwise.io.options import check_float_type
from metricwise.io.roles import Which
from metricwise.io.spec import FileSpec, Format, check_count, describe_file

STREAMED: tuple[Format, ...] = ("svmlight", "csv", "parquet")


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
        Whether a malformed line raises an error or is left out.

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
        return self._source.spec.path

    @property
    def format(self) -> str:
        """How the file is written."""
        return self._source.spec.format

    @property
    def decimal(self) -> str:
        """The decimal point of the numbers of a text."""
        return self._source.spec.decimal or "."

    @property
    def recognised(self) -> str:
        """One sentence on the format that was recognised."""
        return self._source.spec.description

    @property
    def chunk_rows(self) -> int:
        """Rows in a chunk; the last may have fewer."""
        return self._chunk_rows

    @property
    def n_features(self) -> int:
        """The number of features; an svmlight file is read once to find it, unless it was given."""
        known = self._source.known_features
        return self._prepare() if known is None else known

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns of X, or None if the file has none."""
        return self._source.feature_names

    @property
    def hashed_columns(self) -> HashedColumns | None:
        """The rule by which words and categories become features; None if the features are the columns."""
        if self._source.hashing is not None:
            self._prepare()
        return self._source.hashed_columns

    @property
    def n_rows(self) -> int | None:
        """The number of rows without malformed ones; None until it is known, after the first complete iteration."""
        if self._n_rows is None and self._on_error == "raise":
            return self._source.known_rows
        return self._n_rows

    @property
    def skipped(self) -> int:
        """The number of malformed lines that the latest iteration has left out so far."""
        return self._log.count

    @property
    def skipped_lines(self) -> list[str]:
        """What was wrong with the first of those lines."""
        return list(self._log.messages)

    @property
    def skipped_summary(self) -> str | None:
        """The text of the warning about those lines; None if there are none."""
        return self._log.summary

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    def __repr__(self) -> str:
        known = {"n_features": self._source.known_features, "n_rows": self.n_rows}
        facts = "".join(f", {name}={value}" for name, value in known.items() if value is not None)
        return f"Stream({self.path!r}, format={self.format!r}, chunk_rows={self._chunk_rows}{facts})"

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        r"""Yield the chunks from number ``start`` on, as a whole iteration would yield them.

        Earlier lines are skipped without being parsed, unless malformed lines are left out: then every line is parsed
        to count the valid ones.

        Parameters
        ----------
        start : int, default=0
            The number of chunks to skip.

        Returns
        -------
        iterator of Chunk
            Yields the chunks from number ``start`` on.

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
        check_count("start", start, least=0)
        return self._chunks(start)

    def _chunks(self, start: int) -> Iterator[Chunk]:
        self._prepare()
        self._log = log = SkipLog()
        first_row = 0
        with closing(self._source.open(log if self._on_error == "skip" else None)) as reader:
            if start:
                first_row = reader.skip(start * self._chunk_rows)
            while pieces := self._read_chunk(reader):
                chunk = join_pieces(self.path, pieces, first_row)
                refuse_inexact(f"{self.path}, rows {first_row + 1} to {first_row + len(chunk.y)}", chunk.y)
                first_row += len(chunk.y)
                yield chunk
        self._n_rows = first_row
        log.warn(stacklevel=2)

    def _read_chunk(self, reader: Reader) -> list[Piece]:
        with _suggest_skipping():
            return read_rows(reader, self._chunk_rows)

    def _prepare(self) -> int:
        with _suggest_skipping():
            return self._source.prepare(self._chunk_rows, SkipLog() if self._on_error == "skip" else None)


@contextmanager
def _suggest_skipping() -> Iterator[None]:
    """Add to the error about a malformed line that on_error='skip' leaves out such lines."""
    try:
        yield
    except UndecodableTextError:
        raise
    except MalformedLineError as error:
        error.problem += "; on_error='skip' leaves out such lines"
        raise


def stream(
    path: str | os.PathLike[str],
    *,
    format: Literal["svmlight", "csv", "parquet"] | None = None,
    chunk_rows: int = 10_000,
    target: Which | Sequence[Which] | None = None,
    weight: Which | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[Which] = (),
    labelled: bool = True,
    delimiter: str | None = None,
    has_header: bool | None = None,
    decimal: str | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    encoding: str | None = None,
    dtype: Any = np.float64,
    on_error: Literal["raise", "skip"] = "raise",
    categories: Sequence[Which] = (),
    texts: Sequence[Which] = (),
    hash_features: int | None = None,
) -> Stream:
    r"""Read labelled rows from a file of any size in chunks.

    Chunks depend on the rows and ``chunk_rows`` alone. Text files may be compressed with gzip, whatever their name.
    Numbers are those of Python's ``float``, to the last bit; nan and infinity are malformed. Labels are numbers
    (float64) if all labels of the first chunk are, else text.

    Parameters
    ----------
    path : str or path-like
        The file.
    format : {"svmlight", "csv", "parquet"}, default=None
        Format of the file; recognised by its suffix and its first lines by default.
    chunk_rows : int, default=10_000
        Rows in a chunk; the last may have fewer.
    target : str or int, default=None
        The column of labels, by name or position; the last by default. In svmlight files the label comes first.
    weight : str or int, default=None
        The column of sample weights, if there is one. Not for svmlight files.
    columns : sequence of str, default=None
        The features by name, in this order; other columns are ignored.
    drop : sequence of str or int, default=()
        Columns to leave out, by name or position.
    labelled : bool, default=True
        Whether labels are read. If not, all columns but the weight are features, and tables have zeros for labels:
        samples to predict.
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
    dtype : {float64, float32}, default=float64
        The type of the features.
    on_error : {"raise", "skip"}, default="raise"
        Whether a malformed line raises an error, or is left out, counted in ``skipped`` and warned about at the end of
        the iteration.
    categories : sequence of str or int, default=()
        Columns of categories in a CSV or Parquet file, by name or position, each hashed as "column=value".
    texts : sequence of str or int, default=()
        Columns of texts, by name or position, whose words are hashed as "column:word".
    hash_features : int, default=None
        The number of hashed features: ``2**18`` if ``categories`` or ``texts`` are named, else none. If given, columns
        that are not numbers in the first 10,000 rows are categories, and numbers may be missing: these are zero and
        the hashed feature "column=". X is sparse, with the columns of numbers before the hashed features.

    Returns
    -------
    Stream
        The chunks; every iteration reads the file again.

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
    hashing = make_hash_options(hash_features, categories, texts)
    spec = describe_file(
        path,
        STREAMED,
        format=format,
        target=target,
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
    return make_stream(spec, chunk_rows, dtype, on_error, hashing)


def make_stream(
    spec: FileSpec,
    chunk_rows: int,
    dtype: Any,
    on_error: Literal["raise", "skip"],
    hashing: HashOptions | None = None,
) -> Stream:
    """Return the stream of chunks of a file with a known description."""
    check_count("chunk_rows", chunk_rows, least=1)
    type_ = check_float_type(dtype)
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
    if len(spec.roles.target or ()) > 1:
        raise ValueError(f"{spec.path}: rows in chunks have one label, and target names several: name one")
    return Stream(_make_source(spec, type_, hashing), int(chunk_rows), on_error)


def _make_source(spec: FileSpec, dtype: np.dtype[Any], hashing: HashOptions | None) -> Source:
    # The formats load numba or pyarrow, which ``import metricwise.io`` does without.
    if spec.format == "svmlight":
        if hashing is not None:
            raise ValueError(
                f"{spec.path}: the features of an svmlight file are numbers, and none is hashed: leave "
                "categories, texts and hash_features out"
            )
        from metricwise.io.svmlight import SvmlightSource

        return SvmlightSource(spec, dtype)
    if spec.format == "parquet":
        from metricwise.io.parquet import ParquetSource

        return ParquetSource(spec, dtype, hashing)
    from metricwise.io.delimited_chunks import DelimitedSource

    return DelimitedSource(spec, dtype, hashing)
