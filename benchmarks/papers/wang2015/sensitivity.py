"""How F1 of joint sparse coding depends on C1, C2 and C3: one varies, the others are fixed."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.papers.wang2015.methods import FOLDS, sparse_coding
from benchmarks.papers.wang2015.problems import Problem
from benchmarks.papers.wang2015.protocol import Fold, judge, standardise
from benchmarks.timing import clock

Record = dict[str, Any]

PARAMETERS = ("C1", "C2", "C3")
MIDDLE = 1.0


def settings(values: tuple[float, ...]) -> list[dict[str, float]]:
    """Return all settings with at most one parameter away from the middle.

    Examples
    --------
    >>> len(settings((0.1, 1.0, 10.0)))
    7
    """
    middle = dict.fromkeys(PARAMETERS, MIDDLE)
    others = [middle | {name: value} for name in PARAMETERS for value in values if value != MIDDLE]
    return [middle, *others]


def trial(data: Problem, fold: Fold, target: str, setting: dict[str, float]) -> Record:
    """Train for F1 with a setting and the threshold chosen on the training samples, and judge on the others."""
    split, truth = standardise(data, fold.train, fold.test), data.positives(target)
    model = sparse_coding("f1", data.X.shape[1], setting, {"threshold": "train", "cv": FOLDS, "n_jobs": 1})
    seconds, _ = clock(partial(model.fit, split.X, truth[fold.train]))
    used = float((model.transform(split.X_test) != 0.0).mean())
    value = judge("f1", model, split.X_test, truth[fold.test])
    return {"value": round(value, 6), "used": round(used, 6), "seconds": round(seconds, 4)}
