"""Delimited text in chunks: finite features, a label and a weight per line."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Integers
from metricwise.io.chunks import Piece
from metricwise.io.delimited import FieldParser, Style, guess_commas
from metricwise.io.encodings import explain_undecodable
from metricwise.io.errors import SkipLog
from metricwise.io.notation import is_comma_number
from metricwise.io.roles import Kind, Roles, assign_roles
from metricwise.io.spec import FileSpec
from metricwise.io.text import Bytes, Outcome, TextReader, TextSource, show
from metricwise.kernels import fields

_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)|", re.IGNORECASE)


class DelimitedSource(TextSource):
    """A table as text, in chunks."""

    known_rows = None

    def __init__(self, spec: FileSpec, dtype: np.dtype[Any]) -> None:
        super().__init__(spec)
        self._roles = assign_roles(spec.path, spec.names, spec.n_columns, spec.roles)
        self._dtype = dtype
        self.known_features = len(self._roles.features)
        self.feature_names = None if spec.names is None else self._roles.feature_names

    def prepare(self, chunk_rows: int, log: SkipLog | None) -> int:
        """Find the kind of the labels in the first chunk."""
        self._settle_labels(chunk_rows, log)
        return self.known_features

    def open(self, log: SkipLog | None) -> TextReader:
        """Start a pass over the file."""
        parser = _ChunkParser(self.spec, self._roles, self._dtype, self.has_number_labels)
        return TextReader(self.spec, parser, log)


class _ChunkParser:
    """Parses rows from lines of fields: finite features, a label, a weight."""

    comment = 0

    def __init__(self, spec: FileSpec, roles: Roles, dtype: np.dtype[Any], has_number_labels: bool) -> None:
        self._roles, self._dtype, self._has_number_labels = roles, dtype, has_number_labels
        self._names, self._style = spec.names, Style(spec.delimiter)
        kinds: list[Kind | None] = [None] * spec.n_columns
        for number in roles.used:
            kinds[number] = "text" if number in roles.targets and not has_number_labels else "number"
        commas = guess_commas(spec, roles)
        self._fields = FieldParser(self._style, kinds, float(np.finfo(dtype).max), strict=True, commas=commas)
        places = self._fields.places[roles.features]
        adjacent = bool(np.all(np.diff(places) == 1))
        self._features: Any = slice(int(places[0]), int(places[-1]) + 1) if adjacent else places

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
        if not outcome.rows:
            return outcome, None
        X = self._fields.values[: outcome.rows, self._features].astype(self._dtype, order="C")
        return outcome, Piece(X, y, None if weights is None else weights[: outcome.rows])

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
        return outcome, np.array(labels, dtype=np.str_)

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
            return f"in {column}: found {token} where a finite number belongs: correct the line or leave it out"
        if is_comma_number(token[1:-1]):
            return f"found {token} in {column}, which takes numbers: pass decimal=',' if commas are decimal points"
        return f"found {token} in {column}, which takes numbers: encode the column as numbers or drop it"

    def _field_at(self, line: bytes, place: int) -> tuple[int, bytes]:
        """Return the number of the field at a place of a line, and its content."""
        view = np.frombuffer(line, dtype=np.uint8)
        number, start, at = -1, -1, 0
        while start < place:
            delimiter, quotes = ord(self._style.delimiter), self._style.quotes
            _, start, stop, _, _, end = fields.field_bounds(view, at, delimiter, *quotes, True)
            number, at = number + 1, end + 1
        return number, line[start:stop].strip()
