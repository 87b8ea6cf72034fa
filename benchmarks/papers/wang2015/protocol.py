"""Cross-validation: settings chosen on a part of the training samples, models judged on the test fold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.wang2015.methods import METHODS, Setting
from benchmarks.papers.wang2015.problems import SEED, Problem
from benchmarks.timing import clock
from metricwise.inference import best_threshold
from metricwise.measures import get_measure

Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]
Record = dict[str, Any]

HOLDOUT = 1 / 3  # of the training samples, to choose settings on


class Fold(NamedTuple):
    """Indices of training and test samples."""

    number: int
    train: Indices
    test: Indices


class Standardised(NamedTuple):
    """Features of training and other samples, standardised by the training samples."""

    X: Any
    X_test: Any


def folds(data: Problem, n_folds: int) -> Iterator[Fold]:
    """Yield random stratified folds."""
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=SEED)
    for number, (train, test) in enumerate(splitter.split(data.X, data.classes)):
        yield Fold(number, train, test)


def standardise(data: Problem, train: Indices, test: Indices) -> Standardised:
    scaler = StandardScaler().fit(data.X[train])
    return Standardised(scaler.transform(data.X[train]), scaler.transform(data.X[test]))


def search_target(data: Problem, fold: Fold) -> str:
    """Return the class on which the settings of a fold are chosen: another one in every fold."""
    every = list(data.targets)
    return every[fold.number % len(every)]


def choose(data: Problem, fold: Fold, measure: str, name: str) -> Record:
    """Return the setting of a method that is best on held-out training samples, and the seconds of the search."""
    method, truth = METHODS[name], data.positives(search_target(data, fold))
    train, held = train_test_split(
        fold.train, test_size=HOLDOUT, random_state=SEED + fold.number, stratify=data.classes[fold.train]
    )
    split = standardise(data, train, held)
    seconds, values = 0.0, []
    for setting in method.settings:
        model = method.searching(measure, data.X.shape[1], setting)
        seconds += clock(partial(model.fit, split.X, truth[train]))[0]
        values.append(best_value(measure, truth[held], model.decision_function(split.X_test)))
    return {"setting": method.settings[int(np.argmax(values))], "searching": round(seconds, 4)}


def best_value(measure: str, truth: Mask, scores: Any) -> float:
    """Return the measure of scores; F1 at the best of all thresholds."""
    chosen: Any = get_measure(measure)
    if measure == "f1":
        return float(best_threshold(chosen, truth, np.asarray(scores, dtype=np.float64)).value)
    return float(chosen.score(truth, scores))


def judge(measure: str, model: Any, X: Any, truth: Mask) -> float:
    """Return the measure of a model: F1 of its labels, the others of its scores."""
    chosen = get_measure(measure)
    return float(chosen.score(truth, model.predict(X) if measure == "f1" else model.decision_function(X)))


def trial(data: Problem, fold: Fold, target: str, measure: str, name: str, setting: Setting) -> Record:
    """Train a method on the training samples of a fold and judge it on the others."""
    split, truth = standardise(data, fold.train, fold.test), data.positives(target)
    model = METHODS[name].final(measure, data.X.shape[1], setting)
    seconds, _ = clock(partial(model.fit, split.X, truth[fold.train]))
    return {"value": round(judge(measure, model, split.X_test, truth[fold.test]), 6), "seconds": round(seconds, 4)}


def warm_up(data: Problem) -> None:
    """Compile the kernels of all methods, on all samples of a small problem."""
    X, truth = StandardScaler().fit_transform(data.X), data.positives(next(iter(data.targets)))
    for method in METHODS.values():
        for measure in method.measures:
            model = method.final(measure, data.X.shape[1], method.settings[0])
            clock(partial(model.fit, X, truth))
