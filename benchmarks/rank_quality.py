"""Average precision on test samples: linear models trained for it, for other goals, and by LibAUC."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.context import ROOT, Context, SkippedError
from benchmarks.quality.problems import Split
from benchmarks.quality.running import append, read, report
from benchmarks.quality.suites import MOST_SAMPLES, MOST_TEST_SAMPLES, SUITES
from benchmarks.quality.summary import Comparison, gather
from benchmarks.report import Column, Record, Section, Table
from benchmarks.timing import clock
from metricwise import AUCSVC, MultivariateSVC

Indices = NDArray[np.int64]

TRIALS = ROOT / "benchmarks" / "results" / "rank_quality.jsonl"
SCRIPT = Path(__file__).with_name("libauc_process.py")
LIBAUC_VARIABLE = "LIBAUC_PYTHON"
SPLITS, FOLDS = 2, 3
C_VALUES = tuple(10.0**power for power in range(-5, 3))
LONGEST = 5.0  # seconds of a fit
QUICK_PROBLEMS = ("german", "oil_spill")

OURS, LIBAUC = "MultivariateSVC, average precision", "LibAUC, APLoss"
LEARNERS: dict[str, Callable[[float], Any]] = {
    OURS: lambda C: MultivariateSVC("average_precision", C=C, threshold=0.0, n_jobs=1, max_seconds=LONGEST),
    "AUCSVC, ROC area": lambda C: AUCSVC(C=C, threshold=0.0, n_jobs=1, max_seconds=LONGEST),
    "AUCSVC, squared losses": lambda C: AUCSVC(C=C, norm=2, threshold=0.0, n_jobs=1, max_seconds=LONGEST),
    "MultivariateSVC, F1": lambda C: MultivariateSVC("f1", C=C, threshold=0.0, n_jobs=1, max_seconds=LONGEST),
    "logistic regression": lambda C: LogisticRegression(C=C, max_iter=1000),
}

METHODS = (
    Column("method", "method"),
    Column("mean", "mean average precision", "{:.4f}"),
    Column("difference", "average precision SVM minus it", "{:+.4f}"),
    Column("tally", "wins : losses"),
    Column("p_value", "p", "{:.2g}"),
    Column("seconds", "processor seconds", "{:.0f}"),
)
CHOICES = (
    Column("method", "method"),
    *(Column(f"{C:g}", f"C = {C:g}") for C in C_VALUES),
)

TEXT = [
    "The binary views of the data folder and the tables of two classes of its ``problems()``, "
    f"{SPLITS} random splits each, with at most {MOST_SAMPLES} training and {MOST_TEST_SAMPLES} test samples, features "
    f"standardised. Every method is linear. A fit of metricwise ends after {LONGEST:g} seconds at the latest. C is "
    f"chosen from {C_VALUES[0]:g} to {C_VALUES[-1]:g} in powers of ten, by average precision in {FOLDS} folds of the "
    "training samples, the same for all. LibAUC runs in an environment of its own, whose interpreter the environment "
    f"variable {LIBAUC_VARIABLE} names: ``APLoss`` with ``SOAP`` on a "
    "linear model, the learning rate (0.001, 0.01 or 0.1) and then gamma (0.1 or 0.9) by the same folds, and otherwise "
    "as in its own recipe for this loss (60 epochs, batches of 128, half of them positive, margin 0.6, weight decay "
    "0.0002); it is run on the problems in alphabetical order, the first split first, as far as time has allowed. Wins "
    "and losses count problems by the means over their splits; p is that of "
    "Wilcoxon's signed-rank test over problems.",
]


def measure(context: Context) -> Section:
    """Run the trials that are missing, and compare all that are stored."""
    section = Section("rank_quality", "Average precision on test samples", list(TEXT))
    path = context.figures / TRIALS.name if context.quick else TRIALS
    try:
        problems = list(QUICK_PROBLEMS) if context.quick else SUITES["tables"].problems()
    except SkippedError as reason:
        section.skip("all problems", reason)
        return section
    _run_missing(path, problems, section)
    trials = read(path)
    linear = gather([one for one in trials if one["method"] != LIBAUC])
    if linear is not None:
        section.text.append(_describe("Beside methods of metricwise and scikit-learn", linear))
        section.tables.append(Table("Linear models", METHODS, _method_records(linear)))
    beside = gather([one for one in trials if one["method"] in (OURS, LIBAUC)])
    if beside is not None and LIBAUC in beside.values:
        section.text.append(_describe("Beside LibAUC", beside))
        section.tables.append(Table("Linear models, beside LibAUC", METHODS, _method_records(beside)))
    section.tables.append(Table("How often each C was chosen", CHOICES, _choice_records(trials)))
    section.tables += [_problem_table(one) for one in (linear, beside) if one is not None and len(one.values) > 1]
    return section


def _run_missing(path: Path, problems: Sequence[str], section: Section) -> None:
    done = {(one["method"], one["problem"], one["repetition"]) for one in read(path)}
    for repetition in range(SPLITS):
        for name in problems:
            missing = [method for method in LEARNERS if (method, name, repetition) not in done]
            split = _standardise(SUITES["tables"].split(name, repetition)) if missing else None
            for method in missing:
                assert split is not None
                found = _run_trial(method, split, repetition)
                append(path, [found])
                report(f"{name} {repetition}: {method} {found['value']:.4f}, {found['cpu_seconds']:.1f} s")
    interpreter = os.environ.get(LIBAUC_VARIABLE)
    if interpreter is None:
        if not any(method == LIBAUC for method, *_ in done):
            section.skip(LIBAUC, f"the environment variable {LIBAUC_VARIABLE} names no interpreter")
        return
    for repetition in range(SPLITS):
        missing = [name for name in problems if (LIBAUC, name, repetition) not in done]
        if missing:
            _run_libauc(path, interpreter, missing, repetition)


def _standardise(split: Split) -> Split:
    scaler = StandardScaler().fit(split.X)
    return Split(split.name, scaler.transform(split.X), split.y, scaler.transform(split.X_test), split.y_test)


def _make_folds(split: Split, repetition: int) -> list[tuple[Indices, Indices]]:
    return list(StratifiedKFold(FOLDS, shuffle=True, random_state=repetition).split(split.X, split.y))


def _run_trial(method: str, split: Split, repetition: int) -> Record:
    folds = _make_folds(split, repetition)
    seconds, (model, chosen) = clock(lambda: _tune(LEARNERS[method], split, folds))
    value = _value(split.y_test, model.decision_function(split.X_test))
    about = {"problem": split.name, "method": method, "repetition": repetition}
    return about | {"value": value, "C": chosen, "cpu_seconds": seconds}


def _tune(make: Callable[[float], Any], split: Split, folds: Any) -> tuple[Any, float]:
    """Return the model of the best C by cross-validation, and that C; the smallest of equally good ones."""

    def validate(C: float) -> float:
        return float(np.mean(list(_validate(make, C, split, folds))))

    chosen = max(C_VALUES, key=validate)
    return make(chosen).fit(split.X, split.y), chosen


def _validate(make: Callable[[float], Any], C: float, split: Split, folds: Any) -> Iterator[float]:
    for inside, outside in folds:
        model = make(C).fit(split.X[inside], split.y[inside])
        yield _value(split.y[outside], model.decision_function(split.X[outside]))


def _value(y: NDArray[np.bool_], scores: Any) -> float:
    return float(average_precision_score(y, scores))


def _run_libauc(path: Path, interpreter: str, problems: Sequence[str], repetition: int) -> None:
    """Run LibAUC on one split of problems, in one process; what it has done is stored even if it fails later."""
    with tempfile.TemporaryDirectory() as name:
        truth = {}
        for problem in problems:
            split = _standardise(SUITES["tables"].split(problem, repetition))
            fold_of = np.empty(len(split.y), dtype=np.int64)
            for number, (_, outside) in enumerate(_make_folds(split, repetition)):
                fold_of[outside] = number
            samples = {"X": split.X, "y": split.y.astype(np.int64), "fold_of": fold_of, "X_test": split.X_test}
            np.savez(Path(name) / f"{problem}.npz", **samples)
            truth[problem] = split.y_test
        command = [interpreter, str(SCRIPT), name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                problem = line.strip()
                if problem in truth:
                    append(path, [_read_libauc(Path(name), problem, truth[problem], repetition)])
                    report(f"{problem} {repetition}: {LIBAUC}")
        if process.returncode != 0:
            raise RuntimeError(f"LibAUC failed with the code {process.returncode}; its error is above")


def _read_libauc(folder: Path, problem: str, y_test: NDArray[np.bool_], repetition: int) -> Record:
    with np.load(folder / f"{problem}.scores") as stored:
        settings = {key: float(stored[key]) for key in ("rate", "gamma", "cpu_seconds")}
        value = _value(y_test, stored["scores"])
    return {"problem": problem, "method": LIBAUC, "repetition": repetition, "value": value} | settings


def _describe(title: str, comparison: Comparison) -> str:
    return f"{title}: {comparison.counts}."


def _method_records(comparison: Comparison) -> list[Record]:
    records: list[Record] = []
    for method in sorted(comparison.values, key=comparison.mean, reverse=True):
        record: Record = {"method": method, "mean": comparison.mean(method)}
        record["seconds"] = comparison.total_seconds(method)
        if method != OURS:
            pair = comparison.pair(OURS, method)
            record |= {"difference": pair.difference, "tally": pair.tally, "p_value": pair.p_value}
        records.append(record)
    return records


def _choice_records(trials: Sequence[Record]) -> list[Record]:
    records: list[Record] = []
    for method in LEARNERS:
        chosen = [one["C"] for one in trials if one["method"] == method]
        records.append({"method": method} | {f"{C:g}": sum(np.isclose(C, chosen)) for C in C_VALUES})
    return records


def _problem_table(comparison: Comparison) -> Table:
    methods = sorted(comparison.values, key=comparison.mean, reverse=True)
    columns = [Column("problem", "problem"), *(Column(method, method, "{:.4f}") for method in methods)]
    records = [
        {"problem": name} | {method: float(comparison.values[method][number]) for method in methods}
        for number, name in enumerate(comparison.problems)
    ]
    return Table(f"By problem, {comparison.n_splits} splits", columns, records)
