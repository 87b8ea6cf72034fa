"""Parquet files, through pyarrow or else polars."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats
from metricwise.io.chunks import Piece
from metricwise.io.columns import TARGET, WEIGHT, roles_of
from metricwise.io.errors import MalformedLineError, SkipLog
from metricwise.io.roles import Content, Field, Roles, in_order

NUMBER, TEXT, OTHER = "number", "text", "other"
_BATCH_ROWS = 10_000
_SLICE_VALUES = 2_000_000


class Column(NamedTuple):
    """The name and the type of a column."""

    name: str
    kind: str
    type: str


class Table(Protocol):
    """A Parquet file as a library sees it."""

    columns: list[Column]
    n_rows: int

    def batches(self, start: int) -> Iterator[list[NDArray[Any]]]:
        """Yield the columns of consecutive rows: float64 with nan for null, or objects with None for null."""
        ...

    def whole(self, numbers: list[int]) -> list[Field]:
        """Return all rows of some columns."""
        ...


class ArrowTable:
    """A Parquet file as pyarrow sees it."""

    def __init__(self, source: Any) -> None:
        parquet = import_module("pyarrow.parquet")
        self._file = parquet.ParquetFile(source)
        self._arrow = import_module("pyarrow")
        self.n_rows = int(self._file.metadata.num_rows)
        self.columns = [
            Column(field.name, self._kind(field.type), str(field.type)) for field in self._file.schema_arrow
        ]

    def _kind(self, type_: Any) -> str:
        types = self._arrow.types
        if types.is_dictionary(type_):
            return TEXT if self._kind(type_.value_type) == TEXT else OTHER
        if any(test(type_) for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)):
            return NUMBER
        return TEXT if types.is_string(type_) or types.is_large_string(type_) else OTHER

    def batches(self, start: int) -> Iterator[list[NDArray[Any]]]:
        """Yield the columns of consecutive rows, without reading the row groups before them."""
        for group in range(self._file.num_row_groups):
            size = self._file.metadata.row_group(group).num_rows
            if start >= size:
                start -= size
                continue
            # Group by group: given several, pyarrow holds what it has read of them until the last is done.
            for batch in self._file.iter_batches(_BATCH_ROWS, row_groups=[group]):
                part = batch.slice(start)
                start -= batch.num_rows - part.num_rows
                if part.num_rows:
                    yield [self._values(part.column(at), column.kind) for at, column in enumerate(self.columns)]

    def whole(self, numbers: list[int]) -> list[Field]:
        """Return all rows of some columns."""
        table = self._file.read(columns=[self.columns[number].name for number in numbers])
        fields = []
        for at, number in enumerate(numbers):
            column = table.column(at)
            if self.columns[number].kind != TEXT:
                fields.append(Field(self._values(column, NUMBER)))
                continue
            if self._arrow.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            codes = column.combine_chunks().dictionary_encode()
            found = np.asarray(codes.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
            fields.append(in_order(found, [str(text) for text in codes.dictionary.to_pylist()]))
        return fields

    def _values(self, values: Any, kind: str) -> NDArray[Any]:
        if kind == TEXT:
            return np.array(values.to_pylist(), dtype=object)
        # Nulls become nan, which no row may hold either.
        numbers = values.cast(self._arrow.float64(), safe=False)
        if isinstance(numbers, self._arrow.ChunkedArray):
            return np.asarray(numbers.to_numpy(), np.float64)
        return np.asarray(numbers.to_numpy(zero_copy_only=False), np.float64)


class PolarsTable:
    """A Parquet file as polars sees it."""

    def __init__(self, source: Any) -> None:
        polars = import_module("polars")
        self._polars = polars
        self._frame = polars.scan_parquet(source, glob=False)
        schema = self._frame.collect_schema()
        self.n_rows = int(self._frame.select(polars.len()).collect().item())
        self.columns = [Column(name, self._kind(type_), str(type_)) for name, type_ in schema.items()]

    def _kind(self, type_: Any) -> str:
        if type_.is_numeric() or type_ == self._polars.Boolean:
            return NUMBER
        return TEXT if type_ in (self._polars.String, self._polars.Categorical, self._polars.Enum) else OTHER

    def batches(self, start: int) -> Iterator[list[NDArray[Any]]]:
        """Yield the columns of consecutive rows."""
        # Every slice starts from the beginning of its row group, so that it had better not be short.
        rows = max(_BATCH_ROWS, _SLICE_VALUES // len(self.columns))
        for first in range(start, self.n_rows, rows):
            part = self._frame.slice(first, rows).collect()
            yield [self._values(part[column.name], column.kind) for column in self.columns]

    def whole(self, numbers: list[int]) -> list[Field]:
        """Return all rows of some columns."""
        frame = self._frame.select([self.columns[number].name for number in numbers]).collect()
        fields = []
        for at, number in enumerate(numbers):
            series = frame.to_series(at)
            if self.columns[number].kind != TEXT:
                fields.append(Field(self._values(series, NUMBER)))
                continue
            texts = series.cast(self._polars.String)
            categories = texts.drop_nulls().unique().sort()
            codes = texts.cast(self._polars.Enum(categories)).to_physical().cast(self._polars.Int64).fill_null(-1)
            fields.append(Field(codes.to_numpy(), categories.to_list()))
        return fields

    def _values(self, values: Any, kind: str) -> NDArray[Any]:
        if kind == TEXT:
            return np.array(values.cast(self._polars.String).to_list(), dtype=object)
        return np.asarray(values.cast(self._polars.Float64).to_numpy(), dtype=np.float64)


def open_table(source: Any, name: str | None = None) -> Table:
    """Open a Parquet file, or an open one of this name, with the first of pyarrow and polars that is installed."""
    for module, table in (("pyarrow.parquet", ArrowTable), ("polars", PolarsTable)):
        try:
            import_module(module)
        except ImportError:
            continue
        try:
            return table(source)
        except Exception as error:
            raise _unreadable(name or source, error) from error
    raise ImportError("Parquet files need pyarrow or polars: pip install metricwise[parquet]")


def _unreadable(name: str, error: Exception) -> ValueError:
    """Return an error of one line; the libraries have errors of their own for files they cannot read."""
    return ValueError(f"{name} cannot be read as Parquet: {' '.join(str(error).split())}")


def read_fields(path: str, table: Table, roles: Roles) -> Content:
    """Return the columns that have a role; the others are left empty."""
    used = [*roles.features, *roles.targets, *([] if roles.weight is None else [roles.weight])]
    for number in used:
        column = table.columns[number]
        if column.kind == OTHER:
            raise ValueError(f"{path}: column {column.name!r} is of type {column.type}: convert it to numbers or text")
        if roles.kinds.get(number, column.kind) != column.kind:
            wanted = roles.kinds[number]
            raise ValueError(f"{path}: column {column.name!r} is of type {column.type}, but a {wanted} is needed")
    try:
        found = table.whole(used)
    except Exception as error:
        raise _unreadable(path, error) from error
    for number, field in zip(used, found, strict=True):
        infinite = np.zeros(0) if field.is_text else np.flatnonzero(np.isinf(field.values))
        if infinite.size:
            problem = f"found an infinite number in column {table.columns[number].name!r}: correct it"
            raise MalformedLineError(path, int(infinite[0]) + 1, number + 1, problem)
    empty = Field(np.zeros(table.n_rows))
    fields = dict(zip(used, found, strict=True))
    if not table.n_rows:
        raise ValueError(f"{path} has no rows")
    return Content(
        [fields.get(number, empty) for number in range(len(table.columns))], lambda row, number: (row + 1, number + 1)
    )


class ParquetSource:
    """A Parquet file."""

    format = "parquet"

    def __init__(
        self,
        path: str,
        dtype: Any,
        *,
        target: str | int | None,
        weight: str | int | None,
        n_features: int | None,
        labelled: bool,
    ) -> None:
        self.path = path
        self._dtype = dtype
        table = open_table(path)
        self._columns = table.columns
        names = [column.name for column in table.columns]
        self._roles = roles_of(path, names, len(names), target, weight, n_features, labelled)
        self.known_rows = table.n_rows
        self.known_features = int(np.count_nonzero(self._roles >= 0))
        self._check_types()

    def _check_types(self) -> None:
        for column, role in zip(self._columns, self._roles, strict=True):
            if column.kind == OTHER or (column.kind == TEXT and role != TARGET):
                fix = "name another target" if role == TARGET else "encode the column as numbers or drop it"
                raise ValueError(f"{self.path}: column {column.name!r} is of type {column.type}: {fix}")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns of features."""
        return tuple(column.name for column, role in zip(self._columns, self._roles, strict=True) if role >= 0)

    def prepare(self, chunk_rows: int, log: SkipLog | None) -> int:
        """Nothing is left to find out; a table without rows is an error."""
        if self.known_rows == 0:
            raise ValueError(f"{self.path} has no rows")
        return self.known_features

    def open(self, log: SkipLog | None) -> ParquetReader:
        """Start a pass over the file."""
        return ParquetReader(self.path, self._columns, self._roles, self._dtype, log)


class ParquetReader:
    """One pass over a Parquet file."""

    def __init__(
        self, path: str, columns: list[Column], roles: NDArray[np.int64], dtype: Any, log: SkipLog | None
    ) -> None:
        self._path = path
        self._columns = columns
        self._roles = roles
        self._dtype = dtype
        self._log = log
        self._table = open_table(path)
        self._batches = self._table.batches(0)
        self._row = 0
        self._rest: Piece | None = None
        self._pending: MalformedLineError | None = None

    def close(self) -> None:
        """Let go of the file."""
        self._batches = iter(())
        del self._table

    def skip(self, count: int) -> int:
        """Pass over so many rows; they need not be read unless malformed ones are left out."""
        if self._log is None:
            self._row = min(count, self._table.n_rows)
            self._batches = self._table.batches(self._row)
            return self._row
        passed = 0
        while passed < count and (piece := self.read(count - passed)) is not None:
            passed += len(piece.y)
        return passed

    def read(self, count: int) -> Piece | None:
        """Return at least one and at most so many rows; None at the end of the file."""
        while self._rest is None or not len(self._rest.y):
            if self._pending is not None:
                raise self._pending
            try:
                batch = next(self._batches, None)
            except Exception as error:
                raise _unreadable(self._path, error) from error
            if batch is None:
                return None
            self._rest = self._checked(batch)
        X, y, weights = self._rest
        self._rest = Piece(X[count:], y[count:], None if weights is None else weights[count:])
        # A copy, so that a small chunk does not keep the rest of the batch in memory.
        return Piece(X[:count].copy(), y[:count].copy(), None if weights is None else weights[:count].copy())

    def _checked(self, batch: list[NDArray[Any]]) -> Piece:
        """Return the valid rows of a batch; without a log, those before the first that is not."""
        bad = np.array([self._bad_values(values, role) for values, role in zip(batch, self._roles, strict=True)])
        valid = np.asarray(~bad.any(axis=0))
        for row in np.flatnonzero(~valid):
            error = self._error(batch, int(row), int(np.flatnonzero(bad[:, row])[0]))
            if self._log is None:
                self._pending = error
                valid[row:] = False
                break
            self._log.add(error)
        self._row += len(valid)
        return self._piece(batch, valid)

    def _bad_values(self, values: NDArray[Any], role: int) -> NDArray[np.bool_]:
        if values.dtype == object:
            return np.array([value is None for value in values.tolist()])
        limit = np.finfo(self._dtype if role >= 0 else np.float64).max
        good = np.abs(values) <= limit  # false for nan
        return np.asarray(~(good & (values >= 0.0)) if role == WEIGHT else ~good)

    def _error(self, batch: list[NDArray[Any]], row: int, at: int) -> MalformedLineError:
        value = batch[at][row]
        found = "a null or nan" if value is None or np.isnan(value) else f"{float(value)!r}"
        wanted = "a weight, not negative," if self._roles[at] == WEIGHT else "a finite value"
        problem = (
            f"found {found} in column {self._columns[at].name!r} where {wanted} belongs: fill it in or drop the row"
        )
        return MalformedLineError(self._path, self._row + row + 1, at + 1, problem)

    def _piece(self, batch: list[NDArray[Any]], valid: NDArray[np.bool_]) -> Piece:
        X = np.empty((int(np.count_nonzero(valid)), int(np.count_nonzero(self._roles >= 0))), dtype=self._dtype)
        y: NDArray[Any] = np.zeros(len(X))  # it stays so in a table without labels
        weights: Floats | None = None
        for values, role in zip(batch, self._roles.tolist(), strict=True):
            if role >= 0:
                X[:, role] = values[valid]
            elif role == WEIGHT:
                weights = values[valid]
            else:
                y = values[valid].astype(np.str_) if values.dtype == object else values[valid]
        return Piece(X, y, weights)
