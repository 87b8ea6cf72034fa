"""Every estimator with every measure it takes, on every kind of matrix: it trains, and beats a constant answer."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import metricwise
from metricwise import get_measure, measure_names
from metricwise.registry import entries
from tests.contracts.cases import DESIGN_IDS, DESIGNS, stored

RNG = np.random.default_rng(0)
N_ROWS = 400
POSITIVE = RNG.random(N_ROWS) < 0.25
X = np.round(8 * (RNG.normal(size=(N_ROWS, 5)) + 1.5 * POSITIVE[:, None])) / 8  # exact in single precision


def trained_for_measures():
    """The estimators that are trained for a measure, without a learner to wrap."""
    return sorted(entry.name for entry in entries("svm", "streaming"))


CASES = [
    (row + column, estimator, measure)
    for row, estimator in enumerate(trained_for_measures())
    for column, measure in enumerate(measure_names(estimator))
]


def make(estimator, measure):
    model = getattr(metricwise, estimator)(measure=measure)
    return model.set_params(batch_size=50) if "batch_size" in model.get_params() else model


def constant_score(measure):
    """The best that labels or scores without a look at the samples reach."""
    if measure.response == "scores":
        return measure.score(POSITIVE, np.zeros(N_ROWS))
    return max(measure.score(POSITIVE, np.full(N_ROWS, label)) for label in (False, True))


@pytest.mark.parametrize(("number", "estimator", "name"), CASES, ids=[f"{case[1]} {case[2]}" for case in CASES])
def test_trains_for_every_measure(number, estimator, name):
    """On dense and sparse samples in turns, by estimator and by measure."""
    expect_a_good_model(estimator, name, *(("dense samples", np.float64), ("sparse", np.float32))[number % 2])


@pytest.mark.parametrize("estimator", trained_for_measures())
@pytest.mark.parametrize(("kind", "dtype"), DESIGNS, ids=DESIGN_IDS)
def test_trains_on_every_matrix(estimator, kind, dtype):
    expect_a_good_model(estimator, measure_names(estimator)[0], kind, dtype)


def expect_a_good_model(estimator, name, kind, dtype):
    rows, measure = stored(X, kind, dtype), get_measure(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = make(estimator, name).fit(rows, POSITIVE)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.threshold_)
    assert model.measure_ == measure
    floor = constant_score(measure)
    assert model.score(rows, POSITIVE) > floor + 0.3 * (1.0 - floor)


INPUTS = [("line", LogisticRegression()), ("ridge", RidgeClassifier())]


@pytest.mark.parametrize(("number", "name"), list(enumerate(measure_names("AdaptedSVC"))))
def test_adapts_classifiers_to_every_measure(number, name):
    rows, measure = stored(X, *DESIGNS[number % len(DESIGNS)]), get_measure(name)
    model = metricwise.AdaptedSVC(name, INPUTS, cv=3, tol=1e-2).fit(rows, POSITIVE)
    assert model.expected_score_ >= max(model.out_of_fold_scores_[name] for name, _ in INPUTS)
    floor = constant_score(measure)
    assert model.score(rows, POSITIVE) > floor + 0.3 * (1.0 - floor)


@pytest.mark.parametrize(
    "estimator", [name for name in trained_for_measures() if hasattr(getattr(metricwise, name), "partial_fit")]
)
@pytest.mark.parametrize(("kind", "dtype"), DESIGNS, ids=DESIGN_IDS)
def test_learns_from_chunks_of_every_matrix(estimator, kind, dtype):
    rows, name = stored(X, kind, dtype), measure_names(estimator)[0]
    model = make(estimator, name)
    for start in range(0, N_ROWS, 37):
        model.partial_fit(rows[start : start + 37], POSITIVE[start : start + 37], classes=[False, True])
    assert model.result_.n_samples == N_ROWS
    floor = constant_score(model.measure_)
    assert model.score(rows, POSITIVE) > floor + 0.2 * (1.0 - floor)
