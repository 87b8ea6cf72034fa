"""Savings by decisions per sample, on the data sets with costs of the package empulse, beside its classifiers.

The data sets are read from the installed package, in an environment of its own (``EMPULSE_PYTHON``), which also trains
its classifiers and writes samples and predictions to a folder. Without that environment, stored results are shown.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benchmarks.context import Context
from benchmarks.report import Column, Record, Section, Table
from metricwise import CostSensitiveClassifier, MetricClassifier, PlugInClassifier, Profit
from metricwise.decisions.outcome_posterior import compute_savings
from metricwise.measures.profit import Amounts

SCRIPT = Path(__file__).with_name("empulse_process.py")
SPLITS, QUICK_SPLITS = 5, 1
OURS = "PlugInClassifier, boosted trees"
COST_SENSITIVE = "CostSensitiveClassifier, boosted trees"
PEERS = ("CSLogit", "CSBoost")
CONFIDENCE = 0.9
SECONDS = 25.0  # for MetricClassifier, per split

COLUMNS = (
    Column("problem", "data set"),
    Column("method", "method"),
    Column("savings", "savings", "{:.3f}"),
    Column("interval", "90 % interval"),
    Column("difference", "PlugInClassifier with boosted trees minus this", "{:+.3f}"),
    Column("difference_interval", "90 % interval"),
    Column("cpu_seconds", "CPU seconds per split", "{:.0f}"),
)


class Split:
    """Training and test samples of a data set, with what each outcome earns, and predictions of the peers."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as stored:
            found = {name: stored[name] for name in stored.files}
        self.problem, _, self.number = path.stem.rpartition("-")
        self.X, self.y, self.X_test, self.y_test = (found[name] for name in ("X", "y", "X_test", "y_test"))
        self.amounts = Amounts(*(-found[f"{one}_cost"] for one in Amounts._fields))
        self.test_amounts = Amounts(*(-found[f"{one}_cost_test"] for one in Amounts._fields))
        self.peers = {name: (found[name], float(found[f"{name}_seconds"])) for name in PEERS}

    def savings(self, predicted: NDArray[Any]) -> float:
        """Return the savings of predicted labels on the test samples."""
        truth = self.y_test == 1
        decisions = (predicted == 1, True, False)
        earned, *constant = (float(self.test_amounts.earned(truth, one).sum()) for one in decisions)
        return float(compute_savings(np.array([earned]), np.array([constant]))[0])


def _logistic() -> Any:
    return LogisticRegressionCV(Cs=[0.001, 0.01, 0.1, 1.0], cv=3, scoring="neg_log_loss", max_iter=500)


def _boosted() -> Any:
    return HistGradientBoostingClassifier(learning_rate=0.05, max_leaf_nodes=15, early_stopping=True, random_state=0)


def _decide(make: Callable[[], Any], split: Split) -> NDArray[Any]:
    """Train for profit with amounts per sample, and predict by them."""
    model = make().fit(split.X, split.y, **split.amounts._asdict())
    return np.asarray(model.predict(split.X_test, **split.test_amounts._asdict()))


def _tune_scalar(make: Callable[[], Any], split: Split) -> NDArray[Any]:
    """Train a learner, and choose the one threshold of the greatest total profit on out-of-fold probabilities."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    p = cross_val_predict(make(), split.X, split.y, cv=folds, method="predict_proba")[:, 1]
    truth = split.y == 1
    gains = np.where(truth, split.amounts.gain_if_positive, -split.amounts.gain_if_negative)
    order = np.argsort(-p, kind="stable")
    totals = np.concatenate([[0.0], np.cumsum(gains[order])])
    best = int(np.argmax(totals))
    edges = np.concatenate([[1.0], p[order], [0.0]])
    threshold = 0.5 * (edges[best] + edges[best + 1])
    return np.asarray(make().fit(split.X, split.y).predict_proba(split.X_test)[:, 1] > threshold)


METHODS: dict[str, Callable[[Split], NDArray[Any]]] = {
    "PlugInClassifier, logistic": lambda split: _decide(lambda: PlugInClassifier(_logistic(), Profit()), split),
    OURS: lambda split: _decide(lambda: PlugInClassifier(_boosted(), Profit()), split),
    COST_SENSITIVE: lambda split: _decide(lambda: CostSensitiveClassifier(_boosted(), Profit()), split),
    "MetricClassifier": lambda split: _decide(lambda: MetricClassifier(Profit(), time_budget=SECONDS), split),
    "one tuned threshold, logistic": lambda split: _tune_scalar(_logistic, split),
    "one tuned threshold, boosted trees": lambda split: _tune_scalar(_boosted, split),
}


def measure(context: Context) -> Section:
    """Measure savings by all methods."""
    n_splits = QUICK_SPLITS if context.quick else SPLITS
    interpreter, folder = os.environ.get("EMPULSE_PYTHON"), os.environ.get("EMPULSE_SAMPLES")
    section = Section("profit", "Profit with amounts per sample", [_describe(n_splits)])
    if interpreter is None and folder is None:
        section.skip("all rows", "EMPULSE_PYTHON names no Python with empulse (make bench-empulse)")
        return section
    with tempfile.TemporaryDirectory() as name:
        samples = Path(folder or name)
        if folder is None:
            assert interpreter is not None
            subprocess.run([interpreter, str(SCRIPT), name, str(n_splits)], check=True)
        found = _measure_all(sorted(samples.glob("*.npz")))
    section.tables.append(Table("Savings", COLUMNS, _summarize(found)))
    return section


def _measure_all(paths: list[Path]) -> list[Record]:
    """Measure all methods on all splits; a run that was interrupted continues from the records beside the samples."""
    records: list[Record] = []
    for method in (*PEERS, *METHODS):
        for path in paths:
            stored = path.with_name(f"{path.stem} {method}.json")
            if not stored.exists():
                stored.write_text(json.dumps(_measure_split(Split(path), method)), encoding="utf-8")
            records.append(json.loads(stored.read_text(encoding="utf-8")))
    return records


def _measure_split(split: Split, method: str) -> Record:
    if method in PEERS:
        return _record(split, method, *split.peers[method])
    started = time.process_time()
    predicted = METHODS[method](split)
    return _record(split, method, predicted, time.process_time() - started)


def _record(split: Split, method: str, predicted: NDArray[Any], seconds: float) -> Record:
    return {
        "problem": split.problem,
        "split": split.number,
        "method": method,
        "savings": split.savings(predicted),
        "cpu_seconds": seconds,
    }


def _summarize(found: list[Record]) -> list[Record]:
    """Return means over the splits, with intervals of the means, and paired differences to ours."""
    summary: list[Record] = []
    for problem in dict.fromkeys(str(one["problem"]) for one in found):
        own = [one for one in found if one["problem"] == problem]
        values = {m: np.array([one["savings"] for one in own if one["method"] == m]) for m in _methods(own)}
        for method in sorted(values, key=lambda m: -float(values[m].mean())):
            seconds = [float(one["cpu_seconds"]) for one in own if one["method"] == method]
            record: Record = {"problem": problem, "method": method, "savings": float(values[method].mean())}
            record |= {"interval": _interval(values[method]), "cpu_seconds": float(np.mean(seconds))}
            if method != OURS:
                ahead = values[OURS] - values[method]
                record |= {"difference": float(ahead.mean()), "difference_interval": _interval(ahead, "+")}
            summary.append(record)
    return summary


def _methods(records: list[Record]) -> list[str]:
    return list(dict.fromkeys(str(one["method"]) for one in records))


def _interval(values: NDArray[np.float64], sign: str = "") -> str:
    """Return the interval of a mean over splits, by Student's distribution."""
    if values.size < 2:
        return ""
    reach = float(stdtrit(values.size - 1, (1.0 + CONFIDENCE) / 2.0) * values.std(ddof=1) / np.sqrt(values.size))
    return f"{values.mean() - reach:{sign}.3f} to {values.mean() + reach:{sign}.3f}"


def _describe(n_splits: int) -> str:
    return (
        "The data sets with costs per sample that ship in the package empulse, with at most 4000 training and 10,000 "
        f"test samples, {n_splits} random splits. Savings are 1 minus the cost divided by that of the better constant "
        "decision. CSLogitClassifier is tuned over four strengths of its L2 penalty and CSBoostClassifier (XGBoost, "
        "depth 4) over 25, 50 and 100 rounds and learning rates of 0.03 and 0.1, by savings in three folds. Logistic "
        "regression is tuned over four strengths by log loss, boosted trees stop early. One tuned threshold is the one "
        "of the greatest out-of-fold profit. ``CostSensitiveClassifier`` trains the same boosted trees with and "
        "without samples weighted by what a wrong decision loses, and keeps what out-of-fold samples prefer. "
        "``MetricClassifier(Profit())`` selects among its own "
        f"candidates, with a time budget of {SECONDS:g} seconds per split. Ours get the amounts as arrays, and "
        "decide per sample. Intervals are of "
        "the mean over the splits, which share samples, so that they are somewhat too narrow."
    )
