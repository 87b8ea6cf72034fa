"""Awkward data: training gives finite results, with the expected warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from metricwise import MultivariateSVC, Status, certify
from metricwise.measures import HasViolatedLabelling, registered_names
from metricwise.results import DegenerateOptimumWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * RNG.normal(size=60) > 0.4).astype(int)
TRAINABLE = registered_names(HasViolatedLabelling)


def fit_quietly(data, y, measure="f1", **settings):
    """Return a fitted model with finite results; every warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MultivariateSVC(measure, **settings).fit(data, y)
    assert_finite(model, data)
    return model


def assert_finite(model, data):
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    for result in results:
        assert np.isfinite([result.certificate.upper, result.certificate.lower, result.certificate.loss_bound]).all()
        assert result.certificate.lower <= result.certificate.upper + 1e-9 * abs(result.certificate.upper)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()
    assert np.isfinite(model.threshold_).all()
    assert np.isfinite(model.decision_function(data)).all()
    assert set(model.predict(data)) <= set(model.classes_)


@pytest.mark.parametrize("measure", TRAINABLE)
def test_constant_and_zero_features_are_ignored(measure):
    data = np.column_stack([X, np.full(60, 3.0), np.zeros(60), np.full(60, 0.1)])
    model = fit_quietly(data, Y, measure)
    assert model.score(data, Y) > 0.7
    assert model.coef_[0, 5] == 0.0


@pytest.mark.parametrize("measure", TRAINABLE)
def test_duplicated_samples_are_accepted(measure):
    model = fit_quietly(np.repeat(X, 3, axis=0), np.repeat(Y, 3), measure)
    assert model.score(X, Y) > 0.7


@pytest.mark.parametrize("measure", TRAINABLE)
def test_samples_of_zeros_give_finite_models(measure):
    data = X.copy()
    data[::5] = 0.0
    for kind in (np.array, sparse.csr_array):
        assert_finite(MultivariateSVC(measure).fit(kind(data), Y), kind(data))


@pytest.mark.filterwarnings("ignore:the surrogate of")
@pytest.mark.filterwarnings("ignore:training stopped")
@pytest.mark.parametrize("size", [1e-150, 1e-20, 1e-8, 1e8, 1e20])
@pytest.mark.parametrize(
    "measure", ["f1", "accuracy", "prbep", "roc_auc", "partial_roc_auc", "two_way_partial_auc", "g_mean"]
)
def test_features_of_any_scale_give_finite_models(measure, size):
    assert_finite(MultivariateSVC(measure, max_iter=150).fit(size * X, Y), size * X)


@pytest.mark.parametrize("measure", ["f1", "accuracy", "prbep", "roc_auc", "partial_roc_auc", "two_way_partial_auc"])
def test_rescaled_features_and_C_give_the_same_scores(measure):
    """Features 1e4 times larger with a C 1e8 times smaller are the same problem in other units."""
    settings = {"fit_intercept": False, "threshold": 0.0, "tol": 1e-6}
    small = MultivariateSVC(measure, C=1.0, **settings).fit(X, Y)
    large = MultivariateSVC(measure, C=1e-8, **settings).fit(1e4 * X, Y)
    np.testing.assert_allclose(large.decision_function(1e4 * X), small.decision_function(X), atol=0.02)


def test_features_of_very_different_scales_converge_or_warn():
    data = X * [1e8, 1.0, 1e-8, 1.0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MultivariateSVC("f1", max_iter=2000).fit(data, Y)
    assert_finite(model, data)
    warned = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    assert model.result_.status.reached_tolerance != warned


@pytest.mark.parametrize(
    "measure",
    ["f1", "accuracy", "g_mean", "prbep", "roc_auc", "partial_roc_auc", "two_way_partial_auc", "matthews_corrcoef"],
)
def test_a_single_positive_is_accepted_with_a_warning(measure):
    y = np.zeros(60, dtype=int)
    y[np.argmax(X[:, 0])] = 1
    with pytest.warns(UserWarning, match=r"threshold='cv' needs at least two distinct samples.*threshold='train'"):
        model = MultivariateSVC(measure).fit(X, y)
    assert_finite(model, X)
    if measure != "accuracy":  # which is optimal with no predicted positives
        assert model.predict(X)[np.argmax(X[:, 0])] == 1
    fit_quietly(X, y, measure, threshold="train")


@pytest.mark.parametrize("measure", [name for name in TRAINABLE if name != "recall_at_k"])
def test_two_samples_are_separated(measure):
    data, y = np.array([[0.0, 1.0], [1.0, 0.0]]), ["a", "b"]
    model = fit_quietly(data, y, measure, threshold="train", C=10.0, pos_label="b")
    assert model.predict(data).tolist() == y
    with pytest.warns(UserWarning, match="threshold='cv' needs"):
        assert_finite(MultivariateSVC(measure, pos_label="b").fit(data, y), data)


def test_copies_of_one_positive_count_as_one_distinct_sample():
    data, y = np.vstack([X, np.repeat(X[:1] + 3, 5, axis=0)]), np.r_[np.zeros(60, dtype=int), np.ones(5, dtype=int)]
    with pytest.warns(UserWarning, match="threshold='cv' needs at least two distinct samples"):
        assert_finite(MultivariateSVC().fit(data, y), data)


def test_a_single_feature_is_enough():
    model = fit_quietly(X[:, :1], (X[:, 0] > 0.1).astype(int), C=100.0)
    assert model.score(X[:, :1], (X[:, 0] > 0.1).astype(int)) == 1.0


def test_more_features_than_samples_are_accepted():
    data = RNG.normal(size=(30, 400))
    y = np.arange(30) % 3 == 0
    model = fit_quietly(data, y, threshold="train")
    assert model.score(data, y) == 1.0


@pytest.mark.filterwarnings("ignore:threshold='cv' needs")
@pytest.mark.parametrize("value", [0.0, 0.1, 1.0, 1e8])
@pytest.mark.parametrize("measure", TRAINABLE)
def test_constant_features_give_finite_models(measure, value):
    """The features are uninformative, and sums cancel up to rounding."""
    data, y = np.full((30, 3), value), (np.arange(30) % 3 == 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateOptimumWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert_finite(MultivariateSVC(measure).fit(data, y), data)


@pytest.mark.filterwarnings("ignore:the surrogate of")
@pytest.mark.parametrize("measure", ["roc_auc", "partial_roc_auc", "two_way_partial_auc", "prbep", "accuracy", "f1"])
def test_classes_with_equal_means_give_finite_models(measure):
    """The first cut vanishes up to rounding errors."""
    data = np.array([-2.0, 0.0, -2.0, 1.0, -1.0, 0.0, -2.0, 0.0, -2.0, -2.0, -1.0, -1.0])[:, None]
    y = np.array([0, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1])
    assert_finite(MultivariateSVC(measure, C=0.1, fit_intercept=False, threshold=0.0).fit(data, y), data)


# ------------------------------------------------------------------------------------------------------------- warnings


def make_degenerate_data():
    """Return data whose positives are repeated among the negatives, so that w = 0 is optimal for every C."""
    rng = np.random.default_rng(1)
    pos = rng.normal(size=(10, 3))
    return np.vstack([pos, np.repeat(pos, 5, axis=0)]), np.r_[np.ones(10, dtype=int), np.zeros(50, dtype=int)]


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("measure", ["f1", "jaccard", "prbep", "min_rate"])
def test_a_degenerate_optimum_warns_once_with_the_remedy(measure, C):
    data, y = make_degenerate_data()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MultivariateSVC(measure, C=C, threshold=0.0).fit(data, y)
    messages = [str(w.message) for w in caught if issubclass(w.category, DegenerateOptimumWarning)]
    assert len(messages) == 1
    assert f"'{measure}'" in messages[0] and "roc_auc" in messages[0] and "class_weight='balanced'" in messages[0]
    assert model.result_.status is Status.DEGENERATE
    assert_finite(model, data)
    assert certify(model, data, y).relative <= 2e-3


def test_strong_regularisation_is_not_a_degenerate_optimum():
    model = fit_quietly(X, Y, "f1", C=1e-4)
    assert model.result_.status is Status.OPTIMAL


def test_too_few_iterations_warn_once_and_name_the_parameter():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MultivariateSVC("f1", C=10.0, max_iter=1).fit(X, Y)
    messages = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert len(messages) == 1
    assert "increase max_iter" in messages[0] and "tol=0.001" in messages[0]
    assert model.result_.status is Status.MAX_ITER
    assert model.n_iter_ == 1
    assert_finite(model, X)


def test_too_little_time_warns_and_names_the_parameter():
    with pytest.warns(ConvergenceWarning, match="increase max_seconds"):
        model = MultivariateSVC("f1", C=10.0, max_seconds=1e-9).fit(X, Y)
    assert model.result_.status is Status.MAX_SECONDS
    assert_finite(model, X)


def test_training_with_an_unreachable_tolerance_terminates():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MultivariateSVC("f1", C=1.0, tol=1e-300, threshold=0.0, max_iter=3000).fit(X, Y)
    assert model.n_iter_ < 3000
    assert abs(model.result_.certificate.relative) < 1e-8
    assert_finite(model, X)


def test_warnings_point_to_the_caller():
    with pytest.warns(ConvergenceWarning) as caught:
        MultivariateSVC("f1", C=10.0, max_iter=1, threshold=0.0).fit(X, Y)
    assert caught[0].filename == __file__
    y = np.zeros(60, dtype=int)
    y[0] = 1
    with pytest.warns(UserWarning, match="threshold='cv'") as caught:
        MultivariateSVC("accuracy").fit(X, y)
    assert caught[0].filename == __file__
