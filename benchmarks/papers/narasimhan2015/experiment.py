"""All methods on all problems for all measures, with the results as plain data."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.context import SkippedError
from benchmarks.papers.narasimhan2015.methods import (
    MOST_SECONDS,
    STREAMING,
    Curve,
    Regression,
    curves,
    judge,
    regressions,
    scale,
    warm_up,
)
from benchmarks.papers.narasimhan2015.problems import PROBLEMS, Problem, problem
from metricwise.measures import get_measure

Record = dict[str, Any]

NAME = "narasimhan2015"


@dataclass(frozen=True)
class Effort:
    """The extent: samples of every data set (None for all), most seconds of a multivariate SVM, and splits."""

    n_samples: int | None = None
    most_seconds: float = MOST_SECONDS
    n_splits: int = 3


QUICK = Effort(20_000, 5.0, 2)


def run(effort: Effort) -> Record:
    """Train everything on one thread and return the curves."""
    started = time.perf_counter()
    found: Record = {"name": NAME, "problems": [], "skipped": []}
    with threadpool_limits(1):
        for name in PROBLEMS:
            try:
                found["problems"].append(_run_problem(name, effort))
            except SkippedError as reason:
                found["skipped"].append(str(reason))
    return found | {"seconds": time.perf_counter() - started}


def _run_problem(name: str, effort: Effort) -> Record:
    splits = []
    for split in range(effort.n_splits):
        data = problem(name, split, effort.n_samples)
        splits.append(_run_split(data, effort))
    return {
        "name": data.name,
        "title": data.title,
        "n_samples": [len(data.y), len(data.y_test)],
        "features": int(data.X.shape[1]),
        "positives": data.share,
        "splits": splits,
    }


def _run_split(data: Problem, effort: Effort) -> Record:
    scaled = scale(data)
    warm_up(scaled)
    done = regressions(scaled)
    return {
        "curves": {
            measure: {
                method: _plain(curve)
                for method, curve in curves(measure, data, scaled, done, effort.most_seconds).items()
            }
            for measure in STREAMING
        },
        "untuned": {measure: _untuned(measure, data, done[-1]) for measure in STREAMING},
    }


def _plain(curve: Curve) -> Record:
    points = [[round(point.seconds, 4), round(point.value, 6)] for point in curve.points]
    return {"points": points, "ended": curve.ended}


def _untuned(measure: str, data: Problem, regression: Regression) -> float:
    """Return the value of the regression that predicts positive at a probability above one half."""
    return round(judge(get_measure(measure), data.y_test, regression.test_scores > 0.0), 6)
