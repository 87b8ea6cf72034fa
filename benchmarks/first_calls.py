"""What `partial_fit` of many samples in one call costs, beside scikit-learn's stochastic gradient descent."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from benchmarks.context import Context, SkippedError
from benchmarks.data import task
from benchmarks.report import Column, Record, Section, Table
from metricwise import SPADEClassifier, STAMPClassifier

N_SAMPLES, QUICK_SAMPLES = 21_500, 2000
REPETITIONS = 9
PEER = "SGDClassifier"

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "SPADE, g_mean": lambda: SPADEClassifier("g_mean"),
    "STAMP, f1": lambda: STAMPClassifier("f1"),
    PEER: lambda: SGDClassifier(average=True),
}

COLUMNS = (
    Column("method", "method"),
    Column("first", "first call, ms", "{:.1f}"),
    Column("first_ratio", "ratio", "{:.2f}"),
    Column("later", "later call, ms", "{:.1f}"),
    Column("later_ratio", "ratio", "{:.2f}"),
)

TEXT = [
    f"One call of ``partial_fit`` with {N_SAMPLES:,} samples of the Reuters collection (topic earn; the first ones "
    "repeated), sparse, by a new estimator, and the same call again. The peer is scikit-learn's "
    "``SGDClassifier(average=True)``, which scores nothing before it learns from it, and chooses no threshold. At the "
    "start of a stream scales, costs and threshold are brought up to date often. "
    f"Processor time, one thread, median of {REPETITIONS} calls in turns.",
]


def measure(context: Context) -> Section:
    """Measure first and later calls of all estimators."""
    section = Section("first_calls", "Many samples in one call", list(TEXT))
    try:
        X, y = _repeat_samples(QUICK_SAMPLES if context.quick else N_SAMPLES)
    except SkippedError as reason:
        section.skip("reuters_earn", reason)
        return section
    with threadpool_limits(1):
        for make in ESTIMATORS.values():
            _time_calls(make(), X, y)  # compiles
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in ESTIMATORS}
        for _ in range(REPETITIONS):
            for name, make in ESTIMATORS.items():
                times[name].append(_time_calls(make(), X, y))
    medians = {
        name: [statistics.median(column) for column in zip(*found, strict=True)] for name, found in times.items()
    }
    records = [_record(name, medians) for name in ESTIMATORS if name != PEER]
    section.tables.append(Table(f"Milliseconds per call, and those of {PEER} divided by them", COLUMNS, records))
    return section


def _repeat_samples(n_samples: int) -> tuple[Any, Any]:
    chosen = task("reuters_earn")
    X, y = sparse.vstack([chosen.X, chosen.X_test]).tocsr(), np.concatenate([chosen.y, chosen.y_test])
    samples = np.arange(n_samples) % X.shape[0]
    return X[samples], y[samples]


def _time_calls(model: Any, X: Any, y: Any) -> tuple[float, float]:
    """Return the milliseconds of the first call and of the next."""
    started = time.process_time()
    model.partial_fit(X, y, classes=np.unique(y))
    first = time.process_time()
    model.partial_fit(X, y)
    return 1e3 * (first - started), 1e3 * (time.process_time() - first)


def _record(name: str, medians: dict[str, list[float]]) -> Record:
    (first, later), (peer_first, peer_later) = medians[name], medians[PEER]
    ratios = {"first_ratio": peer_first / first, "later_ratio": peer_later / later}
    return {"method": name, "first": first, "later": later} | ratios
