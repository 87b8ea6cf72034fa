"""Streams of raw, badly scaled, degenerate or skewed samples: finite models, no warnings, and no loss of quality."""

from __future__ import annotations

import warnings

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
each_way = pytest.mark.parametrize("way", ["fit", "partial_fit"])
each_storage = pytest.mark.parametrize("storage", ["dense", "single", "sparse"])


def sound_problem(n=4000, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ np.linspace(-1.0, 1.0, d) + 0.5 * rng.normal(size=n) > 1.0).astype(int)
    return X, y


def stored(X, storage):
    return {"dense": np.asarray, "single": lambda X: X.astype(np.float32), "sparse": sparse.csr_matrix}[storage](X)


def trained(model, way, X, y, **options):
    made = MAKERS[model](**options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="too few samples of one class", category=UserWarning)
        if way == "fit":
            return made.fit(X, y)
        for start in range(0, len(y), 150):
            made.partial_fit(X[start : start + 150], y[start : start + 150], classes=[0, 1])
        return made


def expect_finite(made, X):
    assert np.all(np.isfinite(made.coef_))
    assert np.all(np.isfinite(made.intercept_))
    assert np.isfinite(made.threshold_)
    assert np.all(np.isfinite(made.decision_function(X)))


SPOILS = {
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


@each_model
@each_way
@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_awkward_features_cost_no_quality(model, way, spoil, storage):
    """Half of the samples are for training; the score on the others is that on the clean features, or nearly."""
    X, y = sound_problem()
    X, y, n = np.tile(X, (2, 1)), np.tile(y, 2), len(y)
    X[n:] = sound_problem(seed=1)[0]
    y[n:] = sound_problem(seed=1)[1]
    clean = trained(model, way, X[:n], y[:n]).score(X[n:], y[n:])
    if spoil in ("shifted", "far from zero") and storage == "sparse":
        pytest.skip("features without zeros are no sparse data: they are scaled, not centred")
    Z = SPOILS[spoil](X)
    made = trained(model, way, stored(Z[:n], storage), y[:n])
    expect_finite(made, stored(Z, storage))
    assert made.score(stored(Z[n:], storage), y[n:]) > clean - (0.05 if spoil == "samples of zeros" else 0.02)


@each_model
@each_way
@each_storage
def test_an_outlier_leaves_a_finite_model(model, way, storage):
    X, y = sound_problem()
    expected = trained(model, way, X, y).score(X, y)
    X[700, 2] = 1e12
    made = trained(model, way, stored(X, storage), y)
    expect_finite(made, stored(X, storage))
    others = np.arange(len(y)) != 700
    # The feature itself may be lost, no more.
    assert made.score(stored(X[others], storage), y[others]) > expected - 0.05


@each_model
@each_way
@each_storage
def test_one_positive_only(model, way, storage):
    X, y = sound_problem(1000)
    y[:] = 0
    y[500] = 1
    expect_finite(trained(model, way, stored(X, storage), y), X)


@each_model
@each_way
def test_one_positive_in_a_hundred_thousand(model, way):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 3))
    y = np.zeros(len(X), dtype=int)
    y[[30_000, 170_000]] = 1
    X[y == 1, 0] += 8.0
    made = MAKERS[model]()
    if way == "fit":
        with pytest.warns(UserWarning, match="too few samples of one class"):
            made = MAKERS[model](n_passes=3).fit(X, y)
    else:
        for start in range(0, len(y), 50_000):
            made.partial_fit(X[start : start + 50_000], y[start : start + 50_000], classes=[0, 1])
    expect_finite(made, X[:1000])


@each_model
@each_way
def test_duplicated_rows(model, way):
    X, y = sound_problem(40)
    order = np.random.default_rng(0).permutation(40 * 50) % 40
    X, y = X[order], y[order]
    made = trained(model, way, X, y)
    expect_finite(made, X)
    assert made.score(X, y) > 0.8


@each_model
@each_way
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_rows_that_are_all_alike(model, way, storage):
    """Nothing can be learnt of constant features, and nothing must break."""
    X, y = np.ones((300, 4)), np.arange(300) % 3 == 0
    expect_finite(trained(model, way, stored(X, storage), y.astype(int)), X)
    expect_finite(trained(model, way, stored(0.0 * X, storage), y.astype(int)), X)


@each_model
@each_way
@each_storage
@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e160, 1e300])
def test_features_whose_squares_are_no_numbers(model, way, storage, size):
    if storage == "single":
        size = 1e-38 if size < 1.0 else 1e34
    X, y = sound_problem(1000)
    X = np.column_stack([X, size * np.sign(X[:, 0])])
    made = trained(model, way, stored(X, storage), y)
    expect_finite(made, stored(X, storage))
    assert made.score(stored(X, storage), y) > 0.7


@each_model
@each_way
@pytest.mark.parametrize("schedule", ["adaptive", "paper"])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 1e3, 1e12])
def test_strong_regularisers(model, way, schedule, alpha):
    X, y = sound_problem(1000)
    made = trained(model, way, X, y, schedule=schedule, alpha=alpha)
    expect_finite(made, X)


@each_model
@each_way
@pytest.mark.parametrize("schedule", ["adaptive", "paper"])
@pytest.mark.parametrize("eta0", [1e-12, 1e12])
def test_short_and_long_steps(model, way, schedule, eta0):
    X, y = sound_problem(1000)
    expect_finite(trained(model, way, X, y, schedule=schedule, eta0=eta0), X)


@each_model
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_size_of_weights(model, scale):
    X, y = sound_problem(1000)
    made = MAKERS[model]().fit(X, y, sample_weight=np.full(len(y), scale))
    expect_finite(made, X)
    assert made.score(X, y) > 0.7
