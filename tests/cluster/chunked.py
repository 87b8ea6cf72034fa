"""Divide samples into chunks on a cluster, dense or as CSR matrices."""

from __future__ import annotations

from typing import Any

import dask.array as da
from scipy import sparse


def make_dense_chunks(samples: Any, chunks: Any) -> da.Array:
    """Return a Dask array of dense chunks with all features each."""
    return da.from_array(samples, chunks=(chunks, -1))


def make_csr_chunks(samples: Any, chunks: Any) -> da.Array:
    """Return a Dask array of CSR chunks with all features each."""
    return make_dense_chunks(samples, chunks).map_blocks(sparse.csr_array, meta=sparse.csr_array((0, 0)))
