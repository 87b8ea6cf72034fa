"""MultivariateSVC with multi_class="joint": predictions, offsets, certificates, files and refusals."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

import metricwise
from metricwise import CostMatrix, MultivariateSVC, certify

COSTS = CostMatrix([[0, 1, 5], [1, 0, 2], [20, 10, 0]])


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X)[::2], np.array(["a", "b", "c"])[y][::2]


def make(measure="accuracy", **parameters):
    return MultivariateSVC(measure, multi_class="joint", **({"threshold": 0.0} | parameters))


def test_predicts_as_the_machine_of_crammer_and_singer(iris):
    model = make(tol=1e-6).fit(*iris)
    peer = LinearSVC(multi_class="crammer_singer", tol=1e-8, max_iter=1_000_000).fit(*iris)
    assert model.coef_.shape == (3, 4)
    assert model.decision_function(iris[0]) == pytest.approx(peer.decision_function(iris[0]), abs=0.02)
    assert np.array_equal(model.predict(iris[0]), peer.predict(iris[0]))
    assert model.score(*iris) == pytest.approx(peer.score(*iris))


@pytest.mark.parametrize("measure", ["accuracy", "balanced_accuracy", "min_rate", "f1_micro", COSTS])
def test_certificate_is_recomputed(iris, measure):
    X, y = iris
    weights = np.where(np.arange(len(y)) % 4 == 0, 2.5, 1.0)
    model = make(measure, C=0.2).fit(X, y, weights)
    again = certify(model, X, y, weights)
    own = model.result_.certificate
    assert again.upper == pytest.approx(own.upper, rel=1e-6)
    assert again.lower == pytest.approx(own.lower, rel=1e-6)
    assert again.relative < 1.01e-3


def test_certificate_notices_other_weights_and_labels(iris):
    X, y = iris
    model = make().fit(X, y)
    with pytest.raises(ValueError, match="y has the labels"):
        certify(model, X[y != "a"], y[y != "a"])
    better = certify(model, X, y)
    worse = certify(model, X, np.roll(y, 1))
    assert worse.upper > better.upper
    model.coef_ = model.coef_ + 0.1
    with pytest.raises(ValueError, match="other weights than those of its certificate"):
        certify(model, X, y)


def test_offsets_are_chosen_out_of_fold():
    X, y = make_classification(
        300, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, weights=[0.8, 0.15], class_sep=0.7, random_state=1
    )
    plain = make("min_rate", C=0.1).fit(X, y)
    tuned = make("min_rate", C=0.1, threshold="cv").fit(X, y)
    assert np.all(plain.threshold_ == 0.0)
    assert tuned.threshold_.shape == (3,)
    assert np.any(tuned.threshold_ != 0.0)
    assert tuned.coef_ == pytest.approx(plain.coef_)
    assert make("min_rate", C=0.1, threshold="train").fit(X, y).score(X, y) >= plain.score(X, y)


def test_weights_are_copies(iris):
    X, y = iris
    counts = 1 + np.arange(len(y)) % 2
    weighted = make("balanced_accuracy", tol=1e-5).fit(sparse.csr_array(X), y, counts)
    copied = make("balanced_accuracy", tol=1e-5).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.coef_ == pytest.approx(copied.coef_)
    without = make(tol=1e-5).fit(X, y, (y != "a") * 1.0)  # a class without weight is none
    assert without.classes_.tolist() == ["b", "c"]


def test_survives_files_and_clones(iris, tmp_path):
    model = make("min_rate", threshold="cv").fit(*iris)
    metricwise.save(model, tmp_path / "model.mw")
    loaded = metricwise.load(tmp_path / "model.mw")
    assert np.array_equal(loaded.decision_function(iris[0]), model.decision_function(iris[0]))
    assert certify(loaded, *iris) == certify(model, *iris)
    assert clone(model).fit(*iris).coef_ == pytest.approx(model.coef_)


def test_two_classes_are_a_binary_problem(iris):
    X, y = iris
    X, y = X[y != "a"], y[y != "a"]
    joint, single = make("f1", pos_label="b").fit(X, y), MultivariateSVC("f1", threshold=0.0, pos_label="b").fit(X, y)
    assert np.array_equal(joint.coef_, single.coef_)
    assert joint.result_.certificate == single.result_.certificate


@pytest.mark.parametrize("measure", ["g_mean", "f1", "mcc"])
def test_measures_without_an_oracle_are_refused(iris, measure):
    with pytest.raises(TypeError, match="multi_class='joint' is for 'accuracy', 'balanced_accuracy', 'min_rate'"):
        make(measure).fit(*iris)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "rbf"}, "does not take a kernel"),
        ({"warm_start": True}, "does not take warm_start"),
        ({"checkpoint": "state.npz"}, "does not take checkpoint"),
        ({"measure": COSTS, "threshold": "cv"}, "set threshold=0.0"),
    ],
)
def test_parameters_of_binary_problems_are_refused(iris, parameters, message):
    with pytest.raises(ValueError, match=message):
        make(**parameters).fit(*iris)


def test_costs_are_scored_as_totals(iris):
    X, y = iris
    model = make(CostMatrix(COSTS.costs, classes=["a", "b", "c"])).fit(X, y)
    assert model.score(X, y) == model.measure_.score(y, model.predict(X))
