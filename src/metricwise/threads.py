"""Share the work over samples among cores, with results that do not depend on their number."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

A = TypeVar("A")
B = TypeVar("B")

# Below this many multiplications a pass is over before a second thread has woken up (measured: 30 microseconds).
WORK_WORTH_SHARING = 200_000
BLOCKS = 8

# Threads wait for each other at every step of a training. Up to this many samples that takes longer than what they
# gain, and on a busy machine, where one of them has no core, many times longer (measured: more than twenty).
FEW_SAMPLES = 5000

_PROBE_SECONDS = 0.02
_PROBE_BYTES = bytes(100_000)  # hashing this many releases the interpreter lock


def available_cores() -> int:
    """Return the number of cores this process may use, as limited by affinity, container and OMP_NUM_THREADS."""
    cores = int(joblib.cpu_count())
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(limit))) if limit.isdecimal() else cores


def available_threads() -> int:
    """Return the number of threads for one computation: the available cores, or fewer inside `limit_threads`."""
    cores, limit = available_cores(), _limit.get()
    return cores if limit is None else min(limit, cores)


def count_free_cores() -> int:
    """Return how many of the available cores other processes leave to this one just now, at least one.

    All of them are kept busy for 20 milliseconds, and the processor time that this process gets is counted.
    """
    cores = available_cores()
    shares: list[float] = []
    workers = [threading.Thread(target=lambda: shares.append(_measure_share())) for _ in range(cores)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return max(1, round(sum(shares)))


def _measure_share() -> float:
    """Return the share of a core that this thread gets."""
    started, cpu_seconds, seconds = time.perf_counter(), time.thread_time(), 0.0
    while seconds < _PROBE_SECONDS:
        hashlib.sha256(_PROBE_BYTES)
        seconds = time.perf_counter() - started
    return (time.thread_time() - cpu_seconds) / seconds


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    # The process number is part of the key because threads do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="metricwise")


# The number of threads that the computations of this context are limited to; None for no limit.
_limit: ContextVar[int | None] = ContextVar("limit_of_threads", default=None)


@contextmanager
def limit_threads(n_threads: int | None) -> Iterator[None]:
    """Limit the threads of OpenMP, as called by this thread, and of metricwise's own loops while the block runs.

    One thread is also the limit of BLAS, which has one number of threads for the whole process. Inside another such
    block, the lower limit holds.

    Parameters
    ----------
    n_threads : int or None
        The number of threads; None for no limit.
    """
    outer = _limit.get()
    if n_threads is None or (outer is not None and outer <= n_threads):
        yield
        return
    token = _limit.set(n_threads)
    try:
        with blas_on_one_thread() if n_threads == 1 else nullcontext(), _limit_openmp(n_threads):
            yield
    finally:
        _limit.reset(token)


def limit_threads_here() -> AbstractContextManager[Any]:
    """Return a context that repeats the limit of OpenMP in a new thread, which runs in a copy of its starter's context.

    BLAS is left to the starter, which waits for the thread, or gives it up and must not be affected by it any longer.
    """
    limit = _limit.get()
    return nullcontext() if limit is None else _limit_openmp(limit)


def threads_for(n_samples: int) -> int | None:
    """Return the number of threads that train on so many samples, or score them; None for all threads."""
    return 1 if n_samples <= FEW_SAMPLES else None


def _limit_openmp(n_threads: int) -> AbstractContextManager[Any]:
    return _controller(len(sys.modules)).limit(limits=n_threads, user_api="openmp")  # type: ignore[no-any-return]


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> ThreadpoolController:
    # Looking for the libraries takes 25 milliseconds, and only an import brings new ones.
    return ThreadpoolController()


class _BlasLimit:
    """Keeps BLAS to one thread from the first of several overlapping blocks to the last, in whatever threads they run.

    Each block for itself would reset the number of threads to what it found, which may be the limit of another.
    """

    def __init__(self) -> None:
        self._lock, self._n_blocks = threading.Lock(), 0
        self._limiter: Any = None

    @contextmanager
    def hold(self) -> Iterator[None]:
        with self._lock:
            if self._n_blocks == 0:
                self._limiter = _controller(len(sys.modules)).limit(limits=1, user_api="blas")
            self._n_blocks += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_blocks -= 1
                if self._n_blocks == 0:
                    self._limiter.restore_original_limits()


_blas_limit = _BlasLimit()


def blas_on_one_thread() -> AbstractContextManager[None]:
    """Return a context in which BLAS keeps to one thread, so that its sums do not depend on the number of threads."""
    return _blas_limit.hold()


def block_bounds(size: int, work: float) -> list[tuple[int, int]]:
    """Split range(size) into blocks; how depends on the work alone, so that sums over blocks are reproducible."""
    blocks = min(BLOCKS, size) if work >= WORK_WORTH_SHARING else 1
    edges = [size * block // blocks for block in range(blocks + 1)] if blocks else [0]
    return list(pairwise(edges))


def run_both(first: Callable[[], A], second: Callable[[], B], threads: int) -> tuple[A, B]:
    """Return the results of two independent tasks, run in parallel if there is a second thread."""
    if threads <= 1:
        return first(), second()
    future = _pool(os.getpid(), threads).submit(second)
    return first(), future.result()


def run_blocks(task: Callable[[int, int, int], None], bounds: list[tuple[int, int]], threads: int) -> None:
    """Call task(block, start, stop) for every block, on up to ``threads`` threads, this one among them."""

    def work(first: int, step: int) -> None:
        for block in range(first, len(bounds), step):
            task(block, *bounds[block])

    threads = min(threads, len(bounds))
    if threads <= 1:
        work(0, 1)
        return
    waiting = [_pool(os.getpid(), threads).submit(work, first, threads) for first in range(1, threads)]
    work(0, threads)
    for future in waiting:
        future.result()
