"""Groups of samples stay whole in folds, subsets, halves and held-out samples, and widen intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, PredefinedSplit
from sklearn.neighbors import KNeighborsClassifier

import metricwise as mw
from metricwise.decisions.design_effect import estimate_design_effect
from metricwise.decisions.executors import LocalExecutor
from metricwise.decisions.groups import assign_group_folds, draw_one_per_group, draw_whole_groups, validate_groups
from metricwise.decisions.intervals import TablePosterior
from metricwise.decisions.tasks import make_task
from metricwise.decisions.training_data import prepare_data
from metricwise.estimators.selection import halving
from metricwise.estimators.selection.candidates.candidate import Problem
from metricwise.estimators.selection.candidates.portfolio import make_portfolio
from metricwise.estimators.selection.candidates.trees import BOOSTED_TREES
from metricwise.estimators.selection.profile import Profile
from metricwise.estimators.streaming.memory import hold_out
from metricwise.estimators.wrappers.adapted.inputs import default_inputs
from metricwise.measures import FBeta
from metricwise.solvers.stream_data import StreamData


def draw_patients(seed, n_patients=60, n_each=10, signal=0.0):
    """Return samples whose label belongs to the patient; a patient is easily recognised by the features."""
    random = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_patients), n_each)
    y = np.repeat(random.permutation(np.arange(n_patients) % 3 == 0), n_each).astype(int)
    X = random.normal(size=(n_patients, 4))[groups] + 0.05 * random.normal(size=(groups.size, 4))
    X[:, 0] += signal * y
    return X, y, groups


X, Y, GROUPS = draw_patients(0)


class Witness(ClassifierMixin, BaseEstimator):
    """Records which samples and groups its models had seen when they scored others: the first two features."""

    seen: ClassVar[list[set]] = []
    tested: ClassVar[list[set]] = []

    def fit(self, X, y):
        self.classes_, self.known_ = np.unique(y), set(map(tuple, X[:, :2].tolist()))
        return self

    def decision_function(self, X):
        Witness.seen.append(self.known_)
        Witness.tested.append(set(map(tuple, X[:, :2].tolist())))
        return X[:, 2]


@pytest.fixture
def named():
    """Return samples that name their group and their number, and are otherwise a little informative."""
    Witness.seen.clear()
    Witness.tested.clear()
    return np.column_stack([GROUPS, np.arange(Y.size), Y + 0.5 * np.random.default_rng(1).normal(size=Y.size)])


def find_divided_groups():
    """Return groups with samples that a model was trained with, and others that it was tested on."""
    tests = [(seen, new) for seen, new in zip(Witness.seen, Witness.tested, strict=True) if new.isdisjoint(seen)]
    assert tests
    return [group for seen, new in tests for group in {group for group, _ in seen} & {group for group, _ in new}]


# --------------------------------------------------------------------------------------------------------------- folds


@pytest.mark.parametrize("most", [5000, 1])  # by StratifiedGroupKFold, and dealt out
def test_folds_keep_groups_whole_and_classes_balanced(most, monkeypatch):
    monkeypatch.setattr("metricwise.decisions.groups._MOST_GROUPS_TO_BALANCE", most)
    folds = assign_group_folds(GROUPS, Y, 5, seed=0)
    assert all(np.unique(folds[number == GROUPS]).size == 1 for number in range(60))
    assert all(abs(np.mean(Y[folds == k]) - 1 / 3) < 0.1 for k in range(5))
    order = np.random.default_rng(0).permutation(Y.size)
    np.testing.assert_array_equal(assign_group_folds(GROUPS[order], Y[order], 5, seed=0), folds[order])


def test_there_are_no_more_folds_than_groups_of_a_class():
    positive = GROUPS < 3
    folds = assign_group_folds(GROUPS, positive, 5, seed=0)
    assert set(folds) == {0, 1, 2}
    assert all(positive[folds != k].any() for k in range(3))
    assert assign_group_folds(GROUPS, GROUPS == 0, 5, seed=0) is None


def test_subsets_take_whole_groups_and_contain_smaller_ones():
    few, many = (draw_whole_groups(GROUPS, Y, size, seed=0) for size in (100, 300))
    assert set(few) <= set(many) and 100 <= few.size <= 150
    for part in (few, many):
        assert np.all(np.bincount(GROUPS[part])[np.unique(GROUPS[part])] == 10)
        assert np.unique(GROUPS[part][Y[part] == 1]).size >= 3


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS[:-1], "give the group of every sample"),
        (np.where(GROUPS == 0, np.nan, GROUPS), "missing for 10 samples, the first at position 0"),
        ([None, *GROUPS[1:].tolist()], "missing for 1 samples"),
        (pd.Series(GROUPS).astype("string").where(GROUPS > 0), "missing for 10 samples, the first at position 0"),
        (np.zeros(Y.size), "all samples are in one group"),
    ],
)
def test_wrong_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        mw.PlugInClassifier(LogisticRegression()).fit(X, Y, groups=groups)


def test_groups_may_be_texts_or_of_mixed_types():
    np.testing.assert_array_equal(validate_groups(np.array(["b", 1, "b"], dtype=object), 3), [1, 0, 1])


# ---------------------------------------------------------------------------------------------------------- estimators


def test_a_plug_in_classifier_divides_no_group(named):
    mw.PlugInClassifier(Witness()).fit(named, Y, groups=GROUPS)
    assert not find_divided_groups()
    mw.PlugInClassifier(Witness()).fit(named, Y)
    assert find_divided_groups()


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by PredefinedSplit")
@pytest.mark.parametrize(
    "cv",
    [3, GroupKFold(4), LeaveOneGroupOut(), list(GroupKFold(4).split(X, Y, GROUPS)), PredefinedSplit(GROUPS % 4)],
    ids=lambda cv: type(cv).__name__,
)
def test_no_rung_of_a_metric_classifier_divides_a_group(named, cv, monkeypatch):
    monkeypatch.setattr(halving, "_FIRST_SAMPLES", 150)
    monkeypatch.setattr(halving, "_FIRST_MINORITY", 10)
    model = mw.MetricClassifier("f1", candidates={"witness": Witness()}, cv=cv)
    model.fit(named, Y, groups=GROUPS)
    assert not find_divided_groups()
    assert min(map(len, Witness.seen)) < 300  # there was an earlier rung


def test_splits_without_groups_are_honoured_on_subsets(named, monkeypatch):
    monkeypatch.setattr(halving, "_FIRST_SAMPLES", 150)
    monkeypatch.setattr(halving, "_FIRST_MINORITY", 10)
    splits = GroupKFold(4).split(named, Y, GROUPS)  # can be read once
    mw.MetricClassifier("f1", candidates={"witness": Witness()}, cv=splits).fit(named, Y)
    assert not find_divided_groups()


def test_other_estimators_divide_no_group(named):
    mw.AdaptedSVC("f1", [("witness", Witness())], use_features=False).fit(named, Y, groups=GROUPS)
    assert not find_divided_groups()
    for estimator in (
        mw.CostSensitiveClassifier(KNeighborsClassifierWithWeights(1), "f1"),
        mw.MultivariateSVC("accuracy", C=0.1),
        mw.AUCSVC(C=0.1),
        mw.STAMPClassifier("f1"),
    ):
        first, second = (estimator.fit(X, Y, **given).threshold_ for given in ({}, {"groups": GROUPS}))
        assert first != second


class KNeighborsClassifierWithWeights(KNeighborsClassifier):
    """Memorises its samples, and takes weights without using them."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)


def test_memorising_is_not_rewarded_with_groups():
    learner = KNeighborsClassifierWithWeights(1)
    for make in (mw.PlugInClassifier, mw.CostSensitiveClassifier):
        assert make(learner, "f1").fit(X, Y).expected_score_ > 0.99
        assert make(learner, "f1").fit(X, Y, groups=GROUPS).expected_score_ < 0.6


def test_multilabel_thresholds_and_costs_come_from_whole_groups():
    labels = np.column_stack([Y, Y[::-1]])
    for make, learner in ((mw.BinaryRelevance, None), (mw.ProbabilisticClassifierChain, LogisticRegression())):
        model = make(learner, inference="macro_f")
        alone = model.fit(X, labels).threshold_.copy()
        assert not np.allclose(model.fit(X, labels, groups=GROUPS).threshold_, alone)
    memorising = mw.BinaryRelevance(KNeighborsClassifier(1), inference="macro_f").fit(X, labels, groups=GROUPS)
    assert memorising.threshold_.min() < 0.5  # out of fold, neighbours are of no use


def test_streams_hold_out_whole_groups():
    random = np.random.default_rng(0)
    groups, positive = np.repeat(np.arange(100), 20), random.uniform(size=2000) < 0.4
    samples, model = random.normal(size=(2000, 3)), mw.STAMPClassifier("f1")
    plan = model._plan(FBeta())
    held = hold_out(replace(plan, groups=groups), StreamData(samples, positive, np.ones(2000), 1), np.arange(2000))
    assert 100 <= held.size <= 300
    assert np.all(np.bincount(groups[held])[np.unique(groups[held])] == 20)


def test_samples_without_weight_are_left_out_of_groups_and_splits():
    weights = np.where(np.arange(Y.size) % 5 == 0, 0.0, 1.0)
    kept = weights > 0.0
    for cv in (None, GroupKFold(4)):
        weighted = mw.PlugInClassifier(LogisticRegression(), cv=cv).fit(X, Y, weights, groups=GROUPS)
        part = mw.PlugInClassifier(LogisticRegression(), cv=cv).fit(X[kept], Y[kept], groups=GROUPS[kept])
        assert weighted.expected_score_ == pytest.approx(part.expected_score_, abs=0.05)


def test_boosted_trees_hold_out_no_random_samples_of_groups():
    random = np.random.default_rng(0)
    samples = random.normal(size=(10_100, 1))  # from 10,000 on, boosted trees stop early by default
    alone = Profile.of(samples)
    for is_grouped in (False, True):
        profile = replace(alone, is_grouped=is_grouped)
        candidates = make_portfolio(["boosted_trees"], Problem(profile, FBeta())).candidates
        model = candidates[0].estimator.fit(samples, samples[:, 0] > random.normal(size=10_100))
        assert model.do_early_stopping_ == (not is_grouped)
        assert len(candidates) == (2 if is_grouped else len(BOOSTED_TREES))
        assert default_inputs(profile, FBeta(), 0)["boosted trees"].get_params() == candidates[0].final.get_params()


@pytest.mark.parametrize("given", [{"groups": GROUPS}, {}])
def test_folds_of_groups_choose_the_iterations_of_boosted_trees(given):
    cv = 2 if given else list(GroupKFold(2).split(X, Y, GROUPS))
    model = mw.MetricClassifier("f1", candidates=["boosted_trees"], cv=cv).fit(X, Y, **given)
    assert sorted(record["settings"]["max_iter"] for record in model._records) == [30, 100]


# ---------------------------------------------------------------------------------------------------------- guarantees


def test_halves_for_a_guarantee_consist_of_whole_groups_and_test_one_sample_of_each():
    task = make_task(Y, None, FBeta())
    data = prepare_data(task, X, Y, None, GroupKFold(3), GROUPS)
    first, second = LocalExecutor(task, data).halve(seed=0)
    known = {tuple(sample): group for sample, group in zip(X.tolist(), GROUPS.tolist(), strict=True)}
    trained, tested = ([known[tuple(sample)] for sample in half.data.X.tolist()] for half in (first, second))
    assert not set(trained) & set(tested) and len(tested) == len(set(tested))
    assert len(first.data.splits) == 3 and len(trained) + 10 * len(tested) == Y.size
    for train, test in first.data.splits:
        assert not {trained[k] for k in train} & {trained[k] for k in test}


def test_a_guarantee_refuses_splits_that_its_training_half_lacks():
    task = make_task(Y, None, FBeta())
    first, _ = LocalExecutor(task, prepare_data(task, X, Y, None, None, GROUPS)).halve(seed=0)
    is_tested = ~np.isin(X[:, 0], first.data.X[:, 0])
    splits = [(np.flatnonzero(is_tested), np.flatnonzero(~is_tested))]
    with pytest.raises(ValueError, match="set cv to a number of folds"):
        LocalExecutor(task, prepare_data(task, X, Y, None, splits, GROUPS)).halve(seed=0)


def test_guarantees_of_groups_are_kept():
    """The precision on samples of new patients is at least 0.7 in nine of ten trials, the confidence that is asked."""
    kept, n_trials = 0, 0
    for seed in range(20):
        samples, labels, groups = draw_patients(seed, 300, 10, signal=2.5)
        model = mw.PlugInClassifier(LogisticRegression(), subject_to=[("precision", ">=", 0.7)], confidence=0.9)
        try:
            model.fit(samples, labels, groups=groups)
        except ValueError:
            continue
        others, truth, _ = draw_patients(seed + 100, 1000, 2, signal=2.5)
        predicted = model.predict(others) == 1
        kept, n_trials = kept + (truth[predicted].mean() >= 0.7), n_trials + 1
    assert n_trials >= 10 and kept >= 0.85 * n_trials


def test_one_sample_per_group():
    drawn = draw_one_per_group(GROUPS, seed=0)
    np.testing.assert_array_equal(GROUPS[drawn], np.arange(60))


# ----------------------------------------------------------------------------------------------------------- intervals


def test_the_design_effect_is_the_size_of_groups_that_are_alike_and_one_without_likeness():
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(150), 12)
    alike, unlike = (random.uniform(size=150) < 0.8)[groups], random.uniform(size=1800) < 0.8
    effects = [
        estimate_design_effect(
            lambda w, right=right: float(np.average(right, weights=w)), np.ones(1800), groups, unlike
        )
        for right in (alike, unlike, np.ones(1800, dtype=bool))
    ]
    assert 9.0 < effects[0] < 16.0 and effects[1] < 1.6
    assert effects[2] == pytest.approx(12.0, rel=0.1)  # without a mistake, groups may be alike


@pytest.mark.parametrize(("measure", "n_trials"), [("f1", 25), ("roc_auc", 8)])
def test_intervals_cover_the_measure_on_new_groups(measure, n_trials):
    """Intervals of 90 % hold the measure on as many new patients, 85 to 95 times of 100 in a longer simulation."""
    inside = narrow = 0
    for seed in range(n_trials):
        samples, labels, groups = draw_patients(seed, 80, 8, signal=1.5)
        model = mw.PlugInClassifier(LogisticRegression(), measure).fit(samples, labels, groups=groups)
        others, truth, _ = draw_patients(1000 + seed, 80, 8, signal=1.5)
        low, high = model.expected_score_interval_
        inside += low <= model.score(others, truth) <= high
        low, high = mw.PlugInClassifier(LogisticRegression(), measure).fit(samples, labels).expected_score_interval_
        narrow += low <= model.score(others, truth) <= high
    assert inside >= 0.8 * n_trials
    assert narrow < 0.7 * n_trials


def test_selecting_among_one_candidate_hardly_widens_intervals():
    """The same learner has about the same interval: a spread between fold models is not added to the design effect."""
    widths = {"plug-in": 0.0, "selected": 0.0}
    for seed in range(3):
        random = np.random.default_rng(seed)
        groups = np.repeat(np.arange(150), 10)
        samples = 0.5 * random.normal(size=(150, 4))[groups] + random.normal(size=(1500, 4))
        log_odds = 1.5 * samples[:, 0] + 0.7 * random.normal(size=150)[groups] - 1.2
        labels = (random.logistic(size=1500) < log_odds).astype(int)
        for name, model in (
            ("plug-in", mw.PlugInClassifier(LogisticRegression())),
            ("selected", mw.MetricClassifier(candidates={"logistic": LogisticRegression()})),
        ):
            low, high = model.fit(samples, labels, groups=groups).expected_score_interval_
            widths[name] += high - low
    assert 0.8 * widths["plug-in"] < widths["selected"] < 1.25 * widths["plug-in"]


def test_a_thinned_table_has_one_model_and_the_same_value():
    posterior = TablePosterior(FBeta(), ((25.0, 2.0, 15.0, 448.0), (55.0, 18.0, 5.0, 432.0)))
    thinned = posterior.thin(4.0)
    assert thinned.value == pytest.approx(posterior.value)
    assert thinned.tables == ((20.0, 5.0, 5.0, 220.0),)


def test_intervals_of_groups_survive_saving(tmp_path):
    model = mw.PlugInClassifier(LogisticRegression()).fit(X, Y, groups=GROUPS)
    mw.save(model, tmp_path / "model.mw")
    assert mw.load(tmp_path / "model.mw").score_interval(500) == model.score_interval(500)


def test_multiclass_intervals_are_wider_with_groups():
    classes = GROUPS % 3
    widths = []
    for given in ({}, {"groups": GROUPS}):
        low, high = (
            mw.PlugInClassifier(LogisticRegression(), "f1_macro").fit(X, classes, **given).expected_score_interval_
        )
        widths.append(high - low)
    assert widths[1] > 1.5 * widths[0]
