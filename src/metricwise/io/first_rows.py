"""The header and the first rows of delimited text, divided into fields as the parser divides all rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from metricwise._typing import Integers
from metricwise.io.encodings import explain_undecodable
from metricwise.io.errors import MalformedLineError
from metricwise.io.files import line_and_column
from metricwise.kernels import fields

_QUOTE = ord('"')
_PROBLEMS = {
    fields.UNCLOSED: "a quote is opened that is never closed: close it",
    fields.QUOTES: "more follows behind the closing quote of a field: double quotes that are part of a text",
}


class Row(NamedTuple):
    """The fields of a row, without quotes and blanks around them, and where it starts and ends."""

    fields: tuple[str, ...]
    start: int
    end: int


class _Division(NamedTuple):
    """The problem of a row, if any, the bounds of its fields, and the end of the row or where the problem is."""

    problem: int
    bounds: Integers
    end: int

    def texts(self, data: bytes) -> tuple[str, ...]:
        """Return the fields as texts."""
        starts, stops = self.bounds[:, 0].tolist(), self.bounds[:, 1].tolist()
        return tuple(_read_field(data, start, stop) for start, stop in zip(starts, stops, strict=True))

    def has_returns(self, data: bytes) -> bool:
        """Return whether carriage returns are outside quotes, which end the lines of some files."""
        bare = self.bounds[self.bounds[:, 2] == 0, :2].tolist()
        return any(data.find(b"\r", *bounds) >= 0 for bounds in bare)


def _divide(data: bytes, start: int, delimiter: str) -> _Division:
    view = np.frombuffer(data, dtype=np.uint8)
    return _Division(*fields.divide_row(view, start, ord(delimiter), _QUOTE, 0))


def _read_field(data: bytes, start: int, stop: int) -> str:
    text = data[start : abs(stop)].decode(errors="replace").strip()
    return text.replace('""', '"') if stop < 0 else text


def divide_rows(data: bytes, delimiter: str, count: int) -> list[Row]:
    r"""Return the first rows with content; lines that cannot be divided are left for the parser to report.

    Examples
    --------
    >>> [row.fields for row in divide_rows(b',,\na,"b, c",d"\n1,2,3\n', ",", 50)]
    [('a', 'b, c', 'd"'), ('1', '2', '3')]
    """
    rows: list[Row] = []
    for start, row in _divide_lines(data, delimiter):
        texts = () if row.problem or row.has_returns(data) else row.texts(data)
        if any(texts):
            rows.append(Row(texts, start, row.end))
        if len(rows) == count:
            break
    return rows


def _divide_lines(data: bytes, delimiter: str) -> Iterator[tuple[int, _Division]]:
    """Yield the start and the fields of every row; one with a problem ends with its line.

    What follows a quote that is never closed is not divided: perhaps the data end within a text.
    """
    start = 0
    while start < len(data):
        row = _divide(data, start, delimiter)
        if row.problem:
            row = row._replace(end=data.index(b"\n", start) + 1)
        yield start, row
        if row.problem == fields.UNCLOSED:
            return
        start = row.end


def count_fields(data: bytes, delimiter: str, count: int) -> list[int]:
    r"""Return the numbers of fields of the first rows with content, without decoding them.

    A line that cannot be divided counts as a single field: it speaks against the delimiter.

    Examples
    --------
    >>> count_fields(b'a,"b, c",d"\n1,2\n', ",", 50), count_fields(b'"a","b"\n1;2\n', ";", 50)
    ([3, 2], [1, 2])
    """
    empty = delimiter.encode() + b' \t\r\n"'
    rows = (row for start, row in _divide_lines(data, delimiter) if data[start : row.end].strip(empty))
    return [1 if row.problem else len(row.bounds) for row in islice(rows, count)]


def read_first_row(name: str, data: bytes, delimiter: str) -> tuple[Row, MalformedLineError | None]:
    r"""Return the first row with content, as far as it can be divided, and why no header can be read from it, if so.

    Examples
    --------
    >>> read_first_row("rows.csv", b',\n"size, cm",t"\n1,2\n', ",")
    (Row(fields=('size, cm', 't"'), start=2, end=16), None)
    """
    start = 0
    while start < len(data):
        row = _divide(data, start, delimiter)
        texts = row.texts(data)
        if row.problem or any(texts):
            return Row(texts, start, row.end), _find_problem(name, data, start, row)
        start = row.end
    raise ValueError(f"{name} has no rows: all fields of its first {len(data)} bytes are empty")


def _find_problem(name: str, data: bytes, start: int, row: _Division) -> MalformedLineError | None:
    """Return an error if a row cannot be divided, holds carriage returns outside quotes, or is not UTF-8."""
    end = data.index(b"\n", row.end) if row.problem else row.end
    if row.has_returns(data) or (row.problem == fields.QUOTES and data[row.end - 1 : row.end] == b"\r"):
        problem = "the line cannot be divided, as it has carriage returns in it: end lines with line feeds"
        return MalformedLineError(name, *line_and_column(data, start), problem)
    if row.problem:
        problem = f"the line cannot be divided, as {_PROBLEMS[row.problem]}"
        return MalformedLineError(name, *line_and_column(data, row.end), problem)
    try:
        data[start:end].decode()
    except UnicodeDecodeError as error:
        place = start + error.start
        return MalformedLineError(name, *line_and_column(data, place), explain_undecodable(data[start:end]))
    return None
