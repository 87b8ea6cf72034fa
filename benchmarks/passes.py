"""What a pass of the streaming classifiers costs, beside scikit-learn's stochastic gradient descent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from benchmarks.context import Context, SkippedError
from benchmarks.data import Task, task
from benchmarks.report import Column, Record, Section, Table
from benchmarks.timing import Timing, take_turns
from metricwise import SPADEClassifier, STAMPClassifier

FEW, MANY = 1, 11
REPETITIONS = 5
ALL_PASSES = -1e9  # a tolerance that never stops training early
QUICK_SAMPLES = 3000

METHODS: dict[str, tuple[type, str]] = {
    "SPADE, g_mean": (SPADEClassifier, "g_mean"),
    "STAMP, f1": (STAMPClassifier, "f1"),
}

KINDS: dict[str, Callable[[Any], Any]] = {"dense": np.ascontiguousarray, "CSR": sparse.csr_matrix}
MATRICES = {"rcv1": ("CSR",), "w8a": ("CSR",), "mnist_8": ("dense", "CSR"), "covtype_2": ("dense",)}

COLUMNS = (
    Column("task", "data"),
    Column("kind", "matrix"),
    Column("n_samples", "samples", "{:,}"),
    Column("method", "method"),
    Column("passes", "passes per second", "{:.1f}"),
    Column("ours", "pass, ms", "{:.2f}"),
    Column("peer", "SGDClassifier, ms", "{:.2f}"),
    Column("ratio", "ratio", "{:.2f}"),
    Column("stopping", "with early stopping, ms", "{:.2f}"),
    Column("stopping_ratio", "ratio to that", "{:.2f}"),
    Column("product", "Xw, ms", "{:.2f}"),
    Column("products", "pass / Xw", "{:.1f}"),
    Column("start", "first pass and set-up, ms", "{:.1f}"),
)

TEXT = [
    "A pass of ``fit`` learns from nine samples in ten (from all but 20 thousand, if these are more) in a new random "
    "order, scores the others, and chooses a threshold on them. The peer is scikit-learn's "
    "``SGDClassifier(average=True)``, hinge loss, which learns from all samples, shuffled too, and evaluates nothing; "
    "with ``early_stopping=True`` it holds out one sample in ten and scores these after every pass. All average the "
    "weights as they go; only metricwise standardises the features (scales them, if sparse). One thread each, double "
    "precision, contiguous rows: both copy matrices with contiguous columns.",
    f"The time of a pass is the difference between training with {MANY} passes and with {FEW}, divided by "
    f"{MANY - FEW}: checks of the input, the validation split and the first estimate of scales are in the last column. "
    f"Xw is ``X @ w`` by numpy or scipy on all samples. All in turns, best of {REPETITIONS}, processor time. On rcv1 a "
    "pass is so short that choosing a threshold on the validation samples takes a fourth of it.",
]


def measure(context: Context) -> Section:
    """Measure both methods on every matrix."""
    section = Section("passes", "Passes over the samples", list(TEXT))
    records: list[Record] = []
    with threadpool_limits(1):
        for chosen, kind in _matrices(section, context.quick):
            records += _measure_task(chosen, kind)
    section.tables.append(Table("Milliseconds per pass", COLUMNS, records))
    return section


def _matrices(section: Section, quick: bool) -> Iterator[tuple[Task, str]]:
    for name, kinds in MATRICES.items():
        try:
            chosen = task(name)
        except SkippedError as reason:
            section.skip(name, reason)
            continue
        chosen = chosen.some(QUICK_SAMPLES) if quick else chosen
        for kind in kinds:
            yield replace(chosen, X=KINDS[kind](chosen.X)), kind


def _measure_task(chosen: Task, kind: str) -> list[Record]:
    X, w = chosen.X, np.random.default_rng(0).standard_normal(chosen.X.shape[1])
    calls: dict[str, Callable[[], Timing]] = {"product": _processor_time(lambda: X @ w)}
    for count in (FEW, MANY):
        calls |= {f"peer {count}": _processor_time(_peer(chosen, count, early_stopping=False))}
        calls |= {f"stopping {count}": _processor_time(_peer(chosen, count, early_stopping=True))}
        calls |= {f"{method} {count}": _processor_time(_ours(chosen, method, count)) for method in METHODS}
    tiny = chosen.tiny()
    for method in METHODS:
        _ours(tiny, method, FEW)()
    found = {name: 1e3 * timing.seconds for name, timing in take_turns(calls, REPETITIONS).items()}
    shared = {"task": chosen.name, "kind": kind, "n_samples": X.shape[0], "product": found["product"]}
    return [shared | _record(found, method) for method in METHODS]


def _processor_time(call: Callable[[], Any]) -> Callable[[], Timing]:
    """Return a function that runs ``call`` on one thread and returns its processor time."""

    def run() -> Timing:
        started = time.process_time()
        value = call()
        return Timing(time.process_time() - started, value)

    return run


def _record(found: dict[str, float], method: str) -> Record:
    ours, peer, stopping = _marginal(found, method), _marginal(found, "peer"), _marginal(found, "stopping")
    return {
        "method": method,
        "passes": 1e3 / ours,
        "ours": ours,
        "peer": peer,
        "ratio": peer / ours,
        "stopping": stopping,
        "stopping_ratio": stopping / ours,
        "products": ours / found["product"],
        "start": found[f"{method} {FEW}"],
    }


def _marginal(found: dict[str, float], name: str) -> float:
    return (found[f"{name} {MANY}"] - found[f"{name} {FEW}"]) / (MANY - FEW)


def _ours(chosen: Task, method: str, n_passes: int) -> Callable[[], Any]:
    estimator, measured = METHODS[method]
    model = estimator(measured, n_passes=n_passes, tol=ALL_PASSES, n_jobs=1)
    return lambda: model.fit(chosen.X, chosen.y)


def _peer(chosen: Task, n_passes: int, early_stopping: bool) -> Callable[[], Any]:
    model = SGDClassifier(average=True, max_iter=n_passes, tol=None, early_stopping=early_stopping, random_state=0)
    return lambda: model.fit(chosen.X, chosen.y)
