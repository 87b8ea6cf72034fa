"""Approximations of a kernel: their objective beside the exact one, with a basis of a tenth of the samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.context import Context, SkippedError
from benchmarks.data import load, task
from benchmarks.report import Column, Record, Section, Table
from benchmarks.timing import make_timer, take_turns
from metricwise import MultivariateSVC

N_SAMPLES, QUICK_SAMPLES = 5000, 1000
MEASURES = ("f1", "roc_auc")
SETTINGS = tuple((gamma, C) for gamma in ("auto", "scale") for C in (0.01, 0.1, 1.0))
QUICK_SETTINGS = (("scale", 0.1),)
SHARE = 10
WANTED = 1.02

COLUMNS = (
    Column("task", "data"),
    Column("measure", "measure"),
    Column("gamma", "gamma"),
    Column("C", "C", "{:g}"),
    Column("exact", "exact, s", "{:.2f}"),
    Column("cpsp", "cpsp, s", "{:.2f}"),
    Column("nystroem", "nystroem, s", "{:.2f}"),
    Column("cpsp_ratio", "objective of cpsp / exact", "{:.4f}"),
    Column("nystroem_ratio", "objective of nystroem / exact", "{:.4f}"),
    Column("exact_value", "measure, new samples, exact", "{:.4f}"),
    Column("cpsp_value", "cpsp", "{:.4f}"),
    Column("nystroem_value", "nystroem", "{:.4f}"),
)

TEXT = [
    f"``MultivariateSVC`` with an RBF kernel on {N_SAMPLES} random samples: the exact kernel matrix, and "
    f"a basis of the kernel functions of one sample in {SHARE}, selected by subspace pursuit or at random. All to a "
    "gap of 0.001, one thread, one run. Objectives are those of the solutions found; new samples are all other "
    "samples, at "
    "most 5000. The narrower the kernel and the larger C, the more samples the exact solution consists of, and the "
    "less a tenth of them can represent it: on the digits gamma = 'scale' is 10 times as large as 'auto', on the "
    "letters 0.12 times.",
]


def _letter() -> tuple[Any, Any]:
    data = load("letter")
    return data["X"].astype(np.float64), data["y"] == data["y"].max()


def _mnist() -> tuple[Any, Any]:
    whole = task("mnist_8")
    return whole.X, whole.y


PROBLEMS: dict[str, Callable[[], tuple[Any, Any]]] = {"letter_z": _letter, "mnist_8": _mnist}


def measure(context: Context) -> Section:
    """Measure both approximations on all problems."""
    section = Section("subspaces", "Kernels: approximations", list(TEXT))
    records: list[Record] = []
    n_samples, settings = (QUICK_SAMPLES, QUICK_SETTINGS) if context.quick else (N_SAMPLES, SETTINGS)
    with threadpool_limits(1):
        for name, read in PROBLEMS.items():
            try:
                X, y = read()
            except SkippedError as reason:
                section.skip(name, reason)
                continue
            order = np.random.RandomState(0).permutation(len(y))
            for one in MEASURES:
                for gamma, C in settings:
                    records.append(
                        _measure_one(
                            name, X, y, order[:n_samples], order[n_samples : n_samples + N_SAMPLES], one, gamma, C
                        )
                    )
    section.text.append(_remark(records))
    section.tables.append(Table("Objectives and seconds", COLUMNS, records))
    return section


def _measure_one(name: str, X: Any, y: Any, train: Any, new: Any, measured: str, gamma: str, C: float) -> Record:
    shared: dict[str, Any] = {"kernel": "rbf", "gamma": gamma, "n_basis": len(train) // SHARE}

    def fit_with(approximation: str) -> Callable[[], Any]:
        model = MultivariateSVC(measured, C, approximation=approximation, threshold="train", n_jobs=1, **shared)
        return lambda: model.fit(X[train], y[train])

    kinds = ("exact", "cpsp", "nystroem")
    found = take_turns({kind: make_timer(fit_with(kind)) for kind in kinds}, 1)
    upper = {kind: found[kind].value.result_.certificate.upper for kind in kinds}
    record: Record = {"task": name, "measure": measured, "gamma": gamma, "C": C}
    record |= {kind: found[kind].seconds for kind in kinds}
    record |= {f"{kind}_ratio": upper[kind] / upper["exact"] for kind in kinds[1:]}
    return record | {f"{kind}_value": float(found[kind].value.score(X[new], y[new])) for kind in kinds}


def _remark(records: list[Record]) -> str:
    """Summarise where the approximations come within two per cent."""
    parts = []
    for kind in ("cpsp", "nystroem"):
        near = sum(record[f"{kind}_ratio"] <= WANTED for record in records)
        missed = [
            f"{record['task']} {record['measure']} at gamma = {record['gamma']}, C = {record['C']:g}"
            for record in records
            if record[f"{kind}_ratio"] > WANTED
        ]
        sentence = f"{kind} is within {WANTED - 1.0:.0%} of the exact objective in {near} of {len(records)} cases"
        parts.append(sentence + (f", not on {'; '.join(missed)}." if missed else "."))
    return " ".join(parts)
