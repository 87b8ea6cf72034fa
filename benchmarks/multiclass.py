"""How do decisions for measures of the confusion matrix compare: gains, offsets, balanced weights and xCOLUMNs?

All methods share the scores of one learner, out of fold and on test samples.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split

from benchmarks import data
from benchmarks.context import ROOT, Context, SkippedError
from benchmarks.quality.running import append, read, report
from benchmarks.report import Column, Record, Section, Table
from metricwise import get_measure
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.tasks import Multiclass

PROBLEMS = ("krkopt", "nursery", "connect_4", "letter", "covtype", "generated")
QUICK_PROBLEMS = ("generated",)
MEASURES = ("f1_macro", "g_mean", "h_mean")
N_TRAIN, N_TEST, SPLITS, FOLDS, LEAST = 2000, 10_000, 3, 3, 6  # LEAST: training samples of every class
LEARNER = {"n_estimators": 40, "num_leaves": 15, "min_child_samples": 5, "n_jobs": 1, "verbose": -1, "random_state": 0}
PYTHON = "XCOLUMNS_PYTHON"
TRIALS = ROOT / "benchmarks" / "results" / "multiclass.jsonl"
SCRIPT = Path(__file__).with_name("xcolumns_process.py")
_LEAST_CHANCE = 1e-15

_METHODS = {
    "plain": "LightGBM",
    "balanced": "LightGBM, class_weight='balanced'",
    "offsets": "offsets, threshold='auto'",
    "gains": "gains, threshold='gains'",
    "mixture": "gains, randomised=True",
    "xcolumns": "xCOLUMNs, Frank-Wolfe",
}
_DECISIONS = (("offsets", "auto", False), ("gains", "gains", False), ("mixture", "gains", True))
MEANS = (
    Column("measure", "measure"),
    Column("method", "method"),
    Column("mean", "mean over problems", "{:.4f}"),
    *(Column(name, name, "{:.3f}") for name in PROBLEMS),
)
TIMES = (
    Column("method", "method"),
    Column("seconds", "seconds to choose the decision, mean", "{:.2f}"),
    Column("slowest", "seconds, slowest", "{:.1f}"),
)
TEXT = [
    f"{N_TRAIN} training samples and up to {N_TEST} test samples of six problems of several classes, {SPLITS} random "
    f"splits of each; classes with fewer than {LEAST} training samples are left out. The learner is LightGBM "
    f"({LEARNER['n_estimators']} trees of {LEARNER['num_leaves']} leaves per class). Decisions are chosen on its "
    f"out-of-fold probabilities ({FOLDS} folds) and judged on test samples, where they turn the probabilities of the "
    "learner of all training samples into labels. No setting of the decisions was chosen on these problems.",
    "Offsets are those of ``PlugInClassifier(threshold='auto')``, found by coordinate ascent; gains are those of "
    "``threshold='gains'``, by Frank-Wolfe, with the best single rule or the randomised mixture. xCOLUMNs, in an "
    f"environment of its own (environment variable {PYTHON}), maximises macro F1 by Frank-Wolfe on the same "
    "out-of-fold probabilities and labels, one label per sample; its G- and H-means are averages over one-vs-rest "
    "problems, other measures than these.",
]


def measure(context: Context) -> Section:
    """Measure macro F1, G-mean and H-mean of decisions on the same scores."""
    section = Section("multiclass", "Measures of the confusion matrix", list(TEXT))
    python = os.environ.get(PYTHON)
    if python is None:
        section.skip("xCOLUMNs", f"the environment variable {PYTHON} names no interpreter")
    path = context.figures / TRIALS.name if context.quick else TRIALS
    done = {(one["problem"], one["split"]) for one in read(path)}
    names = QUICK_PROBLEMS if context.quick else PROBLEMS
    for split in range(1 if context.quick else SPLITS):
        for name in names:
            if (name, split) in done:
                continue
            try:
                X, y = _load(name)
            except SkippedError as reason:
                section.skip(name, reason)
                continue
            append(path, _measure(name, X, y, split, python))
            report(f"{name}, split {split}")
    records = [one for one in read(path) if one["problem"] in names]
    section.tables.append(Table("Macro F1, G-mean and H-mean on test samples", MEANS, _summarize(records)))
    section.tables.append(Table("Time to choose a decision", TIMES, _time(records)))
    return section


def _load(name: str) -> tuple[Any, Any]:
    if name == "generated":  # ten classes with the shares of the yeast data
        shares = [0.31, 0.29, 0.16, 0.11, 0.034, 0.03, 0.024, 0.02, 0.013]
        made = {"n_features": 8, "n_informative": 6, "n_redundant": 0, "n_classes": 10, "n_clusters_per_class": 1}
        return make_classification(20_000, weights=shares, class_sep=0.8, random_state=0, **made)
    if name in ("letter", "covtype"):
        found = data.load(name)
        return np.asarray(found["X"]), np.asarray(found["y"])
    return data.problem(name)


def _split(X: Any, y: Any, seed: int) -> tuple[Any, ...]:
    train, test = train_test_split(np.arange(len(y)), train_size=N_TRAIN, random_state=seed)
    classes, counts = np.unique(y[train], return_counts=True)
    known = classes[counts >= LEAST]
    train, test = (part[np.isin(y[part], known)] for part in (train, test[:N_TEST]))
    codes = np.searchsorted(known, y)
    return X[train], codes[train], X[test], codes[test], known.size


def _measure(name: str, X: Any, y: Any, split: int, python: str | None) -> list[Record]:
    X, y, X_test, y_test, n_classes = _split(X, y, split)
    learner, folds = LGBMClassifier(**LEARNER), StratifiedKFold(FOLDS, shuffle=True, random_state=split)
    found = cross_val_predict(learner, X, y, cv=folds, method="predict_proba")
    chances = learner.fit(X, y).predict_proba(X_test)
    balanced = LGBMClassifier(class_weight="balanced", **LEARNER).fit(X, y).predict(X_test)
    scores, test_scores = (np.log(np.maximum(part, _LEAST_CHANCE)) for part in (found, chances))
    samples, classes = ScoredSamples(y, scores, np.ones(len(y))), np.arange(n_classes)
    records = []
    for measured in MEASURES:
        own = get_measure(measured)
        task = Multiclass(classes, own)
        labels = {"plain": (np.argmax(chances, axis=1), 0.0), "balanced": (balanced, 0.0)}
        for key, strategy, randomised in _DECISIONS:
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of single rules that lose to mixtures
                decision = task.decide(samples, ThresholdRule(strategy, randomised=randomised), True)
            labels[key] = np.argmax(decision.margins(test_scores), axis=1), time.perf_counter() - start
        if measured == "f1_macro" and python is not None:
            labels["xcolumns"] = _run_xcolumns(python, y, found, chances)
        records += [
            {
                "problem": name,
                "split": split,
                "measure": measured,
                "key": key,
                "value": float(own.of_confusion(_count(y_test, predicted, n_classes))),
                "seconds": seconds,
                "n_classes": n_classes,
            }
            for key, (predicted, seconds) in labels.items()
        ]
    return records


def _count(truth: Any, predicted: Any, size: int) -> Any:
    return np.bincount(truth * size + predicted, minlength=size * size).astype(np.float64).reshape(size, size)


def _run_xcolumns(python: str, y: Any, found: Any, chances: Any) -> tuple[Any, float]:
    with tempfile.TemporaryDirectory() as folder:
        given, result = Path(folder) / "given.npz", Path(folder) / "found.npz"
        np.savez(given, y=np.eye(found.shape[1])[y], found=found, chances=chances)
        subprocess.run([python, str(SCRIPT), str(given), str(result)], check=True, capture_output=True)
        answer = np.load(result)
        return answer["labels"], float(answer["seconds"])


def _summarize(records: list[Record]) -> list[Record]:
    rows = []
    for measured in MEASURES:
        for key, method in _METHODS.items():
            own = [one for one in records if one["measure"] == measured and one["key"] == key]
            if not own:
                continue
            means = {
                name: float(np.mean([one["value"] for one in own if one["problem"] == name]))
                for name in dict.fromkeys(one["problem"] for one in own)
            }
            rows.append({"measure": measured, "method": method, "mean": float(np.mean(list(means.values()))), **means})
    return rows


def _time(records: list[Record]) -> list[Record]:
    rows = []
    for key, method in _METHODS.items():
        seconds = [one["seconds"] for one in records if one["key"] == key and one["seconds"] > 0.0]
        if seconds:
            rows.append({"method": method, "seconds": float(np.mean(seconds)), "slowest": max(seconds)})
    return rows
