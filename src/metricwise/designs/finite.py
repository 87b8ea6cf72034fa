"""Find NaN and infinity in matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


class NonFiniteEntry(NamedTuple):
    """An entry that is NaN or infinite, and its position, counted from 0."""

    value: float
    row: int
    column: int


def find_non_finite(block: Any) -> NonFiniteEntry | None:
    """Return the first entry of an array or a CSR matrix that is NaN or infinite; None if there is none.

    Examples
    --------
    >>> find_non_finite(np.array([[1.0, 2.0], [3.0, np.inf]]))
    NonFiniteEntry(value=inf, row=1, column=1)
    """
    values = block.data if sparse.issparse(block) else block
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):  # one pass; only overflow can make it infinite otherwise
            return None
    wrong = np.flatnonzero(~np.isfinite(values))
    if not wrong.size:
        return None
    position = int(wrong[0])
    if sparse.issparse(block):
        row, column = int(np.searchsorted(block.indptr, position, side="right")) - 1, int(block.indices[position])
    else:
        row, column = divmod(position, block.shape[1])
    return NonFiniteEntry(float(values.ravel()[position]), row, column)
