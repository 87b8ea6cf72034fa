"""Pipelines, grid search, metadata routing, data frames, and the cost of imports."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import BaggingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from metricwise import FBeta, MultivariateSVC, PrecisionAtK

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[:240], 1 - Y[:240]


def test_pipelines_fit_and_predict():
    model = make_pipeline(StandardScaler(), MultivariateSVC("f1", C=0.1)).fit(X, Y)
    assert model.score(X, Y) > 0.95
    assert model.score(X, Y) == get_scorer("f1")(model, X, Y)
    assert cross_val_score(model, X, Y, cv=3).min() > 0.8
    assert set(cross_val_predict(model, X, Y, cv=3)) == {0, 1}


def test_text_pipelines_fit_and_predict():
    texts = ["good film", "bad film", "very good indeed", "very bad indeed", "good good", "bad bad"] * 5
    y = [1, 0] * 15
    model = make_pipeline(TfidfVectorizer(), MultivariateSVC("f1")).fit(texts, y)
    assert model.predict(["good", "bad"]).tolist() == [1, 0]


def test_grid_search_over_cost_and_measure():
    grid = {
        "multivariatesvc__C": [0.01, 1.0],
        "multivariatesvc__measure": ["f1", "accuracy", FBeta(2.0), PrecisionAtK(5)],
    }
    pipeline = make_pipeline(StandardScaler(), MultivariateSVC())
    search = GridSearchCV(pipeline, grid, cv=3, scoring="f1", error_score="raise").fit(X, Y)
    assert len(search.cv_results_["params"]) == 8
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_[-1].measure in grid["multivariatesvc__measure"]
    assert search.score(X, Y) > 0.9


def test_grid_search_runs_in_processes():
    grid = {"C": [0.01, 1.0]}
    scaled = StandardScaler().fit_transform(X)
    alone = GridSearchCV(MultivariateSVC(), grid, cv=3).fit(scaled, Y)
    together = GridSearchCV(MultivariateSVC(), grid, cv=3, n_jobs=2).fit(scaled, Y)
    np.testing.assert_allclose(together.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])


def test_the_default_score_of_grid_search_is_the_measure():
    scaled = StandardScaler().fit_transform(X)
    search = GridSearchCV(MultivariateSVC("f1"), {"C": [0.1]}, cv=3).fit(scaled, Y)
    expected = cross_val_score(MultivariateSVC("f1", C=0.1), scaled, Y, cv=3, scoring="f1")
    assert search.best_score_ == pytest.approx(expected.mean())


@pytest.mark.parametrize("wrapper", [BaggingClassifier, OneVsRestClassifier, CalibratedClassifierCV])
def test_meta_estimators_wrap_it(wrapper):
    scaled = StandardScaler().fit_transform(X)
    model = wrapper(MultivariateSVC("f1", C=0.1, threshold=0.0)).fit(scaled, Y)
    assert model.score(scaled, Y) > 0.9


def test_sample_weights_are_routed():
    scaled = StandardScaler().fit_transform(X)
    weights = np.random.default_rng(0).integers(0, 3, size=len(Y))
    expected = MultivariateSVC("f1", C=0.1).fit(scaled, Y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        requested = MultivariateSVC("f1", C=0.1).set_fit_request(sample_weight=True)
        model = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), requested)
        model.fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(model[-1].coef_, expected.coef_)
        silent = make_pipeline(StandardScaler(), MultivariateSVC("f1", C=0.1))
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
            silent.fit(X, Y, sample_weight=weights)
        scored = MultivariateSVC("f1", C=0.1).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(scored, {"C": [0.1]}, cv=3).fit(scaled, Y, sample_weight=weights)
        np.testing.assert_array_equal(search.best_estimator_.coef_, expected.coef_)
        # Sample weights are used in scoring, too.
        unweighted = GridSearchCV(
            MultivariateSVC("f1", C=0.1).set_fit_request(sample_weight=True).set_score_request(sample_weight=False),
            {"C": [0.1]},
            cv=3,
        ).fit(scaled, Y, sample_weight=weights)
        assert search.best_score_ != unweighted.best_score_


# ------------------------------------------------------------------------------------------------------- data frames


@pytest.fixture(params=["pandas", "polars"])
def make_frame(request):
    library = pytest.importorskip(request.param)

    def make_with_library(data, names):
        return library.DataFrame({name: data[:, k] for k, name in enumerate(names)})

    return make_with_library


NAMES = [f"feature {k}" for k in range(5)]


def test_frames_give_feature_names_and_the_model_of_arrays(make_frame):
    data = StandardScaler().fit_transform(X)[:, :5]
    frame = make_frame(data, NAMES)
    model = MultivariateSVC("f1", C=0.1, tol=1e-6).fit(frame, Y)
    assert model.feature_names_in_.tolist() == NAMES
    plain = MultivariateSVC("f1", C=0.1, tol=1e-6).fit(data, Y)
    assert not hasattr(plain, "feature_names_in_")
    np.testing.assert_allclose(model.decision_function(frame), plain.decision_function(data), atol=0.02)


def test_other_feature_names_or_another_order_raise(make_frame):
    data = StandardScaler().fit_transform(X)[:, :5]
    model = MultivariateSVC("f1", C=0.1).fit(make_frame(data, NAMES), Y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(make_frame(data, [*NAMES[:4], "other"]))
    with pytest.raises(ValueError, match=r"(?s)feature names.*same order"):
        model.predict(make_frame(data, NAMES[::-1]))
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(data)


def test_labels_and_weights_may_be_series():
    pandas = pytest.importorskip("pandas")
    data = StandardScaler().fit_transform(X)[:, :5]
    frame = pandas.DataFrame(data, columns=NAMES, index=np.arange(len(Y))[::-1])
    y = pandas.Series(np.where(Y == 1, "yes", "no"), index=frame.index)
    weights = pandas.Series(1.0 + np.arange(len(Y)) % 2, index=frame.index)
    model = MultivariateSVC("f1", C=0.1, pos_label="yes").fit(frame, y, sample_weight=weights)
    plain = MultivariateSVC("f1", C=0.1, pos_label="yes").fit(data, y.to_numpy(), sample_weight=weights.to_numpy())
    np.testing.assert_allclose(model.coef_, plain.coef_)
    assert set(model.predict(frame)) == {"yes", "no"}


def test_categorical_labels_are_accepted():
    pandas = pytest.importorskip("pandas")
    data = StandardScaler().fit_transform(X)[:, :5]
    model = MultivariateSVC("f1", C=0.1, pos_label="yes")
    model.fit(data, pandas.Categorical(np.where(Y == 1, "yes", "no")))
    assert model.classes_.tolist() == ["no", "yes"]


def test_column_transformers_are_accepted():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :5], columns=NAMES).assign(kind=np.where(X[:, 6] > X[:, 6].mean(), "a", "b"))
    columns = ColumnTransformer([("numbers", StandardScaler(), NAMES), ("words", OneHotEncoder(), ["kind"])])
    model = make_pipeline(columns, MultivariateSVC("g_mean", C=0.1)).fit(frame, Y)
    assert model.score(frame, Y) > 0.8


# ---------------------------------------------------------------------------------------------------------- imports


def list_loaded_modules(statement, names):
    code = f"import sys; {statement}; print([name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


HEAVY = ["numpy", "scipy", "sklearn", "numba", "matplotlib", "pandas", "dask", "polars"]


def test_importing_the_package_loads_no_heavy_module():
    assert list_loaded_modules("import metricwise", HEAVY) == "[]"
    assert list_loaded_modules("import metricwise; dir(metricwise); metricwise.__version__", HEAVY) == "[]"


def test_measures_load_no_compiled_code():
    assert (
        list_loaded_modules("import metricwise; metricwise.get_measure('f1')", ["numba", "sklearn", "matplotlib"])
        == "[]"
    )


def test_the_estimator_loads_no_plotting_and_no_optional_package():
    statement = "import metricwise; metricwise.MultivariateSVC()"
    assert list_loaded_modules(statement, ["matplotlib", "polars", "dask", "skops", "click"]) == "[]"
