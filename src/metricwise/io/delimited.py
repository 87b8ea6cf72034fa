"""Delimited text, such as CSV: one parser for whole files and for chunks.

It is ours because pandas.read_csv, faster on plain numbers, fills up short lines unasked, and neither it nor pyarrow
reports file, line and column of what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from metricwise._typing import Indices
from metricwise.io.columns import Content, Field, sort_categories
from metricwise.io.encodings import explain_undecodable
from metricwise.io.errors import MalformedLineError
from metricwise.io.files import line_and_column
from metricwise.io.notation import Notations, is_comma_number, is_missing, is_number
from metricwise.io.roles import Kind, Roles
from metricwise.io.spec import FileSpec
from metricwise.io.text import Bytes, Outcome, show
from metricwise.kernels import fields

_ROWS_AT_ONCE = 1 << 16
_SLOW_NUMBERS = 1 << 12  # left to Python by one call of compiled code
_NEARLY_ALL = 0.95  # share of numbers in a column above which its texts are mistakes
_ENOUGH_ROWS = 20  # needed for that decision
_LARGEST = float(np.finfo(np.float64).max)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)|", re.IGNORECASE)
_CODES = {"number": fields.NUMBER, "text": fields.TEXT, None: fields.IGNORED}


class Style(NamedTuple):
    """Syntax of fields: delimiter, one or two kinds of quotes, and the character that starts a comment."""

    delimiter: str
    quotes: tuple[int, int] = (ord('"'), 0)
    comment: int = 0


class FieldParser:
    """Parses fields: columns of numbers, and the bounds of texts.

    Parameters
    ----------
    style : Style
        Syntax of the fields.
    kinds : sequence of {"number", "text", None}
        Kinds of the columns; None for ignored ones.
    limit : float
        The largest number.
    strict : bool
        Whether a row is one line, and whatever is no number in a column of numbers is malformed.
    commas : collection of int
        Columns whose numbers have decimal commas.
    """

    def __init__(
        self,
        style: Style,
        kinds: Sequence[Kind | None],
        limit: float = _LARGEST,
        strict: bool = False,
        commas: Collection[int] = (),
    ) -> None:
        self._style, self._limit, self._strict = style, limit, strict
        self._kinds = np.array([_CODES[kind] for kind in kinds], dtype=np.int64)
        self.is_text = self._kinds == fields.TEXT
        is_number = self._kinds == fields.NUMBER
        self.places: Indices = np.where(self.is_text, np.cumsum(self.is_text), np.cumsum(is_number)) - 1
        self._n_numbers = int(is_number.sum())
        self._points = np.array([ord("," if at in commas else ".") for at in range(len(kinds))], dtype=np.uint8)
        self._has_comma = self._points[is_number] == ord(",")  # by place
        self._quotes = np.array(style.quotes, dtype=np.uint8)
        self._slow = np.empty((_SLOW_NUMBERS + self._kinds.size, 4), dtype=np.int64)
        self.room = 0

    def reserve(self, n_rows: int) -> None:
        """Allocate arrays for ``n_rows`` rows."""
        if n_rows > self.room:
            self.room = n_rows
            self.values = np.empty((n_rows, self._n_numbers))
            self.starts = np.empty((int(self.is_text.sum()), n_rows if self.is_text.any() else 0), dtype=np.int64)
            self.stops = np.empty_like(self.starts)
            self.lines = np.empty(n_rows, dtype=np.int64)
            self.texts = np.zeros((self._kinds.size, 2), dtype=np.int64)

    def parse(self, data: bytes, view: Bytes, position: int, row: int, last_row: int) -> Outcome:
        """Read rows from number ``row`` up to ``last_row``; stop before the first malformed line."""
        code, rows, position, place, n_slow = fields.parse_fields(
            view,
            position,
            row,
            last_row,
            ord(self._style.delimiter),
            self._quotes,
            self._style.comment,
            self._strict,
            self._limit,
            self._kinds,
            self._points,
            self.places,
            self.values,
            self.starts,
            self.stops,
            self.lines,
            self.texts,
            self._slow,
        )
        for column, slow_row, start, stop in self._slow[:n_slow].tolist():
            value = _read_slow_number(data[start:stop], bool(self._has_comma[column]))
            if abs(value) > self._limit:
                return Outcome(fields.RANGE, slow_row - row, int(self.lines[slow_row]), start)
            self.values[slow_row, column] = value
        return Outcome(code, rows, position, place)

    def decode(self, data: bytes, start: int, stop: int) -> str:
        """Return a text; a negative ``stop`` marks a text with escaped characters."""
        text = data[start : abs(stop)].decode()
        if stop >= 0:
            return text
        mark = data[start - 1 : start].decode()
        text = text.replace(2 * mark, mark)
        return _ESCAPED.sub(r"\1", text) if self._style.quotes[1] else text

    def locate(self, view: Bytes, row: int, column: int) -> int:
        """Return the first byte of a field of a row."""
        delimiter = ord(self._style.delimiter)
        return int(fields.locate_field(view, int(self.lines[row]), column, delimiter, *self._style.quotes))

    def explain(self, code: int, view: Bytes, line: int) -> str:
        """Return what is wrong with a line that cannot be divided into its fields."""
        if code == fields.UNCLOSED:
            rows = " on this line" if self._strict else ""
            return f"the quotes do not match: one is opened here that is never closed{rows}: close it, or double it"
        if code == fields.QUOTES:
            return "more follows behind the closing quote of a field: double quotes that are part of a text"
        count = fields.count_fields(view, line, ord(self._style.delimiter), *self._style.quotes)
        found = "1 field" if count == 1 else f"{count} fields"
        return f"the line has {found}, not {self._kinds.size}: correct it, or name another delimiter"


def _read_slow_number(text: bytes, has_comma: bool) -> float:
    return float(text.replace(b".", b"").replace(b",", b".") if has_comma else text)


# --------------------------------------------------------------------------------------------------------- whole files


def read_columns(
    name: str,
    data: bytes,
    start: int,
    style: Style,
    names: Sequence[str],
    kinds: dict[int, Kind | None],
    notations: Notations | None = None,
) -> Content:
    """Read some columns of all rows from ``start`` on; columns of unknown kind hold numbers if all entries are."""
    guessed: dict[int, Kind] = {number: kind or "number" for number, kind in kinds.items()}
    points = Notations() if notations is None else notations
    while True:
        table = _WholeText(name, data, start, style, names, guessed, points.commas)
        numbers = [number for number, kind in guessed.items() if kind == "number"]
        texts = [number for number in numbers if table.n_texts(number)]
        if not texts:
            return table.content()._replace(decimal="," if points.commas else ".")
        if points.switch({number: table.first_text(number) for number in texts}, numbers):
            continue
        for number in texts:
            if kinds[number] == "number" or table.is_mistake(number):
                raise table.make_mistake_error(number)
            guessed[number] = "text"


def guess_commas(spec: FileSpec, roles: Roles) -> set[int]:
    """Return the used columns of a file with decimal commas, without those whose first rows have points instead."""
    if spec.decimal != ",":
        return set()
    samples = {number: [row[number] for row in spec.sample if number < len(row)] for number in roles.used}
    return {
        number
        for number, fields_ in samples.items()
        if all(is_comma_number(field) or not is_number(field) for field in fields_)
    }


def guess_kinds(spec: FileSpec, roles: Roles) -> dict[int, Kind | None]:
    """Return the kinds of the used columns: as given, "text" by the first rows, or None if unknown yet.

    Only columns without a number among those rows are taken to hold texts, as others may be numbers with a mistake.
    """
    kinds: dict[int, Kind | None] = {}
    accepts_commas = spec.decimal == ","
    for number in roles.used:
        given = [row[number] for row in spec.sample if number < len(row) and not is_missing(row[number])]
        is_text = bool(given) and not any(
            is_number(field) or (accepts_commas and is_comma_number(field)) for field in given
        )
        kinds[number] = roles.kinds.get(number) or ("text" if is_text else None)
    return kinds


class _WholeText:
    """All rows of a text."""

    def __init__(
        self,
        name: str,
        data: bytes,
        start: int,
        style: Style,
        names: Sequence[str],
        kinds: dict[int, Kind],
        commas: Collection[int],
    ) -> None:
        self._name, self._data, self._style, self._names, self._kinds = name, data, style, names, kinds
        self._view = np.frombuffer(data, dtype=np.uint8)
        self._parser = FieldParser(style, [kinds.get(number) for number in range(len(names))], commas=commas)
        # Every row takes a byte per field, so that no number of names can ask for more room than that.
        self._parser.reserve(min(data.count(b"\n", start), (len(data) - start) // len(names)) + 1)
        position, self._rows = start, 0
        while position < len(data):
            last_row = min(self._parser.room, self._rows + _ROWS_AT_ONCE)
            outcome = self._parser.parse(data, self._view, position, self._rows, last_row)
            if outcome.code != fields.FINE:
                raise self._make_error(outcome)
            position, self._rows = outcome.position, self._rows + outcome.rows
        if not self._rows:
            raise ValueError(f"{name} has no rows")

    def content(self) -> Content:
        """Return the columns."""
        values, places = self._parser.values[: self._rows], self._parser.places
        found = {
            number: self._text_field(number) if kind == "text" else Field(values[:, places[number]])
            for number, kind in self._kinds.items()
        }
        return Content(found, self._rows, self._place_of, values, places)

    def _text_field(self, number: int) -> Field:
        place = self._parser.places[number]
        starts, stops = self._parser.starts[place, : self._rows], self._parser.stops[place, : self._rows]
        codes, firsts = np.empty(self._rows, dtype=np.int64), np.empty(self._rows, dtype=np.int64)
        slots = np.full(1 << (2 * self._rows).bit_length(), -1, dtype=np.int64)
        first = firsts[: fields.number_texts(self._view, starts, stops, codes, firsts, slots)]
        texts = zip(starts[first].tolist(), stops[first].tolist(), strict=True)
        return sort_categories(codes, [self._decode(start, stop, number) for start, stop in texts])

    def _decode(self, start: int, stop: int, number: int) -> str:
        try:
            return self._parser.decode(self._data, start, stop)
        except UnicodeDecodeError:
            problem = explain_undecodable(self._data[start : abs(stop)])
            raise self._error(start, f"in column {self._names[number]!r}: {problem}") from None

    def n_texts(self, number: int) -> int:
        """Return how many texts a column of numbers holds."""
        return int(self._parser.texts[number, 0])

    def is_mistake(self, number: int) -> bool:
        """Return whether the texts of a column are mistakes: nearly all of its entries are numbers."""
        numbers = int(np.count_nonzero(~np.isnan(self._parser.values[: self._rows, self._parser.places[number]])))
        return numbers >= _ENOUGH_ROWS and numbers / (numbers + self.n_texts(number)) > _NEARLY_ALL

    def first_text(self, number: int) -> bytes:
        """Return the first text in a column of numbers."""
        start = int(self._parser.texts[number, 1])
        is_quoted = self._data[start - 1 : start] in (b'"', b"'")
        end = rb"[\r\n\"']" if is_quoted else rb"[\r\n\"']|" + re.escape(self._style.delimiter.encode())
        return re.split(end, self._data[start : start + 200], maxsplit=1)[0].strip()

    def make_mistake_error(self, number: int) -> MalformedLineError:
        """Return an error that shows the first text in a column of numbers."""
        return self._error(
            int(self._parser.texts[number, 1]),
            f"found {show(self.first_text(number))} in column {self._names[number]!r} where a number belongs: correct "
            "it, or write NA if the number is missing",
        )

    def _make_error(self, outcome: Outcome) -> MalformedLineError:
        if outcome.code == fields.RANGE:
            token = (
                self._data[outcome.place : outcome.place + 200].split(b"\n")[0].split(self._style.delimiter.encode())
            )
            return self._error(
                outcome.place, f"found {show(token[0].strip())}, which is too large for a number: scale the column down"
            )
        return self._error(outcome.place, self._parser.explain(outcome.code, self._view, outcome.position))

    def _error(self, place: int, problem: str) -> MalformedLineError:
        return MalformedLineError(self._name, *line_and_column(self._data, place), problem)

    def _place_of(self, row: int, number: int) -> tuple[int, int]:
        return line_and_column(self._data, self._parser.locate(self._view, row, number))
