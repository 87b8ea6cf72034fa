"""What does parity of recall between two groups cost in F1, beside fairlearn?

Peers run in an environment of their own, whose interpreter the variable FAIRLEARN_PYTHON names.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from benchmarks.context import Context, SkippedError
from benchmarks.groups import CONFIDENCE, Samples, make_learner, measure_recalls, read_adult
from benchmarks.report import Column, Record, Section, Table
from metricwise import PlugInClassifier, UnreachableGuaranteeError

SCRIPT, VARIABLE = Path(__file__).with_name("fairlearn_process.py"), "FAIRLEARN_PYTHON"
BOUND, SPLITS, N_TRAINING = 0.05, 5, 8000

PARITY = (
    Column("method", "method"),
    Column("refused", "refused"),
    Column("f1", "F1 on test samples", "{:.4f}"),
    Column("difference", "mean difference of recall", "{:.4f}"),
    Column("largest", "largest difference", "{:.4f}"),
    Column("seconds", "seconds per split", "{:.1f}"),
)
TEXT = [
    f"F1 on a9a where the recalls of both sexes differ by at most {BOUND:g}. {SPLITS} splits, {N_TRAINING:,} "
    "samples for training and all others for testing; all methods have the same logistic regression. fairlearn's "
    f"``ThresholdOptimizer`` (``true_positive_rate_parity``, ``tol={BOUND:g}``) does not maximise F1: of its "
    "objectives, accuracy and balanced accuracy, the one with the larger F1 on a quarter of the training samples is "
    f"taken. ``ExponentiatedGradient`` (``TruePositiveRateParity``, ``difference_bound={BOUND:g}``) has the costs of "
    "mistakes, of four, with the largest F1 on the same quarter. Both then learn from all training samples, and both "
    "predict at random in part. metricwise chooses its thresholds on out-of-fold scores; with a "
    "confidence it may refuse, and figures are then those of the other splits.",
]


def measure(context: Context) -> Section:
    """Compare classifiers under parity of recall."""
    section = Section("parity", "Parity of recall", list(TEXT))
    try:
        section.tables.append(Table("F1 under parity of recall", PARITY, _compare(1 if context.quick else SPLITS)))
    except SkippedError as error:
        section.text.append(f"Not measured: {error}.")
    return section


PARITY_CONSTRAINT = f"recall_difference<={BOUND} by group"
OURS: dict[str, dict[str, Any]] = {
    "metricwise, F1 without a constraint": {},
    "metricwise, one threshold per group": {"group_thresholds": True, "confidence": None},
    "metricwise, shared threshold": {"confidence": None},
    f"metricwise, one threshold per group, confidence {CONFIDENCE:g}": {"group_thresholds": True},
}


def _compare(splits: int) -> list[Record]:
    """Return the mean F1 and differences of recall of every method."""
    interpreter = os.environ.get(VARIABLE)
    if interpreter is None:
        raise SkippedError(f"{VARIABLE} does not name the interpreter of an environment with fairlearn")
    adult = read_adult()
    found: dict[str, list[tuple[float, float, float]]] = {}
    for seed in range(splits):
        order = np.random.default_rng(10**6 + seed).permutation(len(adult.y))
        own, others = adult.take(order[:N_TRAINING]), adult.take(order[N_TRAINING:])
        for name, parameters in OURS.items():
            started = time.perf_counter()
            try:
                judged = _judge(others, _predict_ours(own, others, parameters))
            except UnreachableGuaranteeError:
                judged = (float("nan"), float("nan"))
            found.setdefault(name, []).append((*judged, time.perf_counter() - started))
        for name, (predicted, seconds) in _run_peer(interpreter, own, others, seed).items():
            found.setdefault(name, []).append((*_judge(others, predicted), seconds))
    records: list[Record] = []
    for name, values in found.items():
        f1, difference, seconds = np.array(values).T
        records.append(
            {
                "method": name,
                "refused": f"{np.isnan(f1).sum()} of {f1.size}",
                "f1": _mean(f1),
                "difference": _mean(difference),
                "largest": float("nan") if np.isnan(difference).all() else float(np.nanmax(difference)),
                "seconds": float(seconds.mean()),
            }
        )
    return records


def _mean(values: NDArray[np.float64]) -> float:
    """Return the mean over the splits that were not refused; NaN if all were."""
    return float("nan") if np.isnan(values).all() else float(np.nanmean(values))


def _predict_ours(own: Samples, others: Samples, parameters: dict[str, Any]) -> NDArray[np.bool_]:
    if not parameters:
        free: NDArray[np.bool_] = PlugInClassifier(make_learner()).fit(own.X, own.y).predict(others.X)
        return free
    model = PlugInClassifier(make_learner(), subject_to=PARITY_CONSTRAINT, **parameters)
    model.fit(own.X, own.y, sensitive_features=own.group)
    predicted: NDArray[np.bool_] = model.predict(others.X, sensitive_features=others.group)
    return predicted


def _judge(samples: Samples, predicted: NDArray[np.bool_]) -> tuple[float, float]:
    recalls = measure_recalls(samples, predicted)
    return float(f1_score(samples.y, predicted)), float(recalls.max() - recalls.min())


def _run_peer(interpreter: str, own: Samples, others: Samples, seed: int) -> dict[str, tuple[NDArray[np.bool_], float]]:
    """Return the predictions of fairlearn's classifiers, with the seconds of each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = {"X": own.X, "y": own.y, "group": own.group, "X_test": others.X}
        np.savez(folder / "samples.npz", **parts, group_test=others.group)
        subprocess.run([interpreter, str(SCRIPT), name, str(BOUND), str(seed)], check=True)
        with np.load(folder / "predictions.npz") as stored:
            seconds = json.loads((folder / "seconds.json").read_text())
            return {f"fairlearn, {key}": (stored[key].astype(bool), seconds[key]) for key in stored.files}
