"""The cutting-plane model of the slack and its quadratic programme.

R(w) >= max over cuts k of loss_k + plane_k . w. Minimising 1/2 |w|^2 + cost * that model is, in the dual, a
quadratic programme over the simplex with one share per cut; its Gram matrix grows by one row with every cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise._typing import Floats, Mask
from metricwise.kernels.simplex import solve_simplex
from metricwise.results import Witness
from metricwise.solvers.schema import MOST, ArrayField, Schema, csr_fields


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


_QP_TOLERANCE = 1e-11


class Minimum(NamedTuple):
    """The minimiser of the model and its value, a lower bound of the objective."""

    w: Floats
    lower: float


class Cuts:
    """Cuts with their shares in the dual solution.

    Parameters
    ----------
    length : int
        Number of weights.
    is_sparse : bool
        Whether to store the cuts sparsely.
    """

    def __init__(self, length: int, is_sparse: bool) -> None:
        self._length = length
        make = SparseVectors if is_sparse else DenseVectors
        self._planes: VectorStore = make(length)
        self._points: VectorStore = make(length)
        self._gram = np.zeros((16, 16))
        self.losses = np.empty(0)
        self.tables = np.empty((0, 2))
        self.shares = np.empty(0)
        self._idle = np.empty(0, dtype=np.int64)
        self._is_truth = np.empty(0, dtype=np.bool_)

    def __len__(self) -> int:
        return self.losses.size

    def add_truth(self, length: int) -> None:
        """Add the cut of the true labels: no loss, no slope. It states that the slack is not negative."""
        zero = np.zeros(length)
        self._add(zero, zero, zero, 0.0, (np.nan, np.nan), truth=True)

    def add(self, plane: Floats, covector: Floats, point: Floats, loss: float, table: tuple[float, float]) -> None:
        """Add the cut of a labelling found at the weights ``point``; ``covector`` gives the plane's inner products."""
        self._add(plane, covector, point, loss, table, truth=False)

    def _add(
        self, plane: Floats, covector: Floats, point: Floats, loss: float, table: tuple[float, float], truth: bool
    ) -> None:
        size = len(self)
        self._planes.append(plane)
        self._points.append(point)
        if size == len(self._gram):
            grown = np.zeros((2 * size, 2 * size))
            grown[:size, :size] = self._gram
            self._gram = grown
        row = self._planes.dot(covector)
        self._gram[size, : size + 1] = row
        self._gram[: size + 1, size] = row
        self.losses = np.append(self.losses, loss)
        self.tables = np.vstack([self.tables, table])
        self.shares = np.append(self.shares, 1.0 if size == 0 else 0.0)
        self._idle = np.append(self._idle, 0)
        self._is_truth = np.append(self._is_truth, truth)

    def minimise(self, cost: float) -> Minimum:
        """Return the minimum of 1/2 |w|^2 + cost * model, starting from the shares of the last call."""
        solve_simplex(self._gram, self.losses, cost, self.shares, _QP_TOLERANCE)
        w = -cost * self._planes.combine(self.shares)
        active = np.flatnonzero(self.shares)
        shares = self.shares[active]
        square = cost**2 * float(shares @ self._gram[np.ix_(active, active)] @ shares)
        return Minimum(w, float(cost * (self.losses @ self.shares) - 0.5 * square))

    def combination(self) -> tuple[float, Floats]:
        """Return loss and plane of the combination of all cuts by their shares."""
        return float(self.losses @ self.shares), self._planes.combine(self.shares)

    def forget_idle(self, patience: int) -> None:
        """Drop the cuts that had no share for more than ``patience`` minimisations."""
        self._idle = np.where(self.shares > 0.0, 0, self._idle + 1)
        self._keep((self._idle <= patience) | self._is_truth)

    def _keep(self, mask: Mask) -> None:
        if mask.all():
            return
        kept = np.flatnonzero(mask)
        self._planes.keep(mask)
        self._points.keep(mask)
        self._gram[: kept.size, : kept.size] = self._gram[np.ix_(kept, kept)]
        self.losses, self.tables, self.shares = self.losses[kept], self.tables[kept], self.shares[kept]
        self._idle, self._is_truth = self._idle[kept], self._is_truth[kept]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all cuts as arrays that can be written to a file; the Gram matrix follows from them."""
        everything = np.ones(len(self), dtype=np.bool_)
        return {
            **_sparse_arrays("planes", self._planes.matrix(everything)),
            **_sparse_arrays("points", self._points.matrix(everything)),
            "losses": self.losses,
            "tables": self.tables,
            "shares": self.shares,
            "idle": self._idle,
            "is_truth": self._is_truth,
        }

    def add_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Add the checked cuts of `to_arrays`, of a design whose planes are their own covectors."""
        planes, points = (_vectors(name, arrays, self._length) for name in ("planes", "points"))
        of_cuts = zip(planes, points, arrays["losses"], arrays["tables"], arrays["is_truth"], strict=True)
        for plane, point, loss, table, truth in of_cuts:
            self._add(plane, plane, point, float(loss), (table[0], table[1]), truth=bool(truth))
        self.shares, self._idle = arrays["shares"].copy(), arrays["idle"].copy()

    def witness(self) -> Witness:
        """Return the dual solution in a form from which data alone can rebuild it."""
        active = (self.shares > 0.0) & ~self._is_truth
        return Witness(self.shares[active], self._points.matrix(active), self.tables[active])


def cuts_schema(length: int) -> Schema:
    """Return what the arrays of `Cuts.to_arrays` are for so many weights; there is at least one cut."""
    return {
        **csr_fields("planes", "cuts", length),
        **csr_fields("points", "cuts", length),
        "losses": ArrayField("float", ("cuts",)),
        "tables": ArrayField("float", ("cuts", 2), low=0.0, may_be_nan=True),
        "shares": ArrayField("float", ("cuts",), low=0.0, high=1.0 + 1e-9, total=1.0),
        "idle": ArrayField("count", ("cuts",), low=0, high=MOST),
        "is_truth": ArrayField("bool", ("cuts",)),
    }


def _sparse_arrays(name: str, vectors: Any) -> dict[str, NDArray[Any]]:
    """Return vectors as the arrays of a CSR matrix, since those of sparse data are long."""
    matrix = sparse.csr_array(vectors)
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    return {f"{name}_{part}": values for part, values in parts.items()}


def _vectors(name: str, arrays: Mapping[str, NDArray[Any]], length: int) -> Iterator[Floats]:
    """Yield the vectors of `_sparse_arrays`."""
    data, indices, indptr = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    for start, stop in pairwise(indptr):
        vector = np.zeros(length)
        vector[indices[start:stop]] = data[start:stop]
        yield vector
