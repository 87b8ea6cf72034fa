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
ALL_PASSES = -1e9  # a tolerance that never ends training early
QUICK_ROWS = 3000

METHODS: dict[str, tuple[type, str]] = {
    "SPADE, g_mean": (SPADEClassifier, "g_mean"),
    "STAMP, f1": (STAMPClassifier, "f1"),
}

KINDS: dict[str, Callable[[Any], Any]] = {"dense": np.ascontiguousarray, "CSR": sparse.csr_matrix}
MATRICES = {"rcv1": ("CSR",), "w8a": ("CSR",), "mnist_8": ("dense", "CSR"), "covtype_2": ("dense",)}

COLUMNS = (
    Column("task", "data"),
    Column("kind", "matrix"),
    Column("rows", "rows", "{:,}"),
    Column("method", "method"),
    Column("passes", "passes a second", "{:.1f}"),
    Column("ours", "pass, ms", "{:.2f}"),
    Column("peer", "SGDClassifier, ms", "{:.2f}"),
    Column("ratio", "ratio", "{:.2f}"),
    Column("held", "the same, judging each pass, ms", "{:.2f}"),
    Column("held_ratio", "ratio to that", "{:.2f}"),
    Column("product", "Xw, ms", "{:.2f}"),
    Column("products", "pass in products", "{:.1f}"),
    Column("start", "first pass and set-up, ms", "{:.1f}"),
)

TEXT = [
    "A pass of ``fit`` learns from nine rows in ten (from all but 20 thousand, if these are more) in a new random "
    "order, scores the others, and chooses a threshold on them. The peer is scikit-learn's "
    "``SGDClassifier(average=True)``, hinge loss, which learns from all rows, shuffled too, and evaluates nothing; "
    "with ``early_stopping=True`` it holds out one row in ten and scores these after every pass. All average the "
    "weights as they go; only metricwise standardises the features (scales them, if sparse). One thread each, double "
    "precision, rows contiguous: matrices with contiguous columns are copied by both.",
    f"A pass is what a training with {MANY} passes takes longer than one with {FEW}, by {MANY - FEW} passes: checks of "
    "the input, the rows held out and the first estimate of scales are in the last column. Xw is ``X @ w`` by numpy or "
    f"scipy on all rows. All in turns, best of {REPETITIONS}, processor time. On the rows of rcv1 a pass is so "
    "short that choosing a threshold on the rows held out takes a fourth of it.",
]


def measure(context: Context) -> Section:
    """Measure both methods on every matrix."""
    section = Section("passes", "Passes over the rows", list(TEXT))
    records: list[Record] = []
    with threadpool_limits(1):
        for chosen, kind in _matrices(section, context.quick):
            records += _measure_task(chosen, kind)
    section.tables.append(Table("Milliseconds a pass", COLUMNS, records))
    return section


def _matrices(section: Section, quick: bool) -> Iterator[tuple[Task, str]]:
    for name, kinds in MATRICES.items():
        try:
            chosen = task(name)
        except SkippedError as reason:
            section.skip(name, reason)
            continue
        chosen = chosen.some(QUICK_ROWS) if quick else chosen
        for kind in kinds:
            yield replace(chosen, X=KINDS[kind](chosen.X)), kind


def _measure_task(chosen: Task, kind: str) -> list[Record]:
    X, w = chosen.X, np.random.default_rng(0).standard_normal(chosen.X.shape[1])
    runners: dict[str, Callable[[], Timing]] = {"product": _processor_time(lambda: X @ w)}
    for count in (FEW, MANY):
        runners |= {f"peer {count}": _processor_time(_peer(chosen, count, judging=False))}
        runners |= {f"held {count}": _processor_time(_peer(chosen, count, judging=True))}
        runners |= {f"{method} {count}": _processor_time(_ours(chosen, method, count)) for method in METHODS}
    tiny = chosen.tiny()
    for method in METHODS:
        _ours(tiny, method, FEW)()
    found = {name: 1e3 * timing.seconds for name, timing in take_turns(runners, REPETITIONS).items()}
    shared = {"task": chosen.name, "kind": kind, "rows": X.shape[0], "product": found["product"]}
    return [shared | _record(found, method) for method in METHODS]


def _processor_time(call: Callable[[], Any]) -> Callable[[], Timing]:
    """Return a function that calls ``call``, one thread, and tells the time without that of other programs."""

    def run() -> Timing:
        started = time.process_time()
        value = call()
        return Timing(time.process_time() - started, value)

    return run


def _record(found: dict[str, float], method: str) -> Record:
    ours, peer, held = _marginal(found, method), _marginal(found, "peer"), _marginal(found, "held")
    return {
        "method": method,
        "passes": 1e3 / ours,
        "ours": ours,
        "peer": peer,
        "ratio": peer / ours,
        "held": held,
        "held_ratio": held / ours,
        "products": ours / found["product"],
        "start": found[f"{method} {FEW}"],
    }


def _marginal(found: dict[str, float], name: str) -> float:
    return (found[f"{name} {MANY}"] - found[f"{name} {FEW}"]) / (MANY - FEW)


def _ours(chosen: Task, method: str, n_passes: int) -> Callable[[], Any]:
    estimator, measured = METHODS[method]
    model = estimator(measured, n_passes=n_passes, tol=ALL_PASSES, n_jobs=1)
    return lambda: model.fit(chosen.X, chosen.y)


def _peer(chosen: Task, n_passes: int, judging: bool) -> Callable[[], Any]:
    model = SGDClassifier(average=True, max_iter=n_passes, tol=None, early_stopping=judging, random_state=0)
    return lambda: model.fit(chosen.X, chosen.y)
