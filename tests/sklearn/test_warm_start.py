"""Warm starts: the same optimum, and few iterations where nothing has changed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from metricwise import MultivariateSVC, Status

X, Y = load_breast_cancer(return_X_y=True)
X, Y = scale(X)[:300], 1 - Y[:300]
IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = scale(IRIS)


def test_a_second_fit_on_the_same_data_takes_few_iterations():
    model = MultivariateSVC("f1", C=0.1, warm_start=True).fit(X, Y)
    first, upper = model.n_iter_, model.result_.certificate.upper
    model.fit(X, Y)
    assert model.n_iter_ <= 2 < first
    assert model.result_.certificate.upper <= upper * (1 + 1e-12)


def test_a_regularisation_path_reaches_the_optimum_of_each_C():
    model = MultivariateSVC("f1", warm_start=True)
    for C in (0.01, 0.1, 1.0, 0.03):
        model.set_params(C=C).fit(X, Y)
        cold = MultivariateSVC("f1", C=C).fit(X, Y)
        assert model.result_.status is Status.OPTIMAL
        assert model.result_.certificate.upper == pytest.approx(cold.result_.certificate.upper, rel=1e-3)


def test_a_smaller_tolerance_continues_training():
    model = MultivariateSVC("f1", C=0.1, warm_start=True, tol=0.1).fit(X, Y)
    model.set_params(tol=1e-4).fit(X, Y)
    cold = MultivariateSVC("f1", C=0.1, tol=1e-4).fit(X, Y)
    assert model.result_.certificate.relative <= 1e-4
    assert model.n_iter_ <= cold.n_iter_


def test_other_data_reach_their_own_optimum():
    model = MultivariateSVC("f1", C=0.1, warm_start=True).fit(X[:200], Y[:200])
    model.fit(X[100:], Y[100:])
    cold = MultivariateSVC("f1", C=0.1).fit(X[100:], Y[100:])
    assert model.result_.status is Status.OPTIMAL
    assert model.result_.certificate.upper == pytest.approx(cold.result_.certificate.upper, rel=1e-3)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.fit(X[:, :5], Y),
        lambda model: model.set_params(measure="g_mean").fit(X, Y),
        lambda model: model.set_params(measure="roc_auc").fit(X, Y),
        lambda model: model.set_params(fit_intercept=False).fit(X, Y),
        lambda model: model.set_params(intercept_scaling=5.0).fit(X, Y),
        lambda model: model.set_params(pos_label=0).fit(X, Y),
        lambda model: model.set_params(class_weight="balanced").fit(X, Y),
        lambda model: model.fit(X, 1 - Y),
        lambda model: model.fit(X, Y, sample_weight=np.arange(len(Y)) % 3),
        lambda model: model.fit(sparse.csr_array(X), Y),
        lambda model: model.fit(X.astype(np.float32), Y),
        lambda model: model.fit(np.vstack([X, X + 0.1]), np.r_[Y, Y]),
    ],
    ids=[
        "width",
        "measure",
        "ranking",
        "no intercept",
        "constant",
        "positive",
        "balanced",
        "labels",
        "weights",
        "sparse",
        "float32",
        "samples",
    ],
)
def test_changed_settings_or_data_discard_the_last_fit(change):
    model = MultivariateSVC("f1", C=0.1, warm_start=True).fit(X, Y)
    change(model)
    cold = clone(model).set_params(warm_start=False)
    change(cold)
    assert model.result_.status.reached_tolerance
    assert model.result_.certificate.upper == pytest.approx(cold.result_.certificate.upper, rel=1e-3)


def test_multiclass_problems_are_each_warm_started():
    model = MultivariateSVC("accuracy", warm_start=True).fit(IRIS, SPECIES)
    first = [result.n_iter for result in model.result_]
    model.fit(IRIS, SPECIES)
    assert max(result.n_iter for result in model.result_) <= 2 < max(first)
    model.fit(IRIS[:100], SPECIES[:100])
    assert model.coef_.shape == (1, 4)


def test_without_warm_start_a_second_fit_starts_anew():
    model = MultivariateSVC("f1", C=0.1).fit(X, Y)
    first = model.n_iter_
    assert model.fit(X, Y).n_iter_ == first


def test_a_warm_started_model_can_be_pickled():
    model = MultivariateSVC("f1", C=0.1, warm_start=True).fit(X, Y)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict(X), model.predict(X))
    restored.set_params(C=0.2).fit(X, Y)
    expected = MultivariateSVC("f1", C=0.2).fit(X, Y)
    assert restored.result_.certificate.upper == pytest.approx(expected.result_.certificate.upper, rel=1e-3)
