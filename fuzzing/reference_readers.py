"""What files hold according to other readers: Python's csv, pandas, scikit-learn, liac-arff, scipy and numpy."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.io import arff
from sklearn.datasets import load_svmlight_file
from sklearn.externals import _arff

from fuzzing.tables import DELIMITERS

Numbers = NDArray[np.float64]
_MISSING = {"", "?", "na", "n/a", "nan", "null"}


class Unreadable(Exception):
    """The reference does not read a file, or not as numbers."""


def read_reference(format: str, content: bytes) -> Numbers:
    """Return the numbers of a file, labels included in the last column where the format has them among the others.

    Raises
    ------
    Unreadable
        If the reference cannot read the file; what another reader makes of it is then not compared.
    """
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        if format in DELIMITERS:
            return _read_delimited(content.decode(), DELIMITERS[format])
        return _READERS[format](content)
    except Exception as error:  # of any kind: what other readers raise on damaged files
        raise Unreadable from error


def _read_delimited(text: str, delimiter: str) -> Numbers:
    """Return the numbers below a header, by Python's csv and float; pandas must agree."""
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))[1:]
    values = [[_read_number(field) for field in row] for row in rows if row]
    numbers = np.array(values, dtype=np.float64)
    if numbers.ndim != 2:
        raise Unreadable
    with contextlib.suppress(Exception):  # pandas refuses some damaged files that csv reads
        frame = pd.read_csv(io.StringIO(text), sep=delimiter, float_precision="round_trip")
        other = frame.to_numpy(dtype=np.float64)
        if other.shape == numbers.shape and not np.array_equal(other, numbers, equal_nan=True):
            raise Unreadable
    return numbers


def _read_number(field: str) -> float:
    if "_" in field:
        raise Unreadable
    return float("nan") if field.strip().lower() in _MISSING else float(field)


def _read_svmlight(content: bytes) -> Numbers:
    X, y = load_svmlight_file(io.BytesIO(content), zero_based=False)
    return np.column_stack([X.toarray(), y])


def _read_arff(content: bytes) -> Numbers:
    data, description = arff.loadarff(io.StringIO(content.decode()))
    names = description.names()
    columns: list[Any] = [data[name].astype(np.float64) for name in names[:-1]]
    return np.column_stack([*columns, np.char.decode(data[names[-1]]) == "yes"])


def _read_npy(content: bytes) -> Numbers:
    return np.asarray(np.load(io.BytesIO(content), allow_pickle=False), dtype=np.float64)


def _read_npz(content: bytes) -> Numbers:
    matrix = sparse.load_npz(io.BytesIO(content))
    matrix.check_format(full_check=True)  # toarray does not check indices
    if np.any(matrix.indptr[1:] < matrix.indptr[:-1]):  # overlooked where the last row ends below 1
        raise ValueError("a row ends before it begins")
    return np.asarray(matrix.astype(np.float64).toarray())  # first, since repeated entries are added up


def _read_parquet(content: bytes) -> Numbers:
    return np.asarray(pd.read_parquet(io.BytesIO(content)).to_numpy(), dtype=np.float64)


def _read_sparse_arff(content: bytes) -> Numbers:
    """Return the rows of a sparse file by liac-arff, which scikit-learn vendors."""
    text = content.decode()
    if "_" in text or not text.isascii():  # Python's numbers may hold underscores and other digits; ours may not
        raise Unreadable
    document = _arff.loads(text, return_type=_arff.DENSE)
    return np.array([[_read_number(str(value)) for value in row] for row in document["data"]], dtype=np.float64)


_READERS = {
    "svmlight": _read_svmlight,
    "arff": _read_arff,
    "sparse_arff": _read_sparse_arff,
    "npy": _read_npy,
    "npz": _read_npz,
    "parquet": _read_parquet,
}
