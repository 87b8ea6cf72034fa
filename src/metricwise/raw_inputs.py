"""Check the samples and labels of users before anything follows the positions in their sparse matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import lt
from typing import Any

import numpy as np
from scipy import sparse

from metricwise._typing import Mask
from metricwise.csr import check_csr_arrays, find_largest, has_repeats, is_canonical

_COMPRESSED = ("csr", "csc")
_INDEX_TYPES = (np.int32, np.int64)


def check_samples(X: Any, name: str = "X", *, adds_repeated: bool = False) -> Any:
    """Return samples that can be read: a sparse matrix with sums of repeated entries, anything else as it is.

    Parameters
    ----------
    X : samples
        Arrays, data frames, sparse matrices or anything else.
    name : str
        Name of the samples in error messages.
    adds_repeated : bool
        Whether the samples are only multiplied by weights, which adds repeated entries up without a search for them.

    Raises
    ------
    ValueError
        If a sparse matrix is damaged, or if a data frame is lazy or has two columns of one name.
    """
    if sparse.issparse(X):
        return check_sparse(X, name, adds_repeated=adds_repeated)
    check_frame(X, name)
    return X


def check_sparse(matrix: Any, name: str = "X", *, adds_repeated: bool = False) -> Any:
    """Return a sparse matrix whose entries lie within its shape; a sorted copy with their sums if some are repeated.

    With ``adds_repeated``, repeated entries remain: the caller adds them up.

    SciPy does not check the positions in arrays that a matrix is made of, or that were changed later, and compiled code
    follows them. Sums of squares and of absolute values need one entry per position. Other inputs than sparse matrices
    are returned as they are. The columns of a row may have any order.

    Examples
    --------
    >>> damaged = sparse.csr_matrix(np.eye(2))
    >>> damaged.indices[1] = 7
    >>> check_sparse(damaged)
    Traceback (most recent call last):
      ...
    ValueError: X is not a valid CSR matrix (indices must be from 0 to 1): build it again from its entries
    >>> repeated = sparse.csr_matrix(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 1))
    >>> check_sparse(repeated).data.tolist(), repeated.data.tolist()
    ([3.0], [1.0, 2.0])
    """
    if not sparse.issparse(matrix):
        return matrix
    if len(matrix.shape) != 2:
        raise ValueError(f"{name} is a sparse array of shape {matrix.shape}: it must have two dimensions")
    try:
        return _READERS[matrix.format](matrix, adds_repeated)
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"{name} is not a valid {matrix.format.upper()} matrix ({error}): build it again from its entries"
        ) from None


def read_labels(y: Any, name: str = "y") -> Any:
    """Return labels that scikit-learn can read.

    A sparse matrix is checked, and NumPy's StringDType becomes text of fixed width.

    Raises
    ------
    ValueError
        If a sparse matrix is damaged, or if labels are missing as in pandas (NA).

    Examples
    --------
    >>> import pandas as pd
    >>> read_labels(pd.Series(["yes", None], dtype="string"))
    Traceback (most recent call last):
      ...
    ValueError: y has no label at position 1: drop the samples without one
    """
    if sparse.issparse(y):
        if y.ndim == 1:
            raise ValueError(f"{name} is a sparse array of one dimension: pass {name}.toarray()")
        return check_sparse(y, name)
    if isinstance(y, np.ndarray) and y.dtype.kind == "T":  # StringDType
        labels = y.astype(object)
        is_missing = np.array([not isinstance(label, str) for label in labels.ravel()], dtype=bool)
        _refuse_missing(is_missing, name)
        return labels.astype(str)
    if hasattr(y, "isna"):  # pandas
        _refuse_missing(np.asarray(y.isna()), name)
    return y


def _refuse_missing(is_missing: Mask, name: str) -> None:
    if is_missing.any():
        raise ValueError(
            f"{name} has no label at position {int(np.argwhere(is_missing)[0, 0])}: drop the samples without one"
        )


def _read_compressed(matrix: Any, adds_repeated: bool) -> Any:
    """Return a valid CSR or CSC matrix without repeated entries as a rule, in the order in which they are given."""
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    n_entries = int(indptr[-1])
    if n_entries < indices.size and n_entries >= 0:  # entries after the last one are not used
        data, indices = data[:n_entries], indices[:n_entries]
    is_csr = matrix.format == "csr"
    shape = matrix.shape if is_csr else matrix.shape[::-1]
    check_csr_arrays(data, indices, indptr, shape)
    if indices.dtype != indptr.dtype or indices.dtype not in _INDEX_TYPES:  # few types have compiled functions
        # Some learners take no long ones.
        index_type = np.int32 if max(shape[1], indices.size) <= np.iinfo(np.int32).max else np.int64
        indices, indptr = indices.astype(index_type), indptr.astype(index_type)
    if any(new is not old for new, old in ((data, matrix.data), (indices, matrix.indices))):
        matrix = _rebuild(matrix, (data, indices, indptr))
    if adds_repeated or is_canonical(indices, indptr):
        return matrix
    # With more columns than entries, sorting is cheaper than a search by column. If SciPy takes the entries as sorted,
    # some are repeated, or they were changed later and SciPy must no longer rely on their order.
    if shape[1] <= indices.size and not matrix.has_sorted_indices and not has_repeats(indices, indptr, shape[1]):
        return matrix
    return _sum_repeated(matrix)


def _sum_repeated(matrix: Any) -> Any:
    """Return a copy of a valid CSR or CSC matrix, sorted and with the sums of repeated entries."""
    summed = matrix.copy()
    # SciPy would trust what it has noted of the arrays, which may have changed since.
    summed.has_sorted_indices = summed.has_canonical_format = False
    summed.sum_duplicates()
    return summed


def _read_blocks(matrix: Any, adds_repeated: bool) -> Any:
    """Return a valid BSR matrix, without repeated blocks as a rule."""
    data, shape = matrix.data, matrix.shape
    if data.ndim != 3 or 0 in data.shape[1:]:
        raise ValueError("data must be a list of blocks")
    height, width = data.shape[1:]
    if shape[0] % height or shape[1] % width:
        raise ValueError(f"blocks of {height} x {width} do not divide the shape {shape}")
    n_blocks = int(matrix.indptr[-1])
    listed = matrix.indices[:n_blocks] if n_blocks >= 0 else matrix.indices
    check_csr_arrays(data[: listed.size, 0, 0], listed, matrix.indptr, (shape[0] // height, shape[1] // width))
    return matrix if adds_repeated or is_canonical(listed, matrix.indptr) else _sum_repeated(matrix)


def _read_coordinates(matrix: Any, _: bool) -> Any:
    """Return a valid COO matrix without SciPy's canonical flag."""
    coordinates = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
    for positions, size, axis in zip(coordinates, matrix.shape, ("row", "col"), strict=True):
        if positions.ndim != 1 or positions.dtype.kind not in "iu" or positions.size != matrix.data.size:
            raise ValueError(f"{axis} must have a whole number for each entry of data")
        if positions.size and find_largest(positions) >= size:
            raise ValueError(f"{axis} must be from 0 to {size - 1}")
    return _rebuild(matrix, (matrix.data, tuple(coordinates)))


def _read_diagonals(matrix: Any, _: bool) -> Any:
    """Return a valid DIA matrix."""
    data, offsets = matrix.data, matrix.offsets
    if data.ndim != 2 or offsets.ndim != 1 or len(data) != len(offsets) or offsets.dtype.kind not in "iu":
        raise ValueError("offsets must have a whole number for each row of data")
    if np.unique(offsets).size < offsets.size:
        raise ValueError("offsets must differ")
    return matrix


def _read_lists(matrix: Any, _: bool) -> Any:
    """Return a valid LIL matrix."""
    n_rows, n_columns = matrix.shape
    if len(matrix.rows) != n_rows or len(matrix.data) != n_rows:
        raise ValueError(f"rows and data must have {n_rows} lists")
    for columns, values in zip(matrix.rows, matrix.data, strict=True):
        if len(columns) != len(values):
            raise ValueError("rows and data must have lists of the same lengths")
        if columns and not (columns[0] >= 0 and columns[-1] < n_columns and _is_rising(columns)):
            raise ValueError(f"columns of a row must rise from 0 to {n_columns - 1}")
    return matrix


def _is_rising(columns: list[Any]) -> bool:
    return all(map(lt, columns, columns[1:]))


def _read_keys(matrix: Any, _: bool) -> Any:
    """Return a valid DOK matrix."""
    n_rows, n_columns = matrix.shape
    if any(not (0 <= row < n_rows and 0 <= column < n_columns) for row, column in matrix.keys()):  # noqa: SIM118
        raise ValueError(f"keys must lie within the shape {matrix.shape}")
    return matrix


_READERS: dict[str, Callable[[Any, bool], Any]] = {
    **dict.fromkeys(_COMPRESSED, _read_compressed),
    "bsr": _read_blocks,
    "coo": _read_coordinates,
    "dia": _read_diagonals,
    "lil": _read_lists,
    "dok": _read_keys,
}


def _rebuild(like: Any, arrays: Iterable[Any]) -> Any:
    """Return a matrix or array of the same format, of other arrays that are not copied."""
    family = sparse.sparray if isinstance(like, sparse.sparray) else sparse.spmatrix
    kind = getattr(sparse, f"{like.format}_{'array' if family is sparse.sparray else 'matrix'}")
    return kind(arrays, shape=like.shape)


def check_frame(X: Any, name: str = "X") -> None:
    """Raise a ValueError if a data frame is lazy or has two columns of one name."""
    if hasattr(X, "collect_schema") and hasattr(X, "lazy") and hasattr(X, "collect"):  # polars
        raise ValueError(f"{name} is a lazy data frame, which has not been read yet: pass {name}.collect()")
    # Of pyarrow tables, whose columns are arrays; of others, among whose columns that name may be.
    columns = X.column_names if hasattr(type(X), "column_names") else getattr(X, "columns", ())
    names = list(columns) if isinstance(columns, Iterable) else []  # others than data frames have such attributes, too
    if len(set(names)) < len(names):
        repeated = next(one for one in names if names.count(one) > 1)
        raise ValueError(f"{name} has {names.count(repeated)} columns with the name {repeated!r}: rename or drop one")
