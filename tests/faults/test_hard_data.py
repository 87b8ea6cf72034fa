"""Unusual but valid data: training succeeds, with the expected warnings and no others."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from metricwise import DegenerateOptimumWarning, MultivariateSVC, Status

RNG = np.random.default_rng(1)
X = RNG.normal(size=(120, 4))
y = (X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * RNG.normal(size=120) > 1.0).astype(int)


def fit_quietly(data, target, **parameters):
    """Return a fitted model; every warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return MultivariateSVC(**parameters).fit(data, target)


def assert_sound(model, data):
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.decision_function(data)).all()
    assert model.result_.certificate.lower <= model.result_.certificate.upper


@pytest.mark.parametrize(
    "data",
    [
        np.hstack([X, np.full((120, 1), 7.0)]),
        np.hstack([X, np.zeros((120, 2))]),
        np.where(np.arange(120)[:, None] % 5 == 0, 0.0, X),
        np.vstack([X[:60], X[:60]]),
        1e-8 * X,
        1e8 * X,
        X * [1e-6, 1.0, 1e3, 1e6],
    ],
    ids=["constant", "zero columns", "zero samples", "copies", "tiny", "huge", "mixed scales"],
)
@pytest.mark.parametrize("measure", ["f1", "roc_auc", "prbep"])
def test_unusual_data_give_finite_models(data, measure):
    target = np.concatenate([y[:60], y[:60]]) if np.array_equal(data[:60], data[60:]) else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateOptimumWarning)  # expected for tiny features
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MultivariateSVC(measure, max_iter=3000).fit(data, target)
    assert_sound(model, data)


@pytest.mark.parametrize("size", [1e8, 1e-3])
def test_the_scale_of_the_features_does_not_prevent_convergence(size):
    # Features scaled by s at C / s^2 are the same problem.
    model = fit_quietly(size * X, y, C=1.0 / size**2, threshold=0.0, fit_intercept=False)
    plain = fit_quietly(X, y, C=1.0, threshold=0.0, fit_intercept=False)
    assert model.result_.status is Status.OPTIMAL
    np.testing.assert_allclose(size * model.coef_, plain.coef_, rtol=1e-4)


def test_a_single_positive_is_separated_with_a_warning():
    target = np.zeros(120, dtype=int)
    target[np.argmax(X[:, 0])] = 1
    with pytest.warns(UserWarning, match="threshold='cv' needs at least two distinct samples of each class"):
        model = MultivariateSVC().fit(X, target)
    assert_sound(model, X)
    assert model.score(X, target) == 1.0


def test_two_samples_are_separated_with_a_warning():
    with pytest.warns(UserWarning, match="threshold='cv'"):
        model = MultivariateSVC(pos_label="yes").fit([[0.0], [1.0]], ["no", "yes"])
    assert list(model.predict([[0.0], [1.0]])) == ["no", "yes"]


def test_a_rare_class_uses_fewer_folds_without_a_warning():
    target = np.zeros(120, dtype=int)
    target[np.argsort(X[:, 0])[-3:]] = 1
    assert_sound(fit_quietly(X, target), X)


def make_degenerate_data():
    """Return data whose positives are also negatives, so that their sum is a sum of negatives."""
    positives = RNG.normal(size=(5, 3))
    data = np.vstack([positives, positives, RNG.normal(size=(40, 3))])
    return data, np.r_[np.ones(5, dtype=int), np.zeros(45, dtype=int)]


def test_a_degenerate_optimum_warns_once():
    data, target = make_degenerate_data()
    with pytest.warns(DegenerateOptimumWarning, match="w = 0.*roc_auc") as caught:
        model = MultivariateSVC(C=10.0, threshold=0.0).fit(data, target)
    assert len([w for w in caught if w.category is DegenerateOptimumWarning]) == 1
    assert model.result_.status is Status.DEGENERATE
    certificate = model.result_.certificate
    assert certificate.upper == pytest.approx(10.0 * (2 * 5 - 1))  # J(0) = C u


def test_data_degenerate_for_f1_may_be_optimal_for_ranking():
    data, target = make_degenerate_data()
    data[:5, 0] += 0.5
    data[5:10, 0] -= 0.5
    model = fit_quietly(data, target, measure="roc_auc", threshold=0.0)
    assert model.result_.status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("parameters", "status", "remedy"),
    [
        ({"max_iter": 1}, Status.MAX_ITER, "increase max_iter"),
        ({"max_seconds": 1e-9}, Status.MAX_SECONDS, "increase max_seconds"),
    ],
)
def test_unfinished_training_warns(parameters, status, remedy):
    with pytest.warns(ConvergenceWarning, match=remedy):
        model = MultivariateSVC(threshold=0.0, **parameters).fit(X, y)
    assert model.result_.status is status
    assert_sound(model, X)


def test_sparse_data_without_entries_give_zero_weights():
    data = sparse.csr_array((40, 3))
    with pytest.warns(UserWarning):
        model = MultivariateSVC().fit(data, np.arange(40) % 2)
    assert np.all(model.coef_ == 0.0)
