"""Trials of the suites: peers and MetricClassifier trained on one split and evaluated on its test samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.quality import peers
from benchmarks.quality.problems import Split
from benchmarks.quality.trials import MEASURES, Record, clock, record
from metricwise import MetricClassifier, UnreachableGuaranteeError
from metricwise.estimators.selection.candidates.portfolio import AUTO
from metricwise.measures import get_measure

Method = Callable[[Split, Any, int], Any]

OURS, WITHOUT_BOOSTERS = "MetricClassifier", "MetricClassifier without boosters"
BOOSTERS = ("lightgbm", "catboost", "xgboost")
MACRO_F1 = "f1_macro"
BINARY_SUITES = ("tables", "small", "texts")
FEW = 40  # samples of each class


def measures_of(suite: str) -> tuple[str, ...]:
    """Return the names of the measures of a suite; F1 comes first."""
    return tuple(MEASURES) if suite in BINARY_SUITES else (MACRO_F1,)


def methods(suite: str, side: str) -> dict[str, Method]:
    """Return the methods of a suite by name: those of "peers", or "ours".

    Each is a function of split, measure and seed that returns a trained classifier.
    """
    if side == "ours":
        return {OURS: _train_ours, WITHOUT_BOOSTERS: _train_without_boosters}
    return {
        peer.name: lambda split, measure, seed, peer=peer: peers.train(peer, split, measure, seed)
        for peer in peers.PEERS[suite]
    }


def evaluate(method: Method, name: str, split: Split, measure: str, seed: int) -> Record:
    """Return the measure of a method on the test samples, and the processor seconds of its training.

    A method that refuses to train since it finds no threshold with the precision asked for counts with a recall of 0.
    """
    chosen = get_measure(MEASURES.get(measure, measure))
    if split.y.dtype == np.bool_:  # some learners turn truth values into words
        split = replace(split, y=split.y.astype(np.int64), y_test=split.y_test.astype(np.int64))
    seconds, model = clock(lambda: _train_or_refuse(method, split, chosen, seed))
    if model is None:
        return {"problem": split.name, "method": name, "value": 0.0, "cpu_seconds": seconds, "refused": True}
    return record(split, chosen, name, model, seconds)


def _train_or_refuse(method: Method, split: Split, measure: Any, seed: int) -> Any | None:
    try:
        return method(split, measure, seed)
    except UnreachableGuaranteeError:
        return None


def compile_functions(split: Split, measure: str) -> None:
    """Train MetricClassifier on a few samples of every class, so that no trial counts the seconds of compilation."""
    few = _few_of_each_class(split.y)
    small = replace(split, X=split.X[few], y=split.y[few], X_test=split.X_test[:FEW], y_test=split.y_test[:FEW])
    evaluate(_train_ours, OURS, small, measure, 0)


def _few_of_each_class(y: Any) -> Any:
    if y.ndim == 2:  # of each label
        return np.unique(np.concatenate([np.flatnonzero(column)[:FEW] for column in y.T]))
    order = np.argsort(y, kind="stable")
    _, starts = np.unique(y[order], return_index=True)
    return np.concatenate([part[:FEW] for part in np.split(order, starts[1:])])


def _train_ours(split: Split, measure: Any, seed: int, candidates: Any = "auto") -> Any:
    # No peer guarantees a precision, for which half of the samples would be kept from training.
    model = MetricClassifier(measure, candidates=candidates, confidence=None, n_jobs=1, random_state=seed, verbose=0)
    return model.fit(split.X, split.y)


def _train_without_boosters(split: Split, measure: Any, seed: int) -> Any:
    return _train_ours(split, measure, seed, [name for name in AUTO if name not in BOOSTERS])
