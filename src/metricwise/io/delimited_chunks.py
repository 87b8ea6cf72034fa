"""Delimited text in chunks: finite features, a label and a weight per line."""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Integers
from metricwise.io.chunks import Piece, read_rows
from metricwise.io.delimited import FieldParser, Style, guess_commas
from metricwise.io.encodings import explain_undecodable
from metricwise.io.errors import SkipLog
from metricwise.io.hashing import DECIDING_ROWS, HashedColumns, HashOptions, decide_kind
from metricwise.io.notation import is_comma_number, is_missing, is_number
from metricwise.io.roles import Kind, Roles, assign_roles
from metricwise.io.spec import FileSpec
from metricwise.io.text import Bytes, Outcome, TextReader, TextSource, show
from metricwise.kernels import fields

_DOUBLE = np.dtype(np.float64)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)|", re.IGNORECASE)


class DelimitedSource(TextSource):
    """A table as text, in chunks."""

    known_rows = None

    def __init__(self, spec: FileSpec, dtype: np.dtype[Any], hashing: HashOptions | None = None) -> None:
        super().__init__(spec)
        self._roles = assign_roles(spec.path, spec.names, spec.n_columns, spec.roles)
        self._dtype, self.hashing = dtype, hashing
        self.known_features = None if hashing else len(self._roles.features)
        self.feature_names = None if spec.names is None else self._roles.feature_names
        self.hashed_columns: HashedColumns | None = None

    def prepare(self, chunk_rows: int, log: SkipLog | None) -> int:
        """Find the kind of the labels in the first chunk and, if some are hashed, those of the columns."""
        self._settle_labels(chunk_rows, log)
        if self.hashing is not None and self.hashed_columns is None:
            self.hashed_columns = self._find_kinds(self.hashing, log)
            self.known_features = self.hashed_columns.n_features
        return len(self._roles.features) if self.known_features is None else self.known_features

    def _find_kinds(self, options: HashOptions, log: SkipLog | None) -> HashedColumns:
        roles, spec = self._roles, self.spec
        given = options.find_kinds(spec.path, spec.names, spec.n_columns)
        if unused := sorted(set(given).difference(roles.features)):
            name = f"column {unused[0] + 1}" if spec.names is None else f"column {spec.names[unused[0]]!r}"
            raise ValueError(f"{spec.path}: {name} is named in categories or texts, and is no feature: leave it out")
        with closing(TextReader(spec, _RawParser(spec, roles, self.has_number_labels), log)) as reader:
            rows = np.concatenate([piece.X for piece in read_rows(reader, DECIDING_ROWS)])
        commas = guess_commas(spec, roles)
        kinds = []
        for column, number in zip(rows.T, roles.features, strict=True):
            texts = [text for text in column.tolist() if text is not None and not is_missing(text)]
            is_written_as_number = is_comma_number if number in commas else is_number
            n_numbers = sum(map(is_written_as_number, texts))
            kinds.append(given.get(number) or decide_kind(n_numbers, len(texts) - n_numbers))
        return HashedColumns(roles.feature_names, tuple(kinds), options.n_hashed)

    def open(self, log: SkipLog | None) -> TextReader:
        """Start a pass over the file."""
        if self.hashing is None:
            return TextReader(self.spec, _ChunkParser(self.spec, self._roles, self._dtype, self.has_number_labels), log)
        parser = _RawParser(self.spec, self._roles, self.has_number_labels, self.hashed_columns, self._dtype)
        return TextReader(self.spec, parser, log)


class _ChunkParser:
    """Parses rows from lines of fields: finite features, a label, a weight."""

    comment = 0
    _missing_remedy = (
        "correct the line or leave it out, or read the file by metricwise.io.stream with hash_features, which marks "
        "missing numbers"
    )

    def __init__(self, spec: FileSpec, roles: Roles, dtype: np.dtype[Any], has_number_labels: bool) -> None:
        self._roles, self._dtype, self._has_number_labels = roles, dtype, has_number_labels
        self._names, self._style = spec.names, Style(spec.delimiter)
        kinds: list[Kind | None] = [None] * spec.n_columns
        for number in roles.used:
            kinds[number] = "text" if self._is_text(number) else "number"
        commas = guess_commas(spec, roles)
        self._fields = FieldParser(self._style, kinds, float(np.finfo(dtype).max), strict=True, commas=commas)
        self._commas = commas
        places = self._fields.places[roles.features]
        adjacent = bool(np.all(np.diff(places) == 1))
        self._features: Any = slice(int(places[0]), int(places[-1]) + 1) if adjacent else places

    def _is_text(self, number: int) -> bool:
        """Return whether a column is read as text."""
        return number in self._roles.targets and not self._has_number_labels

    def parse(self, block: bytes, view: Bytes, position: int, count: int) -> tuple[Outcome, Piece | None]:
        """Read at most ``count`` rows; stop before the first malformed line."""
        # A field takes a byte and its delimiter.
        self._fields.reserve(min(count, len(block) // (2 * len(self._fields.places)) + 1))
        outcome = self._fields.parse(block, view, position, 0, min(count, self._fields.room))
        weights = None
        if self._roles.weight is not None:
            weights = self._fields.values[: outcome.rows, self._fields.places[self._roles.weight]].copy()
            outcome = self._truncate(outcome, view, np.flatnonzero(weights < 0.0), self._roles.weight, fields.WEIGHT)
        outcome, y = self._read_labels(outcome, block, view)
        outcome, X = self._read_features(outcome, block, view)
        if not outcome.rows:
            return outcome, None
        return outcome, Piece(X, y[: outcome.rows], None if weights is None else weights[: outcome.rows])

    def _read_features(self, outcome: Outcome, block: bytes, view: Bytes) -> tuple[Outcome, Any]:
        return outcome, self._fields.values[: outcome.rows, self._features].astype(self._dtype, order="C")

    def _truncate(self, outcome: Outcome, view: Bytes, wrong: Integers, column: int, code: int) -> Outcome:
        """Return an outcome that ends before the first row that is wrong."""
        if not len(wrong):
            return outcome
        row = int(wrong[0])
        return Outcome(code, row, int(self._fields.lines[row]), self._fields.locate(view, row, column))

    def _read_labels(self, outcome: Outcome, block: bytes, view: Bytes) -> tuple[Outcome, NDArray[Any]]:
        if not self._roles.targets:
            return outcome, np.zeros(outcome.rows)
        column = self._roles.targets[0]
        place = self._fields.places[column]
        if self._has_number_labels:
            return outcome, self._fields.values[: outcome.rows, place].copy()
        labels: list[str] = []
        spans = zip(self._fields.starts[place].tolist(), self._fields.stops[place].tolist(), strict=True)
        for row, (start, stop) in zip(range(outcome.rows), spans, strict=False):
            try:
                label = "" if start == fields.MISSING else self._fields.decode(block, start, stop)
            except UnicodeDecodeError:
                outcome = self._truncate(outcome, view, np.array([row]), column, fields.ENCODING)
                break
            if _NOT_FINITE.fullmatch(label) or label.endswith("\0"):  # which arrays of texts drop
                outcome = self._truncate(outcome, view, np.array([row]), column, fields.LABEL)
                break
            labels.append(label)
        return outcome, np.array(labels, dtype=object)

    def explain(self, code: int, line: bytes, place: int) -> str:
        """Return what is wrong with a line."""
        if code not in (fields.VALUE, fields.RANGE, fields.WEIGHT, fields.LABEL, fields.ENCODING):
            return self._fields.explain(code, np.frombuffer(line, dtype=np.uint8), 0)
        number, field = self._field_at(line, place)
        token = show(field)
        column = f"column {number + 1}" if self._names is None else f"column {self._names[number]!r}"
        if code == fields.WEIGHT:
            return f"found the weight {token} in {column}: weights must not be negative"
        if code == fields.ENCODING:
            return f"in {column}: {explain_undecodable(field)}"
        if code == fields.RANGE:
            return f"in {column}: found {token}, which is too large for the type of the numbers: scale the column down"
        if number in self._roles.targets and self._has_number_labels and token != "''":
            return f"found {token} in {column} where a number belongs: the first chunk's labels are numbers"
        if number in self._roles.targets:
            return f"found {token} in {column} where a label belongs: correct it or leave the line out"
        if _NOT_FINITE.fullmatch(token[1:-1]):
            return f"in {column}: found {token} where a finite number belongs: {self._missing_remedy}"
        if is_comma_number(token[1:-1]):
            return f"found {token} in {column}, which takes numbers: pass decimal=',' if commas are decimal points"
        return f"found {token} in {column}, which takes numbers: {self._remedy(number)}"

    def _remedy(self, number: int) -> str:
        name = number if self._names is None else self._names[number]
        return f"encode the column as numbers or drop it, or hash it by metricwise.io.stream with categories=[{name!r}]"

    def _field_at(self, line: bytes, place: int) -> tuple[int, bytes]:
        """Return the number of the field at a place of a line, and its content."""
        view = np.frombuffer(line, dtype=np.uint8)
        number, start, at = -1, -1, 0
        while start < place:
            delimiter, quotes = ord(self._style.delimiter), self._style.quotes
            _, start, stop, _, _, end = fields.field_bounds(view, at, delimiter, *quotes, True)
            number, at = number + 1, end + 1
        return number, line[start:stop].strip()


class _RawParser(_ChunkParser):
    """Parses rows whose features are read as texts: hashed by a rule, or unchanged without one."""

    _missing_remedy = "correct the line, or write NA if the number is missing"

    def __init__(
        self,
        spec: FileSpec,
        roles: Roles,
        has_number_labels: bool,
        rule: HashedColumns | None = None,
        dtype: np.dtype[Any] = _DOUBLE,
    ) -> None:
        super().__init__(spec, roles, dtype, has_number_labels)
        self._rule = rule

    def _is_text(self, number: int) -> bool:
        is_feature = number not in (*self._roles.targets, self._roles.weight)
        return is_feature or super()._is_text(number)

    def _read_features(self, outcome: Outcome, block: bytes, view: Bytes) -> tuple[Outcome, Any]:
        columns: list[NDArray[Any]] = []
        kinds = ["text"] * len(self._roles.features) if self._rule is None else self._rule.kinds
        for number, kind in zip(self._roles.features, kinds, strict=True):
            outcome, texts = self._read_texts(outcome, block, view, number)
            if kind == "number":
                outcome, values = self._read_numbers(outcome, view, number, texts)
                columns.append(values)
            else:
                columns.append(np.array([*texts, None], dtype=object)[:-1])
        columns = [values[: outcome.rows] for values in columns]
        if self._rule is None:
            return outcome, np.array(columns, dtype=object).reshape(len(columns), outcome.rows).T
        return outcome, self._rule.transform_columns(columns, self._dtype)

    def _read_texts(self, outcome: Outcome, block: bytes, view: Bytes, number: int) -> tuple[Outcome, list[str | None]]:
        """Return the texts of a column, None where missing, up to the first that cannot be decoded."""
        place, texts = self._fields.places[number], list[str | None]()
        starts, stops = (bounds[place, : outcome.rows].tolist() for bounds in (self._fields.starts, self._fields.stops))
        for row, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            try:
                text = "" if start == fields.MISSING else self._fields.decode(block, start, stop)
            except UnicodeDecodeError:
                return self._truncate(outcome, view, np.array([row]), number, fields.ENCODING), texts
            # As in whole files, a quoted NA is a text.
            texts.append(None if not text or (is_missing(text) and block[start - 1 : start] != b'"') else text)
        return outcome, texts

    def _read_numbers(
        self, outcome: Outcome, view: Bytes, number: int, texts: list[str | None]
    ) -> tuple[Outcome, NDArray[np.float64]]:
        """Return the numbers of a column, nan where missing, up to the first text that is none."""
        has_comma, limit = number in self._commas, float(np.finfo(self._dtype).max)
        is_written_as_number = is_comma_number if has_comma else is_number
        values = np.full(len(texts), np.nan)
        for row, text in enumerate(texts):
            if text is None or is_missing(text):
                continue
            if not is_written_as_number(text):
                return self._truncate(outcome, view, np.array([row]), number, fields.VALUE), values[:row]
            values[row] = float(text.replace(".", "").replace(",", ".") if has_comma else text)
            if abs(values[row]) > limit:
                return self._truncate(outcome, view, np.array([row]), number, fields.RANGE), values[:row]
        return outcome, values

    def _remedy(self, number: int) -> str:
        name = number if self._names is None else self._names[number]
        return f"correct it, write NA if the number is missing, or name the column by categories=[{name!r}]"
