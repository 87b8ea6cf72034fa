"""The one check of the arrays of a CSR matrix, before compiled code follows them.

SciPy's ``check_format`` is not enough: it does not compare the entries of ``indptr`` with one another if the last one
is zero, and it takes their differences, which overflow.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from metricwise._typing import Labels

_ENTRIES_PER_BLOCK = 2**16  # entries that are compared, which fit into the cache


def check_csr_arrays(data: Labels, indices: Labels, indptr: Labels, shape: tuple[int, int]) -> None:
    """Raise a ValueError unless every entry of a matrix in compressed rows lies within its shape.

    Parameters
    ----------
    data, indices, indptr : array
        The entries, their columns, and where the entries of each row begin and end.
    shape : tuple of int
        Rows and columns; columns and rows of a matrix in compressed columns (CSC).

    Examples
    --------
    >>> import numpy as np
    >>> check_csr_arrays(np.ones(2), np.array([0, 3]), np.array([0, 1, 2]), (2, 3))
    Traceback (most recent call last):
      ...
    ValueError: indices must be from 0 to 2
    """
    n_rows, n_columns = shape
    if not data.ndim == indices.ndim == indptr.ndim == 1:
        raise ValueError("data, indices and indptr must have one dimension")
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise ValueError("indices and indptr must be whole numbers")
    if data.size != indices.size:
        raise ValueError("data and indices must have the same size")
    if indptr.size != n_rows + 1 or not indptr.size:
        raise ValueError(f"indptr must have {max(n_rows, 0) + 1} entries, one more than there are rows")
    if indptr[0] != 0 or indptr[-1] != indices.size or _is_falling(indptr):
        raise ValueError(f"indptr must rise from 0 to {indices.size}, the number of entries")
    if indices.size and find_largest(indices) >= n_columns:
        raise ValueError(f"indices must be from 0 to {n_columns - 1}")


def is_canonical(indices: Labels, indptr: Labels) -> bool:
    """Return whether a valid matrix in compressed rows has columns that rise in every row, so that none is repeated.

    Examples
    --------
    >>> import numpy as np
    >>> is_canonical(np.array([0, 2, 1]), np.array([0, 2, 2, 3])), is_canonical(np.array([1, 1]), np.array([0, 2]))
    (True, False)
    """
    begins = indptr[:-1][indptr[1:] > indptr[:-1]][1:]  # of the rows with entries, the first of them left out
    n_begins = int(np.count_nonzero(indices[begins] <= indices[begins - 1]))
    parts = (indices[start : start + _ENTRIES_PER_BLOCK + 1] for start in range(0, indices.size, _ENTRIES_PER_BLOCK))
    return sum(int(np.count_nonzero(part[1:] <= part[:-1])) for part in parts) == n_begins


def has_repeats(indices: Labels, indptr: Labels, n_columns: int) -> bool:
    """Return whether a valid matrix in compressed rows, in any order, has two entries at one position.

    Takes time and memory in proportion to the entries and the columns: a transposition lists the rows of every column
    in their order, and keeps the repeated ones next to each other.

    Examples
    --------
    >>> import numpy as np
    >>> has_repeats(np.array([2, 0]), np.array([0, 2]), 3), has_repeats(np.array([2, 0, 2]), np.array([0, 3]), 3)
    (False, True)
    """
    positions = (np.zeros(indices.size, dtype=np.int8), indices, indptr)
    by_column = sparse.csr_array(positions, shape=(indptr.size - 1, n_columns)).tocsc()
    return not is_canonical(by_column.indices, by_column.indptr)


def find_largest(indices: Labels) -> int:
    """Return the largest index, in one pass; negative ones count as huge, as they are without their sign."""
    return int(indices.view(indices.dtype.str.replace("i", "u")).max())


def _is_falling(indptr: Labels) -> bool:
    return bool((indptr[1:] < indptr[:-1]).any())
