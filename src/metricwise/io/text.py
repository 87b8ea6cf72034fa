"""One pass over a text file, shared by all text formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import closing
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from metricwise.io.chunks import Piece, read_rows
from metricwise.io.encodings import ByteStream
from metricwise.io.errors import MalformedLineError, SkipLog
from metricwise.io.files import open_bytes, read_line_blocks
from metricwise.io.hashing import HashedColumns, HashOptions
from metricwise.io.notation import is_number
from metricwise.io.spec import FileSpec
from metricwise.kernels import parsing

Bytes = NDArray[np.uint8]

BLOCK_BYTES = 1 << 22
_SHOWN = 40


class Outcome(NamedTuple):
    """The progress of a parser: rows read, start of the next line, and what is wrong with that line, and where."""

    code: int
    rows: int
    position: int
    place: int


class Parser(Protocol):
    """Parses rows from lines of text."""

    comment: int

    def parse(self, block: bytes, view: Bytes, position: int, count: int) -> tuple[Outcome, Piece | None]:
        """Read at most ``count`` rows; stop before the first malformed line."""
        ...

    def explain(self, code: int, line: bytes, place: int) -> str:
        """Return what is wrong with a line, at a place in it."""
        ...


def show(text: bytes) -> str:
    """Return a token as error messages show it."""
    if len(text) > _SHOWN:
        text = text[:_SHOWN] + b"..."
    return repr(text.decode(errors="replace"))


class TextReader:
    """One pass over the lines of a file, through the parser of its format."""

    def __init__(
        self,
        spec: FileSpec,
        parser: Parser,
        log: SkipLog | None,
        file: ByteStream | None = None,
    ) -> None:
        self._path = spec.path
        self._parser = parser
        self._log = log
        self._file = open_bytes(spec.path, spec.encoding) if file is None else file
        self._blocks = read_line_blocks(self._file, spec.path, spec.start, BLOCK_BYTES)
        self._block = b""
        self._view: Bytes = np.empty(0, dtype=np.uint8)
        self._position = 0
        # Lines are counted only when a number is needed: the position counted up to, and the number of its line.
        self._counted, self._line = 0, spec.first_line

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def skip(self, count: int) -> int:
        """Skip ``count`` rows and return how many; lines are parsed only if malformed ones are left out."""
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
        """Return at least one and at most ``count`` rows; None at the end of the file."""
        while self._has_lines():
            outcome, piece = self._parser.parse(self._block, self._view, self._position, count)
            self._position = outcome.position
            if piece is None and outcome.code:
                self._refuse_line(outcome)
            if piece is not None:
                return piece
        return None

    def _has_lines(self) -> bool:
        """Return whether a line is left; move to the next block at the end of one."""
        if self._position < len(self._block):
            return True
        self._count_lines(len(self._block))
        self._block = next(self._blocks, b"")
        self._view = np.frombuffer(self._block, dtype=np.uint8)
        self._position = self._counted = 0
        return bool(self._block)

    def _count_lines(self, position: int) -> int:
        """Return the number of the line that starts at a position."""
        self._line += self._block.count(b"\n", self._counted, position)
        self._counted = position
        return self._line

    def _refuse_line(self, outcome: Outcome) -> None:
        """Skip a malformed line; record it in the log, or raise without a log."""
        start = outcome.position
        self._position = self._block.index(b"\n", start) + 1
        line, place = self._block[start : self._position], outcome.place - start
        column = len(line[:place].decode(errors="replace")) + 1
        error = MalformedLineError(
            self._path, self._count_lines(start), column, self._parser.explain(outcome.code, line, place)
        )
        if self._log is None:
            raise error
        self._log.add(error)


class TextSource(ABC):
    """Base class of text formats: determines the kind of the labels from the first chunk."""

    hashing: HashOptions | None = None
    hashed_columns: HashedColumns | None = None

    def __init__(self, spec: FileSpec) -> None:
        self.spec = spec
        self.has_number_labels = False
        self._is_settled = False

    @abstractmethod
    def open(self, log: SkipLog | None) -> TextReader:
        """Start a pass over the file."""

    def _settle_labels(self, chunk_rows: int, log: SkipLog | None) -> None:
        """Decide from the first chunk, whose labels are read as text, whether they are numbers."""
        if self._is_settled:
            return
        with closing(self.open(log)) as reader:
            pieces = read_rows(reader, chunk_rows)
        if not pieces:
            raise ValueError(f"{self.spec.path} has no rows" + (f"; {log.messages[0]}" if log and log.count else ""))
        labels: list[Any] = [label for piece in pieces for label in piece.y.tolist()]
        self.has_number_labels = all(isinstance(label, str) and is_number(label) for label in labels)
        self._is_settled = True
