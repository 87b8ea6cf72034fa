"""Trials of the suites: peers and MetricClassifier trained on one split and evaluated on its test samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.quality import peers
from benchmarks.quality.problems import Split
from benchmarks.quality.trials import MEASURES, Record, clock, record
from metricwise import MetricClassifier
from metricwise.estimators.selection.candidates.portfolio import AUTO
from metricwise.measures import get_measure

Method = Callable[[Split, Any, int], Any]

OURS, WITHOUT_BOOSTERS = "MetricClassifier", "MetricClassifier without boosters"
BOOSTERS = ("lightgbm", "catboost", "xgboost")
MACRO_F1 = "f1_macro"
FEW = 40  # samples of each class


def measures_of(suite: str) -> tuple[str, ...]:
    """Return the names of the measures of a suite; F1 comes first."""
    return (MACRO_F1,) if suite == "multiclass" else tuple(MEASURES)


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
    """Return the measure of a method on the test samples, and the processor seconds of its training."""
    chosen = get_measure(MEASURES.get(measure, measure))
    if split.y.dtype == np.bool_:  # some learners turn truth values into words
        split = replace(split, y=split.y.astype(np.int64), y_test=split.y_test.astype(np.int64))
    seconds, model = clock(lambda: method(split, chosen, seed))
    return record(split, chosen, name, model, seconds)


def compile_functions(split: Split, measure: str) -> None:
    """Train MetricClassifier on a few samples of every class, so that no trial counts the seconds of compilation."""
    order = np.argsort(split.y, kind="stable")
    _, starts = np.unique(split.y[order], return_index=True)
    few = np.concatenate([part[:FEW] for part in np.split(order, starts[1:])])
    small = replace(split, X=split.X[few], y=split.y[few], X_test=split.X_test[:FEW], y_test=split.y_test[:FEW])
    evaluate(_train_ours, OURS, small, measure, 0)


def _train_ours(split: Split, measure: Any, seed: int) -> Any:
    return MetricClassifier(measure, n_jobs=1, random_state=seed, verbose=0).fit(split.X, split.y)


def _train_without_boosters(split: Split, measure: Any, seed: int) -> Any:
    names = [name for name in AUTO if name not in BOOSTERS]
    return MetricClassifier(measure, candidates=names, n_jobs=1, random_state=seed, verbose=0).fit(split.X, split.y)
