"""Samples of Dask collections: they stay with the workers of a cluster, and numbers travel.

Chunks are made ready and kept on the workers once. Every worker holds its chunks in an object of its own (a Dask
actor), which is asked for products: the weights go to every worker, or to a chunk its coefficients, and scores or one
vector a chunk come back. The coordinator adds vectors up in the order of the chunks, so that no bit depends on which
worker had which chunk.

A worker that is lost takes its object with it, and its chunks are computed again by Dask: new objects are made from
the chunks, wherever they are now, and the product is asked for again. The same is done when workers have joined, with
chunks moved to them until all have as many. If the scheduler is lost, so are the chunks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from metricwise._typing import Floats, Hashes, Indices
from metricwise.clusters import row_blocks
from metricwise.designs.cluster.connection import can_reach, direct
from metricwise.designs.cluster.numbers import added_up, by_values, n_bytes
from metricwise.designs.cluster.workers import ChunkFacts, HeldChunks, Timed, facts, prepared
from metricwise.memory import available_bytes

_MOST_GATHERED_BYTES = 2**30
_SHARE_OF_MEMORY = 0.25
_MOST_ATTEMPTS = 20
_PATIENCE = 3.0  # seconds after which the cluster is asked whether it is still there
_PAUSE = 0.2  # seconds before a product is asked for again
_BETWEEN_LOOKS = 5.0  # seconds, for workers that have joined


class Holder(NamedTuple):
    """An object on a worker, and the chunks it has."""

    future: Any
    actor: Any
    chunks: frozenset[int]


class DaskSource:
    """The chunks of a Dask array or data frame, kept on the workers of a cluster.

    Parameters
    ----------
    X : dask array or dask data frame
        Samples; an array has all columns in every chunk.
    client : distributed.Client
        Knows the workers.

    Attributes
    ----------
    shape, is_sparse, bounds, most_gathered
        As `ChunkSource` says. Chunks without samples are left out.
    feature_names : list of str, optional
        Of a data frame.
    bytes_moved : int
        Bytes of arrays that went from here to the workers and back so far.
    worker_seconds : float
        Time that products took on the workers so far, of each the slowest one's.
    """

    def __init__(self, X: Any, client: Any) -> None:
        blocks = row_blocks(X)
        self.feature_names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        self._client = client
        self.bytes_moved = 0
        self.worker_seconds = 0.0
        futures = self._cluster(lambda: client.compute(_made_ready(blocks)))
        known = self._cluster(lambda: client.gather(client.map(facts, futures, pure=False)))
        filled = [k for k, chunk in enumerate(known) if chunk.n_samples > 0]
        if not filled:
            raise ValueError("X has no samples: all of its chunks are empty. Check how it was read or filtered")
        _check_alike(known, filled)
        self._sizes = [chunk.n_samples for chunk in known]  # of all chunks, those without samples included
        self._futures = [futures[k] for k in filled]
        self._facts: list[ChunkFacts] = [known[k] for k in filled]
        self.bounds: Indices = np.cumsum([0] + [chunk.n_samples for chunk in self._facts])
        self.shape = (int(self.bounds[-1]), self._facts[0].n_features)
        self.is_sparse = self._facts[0].is_sparse
        self.most_gathered = self._rows_that_fit()
        self._holders: list[Holder] = []
        self._workers: set[str] = set()
        self._reachable = False
        self._looked_at = 0.0

    def _rows_that_fit(self) -> int:
        room = min(_MOST_GATHERED_BYTES, _SHARE_OF_MEMORY * available_bytes())
        a_row = sum(chunk.n_bytes for chunk in self._facts) / self.shape[0]
        return max(1, min(self.shape[0], int(room / max(a_row, 1.0))))

    def __getitem__(self, rows: Any) -> NoReturn:
        # Splitters of scikit-learn look for it, and most of them then ask for the number of samples alone.
        raise TypeError(
            "the samples are with the workers of a cluster, and what was called needs them in memory: give cv a "
            "number, or a splitter that does not look at samples"
        )

    # -------------------------------------------------------------------------------------------------------- products

    def scores(self, w: Floats, chunks: Indices) -> Floats:
        out = np.zeros(self.shape[0])
        for k, found in self._ask("scores", chunks, everywhere=w):
            out[self.bounds[k] : self.bounds[k + 1]] = found
        return out

    def combine(self, c: Floats, chunks: Indices) -> Floats:
        def sent(numbers: Sequence[int]) -> tuple[Any, ...]:  # while one worker's are made ready, others begin
            return tuple(by_values(c[self.bounds[k] : self.bounds[k + 1]]) for k in numbers)

        return added_up((found for _, found in _in_order(self._replies("combine", chunks, sent))), self.shape[1])

    def fingerprints(self, seed: int, chunks: Indices) -> Hashes:
        out = np.zeros(self.shape[0], dtype=np.uint64)
        for k, found in self._ask("fingerprints", chunks, everywhere=seed):
            out[self.bounds[k] : self.bounds[k + 1]] = found
        return out

    def gather(self, rows: Indices) -> Any:
        edges = np.searchsorted(rows, self.bounds)
        parts = {
            k: rows[edges[k] : edges[k + 1]] - self.bounds[k]
            for k in range(len(self.bounds) - 1)
            if edges[k + 1] > edges[k]
        }
        found = [block for _, block in self._ask("gather", np.array(sorted(parts), dtype=np.int64), by_chunk=parts)]
        return sparse.vstack(found, format="csr") if self.is_sparse else np.concatenate(found)

    def _ask(
        self, method: str, chunks: Indices, everywhere: Any = None, by_chunk: dict[int, Any] | None = None
    ) -> list[tuple[int, Any]]:
        """Return the answers of the workers to a question about some chunks, in the order of the chunks.

        ``everywhere`` goes to every worker that has such chunks, ``by_chunk`` to the one that has the chunk.
        """

        def sent(numbers: Sequence[int]) -> tuple[Any, ...]:
            return (everywhere,) if by_chunk is None else tuple(by_chunk[k] for k in numbers)

        return _in_order(self._replies(method, chunks, sent))

    def _replies(
        self, method: str, chunks: Indices, sent: Callable[[Sequence[int]], tuple[Any, ...]]
    ) -> list[tuple[list[int], list[Any]]]:
        """Return what every worker that has some of the chunks answers about them.

        ``sent`` gives what a worker is sent, from the numbers of its chunks.
        """
        if not len(chunks):
            return []
        failure: Exception | None = None
        for _ in range(_MOST_ATTEMPTS):
            try:
                with direct(self._client, self._reachable):
                    return self._asked(method, chunks, sent)
            except (OSError, RuntimeError) as error:
                failure = error
                self._check_scheduler(error)
                self._holders = []
                time.sleep(_PAUSE)
        raise ConnectionError(
            f"the workers of the Dask cluster were lost {_MOST_ATTEMPTS} times during one product: look at their logs. "
            "Most often they have too little memory for the chunks"
        ) from failure

    def _asked(
        self, method: str, chunks: Indices, sent: Callable[[Sequence[int]], tuple[Any, ...]]
    ) -> list[tuple[list[int], list[Any]]]:
        if not self._holders or self._have_workers_joined():
            self._holders = self._placed()
        waiting = []
        for holder in self._holders:
            numbers = [int(k) for k in chunks if int(k) in holder.chunks]
            if numbers:
                parts = sent(numbers)
                self.bytes_moved += n_bytes(parts)
                waiting.append((holder, numbers, self._question(holder, method)(numbers, *parts)))
        replies = []
        slowest = 0.0
        for holder, numbers, future in waiting:
            timed = self._answer(holder, future)
            self.bytes_moved += n_bytes(timed.answers)
            slowest = max(slowest, timed.seconds)
            replies.append((numbers, timed.answers))
        self.worker_seconds += slowest
        return replies

    def _question(self, holder: Holder, method: str) -> Callable[..., Any]:
        try:
            question: Callable[..., Any] = getattr(holder.actor, method)
        except ValueError as error:  # of Dask until 2024; later ones raise a RuntimeError
            raise ConnectionError("a worker was lost") from error
        return question

    def _answer(self, holder: Holder, future: Any) -> Timed:
        """Wait for a worker, however slow, as long as it is there."""
        while True:
            try:
                timed: Timed = future.result(timeout=_PATIENCE)
                return timed
            except TimeoutError as error:
                self._check_scheduler(error)
                if holder.future.status != "finished":
                    raise ConnectionError("a worker was lost") from error

    # ------------------------------------------------------------------------------------------------------ the cluster

    @property
    def futures(self) -> list[Any]:
        """The chunks that have samples, as Dask knows them."""
        return list(self._futures)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return np.dtype(self._facts[0].dtype)

    def part(self, chunks: Sequence[int]) -> DaskSource:
        """Return some of the chunks as a source of their own; they stay where they are."""
        part = copy(self)
        part._futures, part._facts = [self._futures[k] for k in chunks], [self._facts[k] for k in chunks]
        part.bounds = np.cumsum([0] + [chunk.n_samples for chunk in part._facts])
        part.shape = (int(part.bounds[-1]), self.shape[1])
        part.most_gathered = part._rows_that_fit()
        part._holders, part.bytes_moved, part.worker_seconds = [], 0, 0.0
        return part

    def on_cluster(self, action: Callable[[Any], Any]) -> Any:
        """Return what the client answers to a question; raise a ConnectionError if the cluster is not there."""
        from distributed.scheduler import KilledWorker

        try:
            return self._cluster(lambda: action(self._client))
        except KilledWorker as error:
            raise ConnectionError(
                f"workers of the Dask cluster were lost again and again during one task ({error}): look at their logs. "
                "Most often they have too little memory for the chunks"
            ) from error
        except Exception as error:
            self._check_scheduler(error)
            raise

    def _have_workers_joined(self) -> bool:
        if time.monotonic() - self._looked_at < _BETWEEN_LOOKS:
            return False
        self._looked_at = time.monotonic()
        return not set(self._client.ncores()) <= self._workers

    def _placed(self) -> list[Holder]:
        """Return an object on every worker that has chunks, once Dask has computed all of them."""
        holders: list[Holder] = self._cluster(self._place)
        return holders

    def _place(self) -> list[Holder]:
        from distributed import wait
        from distributed.scheduler import KilledWorker

        client = self._client
        wait(self._futures)
        self._workers, self._looked_at = set(client.ncores()), time.monotonic()
        self._reachable = can_reach(self._workers)
        where = client.who_has(self._futures)
        made = []
        for address, numbers in _shared([where.get(future.key, ()) for future in self._futures], self._workers).items():
            chosen = {"workers": [address], "allow_other_workers": True}
            future = client.submit(*self._holding(numbers), actor=True, pure=False, **chosen)
            made.append((future, numbers))
        try:
            return [Holder(future, future.result(), frozenset(numbers)) for future, numbers in made]
        except KilledWorker as error:
            raise ConnectionError("a worker was lost") from error

    def _holding(self, numbers: Sequence[int]) -> tuple[Any, ...]:
        """Return what makes an object with some chunks, and its arguments."""
        return HeldChunks, numbers, *(self._futures[k] for k in numbers)

    def _cluster(self, action: Callable[[], Any]) -> Any:
        """Return what the cluster answers; a cancelled future means that the scheduler forgot everything."""
        from distributed import CancelledError

        try:
            with self._client.as_current():  # waiting, and the actors that are received, know no other one
                return action()
        except CancelledError as error:
            raise _lost(error) from error

    def _check_scheduler(self, error: BaseException) -> None:
        """Raise if the scheduler, or all that it knew, is gone."""
        if isinstance(error, SchedulerLostError):
            raise error
        cancelled = any(future.status == "cancelled" for future in self._futures)
        if cancelled or self._client.status != "running":
            raise _lost(error) from error


def _in_order(replies: Sequence[tuple[list[int], list[Any]]]) -> list[tuple[int, Any]]:
    """Return the answers of all workers by the numbers of their chunks."""
    answers: dict[int, Any] = {}
    for numbers, found in replies:
        answers.update(zip(numbers, found, strict=True))
    return sorted(answers.items())


def _shared(where: Sequence[Sequence[str]], workers: set[str]) -> dict[str, list[int]]:
    """Return the chunks that every worker is to hold: as many each, and those that it has as far as possible.

    Parameters
    ----------
    where : sequence of sequences of str
        Of every chunk, the workers that have it.
    workers : set of str
        All of them.

    Examples
    --------
    >>> _shared([["a"], ["a"], ["a"], ["b"]], {"a", "b"})
    {'a': [0, 1], 'b': [2, 3]}
    """
    if not workers:
        raise ConnectionError("all workers were lost")
    shares: dict[str, list[int]] = {address: [] for address in sorted(workers)}
    most = -(-len(where) // len(workers))
    left = []
    for k, addresses in enumerate(where):
        free = [address for address in addresses if address in shares and len(shares[address]) < most]
        if free:
            min((shares[address] for address in sorted(free)), key=len).append(k)
        else:
            left.append(k)
    for k in left:
        min(shares.values(), key=len).append(k)
    return {address: sorted(numbers) for address, numbers in shares.items() if numbers}


class SchedulerLostError(ConnectionError):
    """The scheduler of a Dask cluster is gone, and the samples that its workers kept with it."""


def _lost(error: BaseException) -> SchedulerLostError:
    return SchedulerLostError(
        f"the scheduler of the Dask cluster was lost ({type(error).__name__}: {error}), and what its workers kept with "
        "it. Connect a new client, build the Dask collections with it and call fit again; with checkpoint='run.npz' a "
        "training goes on from where it was"
    )


def _made_ready(blocks: Sequence[Any]) -> list[Any]:
    from dask import delayed

    make = delayed(prepared, pure=False)
    return [make(block, number) for number, block in enumerate(blocks)]


def _check_alike(known: Sequence[ChunkFacts], filled: Sequence[int]) -> None:
    """Raise if a chunk differs from the first one in width or type."""
    first = known[filled[0]]
    for k in filled[1:]:
        chunk = known[k]
        if chunk.n_features != first.n_features:
            raise ValueError(
                f"chunk {k} of X has {chunk.n_features} columns and chunk {filled[0]} has {first.n_features}: all "
                "chunks must have the same features"
            )
        if chunk.is_sparse != first.is_sparse:
            kinds = [("a CSR matrix" if one.is_sparse else "a dense array") for one in (chunk, first)]
            raise ValueError(
                f"chunk {k} of X is {kinds[0]} and chunk {filled[0]} is {kinds[1]}: convert all chunks to one kind "
                "with X.map_blocks(...)"
            )
        if chunk.dtype != first.dtype:
            raise ValueError(
                f"chunk {k} of X has entries of type {chunk.dtype} and chunk {filled[0]} of type {first.dtype}: use "
                f"X.map_blocks(lambda block: block.astype({first.dtype!r}))"
            )
