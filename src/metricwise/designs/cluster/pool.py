"""The workers of a cluster: which of them keeps which chunks, and requests to all of them.

Every worker keeps its chunks in an object of its own (a Dask actor). A worker that is lost takes its object with it,
and Dask computes its chunks again: new objects are made from the chunks, wherever they are now, and the request is sent
again. The same happens when workers have joined; chunks then move to them until all have as many. If the scheduler is
lost, so are the chunks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from metricwise._typing import Indices
from metricwise.designs.cluster.connection import SchedulerLostError, can_reach, connect_directly, run_on_cluster
from metricwise.designs.cluster.encoding import count_bytes
from metricwise.designs.cluster.lost_workers import WorkerMemoryError, WorkerWatch
from metricwise.designs.cluster.messages import AnswerT, DataActor, DataT, Reply, Request

_MAX_ATTEMPTS = 20
_TIMEOUT = 3.0  # seconds without an answer after which the state of the cluster is checked
_RETRY_DELAY = 0.2  # seconds
_JOIN_CHECK_INTERVAL = 5.0  # seconds between checks for workers that have joined

T = TypeVar("T")


class WorkerHandle(NamedTuple):
    """The actor of one worker, and the chunks it keeps."""

    future: Any
    actor: Any
    chunks: frozenset[int]


class WorkerPool(Generic[DataT]):
    """The workers that keep the chunks of a Dask collection.

    Parameters
    ----------
    client : distributed.Client
        Knows the workers.
    futures : sequence of distributed.Future
        The chunks.
    describe_data : callable
        Returns, from the numbers of some chunks, the function that makes the data of a worker, and its arguments.

    Attributes
    ----------
    bytes_moved : int
        Bytes of arrays that were exchanged with the workers so far.
    worker_seconds : float
        Computing time of all requests so far, each by its slowest worker.
    """

    def __init__(
        self, client: Any, futures: Sequence[Any], describe_data: Callable[[Sequence[int]], tuple[Any, ...]]
    ) -> None:
        self._client, self._futures, self._describe_data = client, futures, describe_data
        self.bytes_moved = 0
        self.worker_seconds = 0.0
        self._handles: list[WorkerHandle] = []
        self._workers: set[str] = set()
        self._is_reachable = False
        self._checked_at = 0.0

    def ask(self, chunks: Indices, make_request: Callable[[Sequence[int]], Request[DataT, AnswerT]]) -> list[AnswerT]:
        """Return the answers of all workers that keep some of the chunks.

        ``make_request`` returns the request to one worker, given the numbers of those chunks that it keeps.
        """
        if not len(chunks):
            return []
        failure: Exception | None = None
        watch = WorkerWatch(self._client)
        for _ in range(_MAX_ATTEMPTS):
            try:
                with connect_directly(self._client, self._is_reachable):
                    return self._ask_once(chunks, make_request, watch)
            except WorkerMemoryError:
                raise
            except (OSError, RuntimeError) as error:
                failure = error
                self._check_scheduler(error)
                watch.check()
                self.forget_workers()
                time.sleep(_RETRY_DELAY)
        raise ConnectionError(
            f"the workers of the Dask cluster were lost {_MAX_ATTEMPTS} times during one product: look at their logs. "
            "Most often they have too little memory for the chunks"
        ) from failure

    def ask_all(self, request: Request[DataT, AnswerT]) -> list[AnswerT]:
        """Return the answers of all workers to one request."""
        return self.ask(np.arange(len(self._futures)), lambda _: request)

    def forget_workers(self) -> None:
        """Assign the chunks to workers anew before the next request."""
        self._handles = []

    def run(self, action: Callable[[Any], T]) -> T:
        """Return the result of an action of the client; raise a ConnectionError if the cluster is lost."""
        try:
            return run_on_cluster(self._client, lambda: action(self._client))
        except WorkerMemoryError:
            raise
        except Exception as error:
            self._check_scheduler(error)
            raise

    def count_chunks(self) -> list[int]:
        """Return how many chunks every worker keeps."""
        return [len(handle.chunks) for handle in self._handles]

    def _ask_once(
        self,
        chunks: Indices,
        make_request: Callable[[Sequence[int]], Request[DataT, AnswerT]],
        watch: WorkerWatch,
    ) -> list[AnswerT]:
        if not self._handles or self._have_workers_joined():
            self._handles = run_on_cluster(self._client, lambda: self._start_actors(watch))
        pending = []
        for handle in self._handles:
            kept = [int(k) for k in chunks if int(k) in handle.chunks]
            if kept:  # while the request to one worker is made, others compute
                request = make_request(kept)
                self.bytes_moved += count_bytes(request)
                pending.append((handle, _send(handle, request)))
        replies = [self._wait(handle, future) for handle, future in pending]
        self.bytes_moved += sum(count_bytes(reply.answer) for reply in replies)
        self.worker_seconds += max((reply.seconds for reply in replies), default=0.0)
        return [reply.answer for reply in replies]

    def _wait(self, handle: WorkerHandle, future: Any) -> Reply[Any]:
        """Wait for a worker, however slow, as long as it is alive."""
        while True:
            try:
                reply: Reply[Any] = future.result(timeout=_TIMEOUT)
                return reply
            except TimeoutError as error:
                self._check_scheduler(error)
                if handle.future.status != "finished":
                    raise ConnectionError("a worker was lost") from error

    def _have_workers_joined(self) -> bool:
        if time.monotonic() - self._checked_at < _JOIN_CHECK_INTERVAL:
            return False
        self._checked_at = time.monotonic()
        return not set(self._client.ncores()) <= self._workers

    def _start_actors(self, watch: WorkerWatch) -> list[WorkerHandle]:
        """Make an actor on every worker that is to keep chunks, once Dask has computed all chunks."""
        client = self._client
        watch.wait(self._futures)
        self._workers, self._checked_at = set(client.ncores()), time.monotonic()
        self._is_reachable = can_reach(self._workers)
        where = client.who_has(self._futures)
        started = []
        holders = [where.get(future.key, ()) for future in self._futures]
        for address, chunks in _assign_chunks(holders, self._workers).items():
            preferred = {"workers": [address], "allow_other_workers": True}
            data = self._describe_data(chunks)
            started.append((client.submit(DataActor, *data, actor=True, pure=False, **preferred), chunks))
        watch.wait([future for future, _ in started])
        return [WorkerHandle(future, future.result(), frozenset(chunks)) for future, chunks in started]

    def _check_scheduler(self, error: BaseException) -> None:
        """Raise a SchedulerLostError if the scheduler is lost, or has forgotten the chunks."""
        if isinstance(error, SchedulerLostError):
            raise error
        is_cancelled = any(future.status == "cancelled" for future in self._futures)
        if is_cancelled or self._client.status != "running":
            raise SchedulerLostError.caused_by(error) from error


def _send(handle: WorkerHandle, request: Request[Any, Any]) -> Any:
    """Return the future of the reply of a worker."""
    try:
        return handle.actor.reply(request)
    except ValueError as error:  # of Dask until 2024; later versions raise a RuntimeError
        raise ConnectionError("a worker was lost") from error


def _assign_chunks(holders: Sequence[Sequence[str]], workers: set[str]) -> dict[str, list[int]]:
    """Return the chunks that every worker is to keep: equally many, and those that it has already where possible.

    Parameters
    ----------
    holders : sequence of sequences of str
        For every chunk, the workers that have it.
    workers : set of str
        All of them.

    Examples
    --------
    >>> _assign_chunks([["a"], ["a"], ["a"], ["b"]], {"a", "b"})
    {'a': [0, 1], 'b': [2, 3]}
    """
    if not workers:
        raise ConnectionError("all workers were lost")
    assigned: dict[str, list[int]] = {address: [] for address in sorted(workers)}
    most = -(-len(holders) // len(workers))
    remaining = []
    for k, addresses in enumerate(holders):
        free = [address for address in addresses if address in assigned and len(assigned[address]) < most]
        if free:
            min((assigned[address] for address in sorted(free)), key=len).append(k)
        else:
            remaining.append(k)
    for k in remaining:
        min(assigned.values(), key=len).append(k)
    return {address: sorted(chunks) for address, chunks in assigned.items() if chunks}
