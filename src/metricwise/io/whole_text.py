"""Whole tables from delimited text, through the compiled parser: columns of numbers and of texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from metricwise._typing import Integers
from metricwise.io.documents import Document, Layout, is_missing, is_number
from metricwise.io.errors import MalformedLineError
from metricwise.io.roles import Content, Field, Kind, in_order
from metricwise.io.text import shown
from metricwise.kernels import fields

_ROWS_AT_ONCE = 1 << 16
_SLOW_NUMBERS = 1 << 16
_NEARLY_ALL = 0.95  # numbers among what a column holds, above which its texts are mistakes
_ENOUGH_ROWS = 20  # for that to be said
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Style(NamedTuple):
    """How fields are written: separator, the one or two kinds of quotes, and what starts a comment."""

    separator: str
    quotes: tuple[int, int] = (ord('"'), 0)
    comment: int = 0


def read_fields(
    document: Document,
    start: int,
    style: Style,
    names: Sequence[str],
    kinds: list[Kind | None],
) -> Content:
    """Read all rows from ``start`` on; a column whose kind is not given holds numbers if all of it can be read so."""
    parser = _Parser(document, start, style, names)
    guessed: list[Kind] = [kind or "number" for kind in kinds]
    while True:
        texts = parser.run(guessed)
        surprising = [number for number, kind in enumerate(guessed) if kind == "number" and texts[number, 0]]
        if not surprising:
            return parser.content()
        for number in surprising:
            if kinds[number] == "number" or parser.is_mistake(number):
                raise parser.mistake(number)
            guessed[number] = "text"


def sampled_kinds(layout: Layout, forced: dict[int, Kind]) -> list[Kind | None]:
    """Return which columns hold texts by the looks of the first rows, unless told; the others are not known yet.

    Only columns without a number among those rows are taken to hold texts, as others may be numbers with a mistake.
    """
    kinds: list[Kind | None] = []
    for number in range(layout.n_columns):
        given = [row[number] for row in layout.sample if number < len(row) and not is_missing(row[number])]
        is_text = bool(given) and not any(map(is_number, given))
        kinds.append(forced.get(number) or ("text" if is_text else None))
    return kinds


class _Parser:
    """The rows of a document, as far as they are read."""

    def __init__(self, document: Document, start: int, style: Style, names: Sequence[str]) -> None:
        self._document, self._start, self._style, self._names = document, start, style, names
        self._block = np.frombuffer(document.data, dtype=np.uint8)
        lines = document.data.count(b"\n", start)
        # Every row takes a byte a field, so that no number of names can ask for more room than that.
        self._room = min(lines, (len(document.data) - start) // len(names)) + 1

    def run(self, kinds: list[Kind]) -> Integers:
        """Read all rows; return how many texts were found in each column of numbers, and where the first was."""
        is_text = np.array([kind == "text" for kind in kinds])
        self._is_text = is_text
        self._places = np.where(is_text, np.cumsum(is_text), np.cumsum(~is_text)) - 1
        self._values = np.empty((self._room, int((~is_text).sum())))
        self._starts = np.empty((int(is_text.sum()), self._room if is_text.any() else 0), dtype=np.int64)
        self._stops = np.empty_like(self._starts)
        self._lines = np.empty(self._room, dtype=np.int64)
        self._texts = np.zeros((is_text.size, 2), dtype=np.int64)
        slow = np.empty((_SLOW_NUMBERS + is_text.size, 4), dtype=np.int64)
        quotes = np.array(self._style.quotes, dtype=np.uint8)
        position, self.rows = self._start, 0
        while position < len(self._block):
            code, rows, position, place, n_slow = fields.parse_fields(
                self._block,
                position,
                self.rows,
                min(self._room, self.rows + _ROWS_AT_ONCE),
                ord(self._style.separator),
                quotes,
                self._style.comment,
                is_text.astype(np.int64),
                self._places,
                self._values,
                self._starts,
                self._stops,
                self._lines,
                self._texts,
                slow,
            )
            self.rows += rows
            self._convert(slow[:n_slow])
            if code != fields.FINE:
                raise self._malformed(code, position, place)
        if not self.rows:
            raise ValueError(f"{self._document.name} has no rows")
        return self._texts

    def _convert(self, slow: Integers) -> None:
        for place, row, start, stop in slow.tolist():
            value = float(self._document.data[start:stop])
            if np.isinf(value):
                token = shown(self._document.data[start:stop])
                raise self._error(start, f"found {token}, which is too large for a number: scale the column down")
            self._values[row, place] = value

    def content(self) -> Content:
        """Return the columns."""
        found = [
            self._text_field(number, place) if is_text else Field(self._values[: self.rows, place])
            for number, (is_text, place) in enumerate(zip(self._is_text, self._places.tolist(), strict=True))
        ]
        return Content(found, self._place_of, self._values[: self.rows], self._places)

    def _text_field(self, number: int, place: int) -> Field:
        starts, stops = self._starts[place, : self.rows], self._stops[place, : self.rows]
        codes, firsts = np.empty(self.rows, dtype=np.int64), np.empty(self.rows, dtype=np.int64)
        slots = np.full(1 << (2 * self.rows).bit_length(), -1, dtype=np.int64)
        count = fields.number_texts(self._block, starts, stops, codes, firsts, slots)
        first = firsts[:count]
        texts = zip(starts[first].tolist(), stops[first].tolist(), strict=True)
        return in_order(codes, [self._decoded(start, stop, number) for start, stop in texts])

    def _decoded(self, start: int, stop: int, number: int) -> str:
        """Return a text; a negative stop says that some of its characters stand for others."""
        raw = self._document.data[start : abs(stop)]
        mark = self._document.data[start - 1 : start] if stop < 0 else b""
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            problem = f"found {shown(raw)} in column {self._names[number]!r}, which is not UTF-8: save the file so"
            raise self._error(start, problem) from None
        if mark:
            text = text.replace(2 * mark.decode(), mark.decode())
        return _ESCAPED.sub(r"\1", text) if mark and self._style.quotes[1] else text

    # ----------------------------------------------------------------------------------------------------- mistakes

    def is_mistake(self, number: int) -> bool:
        """Whether a column of nearly nothing but numbers holds a few texts."""
        numbers = int(np.count_nonzero(~np.isnan(self._values[: self.rows, self._places[number]])))
        texts = int(self._texts[number, 0])
        return numbers >= _ENOUGH_ROWS and numbers / (numbers + texts) > _NEARLY_ALL

    def mistake(self, number: int) -> MalformedLineError:
        """Say what text was found in a column of numbers."""
        start = int(self._texts[number, 1])
        separator = re.escape(self._style.separator.encode())
        token = re.split(rb"[\r\n\"']|" + separator, self._document.data[start : start + 200], maxsplit=1)[0]
        return self._error(
            start,
            f"found {shown(token.strip())} in column {self._names[number]!r} where a number belongs: correct it, or "
            "write NA if the number is missing",
        )

    def _malformed(self, code: int, line: int, place: int) -> MalformedLineError:
        n_columns = len(self._names)
        if code == fields.UNCLOSED:
            problem = "a quote is opened here that is never closed: close it, or double it if it is part of the text"
        elif code == fields.QUOTES:
            problem = "more follows behind the closing quote of a field: double quotes that are part of a text"
        else:
            few = "fewer" if code == fields.TOO_FEW else "more"
            problem = f"the line has {few} than {n_columns} fields: correct it, or name another separator"
        return self._error(place, problem)

    def _error(self, place: int, problem: str) -> MalformedLineError:
        return MalformedLineError(self._document.name, *_line_and_column(self._document.data, place), problem)

    def _place_of(self, row: int, number: int) -> tuple[int, int]:
        separator, at = ord(self._style.separator), int(self._lines[row])
        for _ in range(number):
            at = int(fields.field_bounds(self._block, at, separator, *self._style.quotes)[-1]) + 1
        return _line_and_column(self._document.data, at)


def _line_and_column(data: bytes, place: int) -> tuple[int, int]:
    start = data.rfind(b"\n", 0, place) + 1
    return data.count(b"\n", 0, place) + 1, len(data[start:place].decode(errors="replace")) + 1
