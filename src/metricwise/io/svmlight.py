"""Files in the format of svmlight and libsvm: a label, then ``index:value`` for every feature that is not zero.

In ranking problems, ``qid:number`` behind the label is the query of a row. The rows of a query follow each other.
"""

from __future__ import annotations

from contextlib import closing
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise._typing import Floats, Integers
from metricwise.io.chunks import Piece, read_rows
from metricwise.io.encodings import explain_undecodable
from metricwise.io.errors import SkipLog
from metricwise.io.labels import make_text_labels
from metricwise.io.spec import FileSpec
from metricwise.io.text import Bytes, Outcome, TextReader, TextSource, show
from metricwise.kernels import parsing

_NO_LIMIT = 10**18
_SCAN_ROWS = 10_000
_LARGEST_INT32 = 2**31 - 1
_LARGEST = float(np.finfo(np.float64).max)


class SvmlightSource(TextSource):
    """A file in svmlight format."""

    feature_names = None
    known_rows = None

    def __init__(self, spec: FileSpec, dtype: np.dtype[Any]) -> None:
        super().__init__(spec)
        self.known_features = spec.roles.n_features
        self._dtype = dtype

    def prepare(self, chunk_rows: int, log: SkipLog | None) -> int:
        """Find the kind of the labels in the first chunk and, unless it was given, the largest index in the file."""
        self._settle_labels(chunk_rows, log)
        if self.known_features is None:
            self.known_features = self._scan(log)
        return self.known_features

    def open(self, log: SkipLog | None) -> TextReader:
        """Start a pass over the file."""
        return TextReader(self.spec, self._parser(), log)

    def _parser(self) -> SvmlightParser:
        mode = parsing.NUMBER_LABEL if self.has_number_labels else parsing.TEXT_LABEL
        return SvmlightParser(self._dtype, self.known_features, self.spec.zero_based, mode)

    def _scan(self, log: SkipLog | None) -> int:
        parser = self._parser()
        with closing(TextReader(self.spec, parser, log)) as reader:
            while reader.read(_SCAN_ROWS) is not None:
                pass
        if parser.width == 0:
            raise ValueError(f"{self.spec.path} has labels but no features: give their number as n_features")
        return parser.width


def read_svmlight(spec: FileSpec, file: IO[bytes]) -> tuple[Any, NDArray[Any], Integers | None]:
    """Return all rows of an open file: one sparse matrix, labels, and queries if these are asked for.

    Labels are numbers if all are, else text.
    """
    has_queries = spec.roles.groups is not None
    for mode in (parsing.ANY_LABEL, parsing.TEXT_LABEL):
        file.seek(0)
        parser = SvmlightParser(
            np.dtype(np.float64), spec.roles.n_features, spec.zero_based, mode, has_queries=has_queries
        )
        reader = TextReader(spec, parser, None, file)
        pieces = read_rows(reader, _NO_LIMIT)
        if not pieces:
            raise ValueError(f"{spec.path} has no rows")
        y = np.concatenate([piece.y for piece in pieces])
        if mode == parsing.TEXT_LABEL:
            y = make_text_labels(spec.path, y)
        elif np.isfinite(y).all():
            break
    if parser.width == 0:
        raise ValueError(f"{spec.path} has labels but no features: give their number as n_features")
    parts = [piece.X for piece in pieces]
    for part in parts:
        part.resize(part.shape[0], parser.width)  # the largest index may be in a later piece
    queries = np.concatenate([piece.queries for piece in pieces]) if has_queries else None
    return sparse.vstack(parts, format="csr") if len(parts) > 1 else parts[0], y, queries


class SvmlightParser:
    """Parses rows from lines of ``label index:value ...``; ``width`` is the number of features given or found."""

    comment = ord("#")

    def __init__(
        self, dtype: Any, n_features: int | None, zero_based: bool, mode: int, *, has_queries: bool = False
    ) -> None:
        self.width = n_features or 0
        self._limit = float(np.finfo(dtype).max)
        self._dtype = dtype
        self._bound = _NO_LIMIT if n_features is None else n_features
        self._grows = n_features is None
        self._base = 0 if zero_based else 1
        self._mode = mode
        self._has_queries = has_queries
        self._queries: Integers = np.empty(0, dtype=np.int64)
        self._query: int | None = None  # of the latest row
        self._ended_queries: set[int] = set()
        self._block_bytes = self._rows = -1

    def _reserve(self, block_bytes: int, rows: int) -> None:
        """Allocate arrays for the content of a block of this size: an entry takes four bytes, a row two."""
        rows = min(rows, block_bytes // 2 + 1)
        if rows > self._rows:
            self._rows = rows
            self._labels = np.empty(rows)
            self._spans = np.empty((rows, 2), dtype=np.int64)
            self._indptr = np.empty(rows + 1, dtype=np.int64)
            if self._has_queries:
                self._queries = np.empty(rows, dtype=np.int64)
        if block_bytes > self._block_bytes:
            self._block_bytes = block_bytes
            self._indices = np.empty(block_bytes // 4 + 1, dtype=np.int64)
            self._values = np.empty(block_bytes // 4 + 1)
            self._slow = np.empty((block_bytes // 5 + 1, 5), dtype=np.int64)

    def parse(self, block: bytes, view: Bytes, position: int, count: int) -> tuple[Outcome, Piece | None]:
        """Read at most ``count`` rows; stop before the first malformed line."""
        self._reserve(len(block), count)
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
            self._queries,
        )
        fields = {parsing.FEATURE_FIELD: self._values, parsing.TARGET_FIELD: self._labels}
        outcome = Outcome(code, rows, end, place)
        outcome = _convert_slow(block, outcome, self._slow[:n_slow], fields, self._limit)
        y: Any = self._labels[: outcome.rows].copy()
        if self._mode == parsing.TEXT_LABEL:
            outcome, y = _decode_labels(block, outcome, self._spans)
        queries = None
        if self._has_queries:
            outcome = self._end_at_divided_query(block, outcome)
            y, queries = y[: outcome.rows], self._queries[: outcome.rows].copy()
        return outcome, Piece(self._make_matrix(outcome.rows), y, None, queries) if outcome.rows else None

    def _end_at_divided_query(self, block: bytes, outcome: Outcome) -> Outcome:
        """Note the queries of the rows read; one that has ended before ends the rows before its line."""
        queries = self._queries[: outcome.rows]
        before = np.concatenate([[-1 if self._query is None else self._query], queries[:-1]])
        for row in np.flatnonzero(queries != before).tolist():
            query = int(queries[row])
            if query in self._ended_queries:
                start = int(self._spans[row, 0])
                return Outcome(parsing.SPLIT_QUERY, row, block.rfind(b"\n", 0, start) + 1, start)
            if self._query is not None:
                self._ended_queries.add(self._query)
            self._query = query
        return outcome

    def _make_matrix(self, rows: int) -> Any:
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

    def explain(self, code: int, line: bytes, place: int) -> str:
        """Return what is wrong with a line."""
        word = (line[place:].split(b"#")[0].split() or [b""])[0]
        token = show(word)
        problems = {
            parsing.INDEX: f"found {token} where index:value belongs, such as 3:0.5",
            parsing.ZERO_INDEX: f"found {token}, but indices start at 1: pass zero_based=True if they start at 0",
            parsing.INDEX_ORDER: f"found {token}, but the indices of a line must increase: sort them, each once",
            parsing.INDEX_RANGE: f"found {token}, beyond n_features={self._bound}: pass a larger n_features, or None",
            parsing.RANGE: f"found {token}, which is too large for the type of the numbers: scale the column down",
            parsing.NO_QUERY: f"found {token if word else 'the end'} where the query belongs: rows are ranked by "
            "query, and each needs qid:number behind its label (qid:1 if all are one query)",
            parsing.QUERY: f"found {token} where qid: and a whole number of at most 18 digits belong, such as qid:7",
            parsing.SPLIT_QUERY: f"{show(b' '.join(line.split()[1:2]))} has ended before, at a row of another query: "
            "the rows of a query must follow each other. Sort them by qid, or number the queries of joined files anew",
            parsing.VALUE: f"found {token} where a finite number belongs: correct the line or leave it out",
        }
        if code == parsing.ENCODING:
            return explain_undecodable(word)
        return self._explain_label(word) if code == parsing.LABEL else problems[code]

    def _explain_label(self, token: bytes) -> str:
        if b":" in token:
            return f"found {show(token)} where the label belongs: put the label first"
        if b"," in token:
            return f"found {show(token)}, but a row has one label: split the file by label"
        if self._mode == parsing.NUMBER_LABEL:
            return f"found {show(token)} where a number belongs: the labels of the first chunk are numbers"
        return f"found {show(token)} where a label belongs: correct the line or leave it out"


def _convert_slow(block: bytes, outcome: Outcome, slow: Integers, fields: dict[int, Floats], limit: float) -> Outcome:
    """Convert the numbers that compiled code left; a number out of range ends the rows before its line."""
    for field, index, start, stop, row in slow.tolist():
        value = float(block[start:stop])
        if abs(value) > (limit if field == parsing.FEATURE_FIELD else _LARGEST):
            return Outcome(parsing.RANGE, row, block.rfind(b"\n", 0, start) + 1, start)
        fields[field][index] = value
    return outcome


def _decode_labels(block: bytes, outcome: Outcome, spans: Integers) -> tuple[Outcome, NDArray[Any]]:
    """Return the labels as text; one that is not UTF-8 ends the rows before its line."""
    labels: list[str] = []
    for start, stop in spans[: outcome.rows].tolist():
        try:
            labels.append(block[start:stop].decode())
            code = parsing.LABEL if labels[-1].endswith("\0") else parsing.FINE  # which arrays of texts drop
        except UnicodeDecodeError:
            code = parsing.ENCODING
        if code != parsing.FINE:
            del labels[len(labels) - (code == parsing.LABEL) :]
            outcome = Outcome(code, len(labels), block.rfind(b"\n", 0, start) + 1, start)
            break
    return outcome, np.array(labels, dtype=object)
