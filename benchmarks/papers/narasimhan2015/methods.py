"""The four methods, each as a curve: the measure on the test samples after some seconds of training.

Seconds are processor time of one thread, from raw features to a model with its threshold; judging is not counted.
A curve consists of runs from the start that end sooner or later, so that each point is the model of a user who stops
there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.narasimhan2015.problems import Problem
from benchmarks.timing import clock
from metricwise import MiniBatchSVC, MultivariateSVC, SPADEClassifier, STAMPClassifier
from metricwise.inference import best_threshold
from metricwise.measures import Measure, get_measure

Mask = NDArray[np.bool_]

# The measures of Figures 1 to 4, and the method of the paper for each.
STREAMING = {
    "q_mean": SPADEClassifier,
    "min_rate": SPADEClassifier,
    "f1": STAMPClassifier,
    "jaccard": STAMPClassifier,
}
OURS, BATCHES, MULTIVARIATE, PLUG_IN = "streaming", "batches", "multivariate", "plug_in"
ITERATIONS = (5, 20, 80, 300)  # most of logistic regression; on some problems it converges before the last
MOST_TIMES = 50  # the time of the streaming method is given to the multivariate SVM,
MOST_SECONDS = 30.0  # but no more than this
PARTS = (1 / 16, 1 / 4)  # of its time, for points further ahead on the curve
MOST_EVALUATIONS = 12  # up to which every evaluation of a stream is a point of the curve


class Point(NamedTuple):
    """The measure on the test samples after some seconds."""

    seconds: float
    value: float


class Curve(NamedTuple):
    """Points in the order of time, and whether training ended by itself at the last one."""

    points: list[Point]
    ended: bool


def judge(measure: Measure, truth: Mask, predicted: Any) -> float:
    """Return the measure of predicted labels."""
    return float(measure.score(truth, np.asarray(predicted).astype(np.int64)))


def stream_curve(estimator: Any, measure: str, data: Problem) -> Curve:
    """Train until the model settles, and again up to its earlier evaluations."""
    seconds, model = clock(lambda: estimator(measure, n_jobs=1).fit(data.X, data.y))
    points = [_evaluate(measure, data, seconds, model)]
    count = len(model.result_.history)
    for last in range(1, min(count, MOST_EVALUATIONS)):
        stopped = estimator(measure, n_jobs=1, callback=_stop_after(last))
        points.append(_evaluate(measure, data, *clock(partial(stopped.fit, data.X, data.y))))
    return Curve(sorted(points), True)


def _stop_after(count: int) -> Callable[[Any], bool]:
    left = iter(range(count, 0, -1))
    return lambda entry: next(left) == 1


def _evaluate(measure: str, data: Problem, seconds: float, model: Any) -> Point:
    return Point(seconds, judge(get_measure(measure), data.y_test, model.predict(data.X_test)))


class Scaled(NamedTuple):
    """A problem whose dense features are standardised, and how long that took."""

    data: Problem
    seconds: float


def scale(data: Problem) -> Scaled:
    """Standardise dense features by the training samples; sparse ones are not changed."""
    if sparse.issparse(data.X):
        return Scaled(data, 0.0)
    scaler = StandardScaler()
    seconds, X = clock(lambda: scaler.fit_transform(data.X))
    return Scaled(Problem(data.name, data.title, X, data.y, scaler.transform(data.X_test), data.y_test), seconds)


def multivariate_curve(measure: str, scaled: Scaled, most_seconds: float) -> Curve:
    """Train to the default tolerance or until time is up, and again for fractions of that time."""

    def train(seconds: float) -> tuple[Point, bool]:
        model: Any = MultivariateSVC(measure, threshold="train", n_jobs=1, max_seconds=seconds)
        taken, _ = clock(lambda: model.fit(scaled.data.X, scaled.data.y))
        point = _evaluate(measure, scaled.data, scaled.seconds + taken, model)
        return point, model.result_.status.reached_tolerance

    last, ended = train(most_seconds)
    points = [train(part * last.seconds)[0] for part in PARTS]
    return Curve(sorted([*points, last]), ended)


class Regression(NamedTuple):
    """A logistic regression, the seconds it took with the scaling, and its scores of the training and test samples."""

    seconds: float
    scores: Any
    test_scores: Any
    converged: bool


def regressions(scaled: Scaled) -> list[Regression]:
    """Return logistic regressions with increasing numbers of iterations, for all measures."""
    done = []
    for most in ITERATIONS:
        seconds, model = clock(partial(LogisticRegression(max_iter=most).fit, scaled.data.X, scaled.data.y))
        scoring, scores = clock(partial(model.decision_function, scaled.data.X))
        test_scores = model.decision_function(scaled.data.X_test)
        converged = bool(model.n_iter_[0] < most)
        done.append(Regression(scaled.seconds + seconds + scoring, scores, test_scores, converged))
        if converged:
            break
    return done


def plug_in_curve(measure: str, data: Problem, done: list[Regression]) -> Curve:
    """Choose the best threshold on the training samples for regressions with increasing numbers of iterations."""
    chosen: Any = get_measure(measure)
    points = []
    for regression in done:
        seconds, best = clock(partial(best_threshold, chosen, data.y, regression.scores))
        value = judge(chosen, data.y_test, regression.test_scores > best.threshold)
        points.append(Point(regression.seconds + seconds, value))
    return Curve(sorted(points), done[-1].converged)


def curves(measure: str, data: Problem, scaled: Scaled, done: list[Regression], most: float) -> dict[str, Curve]:
    """Return the curves of all methods for a measure."""
    ours = stream_curve(STREAMING[measure], measure, data)
    allowed = min(MOST_TIMES * ours.points[-1].seconds, most)
    return {
        OURS: ours,
        BATCHES: stream_curve(MiniBatchSVC, measure, data),
        MULTIVARIATE: multivariate_curve(measure, scaled, allowed),
        PLUG_IN: plug_in_curve(measure, data, done),
    }


def warm_up(scaled: Scaled) -> None:
    """Compile the kernels for the kind of matrix of a problem, on few of its samples."""
    data = scaled.data
    indices = np.concatenate([np.flatnonzero(data.y == side)[:500] for side in (True, False)])
    X, y = data.X[indices], data.y[indices]
    for measure, estimator in STREAMING.items():
        models = (estimator(measure), MiniBatchSVC(measure), MultivariateSVC(measure, threshold="train", max_iter=5))
        for model in models:
            clock(partial(model.set_params(n_jobs=1).fit, X, y))
