"""Is the time budget of MetricClassifier kept, on a quiet machine and on a busy one?"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.datasets import make_classification

from benchmarks.context import Context
from benchmarks.report import Column, Record, Section, Table
from metricwise import MetricClassifier

BUDGETS, SIZES = (5.0, 20.0, 60.0), (5_000, 50_000, 200_000)
BUSY_PROCESSES = 2
TOLERANCE = 1.1
_SPIN = "while True: pass"

COLUMNS = (
    Column("n_samples", "samples"),
    Column("n_busy", "busy processes beside it"),
    Column("budget", "time budget", "{:.0f}"),
    Column("seconds", "taken", "{:.1f}"),
    Column("trained_on", "samples of the last rung"),
    Column("selected", "selected"),
    Column("score", "F1 on new samples", "{:.3f}"),
)

TEXT = [
    '``MetricClassifier("f1", time_budget=...)`` with all of its candidates, on 20 features and 5 % of positives, in '
    f"seconds. The time must not exceed the budget by more than {TOLERANCE - 1.0:.0%}, the final training included. "
    "Compiled functions are in their cache before."
]


def measure(context: Context) -> Section:
    """Time a fit for every budget, number of samples and load."""
    section = Section("time_budgets", "Time budgets", list(TEXT))
    MetricClassifier("f1").fit(*_make_data(400))
    records = [
        _time_fit(size, budget, busy)
        for busy in (0, BUSY_PROCESSES)
        for size in (SIZES[:1] if context.quick else SIZES)
        for budget in (BUDGETS[:1] if context.quick else BUDGETS)
    ]
    section.failures += [
        f"{one['n_samples']} samples, budget {one['budget']:.0f} s: {one['seconds']:.1f} s"
        for one in records
        if one["seconds"] > TOLERANCE * one["budget"]
    ]
    section.tables.append(Table("Seconds taken", COLUMNS, records))
    return section


def _time_fit(size: int, budget: float, n_busy: int) -> Record:
    X, y = _make_data(size + 10_000)
    with busy_processes(n_busy):
        started = time.perf_counter()
        model = MetricClassifier("f1", time_budget=budget).fit(X[:size], y[:size])
        seconds = time.perf_counter() - started
    best = model.leaderboard_.iloc[0]
    return {
        "n_samples": size,
        "n_busy": n_busy,
        "budget": budget,
        "seconds": seconds,
        "trained_on": int(best["n_samples"]),
        "selected": str(best["candidate"]),
        "score": model.score(X[size:], y[size:]),
    }


def _make_data(size: int) -> tuple[Any, Any]:
    X, y = make_classification(size, 20, n_informative=6, weights=[0.95], random_state=0)
    return X, y


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep so many processes busy while the block runs."""
    running = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()
