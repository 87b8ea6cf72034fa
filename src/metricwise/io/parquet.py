"""Parquet files, through pyarrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from decimal import Decimal
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
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}  # of a second
# pyarrow writes all digits of the unit of a column; Python none, six or nine, and another time zone.
_FRACTIONS = {
    "s": (),
    "ms": ((r"\.000", ""), (r"(\.\d{3})", r"\1000")),
    "us": ((r"\.000000", ""),),
    "ns": ((r"\.000000000", ""), (r"(\.\d{6})000", r"\1")),
}
_ZONES = ((r"Z$", "+00:00"), (r"([+-]\d\d)(\d\d)$", r"\1:\2"))
_EXACT = 2.0**53  # below which every whole number is a double


def _write_floats(numbers: NDArray[Any]) -> list[str | None]:
    """Return numbers as Python writes them, whole ones without a point, and None for NaN.

    pyarrow writes large whole numbers, such as keys of rows, with an exponent.
    """
    values = numbers.tolist()
    digits = values if numbers.dtype == np.float64 else numbers  # as Python numbers, floats of Parquet have too many
    return [
        None if value != value else str(int(value)) if abs(value) < _EXACT and value.is_integer() else str(number)
        for value, number in zip(values, digits, strict=True)
    ]


def _is_merged(text: str | None, number: float) -> bool:
    """Return whether a number does not determine its text, so that its neighbours may have become equal."""
    return text is not None and Decimal(text) != Decimal(repr(number))


class Column(NamedTuple):
    """The name and the type of a column, and whether that has whole numbers only, which may be codes of categories."""

    name: str
    kind: Literal["number", "text", "other"]
    type: str
    is_whole: bool


class ParquetTable:
    """The columns of a Parquet file: made by `open_parquet`."""

    def __init__(self, source: Any, name: str) -> None:
        self._name = name
        self._file = import_module("pyarrow.parquet").ParquetFile(source)
        self._arrow = import_module("pyarrow")
        self._compute = import_module("pyarrow.compute")
        self.n_rows = int(self._file.metadata.num_rows)
        is_whole = self._arrow.types.is_integer
        self.columns = [
            Column(field.name, self._kind(field.type), str(field.type), bool(is_whole(field.type)))
            for field in self._file.schema_arrow
        ]
        self._name_counts = Counter(column.name for column in self.columns)

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

    def batches(
        self, numbers: list[int], start: int, as_texts: Collection[int] = (), exact: Collection[int | None] = ()
    ) -> Iterator[list[NDArray[Any]]]:
        """Yield some columns of consecutive rows: float64 with nan for null, or objects with None for null.

        Row groups before row ``start`` are not read. Columns ``as_texts`` are texts, whatever their type; columns
        ``exact`` must have numbers that differ in double precision, too.
        """
        names, n_before = self._select(numbers), 0
        for group in range(self._file.num_row_groups):
            size = self._file.metadata.row_group(group).num_rows
            if start >= n_before + size:
                n_before += size
                continue
            # One group at a time: given several, pyarrow keeps all that it has read until the last is done.
            for batch in self._file.iter_batches(_BATCH_ROWS, row_groups=[group], columns=names):
                part = batch.slice(max(start - n_before, 0))
                n_before += batch.num_rows
                if part.num_rows:
                    first = n_before - part.num_rows
                    columns = {number: part.column(self.columns[number].name) for number in numbers}
                    yield [
                        np.array(self._texts(column, number, first).to_pylist(), dtype=object)
                        if number in as_texts or self.columns[number].kind == "text"
                        else self._values(column, number, first, is_exact=number in exact)
                        for number, column in columns.items()
                    ]

    def _select(self, numbers: list[int]) -> list[str]:
        """Return the names of some columns; raise if another column has one of them, as pyarrow finds them by name."""
        names = [self.columns[number].name for number in numbers]
        for name in names:
            if self._name_counts[name] > 1:
                raise ValueError(f"{self._name} has more than one column {name!r}: give each a name of its own")
        return names

    def read(
        self, numbers: list[int], as_texts: Collection[int] = (), exact: Collection[int | None] = ()
    ) -> list[Field]:
        """Return all rows of some columns; what ``as_texts`` and ``exact`` mean, `batches` explains."""
        with name_damaged_file(self._name, "Parquet"):
            return self._read(numbers, as_texts, exact)

    def _read(self, numbers: list[int], as_texts: Collection[int], exact: Collection[int | None]) -> list[Field]:
        table = self._file.read(columns=self._select(numbers))
        fields = []
        for number in numbers:
            column = table.column(self.columns[number].name)
            if number not in as_texts and self.columns[number].kind != "text":
                fields.append(Field(self._values(column, number, 0, is_exact=number in exact)))
                continue
            codes = self._texts(column.combine_chunks(), number, 0).dictionary_encode()
            found = np.asarray(codes.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
            fields.append(sort_categories(found, [str(text) for text in codes.dictionary.to_pylist()]))
        return fields

    def _texts(self, values: Any, number: int, first: int) -> Any:
        """Return the entries of a column as texts, null where missing; every way to read a file writes them so.

        Times are those of Python's ``datetime``, and so of data frames; durations are seconds.
        """
        types, string, values = self._arrow.types, self._arrow.string(), self._decode(values)
        if types.is_string(values.type) or types.is_large_string(values.type):
            return values
        if types.is_boolean(values.type):
            return values.cast(self._arrow.int8()).cast(string)  # as labels are written
        if types.is_duration(values.type):
            return self._arrow.array(self._write_seconds(values), string)
        if types.is_floating(values.type):
            return self._arrow.array(_write_floats(values.to_numpy(zero_copy_only=False)), string)
        try:
            texts = values.cast(string)
        except (self._arrow.ArrowInvalid, self._arrow.ArrowNotImplementedError) as error:
            column = self.columns[number]
            raise ValueError(
                f"{self._name}: column {column.name!r} is of type {column.type}, and its values cannot be written as "
                "text: convert it to text or numbers"
            ) from error
        if types.is_date(values.type) or types.is_timestamp(values.type):
            self._refuse_far_dates(texts, number, first)
        if types.is_timestamp(values.type):
            for pattern, text in (*_FRACTIONS[values.type.unit], *(_ZONES if values.type.tz else ())):
                texts = self._compute.replace_substring_regex(texts, pattern, text)
        return texts

    def _refuse_far_dates(self, texts: Any, number: int, first: int) -> None:
        """Raise if pyarrow does not write a date, since it is too far from now."""
        is_far = self._compute.match_substring(texts, "out of range").fill_null(False)
        if rows := np.flatnonzero(is_far.to_numpy(zero_copy_only=False)).tolist():
            raise ValueError(
                f"{self._name}, row {first + rows[0] + 1}: the date in column {self.columns[number].name!r} is out of "
                "the range of calendars: correct it, or leave it empty if it is unknown"
            )

    def _write_seconds(self, durations: Any) -> list[str | None]:
        """Return durations in seconds, to the last digit."""
        digits = _DIGITS[durations.type.unit]
        counts = durations.cast(self._arrow.int64()).to_pylist()
        return [None if count is None else f"{Decimal(count).scaleb(-digits).normalize():f}" for count in counts]

    def _values(self, values: Any, number: int, first: int, *, is_exact: bool) -> Floats:
        """Return the entries of a column as numbers; if these must be exact, raise where neighbours are merged."""
        values, types = self._decode(values), self._arrow.types
        found = self._convert(values)
        if is_exact and (types.is_duration(values.type) or types.is_decimal(values.type)):
            distinct = self._compute.unique(values)
            texts = self._texts(distinct, number, first).to_pylist()
            if any(map(_is_merged, texts, self._convert(distinct).tolist())):
                self._refuse_merged(self._texts(values, number, first).to_pylist(), found, number, first)
        return found

    def _convert(self, values: Any) -> Floats:
        """Return entries as double precision numbers, the nearest ones."""
        types, double = self._arrow.types, self._arrow.float64()
        if types.is_duration(values.type):
            counts = values.cast(self._arrow.int64()).cast(double, safe=False)
            numbers = self._compute.divide(counts, 10.0 ** _DIGITS[values.type.unit])
        elif types.is_decimal(values.type):
            numbers = values.cast(self._arrow.string()).cast(double)  # the nearest, which a direct conversion misses
        else:
            numbers = values.cast(double, safe=False)
        # Nulls become nan, which no row may hold either.
        is_chunked = isinstance(numbers, self._arrow.ChunkedArray)
        return np.asarray(numbers.to_numpy() if is_chunked else numbers.to_numpy(zero_copy_only=False), np.float64)

    def _refuse_merged(self, texts: list[str | None], numbers: Floats, number: int, first: int) -> None:
        """Raise if a number does not determine its text, so that different labels or groups may have become equal."""
        for row, (text, value) in enumerate(zip(texts, numbers.tolist(), strict=True), first + 1):
            if _is_merged(text, value):
                raise ValueError(
                    f"{self._name}, row {row}: found {text} for a label or group in column "
                    f"{self.columns[number].name!r}, which double precision merges with its neighbours: convert the "
                    "column to text"
                )

    def _decode(self, values: Any) -> Any:
        """Return the entries of a column that is stored as codes of a dictionary."""
        return values.cast(values.type.value_type) if self._arrow.types.is_dictionary(values.type) else values


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
        if wanted != column.kind and not (wanted == "text" and table.columns[number].is_whole):
            raise ValueError(f"{path}: column {column.name!r} is of type {column.type}, but a {wanted} is needed")
    as_texts = {number for number in roles.used if roles.kinds.get(number) == "text"}
    fields = dict(zip(roles.used, table.read(roles.used, as_texts, exact={*roles.targets, roles.groups}), strict=True))
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
        features = set(self._roles.features)
        for number, kind in given.items():
            column = table.columns[number]
            is_text = column.kind == "text" or table.columns[number].is_whole
            if not is_text or number not in features:
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
        self._as_texts = {number for number, kind in kinds if kind != "number"}
        self._feature_numbers = set(roles.features)
        self._batches = self._start_at(0)
        self._row = 0
        self._rest: Piece | None = None
        self._pending: MalformedLineError | None = None

    def _start_at(self, row: int) -> Iterator[list[NDArray[Any]]]:
        return self._table.batches(self._used, row, self._as_texts, exact=self._roles.targets)

    def close(self) -> None:
        """Close the file."""
        self._batches = iter(())
        del self._table

    def skip(self, count: int) -> int:
        """Skip ``count`` rows and return how many; they are read only if malformed ones are left out."""
        if self._log is None:
            self._row = min(count, self._table.n_rows)
            self._batches = self._start_at(self._row)
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
        if self._rule is not None and number in self._feature_numbers:
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
        return Piece(X, columns[self._roles.targets[0]][valid], weights)

    def _features(self, columns: dict[int, NDArray[Any]], valid: NDArray[np.bool_]) -> Any:
        if self._rule is not None:
            return self._rule.transform_columns(
                [columns[number][valid] for number in self._roles.features], self._dtype
            )
        X = np.empty((int(np.count_nonzero(valid)), len(self._roles.features)), dtype=self._dtype)
        for at, number in enumerate(self._roles.features):
            X[:, at] = columns[number][valid]
        return X
