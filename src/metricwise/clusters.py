"""Dask collections as arguments: recognise them, list their chunks, and find the client of their workers."""

from __future__ import annotations

import logging
import sys
from typing import Any

_LOG = logging.getLogger("metricwise")
_WAIT_SETTING = (
    "distributed.scheduler.no-workers-timeout"  # Dask's setting of the longest wait for workers; None at first
)
_LONGEST_WAIT = "60s"  # for the first worker, unless Dask has a setting


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask collection, without importing Dask.

    Examples
    --------
    >>> is_dask([1, 2])
    False
    """
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(X))


def running_client(client: Any = None) -> Any:
    """Return the given Dask client, or the one started last; raise if it is not running or has no workers."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError("Dask collections need the package distributed: pip install metricwise[dask]") from error
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError as error:
            raise ValueError(
                "X is a Dask collection, but there is no client with workers for it: start one with "
                "client = dask.distributed.Client(), or pass it as client=..."
            ) from error
    if client.status != "running":
        raise ValueError(
            f"the Dask client is {client.status}, not running: make a new one with dask.distributed.Client(...) and "
            "build the Dask collections with it again"
        )
    wait_for_worker(client)
    return client


def wait_for_worker(client: Any) -> None:
    """Wait until a cluster has a worker; raise a ValueError if none joins in time.

    The time is that of Dask's setting ``distributed.scheduler.no-workers-timeout``, or a minute.
    """
    if client.ncores():
        return
    import dask
    from dask.utils import parse_timedelta

    seconds = parse_timedelta(dask.config.get(_WAIT_SETTING, None) or _LONGEST_WAIT, default="s")
    _LOG.warning("the Dask cluster has no workers; waiting up to %g s for the first", seconds)
    task = client.submit(int, pure=False)  # an adaptive cluster starts workers when there is a task
    try:
        client.wait_for_workers(1, timeout=seconds)
    except TimeoutError as error:
        raise ValueError(
            f"the Dask cluster has 0 workers, and none joined within {seconds:g} s: start some, as by cluster.scale(2) "
            f"or `dask worker ADDRESS`. If yours take longer, set {_WAIT_SETTING} of Dask"
        ) from error
    finally:
        task.release()


def load_into_memory(values: Any, client: Any = None) -> Any:
    """Return values as they are, or computed if they are a Dask collection."""
    if not is_dask(values):
        return values
    return values.compute() if client is None else client.compute(values).result()


def refuse_client(client: Any, X: Any) -> None:
    """Raise if a client was given for samples that are not a Dask collection."""
    if client is not None and not is_dask(X):
        raise ValueError(
            f"a client was given, but X is {type(X).__name__}, not a Dask collection: leave the client out, or use "
            "dask.array.from_array(X, chunks=...)"
        )


def refuse_other_collections(X: Any) -> None:
    """Raise if a Dask collection is neither an array nor a data frame."""
    from dask.delayed import Delayed

    is_delayed = isinstance(X, Delayed)  # asked first: a Delayed has every attribute
    if is_delayed or not (hasattr(X, "numblocks") or hasattr(X, "columns")):
        kind = "Delayed" if is_delayed else type(X).__name__
        raise TypeError(
            f"X is a Dask {kind}: samples must be in a Dask array or a Dask data frame; from_delayed of "
            "dask.array and dask.dataframe makes them"
        )


def list_chunks(X: Any) -> list[Any]:
    """Return the chunks of a Dask array or data frame as delayed objects, each of whole samples."""
    refuse_other_collections(X)
    if hasattr(X, "columns"):
        return list(X.to_delayed())
    if X.ndim != 2:
        raise ValueError(
            f"X has {X.ndim} dimension(s): samples and features make two. Use X.reshape(-1, 1) for one feature"
        )
    if any(size != size for size in (X.shape[1], *X.chunks[0])):  # unknown sizes are NaN
        raise ValueError("the chunk sizes of X are unknown: call X.compute_chunk_sizes() first")
    if X.numblocks[1] > 1:
        raise ValueError(
            f"the {X.shape[1]} columns of X are split over {X.numblocks[1]} chunks, and samples must be whole: use "
            "X.rechunk({1: -1})"
        )
    return list(X.to_delayed().ravel())
