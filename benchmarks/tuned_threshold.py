"""Time to fit and F1 on new samples: MultivariateSVC and logistic regression with a tuned threshold."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import TunedThresholdClassifierCV

from benchmarks import plots
from benchmarks.context import Context, SkippedError
from benchmarks.data import Task, task
from benchmarks.report import Column, Figure, Record, Section, Table
from benchmarks.timing import make_timer, take_turns
from metricwise import MultivariateSVC

TASKS = ("a9a", "mnist_8", "reuters_earn", "w8a")
REPETITIONS = 3

MODELS: dict[str, Callable[[], Any]] = {
    "train": lambda: MultivariateSVC(measure="f1", threshold="train"),
    "cv": lambda: MultivariateSVC(measure="f1", threshold="cv"),
    "peer": lambda: TunedThresholdClassifierCV(LogisticRegression(), scoring="f1"),
}

COLUMNS = (
    Column("task", "data"),
    Column("n_samples", "samples"),
    Column("columns", "columns"),
    Column("train", "metricwise, train", "{:.2f}"),
    Column("cv", "metricwise, cv", "{:.2f}"),
    Column("peer", "scikit-learn", "{:.2f}"),
    Column("train_ratio", "ratio, train", "{:.2f}"),
    Column("cv_ratio", "ratio, cv", "{:.2f}"),
    Column("train_f1", "F1, train", "{:.4f}"),
    Column("cv_f1", "F1, cv", "{:.4f}"),
    Column("peer_f1", "F1, scikit-learn", "{:.4f}"),
    Column("iterations", "iterations"),
    Column("gap", "relative gap", "{:.1e}"),
)

TEXT = [
    "``MultivariateSVC(measure='f1')`` with ``threshold='train'`` and with ``threshold='cv'``, and "
    "``TunedThresholdClassifierCV(LogisticRegression(), scoring='f1')``, everything else at its default: seconds to "
    "fit, and F1 on the official test part (w8a has none: 30 % of its samples, drawn at random, are held out). With "
    "``'train'`` one model is fitted and its threshold chosen on the training samples; with ``'cv'``, as with the "
    "peer, the threshold is chosen on out-of-fold scores. Logistic regression stops at its 100 iterations where it has "
    "not converged by then.",
    f"Best of {REPETITIONS} runs.",
]


def measure(context: Context) -> Section:
    """Fit both on every task."""
    section = Section("tuned_threshold", "Compared with a tuned threshold", list(TEXT))
    records: list[Record] = []
    for name in TASKS:
        try:
            chosen = task(name)
        except SkippedError as reason:
            section.skip(name, reason)
            continue
        records.append(_compare(chosen.some(3000) if context.quick else chosen))
    section.tables.append(Table("Seconds to fit, and F1 on new samples", COLUMNS, records))
    if records:
        section.figures.append(_draw(records, context))
    return section


def _fit(make: Callable[[], Any], chosen: Task) -> Callable[[], Any]:
    return lambda: make().fit(chosen.X, chosen.y.astype(np.int64))


def _compare(chosen: Task) -> Record:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for make in MODELS.values():
            _fit(make, chosen.tiny())()
        found = take_turns({name: make_timer(_fit(make, chosen)) for name, make in MODELS.items()}, REPETITIONS)
    result = found["train"].value.result_
    record: Record = {"task": chosen.name, "n_samples": chosen.X.shape[0], "columns": chosen.X.shape[1]}
    for name, timing in found.items():
        record |= {name: timing.seconds, f"{name}_f1": _test_f1(timing.value, chosen)}
        record |= {f"{name}_ratio": found["peer"].seconds / timing.seconds, f"{name}_runs": timing.repetitions}
    return record | {
        "iterations": result.n_iter,
        "gap": result.certificate.relative,
        "status": result.status.value,
    }


def _test_f1(model: Any, chosen: Task) -> float | None:
    if chosen.y_test is None:
        return None
    return float(f1_score(chosen.y_test.astype(np.int64), model.predict(chosen.X_test)))


def _draw(records: list[Record], context: Context) -> Figure:
    names = {"train": "metricwise, train", "cv": "metricwise, cv", "peer": "scikit-learn"}
    series = {name: [record[key] for record in records] for key, name in names.items()}
    plots.bars(context.figures / "tuned_threshold.png", [r["task"] for r in records], series, "seconds to fit")
    return Figure("tuned_threshold.png", "Seconds to fit, on a logarithmic axis.")
