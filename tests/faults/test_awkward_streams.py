"""Raw, badly scaled, degenerate or imbalanced streams give finite models without warnings or loss of quality."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from metricwise import MiniBatchSVC, SPADEClassifier, STAMPClassifier

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

MAKERS = {
    "spade": lambda **options: SPADEClassifier("g_mean", **options),
    "stamp": lambda **options: STAMPClassifier("f1", **options),
    "batches": lambda **options: MiniBatchSVC("f1", **{"batch_size": 100, **options}),
}
each_model = pytest.mark.parametrize("model", MAKERS)
each_method = pytest.mark.parametrize("method", ["fit", "partial_fit"])
each_storage = pytest.mark.parametrize("storage", ["dense", "single", "sparse"])


def make_data(n=4000, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ np.linspace(-1.0, 1.0, d) + 0.5 * rng.normal(size=n) > 1.0).astype(int)
    return X, y


def store(X, storage):
    return {"dense": np.asarray, "single": lambda X: X.astype(np.float32), "sparse": sparse.csr_matrix}[storage](X)


def train(model, method, X, y, **options):
    fitted = MAKERS[model](**options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="too few samples of one class", category=UserWarning)
        if method == "fit":
            return fitted.fit(X, y)
        for start in range(0, len(y), 150):
            fitted.partial_fit(X[start : start + 150], y[start : start + 150], classes=[0, 1])
        return fitted


def assert_finite(fitted, X):
    assert np.all(np.isfinite(fitted.coef_))
    assert np.all(np.isfinite(fitted.intercept_))
    assert np.isfinite(fitted.threshold_)
    assert np.all(np.isfinite(fitted.decision_function(X)))


TRANSFORMATIONS = {
    "wide scales": lambda X: X * np.geomspace(1e-6, 1e6, X.shape[1]),
    "shifted": lambda X: X + 1e3 * np.arange(X.shape[1]),
    "constant columns": lambda X: np.column_stack([X, np.full(len(X), 3.0), np.zeros(len(X)), np.full(len(X), 1e9)]),
    "samples of zeros": lambda X: np.where((np.arange(len(X)) % 50 == 0)[:, None], 0.0, X),
    "late column": lambda X: np.column_stack([X, np.where(np.arange(len(X)) < 3000, 5.0, X[:, 0])]),
    "late column of zeros": lambda X: np.column_stack([X, np.where(np.arange(len(X)) < 3000, 0.0, 1e4 * X[:, 1])]),
    "far from zero": lambda X: np.column_stack([X, 1e9 + X[:, 0]]),
    "huge": lambda X: np.column_stack([X[:, 1:], 1e150 * X[:, :1]]),
    "tiny": lambda X: np.column_stack([X[:, 1:], 1e-140 * X[:, :1]]),
    "duplicated columns": lambda X: np.column_stack([X] * 4),
}


def make_two_halves():
    """Return samples of which the first half is for training, and the size of that half."""
    (X, y), (others, truth) = make_data(), make_data(seed=1)
    return np.concatenate([X, others]), np.concatenate([y, truth]), len(y)


@cache
def score_original_features(model, method):
    X, y, n = make_two_halves()
    return train(model, method, X[:n], y[:n]).score(X[n:], y[n:])


@each_model
@each_method
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_awkward_features_do_not_reduce_the_score(model, method, transformation, storage):
    """The test score is at most slightly lower than with the original features."""
    if transformation in ("shifted", "far from zero") and storage == "sparse":
        pytest.skip("features without zeros are no sparse data: they are scaled, not centred")
    X, y, n = make_two_halves()
    Z = TRANSFORMATIONS[transformation](X)
    fitted = train(model, method, store(Z[:n], storage), y[:n])
    assert_finite(fitted, store(Z, storage))
    floor = score_original_features(model, method) - (0.05 if transformation == "samples of zeros" else 0.02)
    assert fitted.score(store(Z[n:], storage), y[n:]) > floor


@each_model
@each_method
@each_storage
def test_an_outlier_leaves_a_finite_model(model, method, storage):
    X, y = make_data()
    expected = train(model, method, X, y).score(X, y)
    X[700, 2] = 1e12
    fitted = train(model, method, store(X, storage), y)
    assert_finite(fitted, store(X, storage))
    others = np.arange(len(y)) != 700
    # The model may lose the feature with the outlier, but no other.
    assert fitted.score(store(X[others], storage), y[others]) > expected - 0.05


@each_model
@each_method
@each_storage
def test_a_single_positive_gives_a_finite_model(model, method, storage):
    X, y = make_data(1000)
    y[:] = 0
    y[500] = 1
    assert_finite(train(model, method, store(X, storage), y), X)


@each_model
@each_method
def test_one_positive_per_hundred_thousand_gives_a_finite_model(model, method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 3))
    y = np.zeros(len(X), dtype=int)
    y[[30_000, 170_000]] = 1
    X[y == 1, 0] += 8.0
    fitted = MAKERS[model]()
    if method == "fit":
        with pytest.warns(UserWarning, match="too few samples of one class"):
            fitted = MAKERS[model](n_passes=3).fit(X, y)
    else:
        for start in range(0, len(y), 50_000):
            fitted.partial_fit(X[start : start + 50_000], y[start : start + 50_000], classes=[0, 1])
    assert_finite(fitted, X[:1000])


@each_model
@each_method
def test_duplicated_samples_are_learnt(model, method):
    X, y = make_data(40)
    order = np.random.default_rng(0).permutation(40 * 50) % 40
    X, y = X[order], y[order]
    fitted = train(model, method, X, y)
    assert_finite(fitted, X)
    assert fitted.score(X, y) > 0.8


@each_model
@each_method
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_equal_samples_give_finite_models(model, method, storage):
    """Constant features carry no information, and training must still succeed."""
    X, y = np.ones((300, 4)), np.arange(300) % 3 == 0
    assert_finite(train(model, method, store(X, storage), y.astype(int)), X)
    assert_finite(train(model, method, store(0.0 * X, storage), y.astype(int)), X)


@each_model
@each_method
@each_storage
@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e160, 1e300])
def test_features_whose_squares_overflow_or_underflow_give_good_models(model, method, storage, size):
    if storage == "single":
        size = 1e-38 if size < 1.0 else 1e34
    X, y = make_data(1000)
    X = np.column_stack([X, size * np.sign(X[:, 0])])
    fitted = train(model, method, store(X, storage), y)
    assert_finite(fitted, store(X, storage))
    assert fitted.score(store(X, storage), y) > 0.7


@each_model
@each_method
@pytest.mark.parametrize("schedule", ["adaptive", "paper"])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 1e3, 1e12])
def test_any_regularisation_gives_a_finite_model(model, method, schedule, alpha):
    X, y = make_data(1000)
    fitted = train(model, method, X, y, schedule=schedule, alpha=alpha)
    assert_finite(fitted, X)


@each_model
@each_method
@pytest.mark.parametrize("schedule", ["adaptive", "paper"])
@pytest.mark.parametrize("eta0", [1e-12, 1e12])
def test_any_step_size_gives_a_finite_model(model, method, schedule, eta0):
    X, y = make_data(1000)
    assert_finite(train(model, method, X, y, schedule=schedule, eta0=eta0), X)


@each_model
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_any_scale_of_weights_gives_a_good_model(model, scale):
    X, y = make_data(1000)
    fitted = MAKERS[model]().fit(X, y, sample_weight=np.full(len(y), scale))
    assert_finite(fitted, X)
    assert fitted.score(X, y) > 0.7
