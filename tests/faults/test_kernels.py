"""Kernels and rankings: invalid input raises with the remedy, and difficult input trains."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils._param_validation import InvalidParameterError

from metricwise import AUCSVC, MultivariateSVC, PartialAuc
from metricwise.designs import kernel_function

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 4))
Y = (X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * RNG.normal(size=N) > 0.4).astype(int)
K = rbf_kernel(X)

ESTIMATORS = {"multivariate": MultivariateSVC(), "auc norm 1": AUCSVC(), "auc norm 2": AUCSVC(norm=2)}
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
each_approximation = pytest.mark.parametrize("approximation", ["exact", "cpsp", "nystroem"])


def make_model(estimator, **settings):
    return type(estimator)(**estimator.get_params() | {"threshold": 0.0} | settings)


def expect_error(estimator, error, match, data=X, y=Y, **settings):
    """Check that fitting raises, and that a model fitted before stays unchanged."""
    with pytest.raises(error, match=match):
        make_model(estimator, **settings).fit(data, y)
    model = make_model(estimator, kernel="rbf", gamma=0.5).fit(X, Y)
    model.set_params(**settings)
    before = vars(model).copy()
    with pytest.raises(error, match=match):
        model.fit(data, y)
    expect_unchanged(model, before)


def expect_unchanged(model, before):
    after = vars(model)
    assert after.keys() == before.keys()
    changed = [name for name, value in after.items() if value is not before[name] and not is_equal(value, before[name])]
    assert not changed


def is_equal(one, other):
    return type(one) is type(other) and np.array_equal(one, other)


# ------------------------------------------------------------------------------------------------- precomputed matrices


@each_estimator
@each_approximation
def test_matrices_that_are_not_square_raise(estimator, approximation):
    settings = {"kernel": "precomputed", "approximation": approximation}
    expect_error(estimator, ValueError, r"needs a square matrix.*got shape \(60, 4\)", **settings)
    expect_error(estimator, ValueError, r"square matrix.*got shape \(60, 59\)", data=K[:, :-1], **settings)


@each_estimator
@pytest.mark.parametrize("approximation", ["exact", "nystroem"])
def test_matrices_that_are_not_symmetric_raise(estimator, approximation):
    wrong = K.copy()
    wrong[3, 17] += 0.01
    message = r"needs a symmetric matrix, but X\[(3, 17|17, 3)\] is .* and X\[(3, 17|17, 3)\] is"
    for data in (wrong, wrong.astype(np.float32), np.asfortranarray(wrong), 1e-8 * wrong, 1e8 * wrong):
        expect_error(estimator, ValueError, message, data=data, kernel="precomputed", approximation=approximation)


def test_asymmetry_up_to_rounding_is_accepted():
    expected = MultivariateSVC(kernel="precomputed", threshold=0.0).fit(K, Y).decision_function(K)
    noise = RNG.normal(size=K.shape)
    for noisy, far in ((K * (1.0 + 1e-13 * noise), 1e-6), ((K * (1.0 + 1e-6 * noise)).astype(np.float32), 0.05)):
        assert not np.array_equal(noisy, noisy.T)
        found = MultivariateSVC(kernel="precomputed", threshold=0.0).fit(noisy, Y).decision_function(K)
        np.testing.assert_allclose(found, expected, atol=far)


@each_estimator
def test_matrices_with_negative_eigenvalues_raise(estimator):
    message = (
        r"not positive semi-definite: it has the eigenvalue -\d.*the largest being .*Add a multiple of the identity"
    )
    for data in (K - 0.5 * np.eye(N), -K, K - 1.0, (K - 0.5 * np.eye(N)).astype(np.float32)):
        expect_error(estimator, ValueError, message, data=data, kernel="precomputed")


@pytest.mark.parametrize("least", [-1.0, -1e-3])
def test_large_matrices_with_negative_eigenvalues_raise(least):
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(600, 5))
    y = samples[:, 0] > 0.5
    direction = rng.normal(size=600)
    direction /= np.linalg.norm(direction)
    gram = samples @ samples.T
    outside = direction - samples @ np.linalg.lstsq(samples, direction, rcond=None)[0]
    outside /= np.linalg.norm(outside)
    wrong = gram + least * np.linalg.eigvalsh(gram)[-1] * np.outer(outside, outside)
    with pytest.raises(ValueError, match=r"not positive semi-definite: it has the eigenvalue -"):
        MultivariateSVC(kernel="precomputed").fit((wrong + wrong.T) / 2, y)
    MultivariateSVC(kernel="precomputed", threshold=0.0, tol=0.1).fit(gram, y)


@pytest.mark.parametrize("n_samples", [60, 600])
def test_indefinite_sigmoids_raise(n_samples):
    rng = np.random.default_rng(0)
    data, y = rng.normal(size=(n_samples, 3)), np.arange(n_samples) % 2
    for model in (MultivariateSVC(kernel="sigmoid", gamma=2.0, coef0=-2.0), AUCSVC(kernel="sigmoid", coef0=-3.0)):
        with pytest.raises(
            ValueError, match=r"not positive semi-definite.*Choose another kernel, or other values of gamma"
        ):
            model.fit(data, y)


def test_sigmoids_are_indefinite_beyond_rounding_errors_only():
    """A lower bound of 1 + 2e-12 was once reported where no weights at all reach 1."""
    data, y = np.array([[2.0, -999_997.0, -1.0], [2.0, -1_000_000.0, -1.0]]), np.array([1, 0])
    with pytest.raises(ValueError, match="not positive semi-definite"):
        MultivariateSVC("f1", kernel="sigmoid", threshold=0.0).fit(data, y)
    saturated = np.random.default_rng(0).normal(10.0, 0.1, size=(200, 3))  # all values are one
    AUCSVC(kernel="sigmoid", gamma=1.0, threshold=0.0).fit(saturated, np.arange(200) % 2)


def test_indefinite_polynomials_raise():
    with pytest.raises(ValueError, match="not positive semi-definite"):
        MultivariateSVC(kernel="poly", degree=2, coef0=-1.0).fit(X, Y)


@each_estimator
@each_approximation
def test_sparse_kernel_matrices_raise(estimator, approximation):
    settings = {"kernel": "precomputed", "approximation": approximation}
    expect_error(
        estimator, ValueError, r"takes a dense matrix, got a sparse one.*toarray", data=sparse.csr_array(K), **settings
    )
    model = make_model(estimator, **settings).fit(K, Y)
    with pytest.raises(ValueError, match="dense matrix, got a sparse one"):
        model.predict(sparse.csr_array(K))


@each_estimator
@each_approximation
def test_prediction_requires_one_column_per_training_sample(estimator, approximation):
    model = make_model(estimator, kernel="precomputed", approximation=approximation).fit(K, Y)
    name = type(model).__name__
    for data in (K[:5, :4], K[:5, :-1], X, np.column_stack([K, K])):
        with pytest.raises(ValueError, match=rf"X has \d+ features, but {name} is expecting 60 features"):
            model.predict(data)
    assert model.predict(K[:5]).shape == (5,)


def test_nan_in_a_kernel_matrix_raises():
    wrong = K.copy()
    wrong[3, 3] = np.nan
    expect_error(AUCSVC(), ValueError, "Input X contains NaN", data=wrong, kernel="precomputed")
    model = AUCSVC(kernel="rbf").fit(X, Y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict(np.full((2, 4), np.nan))


# --------------------------------------------------------------------------------------------------------- parameters


@each_estimator
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("kernel", ["RBF", "gaussian", None, 1]),
        ("gamma", [0.0, -1.0, np.nan, "best", None]),
        ("degree", [0, -1, 2.5, "three"]),
        ("coef0", ["zero", None, np.inf]),
        ("approximation", ["fourier", None, True]),
        ("n_basis", [0, -5, 2.5, "all"]),
    ],
)
def test_invalid_parameters_are_named(estimator, name, values):
    for value in values:
        expect_error(estimator, InvalidParameterError, f"'{name}' parameter.*must be", **{name: value})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("norm", [0, 3, 1.5, "1", None]),
        ("pairs", ["all", None]),
        ("n_clusters", [0, -3, 2.5, None]),
        ("multi_class", ["ovx", 3]),
        ("C", [0.0, -1.0, np.inf]),
    ],
)
def test_invalid_ranking_parameters_are_named(name, values):
    for value in values:
        expect_error(AUCSVC(), InvalidParameterError, f"'{name}' parameter.*must be", **{name: value})


@pytest.mark.parametrize("measure", ["partial_roc_auc", PartialAuc(0.1, 0.5), "two_way_partial_auc"], ids=str)
@pytest.mark.parametrize("settings", [{"norm": 2}, {"pairs": "kmeans"}, {"norm": 2, "pairs": "kmeans"}], ids=str)
def test_unsupported_settings_of_partial_areas_raise(measure, settings):
    message = r"for the whole area under the ROC curve.*set norm=1 and pairs='exact'"
    expect_error(AUCSVC(), ValueError, message, measure=measure, **{"kernel": "linear"} | settings)


@pytest.mark.parametrize(
    "kernel", ["rbf", "poly", "precomputed", rbf_kernel], ids=["rbf", "poly", "matrix", "callable"]
)
@pytest.mark.parametrize("norm", [1, 2])
def test_clusters_of_pairs_with_a_kernel_raise(kernel, norm):
    data = K if kernel == "precomputed" else X
    message = r"pairs='kmeans' clusters differences of features.*set pairs='exact', or kernel='linear'"
    expect_error(AUCSVC(), ValueError, message, data=data, kernel=kernel, norm=norm, pairs="kmeans")


@pytest.mark.parametrize("measure", ["f1", "accuracy", "prbep"])
def test_measures_that_are_not_ranking_measures_raise(measure):
    with pytest.raises(TypeError, match=f"measure '{measure}' lacks what AUCSVC needs.*roc_auc"):
        AUCSVC(measure=measure).fit(X, Y)


# ---------------------------------------------------------------------------------------------------------- callables


@each_estimator
@each_approximation
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (
            lambda A, B: rbf_kernel(A, B)[:, :-1],
            r"returned an array of shape \(\d+, \d+\) for \d+ and \d+ samples: it must",
        ),
        (lambda A, B: 1.0, r"returned an array of shape \(\) for"),
        (lambda A, B: np.ones(A.shape[0]), r"returned an array of shape \(\d+,\) for"),
        (lambda A, B: np.where(rbf_kernel(A, B) < 0.5, np.nan, 1.0), "values that are NaN or infinite.*gamma"),
        (lambda A, B: np.exp(1e6 * rbf_kernel(A, B)), "values that are NaN or infinite.*gamma"),
    ],
    ids=["short", "number", "vector", "NaN", "infinity"],
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_kernels_that_return_invalid_matrices_raise(estimator, approximation, kernel, message):
    expect_error(estimator, ValueError, message, kernel=kernel, approximation=approximation)


@each_estimator
def test_kernels_that_return_invalid_matrices_in_prediction_raise(estimator):
    answers = [rbf_kernel, lambda A, B: np.zeros((1, 1))]
    model = make_model(estimator, kernel=lambda A, B: answers[0](A, B)).fit(X, Y)
    del answers[0]
    with pytest.raises(ValueError, match=r"returned an array of shape \(1, 1\) for"):
        model.predict(X)


@each_estimator
def test_errors_of_callable_kernels_reach_the_user(estimator):
    def broken(A, B):
        raise RuntimeError("the service is down")

    expect_error(estimator, RuntimeError, "the service is down", kernel=broken)


@each_estimator
def test_callable_kernels_with_negative_eigenvalues_raise(estimator):
    message = "not positive semi-definite.*Choose another kernel"
    expect_error(estimator, ValueError, message, kernel=lambda A, B: -rbf_kernel(A, B))


# -------------------------------------------------------------------------------------------------------------- memory


@each_estimator
def test_a_kernel_matrix_larger_than_memory_raises(estimator, monkeypatch):
    """It raises before any memory is allocated, with the size and the remedy."""
    rng = np.random.default_rng(0)
    samples, y = rng.normal(size=(4000, 3)), np.arange(4000) % 2
    calls = []
    monkeypatch.setattr(kernel_function, "available_bytes", lambda: 100_000_000)
    monkeypatch.setattr(kernel_function, "pairwise_kernels", lambda *a, **k: calls.append(a))
    model = make_model(estimator, kernel="rbf", approximation="exact")
    tracemalloc.start()
    try:
        with pytest.raises(
            MemoryError, match=r"of 4000 samples takes 0\.1 GB, but about 0\.1 GB.*approximation='cpsp'"
        ):
            model.fit(samples, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not calls and peak < 20_000_000
    with pytest.raises(NotFittedError):
        model.predict(samples)


@each_estimator
@pytest.mark.parametrize("approximation", ["cpsp", "nystroem"])
def test_approximations_train_where_the_matrix_exceeds_memory(estimator, approximation, monkeypatch):
    monkeypatch.setattr(kernel_function, "available_bytes", lambda: 10_000)
    make_model(estimator, kernel="rbf", approximation=approximation, n_basis=5).fit(X, Y)
    with pytest.raises(MemoryError, match="approximation"):
        make_model(estimator, kernel="rbf", approximation="exact").fit(X, Y)


# ---------------------------------------------------------------------------------------------------------- few samples


@each_estimator
@each_approximation
def test_a_single_positive_warns_and_trains(estimator, approximation):
    """One positive suffices for a model; too few for folds gives a warning."""
    y = np.zeros(N, dtype=int)
    y[7] = 1
    model = type(estimator)(**estimator.get_params()).set_params(kernel="rbf", approximation=approximation, n_basis=9)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the surrogate of")
        with pytest.warns(UserWarning, match="threshold='cv' needs at least two distinct samples of each class"):
            model.fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    expect_error(estimator, ValueError, "only one class", y=np.zeros(N), kernel="rbf", approximation=approximation)


@each_estimator
@each_approximation
def test_two_samples_are_separated(estimator, approximation):
    model = make_model(estimator, kernel="rbf", gamma=0.5, C=5.0, approximation=approximation, n_basis=50)
    model.fit(X[:2], [0, 1])
    assert model.predict(X[:2]).tolist() == [0, 1]
    gram = rbf_kernel(X[:2], gamma=0.5)
    model.set_params(kernel="precomputed").fit(gram, [0, 1])
    assert model.predict(gram).tolist() == [0, 1]


# ---------------------------------------------------------------------------------------------------------- hard data


@each_estimator
@pytest.mark.parametrize("size", [1e8, 1e-8])
@pytest.mark.parametrize(
    ("kernel", "approximation"),
    [("linear", "exact"), ("rbf", "exact"), ("rbf", "cpsp"), ("rbf", "nystroem"), ("poly", "exact"), ("poly", "cpsp")],
)
def test_features_of_any_scale_give_finite_models(estimator, approximation, size, kernel):
    """Kernels with gamma="scale" do not depend on the scale; a linear model does, and C is adjusted."""
    settings = {"kernel": kernel, "approximation": approximation, "n_basis": 12}
    plain = make_model(estimator, C=1.0, **settings).fit(X, Y)
    cost = 1.0 if kernel != "linear" else size**-2.0
    if kernel == "linear" and "intercept_scaling" in estimator.get_params():
        settings["intercept_scaling"] = size
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = make_model(estimator, C=cost, **settings).fit(size * X, Y)
    assert model.result_.status is plain.result_.status
    near = 0.1 * np.abs(plain.decision_function(X)).max()
    np.testing.assert_allclose(model.decision_function(size * X), plain.decision_function(X), atol=near)
    reached = model.result_.certificate.upper / cost
    assert reached == pytest.approx(plain.result_.certificate.upper, rel=2e-3)


@each_estimator
@each_approximation
@pytest.mark.parametrize("size", [1e8, 1e-8])
def test_rescaled_kernel_matrices_and_C_give_the_same_optimum(estimator, approximation, size):
    settings = {"kernel": "precomputed", "approximation": approximation, "n_basis": 12}
    if "fit_intercept" in estimator.get_params():
        settings["fit_intercept"] = False
    model = make_model(estimator, C=1.0 / size, **settings).fit(size * K, Y)
    plain = make_model(estimator, C=1.0, **settings).fit(K, Y)
    assert size * model.result_.certificate.upper == pytest.approx(plain.result_.certificate.upper, rel=2e-3)


@each_estimator
@each_approximation
@pytest.mark.parametrize("gamma", [1e-12, 1e12])
def test_extreme_gamma_gives_finite_models(estimator, approximation, gamma):
    model = make_model(estimator, kernel="rbf", gamma=gamma, approximation=approximation, n_basis=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        model.fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.result_.certificate.gap >= 0.0


@pytest.mark.filterwarnings("ignore:overflow encountered")
@each_estimator
@each_approximation
def test_overflowing_kernels_raise(estimator, approximation):
    settings = {"kernel": "poly", "gamma": 1.0, "degree": 20, "approximation": approximation, "n_basis": 5}
    expect_error(estimator, ValueError, "NaN or infinite: scale the features", data=1e20 * X, **settings)


# ------------------------------------------------------------------------------------------------------- failed fits


@each_estimator
@pytest.mark.parametrize(
    ("settings", "data", "y"),
    [
        ({"kernel": "precomputed"}, K[:, :-1], Y),
        ({"kernel": "precomputed"}, -rbf_kernel(X[:40]), Y[:40]),
        ({"kernel": lambda A, B: np.zeros((1, 1))}, X[:, :2], Y),
        ({}, X[:, :3], np.zeros(N)),
        ({}, np.full((N, 4), np.nan), Y),
        ({"gamma": -1.0}, X[:, :3], Y),
    ],
    ids=["not square", "negative", "callable", "one class", "NaN", "parameter"],
)
def test_a_failed_fit_leaves_the_model_unchanged(estimator, settings, data, y):
    model = make_model(estimator, kernel="rbf").fit(X, Y)
    scores = model.decision_function(X)
    model.set_params(**settings)
    before = vars(model).copy()
    with pytest.raises(ValueError):
        model.fit(data, y)
    expect_unchanged(model, before)
    model.set_params(kernel="rbf", gamma="scale")
    np.testing.assert_array_equal(model.decision_function(X), scores)


@each_estimator
def test_a_failed_callback_leaves_the_model_unchanged(estimator):
    def broken(entry):
        raise RuntimeError("no more")

    model = make_model(estimator, kernel="rbf").fit(X, Y)
    model.set_params(callback=broken)
    before = vars(model).copy()
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(X[:50, :3], Y[:50])
    expect_unchanged(model, before)
