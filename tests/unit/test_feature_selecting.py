"""At most B features: against all feature subsets, against a generic solver of the relaxation, and in pipelines."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from metricwise import FeatureSelectingSVC, MultivariateSVC, certify, get_measure, measure_names
from metricwise.designs import make_design
from metricwise.results import Status
from metricwise.solvers import CuttingPlane, Limits, make_problem, run
from metricwise.solvers.feature_selection import FeatureSelection, best_parts

MEASURES = ["accuracy", "f1", "g_mean", "prbep", "roc_auc"]


def make_data(n_samples=200, n_features=8, informative=3, seed=0):
    return make_classification(
        n_samples, n_features, n_informative=informative, n_redundant=2, weights=[0.7], flip_y=0.05, random_state=seed
    )


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("weighted", [False, True], ids=["no weights", "weights"])
def test_bounds_hold_for_every_subset_and_the_selected_one_is_near_the_best(name, most, weighted):
    X, y = make_data(120, 6)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, y.size) if weighted else None
    constant = 0.0 if name == "roc_auc" else 1.0
    measure = get_measure(name)

    def problem(columns):
        return make_problem(make_design(X[:, columns], intercept=constant), y == 1, measure, 0.3, weights)

    everything = problem(list(range(6)))
    result, _ = run(FeatureSelection(most), everything, Limits(tol=1e-4))
    optima = {
        choice: run(CuttingPlane(), problem(list(choice)), Limits(tol=1e-5))[0].certificate.upper
        for choice in combinations(range(6), most)
    }
    best = min(optima.values())
    assert result.columns.size == most
    assert result.selection.lower <= best
    assert result.certificate.upper == pytest.approx(optima[tuple(result.columns)], rel=2e-4)
    assert result.selection.upper == result.certificate.upper
    assert result.certificate.upper <= 1.05 * best
    lowers = np.array([entry.lower for entry in result.history])
    assert np.all(np.diff(lowers) >= 0.0)
    assert np.all(np.diff([entry.objective for entry in result.history]) <= 1e-9)


def test_selecting_all_features_equals_the_multivariate_svm():
    X, y = make_data()
    few = FeatureSelectingSVC("f1", X.shape[1], C=0.3, threshold=0.0, tol=1e-4).fit(X, y)
    whole = MultivariateSVC("f1", C=0.3, threshold=0.0, tol=1e-4).fit(X, y)
    assert few.get_support().all()
    assert few.result_.certificate.upper == pytest.approx(whole.result_.certificate.upper, rel=2e-4)


def test_the_bound_is_near_the_optimum_of_the_relaxation():
    """min 1/2 sum w^2 / d + cost R with 0 <= d <= 1, sum d <= B, by a generic solver that lists all pairs."""
    X, y = make_data(14, 4, informative=2, seed=3)
    pairs = (X[y == 1][:, None, :] - X[y == 0][None, :, :]).reshape(-1, 4)
    cost, most = 0.5 * y.size, 2

    def objective(z):
        w, d, slack = z[:4], z[4:8], z[8:]
        return 0.5 * np.sum(w**2 / d) + cost * slack.mean()

    def gradient(z):
        w, d = z[:4], z[4:8]
        return np.concatenate([w / d, -0.5 * w**2 / d**2, np.full(len(pairs), cost / len(pairs))])

    found = minimize(
        objective,
        np.concatenate([np.zeros(4), np.full(4, 0.5), np.ones(len(pairs))]),
        jac=gradient,
        bounds=[(None, None)] * 4 + [(1e-6, 1.0)] * 4 + [(0.0, None)] * len(pairs),
        constraints=[
            {"type": "ineq", "fun": lambda z: most - z[4:8].sum()},
            {"type": "ineq", "fun": lambda z: pairs @ z[:4] + z[8:] - 1.0},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert found.success
    problem = make_problem(make_design(X), y == 1, get_measure("roc_auc"), 0.5)
    result, _ = run(FeatureSelection(most), problem, Limits(tol=1e-4))
    assert result.selection.lower <= found.fun * (1.0 + 1e-6) <= result.certificate.upper * (1.0 + 1e-5)
    assert result.selection.lower >= 0.95 * found.fun


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_parts_are_optimal_for_the_weights(most):
    weights = np.random.default_rng(most).normal(size=6) * [1.0, 5.0, 0.1, 1.0, 2.0, 1e-3]
    parts = best_parts(weights, most)
    found = minimize(
        lambda d: np.sum(weights**2 / d),
        np.full(6, most / 6),
        bounds=[(1e-9, 1.0)] * 6,
        constraints=[{"type": "ineq", "fun": lambda d: most - d.sum()}],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert parts.max() <= 1.0 and parts.sum() <= most + 1e-12
    assert np.sum(weights**2 / parts) <= found.fun * (1.0 + 1e-6)


def test_few_weights_get_parts_of_one():
    np.testing.assert_array_equal(best_parts(np.array([0.0, 2.0, -0.1, 0.0]), 2), [0.0, 1.0, 1.0, 0.0])


def test_informative_features_are_selected_among_many():
    rng = np.random.default_rng(0)
    where = rng.integers(600, size=60_000), rng.integers(99_997, size=60_000)
    noise = sparse.coo_array((rng.normal(size=60_000), where), shape=(600, 99_997)).tocsc()
    matter, dense = np.array([7, 40_000, 99_999]), rng.normal(size=(600, 3))
    parts = [noise[:, :7], dense[:, :1], noise[:, 7:39_999], dense[:, 1:2], noise[:, 39_999:], dense[:, 2:]]
    X = sparse.hstack(parts, format="csr")
    y = (dense @ [1.0, -1.0, 1.0] + 0.2 * rng.normal(size=600) > 0.5).astype(int)
    model = FeatureSelectingSVC("f1", 3, C=0.1).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(model.get_support()), matter)
    np.testing.assert_array_equal(model.result_.columns, matter)
    assert np.flatnonzero(model.coef_[0]).tolist() == matter.tolist()
    np.testing.assert_array_equal(model.transform(X).toarray(), dense)


@pytest.mark.parametrize("kind", ["dense", "columns", "sparse", "single"])
def test_every_design_gives_the_same_model(kind):
    X, y = make_data()
    X = np.round(8 * X) / 8
    stored = {
        "dense": X,
        "columns": np.asfortranarray(X),
        "sparse": sparse.csr_array(X),
        "single": X.astype(np.float32),
    }[kind]
    first = FeatureSelectingSVC("f1", 3, C=0.3).fit(X, y)
    other = FeatureSelectingSVC("f1", 3, C=0.3).fit(stored, y)
    np.testing.assert_array_equal(first.get_support(), other.get_support())
    np.testing.assert_allclose(first.coef_, other.coef_, atol=1e-2 * np.abs(first.coef_).max())


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, "dense") for name in measure_names("FeatureSelectingSVC")]
    + [("f1", kind) for kind in ("sparse", "weights", "no intercept")],
)
@pytest.mark.filterwarnings("ignore:the surrogate of")
def test_certify_agrees_with_training(name, kind):
    X, y = make_data()
    weights = np.random.default_rng(2).integers(0, 4, y.size) if kind == "weights" else None
    samples = sparse.csr_array(X) if kind == "sparse" else X
    model = FeatureSelectingSVC(name, 3, C=0.3, threshold=0.0, fit_intercept=kind != "no intercept")
    model.fit(samples, y, sample_weight=weights)
    found, trained = certify(model, samples, y, sample_weight=weights), model.result_.certificate
    assert found.upper == pytest.approx(trained.upper, rel=1e-6)
    assert found.lower == pytest.approx(trained.lower, rel=1e-3)
    assert found.relative <= 2e-3


def test_certify_rejects_weights_on_unselected_features():
    X, y = make_data()
    model = FeatureSelectingSVC("f1", 3, threshold=0.0).fit(X, y)
    model.result_.weights[np.flatnonzero(~model.get_support())[0]] = 1.0
    with pytest.raises(ValueError, match="did not choose"):
        certify(model, X, y)


def test_integer_weights_equal_repeated_samples():
    X, y = make_data()
    copies = np.random.default_rng(3).integers(0, 3, y.size)
    weighted = FeatureSelectingSVC("prbep", 3, C=0.3, threshold=0.0).fit(X, y, sample_weight=copies)
    repeated = FeatureSelectingSVC("prbep", 3, C=0.3, threshold=0.0).fit(np.repeat(X, copies, 0), np.repeat(y, copies))
    np.testing.assert_array_equal(weighted.get_support(), repeated.get_support())
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)


def test_pipelines_and_grid_search_select_features():
    X, y = make_classification(300, 20, n_informative=4, n_redundant=0, class_sep=2.0, random_state=0)
    selecting = make_pipeline(StandardScaler(), FeatureSelectingSVC("f1", 4, threshold="train"), LogisticRegression())
    assert selecting.fit(X, y).score(X, y) > 0.8
    assert selecting[-1].coef_.shape == (1, 4)
    names = selecting[:-1].get_feature_names_out()
    assert len(names) == 4 and set(names) <= {f"x{k}" for k in range(20)}
    search = GridSearchCV(FeatureSelectingSVC("f1", threshold=0.0), {"n_features": [1, 6]}, cv=3).fit(X, y)
    assert search.best_estimator_.get_support().sum() == search.best_params_["n_features"]
    one = FeatureSelectingSVC("f1", 4, threshold="train")
    multiclass = OneVsRestClassifier(one).fit(X, np.digitize(X[:, 0], [-1.0, 9.0]) + 2 * y)
    assert [model.get_support().sum() for model in multiclass.estimators_] == [4, 4, 4, 4]


def test_half_of_the_features_are_selected_by_default():
    X, y = make_data()
    assert FeatureSelectingSVC(threshold=0.0).fit(X, y).get_support().sum() == X.shape[1] // 2


def test_limits_and_callback_stop_training():
    X, y = make_data(300, 30)
    seen = []
    model = FeatureSelectingSVC("f1", 3, threshold=0.0, callback=lambda entry: seen.append(entry) or True).fit(X, y)
    assert (model.result_.status, len(seen), model.n_iter_) == (Status.STOPPED, 1, 1)
    assert model.get_support().sum() == 3
    with pytest.warns(match="max_seconds"):
        hurried = FeatureSelectingSVC("f1", 3, threshold=0.0, max_seconds=1e-6).fit(X, y)
    assert hurried.get_support().sum() == 3


def test_uninformative_features_are_degenerate():
    X = np.repeat(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), 4, axis=0)
    with pytest.warns(match="degenerate"):
        model = FeatureSelectingSVC("prbep", 2, threshold=0.0).fit(X, np.tile([0, 1], 4))
    assert model.get_support().sum() == 2


def test_too_large_n_features_raises_and_leaves_the_model_unchanged():
    X, y = make_data()
    model = FeatureSelectingSVC("f1", 2, threshold=0.0).fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="n_features=9 exceeds the 8 features of X: choose at most 8"):
        model.set_params(n_features=9).fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("settings", [{"C": -1.0}, {"n_features": 0}, {"n_features": 2.5}, {"tol": -1.0}])
def test_invalid_parameters_are_named(settings):
    X, y = make_data()
    with pytest.raises(ValueError, match=f"'{next(iter(settings))}' parameter of FeatureSelectingSVC"):
        clone(FeatureSelectingSVC(**settings)).fit(X, y)


def test_unsupported_training_raises():
    X, y = make_data()
    with pytest.raises(TypeError, match="recall_at_precision"):
        FeatureSelectingSVC("recall_at_precision").fit(X, y)
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        FeatureSelectingSVC().fit(X, np.digitize(X[:, 0], [-1.0, 1.0]))


@pytest.mark.parametrize(
    "first", [{"max_iter": 1}, {"max_seconds": 1e-6}, {"tol": 0.2}], ids=lambda limits: str(limits)
)
def test_a_resumed_run_keeps_to_its_own_limits(first):
    X, y = make_data()
    problem, solver = make_problem(make_design(X, intercept=1.0), y == 1, get_measure("f1"), 0.3), FeatureSelection(3)
    _, state = run(solver, problem, Limits(**({"tol": 1e-5} | first)))
    result, _ = run(solver, problem, Limits(tol=1e-5), state)
    assert result.status.reached_tolerance
    assert result.certificate.relative <= 1e-5
