"""What model selection makes of a time budget, on a clock that only learners advance: the same on every machine."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from metricwise import MetricClassifier, UnreachableGuaranteeError
from metricwise.estimators.selection import clock, final_training, halving
from metricwise.estimators.selection.clock import OutOfTimeError
from metricwise.estimators.selection.schedule import Schedule

NOW = SimpleNamespace(seconds=0.0, load=1.0, trained_on=[])


class TimedTrees(ExtraTreesClassifier):
    """Trees that advance the clock by so many seconds per sample, times the load of the machine."""

    def __init__(self, seconds_per_sample=0.0, n_estimators=10, random_state=0):
        super().__init__(n_estimators, random_state=random_state)
        self.seconds_per_sample = seconds_per_sample

    def fit(self, X, y, sample_weight=None):
        NOW.seconds += NOW.load * self.seconds_per_sample * len(y)
        NOW.trained_on.append(X)
        return super().fit(X, y, sample_weight)


class TimedLinear(LogisticRegression):
    """A linear model that advances the clock by so many seconds per sample, times the load of the machine."""

    def __init__(self, seconds_per_sample=0.0, C=1.0):
        super().__init__(C=C)
        self.seconds_per_sample = seconds_per_sample

    def fit(self, X, y, sample_weight=None):
        NOW.seconds += NOW.load * self.seconds_per_sample * len(y)
        return super().fit(X, y, sample_weight)


class FailsOnMore(LogisticRegression):
    """A learner that fails on more than some samples."""

    def __init__(self, most=1000, C=1.0):
        super().__init__(C=C)
        self.most = most

    def fit(self, X, y, sample_weight=None):
        if len(y) > self.most:
            raise ValueError("too many samples")
        return super().fit(X, y, sample_weight)


def run_within(seconds, function, n_threads=None):
    """Return what a function returns, or give up after the seconds if the clock says that it took longer."""
    started = NOW.seconds
    result = function() if seconds > 0.0 else None
    if seconds <= 0.0 or NOW.seconds - started > seconds:
        NOW.seconds = started + max(seconds, 0.0)
        raise OutOfTimeError
    return result


@pytest.fixture(autouse=True)
def simulated_time(monkeypatch):
    NOW.seconds, NOW.load, NOW.trained_on = 0.0, 1.0, []
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # folds one after the other: they share the clock
    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=lambda: NOW.seconds))
    for module in (halving, final_training):
        monkeypatch.setattr(module, "run_within", run_within)


def make_data(n_samples, seed=0, share=0.1):
    X, y = make_classification(n_samples + 4000, 20, n_informative=6, weights=[1.0 - share], random_state=seed)
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]


@pytest.mark.parametrize("seed", range(2))
def test_fold_models_keep_the_threshold_that_was_chosen_for_them(monkeypatch, seed):
    # Trees score samples that they were trained with almost certainly. The average of fold models, one of which has not
    # seen a sample, must not pass for a shift of these scores.
    monkeypatch.setattr(Schedule, "final_limit", lambda *_: None)
    X, y, X_new, y_new = make_data(1900, seed)
    trees = {"trees": ExtraTreesClassifier(50, random_state=0)}
    model = MetricClassifier("f1", candidates=trees, time_budget=60.0).fit(X, y)
    assert len(model.best_estimator_) == 5
    assert model.score(X_new, y_new) > model.expected_score_ - 0.1


def trained_samples(model):
    return int(re.search(r"There was time to train on (\d+) of", model.explain())[1])


@pytest.mark.parametrize("load", [1.0, 3.0])
def test_a_model_cut_short_is_judged_on_samples_it_has_not_seen(load):
    # A rung of all samples would take five times eight seconds.
    NOW.load = load
    X, y, X_new, y_new = make_data(8000)
    model = MetricClassifier("f1", candidates={"trees": TimedTrees(1e-3)}, time_budget=20.0).fit(X, y)
    assert 10.0 < NOW.seconds <= 20.0
    rung = model.leaderboard_["n_samples"].max()
    assert rung < trained_samples(model) == len(NOW.trained_on[-1]) < 8000
    # A part of the samples is left for the threshold, in no training at all.
    seen = np.unique(np.concatenate(NOW.trained_on), axis=0)
    assert len(seen) <= 8000 - 1300
    low, high = model.expected_score_interval_
    assert low < model.score(X_new, y_new) < high
    assert abs(model.score(X_new, y_new) - model.expected_score_) < 0.1


def test_the_best_candidate_is_not_replaced_by_a_faster_one():
    X, y, _, _ = make_data(8000)
    learners = {"slow": TimedLinear(2e-3), "fast": LogisticRegression(C=1e-3)}
    model = MetricClassifier("f1", candidates=learners, time_budget=20.0).fit(X, y)
    board = model.leaderboard_.set_index("candidate")
    assert board.loc["slow", "value"] > board.loc["fast", "value"]
    assert board.loc["slow", "weight"] > 0.0 and board["n_samples"].max() < 8000
    assert NOW.seconds <= 20.0


def test_groups_are_not_split_between_training_and_threshold():
    X, y, _, _ = make_data(4000)
    groups = np.arange(4000) // 5
    model = MetricClassifier("f1", candidates={"trees": TimedTrees(2e-3)}, time_budget=20.0)
    model.fit(np.column_stack([X, groups]), y, groups=groups)
    seen = np.unique(np.concatenate(NOW.trained_on)[:, -1])
    assert trained_samples(model) < 4000
    assert seen.size < 700  # of 800 groups, some are in no training


def test_folds_of_the_user_hold_nothing_out():
    X, y, _, _ = make_data(4000)
    model = MetricClassifier("f1", candidates={"trees": TimedTrees(2e-3)}, cv=KFold(4), time_budget=20.0).fit(X, y)
    assert "others choose the threshold" not in model.explain()
    assert NOW.seconds <= 20.0


@pytest.mark.filterwarnings("ignore:candidate .* failed")
def test_dropped_candidates_return_where_the_finalists_fail_on_more_samples():
    X, y, _, _ = make_data(3000)
    learners = {"fails": FailsOnMore(), "constant": DummyClassifier()}
    for budget in (None, 60.0):
        model = MetricClassifier("f1", candidates=learners, time_budget=budget).fit(X, y)
        board = model.leaderboard_.set_index("candidate")
        assert board.loc["fails", "why_dropped"] == "failed: too many samples"
        assert board.loc["constant", "n_samples"] == 3000 and board.loc["constant", "weight"] == 1.0
    with pytest.raises(ValueError, match="no candidate could be trained: fails: too many samples"):
        MetricClassifier("f1", candidates={"fails": FailsOnMore()}).fit(X, y)


def test_a_final_training_that_fails_leaves_the_models_of_fewer_samples():
    X, y, X_new, y_new = make_data(8000)
    model = MetricClassifier("f1", candidates={"fails": TimedFailing(2e-3)}, time_budget=20.0)
    with pytest.warns(UserWarning, match="failed, and its models of fewer samples are used: too many samples"):
        model.fit(X, y)
    assert abs(model.score(X_new, y_new) - model.expected_score_) < 0.15


class TimedFailing(TimedTrees):
    """Trees that fail on more than a thousand samples."""

    def fit(self, X, y, sample_weight=None):
        if len(y) > 1000:
            raise ValueError("too many samples")
        return super().fit(X, y, sample_weight)


def guarantee_under_load(load, bound, n_samples, share):
    NOW.seconds, NOW.load = 0.0, load
    X, y, _, _ = make_data(n_samples, seed=1, share=share)
    learners = {"linear": TimedLinear(2e-5), "trees": TimedTrees(5e-4)}
    return MetricClassifier("f1", candidates=learners, subject_to=bound, time_budget=10.0).fit(X, y)


def test_guarantees_that_a_short_training_reaches_do_not_depend_on_the_load():
    for load in (0.5, 8.0, 60.0):
        assert "Guaranteed" in guarantee_under_load(load, "precision>=0.6", 4000, share=0.3).explain()
        assert NOW.seconds <= 10.0


def test_too_few_samples_for_a_guarantee_are_refused_at_any_load():
    for load in (0.5, 60.0):
        with pytest.raises(UnreachableGuaranteeError, match=r"precision >= 0.97 cannot be guaranteed .* are too few"):
            guarantee_under_load(load, "precision>=0.97", 1500, share=0.1)
        assert NOW.trained_on == []  # before any training


def test_a_training_too_short_for_a_guarantee_is_named_as_the_reason():
    X, y, _, _ = make_data(6000, share=0.3)
    model = MetricClassifier("f1", candidates={"a": NeedsMany(5e-4)}, subject_to="precision>=0.6", time_budget=10.0)
    assert "Guaranteed" in model.fit(X, y).explain()
    NOW.seconds, NOW.load = 0.0, 10.0
    with pytest.raises(UnreachableGuaranteeError, match=r"to train on \d+ of 2999 samples: a larger time_budget may"):
        model.fit(X, y)


class NeedsMany(TimedLinear):
    """A linear model that learns nothing from less than 1500 samples."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X if len(y) >= 1500 else 0.0 * X, y, sample_weight)
