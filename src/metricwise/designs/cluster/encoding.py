"""Encode vectors for travel between coordinator and workers, in fewer bytes where no bit is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise._typing import Floats, Indices
from metricwise.kernels.coding import code_values

_MAX_DENSITY = 0.5  # of a vector whose entries are sent with their positions
_MAX_VALUES = 8
_EXCEPTION = 255  # the code of an entry that is not in the dictionary
_MAX_EXCEPTIONS = 0.02
_N_INSPECTED = 512


class SparseVector(NamedTuple):
    """A vector given by its non-zero entries."""

    positions: Indices
    values: Floats


class DictionaryVector(NamedTuple):
    """A vector with few distinct values: a code per entry, and the entries that are exceptions."""

    values: Floats
    codes: NDArray[np.uint8]
    exceptions: Indices
    exceptional_values: Floats


EncodedWeights: TypeAlias = Floats | SparseVector
EncodedCoefficients: TypeAlias = Floats | DictionaryVector


def encode_weights(vector: Floats) -> EncodedWeights:
    """Return weights as they are sent: those of a chunk of sparse samples have few non-zero entries.

    Examples
    --------
    >>> encode_weights(np.array([0.0, 0.0, 3.0]))
    SparseVector(positions=array([2]), values=array([3.]))
    """
    positions = np.flatnonzero(vector)
    return SparseVector(positions, vector[positions]) if positions.size < _MAX_DENSITY * vector.size else vector


def sum_weights(vectors: Iterable[EncodedWeights], size: int) -> Floats:
    """Return the sum of vectors that were encoded by `encode_weights`, added in their order.

    Examples
    --------
    >>> sum_weights([encode_weights(np.array([0.0, 0.0, 3.0])), np.array([1.0, 1.0, 1.0])], 3)
    array([1., 1., 4.])
    """
    total = np.zeros(size)
    for vector in vectors:
        if isinstance(vector, SparseVector):
            total[vector.positions] += vector.values
        else:
            total += vector
    return total


def encode_coefficients(vector: Floats) -> EncodedCoefficients:
    """Return coefficients of samples as they are sent: those of a labelling depend on two labels only, except for ties.

    Examples
    --------
    >>> coefficients = np.repeat([0.0, -0.5, 0.25], 1000)
    >>> encode_coefficients(coefficients).codes.nbytes, coefficients.nbytes
    (3000, 24000)
    >>> bool(np.all(decode_coefficients(encode_coefficients(coefficients)) == coefficients))
    True
    """
    values = np.unique(vector[:: max(1, vector.size // _N_INSPECTED)])
    if values.size > _MAX_VALUES:
        return vector
    codes = np.empty(vector.size, dtype=np.uint8)
    n_exceptions = code_values(vector, values, np.uint8(_EXCEPTION), codes)
    if n_exceptions > _MAX_EXCEPTIONS * vector.size:
        return vector
    exceptions = np.flatnonzero(codes == _EXCEPTION) if n_exceptions else np.zeros(0, dtype=np.int64)
    return DictionaryVector(values, codes, exceptions, vector[exceptions])


def decode_coefficients(coefficients: EncodedCoefficients) -> Floats:
    """Return the vector that was encoded by `encode_coefficients`."""
    if not isinstance(coefficients, DictionaryVector):
        return coefficients
    dictionary = np.zeros(_EXCEPTION + 1)
    dictionary[: coefficients.values.size] = coefficients.values
    vector: Floats = dictionary[coefficients.codes]
    vector[coefficients.exceptions] = coefficients.exceptional_values
    return vector


def count_bytes(message: Any) -> int:
    """Return the bytes of all arrays in a message, nested ones included; any other value counts eight.

    Examples
    --------
    >>> count_bytes([np.zeros(3), {0: np.zeros(2)}, 1.0])
    48
    """
    if isinstance(message, Mapping):
        return count_bytes(list(message.values()))
    if is_dataclass(message):
        return sum(count_bytes(getattr(message, field.name)) for field in fields(message))
    if isinstance(message, tuple | list):
        return sum(count_bytes(part) for part in message)
    if sparse.issparse(message):
        return count_bytes((message.data, message.indices, message.indptr))
    return int(getattr(message, "nbytes", 8))
