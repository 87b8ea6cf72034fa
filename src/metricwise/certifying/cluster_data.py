"""Samples on the workers of a Dask cluster, multiplied by plain tasks, which Dask repeats if a worker is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from metricwise._typing import Floats
from metricwise.clusters import list_chunks, running_client
from metricwise.raw_inputs import check_sparse


class ClusterData:
    """The chunks of a Dask array or data frame, computed once and kept on the workers.

    Parameters
    ----------
    X : dask array or dask data frame
        Samples.
    client : distributed.Client, optional
        The client of the cluster; by default the one started last.

    Attributes
    ----------
    shape : tuple of int
        Samples and features.
    client : distributed.Client
        The client that is used.
    """

    def __init__(self, X: Any, client: Any = None) -> None:
        blocks = list_chunks(X)
        self.client = running_client(client)
        # Once converted to arrays, the original chunks are released.
        self._blocks = self.client.map(_to_array, self.client.compute(blocks), pure=False)
        shapes = self._map(np.shape)
        widths = {width for _, width in shapes}
        if len(widths) > 1:
            raise ValueError(
                f"the chunks of X have {min(widths)} to {max(widths)} columns: all must have the same features"
            )
        self._bounds = np.cumsum([0] + [n_samples for n_samples, _ in shapes])
        self.shape = (int(self._bounds[-1]), widths.pop())

    def multiply(self, w: Floats) -> Floats:
        """Return X w."""
        return np.concatenate(self._map(_multiply, w=w))

    def combine(self, c: Floats) -> Floats:
        """Return X' c."""
        parts = [c[start:stop] for start, stop in zip(self._bounds[:-1], self._bounds[1:], strict=True)]
        total: Floats = np.sum(self._map(_combine, parts), axis=0, dtype=np.float64)
        return total

    def multiply_sizes(self, w: Floats) -> Floats:
        """Return |X| |w|, of absolute values."""
        return np.concatenate(self._map(_multiply_sizes, w=np.abs(w)))

    def combine_sizes(self, c: Floats) -> Floats:
        """Return |X|' |c|, of absolute values."""
        parts = [np.abs(c[start:stop]) for start, stop in zip(self._bounds[:-1], self._bounds[1:], strict=True)]
        total: Floats = np.sum(self._map(_combine_sizes, parts), axis=0, dtype=np.float64)
        return total

    def _map(self, function: Any, *more: Any, **common: Any) -> list[Any]:
        """Return the values of a function at every chunk, in their order."""
        values: list[Any] = self.client.gather(self.client.map(function, self._blocks, *more, pure=False, **common))
        return values


def _to_array(block: Any) -> Any:
    """Return a chunk as an array or a CSR matrix."""
    if sparse.issparse(block):
        return check_sparse(block, "a chunk of X").tocsr()
    return block.to_numpy(dtype=np.float64) if hasattr(block, "columns") else np.asarray(block)


def absolute_values(block: Any) -> Any:
    """Return the absolute values in double precision: the least integer of a type has none among its own."""
    return abs(block.astype(np.float64, copy=False))


def _multiply(block: Any, w: Floats) -> Floats:
    return np.asarray(block @ w, dtype=np.float64)


def _multiply_sizes(block: Any, w: Floats) -> Floats:
    return np.asarray(absolute_values(block) @ w, dtype=np.float64)


def _combine_sizes(block: Any, c: Floats) -> Floats:
    return np.asarray(absolute_values(block).T @ c, dtype=np.float64)


def _combine(block: Any, c: Floats) -> Floats:
    return np.asarray(block.T @ c, dtype=np.float64)
