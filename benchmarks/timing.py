"""Timing of several programs on the same work, taken in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

# A run longer than this many seconds is not repeated.
LONG = 20.0


@dataclass(frozen=True)
class Timing:
    """Seconds of the fastest run, what it returned, how many runs there were, and its processor time if known."""

    seconds: float
    value: Any
    repetitions: int = 1
    cpu_seconds: float | None = None


def timed(call: Callable[[], Any]) -> Callable[[], Timing]:
    """Return a function that calls ``call`` and measures the time that passes meanwhile."""

    def run() -> Timing:
        started, cpu_started = time.perf_counter(), time.process_time()
        value = call()
        cpu = time.process_time() - cpu_started
        return Timing(time.perf_counter() - started, value, cpu_seconds=cpu)

    return run


def take_turns(runners: Mapping[str, Callable[[], Timing]], repetitions: int) -> dict[str, Timing]:
    """Run everything in turns, so that all suffer alike from a busy machine, and keep the fastest run of each.

    Parameters
    ----------
    runners : mapping of str to callable
        Each runs once when called and tells its own time.
    repetitions : int
        Most runs of each; one that takes longer than `LONG` is run once.

    Returns
    -------
    dict of str to Timing
    """
    best: dict[str, Timing] = {}
    for _ in range(repetitions):
        for name, runner in runners.items():
            before = best.get(name)
            if before is not None and before.seconds > LONG:
                continue
            now = runner()
            runs = 1 if before is None else before.repetitions + 1
            fastest = now if before is None or now.seconds < before.seconds else before
            best[name] = replace(fastest, repetitions=runs)
    return best
