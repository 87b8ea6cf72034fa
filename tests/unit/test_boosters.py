"""Boosters of other packages as candidates: labels, missing values, categories, absence and broken installations."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification

from metricwise import MetricClassifier
from metricwise.estimators.selection.booster import INSTALL_BOOSTERS, PACKAGES, BoosterClassifier
from metricwise.estimators.selection.candidates import boosters
from metricwise.estimators.selection.candidates.candidate import Problem
from metricwise.estimators.selection.candidates.linear import LOGISTIC
from metricwise.estimators.selection.candidates.portfolio import make_portfolio
from metricwise.estimators.selection.packages import AbsentPackageError
from metricwise.estimators.selection.profile import Profile
from metricwise.measures import FBeta

X, Y = make_classification(300, 6, n_informative=4, random_state=0)
FEW = {"lightgbm": {"n_estimators": 5}, "catboost": {"iterations": 5}, "xgboost": {"n_estimators": 5}}

by_package = pytest.mark.parametrize("package", PACKAGES)


@pytest.fixture(autouse=True)
def _skip_absent(request):
    if "package" in request.fixturenames:
        pytest.importorskip(request.getfixturevalue("package"))


@pytest.fixture
def few_iterations(monkeypatch):
    for table in ("LIGHTGBM", "LIGHTGBM_OF_CLASSES", "XGBOOST", "XGBOOST_OF_CLASSES"):
        monkeypatch.setattr(boosters, table, ({"n_estimators": 5},))
    monkeypatch.setattr(boosters, "CATBOOST", ({"iterations": 5},))


@by_package
@pytest.mark.parametrize("names", [("no", "yes"), (False, True), (-1, 1), (3.5, 7.0), ("a", "b", "c")])
def test_labels_may_be_anything(package, names):
    y = np.array(names)[np.where(X[:, 0] > 1.0, len(names) - 1, Y)]
    model = BoosterClassifier(package, FEW[package]).fit(X, y)
    assert model.classes_.tolist() == sorted(names) and model.predict_proba(X).shape == (300, len(names))
    assert model.predict(X).dtype == y.dtype and np.mean(model.predict(X) == y) > 0.8


@by_package
def test_the_same_seed_gives_the_same_model(package):
    one, same, other = (
        BoosterClassifier(package, FEW[package] | {"subsample": 0.5}, random_state=seed).fit(X, Y) for seed in (0, 0, 1)
    )
    assert np.array_equal(one.predict_proba(X), same.predict_proba(X))
    assert package == "lightgbm" or not np.array_equal(one.predict_proba(X), other.predict_proba(X))


@by_package
def test_weights_move_probabilities(package):
    settings = FEW[package] | {"learning_rate": 0.5}
    noise = np.random.default_rng(0).normal(size=(300, 2))
    weights = np.where(Y == 1, 9.0, 1.0)
    plain, weighted = (BoosterClassifier(package, settings).fit(noise, Y, w) for w in (None, weights))
    assert np.mean(plain.predict_proba(noise)[:, 1]) == pytest.approx(np.mean(Y), abs=0.05)
    assert np.mean(weighted.predict_proba(noise)[:, 1]) > 0.75  # 0.9 of the weights are positive


@pytest.mark.parametrize("package", ["lightgbm", "xgboost"])
def test_codes_of_categories_are_not_ordered(package):
    random = np.random.default_rng(0)
    codes = random.integers(0, 20, 2000).astype(float)
    y = np.isin(codes, random.permutation(20)[:10]).astype(int)
    codes[:50] = np.nan
    settings = FEW[package] | ({"num_leaves": 2} if package == "lightgbm" else {"max_depth": 1})
    aware, unaware = (BoosterClassifier(package, settings, n_categorical=n).fit(codes[:, None], y) for n in (1, 0))
    right, wrong = (np.mean(one.predict(codes[:, None])[50:] == y[50:]) for one in (aware, unaware))
    assert right > 0.95 > wrong
    assert np.isfinite(aware.predict_proba(np.array([[np.nan]]))).all()


def test_catboost_refuses_codes_of_categories():
    pytest.importorskip("catboost")
    with pytest.raises(ValueError, match="one-hot"):
        BoosterClassifier("catboost", n_categorical=1).fit(X, Y)


def test_training_writes_nothing(tmp_path, monkeypatch, capfd, recwarn):
    monkeypatch.chdir(tmp_path)
    for package in PACKAGES:
        pytest.importorskip(package)
        BoosterClassifier(package, FEW[package]).fit(X, Y).predict(X)
    assert list(tmp_path.iterdir()) == [] and capfd.readouterr() == ("", "")
    assert [str(one.message) for one in recwarn] == []


@by_package
def test_errors_of_packages_become_value_errors(package):
    wrong = {"lightgbm": {"objective": "no"}, "catboost": {"depth": 99}, "xgboost": {"max_depth": -9}}
    with pytest.raises(ValueError, match=PACKAGES[package].classifier):
        BoosterClassifier(package, FEW[package] | wrong[package]).fit(X, Y)


@by_package
def test_frames_multiclass_and_multilabel_targets_are_learnt(package, few_iterations):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(np.where(random.random(X.shape) < 0.1, np.nan, X), columns=[f"x{k}" for k in range(6)])
    frame["kind"] = np.array(["u", "v", None], dtype=object)[random.integers(0, 3, 300)]
    y = np.array(["a", "b", "c"])[np.where(X[:, 0] > 1.0, 2, Y)]
    model = MetricClassifier("f1_macro", candidates=[package], cv=2).fit(frame, y)
    assert model.score(frame, y) > 0.7
    assert set(model.predict(frame.assign(kind="unseen"))) <= {"a", "b", "c"}
    labels = np.column_stack([Y, X[:, 0] > 1.0]).astype(int)
    several = MetricClassifier("f1_macro", candidates=[package], cv=2).fit(frame, labels, np.linspace(1.0, 2.0, 300))
    assert several.score(frame, labels) > 0.7


@by_package
def test_sparse_samples_are_accepted_unless_they_are_wide(package, few_iterations):
    model = MetricClassifier("f1", candidates=[package], cv=2).fit(sparse.csr_matrix(X), Y)
    assert model.score(X, Y) > 0.8
    texts = Problem(Profile(500, 20_000, True, Profile.of(X).columns, False), FBeta())
    with pytest.raises(ValueError, match="none of the candidates"):
        make_portfolio([package], texts)


@by_package
def test_clones_train_alike(package):
    model = BoosterClassifier(package, FEW[package], n_jobs=2, random_state=3)
    assert clone(model).get_params() == model.get_params()
    assert np.array_equal(clone(model).fit(X, Y).predict_proba(X), model.fit(X, Y).predict_proba(X))


@pytest.mark.parametrize("is_multilabel", [True, False])
def test_many_classes_or_labels_have_fewer_iterations_and_no_catboost(is_multilabel):
    for package in PACKAGES:
        pytest.importorskip(package)
    two, few, many = (
        {one.name: one for one in make_portfolio("auto", Problem(Profile.of(X), FBeta(), *kind)).candidates}
        for kind in ((1,), (3, is_multilabel), (26, is_multilabel))
    )
    assert "catboost" in two and "catboost" in few and "catboost" not in many
    for name in ("lightgbm", "xgboost"):
        assert many[name].settings["n_estimators"] < two[name].settings["n_estimators"]
    assert many["lightgbm"].settings.get("class_weight") == (None if is_multilabel else "balanced")


@by_package
def test_an_absent_package_is_reported(package, monkeypatch, few_iterations):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(
        "metricwise.estimators.selection.packages.find_spec", lambda name: None if name == package else 1
    )
    with pytest.raises(ImportError, match=rf"'{package}' is not installed: pip install 'metricwise\[boosters\]'"):
        MetricClassifier(candidates=[package]).fit(X, Y)
    portfolio = make_portfolio("auto", Problem(Profile.of(X), FBeta()))
    assert package not in {one.name for one in portfolio.candidates}
    assert list(portfolio.absent) == [package] and f"{boosters.GAIN_OF_BOOSTERS:.3f}"[1:] in portfolio.absent[package]


def test_a_broken_installation_is_reported_with_its_cause(monkeypatch):
    def fail(name):
        raise OSError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setattr("metricwise.estimators.selection.packages.import_module", fail)
    with pytest.raises(AbsentPackageError, match=r"cannot be imported \(OSError: libgomp.so.1: cannot open.*repair it"):
        BoosterClassifier("lightgbm").fit(X, Y)


def test_leaderboard_and_explanation_have_a_row_for_an_absent_package(monkeypatch, few_iterations):
    absent = {"catboost": f"not installed: {INSTALL_BOOSTERS}"}

    def make_cheap(wanted, problem):
        return make_portfolio(["logistic"], problem)._replace(absent=absent)

    monkeypatch.setattr("metricwise.estimators.selection.selecting.make_portfolio", make_cheap)
    model = MetricClassifier("f1", cv=2).fit(X, Y)
    row = model.leaderboard_.iloc[-1]
    assert row.candidate == "catboost" and row.why_dropped == absent["catboost"] and row.n_samples == 0
    assert model.explain().splitlines()[-1] == f"- catboost: {absent['catboost']}"
    assert model.explain().startswith(f"Of {len(LOGISTIC)} candidates")


def test_packages_are_imported_when_they_are_used():
    packages = "{'lightgbm', 'catboost', 'xgboost'}"
    code = f"import sys, metricwise; metricwise.MetricClassifier(); print({packages} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


@pytest.mark.parametrize(("n_samples", "saves"), [(20_000, False), (100_000, True)])
def test_lightgbm_saves_memory_from_half_of_many_samples_on(n_samples, saves):
    pytest.importorskip("lightgbm")
    learner = BoosterClassifier("lightgbm")._make_learner(PACKAGES["lightgbm"], n_samples, 5)
    found = learner.get_params()
    assert (found["subsample_for_bin"] == 50_000) == saves and found.get("force_col_wise", False) == saves
