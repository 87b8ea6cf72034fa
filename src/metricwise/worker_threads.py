"""Run functions in threads that have the settings of their starter and can be stopped."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager
from contextvars import copy_context
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

import joblib
import numpy as np
import sklearn
from joblib.parallel import get_active_backend

from metricwise.threads import limit_threads_here

T = TypeVar("T")

_BETWEEN_CHECKS = 0.05  # seconds in which a waiting thread notices that it is stopped itself
_TIME_TO_END = 0.2  # seconds that stopped threads have before they are left to themselves


class _Stop(SystemExit):
    """Ends a thread; not an `Exception`, so that no learner takes it for a failure of its own."""


class Worker(Generic[T]):
    """A thread that runs a function; the process does not wait for it at its end.

    Parameters
    ----------
    function : callable
        Called without arguments.

    Attributes
    ----------
    result : Future
        What the function returns or raises.
    """

    def __init__(self, function: Callable[[], T]) -> None:
        self.result: Future[T] = Future()
        self._thread = Thread(target=self._run, args=(function,), daemon=True, name="metricwise-worker")
        self._thread.start()

    def _run(self, function: Callable[[], T]) -> None:
        try:
            self.result.set_result(function())
        except BaseException as error:
            self.result.set_exception(error)

    def interrupt(self) -> None:
        """Raise an error in the thread at its next instruction in Python."""
        identity = ctypes.c_ulong(self._thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(_Stop))


def stop_workers(workers: Sequence[Worker[Any]]) -> None:
    """End the workers that still run, which may be late for one that is in compiled code.

    What a thread resets when it ends, such as filters of warnings, is reset before the caller goes on, unless it is
    late.
    """
    running = [worker for worker in workers if not worker.result.done()]
    for worker in running:
        worker.interrupt()
    wait([worker.result for worker in running], _TIME_TO_END)


def run_side_by_side(
    tasks: Sequence[Callable[[], T]], n_threads: int, show_done: Callable[[int], Any] = lambda _: None
) -> list[T]:
    """Return the results of independent tasks, in their order, run by so many threads.

    If a task fails, those that run are completed, no other starts, and the error of the first one that failed is
    raised: the same as if they ran one after the other. If the caller is interrupted, all of them are stopped.

    Parameters
    ----------
    tasks : sequence of callable
        Called without arguments, in copies of the caller's context and with its settings.
    n_threads : int
        Threads at once.
    show_done : callable, optional
        Called in the calling thread with the number of completed tasks whenever it has changed.

    Examples
    --------
    >>> run_side_by_side([lambda: 1, lambda: 2, lambda: 3], n_threads=2)
    [1, 2, 3]
    """
    queue = _Queue([with_settings(task) for task in tasks])
    workers = [Worker(queue.work) for _ in range(min(n_threads, len(tasks)))]
    try:
        running, shown = [worker.result for worker in workers], 0
        while running:
            running = list(wait(running, _BETWEEN_CHECKS, FIRST_COMPLETED).not_done)
            if len(queue.results) > shown:
                shown = len(queue.results)
                show_done(shown)
    finally:
        queue.close()
        stop_workers(workers)
    if queue.errors:
        raise queue.errors[min(queue.errors)]
    return [queue.results[number] for number in range(len(tasks))]


class _Queue(Generic[T]):
    """Tasks that several workers take in order."""

    def __init__(self, tasks: Sequence[Callable[[], T]]) -> None:
        self._tasks, self._next, self._lock = tasks, 0, Lock()
        self.results: dict[int, T] = {}
        self.errors: dict[int, BaseException] = {}

    def work(self) -> None:
        """Run tasks until there are no more, or one has failed."""
        while (number := self._take()) is not None:
            try:
                self.results[number] = self._tasks[number]()
            except BaseException as error:
                self.errors[number] = error
                self.close()

    def close(self) -> None:
        """Let no other task start."""
        with self._lock:
            self._next = len(self._tasks)

    def _take(self) -> int | None:
        with self._lock:
            number = self._next
            self._next += 1
        return number if number < len(self._tasks) else None


def with_settings(function: Callable[[], T]) -> Callable[[], T]:
    """Return a function that runs in another thread with the settings of this one."""
    context, settings, parallel = copy_context(), sklearn.get_config(), _parallel_settings()
    errors = np.geterr()  # part of the context since NumPy 2 only

    def call() -> T:
        with limit_threads_here():
            return function()

    def run() -> T:
        sklearn.set_config(**settings)
        with parallel(), np.errstate(**errors):
            return context.run(call)

    return run


def is_parallel_configured() -> bool:
    """Return whether joblib's backend or number of jobs is set, by ``joblib.parallel_config`` or for nested jobs."""
    (backend, n_jobs), (other, _) = (get_active_backend(prefer=kind) for kind in ("processes", "threads"))
    return type(backend) is type(other) or n_jobs is not None


def _parallel_settings() -> Callable[[], AbstractContextManager[Any]]:
    """Return what sets joblib's backend and number of jobs as the calling thread has them."""
    (backend, n_jobs), (other, _) = (get_active_backend(prefer=kind) for kind in ("processes", "threads"))
    # Without a backend chosen by the user, the preference decides, and must still do so in the other thread.
    chosen = {"backend": backend} if type(backend) is type(other) else {}
    return lambda: joblib.parallel_config(n_jobs=n_jobs, **chosen)
