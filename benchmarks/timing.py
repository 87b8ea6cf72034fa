"""Time several programs on the same work, in turns."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

Result = TypeVar("Result")

# A run longer than this many seconds is not repeated.
LONG = 20.0


@dataclass(frozen=True)
class Timing:
    """Seconds of the fastest run, its return value, the number of runs, and its processor time if known."""

    seconds: float
    value: Any
    repetitions: int = 1
    cpu_seconds: float | None = None


def make_timer(call: Callable[[], Any]) -> Callable[[], Timing]:
    """Return a function that runs ``call`` and returns its wall-clock and processor time."""

    def run() -> Timing:
        started, cpu_started = time.perf_counter(), time.process_time()
        value = call()
        cpu = time.process_time() - cpu_started
        return Timing(time.perf_counter() - started, value, cpu_seconds=cpu)

    return run


def take_turns(calls: Mapping[str, Callable[[], Timing]], repetitions: int) -> dict[str, Timing]:
    """Run all calls in turns, so that a busy machine slows all alike, and return the fastest run of each.

    Parameters
    ----------
    calls : mapping of str to callable
        Each runs once when called and returns its own time.
    repetitions : int
        Maximum number of runs of each; a call that takes longer than `LONG` runs once.

    Returns
    -------
    dict of str to Timing
    """
    best: dict[str, Timing] = {}
    for _ in range(repetitions):
        for name, call in calls.items():
            before = best.get(name)
            if before is not None and before.seconds > LONG:
                continue
            now = call()
            runs = 1 if before is None else before.repetitions + 1
            fastest = now if before is None or now.seconds < before.seconds else before
            best[name] = replace(fastest, repetitions=runs)
    return best


def clock(call: Callable[[], Result]) -> tuple[float, Result]:
    """Return the processor seconds of a call and its return value.

    Warnings are not shown: the experiments include settings at which training does not converge.
    """
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = call()
    return time.process_time() - started, value
