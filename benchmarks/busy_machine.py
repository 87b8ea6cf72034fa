"""How long does MetricClassifier take for few samples, on a quiet machine and beside other busy processes?"""

from __future__ import annotations

import time
from typing import Any

from sklearn.datasets import load_digits, make_classification

from benchmarks.context import Context
from benchmarks.report import Column, Record, Section, Table
from benchmarks.time_budgets import busy_processes
from metricwise import MetricClassifier

N_BUSY = (0, 1, 2)
TOLERANCE = 2.0  # beyond the fair share of the cores, as two processes may be slower than one for other reasons

COLUMNS = (
    Column("problem", "problem"),
    Column("n_jobs", "n_jobs"),
    Column("n_busy", "busy processes beside it"),
    Column("seconds", "seconds", "{:.1f}"),
    Column("cpu_seconds", "processor seconds", "{:.1f}"),
    Column("expected", "expected score", "{:.4f}"),
)

TEXT = [
    "``MetricClassifier`` with all of its candidates on few samples: 740 of scikit-learn's digits, ten classes, for "
    "macro F1, and 2000 samples of 20 features and two classes, for F1. Beside ``n`` busy processes, a training may "
    f"take ``1 + n`` times as long as on the quiet machine, and {TOLERANCE:.0f} times that at most. Processor seconds "
    "are those of the training alone. The expected score must not depend on ``n_jobs`` or on the load."
]


def measure(context: Context) -> Section:
    """Time a fit for every problem, number of jobs and load."""
    section = Section("busy_machine", "Few samples on a busy machine", list(TEXT))
    problems = {"digits": _make_digits(), "two classes": _make_two_classes(500 if context.quick else 2000)}
    for X, y, name in problems.values():
        MetricClassifier(name).fit(X[:200], y[:200])  # compiled functions are in their cache
    records = [
        _time_fit(problem, *problems[problem], n_jobs, n_busy)
        for problem in problems
        for n_jobs in (None, 1)
        for n_busy in (N_BUSY[:2] if context.quick else N_BUSY)
    ]
    section.failures += _find_failures(records)
    section.tables.append(Table("Seconds of a training", COLUMNS, records))
    return section


def _find_failures(records: list[Record]) -> list[str]:
    quiet = {(one["problem"], one["n_jobs"]): one for one in records if one["n_busy"] == 0}
    failures = []
    for one in records:
        alone = quiet[one["problem"], one["n_jobs"]]
        where = f"{one['problem']}, n_jobs={one['n_jobs']}, {one['n_busy']} busy processes"
        if one["seconds"] > TOLERANCE * (1 + one["n_busy"]) * alone["seconds"]:
            failures.append(f"{where}: {one['seconds']:.1f} s instead of {alone['seconds']:.1f} s")
        if one["expected"] != quiet[one["problem"], "None"]["expected"]:
            failures.append(f"{where}: another model")
    return failures


def _time_fit(problem: str, X: Any, y: Any, measure_name: str, n_jobs: int | None, n_busy: int) -> Record:
    with busy_processes(n_busy):
        started, cpu_seconds = time.perf_counter(), time.process_time()
        model = MetricClassifier(measure_name, n_jobs=n_jobs).fit(X, y)
        return {
            "problem": problem,
            "n_jobs": str(n_jobs),
            "n_busy": n_busy,
            "seconds": time.perf_counter() - started,
            "cpu_seconds": time.process_time() - cpu_seconds,
            "expected": model.expected_score_,
        }


def _make_digits() -> tuple[Any, Any, str]:
    X, y = load_digits(return_X_y=True)
    return X[:740], y[:740], "f1_macro"


def _make_two_classes(size: int) -> tuple[Any, Any, str]:
    X, y = make_classification(size, 20, n_informative=6, weights=[0.9], random_state=0)
    return X, y, "f1"
