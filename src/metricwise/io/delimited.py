"""Tables as text: fields divided by commas, tabs or any other single character."""

from __future__ import annotations

import csv
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats
from metricwise.io.chunks import Piece
from metricwise.io.columns import TARGET, WEIGHT, roles_of
from metricwise.io.errors import MalformedLineError, SkipLog
from metricwise.io.text import (
    Bytes,
    Outcome,
    TextReader,
    TextSource,
    common_problem,
    convert_slow,
    first_line,
    shown,
    text_labels,
)
from metricwise.kernels import parsing

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)|", re.IGNORECASE)
_OTHER_DELIMITERS = ";\t|, "


class DelimitedSource(TextSource):
    """A table as text."""

    format = "csv"
    known_rows = None

    def __init__(
        self,
        path: str,
        dtype: Any,
        *,
        delimiter: str,
        has_header: bool | None,
        target: str | int | None,
        weight: str | int | None,
        n_features: int | None,
        labelled: bool,
    ) -> None:
        super().__init__(path)
        line, offset, number = first_line(path)
        fields = _first_fields(path, line, number - 1, delimiter)
        if has_header is None:
            has_header = isinstance(target, str) or isinstance(weight, str) or _is_header(path, fields)
        names = [field.strip() for field in fields] if has_header else None
        self._start = (offset, number) if has_header else (0, 1)
        self._check_width(line, fields, delimiter, labelled)
        self._roles = roles_of(path, names, len(fields), target, weight, n_features, labelled)
        self._names = names
        self._dtype = dtype
        self._delimiter = delimiter

    def _check_width(self, line: str, fields: list[str], delimiter: str, labelled: bool) -> None:
        found = [other for other in _OTHER_DELIMITERS if other in line.strip()]
        if len(fields) == 1 and (labelled or found):
            hint = f"pass delimiter={found[0]!r}" if found else "a row needs a label and at least one feature"
            raise ValueError(f"{self.path} has a single column when divided at {delimiter!r}: {hint}")

    @property
    def known_features(self) -> int:
        """The number of columns of features."""
        return int(np.count_nonzero(self._roles >= 0))

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names in the header, without those of the label and the weight."""
        if self._names is None:
            return None
        return tuple(name for name, role in zip(self._names, self._roles, strict=True) if role >= 0)

    def prepare(self, chunk_rows: int, log: SkipLog | None) -> int:
        """Find the kind of the labels in the first chunk."""
        self._settle_labels(chunk_rows, log)
        return self.known_features

    def open(self, log: SkipLog | None) -> TextReader:
        """Start a pass over the file."""
        parser = DelimitedParser(self._dtype, self._delimiter, self._roles, self._names, self.mode)
        offset, number = self._start
        return TextReader(self.path, parser, log, offset, number)


def _first_fields(path: str, line: str, number: int, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error as error:
        problem = f"the line cannot be divided ({error}): close quotes on their line, end lines with line feeds"
        raise MalformedLineError(path, number, 1, problem) from None


def _is_header(path: str, fields: list[str]) -> bool:
    """Whether the first line names columns; a line of numbers and text may be either and is not guessed."""
    numbers = [_NUMBER.fullmatch(field.strip()) is not None for field in fields]
    if any(numbers) and not all(numbers):
        raise ValueError(
            f"{path}: the first line has numbers and text: pass has_header=True if it names the columns, "
            "has_header=False if it is a row"
        )
    return not all(numbers)


class DelimitedParser:
    """Rows from lines of fields."""

    comment = 0

    def __init__(
        self, dtype: Any, delimiter: str, roles: NDArray[np.int64], names: list[str] | None, mode: int
    ) -> None:
        self._dtype = dtype
        self._limit = float(np.finfo(dtype).max)
        self._delimiter = delimiter
        self._roles = roles
        self._names = names
        self._mode = mode
        self._width = int(np.count_nonzero(roles >= 0))
        self._weighted = bool(np.any(roles == WEIGHT))
        self._rows = self._block_bytes = -1

    def _fit(self, block_bytes: int, rows: int) -> None:
        """Make room for as much as a block of this size can hold: a field takes two bytes."""
        rows = min(rows, block_bytes // (2 * self._roles.size) + 1)
        if rows > self._rows:
            self._rows = rows
            self._X = np.empty((rows, self._width))
            self._labels = np.zeros(rows)  # they stay so in a table without labels
            self._weights = np.empty(rows)
            self._spans = np.empty((rows, 2), dtype=np.int64)
        if block_bytes > self._block_bytes:
            self._block_bytes = block_bytes
            self._slow = np.empty((block_bytes // 5 + 1, 5), dtype=np.int64)

    def parse(self, block: bytes, view: Bytes, position: int, count: int) -> tuple[Outcome, Piece | None]:
        """Read at most ``count`` rows; stop before the first malformed line."""
        self._fit(len(block), count)
        code, rows, end, place, n_slow = parsing.parse_delimited(
            view,
            position,
            min(count, self._rows),
            ord(self._delimiter),
            self._roles,
            self._mode,
            self._limit,
            self._X,
            self._labels,
            self._weights,
            self._spans,
            self._slow,
        )
        fields: dict[int, Floats] = {
            parsing.FEATURE_FIELD: self._X.reshape(-1),
            parsing.TARGET_FIELD: self._labels,
            parsing.WEIGHT_FIELD: self._weights,
        }
        outcome = Outcome(code, rows, end, place)
        outcome = convert_slow(block, outcome, self._slow[:n_slow], fields, self._limit)
        y: Any = self._labels[: outcome.rows].copy()
        if self._mode == parsing.TEXT_LABEL:
            outcome, y = text_labels(block, outcome, self._spans)
        return outcome, self._piece(outcome.rows, y) if outcome.rows else None

    def _piece(self, rows: int, y: NDArray[Any]) -> Piece:
        weights = self._weights[:rows].copy() if self._weighted else None
        return Piece(self._X[:rows].astype(self._dtype), y, weights)

    def refused(self, code: int, line: bytes, place: int) -> Piece | tuple[int, str]:
        """Say what is wrong with a line, or return its row if only its quotes were beyond the fast parser."""
        if code == parsing.QUOTES:
            return self._quoted_row(line)
        starts = _field_starts(line, self._delimiter.encode())
        field = sum(start <= place for start in starts) - 1
        stop = starts[field + 1] - 1 if field + 1 < len(starts) else len(line)
        return place, self._problem(code, field, line[place:stop].strip(b' \t\r\n"'), len(starts))

    def _problem(self, code: int, field: int, token: bytes, count: int) -> str:
        if code in (parsing.TOO_FEW, parsing.TOO_MANY):
            return f"the line has {count} fields, not {self._roles.size}: correct it or leave the line out"
        column = f"column {field + 1}" if self._names is None else f"column {self._names[field]!r}"
        if code == parsing.WEIGHT:
            return f"found the weight {shown(token)} in {column}: weights must not be negative"
        if code == parsing.LABEL and self._mode == parsing.NUMBER_LABEL and token:
            return f"found {shown(token)} in {column} where a number belongs: the first chunk's labels are numbers"
        if code == parsing.LABEL:
            return f"found {shown(token)} in {column} where a label belongs: correct it or leave the line out"
        if code == parsing.VALUE and not _NOT_FINITE.fullmatch(token.decode(errors="replace")):
            return f"found {shown(token)} in {column}, which takes numbers: encode the column as numbers or drop it"
        return f"in {column}: " + common_problem(code, shown(token))

    def _quoted_row(self, line: bytes) -> Piece | tuple[int, str]:
        """Read one line as Python's csv module does."""
        try:
            text = line.decode().rstrip("\r\n")
            reader = csv.reader([text], delimiter=self._delimiter, skipinitialspace=True, strict=True)
            fields = [field.strip() for field in next(reader)]
        except UnicodeDecodeError as error:
            return error.start, common_problem(parsing.ENCODING, shown(line[error.start : error.end]))
        except csv.Error as error:
            return max(line.find(b'"'), 0), f"the quotes do not match ({error}): close them on the line they open"
        at, code = self._first_problem(fields)
        if not code:
            return self._row(fields)
        start = _field_starts(line, self._delimiter.encode())[at]
        return start, self._problem(code, at, fields[at].encode(), len(fields))

    def _first_problem(self, fields: list[str]) -> tuple[int, int]:
        """Return the first field that is wrong and what is wrong with it, by the rules of the compiled parser."""
        if len(fields) != self._roles.size:
            return -1, int(parsing.TOO_FEW if len(fields) < self._roles.size else parsing.TOO_MANY)
        codes = map(self._field_problem, fields, self._roles.tolist())
        return next(((at, code) for at, code in enumerate(codes) if code), (-1, int(parsing.FINE)))

    def _field_problem(self, field: str, role: int) -> int:
        """Return what is wrong with a field."""
        number = _NUMBER.fullmatch(field) is not None
        if role == TARGET:
            fits = number if self._mode == parsing.NUMBER_LABEL else not _NOT_FINITE.fullmatch(field)
            return int(parsing.FINE if fits else parsing.LABEL)
        if not number:
            return int(parsing.VALUE)
        if role == WEIGHT and float(field) < 0.0:
            return int(parsing.WEIGHT)
        return int(parsing.RANGE if abs(float(field)) > self._limit else parsing.FINE)

    def _row(self, fields: list[str]) -> Piece:
        roles = self._roles.tolist()
        for field, role in zip(fields, roles, strict=True):
            if role >= 0:
                self._X[0, role] = float(field)
            elif role == WEIGHT:
                self._weights[0] = float(field)
        label = fields[roles.index(TARGET)] if TARGET in roles else "0"
        if self._mode == parsing.TEXT_LABEL:
            return self._piece(1, np.array([label]))
        return self._piece(1, np.array([float(label) if _NUMBER.fullmatch(label) else np.nan]))


def _field_starts(line: bytes, delimiter: bytes) -> list[int]:
    """Return where the fields of a line start; delimiters within quotes divide nothing."""
    starts, quoted = [0], False
    for at in range(len(line)):
        byte = line[at : at + 1]
        quoted ^= byte == b'"'
        if byte == delimiter and not quoted:
            starts.append(at + 1)
    return starts
