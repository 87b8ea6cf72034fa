"""Workers of a Dask cluster that are lost because they have too little memory.

Dask restarts such a worker and gives the same task to the next one, several times over, before it reports a task that
kills workers. The memory of the workers is watched meanwhile, so that the first loss of that kind ends the wait. The
loss of a worker with memory to spare does not: Dask computes its chunks again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from metricwise.clusters import wait_for_worker
from metricwise.memory import format_megabytes

_INTERVAL = 0.5  # seconds between two requests for the memory of the workers
_RECENT = 6  # requests: what a worker held before that is not why it was lost
_FULL = 0.8  # share of its limit from which on Dask gives a worker no more tasks
_HALF_FULL = 0.5  # memory may fill up between two reports of a worker: two such losses have the same cause
_REMEDY = (
    "give each worker more memory (memory_limit of LocalCluster or dask worker), make the chunks smaller "
    "(X.rechunk, repartition), or use float32"
)


class WorkerMemoryError(ConnectionError):
    """Workers of a Dask cluster have too little memory for their chunks."""


class WorkerMemory(NamedTuple):
    """The bytes that a worker has reported lately, and its limit; 0 if it has none."""

    reports: tuple[int, ...]
    limit: int

    @property
    def held(self) -> int:
        """The most of the reported bytes."""
        return max(self.reports)


class WorkerWatch:
    """Watches the workers while tasks run.

    Parameters
    ----------
    client : distributed.Client
        Knows the workers.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._known: dict[str, WorkerMemory] = {}
        self._lost: dict[str, WorkerMemory] = {}

    def wait(self, futures: Sequence[Any]) -> None:
        """Wait for tasks; raise a WorkerMemoryError as soon as a worker is lost that had filled its memory.

        A ValueError is raised if all workers are lost and none joins.
        """
        from distributed import wait

        self.check()
        while True:
            try:
                wait(futures, timeout=_INTERVAL)
                return
            except TimeoutError:
                self.check()
                if not self._known:
                    wait_for_worker(self._client)

    def check(self) -> None:
        """Raise a WorkerMemoryError if workers were lost since the last call that had filled their memory."""
        present = self._read_memory()
        gone = {address: self._known[address] for address in self._known.keys() - present.keys()}
        full = {address: found for address, found in gone.items() if found.held > _HALF_FULL * found.limit > 0}
        if full:
            retired = self._list_retired()
            self._lost |= {address: found for address, found in full.items() if address not in retired}
        self._known = present
        if len(self._lost) > 1 or any(found.held > _FULL * found.limit for found in self._lost.values()):
            address, found = max(self._lost.items(), key=lambda item: item[1].held / item[1].limit)
            raise WorkerMemoryError(
                f"the Dask worker {address} was lost while it computed chunks of X: it held "
                f"{format_megabytes(found.held)} shortly before, and its limit is {format_megabytes(found.limit)}: "
                f"{_REMEDY}"
            )

    def _read_memory(self) -> dict[str, WorkerMemory]:
        found = _ask_scheduler(self._client)
        if found is None:
            return self._known
        before = {address: known.reports for address, known in self._known.items()}
        return {
            address: WorkerMemory((*before.get(address, ()), held)[-_RECENT:], limit)
            for address, (held, limit) in found.items()
        }

    def _list_retired(self) -> set[str]:
        """Return the addresses of workers that have left because they were asked to."""
        events = [event for _, event in self._client.get_events("all") if isinstance(event, dict)]
        return {address for event in events for address in event.get("retired", ())}


def _ask_scheduler(client: Any) -> dict[str, tuple[int, int]] | None:
    """Return bytes held and limit of every worker; None if the scheduler is lost, which other requests report."""
    try:
        found: dict[str, tuple[int, int]] = client.run_on_scheduler(_list_memory)
    except OSError:
        return None
    return found


def _list_memory(dask_scheduler: Any) -> dict[str, tuple[int, int]]:
    """Return bytes held and limit of every worker: runs on the scheduler."""
    return {
        address: (int(worker.metrics.get("memory", 0)), int(worker.memory_limit or 0))
        for address, worker in dask_scheduler.workers.items()
    }


def refuse_large_samples(X: Any, client: Any) -> None:
    """Raise a WorkerMemoryError if a Dask array takes more memory than all workers together have.

    The size of sparse chunks and of data frames is not known before they are computed.
    """
    import numpy as np

    if not isinstance(getattr(X, "_meta", None), np.ndarray) or not X.dtype.itemsize:
        return
    limits = [limit for _, limit in (_ask_scheduler(client) or {}).values()]
    if limits and all(limits) and X.nbytes > sum(limits):
        raise WorkerMemoryError(
            f"X takes {format_megabytes(X.nbytes)}, and the {len(limits)} workers of the Dask cluster have "
            f"{format_megabytes(sum(limits))} of memory together: {_REMEDY}"
        )


def explain_killed_worker(error: Exception) -> WorkerMemoryError:
    """Return an error for Dask's report of a task that kills every worker."""
    worker = getattr(getattr(error, "last_worker", None), "address", "unknown")
    return WorkerMemoryError(
        f"every Dask worker that computed one of the tasks was lost, the last was {worker}. Most often the workers "
        f"have too little memory for the chunks: {_REMEDY}; their logs show it"
    )
