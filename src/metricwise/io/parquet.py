"""Parquet files, through pyarrow."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats
from metricwise.io.chunks import Piece
from metricwise.io.columns import Content, Field, sort_categories
from metricwise.io.errors import MalformedLineError, SkipLog, name_damaged_file
from metricwise.io.hashing import ColumnKind, HashedColumns, HashOptions
from metricwise.io.labels import ENDS_WITH_NUL
from metricwise.io.roles import Roles, assign_roles
from metricwise.io.spec import FileSpec

_BATCH_ROWS = 10_000


class Column(NamedTuple):
    """The name and the type of a column."""

    name: str
    kind: Literal["number", "text", "other"]
    type: str


class ParquetTable:
    """The columns of a Parquet file: made by `open_parquet`."""

    def __init__(self, source: Any, name: str) -> None:
        self._name = name
        self._file = import_module("pyarrow.parquet").ParquetFile(source)
        self._arrow = import_module("pyarrow")
        import_module("pyarrow.compute")
        self.n_rows = int(self._file.metadata.num_rows)
        self.columns = [
            Column(field.name, self._kind(field.type), str(field.type)) for field in self._file.schema_arrow
        ]

    def _kind(self, type_: Any) -> Literal["number", "text", "other"]:
        types = self._arrow.types
        if types.is_dictionary(type_):
            return "text" if self._kind(type_.value_type) == "text" else "other"
        if any(test(type_) for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)):
            return "number"
        if types.is_duration(type_):
            return "number"
        # Dates become texts as a CSV file has them, and are recognised like those.
        texts = (types.is_string, types.is_large_string, types.is_date, types.is_timestamp)
        return "text" if any(test(type_) for test in texts) else "other"

    def holds_whole_numbers(self, number: int) -> bool:
        """Return whether the type of a column has whole numbers only, which may be codes of categories."""
        return bool(self._arrow.types.is_integer(self._file.schema_arrow.field(number).type))

    def batches(self, numbers: list[int], start: int, as_written: Collection[int] = ()) -> Iterator[list[NDArray[Any]]]:
        """Yield some columns of consecutive rows: float64 with nan for null, or objects with None for null.

        Row groups before row ``start`` are not read. Whole numbers of the columns ``as_written`` are texts.
        """
        names = self._select(numbers)
        for group in range(self._file.num_row_groups):
            size = self._file.metadata.row_group(group).num_rows
            if start >= size:
                start -= size
                continue
            # One group at a time: given several, pyarrow keeps all that it has read until the last is done.
            for batch in self._file.iter_batches(_BATCH_ROWS, row_groups=[group], columns=names):
                part = batch.slice(start)
                start -= batch.num_rows - part.num_rows
                if part.num_rows:
                    columns = {number: part.column(self.columns[number].name) for number in numbers}
                    yield [
                        np.array(column.cast(self._arrow.string()).to_pylist(), dtype=object)
                        if number in as_written and self.holds_whole_numbers(number)
                        else self._values(column, number)
                        for number, column in columns.items()
                    ]

    def _select(self, numbers: list[int]) -> list[str]:
        """Return the names of some columns; raise if another column has one of them, as pyarrow finds them by name."""
        every = [column.name for column in self.columns]
        names = [every[number] for number in numbers]
        for name in names:
            if every.count(name) > 1:
                raise ValueError(f"{self._name} has more than one column {name!r}: give each a name of its own")
        return names

    def read(self, numbers: list[int], as_written: Collection[int] = ()) -> list[Field]:
        """Return all rows of some columns; of those ``as_written``, whole numbers as texts, to the last digit."""
        with name_damaged_file(self._name, "Parquet"):
            return self._read(numbers, as_written)

    def _read(self, numbers: list[int], as_written: Collection[int]) -> list[Field]:
        table = self._file.read(columns=self._select(numbers))
        fields = []
        for number in numbers:
            column = table.column(self.columns[number].name)
            if number in as_written and self.holds_whole_numbers(number):
                column = column.cast(self._arrow.string())
            elif self.columns[number].kind != "text":
                fields.append(Field(self._values(column, number)))
                continue
            if self._arrow.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            if self._arrow.types.is_temporal(column.type):
                column = column.cast(self._arrow.string())
            codes = column.combine_chunks().dictionary_encode()
            found = np.asarray(codes.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
            fields.append(sort_categories(found, [str(text) for text in codes.dictionary.to_pylist()]))
        return fields

    def _values(self, values: Any, number: int) -> NDArray[Any]:
        if self.columns[number].kind == "text":
            return np.array(values.to_pylist(), dtype=object)
        if self._arrow.types.is_duration(values.type):
            microseconds = values.cast(self._arrow.duration("us"), safe=False).cast(self._arrow.int64())
            values = self._arrow.compute.divide(microseconds.cast(self._arrow.float64()), 1e6)
        # Nulls become nan, which no row may hold either.
        numbers = values.cast(self._arrow.float64(), safe=False)
        if isinstance(numbers, self._arrow.ChunkedArray):
            return np.asarray(numbers.to_numpy(), np.float64)
        return np.asarray(numbers.to_numpy(zero_copy_only=False), np.float64)


def open_parquet(source: Any, name: str) -> ParquetTable:
    """Open a Parquet file, given by path or open already; messages call it ``name``."""
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError(f"{name} is a Parquet file, which needs pyarrow: pip install metricwise[parquet]") from None
    with name_damaged_file(name, "Parquet"):
        return ParquetTable(source, name)


def read_columns(path: str, table: ParquetTable, roles: Roles) -> Content:
    """Return the columns that have a role."""
    if not table.n_rows:
        raise ValueError(f"{path} has no rows")
    for number in roles.used:
        column = table.columns[number]
        if column.kind == "other":
            raise ValueError(f"{path}: column {column.name!r} is of type {column.type}: convert it to numbers or text")
        wanted = roles.kinds.get(number, column.kind)
        if wanted != column.kind and not (wanted == "text" and table.holds_whole_numbers(number)):
            raise ValueError(f"{path}: column {column.name!r} is of type {column.type}, but a {wanted} is needed")
    as_written = [number for number in roles.used if roles.kinds.get(number) == "text"]
    fields = dict(zip(roles.used, table.read(roles.used, as_written), strict=True))
    for number, field in fields.items():
        infinite = np.zeros(0) if field.is_text else np.flatnonzero(np.isinf(field.values))
        if infinite.size:
            problem = f"found an infinite number in column {table.columns[number].name!r}: correct it"
            raise MalformedLineError(path, int(infinite[0]) + 1, number + 1, problem)
    return Content(fields, table.n_rows, lambda row, number: (row + 1, number + 1))


class ParquetSource:
    """A Parquet file, in chunks."""

    def __init__(self, spec: FileSpec, dtype: np.dtype[Any], hashing: HashOptions | None = None) -> None:
        self.spec, self._dtype, self.hashing = spec, dtype, hashing
        table = open_parquet(spec.path, spec.path)
        names = [column.name for column in table.columns]
        self._roles = roles = assign_roles(spec.path, names, len(names), spec.roles)
        self.known_rows, self.known_features = table.n_rows, len(roles.features)
        self.feature_names = roles.feature_names
        for number in roles.used:
            column, is_target = table.columns[number], number in roles.targets
            if column.kind == "other" or (column.kind == "text" and not is_target and hashing is None):
                hint = f", or hash it by metricwise.io.stream with categories=[{column.name!r}]"
                hint = hint if column.kind == "text" else ""
                fix = "name another target" if is_target else f"encode the column as numbers or drop it{hint}"
                raise ValueError(f"{spec.path}: column {column.name!r} is of type {column.type}: {fix}")
        self.hashed_columns = None if hashing is None else self._find_kinds(hashing, table, names)
        if self.hashed_columns is not None:
            self.known_features = self.hashed_columns.n_features

    def _find_kinds(self, options: HashOptions, table: ParquetTable, names: list[str]) -> HashedColumns:
        """Return the rule of hashing: columns are of the kinds that their types and the options name."""
        given, kinds = options.find_kinds(self.spec.path, names, len(names)), list[ColumnKind]()
        for number, kind in given.items():
            column = table.columns[number]
            is_text = column.kind == "text" or table.holds_whole_numbers(number)
            if not is_text or number not in self._roles.features:
                wrong = "is no feature" if is_text else f"is of type {column.type}"
                raise ValueError(
                    f"{self.spec.path}: column {column.name!r} is named as a {kind}, and {wrong}: leave it out, or "
                    "convert the column to text"
                )
        for number in self._roles.features:
            kinds.append(given.get(number, "number" if table.columns[number].kind == "number" else "category"))
        return HashedColumns(self.feature_names, tuple(kinds), options.n_hashed)

    def prepare(self, chunk_rows: int, log: SkipLog | None) -> int:
        """Return the number of features; raise a ValueError if there are no rows."""
        if self.known_rows == 0:
            raise ValueError(f"{self.spec.path} has no rows")
        return self.known_features

    def open(self, log: SkipLog | None) -> ParquetReader:
        """Start a pass over the file."""
        return ParquetReader(self.spec.path, self._roles, self._dtype, log, self.hashed_columns)


class ParquetReader:
    """One pass over a Parquet file."""

    def __init__(
        self,
        path: str,
        roles: Roles,
        dtype: np.dtype[Any],
        log: SkipLog | None,
        rule: HashedColumns | None = None,
    ) -> None:
        self._rule = rule
        self._path, self._roles, self._dtype, self._log = path, roles, dtype, log
        self._table = open_parquet(path, path)
        self._used = sorted(roles.used)
        kinds = () if rule is None else zip(roles.features, rule.kinds, strict=True)
        self._as_written = [number for number, kind in kinds if kind != "number"]
        self._batches = self._table.batches(self._used, 0, self._as_written)
        self._row = 0
        self._rest: Piece | None = None
        self._pending: MalformedLineError | None = None

    def close(self) -> None:
        """Close the file."""
        self._batches = iter(())
        del self._table

    def skip(self, count: int) -> int:
        """Skip ``count`` rows and return how many; they are read only if malformed ones are left out."""
        if self._log is None:
            self._row = min(count, self._table.n_rows)
            self._batches = self._table.batches(self._used, self._row, self._as_written)
            return self._row
        passed = 0
        while passed < count and (piece := self.read(count - passed)) is not None:
            passed += len(piece.y)
        return passed

    def read(self, count: int) -> Piece | None:
        """Return at least one and at most ``count`` rows; None at the end of the file."""
        while self._rest is None or not len(self._rest.y):
            if self._pending is not None:
                raise self._pending
            with name_damaged_file(self._path, "Parquet"):
                batch = next(self._batches, None)
            if batch is None:
                return None
            self._rest = self._check_batch(batch)
        X, y, weights, _ = self._rest
        self._rest = Piece(X[count:], y[count:], None if weights is None else weights[count:])
        # A copy, so that a small chunk does not keep the rest of the batch in memory.
        return Piece(X[:count].copy(), y[:count].copy(), None if weights is None else weights[:count].copy())

    def _check_batch(self, batch: list[NDArray[Any]]) -> Piece:
        """Return the valid rows of a batch; without a log, those before the first invalid one."""
        columns = dict(zip(self._used, batch, strict=True))
        bad = np.array([self._is_bad(values, number) for number, values in columns.items()])
        valid = np.asarray(~bad.any(axis=0))
        for row in np.flatnonzero(~valid):
            number = self._used[int(np.flatnonzero(bad[:, row])[0])]
            error = self._error(columns[number][row], int(row), number)
            if self._log is None:
                self._pending = error
                valid[row:] = False
                break
            self._log.add(error)
        self._row += len(valid)
        return self._piece(columns, valid)

    def _is_bad(self, values: NDArray[Any], number: int) -> NDArray[np.bool_]:
        if self._rule is not None and number in self._roles.features:
            # Missing values are hashed; nan compares as false.
            is_text = values.dtype == object
            return np.zeros(len(values), bool) if is_text else np.abs(values) > np.finfo(self._dtype).max
        if values.dtype == object:
            return np.array([value is None or str(value).endswith("\0") for value in values.tolist()])
        is_feature = number not in self._roles.targets and number != self._roles.weight
        limit = np.finfo(self._dtype if is_feature else np.float64).max
        good = np.abs(values) <= limit  # false for nan
        return np.asarray(~(good & (values >= 0.0)) if number == self._roles.weight else ~good)

    def _error(self, value: Any, row: int, number: int) -> MalformedLineError:
        name = self._table.columns[number].name
        if isinstance(value, str):
            return MalformedLineError(self._path, self._row + row + 1, number + 1, f"column {name!r}: {ENDS_WITH_NUL}")
        found = "a null or nan" if value is None or np.isnan(value) else f"{float(value)!r}"
        wanted = "a weight, not negative," if number == self._roles.weight else "a finite value"
        problem = f"found {found} in column {name!r} where {wanted} belongs: fill it in or drop the row"
        return MalformedLineError(self._path, self._row + row + 1, number + 1, problem)

    def _piece(self, columns: dict[int, NDArray[Any]], valid: NDArray[np.bool_]) -> Piece:
        X = self._features(columns, valid)
        weights: Floats | None = None if self._roles.weight is None else columns[self._roles.weight][valid]
        if not self._roles.targets:
            return Piece(X, np.zeros(X.shape[0]), weights)
        y = columns[self._roles.targets[0]][valid]
        return Piece(X, y.astype(np.str_) if y.dtype == object else y, weights)

    def _features(self, columns: dict[int, NDArray[Any]], valid: NDArray[np.bool_]) -> Any:
        if self._rule is not None:
            return self._rule.transform_columns(
                [columns[number][valid] for number in self._roles.features], self._dtype
            )
        X = np.empty((int(np.count_nonzero(valid)), len(self._roles.features)), dtype=self._dtype)
        for at, number in enumerate(self._roles.features):
            X[:, at] = columns[number][valid]
        return X
