"""Every estimator with every measure it supports, on every storage: it trains and beats a constant prediction."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import metricwise
from metricwise import get_measure, measure_names
from metricwise.registry import entries
from tests.contracts.cases import DESIGN_IDS, DESIGNS, store

RNG = np.random.default_rng(0)
N_SAMPLES = 240
POSITIVE = RNG.random(N_SAMPLES) < 0.25
X = np.round(8 * (RNG.normal(size=(N_SAMPLES, 5)) + 1.5 * POSITIVE[:, None])) / 8  # exact in single precision


def list_estimators_for_measures():
    """Return the classifiers that are trained for a measure, without a learner to wrap."""
    return sorted(entry.name for entry in entries("svm", "streaming") if not entry.ranks_queries)


CASES = [
    (i + j, estimator, measure)
    for i, estimator in enumerate(list_estimators_for_measures())
    for j, measure in enumerate(measure_names(estimator))
]


def make_estimator(estimator, measure):
    model = getattr(metricwise, estimator)(measure=measure)
    if estimator == "OnlineMetricClassifier":  # SGDClassifier takes longer to find the intercept of sparse samples
        return model.set_params(n_passes=10)
    is_streaming = hasattr(model, "partial_fit")
    quick = {"batch_size": 50, "n_passes": 5} if is_streaming else {"cv": 3, "tol": 1e-2}
    return model.set_params(**{name: value for name, value in quick.items() if name in model.get_params()})


def compute_constant_score(measure):
    """Return the best score of constant labels or scores."""
    if measure.response == "scores":
        return measure.score(POSITIVE, np.zeros(N_SAMPLES))
    return max(measure.score(POSITIVE, np.full(N_SAMPLES, label)) for label in (False, True))


@pytest.mark.parametrize(("number", "estimator", "name"), CASES, ids=[f"{case[1]} {case[2]}" for case in CASES])
def test_every_estimator_trains_for_every_measure(number, estimator, name):
    """Cases alternate between dense and sparse samples."""
    expect_a_good_model(estimator, name, *(("dense samples", np.float64), ("sparse", np.float32))[number % 2])


@pytest.mark.parametrize("estimator", list_estimators_for_measures())
@pytest.mark.parametrize(("kind", "dtype"), DESIGNS, ids=DESIGN_IDS)
def test_every_estimator_trains_on_every_storage(estimator, kind, dtype):
    expect_a_good_model(estimator, measure_names(estimator)[0], kind, dtype)


def expect_a_good_model(estimator, name, kind, dtype):
    samples, measure = store(X, kind, dtype), get_measure(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = make_estimator(estimator, name).fit(samples, POSITIVE)
    assert np.isfinite(getattr(model, "coef_", 0.0)).all() and np.isfinite(model.threshold_)
    assert model.measure_ == measure
    floor = compute_constant_score(measure)
    assert model.score(samples, POSITIVE) > floor + 0.3 * (1.0 - floor)


INPUTS = [("line", LogisticRegression()), ("ridge", RidgeClassifier())]


@pytest.mark.parametrize(("number", "name"), list(enumerate(measure_names("AdaptedSVC"))))
def test_adapted_svc_trains_for_every_measure(number, name):
    samples, measure = store(X, *DESIGNS[number % len(DESIGNS)]), get_measure(name)
    model = metricwise.AdaptedSVC(name, INPUTS, cv=3, tol=1e-2).fit(samples, POSITIVE)
    assert model.expected_score_ >= max(model.out_of_fold_scores_[name] for name, _ in INPUTS)
    floor = compute_constant_score(measure)
    assert model.score(samples, POSITIVE) > floor + 0.3 * (1.0 - floor)


@pytest.mark.parametrize(
    "estimator", [name for name in list_estimators_for_measures() if hasattr(getattr(metricwise, name), "partial_fit")]
)
@pytest.mark.parametrize(("kind", "dtype"), DESIGNS, ids=DESIGN_IDS)
def test_streaming_estimators_learn_from_chunks_of_every_storage(estimator, kind, dtype):
    samples, name = store(X, kind, dtype), measure_names(estimator)[0]
    model = make_estimator(estimator, name)
    for start in range(0, N_SAMPLES, 37):
        model.partial_fit(samples[start : start + 37], POSITIVE[start : start + 37], classes=[False, True])
    assert model.result_.n_samples == N_SAMPLES
    floor = compute_constant_score(model.measure_)
    assert model.score(samples, POSITIVE) > floor + 0.2 * (1.0 - floor)
