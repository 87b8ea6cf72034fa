"""Arrays in numpy's format inside other files: their headers are compared with the content before they are believed."""

from __future__ import annotations

import io
import math

import numpy as np

from metricwise._typing import Labels

_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def parse_npy(content: bytes, kinds: str) -> Labels:
    """Return the array in the bytes of a ``.npy`` file.

    Parameters
    ----------
    content : bytes
        The whole file.
    kinds : str
        The kinds of entries that are allowed, as numpy abbreviates them; Python objects never are.

    Raises
    ------
    ValueError
        If the format is not known, the entries are of another kind, or the header claims more or less than there is.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(3.0))
    >>> parse_npy(file.getvalue(), "f")
    array([0., 1., 2.])
    """
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version not in _HEADER_READERS:
        raise ValueError("it has an unknown format")
    shape, is_by_columns, dtype = _HEADER_READERS[version](file)
    if dtype.hasobject or dtype.kind not in kinds:
        raise ValueError(f"it holds {dtype}, not numbers or text")
    size = math.prod(shape)
    if min(shape, default=0) < 0 or size * dtype.itemsize != len(content) - file.tell():
        raise ValueError(f"it claims the shape {shape} but has other content")
    flat = np.frombuffer(content, dtype=dtype, count=size, offset=file.tell())
    # Compiled code reads numbers in the byte order of the machine, and not those of files from others.
    return flat.reshape(shape, order="F" if is_by_columns else "C").astype(dtype.newbyteorder("="), order="K")
