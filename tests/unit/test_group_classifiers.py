"""Classifiers with constraints by group: shared thresholds, thresholds per group, files, routing, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import metricwise
from metricwise import GuaranteeMonitor, MetricClassifier, PlugInClassifier
from metricwise.decisions.guarantees import UnreachableGuaranteeError
from metricwise.persistence.exports.linear import extract_linear_scores

REGIONS = np.array(["east", "north", "south"])


def draw(n, seed=0):
    random = np.random.default_rng(seed)
    codes = random.choice(3, n, p=[0.2, 0.5, 0.3])
    x = random.normal(size=(n, 2))
    y = random.random(n) < expit(1.5 * x[:, 0] + x[:, 1] - 0.5 + np.array([0.8, 0.0, -0.8])[codes])
    return x, y.astype(int), REGIONS[codes]


X, y, region = draw(1500)
NEW = draw(20_000, seed=1)


def recalls(model, **given):
    x, truth, groups = NEW
    predicted = model.predict(x, **given)
    return {name: float(predicted[(groups == name) & (truth == 1)].mean()) for name in REGIONS}


def fit(subject_to, **parameters):
    model = PlugInClassifier(LogisticRegression(), subject_to=subject_to, **parameters)
    return model.fit(X, y, sensitive_features=region)


@pytest.fixture(scope="module")
def by_group():
    return fit([("recall", ">=", 0.7, "by", "region")], group_thresholds=True)


def test_shared_threshold_keeps_recall_in_every_group():
    model = fit("recall>=0.7 by region")
    assert min(recalls(model).values()) >= 0.7
    x = NEW[0]
    np.testing.assert_array_equal(model.predict(x), model.predict_proba(x)[:, 1] > model.threshold_)
    low, high = model.threshold_interval_
    assert low <= model.threshold_ <= high
    with pytest.raises(AttributeError, match="group_thresholds=True"):
        _ = model.group_thresholds_


def test_thresholds_per_group_keep_recall_in_every_group(by_group):
    x, truth, groups = NEW
    assert list(by_group.group_thresholds_) == REGIONS.tolist()
    assert min(recalls(by_group, sensitive_features=groups).values()) >= 0.7
    own = np.array([by_group.group_thresholds_[name] for name in groups])
    predicted = by_group.predict(x, sensitive_features=groups)
    np.testing.assert_array_equal(predicted, by_group.predict_proba(x)[:, 1] > own)
    np.testing.assert_array_equal(predicted, by_group.decision_function(x, sensitive_features=groups) > 0)
    score = by_group.score(x, truth, sensitive_features=groups)
    low, high = by_group.score_interval(n_samples=20_000, confidence=0.999)
    assert low <= score <= high
    assert by_group.threshold_interval_ == pytest.approx(
        (min(by_group.group_thresholds_.values()), max(by_group.group_thresholds_.values()))
    )


def test_thresholds_per_group_beat_a_shared_one_under_parity():
    x, truth, groups = NEW
    parity = "recall_difference<=0.05 by region"
    shared, own = (fit(parity, confidence=None, group_thresholds=each) for each in (False, True))
    assert own.score(x, truth, sensitive_features=groups) > shared.score(x, truth) + 0.005
    found = recalls(own, sensitive_features=groups).values()
    assert max(found) - min(found) < 0.15  # without confidence the bound holds on out-of-fold samples only


def test_threshold_of_all_groups_can_be_set(by_group):
    model = clone(by_group).fit(X, y, sensitive_features=region)
    assert not hasattr(model, "threshold_")
    with pytest.raises(AttributeError, match="group_thresholds_"):
        _ = model.threshold_
    model.threshold_ = 0.4
    assert model.threshold_ == pytest.approx(0.4)
    x = NEW[0]
    np.testing.assert_array_equal(model.predict(x), model.predict_proba(x)[:, 1] > 0.4)


def test_unseen_groups(by_group):
    x, unseen = NEW[0][:5], ["north", "west", "west", "north", "east"]
    with pytest.raises(ValueError, match=r"2 samples have a 'region' that was not seen in training \('west'\)"):
        by_group.predict(x, sensitive_features=unseen)
    with pytest.raises(ValueError, match="X has no column names"):
        by_group.predict(x)
    shared = fit("recall>=0.7 by region")
    with pytest.warns(UserWarning, match=r"2 samples have a 'region' that was not seen .* say nothing about them"):
        labels = shared.predict(x, sensitive_features=unseen)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(shared.predict(x), labels)


def test_groups_may_be_a_column_of_x():
    table, numbers = pd.DataFrame(X, columns=["a", "b"]).assign(code=np.searchsorted(REGIONS, region)), [0, 1, 2]
    model = PlugInClassifier(LogisticRegression(), subject_to="recall>=0.7 by code", group_thresholds=True)
    assert list(model.fit(table, y).group_thresholds_) == numbers
    own = np.array(list(model.group_thresholds_.values()))[table["code"]]
    np.testing.assert_array_equal(model.predict(table), model.predict_proba(table)[:, 1] > own)


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_texts_that_the_learner_does_not_take_are_explained(confidence):
    table = pd.DataFrame(X, columns=["a", "b"]).assign(region=region)
    model = PlugInClassifier(LogisticRegression(), subject_to="recall>=0.7 by region", confidence=confidence)
    with pytest.raises(ValueError, match="LogisticRegression takes numbers only") as caught:
        model.fit(table, y)
    assert "sensitive_features=X[['region']]" in str(caught.value) and "must be encoded" not in str(caught.value)
    with pytest.raises(ValueError, match="Texts of 'city' must be encoded in either case"):
        model.fit(table.assign(city=region), y)
    # Both remedies of the message work, and give the groups the same way in prediction.
    model.fit(table.drop(columns=["region"]), y, sensitive_features=table[["region"]])
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["region"]), remainder="passthrough")
    encoded = clone(model).set_params(estimator=make_pipeline(encoder, LogisticRegression())).fit(table, y)
    assert encoded.predict(table).shape == y.shape


def test_other_errors_of_the_learner_stay():
    table = pd.DataFrame(X, columns=["a", "b"]).assign(region=region)
    with_gap = table.assign(a=np.where(np.arange(len(y)) == 3, np.nan, X[:, 0]))
    encoder = make_column_transformer((OneHotEncoder(), ["region"]), remainder="passthrough")
    learner = make_pipeline(encoder, LogisticRegression())
    with pytest.raises(ValueError, match="contains NaN"):
        PlugInClassifier(learner, subject_to="recall>=0.7 by region").fit(with_gap, y)


def test_groups_that_a_trained_learner_has_not_seen_are_given_beside_x():
    table = pd.DataFrame(X, columns=["a", "b"])
    trained = LogisticRegression().fit(table, y)
    model = PlugInClassifier(trained, subject_to="recall>=0.7 by region", prefit=True)
    with pytest.raises(ValueError, match=r"has no feature 'region'.*leave it out of the features"):
        model.fit(table.assign(region=region), y)
    model.fit(table, y, sensitive_features=region)


def test_two_thirds_of_the_samples_test_a_trained_learner():
    half = np.where(np.arange(300) % 2 == 0, "even", "odd")
    trained = LogisticRegression().fit(X, y)
    for prefit, n_tested in ((False, 75), (True, 100)):
        model = PlugInClassifier(trained, subject_to="accuracy>=0.999 by half", prefit=prefit)
        with pytest.raises(UnreachableGuaranteeError, match="the samples set aside to test it have") as refusal:
            model.fit(X[:300], y[:300], sensitive_features={"half": half})
        found = int(str(refusal.value).split("test it have ")[1].split()[0])
        assert abs(found - n_tested) < 20


def test_sharing_a_threshold_under_several_columns():
    other = np.where(X[:, 0] > 0, "a", "b")
    groups = pd.DataFrame({"region": region, "half": other})
    subject_to = ["recall>=0.5 by region", ("recall", ">=", 0.3, "by", "half")]
    model = PlugInClassifier(LogisticRegression(), subject_to=subject_to, confidence=None)
    model.fit(X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match="needs constraints by a single column"):
        clone(model).set_params(group_thresholds=True).fit(X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match="single column: give a data frame"):
        clone(model).fit(X, y, sensitive_features=region)


@pytest.mark.parametrize(
    ("parameters", "given", "message"),
    [
        (
            {"subject_to": "recall>=0.5"},
            {"sensitive_features": region},
            "sensitive_features is for constraints by group",
        ),
        ({"group_thresholds": True}, {}, "group_thresholds=True is for constraints by group"),
        (
            {"subject_to": "recall>=0.5 by region", "measure": "roc_auc"},
            {"sensitive_features": region},
            "'roc_auc' is none",
        ),
        (
            {"subject_to": "recall_difference<=0.5 by g", "measure": "roc_auc"},
            {"sensitive_features": region},
            "'roc_auc'",
        ),
    ],
)
def test_misuse_is_named(parameters, given, message):
    with pytest.raises(ValueError, match=message):
        PlugInClassifier(LogisticRegression(), **parameters).fit(X, y, **given)


def test_several_classes_are_refused():
    with pytest.raises(ValueError, match="two classes"):
        PlugInClassifier(LogisticRegression(), subject_to="recall_difference<=0.1 by region").fit(
            X, y + (X[:, 0] > 1), sensitive_features=region
        )


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_unreachable_constraints_name_the_group(confidence):
    with pytest.raises(UnreachableGuaranteeError, match=r"group '(south|north|east)'"):
        fit(["recall>=0.95 by region", "false_positive_rate<=0.05 by region"], confidence=confidence)


def test_small_groups_are_named_before_training():
    few = np.where(np.arange(len(y)) < 12, "tiny", region)
    model = PlugInClassifier(LogisticRegression(), subject_to="recall>=0.8 by region")
    with pytest.raises(UnreachableGuaranteeError, match=r"group 'tiny' of 'region' is too small .* and 14 are needed"):
        model.fit(X, y, sensitive_features=few)


@pytest.mark.parametrize("is_shared", [False, True])
def test_model_files_keep_groups(tmp_path, by_group, is_shared):
    model = fit("recall>=0.7 by region", confidence=None) if is_shared else by_group
    metricwise.save(model, tmp_path / "model.mw")
    loaded = metricwise.load(tmp_path / "model.mw")
    x, _, groups = NEW
    np.testing.assert_array_equal(
        loaded.predict(x, sensitive_features=groups), model.predict(x, sensitive_features=groups)
    )
    assert loaded._group_rule.columns == model._group_rule.columns
    assert loaded._group_rule.constraints == model._group_rule.constraints


def test_exports_refuse_thresholds_per_group(by_group):
    with pytest.raises(TypeError, match="one threshold per group"):
        extract_linear_scores(by_group)


def test_monitors_refuse_constraints_by_group(by_group):
    for guarantee in (by_group, "recall>=0.7 by region", ("recall", ">=", 0.7, "by", "region")):
        with pytest.raises(ValueError, match=r"one monitor per group of 'region', such as GuaranteeMonitor"):
            GuaranteeMonitor(guarantee)


def test_groups_are_routed():
    x, truth, groups = NEW
    model = PlugInClassifier(
        LogisticRegression(), subject_to="recall>=0.5 by region", group_thresholds=True, confidence=None
    )
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y, sensitive_features=region)
        assert pipeline.predict(x, sensitive_features=groups).shape == truth.shape
        assert 0.3 < pipeline.score(x, truth, sensitive_features=groups) < 1.0


def test_weights_count_without_a_guarantee():
    weights = np.where(region == "east", 3.0, 1.0)
    model = PlugInClassifier(LogisticRegression(), subject_to="recall>=0.7 by region", confidence=None)
    weighted = model.fit(X, y, weights, sensitive_features=region).threshold_
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    again = clone(model).fit(X[repeated], y[repeated], sensitive_features=region[repeated])
    assert weighted == pytest.approx(again.threshold_, abs=0.05)
    with pytest.raises(ValueError, match="a guarantee counts samples"):
        clone(model).set_params(confidence=0.9).fit(X, y, weights, sensitive_features=region)


def test_clusters_are_kept_together_beside_groups_of_constraints():
    clusters = np.arange(len(y)) // 2
    model = PlugInClassifier(
        LogisticRegression(), subject_to="recall>=0.6 by region", group_thresholds=True, confidence=None
    )
    model.fit(X, y, groups=clusters, sensitive_features=region)
    low, high = model.expected_score_interval_
    assert low < model.expected_score_ < high


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_metric_classifier_keeps_constraints_by_group(confidence):
    table = pd.DataFrame(X, columns=["a", "b"]).assign(region=region)
    model = MetricClassifier(
        candidates={"logistic": make_pipeline(_Numbers(), LogisticRegression())},
        subject_to="recall>=0.7 by region",
        group_thresholds=True,
        confidence=confidence,
    ).fit(table, y)
    x, truth, groups = NEW
    new = pd.DataFrame(x, columns=["a", "b"]).assign(region=groups)
    predicted = model.predict(new)
    found = [predicted[(groups == name) & (truth == 1)].mean() for name in REGIONS]
    assert min(found) >= (0.6 if confidence is None else 0.7)
    assert set(model.group_thresholds_) == set(REGIONS)
    if confidence is not None:
        assert "recall >= 0.7 by region" in model.explain()


class _Numbers(StandardScaler):
    """Leaves the column of the groups out."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X[["a", "b"]])

    def transform(self, X, copy=None):
        return super().transform(X[["a", "b"]])
