"""Share the work over samples among cores, with results that do not depend on their number."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import pairwise
from typing import Any, Literal, TypeVar

import joblib
from threadpoolctl import threadpool_limits

A = TypeVar("A")
B = TypeVar("B")

# Below this many multiplications a pass is over before a second thread has woken up (measured: 30 microseconds).
WORK_WORTH_SHARING = 200_000
BLOCKS = 8


def available_threads() -> int:
    """Return the number of cores this process may use, as limited by affinity, container and OMP_NUM_THREADS."""
    cores = int(joblib.cpu_count())
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    # The process number is part of the key because threads do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="metricwise")


def limit_threads(n_threads: int | None, user_api: Literal["blas", "openmp"]) -> AbstractContextManager[Any]:
    """Return a context in which BLAS, or OpenMP as called by this thread, use so many threads; None for no limit."""
    return nullcontext() if n_threads is None else threadpool_limits(limits=n_threads, user_api=user_api)


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
