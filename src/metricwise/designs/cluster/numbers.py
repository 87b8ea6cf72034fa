"""Vectors on their way between a coordinator and its workers, in fewer bytes where none is lost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise._typing import Floats
from metricwise.kernels.coding import code_values

_FEW_ENTRIES = 0.5  # of a vector, below which its entries travel with their positions
_FEW_VALUES = 8
_OTHER = 255  # the code of an entry that is none of the few values
_MOST_OTHERS = 0.02
_LOOKED_AT = 512


class FewEntries(NamedTuple):
    """A vector by its entries other than zero."""

    where: NDArray[np.int64]
    values: Floats


class FewValues(NamedTuple):
    """A vector most of whose entries are among few values: their numbers, and the other entries."""

    values: Floats
    codes: NDArray[np.uint8]
    where: NDArray[np.int64]
    others: Floats


def by_entries(vector: Floats) -> Floats | FewEntries:
    """Return a vector of weights for travel: chunks of sparse samples need few of them.

    Examples
    --------
    >>> by_entries(np.array([0.0, 0.0, 3.0]))
    FewEntries(where=array([2]), values=array([3.]))
    """
    where = np.flatnonzero(vector)
    return FewEntries(where, vector[where]) if where.size < _FEW_ENTRIES * vector.size else vector


def added_up(vectors: Iterable[Floats | FewEntries], size: int) -> Floats:
    """Return the sum of vectors that came by `by_entries`, in their order.

    Examples
    --------
    >>> added_up([by_entries(np.array([0.0, 0.0, 3.0])), np.array([1.0, 1.0, 1.0])], 3)
    array([1., 1., 4.])
    """
    total = np.zeros(size)
    for vector in vectors:
        if isinstance(vector, FewEntries):
            total[vector.where] += vector.values
        else:
            total += vector
    return total


def by_values(vector: Floats) -> Floats | FewValues:
    """Return coefficients of samples for travel: those of labellings differ by class and label only, but for ties.

    Examples
    --------
    >>> coefficients = np.repeat([0.0, -0.5, 0.25], 1000)
    >>> by_values(coefficients).codes.nbytes, coefficients.nbytes
    (3000, 24000)
    >>> bool(np.all(in_full(by_values(coefficients)) == coefficients))
    True
    """
    values = np.unique(vector[:: max(1, vector.size // _LOOKED_AT)])
    if values.size > _FEW_VALUES:
        return vector
    codes = np.empty(vector.size, dtype=np.uint8)
    n_others = code_values(vector, values, np.uint8(_OTHER), codes)
    if n_others > _MOST_OTHERS * vector.size:
        return vector
    where = np.flatnonzero(codes == _OTHER) if n_others else np.zeros(0, dtype=np.int64)
    return FewValues(values, codes, where, vector[where])


def in_full(coefficients: Floats | FewValues) -> Floats:
    """Return the vector of `by_values`."""
    if not isinstance(coefficients, FewValues):
        return coefficients
    table = np.zeros(_OTHER + 1)
    table[: coefficients.values.size] = coefficients.values
    vector: Floats = table[coefficients.codes]
    vector[coefficients.where] = coefficients.others
    return vector


def n_bytes(things: Iterable[Any]) -> int:
    """Return the bytes of all arrays, sparse and nested ones included; a single number has eight."""
    total = 0
    for thing in things:
        if isinstance(thing, tuple | list):
            total += n_bytes(thing)
        elif sparse.issparse(thing):
            total += n_bytes((thing.data, thing.indices, thing.indptr))
        else:
            total += int(getattr(thing, "nbytes", 8))
    return total
