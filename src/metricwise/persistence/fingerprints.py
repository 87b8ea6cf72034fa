"""Fingerprints of data: shape, type and a hash of the content."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from metricwise.raw_inputs import check_sparse


def fingerprint(data: Any) -> dict[str, Any]:
    """Return the fingerprint of data.

    Parameters
    ----------
    data : array, data frame, sparse matrix, path of a file, or tuple of them
        For instance ``(X, y)``.

    Returns
    -------
    dict
        ``sha256`` of the content, and of a file ``file`` (its name) and ``bytes``, of anything else ``shape`` and
        ``dtype``; of a tuple ``parts``, a list of these.

    Examples
    --------
    >>> import numpy as np
    >>> found = fingerprint((np.zeros((3, 2)), [0, 1, 1]))
    >>> [(part["shape"], part["dtype"]) for part in found["parts"]]
    [([3, 2], 'float64'), ([3], 'int64')]
    """
    if isinstance(data, tuple):
        return {"parts": [fingerprint(part) for part in data]}
    if isinstance(data, str | os.PathLike):
        return _fingerprint_file(Path(data))
    digest = hashlib.sha256()
    if sparse.issparse(data):
        matrix = check_sparse(data, "data").tocsr()
        if not matrix.has_sorted_indices:  # equal matrices have equal fingerprints
            matrix = matrix.sorted_indices()
        for part in (matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)):
            _update(digest, part)
        return {"shape": list(data.shape), "dtype": f"sparse {data.dtype}", "sha256": digest.hexdigest()}
    if hasattr(data, "columns") and hasattr(data, "shape"):
        types = []
        for name in data.columns:
            column = np.asarray(data[name])
            types.append(str(column.dtype))
            digest.update(f"{name}\0".encode())
            _update(digest, column)
        return {"shape": list(data.shape), "dtype": ", ".join(sorted(set(types))), "sha256": digest.hexdigest()}
    array = np.asarray(data)
    _update(digest, array)
    return {"shape": list(array.shape), "dtype": str(array.dtype), "sha256": digest.hexdigest()}


def _update(digest: Any, array: Any) -> None:
    """Hash the content of an array; Python objects count by their repr."""
    if array.dtype.hasobject:
        for item in array.ravel():
            digest.update(f"{item!r}\0".encode())
    else:
        digest.update(np.ascontiguousarray(array).tobytes())


def _fingerprint_file(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return {"file": path.name, "bytes": os.fstat(file.fileno()).st_size, "sha256": digest.hexdigest()}
