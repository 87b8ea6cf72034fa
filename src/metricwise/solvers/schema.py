"""What the arrays of a saved state must be, declared beside each state and checked before any code uses them.

Compiled code follows every index and every size that it is given. So an array of a file is used only if its type, shape
and values are those that the solver could have written for these samples and settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise.csr import check_csr_arrays

MOST = 2.0**53  # counts beyond it are not exact as floating-point numbers
_TYPES: dict[str, tuple[Any, ...]] = {
    "float": (np.float64,),
    "real": (np.float64, np.float32),  # samples, which keep their precision
    "count": (np.int64,),
    "index": (np.int64, np.int32),
    "bool": (np.bool_,),
}
_TOTAL_ROUNDING = 1e-6
_INDPTR = "_indptr"


class StateError(ValueError):
    """Reports an array of a saved state that is missing or wrong."""


@dataclass(frozen=True)
class ArrayField:
    """One array of a saved state.

    Parameters
    ----------
    kind : {"float", "real", "count", "index", "bool", "text"}
        The type of its entries; "real" has either precision, "index" either size of integers.
    shape : tuple of int or str
        Its sizes. A name such as "features" stands for the same size in all arrays of a state, "cuts+1" for one more.
    low, high : float or tuple of float
        Least and greatest value, or those of every entry.
    may_be_infinite, may_be_nan : bool
        Whether infinity within the range, or NaN, is a possible value.
    is_rising : bool
        Whether no entry is smaller than the one before it.
    n_columns : int, optional
        If given, the array is the ``indptr`` of a CSR matrix with so many columns; its other two are fields beside it.
    total : float, optional
        The sum of the entries, up to rounding.
    options : tuple of str
        The possible texts.
    """

    kind: str
    shape: tuple[int | str, ...] = ()
    low: float | tuple[float, ...] = -np.inf
    high: float | tuple[float, ...] = np.inf
    may_be_infinite: bool = False
    may_be_nan: bool = False
    is_rising: bool = False
    n_columns: int | None = None
    total: float | None = None
    options: tuple[str, ...] = ()

    def pack(self, value: Any) -> NDArray[Any]:
        """Return a value as an array of the declared type."""
        return np.asarray(value, dtype=_TYPES[self.kind][0] if self.kind in ("float", "count", "bool") else None)

    def find_problem(self, array: NDArray[Any], sizes: dict[str, int]) -> str:
        """Return what is wrong with an array, or nothing; sizes that were not known are set by it."""
        if self.kind == "text":
            fits = array.dtype.kind == "U" and array.shape == () and array.item() in self.options
            return "" if fits else f"is not one of {', '.join(map(repr, self.options))}"
        if array.dtype not in _TYPES[self.kind]:
            return f"has the type {array.dtype}"
        if not self._fits_shape(array.shape, sizes):
            return f"has the shape {array.shape}"
        return self._find_wrong_value(array)

    def _fits_shape(self, shape: tuple[int, ...], sizes: dict[str, int]) -> bool:
        if len(shape) != len(self.shape):
            return False
        for found, wanted in zip(shape, self.shape, strict=True):
            if isinstance(wanted, str):
                name, _, more = wanted.partition("+")
                wanted = sizes.setdefault(name, found - int(more or 0)) + int(more or 0)
            if found != wanted or wanted < 0:
                return False
        return True

    def _find_wrong_value(self, array: NDArray[Any]) -> str:
        if array.dtype.kind == "b":
            return ""
        is_nan = np.isnan(array)
        if is_nan.any() and not self.may_be_nan:
            return "has a NaN"
        if np.isinf(array).any() and not self.may_be_infinite:
            return "has an infinite value"
        if not np.all(is_nan | ((array >= self.low) & (array <= self.high))):
            return "has a value out of range"
        if self.is_rising and np.any(array[1:] < array[:-1]):
            return "is not in ascending order"
        if self.total is not None and abs(float(array.sum()) - self.total) > _TOTAL_ROUNDING:
            return f"does not add up to {self.total:g}"
        return ""


Schema = Mapping[str, ArrayField]


def check_arrays(arrays: Mapping[str, NDArray[Any]], schema: Schema, **sizes: int) -> None:
    """Raise unless the arrays are those of a schema, with the given sizes.

    Examples
    --------
    >>> schema = {"w": ArrayField("float", ("features",)), "idle": ArrayField("count", ("cuts",), low=0)}
    >>> check_arrays({"w": np.zeros(3), "idle": np.array([0, -1])}, schema, features=3)
    Traceback (most recent call last):
      ...
    metricwise.solvers.schema.StateError: 'idle' has a value out of range
    """
    known = dict(sizes)
    for name, field in schema.items():
        if name not in arrays:
            raise StateError(f"{name!r} is missing")
        problem = field.find_problem(arrays[name], known)
        if problem:
            raise StateError(f"{name!r} {problem}")
        if field.n_columns is not None:
            _check_csr(arrays, name.removesuffix(_INDPTR), field.n_columns)
    unknown = arrays.keys() - schema.keys()
    if unknown:
        raise StateError(f"{min(unknown)!r} is unknown")


def _check_csr(arrays: Mapping[str, NDArray[Any]], name: str, n_columns: int) -> None:
    data, indices, indptr = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    try:
        check_csr_arrays(data, indices, indptr, (indptr.size - 1, n_columns))
    except ValueError as error:
        raise StateError(f"{name!r} is no CSR matrix: {error}") from None


def require_state(condition: Any, problem: str) -> None:
    """Raise a `StateError` unless a condition on several arrays holds."""
    if not condition:
        raise StateError(problem)


def csr_fields(name: str, n_rows: str, n_columns: int, kind: str = "float") -> dict[str, ArrayField]:
    """Return the fields of a matrix in compressed rows (CSR), whose row count has the name ``n_rows``."""
    entries = f"{name} entries"
    return {
        f"{name}_data": ArrayField(kind, (entries,)),
        f"{name}_indices": ArrayField("index", (entries,)),
        f"{name}{_INDPTR}": ArrayField("index", (f"{n_rows}+1",), n_columns=n_columns),
    }
