"""Workers of a Dask cluster that are lost because they have too little memory.

Dask restarts such a worker and gives the same task to the next one, several times over, before it reports a task that
kills workers. The memory of the workers is watched meanwhile, so that the second loss of that kind ends the wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from metricwise.memory import format_megabytes

_INTERVAL = 0.5  # seconds between two looks at the workers
_NEARLY_FULL = 0.5  # share of its limit that a worker held when last seen; memory grows between two reports of a worker
_MOST_LOST = 2  # one worker may be lost for another reason
_REMEDY = (
    "give each worker more memory (memory_limit of LocalCluster or dask worker), make the chunks smaller "
    "(X.rechunk, repartition), or use float32"
)


class WorkerMemoryError(ConnectionError):
    """Workers of a Dask cluster have too little memory for their chunks."""


class WorkerMemory(NamedTuple):
    """Bytes that a worker held when it last reported, the most it held so far, and its limit; 0 if it has none."""

    held: int
    limit: int


class WorkerWatch:
    """Watches the workers while tasks run.

    Parameters
    ----------
    client : distributed.Client
        Knows the workers.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._known = self._read_memory()
        self._lost: dict[str, WorkerMemory] = {}

    def wait(self, futures: Sequence[Any]) -> None:
        """Wait for tasks; raise a WorkerMemoryError as soon as workers are lost again and again."""
        from distributed import wait

        while True:
            try:
                wait(futures, timeout=_INTERVAL)
                return
            except TimeoutError:
                self.check()

    def check(self) -> None:
        """Raise a WorkerMemoryError if too many workers were lost that had filled their memory."""
        present = self._read_memory()
        gone = {address: self._known[address] for address in self._known.keys() - present.keys()}
        self._lost |= {address: found for address, found in gone.items() if found.limit}
        self._known = {
            address: WorkerMemory(max(found.held, self._known.get(address, found).held), found.limit)
            for address, found in present.items()
        }
        full = [address for address, found in self._lost.items() if found.held >= _NEARLY_FULL * found.limit]
        if full or len(self._lost) >= _MOST_LOST:
            self._refuse(full[-1] if full else next(reversed(self._lost)))

    def _refuse(self, address: str) -> NoReturn:
        found = self._lost[address]
        raise WorkerMemoryError(
            f"the Dask worker {address} was lost while it computed chunks of X: it held {format_megabytes(found.held)} "
            f"when it last reported, of {format_megabytes(found.limit)} that it may take: {_REMEDY}"
        )

    def _read_memory(self) -> dict[str, WorkerMemory]:
        try:
            found = self._client.run_on_scheduler(_list_memory)
        except OSError:  # the scheduler is lost, which those who wait for it report
            return self._known
        return {address: WorkerMemory(*numbers) for address, numbers in found.items()}


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
    limits = [limit for _, limit in client.run_on_scheduler(_list_memory).values()]
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
