"""Where a matrix has a number that is missing or infinite."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


class NotFinite(NamedTuple):
    """An entry that is no finite number, and its place, counted from 0."""

    value: float
    row: int
    column: int


def first_not_finite(block: Any) -> NotFinite | None:
    """Return the first entry of an array or a CSR matrix that is not finite; None if there is none.

    Examples
    --------
    >>> first_not_finite(np.array([[1.0, 2.0], [3.0, np.inf]]))
    NotFinite(value=inf, row=1, column=1)
    """
    values = block.data if sparse.issparse(block) else block
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):  # quick, and hardly ever wrong the other way
            return None
    wrong = np.flatnonzero(~np.isfinite(values))
    if not wrong.size:
        return None
    place = int(wrong[0])
    if sparse.issparse(block):
        row, column = int(np.searchsorted(block.indptr, place, side="right")) - 1, int(block.indices[place])
    else:
        row, column = divmod(place, block.shape[1])
    return NotFinite(float(values.ravel()[place]), row, column)
