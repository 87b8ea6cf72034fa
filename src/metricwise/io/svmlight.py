"""Files in the format of svmlight and libsvm: a label, then ``index:value`` for every feature that is not zero."""

from __future__ import annotations

from contextlib import closing
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise.io.chunks import Piece, read_rows
from metricwise.io.errors import SkipLog
from metricwise.io.text import (
    Bytes,
    Outcome,
    TextReader,
    TextSource,
    common_problem,
    convert_slow,
    shown,
    text_labels,
)
from metricwise.kernels import parsing

_NO_LIMIT = 10**18
_SCAN_ROWS = 10_000
_LARGEST_INT32 = 2**31 - 1


class SvmlightSource(TextSource):
    """A file in svmlight format."""

    format = "svmlight"
    feature_names = None
    known_rows = None

    def __init__(self, path: str, dtype: Any, *, n_features: int | None, zero_based: bool) -> None:
        super().__init__(path)
        self.known_features = n_features
        self._dtype = dtype
        self._zero_based = zero_based

    def prepare(self, chunk_rows: int, log: SkipLog | None) -> int:
        """Find the kind of the labels in the first chunk and, unless it was given, the largest index in the file."""
        self._settle_labels(chunk_rows, log)
        if self.known_features is None:
            self.known_features = self._scan(log)
        return self.known_features

    def open(self, log: SkipLog | None) -> TextReader:
        """Start a pass over the file."""
        return TextReader(self.path, self._parser(), log)

    def _parser(self) -> SvmlightParser:
        return SvmlightParser(self._dtype, self.known_features, self._zero_based, self.mode)

    def _scan(self, log: SkipLog | None) -> int:
        parser = self._parser()
        with closing(TextReader(self.path, parser, log)) as reader:
            while reader.read(_SCAN_ROWS) is not None:
                pass
        if parser.width == 0:
            raise ValueError(f"{self.path} has labels but no features: give their number as n_features")
        return parser.width


def read_svmlight(name: str, file: IO[bytes], n_features: int | None, zero_based: bool) -> tuple[Any, NDArray[Any]]:
    """Return all rows of an open file as one sparse matrix, and their labels: numbers if all are, else text."""
    for mode in (parsing.ANY_LABEL, parsing.TEXT_LABEL):
        file.seek(0)
        parser = SvmlightParser(np.dtype(np.float64), n_features, zero_based, mode)
        reader = TextReader(name, parser, None, file=file)
        pieces = read_rows(reader, _NO_LIMIT)
        if not pieces:
            raise ValueError(f"{name} has no rows")
        y = np.concatenate([piece.y for piece in pieces])
        if mode == parsing.TEXT_LABEL or np.isfinite(y).all():
            break
    if parser.width == 0:
        raise ValueError(f"{name} has labels but no features: give their number as n_features")
    parts = [piece.X for piece in pieces]
    for part in parts:
        part.resize(part.shape[0], parser.width)  # the first pieces may not have met the largest index
    return sparse.vstack(parts, format="csr") if len(parts) > 1 else parts[0], y


class SvmlightParser:
    """Rows from lines of ``label index:value ...``; ``width`` is the number of features, so far if it is unknown."""

    comment = ord("#")

    def __init__(self, dtype: Any, n_features: int | None, zero_based: bool, mode: int) -> None:
        self.width = n_features or 0
        self._limit = float(np.finfo(dtype).max)
        self._dtype = dtype
        self._bound = _NO_LIMIT if n_features is None else n_features
        self._grows = n_features is None
        self._base = 0 if zero_based else 1
        self._mode = mode
        self._block_bytes = self._rows = -1

    def _fit(self, block_bytes: int, rows: int) -> None:
        """Make room for as much as a block of this size can hold: an entry takes four bytes, a row two."""
        rows = min(rows, block_bytes // 2 + 1)
        if rows > self._rows:
            self._rows = rows
            self._labels = np.empty(rows)
            self._spans = np.empty((rows, 2), dtype=np.int64)
            self._indptr = np.empty(rows + 1, dtype=np.int64)
        if block_bytes > self._block_bytes:
            self._block_bytes = block_bytes
            self._indices = np.empty(block_bytes // 4 + 1, dtype=np.int64)
            self._values = np.empty(block_bytes // 4 + 1)
            self._slow = np.empty((block_bytes // 5 + 1, 5), dtype=np.int64)

    def parse(self, block: bytes, view: Bytes, position: int, count: int) -> tuple[Outcome, Piece | None]:
        """Read at most ``count`` rows; stop before the first malformed line."""
        self._fit(len(block), count)
        code, rows, end, place, n_slow = parsing.parse_svmlight(
            view,
            position,
            min(count, self._rows),
            self._base,
            self._bound,
            self._mode,
            self._limit,
            self._labels,
            self._spans,
            self._indptr,
            self._indices,
            self._values,
            self._slow,
        )
        fields = {parsing.FEATURE_FIELD: self._values, parsing.TARGET_FIELD: self._labels}
        outcome = Outcome(code, rows, end, place)
        outcome = convert_slow(block, outcome, self._slow[:n_slow], fields, self._limit)
        y: Any = self._labels[: outcome.rows].copy()
        if self._mode == parsing.TEXT_LABEL:
            outcome, y = text_labels(block, outcome, self._spans)
        return outcome, Piece(self._matrix(outcome.rows), y, None) if outcome.rows else None

    def _matrix(self, rows: int) -> Any:
        entries = self._indptr[rows]
        indices = self._indices[:entries]
        if self._grows and entries:
            self.width = max(self.width, int(indices.max()) + 1)
        integers = np.int32 if max(self.width, entries) <= _LARGEST_INT32 else np.int64
        arrays = (
            self._values[:entries].astype(self._dtype),
            indices.astype(integers),
            self._indptr[: rows + 1].astype(integers),
        )
        matrix = sparse.csr_matrix(arrays, shape=(rows, self.width))
        matrix.has_canonical_format = True  # the parser takes indices in increasing order only
        return matrix

    def refused(self, code: int, line: bytes, place: int) -> tuple[int, str]:
        """Say what is wrong with a line."""
        token = (line[place:].split(b"#")[0].split() or [b""])[0]
        if code == parsing.LABEL:
            return place, self._label_problem(token)
        if code == parsing.INDEX:
            return place, f"found {shown(token)} where index:value belongs, such as 3:0.5"
        if code == parsing.ZERO_INDEX:
            return place, f"found {shown(token)}, but indices start at 1: pass zero_based=True if they start at 0"
        if code == parsing.INDEX_ORDER:
            return place, f"found {shown(token)}, but the indices of a line must increase: sort them, each once"
        if code == parsing.INDEX_RANGE:
            return place, f"found {shown(token)}, beyond n_features={self._bound}: pass a larger n_features, or None"
        return place, common_problem(code, shown(token))

    def _label_problem(self, token: bytes) -> str:
        if b":" in token:
            return f"found {shown(token)} where the label belongs: put the label first"
        if b"," in token:
            return f"found {shown(token)}, but a row has one label: split the file by label"
        if self._mode == parsing.NUMBER_LABEL:
            return f"found {shown(token)} where a number belongs: the labels of the first chunk are numbers"
        return f"found {shown(token)} where a label belongs: correct the line or leave it out"
