"""Sample weights and groups are routed as by scikit-learn's own meta-estimators, and passed without routing."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricwise as mw

RANDOM = np.random.default_rng(0)
GROUPS = np.repeat(np.arange(40), 6)
Y = np.repeat(RANDOM.permutation(np.arange(40) % 2), 6)
X = RANDOM.normal(size=(40, 3))[GROUPS] + 0.1 * RANDOM.normal(size=(240, 3)) + 0.5 * Y[:, None]
WEIGHTS = RANDOM.integers(1, 4, size=240).astype(float)
LABELS = np.column_stack([Y, 1 - Y])


class Recording(LogisticRegression):
    """Records the metadata that it gets."""

    def fit(self, X, y, sample_weight=None, groups=None):
        self.got_ = {name for name, given in (("weights", sample_weight), ("groups", groups)) if given is not None}
        return super().fit(X, y, sample_weight)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def make_wrappers(learner):
    """Return every wrapper of a classifier, the target it takes, and where it keeps the trained classifier."""
    return [
        (mw.PlugInClassifier(learner), Y, lambda model: model.estimator_),
        (mw.CostSensitiveClassifier(learner, max_iter=1), Y, lambda model: model.estimator_),
        (mw.AdaptedSVC("f1", [("learner", learner)], cv=3), Y, lambda model: model.estimators_["learner"]),
        (mw.MetricClassifier("f1", candidates={"learner": learner}), Y, lambda model: model.best_estimator_),
        (mw.BinaryRelevance(learner, inference="macro_f"), LABELS, lambda model: model.estimators_[0]),
        (mw.TriageClassifier(learner), Y, lambda model: model.estimator_),
    ]


WRAPPERS = [type(model).__name__ for model, *_ in make_wrappers(Recording())]


@pytest.mark.parametrize("number", range(len(WRAPPERS)), ids=WRAPPERS)
def test_what_is_requested_reaches_the_classifier(routing, number):
    for weights, groups in ((True, True), (True, False), (False, False)):
        learner = Recording().set_fit_request(sample_weight=weights, groups=groups)
        model, y, find = make_wrappers(learner)[number]
        if not weights and number == 1:
            continue  # class weights must reach the classifier
        got = find(model.fit(X, y, sample_weight=WEIGHTS, groups=GROUPS)).got_
        assert got == {name for name, is_requested in (("weights", weights), ("groups", groups)) if is_requested}


@pytest.mark.parametrize("number", range(len(WRAPPERS)), ids=WRAPPERS)
def test_metadata_that_is_neither_requested_nor_refused_is_an_error(routing, number):
    model, y, _ = make_wrappers(LogisticRegression())[number]
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        model.fit(X, y, sample_weight=WEIGHTS)
    model.fit(X, y, groups=GROUPS)  # LogisticRegression takes none


@pytest.mark.parametrize("number", range(len(WRAPPERS)), ids=WRAPPERS)
def test_without_routing_classifiers_get_what_they_take(number):
    model, y, find = make_wrappers(Recording())[number]
    assert find(model.fit(X, y, sample_weight=WEIGHTS, groups=GROUPS)).got_ == {"weights", "groups"}


@pytest.mark.parametrize(
    "model",
    [
        mw.PlugInClassifier(LogisticRegression()),
        mw.MetricClassifier("f1", candidates=["logistic"]),
        mw.MultivariateSVC("accuracy", C=0.1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_pipelines_searches_and_cross_validation_route_groups(routing, model):
    scaled = StandardScaler().fit_transform(X)
    alone = sklearn.clone(model).fit(scaled, Y, groups=GROUPS)
    pipeline = make_pipeline(StandardScaler(), sklearn.clone(model)).fit(X, Y, groups=GROUPS)
    assert pipeline[-1].threshold_ == alone.threshold_
    assert pipeline[-1].threshold_ != make_pipeline(StandardScaler(), sklearn.clone(model)).fit(X, Y)[-1].threshold_
    found = cross_validate(
        sklearn.clone(model),
        X,
        Y,
        cv=GroupKFold(3),
        params={"groups": GROUPS},
        return_estimator=True,
        return_indices=True,
    )
    train = found["indices"]["train"][0]
    expected = sklearn.clone(model).fit(X[train], Y[train], groups=GROUPS[train])
    assert found["estimator"][0].threshold_ == expected.threshold_
    grid = {"measure": ["accuracy"]}
    search = GridSearchCV(sklearn.clone(model), grid, cv=GroupKFold(2)).fit(X, Y, groups=GROUPS)
    assert (
        search.best_estimator_.threshold_ == sklearn.clone(search.best_estimator_).fit(X, Y, groups=GROUPS).threshold_
    )


def test_weights_reach_our_own_learners_with_routing(routing):
    weighted = mw.MetricClassifier("f1", candidates=["logistic"])
    with sklearn.config_context(enable_metadata_routing=False):
        expected = mw.MetricClassifier("f1", candidates=["logistic"]).fit(X, Y, WEIGHTS)
    assert weighted.fit(X, Y, WEIGHTS).expected_score_ == expected.expected_score_
    labels = mw.BinaryRelevance().fit(X, LABELS, WEIGHTS)
    assert not np.array_equal(labels.estimators_[0].coef_, mw.BinaryRelevance().fit(X, LABELS).estimators_[0].coef_)


@pytest.mark.parametrize("name", [1, "method_mapping", "splitter"])
def test_candidates_may_have_any_name_with_routing(routing, name):
    model = mw.MetricClassifier("f1", candidates={name: LogisticRegression()})
    with pytest.raises(UnsetMetadataPassedError):
        model.fit(X, Y, WEIGHTS)
    requested = model.set_params(candidates={name: LogisticRegression().set_fit_request(sample_weight=True)})
    assert requested.fit(X, Y, WEIGHTS).leaderboard_["candidate"].tolist() == [str(name)]


def test_a_splitter_gets_groups_if_it_requests_them(routing):
    model = mw.PlugInClassifier(LogisticRegression(), cv=GroupKFold(4)).fit(X, Y, groups=GROUPS)
    splits = list(GroupKFold(4).split(X, Y, GROUPS))
    assert model.expected_score_ == mw.PlugInClassifier(LogisticRegression(), cv=splits).fit(X, Y).expected_score_
    kept = mw.PlugInClassifier(LogisticRegression(), cv=GroupKFold(4).set_split_request(groups=False))
    with pytest.raises(ValueError, match="groups"):
        kept.fit(X, Y, groups=GROUPS)


def test_a_search_inside_a_wrapper_gets_groups(routing):
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=GroupKFold(3))
    model = mw.PlugInClassifier(search).fit(X, Y, groups=GROUPS)
    assert model.estimator_.best_params_ == search.fit(X, Y, groups=GROUPS).best_params_


def test_unrequested_class_weights_are_refused(routing):
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(TypeError, match="set_fit_request"):
        mw.CostSensitiveClassifier(pipeline).fit(X, Y)
