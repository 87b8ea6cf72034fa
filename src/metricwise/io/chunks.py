"""Chunks of rows of a file, and the pieces that parsers return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise._typing import Floats, Integers
from metricwise.io.errors import SkipLog
from metricwise.io.hashing import HashedColumns, HashOptions
from metricwise.io.labels import make_text_labels
from metricwise.io.spec import FileSpec


class Chunk(NamedTuple):
    """Consecutive rows of a file.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        The features: compressed sparse rows from svmlight files and of hashed columns, else a C-contiguous array.
    y : ndarray of shape (n_rows,)
        The labels: float64, or text.
    sample_weight : ndarray of shape (n_rows,) or None
        The weights, if a column of weights was named.
    first_row : int
        How many rows come before this chunk, malformed ones not counted.

    Examples
    --------
    >>> import numpy as np
    >>> chunk = Chunk(np.eye(2), np.array([1.0, -1.0]), None, first_row=0)
    >>> chunk.X.shape
    (2, 2)
    """

    X: Any
    y: NDArray[Any]
    sample_weight: Floats | None
    first_row: int


class Piece(NamedTuple):
    """Rows that were parsed together: a chunk, or a part of one. Its labels are numbers, or texts as objects."""

    X: Any
    y: NDArray[Any]
    weights: Floats | None
    queries: Integers | None = None


class Reader(Protocol):
    """One pass over a file."""

    def skip(self, count: int) -> int:
        """Skip ``count`` rows, or as many as there are; return how many."""
        ...

    def read(self, count: int) -> Piece | None:
        """Return at least one and at most ``count`` rows; None at the end of the file."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class Source(Protocol):
    """A file of labelled rows and how to read it."""

    spec: FileSpec

    @property
    def hashing(self) -> HashOptions | None:
        """The requested hashing, if there is any."""
        ...

    @property
    def hashed_columns(self) -> HashedColumns | None:
        """The rule by which words and categories become features, known after `prepare`."""
        ...

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns of X, if the file has them."""
        ...

    @property
    def known_features(self) -> int | None:
        """The number of features, if it is known without reading the file."""
        ...

    @property
    def known_rows(self) -> int | None:
        """The number of rows, if it is known without reading the file."""
        ...

    def prepare(self, chunk_rows: int, log: SkipLog | None) -> int:
        """Determine what the first pass needs to know; return the number of features."""
        ...

    def open(self, log: SkipLog | None) -> Reader:
        """Start a pass; malformed lines are left out and recorded in the log, or raise an error without a log."""
        ...


def join_pieces(path: str, pieces: Sequence[Piece], first_row: int) -> Chunk:
    """Return the chunk made of some pieces of a file."""
    X, y, weights, _ = pieces[0]
    if len(pieces) > 1:
        parts = [piece.X for piece in pieces]
        X = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
        y = np.concatenate([piece.y for piece in pieces])
        given = [piece.weights for piece in pieces if piece.weights is not None]
        weights = np.concatenate(given) if given else None
    return Chunk(X, make_text_labels(path, y, first_row) if y.dtype == object else y, weights, first_row)


def read_rows(reader: Reader, count: int) -> list[Piece]:
    """Return pieces that have ``count`` rows together, or fewer at the end of the file."""
    pieces: list[Piece] = []
    while count > 0 and (piece := reader.read(count)) is not None:
        pieces.append(piece)
        count -= len(piece.y)
    return pieces
