"""The time budget of model selection."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from typing import Any, TypeVar

import joblib
import numpy as np
import sklearn
from joblib.parallel import get_active_backend

from metricwise.threads import limit_threads

T = TypeVar("T")


@dataclass
class Clock:
    """Seconds since a start, and those of a budget that are left.

    Parameters
    ----------
    budget : float or None
        Seconds that may be used; None for as many as it takes.

    Examples
    --------
    >>> Clock(None).left()
    inf
    """

    budget: float | None
    _started: float = field(default_factory=lambda: time.perf_counter())

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self._started

    def left(self) -> float:
        """Return the seconds that are left, infinitely many without a budget."""
        return math.inf if self.budget is None else self.budget - self.seconds()


class OutOfTimeError(Exception):
    """A function did not return in the time that it had."""


class _Stop(SystemExit):
    """Ends a thread; not an `Exception`, so that no learner takes it for a failure of its own."""


def run_within(seconds: float, function: Callable[[], T], n_threads: int | None = None) -> T:
    """Return what a function returns, or give up when its time is over.

    Parameters
    ----------
    seconds : float
        The time that the function has; with infinity it runs in the calling thread, otherwise in one of its own.
    function : callable
        Called without arguments. It must share nothing that it changes: when its time is over, it ends at its next
        instruction in Python, which may be long after this function has returned if it is in compiled code.
    n_threads : int, optional
        Threads of BLAS and OpenMP; by default as many as they use without a limit.

    Raises
    ------
    OutOfTimeError
        If the time is over.

    Examples
    --------
    >>> run_within(10.0, lambda: 1 + 1)
    2
    """
    if seconds <= 0.0:
        raise OutOfTimeError
    # The threads of BLAS are set for the process, so that they are reset here; those of OpenMP for each thread.
    with limit_threads(n_threads, "blas"):
        limited = partial(_call_with_openmp, n_threads, function)
        return limited() if seconds == math.inf else _run_in_thread(seconds, limited)


def _call_with_openmp(n_threads: int | None, function: Callable[[], T]) -> T:
    with limit_threads(n_threads, "openmp"):
        return function()


def _run_in_thread(seconds: float, function: Callable[[], T]) -> T:
    result: Future[T] = Future()
    thread = Thread(target=_work, args=(result, _with_settings(function)), daemon=True, name="metricwise-limited")
    thread.start()
    try:
        wait([result], seconds)
        if not result.done():
            raise OutOfTimeError
        return result.result()
    finally:
        if not result.done():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Stop))


def _work(result: Future[T], function: Callable[[], T]) -> None:
    try:
        result.set_result(function())
    except BaseException as error:
        result.set_exception(error)


def _with_settings(function: Callable[[], T]) -> Callable[[], T]:
    """Return a function that runs in another thread with the settings of this one."""
    context, settings, parallel = copy_context(), sklearn.get_config(), _parallel_settings()
    errors = np.geterr()  # part of the context since NumPy 2 only

    def run() -> T:
        sklearn.set_config(**settings)
        with parallel(), np.errstate(**errors):
            return context.run(function)

    return run


def _parallel_settings() -> Callable[[], AbstractContextManager[Any]]:
    """Return what sets joblib's backend and number of jobs as the calling thread has them."""
    (backend, n_jobs), (other, _) = (get_active_backend(prefer=kind) for kind in ("processes", "threads"))
    # Without a backend chosen by the user, the preference decides, and must still do so in the other thread.
    chosen = {"backend": backend} if type(backend) is type(other) else {}
    return lambda: joblib.parallel_config(n_jobs=n_jobs, **chosen)
