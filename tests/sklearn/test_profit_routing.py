"""Amounts per sample are routed through scikit-learn's searches and cross-validation, and sliced with the samples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricwise as mw

RANDOM = np.random.default_rng(0)
AMOUNT = np.exp(RANDOM.normal(2.0, 1.0, 240))
FEATURES = RANDOM.normal(size=(240, 3))
Y = (RANDOM.random(240) < 1 / (1 + np.exp(-2 * FEATURES[:, 0]))).astype(int)
PROFIT = mw.Profit(fp=-5)
FOLDS = KFold(3)


def request(model):
    wanted = {"fn": True}
    return model.set_fit_request(**wanted).set_score_request(**wanted).set_predict_request(**wanted)


def make_models():
    return [
        mw.PlugInClassifier(LogisticRegression(), PROFIT, cv=3),
        mw.CostSensitiveClassifier(LogisticRegression().set_fit_request(sample_weight=True), PROFIT, cv=2),
        mw.MetricClassifier(PROFIT, candidates={"logistic": LogisticRegression()}, cv=2),
    ]


def fit_by_hand(model, train, test):
    model = sklearn.base.clone(model).fit(FEATURES[train], Y[train], fn=-AMOUNT[train])
    return model.score(FEATURES[test], Y[test], fn=-AMOUNT[test])


@pytest.mark.parametrize("number", range(3))
def test_cross_validation_slices_the_amounts(number):
    with sklearn.config_context(enable_metadata_routing=True):
        model = request(make_models()[number])
        found = cross_validate(model, FEATURES, Y, cv=FOLDS, params={"fn": -AMOUNT})["test_score"]
        wanted = [fit_by_hand(model, train, test) for train, test in FOLDS.split(FEATURES)]
    np.testing.assert_allclose(found, wanted)


def test_a_grid_search_selects_by_profit():
    with sklearn.config_context(enable_metadata_routing=True):
        model = request(make_models()[0])
        search = GridSearchCV(model, {"estimator__C": [1e-4, 1.0]}, cv=FOLDS).fit(FEATURES, Y, fn=-AMOUNT)
        assert search.best_params_ == {"estimator__C": 1.0}
        assert search.score(FEATURES, Y, fn=-AMOUNT) == search.best_estimator_.score(FEATURES, Y, fn=-AMOUNT)
        with pytest.raises(UnsetMetadataPassedError, match="fn"):
            cross_validate(make_models()[0], FEATURES, Y, cv=FOLDS, params={"fn": -AMOUNT})


def test_a_pipeline_passes_amounts_on():
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), request(make_models()[0]))
        pipeline.fit(FEATURES, Y, fn=-AMOUNT)
        assert pipeline.score(FEATURES, Y, fn=-AMOUNT) == pipeline[-1].score(
            pipeline[0].transform(FEATURES), Y, fn=-AMOUNT
        )


def test_columns_need_no_routing():
    X = pd.DataFrame(FEATURES, columns=["a", "b", "c"]).assign(amount=AMOUNT)
    model = mw.PlugInClassifier(LogisticRegression(), mw.Profit(fp=-5, fn="-amount"), cv=3)
    found = cross_validate(model, X, Y, cv=FOLDS)["test_score"]
    assert np.isfinite(found).all()
    search = GridSearchCV(model, {"measure": [mw.Profit(fp=-5, fn="-amount"), mw.Profit(fp=-9, fn="-amount")]}, cv=2)
    assert search.fit(X, Y).best_score_ <= 0.0
