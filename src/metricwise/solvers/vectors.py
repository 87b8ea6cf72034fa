"""Growing lists of vectors, dense or sparse, which hold the cuts of a solver."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise._typing import Floats, Mask


class VectorStore(Protocol):
    """A growing list of vectors of one length."""

    def append(self, vector: Floats) -> None: ...

    def dot(self, vector: Floats) -> Floats:
        """Return the product of every stored vector with ``vector``."""
        ...

    def combine(self, shares: Floats) -> Floats:
        """Return the sum of the stored vectors times ``shares``."""
        ...

    def keep(self, mask: Mask) -> None:
        """Drop the vectors outside the mask."""
        ...

    def matrix(self, mask: Mask) -> Any:
        """Return the vectors inside the mask as the rows of a dense or sparse array."""
        ...


class DenseVectors:
    """Vectors in the rows of an array that doubles when it is full."""

    def __init__(self, length: int) -> None:
        self._vectors = np.empty((16, length))
        self._size = 0

    def append(self, vector: Floats) -> None:
        if self._size == len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.empty_like(self._vectors)])
        self._vectors[self._size] = vector
        self._size += 1

    def dot(self, vector: Floats) -> Floats:
        product: Floats = self._vectors[: self._size] @ vector
        return product

    def combine(self, shares: Floats) -> Floats:
        active = np.flatnonzero(shares)
        combined: Floats = shares[active] @ self._vectors[active]
        return combined

    def keep(self, mask: Mask) -> None:
        kept = np.flatnonzero(mask)
        self._vectors[: kept.size] = self._vectors[kept]
        self._size = kept.size

    def matrix(self, mask: Mask) -> Floats:
        return self._vectors[: self._size][mask]


class SparseVectors:
    """Vectors with few entries other than zero, as pairs of indices and values."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._vectors: list[tuple[NDArray[np.int64], Floats]] = []

    def append(self, vector: Floats) -> None:
        where = np.flatnonzero(vector)
        self._vectors.append((where, vector[where]))

    def dot(self, vector: Floats) -> Floats:
        return np.array([values @ vector[where] for where, values in self._vectors])

    def combine(self, shares: Floats) -> Floats:
        out = np.zeros(self._length)
        for share, (where, values) in zip(shares, self._vectors, strict=True):
            if share != 0.0:
                out[where] += share * values
        return out

    def keep(self, mask: Mask) -> None:
        self._vectors = [vector for vector, kept in zip(self._vectors, mask, strict=True) if kept]

    def matrix(self, mask: Mask) -> sparse.csr_array:
        kept = [vector for vector, inside in zip(self._vectors, mask, strict=True) if inside]
        starts = np.cumsum([0] + [where.size for where, _ in kept])
        where = np.concatenate([vector[0] for vector in kept] or [np.empty(0, np.int64)])
        values = np.concatenate([vector[1] for vector in kept] or [np.empty(0)])
        return sparse.csr_array((values, where, starts), shape=(len(kept), self._length))
