"""Boosters in model files predict as the library that trained them, and without it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

import metricwise as mw
from metricwise.estimators.selection.booster import BoosterClassifier
from metricwise.persistence.boosters.settings import TRAINING_SETTINGS
from metricwise.persistence.boosters.stored import StoredBooster
from tests.unit.boosters import FIT, make_problem, skip_unless_it_composes

lightgbm = pytest.importorskip("lightgbm", reason="boosters are saved only where they are installed")
xgboost = pytest.importorskip("xgboost", reason="boosters are saved only where they are installed")
catboost = pytest.importorskip("catboost", reason="boosters are saved only where they are installed")

PROBLEM = make_problem(2)  # without categories
BINARY = (PROBLEM.y > 0).astype(int)

each_library = pytest.mark.parametrize("library", FIT)


def make_booster(library: str, **settings: Any) -> Any:
    if library == "lightgbm":
        return lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1, **settings)
    if library == "xgboost":
        return xgboost.XGBClassifier(n_estimators=5, n_jobs=1, **settings)
    return catboost.CatBoostClassifier(iterations=5, thread_count=1, verbose=0, allow_writing_files=False, **settings)


def save_and_load(model: Any, folder: Path) -> Any:
    mw.save(model, folder / "model.mw")
    return mw.load(folder / "model.mw")


def assert_same_predictions(loaded: Any, model: Any, X: Any) -> None:
    expected = model.predict_proba(X)
    found = loaded.predict_proba(X)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    # One minus a probability in single precision has no more digits than the probability.
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 if found.dtype == np.float32 else 1e-15)
    np.testing.assert_array_equal(loaded.predict(X), np.ravel(model.predict(X)))


# ------------------------------------------------------------------------------------------------- the same predictions


@each_library
@pytest.mark.parametrize("seed", range(7))
def test_random_models_predict_the_same(library: str, seed: int, tmp_path: Path) -> None:
    problem = make_problem(seed)
    model = FIT[library](problem, seed)
    loaded = save_and_load(model, tmp_path)
    assert isinstance(loaded, StoredBooster)
    for X in (problem.X, problem.others):
        assert_same_predictions(loaded, model, X)
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)


@each_library
@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "bool", "object"])
def test_samples_of_every_type_predict_the_same(library: str, dtype: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).integers(0, 3, size=(100, 4)) * (2**24 + 1 if dtype == "int64" else 1)
    X = X.astype(dtype)
    y = np.arange(100) % 3 if dtype == "bool" else (np.asarray(X[:, 0], dtype=float) > 1).astype(int)
    model = make_booster(library).fit(X.astype(float), y)
    assert_same_predictions(save_and_load(model, tmp_path), model, X)


@each_library
@pytest.mark.parametrize("seed", [1, 3])  # with categories, missing values above all thresholds, and zeros for them
def test_predictions_leave_samples_as_they_are(library: str, seed: int, tmp_path: Path) -> None:
    problem = make_problem(seed)
    loaded = save_and_load(FIT[library](problem, seed), tmp_path)
    for dtype in (np.float32, np.float64):
        X = problem.X.astype(dtype)
        X[:, 0] += 0.25  # codes with a fraction
        before = X.copy()
        loaded.predict(X)
        np.testing.assert_array_equal(X, before)


@each_library
def test_frames_of_polars_predict_the_same(library: str, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    names = [f"x{k}" for k in range(PROBLEM.X.shape[1])]
    model = make_booster(library).fit(pd.DataFrame(PROBLEM.X, columns=names), BINARY)
    loaded = save_and_load(model, tmp_path)
    frame = polars.DataFrame(PROBLEM.others, schema=names)
    np.testing.assert_array_equal(loaded.predict_proba(frame), loaded.predict_proba(frame.to_pandas()))


@each_library
def test_sparse_samples_predict_the_same(library: str, tmp_path: Path) -> None:
    X = sparse.random(120, 5, density=0.4, format="csr", random_state=0)
    y = (X.toarray()[:, 0] > 0.2).astype(int)
    model = make_booster(library).fit(X, y)
    loaded = save_and_load(model, tmp_path)
    assert_same_predictions(loaded, model, X)
    assert_same_predictions(loaded, model, X.toarray())


@each_library
def test_continued_training_and_offsets_predict_the_same(library: str, tmp_path: Path) -> None:
    X, offsets = PROBLEM.X, np.linspace(-1.0, 1.0, BINARY.size)
    first = make_booster(library).fit(X, BINARY)
    earlier = {"xgb_model" if library == "xgboost" else "init_model": first}
    models = [make_booster(library).fit(X, BINARY, **earlier)]
    if library == "catboost":
        models.append(make_booster(library).fit(catboost.Pool(X, BINARY, baseline=offsets[:, None])))
    else:
        setting = {"init_score" if library == "lightgbm" else "base_margin": offsets}
        models.append(make_booster(library).fit(X, BINARY, **setting))
        models.append(make_booster(library).fit(np.zeros_like(X), BINARY))  # trees of one leaf
    for model in models:
        assert_same_predictions(save_and_load(model, tmp_path), model, X)


@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")  # whose successor LightGBM 4.6 does not have
@each_library
def test_early_stopping_is_kept(library: str, tmp_path: Path) -> None:
    X, noise = PROBLEM.X, np.random.default_rng(0).integers(0, 2, PROBLEM.y.size)
    X_other, y_other = PROBLEM.others, noise[: len(PROBLEM.others)]
    if library == "lightgbm":
        model = lightgbm.LGBMClassifier(n_estimators=50, n_jobs=1, verbose=-1)
        model.fit(X, noise, eval_set=[(X_other, y_other)], callbacks=[lightgbm.early_stopping(5, verbose=False)])
        n_trees = model.best_iteration_
    elif library == "xgboost":
        model = xgboost.XGBClassifier(n_estimators=50, n_jobs=1, early_stopping_rounds=5)
        model.fit(np.nan_to_num(X), noise, eval_set=[(np.nan_to_num(X), y_other)], verbose=False)
        model.get_booster().set_attr(best_iteration="7")
        n_trees = 8
    else:
        model = catboost.CatBoostClassifier(iterations=50, thread_count=1, verbose=0, allow_writing_files=False)
        model.fit(X, noise, eval_set=(X_other, y_other), early_stopping_rounds=5)
        n_trees = model.tree_count_
    assert n_trees < 50
    loaded = save_and_load(model, tmp_path)
    assert_same_predictions(loaded, model, X)
    trees = loaded.boosted_trees_.trees
    assert (trees.split_bounds.size - 1 if library == "catboost" else trees.roots.size) == n_trees


keeps_categories = tuple(int(part) for part in xgboost.__version__.split(".")[:2]) >= (3, 1)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"] if keeps_categories else ["lightgbm"])
def test_categories_of_data_frames_predict_the_same(library: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    orleans = "Orléans" if library == "lightgbm" else "Orleans"
    frame = pd.DataFrame(
        {
            "town": pd.Categorical(rng.choice(["Lyon", orleans, "Pau", "Nice"], 200)),
            "size": rng.normal(size=200).astype(np.float32),
            "year": pd.Categorical(rng.choice([1999, 2004, 2011], 200)),
        }
    )
    frame.loc[::9, "town"] = None
    y = (frame["town"].isin(["Pau", "Nice"]) ^ (frame["size"] > 0) ^ (frame["year"] == 2004)).to_numpy().astype(int)
    settings = {"enable_categorical": True} if library == "xgboost" else {"min_child_samples": 5}
    model = make_booster(library, **settings).fit(frame, y)
    loaded = save_and_load(model, tmp_path)
    others = frame.assign(
        town=frame["town"].cat.set_categories(["Nice", "Metz", "Pau", "Lyon", orleans]),
        year=frame["year"].cat.reorder_categories([2011, 1999, 2004]),
    )
    for X in (frame, others):
        assert_same_predictions(loaded, model, X)
    new = others.assign(town=others["town"].fillna("Metz"))
    if library == "xgboost":  # reads a code beyond those of training right, but not such a category
        codes = np.column_stack(
            [
                new["town"].cat.set_categories(["Lyon", "Nice", orleans, "Pau", "Metz"]).cat.codes,
                new["size"],
                frame["year"].cat.codes,
            ]
        )
        np.testing.assert_allclose(loaded.predict_proba(new), model.predict_proba(codes), rtol=1e-6)
    else:
        assert_same_predictions(loaded, model, new)
    assert list(loaded.feature_names_in_) == ["town", "size", "year"]
    with pytest.raises(ValueError, match="X has 1 categorical columns, and the classifier was trained with 2"):
        loaded.predict(frame.assign(year=1999))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["year", "size", "town"]])


def test_categories_that_xgboost_cuts_are_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"town": pd.Categorical(np.array(["Orléans", "Pau"])[BINARY])})
    model = xgboost.XGBClassifier(n_estimators=2, n_jobs=1, enable_categorical=True).fit(frame, BINARY)
    with pytest.raises(mw.ModelFileError, match="letters beyond ASCII" if keeps_categories else "XGBoost before 3.1"):
        mw.save(model, tmp_path / "model.mw")


@each_library
def test_labels_of_every_type_are_restored(library: str, tmp_path: Path) -> None:
    names = np.array(["no", "yes"])[BINARY] if library != "xgboost" else BINARY
    model = make_booster(library).fit(PROBLEM.X, names)
    loaded = save_and_load(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(PROBLEM.X), model.predict(PROBLEM.X))


# --------------------------------------------------------------------------------------------------- without libraries


@each_library
def test_loaded_models_need_no_library(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = mw.PlugInClassifier(make_booster(library), cv=2).fit(PROBLEM.X, BINARY)
    expected = model.predict(PROBLEM.X)
    mw.save(model, tmp_path / "model.mw")
    for name in FIT:
        monkeypatch.setitem(sys.modules, name, None)  # an import raises ImportError
    loaded = mw.load(tmp_path / "model.mw")
    np.testing.assert_array_equal(loaded.predict(PROBLEM.X), expected)
    with pytest.raises(ImportError, match=f"training a .*Classifier needs {library}: pip install {library}"):
        loaded.estimator.fit(PROBLEM.X, BINARY)


@each_library
def test_a_loaded_model_is_trained_and_saved_again(library: str, tmp_path: Path) -> None:
    model = make_booster(library, random_state=3).fit(PROBLEM.X, BINARY)
    loaded = save_and_load(model, tmp_path)
    first = (tmp_path / "model.mw").read_bytes()
    mw.save(loaded, tmp_path / "model.mw")
    assert (tmp_path / "model.mw").read_bytes() == first
    again = clone(loaded)
    assert not hasattr(again, "boosted_trees_")
    assert_same_predictions(again.fit(PROBLEM.X, BINARY), model, PROBLEM.others)
    assert_same_predictions(again.fit(PROBLEM.X[:, :1], BINARY), model.fit(PROBLEM.X[:, :1], BINARY), PROBLEM.X[:, :1])


@each_library
def test_settings_and_requests_are_kept(library: str, tmp_path: Path) -> None:
    model = make_booster(library, random_state=3, max_depth=2)
    if library != "catboost":  # which has no metadata routing
        with config_context(enable_metadata_routing=True):
            model.set_fit_request(sample_weight=True)
    loaded = save_and_load(model, tmp_path)
    assert loaded.settings.items() >= {"random_state": 3, "max_depth": 2}.items()
    assert "subsample" not in loaded.settings  # a default
    if library != "catboost":
        assert loaded.get_metadata_routing().fit.requests["sample_weight"] is True


# ---------------------------------------------------------------------------------------------- inside other estimators


@each_library
def test_boosters_in_pipelines_and_selected_models_are_saved(library: str, tmp_path: Path) -> None:
    skip_unless_it_composes(library)
    frame = pd.DataFrame({"word": np.array(["a", "b", "c"])[PROBLEM.y % 3], "number": PROBLEM.X[:, -1]})
    columns = ColumnTransformer(
        [("words", OrdinalEncoder(), ["word"]), ("numbers", StandardScaler(), ["number"])], sparse_threshold=0.0
    )
    for model in (
        mw.PlugInClassifier(make_pipeline(columns, make_booster(library)), cv=2),
        mw.MetricClassifier("f1", candidates={"booster": make_booster(library)}),
        make_pipeline(columns, SelectFromModel(make_booster(library)), LogisticRegression()),
    ):
        X = columns.fit_transform(frame) if isinstance(model, mw.MetricClassifier) else frame
        model.fit(X, BINARY)
        loaded = save_and_load(model, tmp_path)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@each_library
def test_selected_candidates_are_saved(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"iterations" if library == "catboost" else "n_estimators": 5}
    frame = pd.DataFrame(PROBLEM.X).rename(columns=str)
    labels = np.array(["no", "yes"])[BINARY]
    candidates = {"booster": BoosterClassifier(library, settings, n_categorical=0)}
    model = mw.MetricClassifier("f1", candidates=candidates, pos_label="yes").fit(frame, labels)
    mw.save(model, tmp_path / "model.mw")
    expected = model.decision_function(frame)
    monkeypatch.setitem(sys.modules, library, None)
    loaded = mw.load(tmp_path / "model.mw")
    np.testing.assert_allclose(loaded.decision_function(frame), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


def test_candidates_that_name_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mw.ModelFileError, match="a booster sets 'train_dir', which model files do not hold: leave it"):
        mw.save(BoosterClassifier("catboost", {"train_dir": str(tmp_path)}), tmp_path / "model.mw")


# ------------------------------------------------------------------------------------------------------------- refusals


class Subclass(lightgbm.LGBMClassifier):
    pass


def _custom_loss(y: Any, scores: Any) -> Any:
    p = 1.0 / (1.0 + np.exp(-scores))
    return p - y, p * (1.0 - p)


REFUSED = {
    "linear trees": (lambda: lightgbm.LGBMClassifier(n_estimators=2, linear_tree=True, verbose=-1), "linear_tree=True"),
    "own objective": (lambda: lightgbm.LGBMClassifier(n_estimators=2, objective=_custom_loss, verbose=-1), "objective"),
    "approximate": (
        lambda: lightgbm.LGBMClassifier(n_estimators=2, pred_early_stop=True, verbose=-1),
        "pred_early_stop=True",
    ),
    "regression": (lambda: lightgbm.LGBMRegressor(n_estimators=2, verbose=-1), "LGBMRegressor"),
    "subclass": (lambda: Subclass(n_estimators=2, verbose=-1), "Subclass, which model files do not hold"),
    "linear booster": (lambda: xgboost.XGBClassifier(n_estimators=2, booster="gblinear"), "booster='gblinear'"),
    "hinge": (lambda: xgboost.XGBClassifier(n_estimators=2, objective="binary:hinge"), "'binary:hinge'"),
    "categories": (
        lambda: catboost.CatBoostClassifier(iterations=2, cat_features=[0], verbose=0, allow_writing_files=False),
        "cat_features are read by rules of CatBoost",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_cannot_be_saved_are_named(name: str, tmp_path: Path) -> None:
    make, message = REFUSED[name]
    X = np.nan_to_num(PROBLEM.X)
    X = X.astype(int) if name == "categories" else X
    model = make_pipeline("passthrough", make().fit(X, BINARY))
    with pytest.raises(mw.ModelFileError, match=message):
        mw.save(model, tmp_path / "model.mw")
    assert not (tmp_path / "model.mw").exists()


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({"multi_strategy": "multi_output_tree"}, np.arange(BINARY.size) % 3, "multi_strategy='multi_output_tree'"),
        ({}, np.column_stack([BINARY, 1 - BINARY]), "several labels at once"),
        ({}, np.zeros(BINARY.size, dtype=int), "one class"),
    ],
)
def test_other_targets_of_xgboost_are_refused(settings: Any, y: Any, message: str, tmp_path: Path) -> None:
    model = xgboost.XGBClassifier(n_estimators=2, n_jobs=1, **settings).fit(PROBLEM.X, y)
    with pytest.raises(mw.ModelFileError, match=message):
        mw.save(model, tmp_path / "model.mw")


def test_a_changed_probability_threshold_is_refused(tmp_path: Path) -> None:
    model = make_booster("catboost").fit(PROBLEM.X, BINARY)
    model.set_probability_threshold(0.3)
    with pytest.raises(mw.ModelFileError, match="set_probability_threshold"):
        mw.save(model, tmp_path / "model.mw")


def test_functions_in_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mw.ModelFileError, match=r"model\.settings\['eval_metric'\] is '_custom_loss', and .* no code"):
        mw.save(xgboost.XGBClassifier(eval_metric=_custom_loss), tmp_path / "model.mw")


def test_unknown_learners_are_refused() -> None:
    with pytest.raises(ValueError, match=r"learner must be one of lightgbm\.LGBMClassifier, .* got 'os\.system'"):
        StoredBooster("os.system").fit(PROBLEM.X, BINARY)


# ------------------------------------------------------------------------------------------------- settings of training


def test_settings_that_name_files_are_not_saved(tmp_path: Path) -> None:
    model = catboost.CatBoostClassifier(iterations=2, train_dir=str(tmp_path / "logs"), allow_writing_files=False)
    assert save_and_load(model, tmp_path).settings == {"iterations": 2, "allow_writing_files": False}
    callback = xgboost.callback.LearningRateScheduler([0.1, 0.1])
    assert save_and_load(xgboost.XGBClassifier(callbacks=[callback], n_estimators=2), tmp_path).settings == {
        "n_estimators": 2
    }


def test_every_alias_of_settings_that_name_files_is_known() -> None:
    named = [name for name in lightgbm.basic._ConfigAliases._get_all_param_aliases() if name in TRAINING_SETTINGS]
    assert "machine_list_filename" in named
    assert lightgbm.basic._ConfigAliases.get(*named) <= TRAINING_SETTINGS
