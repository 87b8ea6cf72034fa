"""Text files as blocks of whole lines, plain or compressed, and the pass over them that all text formats share."""

from __future__ import annotations

import gzip
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import IO, Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats, Integers
from metricwise.io.chunks import Piece, read_rows
from metricwise.io.errors import MalformedLineError, SkipLog
from metricwise.kernels import parsing

Bytes = NDArray[np.uint8]
A = TypeVar("A")
T = TypeVar("T")

BLOCK_BYTES = 1 << 22
_HEAD_BYTES = 1 << 16
_MAGIC = b"\x1f\x8b"
_MARK = b"\xef\xbb\xbf"  # some programs put it in front of a text to say that it is UTF-8
_SHOWN = 40
_LARGEST = float(np.finfo(np.float64).max)


class Outcome(NamedTuple):
    """How far a parser came: rows read, where the next line starts, and what is wrong with that line, and where."""

    code: int
    rows: int
    position: int
    place: int


class Parser(Protocol):
    """Rows from lines of text."""

    comment: int

    def parse(self, block: bytes, view: Bytes, position: int, count: int) -> tuple[Outcome, Piece | None]:
        """Read at most ``count`` rows; stop before the first malformed line."""
        ...

    def refused(self, code: int, line: bytes, place: int) -> Piece | tuple[int, str]:
        """Say what is wrong with a line and where, or return its row if the line was only beyond the fast parser."""
        ...


def open_bytes(path: str) -> IO[bytes]:
    """Open a file for reading, decompressed if it starts as gzip files do, whatever its name."""
    with open(path, "rb") as file:
        compressed = file.read(2) == _MAGIC
    return gzip.open(path, "rb") if compressed else open(path, "rb")  # type: ignore[return-value]


def line_blocks(file: IO[bytes], path: str, size: int) -> Iterator[bytes]:
    """Yield the rest of a file in blocks of whole lines of about ``size`` bytes; longer lines make longer blocks."""
    parts: list[bytes] = []
    at_start = file.tell() == 0
    while data := guarded(path, file.read, size):
        if at_start and data.startswith(_MARK):
            data = data[len(_MARK) :]
        at_start = False
        cut = data.rfind(b"\n") + 1
        parts.append(data[:cut] if cut else data)
        if cut:
            yield b"".join(parts)
            parts = [data[cut:]]
    if rest := b"".join(parts):
        yield rest + b"\n"


def guarded(path: str, read: Callable[[A], T], argument: A) -> T:
    """Read from a file, or say that its compressed form is broken."""
    try:
        return read(argument)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        message = f"{path}: the gzip file is damaged or ends too early ({error}): copy or download it again"
        raise OSError(message) from None


def first_line(path: str) -> tuple[str, int, int]:
    """Return the first line that is not empty, where the next one starts in bytes, and its number."""
    number = 0
    with open_bytes(path) as file:
        while line := guarded(path, file.readline, -1):
            number += 1
            line = line.removeprefix(_MARK) if number == 1 else line
            if line.strip():
                return _decoded(path, number, line), file.tell(), number + 1
    raise ValueError(f"{path} has no rows: the file is empty")


def _decoded(path: str, number: int, line: bytes) -> str:
    try:
        return line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        problem = f"found {line[error.start : error.end]!r}, which is not UTF-8: save the file as UTF-8"
        raise MalformedLineError(path, number, error.start + 1, problem) from None


def shown(text: bytes) -> str:
    """Return a token as error messages show it."""
    if len(text) > _SHOWN:
        text = text[:_SHOWN] + b"..."
    return repr(text.decode(errors="replace"))


class TextReader:
    """One pass over the lines of a file, through the parser of its format."""

    def __init__(
        self,
        path: str,
        parser: Parser,
        log: SkipLog | None,
        offset: int = 0,
        line: int = 1,
        file: IO[bytes] | None = None,
    ) -> None:
        self._path = path
        self._parser = parser
        self._log = log
        self._file = open_bytes(path) if file is None else file
        guarded(path, self._file.seek, offset)
        self._blocks = line_blocks(self._file, path, BLOCK_BYTES)
        self._block = b""
        self._view: Bytes = np.empty(0, dtype=np.uint8)
        self._position = 0
        # Lines are counted only when a number is asked for: up to where, and the number of the line there.
        self._counted, self._line = 0, line

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def skip(self, count: int) -> int:
        """Pass over so many rows; lines need not be parsed unless malformed ones are left out."""
        passed = 0
        if self._log is not None:
            while passed < count and (piece := self.read(count - passed)) is not None:
                passed += len(piece.y)
            return passed
        while passed < count and self._has_lines():
            self._position, more = parsing.skip_rows(self._view, self._position, count - passed, self._parser.comment)
            passed += more
        return passed

    def read(self, count: int) -> Piece | None:
        """Return at least one and at most so many rows; None at the end of the file."""
        while self._has_lines():
            outcome, piece = self._parser.parse(self._block, self._view, self._position, count)
            self._position = outcome.position
            if piece is None and outcome.code:
                piece = self._malformed(outcome)
            if piece is not None:
                return piece
        return None

    def _has_lines(self) -> bool:
        """Whether a line is left; moves on to the next block where one is over."""
        if self._position < len(self._block):
            return True
        self._number(len(self._block))
        self._block = next(self._blocks, b"")
        self._view = np.frombuffer(self._block, dtype=np.uint8)
        self._position = self._counted = 0
        return bool(self._block)

    def _number(self, position: int) -> int:
        """Return the number of the line that starts at a position."""
        self._line += self._block.count(b"\n", self._counted, position)
        self._counted = position
        return self._line

    def _malformed(self, outcome: Outcome) -> Piece | None:
        """Step over a line the parser refused; return its row after all, or complain."""
        start = outcome.position
        self._position = self._block.index(b"\n", start) + 1
        line = self._block[start : self._position]
        number = self._number(start)
        verdict = self._parser.refused(outcome.code, line, outcome.place - start)
        if isinstance(verdict, Piece):
            return verdict
        place, problem = verdict
        column = len(line[:place].decode(errors="replace")) + 1
        error = MalformedLineError(self._path, number, column, problem)
        if self._log is None:
            raise error
        self._log.add(error)
        return None


class TextSource(ABC):
    """What the sources of all text formats share: the kind of the labels is read off the first chunk."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.mode = parsing.ANY_LABEL

    @abstractmethod
    def open(self, log: SkipLog | None) -> TextReader:
        """Start a pass over the file."""

    def _settle_labels(self, chunk_rows: int, log: SkipLog | None) -> None:
        """Decide from the first chunk whether labels are numbers or text."""
        if self.mode != parsing.ANY_LABEL:
            return
        with closing(self.open(log)) as reader:
            pieces = read_rows(reader, chunk_rows)
        if not pieces:
            raise ValueError(f"{self.path} has no rows" + (f"; {log.messages[0]}" if log and log.count else ""))
        numbers = all(np.isfinite(piece.y).all() for piece in pieces)
        self.mode = parsing.NUMBER_LABEL if numbers else parsing.TEXT_LABEL


def convert_slow(block: bytes, outcome: Outcome, slow: Integers, fields: dict[int, Floats], limit: float) -> Outcome:
    """Convert the numbers the kernel left over; a number out of range ends the rows before its line."""
    for field, index, start, stop, row in slow.tolist():
        value = float(block[start:stop])
        negative = field == parsing.WEIGHT_FIELD and value < 0.0
        if negative or abs(value) > (limit if field == parsing.FEATURE_FIELD else _LARGEST):
            line = block.rfind(b"\n", 0, start) + 1
            return Outcome(parsing.WEIGHT if negative else parsing.RANGE, row, line, start)
        fields[field][index] = value
    return outcome


def text_labels(block: bytes, outcome: Outcome, spans: Integers) -> tuple[Outcome, NDArray[Any]]:
    """Return the labels as text; one that is not UTF-8 ends the rows before its line."""
    labels: list[str] = []
    for start, stop in spans[: outcome.rows].tolist():
        try:
            label = block[start:stop].decode()
        except UnicodeDecodeError:
            line = block.rfind(b"\n", 0, start) + 1
            outcome = Outcome(parsing.ENCODING, len(labels), line, start)
            break
        # Within quotes, two in a row stand for one.
        labels.append(label.replace('""', '"') if block[start - 1 : start] == b'"' else label)
    return outcome, np.array(labels, dtype=np.str_)


def common_problem(code: int, token: str) -> str:
    """Say what is wrong where all text formats say the same."""
    if code == parsing.RANGE:
        return f"found {token}, which is too large for the type of the numbers: scale the column down"
    if code == parsing.ENCODING:
        return f"found the label {token}, which is not UTF-8: save the file as UTF-8"
    return f"found {token} where a finite number belongs: correct the line or leave it out"
