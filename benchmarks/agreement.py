"""Does training for accuracy give the optimum of scikit-learn's LinearSVC?

With u = n mistakes to a full loss, the objective is that of the hinge loss, whose sum over samples LinearSVC weights by
the same C. Both objectives are computed here from the weights alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from benchmarks.context import Context, SkippedError
from benchmarks.data import Task, task
from benchmarks.report import Column, Record, Section, Table
from benchmarks.training import train

Floats = NDArray[np.float64]

TASKS = ("a9a", "reuters_earn")
C = 1.0
OUR_TOLERANCE = 1e-5
AGREEMENT = 1e-3

COLUMNS = (
    Column("task", "data"),
    Column("n_samples", "samples"),
    Column("ours", "metricwise", "{:.6g}"),
    Column("peer", "LinearSVC", "{:.6g}"),
    Column("lower", "lower bound", "{:.6g}"),
    Column("difference", "relative difference", "{:.1e}"),
    Column("agrees", "agrees"),
)

TEXT = [
    f"Trained for accuracy, metricwise minimises the objective of ``LinearSVC(loss='hinge', C={C:g})``. Both programs "
    "run beyond their usual tolerance, and both objectives are computed from the weights alone. They must differ by "
    f"less than {AGREEMENT:g} of their value, and neither may fall below the lower bound that metricwise certifies."
]


def measure(context: Context) -> Section:
    """Compare the two optima on every task."""
    section = Section("agreement", "The same optimum as LinearSVC", list(TEXT))
    records: list[Record] = []
    for name in TASKS:
        try:
            chosen = task(name)
        except SkippedError as reason:
            section.skip(name, reason)
            continue
        record = _compare(chosen.some(2000) if context.quick else chosen, context.threads)
        records.append(record)
        if not record["ok"]:
            section.failures.append(f"{name}: the objectives differ by {record['difference']:.1e}")
    section.tables.append(Table("Objective reached", COLUMNS, records))
    return section


def _compare(chosen: Task, threads: int) -> Record:
    certificate_of = train(chosen.X, chosen.y, "accuracy", C, OUR_TOLERANCE, threads).result
    weights = certificate_of.weights
    ours = objective(chosen.X, chosen.y, weights[:-1], float(weights[-1]))
    machine = LinearSVC(loss="hinge", C=C, dual=True, tol=1e-5, max_iter=1_000_000, intercept_scaling=1, random_state=0)
    machine.fit(chosen.X, chosen.y)
    peer = objective(chosen.X, chosen.y, machine.coef_[0], float(machine.intercept_[0]))
    lower = certificate_of.certificate.lower
    difference = abs(ours - peer) / min(ours, peer)
    ok = difference <= AGREEMENT and lower <= min(ours, peer) * (1 + 1e-9)
    return {
        "task": chosen.name,
        "n_samples": len(chosen.y),
        "ours": ours,
        "peer": peer,
        "lower": lower,
        "difference": difference,
        "ok": ok,
        "agrees": "yes" if ok else "no",
    }


def objective(X: Any, y: NDArray[np.bool_], coef: Floats, intercept: float) -> float:
    """Return half the squared length of the weights, intercept included, plus C times the hinge loss."""
    margins = np.where(y, 1.0, -1.0) * (np.asarray(X @ coef).ravel() + intercept)
    return float(0.5 * (coef @ coef + intercept**2) + C * np.maximum(0.0, 1.0 - margins).sum())
