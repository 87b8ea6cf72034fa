"""Kernels with every measure: the model equals a linear one on explicit features, for every form of kernel."""

from __future__ import annotations

import pickle
import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels, rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import scale

from metricwise import AUCSVC, MultivariateSVC, PartialAuc, Status
from tests.contracts.cases import MEASURES, make_data

GAMMA = 0.15
X, POSITIVE = make_data(n_samples=70, n_features=4, seed=3)
X[5], POSITIVE[5] = X[11], POSITIVE[11]  # copies are merged
OTHERS, _ = make_data(n_samples=25, n_features=4, seed=4)
K = pairwise_kernels(X, metric="rbf", gamma=GAMMA)
IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = scale(IRIS)[::2]
SPECIES = np.array(["setosa", "versicolor", "virginica"])[SPECIES][::2]

each_measure = pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
each_approximation = pytest.mark.parametrize("approximation", ["exact", "cpsp", "nystroem"])

ESTIMATORS = {
    "multivariate": MultivariateSVC("f1", C=0.5),
    "multivariate roc area": MultivariateSVC("roc_auc", C=0.5),
    "auc norm 1": AUCSVC(0.5),
    "auc norm 2": AUCSVC(0.5, 2),
    "auc partial": AUCSVC(0.5, measure=PartialAuc(0.0, 0.3)),
}
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


def compute_features(K):
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def fit_quietly(model, *data):
    """Return the fitted model; degenerate surrogates on few samples are expected."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the surrogate of")
        return model.fit(*data)


def make_kernel_model(estimator, **settings):
    return clone(estimator).set_params(**{"kernel": "rbf", "gamma": GAMMA} | settings)


def get_objective(model):
    return model.result_.certificate.upper


def get_raw_scores(model, samples):
    return model.decision_function(samples) + model.threshold_


# ---------------------------------------------------------------------------------------- kernels and explicit features


@each_measure
@pytest.mark.parametrize("constant", [0.0, 2.0], ids=["no intercept", "intercept"])
def test_a_kernel_model_equals_a_linear_model_of_its_features(measure, constant):
    settings = {"fit_intercept": constant > 0.0, "intercept_scaling": constant or 1.0, "tol": 1e-7, "threshold": 0.0}
    settings["max_iter"] = 3000
    by_kernel = fit_quietly(MultivariateSVC(measure, 0.5, kernel="rbf", gamma=GAMMA, **settings), X, POSITIVE)
    features = compute_features(K)
    linear = fit_quietly(MultivariateSVC(measure, 0.5, **settings), features, POSITIVE)
    assert by_kernel.result_.status.reached_tolerance and linear.result_.status is by_kernel.result_.status
    assert get_objective(by_kernel) == pytest.approx(get_objective(linear), rel=1e-6)
    # Both are within the gap of the optimum, and the objective grows as half the squared distance.
    near = np.sqrt(8e-7 * get_objective(linear)) * np.sqrt(1.0 + constant**2)
    np.testing.assert_allclose(by_kernel.decision_function(X), linear.decision_function(features), atol=near)


@pytest.mark.parametrize("norm", [1, 2])
def test_a_pairwise_kernel_model_equals_a_linear_model_of_its_features(norm):
    by_kernel = AUCSVC(0.5, norm, kernel="rbf", gamma=GAMMA, tol=1e-7).fit(X, POSITIVE)
    features = compute_features(K)
    linear = AUCSVC(0.5, norm, tol=1e-7, threshold=0.0).fit(features, POSITIVE)
    assert get_objective(by_kernel) == pytest.approx(get_objective(linear), rel=1e-6)
    near = np.sqrt(8e-7 * get_objective(linear))
    np.testing.assert_allclose(get_raw_scores(by_kernel, X), linear.decision_function(features), atol=near)


@each_estimator
def test_the_out_of_fold_threshold_equals_that_of_a_linear_model(estimator):
    """The folds are given, as content hashes differ between the two forms of the samples."""
    cv = list(StratifiedKFold(3).split(X, POSITIVE))
    by_kernel = make_kernel_model(estimator, tol=1e-7, cv=cv).fit(X, POSITIVE)
    linear = clone(estimator).set_params(tol=1e-7, cv=cv).fit(compute_features(K), POSITIVE)
    assert by_kernel.threshold_ == pytest.approx(linear.threshold_, abs=5e-3)


# ------------------------------------------------------------------------------------------------ forms of kernels


def own_kernel(A, B):
    return rbf_kernel(A, B, gamma=GAMMA)


FORMS = {
    "callable": (X, OTHERS, {"kernel": own_kernel}),
    "csr": (sparse.csr_array(X), sparse.csr_array(OTHERS), {}),
    "csr matrix": (sparse.csr_matrix(X), sparse.csr_matrix(OTHERS), {}),
    "columns": (np.asfortranarray(X), np.asfortranarray(OTHERS), {}),
    "single": (X.astype(np.float32), OTHERS.astype(np.float32), {}),
    "precomputed": (K, rbf_kernel(OTHERS, X, gamma=GAMMA), {"kernel": "precomputed"}),
    "precomputed columns": (
        np.asfortranarray(K),
        np.asfortranarray(rbf_kernel(OTHERS, X, gamma=GAMMA)),
        {"kernel": "precomputed"},
    ),
}


@each_estimator
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("approximation", ["exact", "nystroem"])
def test_every_form_of_a_kernel_gives_the_same_model(form, estimator, approximation):
    data, others, settings = FORMS[form]
    shared = {"approximation": approximation, "n_basis": 12, "tol": 1e-6, "threshold": 0.0}
    expected = fit_quietly(make_kernel_model(estimator, **shared), X, POSITIVE)
    model = fit_quietly(make_kernel_model(estimator, **shared | settings), data, POSITIVE)
    assert get_objective(model) == pytest.approx(get_objective(expected), rel=1e-5)
    near = np.sqrt(4e-5 * get_objective(expected)) * np.sqrt(2.0)
    np.testing.assert_allclose(model.decision_function(others), expected.decision_function(OTHERS), atol=near)
    assert model.approximation_ == approximation
    if approximation == "nystroem":
        np.testing.assert_array_equal(model.support_, expected.support_)


@each_estimator
@each_approximation
def test_a_single_precision_matrix_gives_the_same_model(estimator, approximation):
    shared = {"approximation": approximation, "tol": 1e-4, "threshold": "train"}
    expected = make_kernel_model(estimator, **shared).fit(X, POSITIVE)
    model = make_kernel_model(estimator, kernel="precomputed", **shared).fit(K.astype(np.float32), POSITIVE)
    assert get_objective(model) == pytest.approx(get_objective(expected), rel=1e-3)
    others = rbf_kernel(OTHERS, X, gamma=GAMMA).astype(np.float32)
    near = np.sqrt(8e-3 * get_objective(expected))
    np.testing.assert_allclose(get_raw_scores(model, others), get_raw_scores(expected, OTHERS), atol=near)


def test_data_are_not_changed():
    for data in (X.copy(), K.copy(), sparse.csr_array(X)):
        before = data.copy()
        kernel = "precomputed" if data.shape[0] == data.shape[1] else "rbf"
        MultivariateSVC("f1", kernel=kernel, approximation="cpsp", n_basis=10).fit(data, POSITIVE)
        MultivariateSVC("f1", kernel=kernel).fit(data, POSITIVE)
        assert abs(data - before).max() == 0.0


@each_estimator
@pytest.mark.parametrize("weights", ["none", "whole", "real"])
def test_predictions_from_support_vectors_equal_those_of_the_whole_matrix(estimator, weights):
    rng = np.random.default_rng(0)
    kinds = {"none": None, "whole": rng.integers(0, 3, size=70).astype(float), "real": rng.uniform(0.0, 2.0, size=70)}
    model = fit_quietly(make_kernel_model(estimator), X, POSITIVE, kinds[weights])
    coefficients = np.zeros(70)
    coefficients[model.support_] = model.dual_coef_[0]
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    scores = rbf_kernel(OTHERS, X, gamma=GAMMA) @ coefficients + model.intercept_[0]
    np.testing.assert_allclose(get_raw_scores(model, OTHERS), scores, atol=1e-10)
    np.testing.assert_array_equal(model.predict(OTHERS), scores > model.threshold_)
    assert not hasattr(model, "coef_")
    if kinds[weights] is not None:
        assert not np.any(kinds[weights][model.support_] == 0.0), "a sample of weight zero is a support vector"


@each_estimator
def test_predictions_do_not_depend_on_blocks(estimator, monkeypatch):
    model = make_kernel_model(estimator).fit(X, POSITIVE)
    whole = model.decision_function(OTHERS)
    monkeypatch.setattr("metricwise.designs.kernel_function.BLOCK_SAMPLES", 4)
    np.testing.assert_allclose(model.decision_function(OTHERS), whole, atol=1e-12)
    again = make_kernel_model(estimator).fit(X, POSITIVE)
    assert get_objective(again) == pytest.approx(get_objective(model), rel=2e-3)


@each_estimator
@each_approximation
def test_results_do_not_depend_on_the_number_of_threads(estimator, approximation):
    settings = {"approximation": approximation, "n_basis": 15}
    one = fit_quietly(make_kernel_model(estimator, n_jobs=1, **settings), X, POSITIVE)
    two = fit_quietly(make_kernel_model(estimator, n_jobs=2, **settings), X, POSITIVE)
    np.testing.assert_array_equal(one.support_, two.support_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert one.threshold_ == two.threshold_


# ------------------------------------------------------------------------------------------------------ approximations


@each_estimator
@pytest.mark.parametrize("approximation", ["cpsp", "nystroem"])
@pytest.mark.parametrize(
    "kernel",
    [{"kernel": "rbf", "gamma": GAMMA}, {"kernel": "poly", "degree": 2, "coef0": 1.0}, {"kernel": laplacian_kernel}],
    ids=["rbf", "poly", "laplacian"],
)
def test_a_basis_of_all_samples_is_exact(estimator, approximation, kernel):
    exact = clone(estimator).set_params(tol=1e-6, threshold=0.0, **kernel).fit(X, POSITIVE)
    model = clone(exact).set_params(approximation=approximation, n_basis=70).fit(X, POSITIVE)
    assert get_objective(model) == pytest.approx(get_objective(exact), rel=1e-5)
    near = np.sqrt(8e-5 * get_objective(exact)) * np.sqrt(1.0 + np.abs(pairwise_kernels(X, metric="rbf")).max())
    if kernel["kernel"] == "rbf":
        np.testing.assert_allclose(get_raw_scores(model, OTHERS), get_raw_scores(exact, OTHERS), atol=near)


@each_estimator
@pytest.mark.parametrize("approximation", ["cpsp", "nystroem"])
@pytest.mark.parametrize("n_basis", [1, 2, 5, 13])
def test_a_basis_has_the_requested_size(estimator, approximation, n_basis):
    model = make_kernel_model(estimator, approximation=approximation, n_basis=n_basis, tol=1e-4, threshold="train")
    fit_quietly(model, X, POSITIVE)
    assert model.support_.size <= n_basis
    assert model.support_.size >= n_basis - 1  # a coefficient may be zero
    # Functions on a basis are functions of the space: no objective is below the optimum.
    exact = make_kernel_model(estimator, tol=1e-4, threshold="train").fit(X, POSITIVE)
    assert get_objective(model) >= exact.result_.certificate.lower * (1.0 - 1e-6)


@each_estimator
def test_pursuit_is_better_than_a_random_basis(estimator):
    found = {"cpsp": [], "nystroem": []}
    for approximation, values in found.items():
        for seed in range(4):
            settings = {"approximation": approximation, "n_basis": 10, "random_state": seed, "threshold": 0.0}
            values.append(get_objective(fit_quietly(make_kernel_model(estimator, **settings), X, POSITIVE)))
    assert np.mean(found["cpsp"]) <= np.mean(found["nystroem"])


@each_estimator
@pytest.mark.parametrize("approximation", ["cpsp", "nystroem"])
def test_the_objective_of_an_approximation_equals_that_of_its_function(estimator, approximation):
    """The certificate belongs to the function that predicts, including its norm."""
    model = make_kernel_model(estimator, approximation=approximation, n_basis=12, tol=1e-6, threshold=0.0).fit(
        X, POSITIVE
    )
    coefficients = np.zeros(70)
    coefficients[model.support_] = model.dual_coef_[0]
    constant = model.intercept_[0] ** 2 if model.intercept_value else 0.0
    half_square = 0.5 * (coefficients @ K @ coefficients + constant)
    certificate = model.result_.certificate
    cost = (certificate.upper - half_square) / certificate.loss_bound
    exact = make_kernel_model(estimator, tol=1e-6, threshold=0.0).fit(X, POSITIVE)
    samples = exact.support_
    square = 0.5 * (exact.dual_coef_[0] @ K[np.ix_(samples, samples)] @ exact.dual_coef_[0])
    square += 0.5 * (exact.intercept_[0] ** 2 if exact.intercept_value else 0.0)
    expected = (get_objective(exact) - square) / exact.result_.certificate.loss_bound
    assert cost == pytest.approx(expected, rel=1e-6)


def test_many_samples_are_approximated_by_default(monkeypatch):
    monkeypatch.setattr("metricwise.estimators.svm.kernel._MOST_SAMPLES_FOR_EXACT", 69)
    assert MultivariateSVC("f1", kernel="rbf").fit(X, POSITIVE).approximation_ == "cpsp"
    assert MultivariateSVC("f1", kernel="rbf", approximation="exact").fit(X, POSITIVE).approximation_ == "exact"
    monkeypatch.setattr("metricwise.estimators.svm.kernel._MOST_SAMPLES_FOR_EXACT", 70)
    assert MultivariateSVC("f1", kernel="rbf").fit(X, POSITIVE).approximation_ == "exact"


def test_equal_samples_give_a_constant_model():
    """Only constant functions exist; the model predicts nevertheless."""
    data, y = np.ones((30, 3)), np.arange(30) % 3 == 0
    for settings in ({}, {"approximation": "nystroem"}, {"approximation": "cpsp", "n_basis": 9}):
        for estimator in ESTIMATORS.values():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                model = make_kernel_model(estimator, **settings).fit(data, y)
            assert np.isfinite(model.decision_function(data)).all()
            assert model.predict(np.zeros((2, 3))).shape == (2,)


# ----------------------------------------------------------------------------------------------- more than two classes


@each_estimator
@pytest.mark.parametrize("approximation", ["exact", "nystroem"])
def test_one_vs_rest_equals_binary_models(estimator, approximation):
    settings = {"approximation": approximation, "n_basis": 20, "tol": 1e-5, "threshold": "train"}
    model = fit_quietly(make_kernel_model(estimator, **settings), IRIS, SPECIES)
    scores = model.decision_function(IRIS)
    assert scores.shape == (75, 3) and model.dual_coef_.shape == (3, model.support_.size)
    for k, label in enumerate(model.classes_):
        alone = fit_quietly(make_kernel_model(estimator, **settings), IRIS, label == SPECIES)
        assert model.result_[k].certificate.upper == pytest.approx(get_objective(alone), rel=1e-4)
        near = np.sqrt(8e-5 * get_objective(alone)) * np.sqrt(2.0)
        np.testing.assert_allclose(scores[:, k] + model.threshold_[k], get_raw_scores(alone, IRIS), atol=near)
    assert np.mean(model.predict(IRIS) == SPECIES) > 0.85


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(
    ("kernel", "approximation"),
    [
        ("linear", "exact"),
        ("rbf", "exact"),
        ("rbf", "nystroem"),
        ("precomputed", "exact"),
        ("precomputed", "cpsp"),
    ],
)
def test_one_vs_one_equals_voting_binary_models(norm, kernel, approximation):
    """Compare with binary models of every pair of classes, whose votes are counted here."""
    gram = rbf_kernel(IRIS, gamma=0.2)
    settings = {"kernel": kernel, "gamma": 0.2, "tol": 1e-6, "approximation": approximation, "n_basis": 200}
    settings["threshold"] = "train"
    data = gram if kernel == "precomputed" else IRIS
    model = AUCSVC(0.5, norm, multi_class="ovo", **settings).fit(data, SPECIES)
    votes, sums = np.zeros((75, 3)), np.zeros((75, 3))
    for k, (one, other) in enumerate(combinations(range(3), 2)):
        samples = np.flatnonzero(np.isin(SPECIES, model.classes_[[one, other]]))
        part = gram[np.ix_(samples, samples)] if kernel == "precomputed" else IRIS[samples]
        binary = AUCSVC(0.5, norm, pos_label=model.classes_[one], **settings).fit(part, SPECIES[samples])
        assert model.result_[k].certificate.upper == pytest.approx(get_objective(binary), rel=1e-5)
        assert model.threshold_[k] == pytest.approx(-binary.threshold_, abs=2e-2)
        towards = -binary.decision_function(gram[:, samples] if kernel == "precomputed" else IRIS)
        votes[:, one] += towards > 0
        votes[:, other] += towards <= 0
        sums[:, one] += towards
        sums[:, other] -= towards
    decision = model.decision_function(data)
    assert decision.shape == (75, 3)
    clear = np.abs(sums).min(axis=1) > 0.2
    np.testing.assert_array_equal(np.round(decision)[clear], votes[clear])
    winners = np.argmax(votes + sums / (3.0 * (np.abs(sums) + 1.0)), axis=1)
    np.testing.assert_array_equal(model.predict(data)[clear], model.classes_[winners][clear])
    assert np.mean(model.predict(data) == SPECIES) > 0.9
    assert model.score(data, SPECIES) > 0.95


def test_one_vs_one_supports_weights_and_two_classes():
    weights = np.where(SPECIES == "virginica", 0.0, 1.0)
    two = AUCSVC(kernel="rbf", multi_class="ovo").fit(IRIS, SPECIES, weights)
    assert list(two.classes_) == ["setosa", "versicolor"] and two.decision_function(IRIS).ndim == 1
    samples = weights > 0
    plain = AUCSVC(kernel="rbf", gamma=two.gamma_).fit(IRIS[samples], SPECIES[samples])
    assert get_objective(two) == pytest.approx(get_objective(plain), rel=1e-6)
    with pytest.raises(ValueError, match="multi_class='off'"):
        AUCSVC(kernel="rbf", multi_class="off").fit(IRIS, SPECIES)


# --------------------------------------------------------------------------------------------- pickling and warm starts


@each_estimator
@pytest.mark.parametrize("approximation", ["exact", "nystroem"])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed", own_kernel], ids=["rbf", "precomputed", "callable"])
def test_pickled_models_predict_the_same(estimator, approximation, kernel):
    data, others = (K, rbf_kernel(OTHERS, X, gamma=GAMMA)) if kernel == "precomputed" else (X, OTHERS)
    model = fit_quietly(
        make_kernel_model(estimator, kernel=kernel, approximation=approximation, n_basis=10, threshold="train"),
        data,
        POSITIVE,
    )
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(others), model.decision_function(others))
    np.testing.assert_array_equal(again.predict(others), model.predict(others))
    assert len(pickle.dumps(model)) < 500_000


@each_estimator
def test_a_new_fit_discards_the_attributes_of_another_kernel(estimator):
    model = make_kernel_model(estimator).fit(X, POSITIVE)
    model.set_params(kernel="linear").fit(X, POSITIVE)
    assert model.coef_.shape == (1, 4)
    for name in ("dual_coef_", "support_", "support_vectors_", "approximation_", "gamma_"):
        assert not hasattr(model, name)
    assert model.decision_function(OTHERS).shape == (25,)
    model.set_params(kernel="rbf").fit(X, POSITIVE)
    assert not hasattr(model, "coef_")
    np.testing.assert_array_equal(
        model.decision_function(OTHERS), make_kernel_model(estimator).fit(X, POSITIVE).decision_function(OTHERS)
    )


def expect_the_cold_optimum(model, *data):
    """Check that a warm start reaches the optimum of a cold one; return the cold model."""
    fit_quietly(model, *data)
    cold = fit_quietly(clone(model).set_params(warm_start=False), *data)
    assert model.result_.status.reached_tolerance
    assert get_objective(model) == pytest.approx(get_objective(cold), rel=2 * model.tol)
    return cold


@each_approximation
@pytest.mark.parametrize(
    "change",
    [
        lambda model: (model.set_params(C=2.0), X, POSITIVE),
        lambda model: (model.set_params(C=0.05), X, POSITIVE),
        lambda model: (model.set_params(gamma=1.5), X, POSITIVE),
        lambda model: (model.set_params(kernel="poly", coef0=1.0), X, POSITIVE),
        lambda model: (model.set_params(kernel="poly", degree=2), X, POSITIVE),
        lambda model: (model.set_params(kernel=laplacian_kernel), X, POSITIVE),
        lambda model: (model.set_params(kernel="linear"), X, POSITIVE),
        lambda model: (model.set_params(kernel="precomputed"), K, POSITIVE),
        lambda model: (model.set_params(kernel="precomputed"), K**2, POSITIVE),
        lambda model: (model.set_params(n_basis=15), X, POSITIVE),
        lambda model: (model.set_params(random_state=7), X, POSITIVE),
        lambda model: (model.set_params(approximation="nystroem"), X, POSITIVE),
        lambda model: (model.set_params(approximation="exact"), X, POSITIVE),
        lambda model: (model, X + 0.25, POSITIVE),
        lambda model: (model, X[::-1].copy(), POSITIVE[::-1].copy()),
        lambda model: (model, X[:50], POSITIVE[:50]),
        lambda model: (model, np.vstack([X, OTHERS]), np.r_[POSITIVE, OTHERS[:, 0] > 0]),
        lambda model: (model, X, ~POSITIVE),
    ],
    ids=[
        "larger C",
        "smaller C",
        "gamma",
        "poly",
        "degree",
        "callable",
        "linear",
        "matrix",
        "other matrix",
        "basis",
        "seed",
        "nystroem",
        "exact",
        "samples",
        "order",
        "fewer samples",
        "more samples",
        "labels",
    ],
)
def test_warm_starts_reach_the_optimum_of_cold_starts(change, approximation):
    model = MultivariateSVC("f1", 0.5, kernel="rbf", gamma=GAMMA, approximation=approximation, n_basis=12)
    model.set_params(warm_start=True, threshold="train", tol=1e-4)
    fit_quietly(model, X, POSITIVE)
    changed, *data = change(model)
    cold = expect_the_cold_optimum(changed, *data)
    near = np.sqrt(8e-4 * get_objective(cold)) * np.sqrt(1.0 + 40.0)
    np.testing.assert_allclose(get_raw_scores(changed, data[0]), get_raw_scores(cold, data[0]), atol=near)


def test_a_second_fit_with_a_kernel_takes_few_iterations():
    model = MultivariateSVC("f1", 0.5, kernel="rbf", gamma=GAMMA, warm_start=True).fit(X, POSITIVE)
    first = model.n_iter_
    model.fit(X, POSITIVE)
    assert model.n_iter_ <= 2 < first
    again = pickle.loads(pickle.dumps(model)).set_params(C=0.6)
    assert again.fit(X, POSITIVE).result_.status is Status.OPTIMAL


# ---------------------------------------------------------------------------------------------------------- grid search


@pytest.mark.parametrize(
    ("estimator", "approximation"),
    [(ESTIMATORS["multivariate"], "exact"), (ESTIMATORS["multivariate"], "cpsp"), (ESTIMATORS["auc norm 2"], "exact")],
    ids=["multivariate exact", "multivariate cpsp", "auc norm 2 exact"],
)
def test_grid_search_slices_both_axes_of_a_kernel_matrix(estimator, approximation):
    shared = {"approximation": approximation, "n_basis": 10, "threshold": 0.0, "tol": 1e-6}
    grid, cv = {"C": [0.05, 1.0]}, StratifiedKFold(3)
    search = {"param_grid": grid, "cv": cv, "scoring": "roc_auc", "error_score": "raise"}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the surrogate of")
        given = GridSearchCV(make_kernel_model(estimator, kernel="precomputed", **shared), **search).fit(K, POSITIVE)
        made = GridSearchCV(make_kernel_model(estimator, **shared), **search).fit(X, POSITIVE)
        scores = cross_val_predict(
            make_kernel_model(estimator, kernel="precomputed", **shared), K, POSITIVE, cv=cv, method="decision_function"
        )
        expected = cross_val_predict(
            make_kernel_model(estimator, **shared), X, POSITIVE, cv=cv, method="decision_function"
        )
    np.testing.assert_allclose(given.cv_results_["mean_test_score"], made.cv_results_["mean_test_score"], atol=5e-3)
    assert given.best_estimator_.n_features_in_ == 70
    np.testing.assert_allclose(scores, expected, atol=5e-2)


def test_tags_describe_pairwise_sparse_and_multiclass_support():
    tags = MultivariateSVC(kernel="precomputed").__sklearn_tags__()
    assert tags.input_tags.pairwise and not tags.input_tags.sparse
    for kernel in ("linear", "rbf", own_kernel):
        tags = AUCSVC(kernel=kernel).__sklearn_tags__()
        assert not tags.input_tags.pairwise and tags.input_tags.sparse
    assert AUCSVC(multi_class="ovo").__sklearn_tags__().classifier_tags.multi_class
    assert not AUCSVC(multi_class="off").__sklearn_tags__().classifier_tags.multi_class
