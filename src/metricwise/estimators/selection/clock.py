"""The time budget of model selection."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass, field
from typing import TypeVar

from metricwise.threads import limit_threads
from metricwise.worker_threads import Worker, stop_workers, with_settings

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
        Threads of one computation, as in `limit_threads`; by default as many as it uses without a limit.

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
    with limit_threads(n_threads):
        return function() if seconds == math.inf else _run_in_thread(seconds, function)


def _run_in_thread(seconds: float, function: Callable[[], T]) -> T:
    worker: Worker[T] = Worker(with_settings(function))
    try:
        wait([worker.result], seconds)
        if not worker.result.done():
            raise OutOfTimeError
        return worker.result.result()
    finally:
        stop_workers([worker])
