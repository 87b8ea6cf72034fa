"""Train for F1 on a real imbalanced data set, compare, certify, and write demo/report.html.

``make demo`` runs it; so does ``python examples/demo.py`` where metricwise is installed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from demo_page import Comparison, CrossTable, Facts, Proof, Row, render
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler

from metricwise import Certificate, MultivariateSVC, certify, get_measure

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SEED = 0
DIGIT = 8
TITLES = {"f1": "F1", "prbep": "PRBEP", "g_mean": "G-mean", "roc_auc": "ROC area"}
MEASURES = tuple(TITLES)
RESAMPLES = 4000
AGREEMENT = 1e-6
REPORT = Path(__file__).resolve().parents[1] / "demo" / "report.html"


@dataclass(frozen=True)
class Data:
    """The digit 8 against the rest, half of the rows kept for the test."""

    X_train: Floats
    X_test: Floats
    y_train: Mask
    y_test: Mask


@dataclass(frozen=True)
class Trained:
    """A model with its scores and labels of the test rows."""

    name: str
    trained_for: str
    cut: str
    pipeline: Pipeline
    seconds: float
    scores: Floats
    labels: Mask


def load() -> Data:
    X, digit = load_digits(return_X_y=True)
    y = digit == DIGIT
    return Data(*train_test_split(X, y, test_size=0.5, stratify=y, random_state=SEED))


def train(name: str, trained_for: str, cut: str, model: Any, data: Data) -> Trained:
    """Fit a model on pixels scaled to [0, 1]; its settings are otherwise the defaults."""
    started = time.perf_counter()
    pipeline = make_pipeline(MinMaxScaler(), model).fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - started
    scores, labels = pipeline.decision_function(data.X_test), pipeline.predict(data.X_test)
    return Trained(name, trained_for, cut, pipeline, seconds, scores, labels)


def compile_kernels(data: Data) -> float:
    """Fit every measure to a few rows, so that no later time includes compilation."""
    started = time.perf_counter()
    few = np.concatenate([np.flatnonzero(data.y_train)[:20], np.flatnonzero(~data.y_train)[:60]])
    for measure in MEASURES:
        MultivariateSVC(measure).fit(data.X_train[few] / 16.0, data.y_train[few])
    return time.perf_counter() - started


def train_rivals(data: Data) -> list[Trained]:
    """What most people would try: logistic regression as it comes, and with its cut tuned for F1."""
    tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring="f1")
    return [
        train("LogisticRegression", "likelihood", "probability 1/2", LogisticRegression(), data),
        train("TunedThresholdClassifierCV", "likelihood", "tuned for F1, out of fold", tuned, data),
    ]


def train_metricwise(measure: str, data: Data) -> Trained:
    title = TITLES[measure]
    special = {"prbep": "same share of positives as in training", "roc_auc": "tuned for balanced accuracy, out of fold"}
    cut = special.get(measure, f"tuned for {title}, out of fold")
    return train(f'MultivariateSVC("{measure}")', title, cut, MultivariateSVC(measure), data)


def bootstrap_f1(truth: Mask, labels: Sequence[Mask], resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Return the F1 of each model (rows) on the same resamples of the test rows (columns)."""
    n_rows = truth.size
    times_drawn = np.random.default_rng(seed).multinomial(n_rows, np.full(n_rows, 1.0 / n_rows), size=resamples)
    hits = times_drawn @ np.array([truth & predicted for predicted in labels]).T
    called_and_true = times_drawn @ np.array([truth.astype(int) + predicted for predicted in labels]).T
    f1: Floats = (2.0 * hits / np.maximum(called_and_true, 1)).T
    return f1


def interval(values: Floats) -> tuple[float, float]:
    """Return the middle 90 % of resampled values."""
    low, high = np.percentile(values, [5.0, 95.0])
    return float(low), float(high)


def compare(models: Sequence[Trained], truth: Mask) -> Comparison:
    """Judge every model by its test F1, and the first against each of the others."""
    resampled = bootstrap_f1(truth, [model.labels for model in models])
    rows = [
        Row(
            name=model.name,
            trained_for=model.trained_for,
            cut=model.cut,
            f1=f1_score(truth, model.labels),
            interval=interval(f1),
            ahead=interval(resampled[0] - f1),
            precision=precision_score(truth, model.labels, zero_division=0.0),
            recall=recall_score(truth, model.labels),
            seconds=model.seconds,
            scores=model.scores,
            labels=model.labels,
        )
        for model, f1 in zip(models, resampled, strict=True)
    ]
    return Comparison(rows, RESAMPLES)


def judge(models: Sequence[Trained], truth: Mask) -> CrossTable:
    """Judge every model by every measure."""
    values = np.empty((len(models), len(MEASURES)))
    for j, name in enumerate(MEASURES):
        measure = get_measure(name)
        for i, model in enumerate(models):
            values[i, j] = measure.score(truth, model.scores if measure.response == "scores" else model.labels)
    names = [model.name for model in models]
    return CrossTable(names, [TITLES[name] for name in MEASURES], values, [model.seconds for model in models])


def prove(model: Trained, data: Data) -> Proof:
    """Set the solver's certificate beside the one recomputed from the data."""
    scaler, svc = model.pipeline[:-1], model.pipeline[-1]
    result = svc.result_
    again = certify(svc, scaler.transform(data.X_train), data.y_train)
    assert isinstance(again, Certificate)  # a list only for more than two classes
    differences = np.array([again.upper - result.certificate.upper, again.lower - result.certificate.lower])
    return Proof(
        result=result,
        again=again,
        tol=svc.tol,
        difference=float(np.abs(differences).max() / result.certificate.upper),
        agrees=bool(np.all(np.abs(differences) <= AGREEMENT * result.certificate.upper)),
    )


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print names flush left and numbers flush right."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    for name, *numbers in (headers, ["-" * width for width in widths], *rows):
        cells = [name.ljust(widths[0]), *(n.rjust(width) for n, width in zip(numbers, widths[1:], strict=True))]
        print("  " + "  ".join(cells))
    print()


def print_comparison(comparison: Comparison) -> None:
    print_table(["model", "test F1", "90 % interval", "precision", "recall", "seconds"], comparison.cells())
    print("\n".join(f"  {verdict}" for verdict in comparison.verdicts()) + "\n")


def print_cross_table(table: CrossTable) -> None:
    """Print every model under every measure, the best of each column with a star."""
    lines = zip(table.models, table.values, table.best, table.seconds, strict=True)
    rows = [
        [name, *(f"{v:.3f}{'*' if star else ' '}" for v, star in zip(values, best, strict=True)), f"{seconds:.2f}"]
        for name, values, best, seconds in lines
    ]
    print_table(["model", *(f"{title} " for title in table.measures), "seconds"], rows)


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def main() -> int:
    data = load()
    share = data.y_train.mean()
    print(f"Digit {DIGIT} against the rest: {data.y_train.size} training rows, {share:.1%} of them positive, ", end="")
    print(f"{data.y_test.size} test rows.")
    print("Compiling, on the first run only ... ", end="", flush=True)
    print(f"{compile_kernels(data):.1f} s\n")

    by_measure = [train_metricwise(measure, data) for measure in MEASURES]
    rivals = train_rivals(data)
    comparison = compare([by_measure[0], *rivals], data.y_test)
    print_comparison(comparison)
    print("The same data, trained for other measures (* best of the column):\n")
    cross_table = judge([*by_measure, rivals[0]], data.y_test)
    print_cross_table(cross_table)

    proof = prove(by_measure[0], data)
    print(f"Certificate: {proof.summary()}\n")
    facts = Facts(DIGIT, data.y_train.size, data.y_test.size, int(data.y_train.sum()), int(data.y_test.sum()), SEED)
    roster = [(model.name, model.trained_for, model.cut) for model in (*by_measure, *rivals)]
    threshold = by_measure[0].pipeline[-1].threshold_
    write(REPORT, render(facts, roster, data.y_test, threshold, comparison, cross_table, proof))
    print(f"Report: {os.path.relpath(REPORT)}")
    return 0 if proof.agrees else 1


if __name__ == "__main__":
    sys.exit(main())
