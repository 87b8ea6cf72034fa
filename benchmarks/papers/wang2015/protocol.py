"""Cross-validation: settings chosen on a part of the training rows, models judged on the fold left out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.wang2015.methods import METHODS, Setting
from benchmarks.papers.wang2015.problems import SEED, Problem
from metricwise.inference import best_threshold
from metricwise.measures import get_measure

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]
Record = dict[str, Any]
Result = TypeVar("Result")

HOLDOUT = 1 / 3  # of the training rows, to choose settings on


class Fold(NamedTuple):
    """Numbers of training and test rows."""

    number: int
    train: Rows
    test: Rows


class Standardised(NamedTuple):
    """Features of training and other rows, by means and deviations of the training rows."""

    X: Any
    X_test: Any


def folds(data: Problem, n_folds: int) -> Iterator[Fold]:
    """Return random folds that have about equally many rows of each class."""
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=SEED)
    for number, (train, test) in enumerate(splitter.split(data.X, data.classes)):
        yield Fold(number, train, test)


def standardised(data: Problem, train: Rows, test: Rows) -> Standardised:
    scaler = StandardScaler().fit(data.X[train])
    return Standardised(scaler.transform(data.X[train]), scaler.transform(data.X[test]))


def clocked(call: Callable[[], Result]) -> tuple[float, Result]:
    """Return the processor seconds of a call and what it returned."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few positives and of iterations
        value = call()
    return time.process_time() - started, value


def searched(data: Problem, fold: Fold) -> str:
    """Return the class on which the settings of a fold are chosen: another one in every fold."""
    every = list(data.targets)
    return every[fold.number % len(every)]


def choose(data: Problem, fold: Fold, measure: str, name: str) -> Record:
    """Return the setting of a method that is best on held-out training rows, and the seconds it took to find it."""
    method, truth = METHODS[name], data.positives(searched(data, fold))
    train, held = train_test_split(
        fold.train, test_size=HOLDOUT, random_state=SEED + fold.number, stratify=data.classes[fold.train]
    )
    rows = standardised(data, train, held)
    seconds, values = 0.0, []
    for setting in method.settings:
        model = method.searching(measure, data.X.shape[1], setting)
        seconds += clocked(partial(model.fit, rows.X, truth[train]))[0]
        values.append(promised(measure, truth[held], model.decision_function(rows.X_test)))
    return {"setting": method.settings[int(np.argmax(values))], "searching": round(seconds, 4)}


def promised(measure: str, truth: Mask, scores: Any) -> float:
    """Return the measure of scores, F1 at the best of all thresholds."""
    chosen: Any = get_measure(measure)
    if measure == "f1":
        return float(best_threshold(chosen, truth, np.asarray(scores, dtype=np.float64)).value)
    return float(chosen.score(truth, scores))


def judge(measure: str, model: Any, X: Any, truth: Mask) -> float:
    """Return the measure of a model: F1 of its labels, the others of its scores."""
    chosen = get_measure(measure)
    return float(chosen.score(truth, model.predict(X) if measure == "f1" else model.decision_function(X)))


def trial(data: Problem, fold: Fold, target: str, measure: str, name: str, setting: Setting) -> Record:
    """Train a method on the training rows of a fold and judge it on the others."""
    rows, truth = standardised(data, fold.train, fold.test), data.positives(target)
    model = METHODS[name].final(measure, data.X.shape[1], setting)
    seconds, _ = clocked(partial(model.fit, rows.X, truth[fold.train]))
    return {"value": round(judge(measure, model, rows.X_test, truth[fold.test]), 6), "seconds": round(seconds, 4)}


def warm_up(data: Problem) -> None:
    """Compile the kernels of all methods, on all rows of a small problem."""
    rows, truth = StandardScaler().fit_transform(data.X), data.positives(next(iter(data.targets)))
    for method in METHODS.values():
        for measure in method.measures:
            model = method.final(measure, data.X.shape[1], method.settings[0])
            clocked(partial(model.fit, rows, truth))
