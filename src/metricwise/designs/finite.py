"""Find NaN, infinity and numbers whose squares overflow in matrices."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Products of such features, weights and costs, and their squares, stay within double precision.
LARGEST = float(np.finfo(np.float32).max)


class UnusableEntry(NamedTuple):
    """An entry that is NaN, infinite or beyond `LARGEST`, and its position, counted from 0."""

    value: float
    row: int
    column: int

    @property
    def remedy(self) -> str:
        """What belongs in its place, and what to do."""
        if np.isfinite(self.value):
            return f"where a number up to {LARGEST:.2g} belongs: scale the column down, or use its logarithm"
        return "where a finite number belongs: fill it in or drop the sample"


def are_surely_within(values: NDArray[Any], largest: float) -> bool:
    """Return whether one fast pass shows that no value is NaN, infinite or beyond a limit; False if it does not.

    Examples
    --------
    >>> are_surely_within(np.array([1.0, -2.0]), 1e3), are_surely_within(np.array([1.0, np.nan]), 1e3)
    (True, False)
    """
    values = values.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        if values.dtype == np.float64:
            squares = np.dot(values, values)
            return bool(np.isfinite(squares) and math.sqrt(squares) <= largest)
        # Single precision has no finite number beyond `LARGEST`.
        is_single = values.dtype == np.float32 and largest >= LARGEST
        return is_single and bool(np.isfinite(values.sum(dtype=np.float64)))


def find_unusable(block: Any) -> UnusableEntry | None:
    """Return the first entry of an array or a CSR matrix that cannot be computed with; None if there is none.

    Examples
    --------
    >>> find_unusable(np.array([[1.0, 2.0], [3.0, np.inf]]))
    UnusableEntry(value=inf, row=1, column=1)
    >>> find_unusable(np.array([[1.0, 1e200]])).remedy
    'where a number up to 3.4e+38 belongs: scale the column down, or use its logarithm'
    """
    if are_surely_within(block.data if sparse.issparse(block) else block, LARGEST):
        return None
    values = (block.data if sparse.issparse(block) else block).ravel()
    wrong = np.flatnonzero(~(np.abs(values) <= LARGEST))
    if not wrong.size:
        return None
    position = int(wrong[0])
    if sparse.issparse(block):
        row, column = int(np.searchsorted(block.indptr, position, side="right")) - 1, int(block.indices[position])
    else:
        row, column = divmod(position, block.shape[1])
    return UnusableEntry(float(values[position]), row, column)
