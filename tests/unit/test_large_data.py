"""Many samples: fewer folds, parts of the samples, small forests, and no copies that are not needed."""

from __future__ import annotations

import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from metricwise import MetricClassifier
from metricwise.decisions.tasks import make_task
from metricwise.decisions.training_data import prepare_data
from metricwise.estimators.selection import halving, rungs, schedule, selecting
from metricwise.estimators.selection.booster import BoosterClassifier
from metricwise.estimators.selection.candidate_training import draw_to_train, limit_scores
from metricwise.estimators.selection.candidates.candidate import Candidate, Problem
from metricwise.estimators.selection.candidates.portfolio import Portfolio, make_portfolio
from metricwise.estimators.selection.clock import Clock
from metricwise.estimators.selection.columns import Columns
from metricwise.estimators.selection.final_training import fit_final
from metricwise.estimators.selection.halving import SuccessiveHalving
from metricwise.estimators.selection.profile import Profile
from metricwise.estimators.selection.rungs import make_rung
from metricwise.estimators.selection.schedule import Schedule
from metricwise.estimators.selection.subsets import hold_out
from metricwise.measures import get_measure
from metricwise.threads import available_cores

MANY = 200_000


@pytest.fixture
def large(monkeypatch):
    """Binary data that count as large: task, samples and labels."""
    monkeypatch.setattr(rungs, "MANY_SAMPLES", 5000)
    monkeypatch.setattr(rungs, "_ENOUGH_OF_A_CLASS", 1000)
    random = np.random.default_rng(0)
    X = random.standard_normal((6000, 3))
    return X, (X[:, 0] + random.standard_normal(6000) > 0.5).astype(np.int64)


def make_data(X, y, cv=None, groups=None):
    task = make_task(y, None, get_measure("f1"), None, False, False)
    return task, prepare_data(task, X, y, None, cv, groups)


def make_candidates(name, n_samples, n_features=20):
    profile = Profile(n_samples, n_features, is_sparse=False, columns=Columns(), has_missing=False)
    return make_portfolio([name], Problem(profile, get_measure("f1"))).candidates


def test_many_samples_have_two_folds(large):
    task, data = make_data(*large)
    rung = make_rung(task, data, None, 0, np.arange(6000))
    assert len(rung.splits) == 2
    assert all(train.size == pytest.approx(3000, abs=10) for train, _ in rung.splits)
    assert np.unique(rung.test_samples).size == 6000


def test_many_samples_with_a_rare_class_have_three_folds(large):
    X, _ = large
    task, data = make_data(X, (np.arange(6000) % 10 == 0).astype(np.int64))
    assert len(make_rung(task, data, None, 0, np.arange(6000)).splits) == 3


def test_folds_of_the_user_stay(large):
    X, y = large
    task, data = make_data(X, y)
    assert len(make_rung(task, data, 4, 0, np.arange(6000)).splits) == 4
    task, data = make_data(X, y, groups=np.arange(6000) % 50)
    assert len(make_rung(task, data, None, 0, np.arange(6000)).splits) == 5
    halves = [(np.arange(3000), np.arange(3000, 6000)), (np.arange(3000, 6000), np.arange(3000))]
    task, data = make_data(X, y, cv=[*halves, *halves])
    assert len(make_rung(task, data, halves, 0, np.arange(6000)).splits) == 4


def test_two_folds_choose_and_judge_a_threshold(large):
    X, y = large
    model = MetricClassifier("f1", candidates={"logistic": LogisticRegression()}).fit(X[:5500], y[:5500])
    assert model.leaderboard_["n_folds"][0] == 2
    low, high = model.expected_score_interval_
    assert low < model.score(X[5500:], y[5500:]) + 0.05
    assert low < model.expected_score_ < high


def test_all_samples_are_not_copied():
    _, data = make_data(np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1]))
    assert data.take_to_train(np.arange(6)).X is data.X
    shuffled = data.take_to_train(np.array([5, 4, 3, 2, 1, 0]))
    np.testing.assert_array_equal(shuffled.X, data.X[::-1])


def test_a_part_of_the_samples_has_the_same_classes():
    X = np.arange(1000.0)[:, None]
    y = (X[:, 0] % 10 == 0).astype(np.int64)
    task, data = make_data(X, y)
    given = np.arange(100, 1000)
    drawn = draw_to_train(task, data, 200, 3, given)
    assert drawn.size == np.unique(drawn).size == 200 and np.isin(drawn, given).all()
    assert y[drawn].sum() == 20
    for enough in (None, 900):
        assert draw_to_train(task, data, enough, 3, given) is given


def test_a_part_of_grouped_samples_has_whole_groups():
    X, groups = np.arange(1000.0)[:, None], np.repeat(np.arange(100), 10)
    y = (groups % 2).astype(np.int64)
    task, data = make_data(X, y, groups=groups)
    drawn = draw_to_train(task, data, 200, 3, np.arange(1000))
    assert drawn.size == 10 * np.unique(groups[drawn]).size < 1000


class Recorder(LogisticRegression):
    """A learner that notes the samples it was trained on."""

    sizes: ClassVar[list[int]] = []

    def fit(self, X, y, sample_weight=None):
        self.sizes.append(len(y))
        return super().fit(X, y, sample_weight)


def test_fold_models_and_the_final_model_are_trained_on_a_part(large, monkeypatch):
    Recorder.sizes.clear()
    candidates = [Candidate("recorder", Recorder(), most_samples=500)]
    monkeypatch.setattr(selecting, "make_portfolio", lambda *_: Portfolio(candidates, {}))
    MetricClassifier("f1", n_jobs=1).fit(*large)
    assert set(Recorder.sizes) == {500}


def test_folds_of_many_samples_are_trained_in_this_process(large, monkeypatch):
    monkeypatch.setattr(schedule, "MANY_SAMPLES", 5000)
    Recorder.sizes.clear()  # processes would have copies of the list
    MetricClassifier("f1", candidates={"recorder": Recorder()}, n_jobs=2).fit(*large)
    assert sum(size > 2900 for size in Recorder.sizes) == 3  # two fold models and the final one


def test_few_of_many_samples_have_no_threads_of_their_own():
    assert Schedule(Clock(None), n_samples=MANY, n_jobs=None).n_side_by_side(1000) == 1
    assert Schedule(Clock(None), n_samples=5000, n_jobs=None).n_side_by_side(1000) == available_cores()


def test_scores_of_blocks_are_those_of_all_samples():
    random = np.random.default_rng(0)
    X = random.standard_normal((25_001, 2))
    y = (X[:, 0] > 1.0).astype(np.int64)
    task, _ = make_data(X, y)
    model = LogisticRegression().fit(X, y)
    at_once = task.limit_certainty(model, task.scores(model, X), -2.0)
    np.testing.assert_allclose(limit_scores(task, -2.0, model, X), at_once, rtol=1e-12)


def test_forests_of_many_samples_need_less_memory_than_the_samples():
    random = np.random.default_rng(0)
    X = random.standard_normal((3000, 20))
    y = random.integers(0, 2, 3000)
    for candidate in make_candidates("extra_trees", MANY):
        nodes = 2 * candidate.final.max_leaf_nodes - 1
        assert candidate.final.n_estimators * nodes * 80 <= 0.25 * MANY * 20 * 8
        assert candidate.last_cost == 1.0
    small = candidate.final.set_params(n_estimators=2, max_leaf_nodes=100).fit(X, y).estimators_[0].tree_
    state = small.__getstate__()
    assert state["nodes"].nbytes + state["values"].nbytes <= 80 * small.node_count


@pytest.mark.parametrize("name", ["catboost", "rbf", "linear_svm"])
def test_learners_that_need_much_memory_get_a_part_of_many_samples(name):
    if name == "catboost":
        pytest.importorskip("catboost")
    for candidate in make_candidates(name, MANY):
        assert candidate.most_samples <= 50_000
        assert candidate.shown_settings["samples"] == candidate.most_samples
    assert all(candidate.most_samples is None for candidate in make_candidates(name, 50_000))


def test_boosted_trees_of_many_samples_hold_none_out():
    assert all(one.estimator.early_stopping is False for one in make_candidates("boosted_trees", MANY))
    assert all(one.estimator.early_stopping == "auto" for one in make_candidates("boosted_trees", 100_000))


def test_kernel_features_of_more_samples_come_from_a_larger_part():
    few, many = (make_candidates("rbf", n_samples)[0].most_samples for n_samples in (5 * MANY, 50 * MANY))
    assert 9 < many / few < 11


def test_candidates_of_fewer_samples_are_as_usual():
    assert all(one.final.max_leaf_nodes is None for one in make_candidates("extra_trees", 100_000))
    assert all(one.final.n_estimators == 200 for one in make_candidates("extra_trees", 100_000))


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_give_catboost_the_same_model_as_samples(monkeypatch, weighted):
    pytest.importorskip("catboost")
    random = np.random.default_rng(0)
    X = random.standard_normal((2000, 4))
    X[random.random(X.shape) < 0.1] = np.nan
    X[:, 1] = 1.0
    y = np.digitize(np.nan_to_num(X[:, 0]) + random.standard_normal(2000), [-0.5, 0.5])
    weights = random.random(2000) if weighted else None
    learner = BoosterClassifier("catboost", {"iterations": 10})
    usual = learner.fit(X, y, weights).predict_proba(X)
    monkeypatch.setattr("metricwise.estimators.selection.booster._FEW_SAMPLES", 1000)
    np.testing.assert_array_equal(learner.fit(X, y, weights).predict_proba(X), usual)


def test_only_the_best_of_many_samples_keeps_its_models(large, monkeypatch):
    monkeypatch.setattr(halving, "MANY_SAMPLES", 5000)
    fitted = []

    def record(halving, outcome, mixture):
        fitted.append((outcome, [run.candidate.name for run in outcome.runs if run.models]))
        return fit_final(halving, outcome, mixture)

    monkeypatch.setattr(selecting, "fit_final", record)
    learners = {"good": LogisticRegression(), "poor": LogisticRegression(C=1e-6), "trees": ExtraTreesClassifier(5)}
    model = MetricClassifier("f1", candidates=learners, time_budget=600.0).fit(*large)
    ((outcome, kept),) = fitted
    best = max(outcome.finalists, key=lambda run: run.value)
    assert kept == [best.candidate.name]
    assert not any(run.models for run in outcome.runs)  # its final model has taken their place
    assert model.leaderboard_["why_dropped"].iloc[0] == ""


def test_candidates_without_time_or_models_leave_the_ensemble(large, monkeypatch):
    monkeypatch.setattr(halving, "MANY_SAMPLES", 5000)
    monkeypatch.setattr(Schedule, "final_limit", lambda *_: None)
    learners = {"linear": LogisticRegression(), "tree": DecisionTreeClassifier(max_depth=3)}
    X, random = large[0], np.random.default_rng(1)
    y = (X[:, 0] + 0.7 * np.abs(X[:, 1]) + random.standard_normal(len(X)) > 0.5).astype(np.int64)
    model = MetricClassifier("f1", candidates=learners, time_budget=600.0).fit(X, y)
    board = model.leaderboard_.set_index("candidate")
    assert board["weight"].tolist() == [1.0, 0.0]
    assert board["why_dropped"].tolist() == ["", "there was no time to train it as well"]
    assert isinstance(model.best_estimator_, LogisticRegression)  # the only fold model that was kept


def test_the_best_of_candidates_without_time_or_models_is_trained_however_long_it_takes(large, monkeypatch):
    monkeypatch.setattr(Schedule, "final_limit", lambda *_: None)
    monkeypatch.setattr(SuccessiveHalving, "_release_models", lambda self, running, rung: forget_models(running))
    model = MetricClassifier("f1", candidates={"good": LogisticRegression(), "poor": DummyClassifier()})
    model.set_params(time_budget=600.0).fit(*large)
    board = model.leaderboard_.set_index("candidate")
    assert board.loc["good", ["weight", "why_dropped"]].tolist() == [1.0, ""]
    assert board["n_samples"].max() == 6000 and model.score(*large) > 0.5


def forget_models(runs):
    for run in runs:
        run.models = []


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process of Linux")
def test_catboost_gives_its_memory_back():
    pytest.importorskip("catboost")
    # In a process of its own: the allocator reads its setting when the package is loaded.
    found = subprocess.run([sys.executable, "-c", _TRAIN_CATBOOST], capture_output=True, text=True, check=True)
    size, kept = map(int, found.stdout.split())
    assert kept < 0.5 * size


_TRAIN_CATBOOST = """
import os
from pathlib import Path
import numpy as np
from metricwise.estimators.selection.booster import BoosterClassifier
from metricwise.memory import release_freed_memory

def resident():
    release_freed_memory()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

random = np.random.default_rng(0)
X = random.standard_normal((200_000, 20))
y = X[:, 0] > random.standard_normal(len(X))
learner = BoosterClassifier("catboost", {"iterations": 3}, n_jobs=1)
learner.fit(X[:1000], y[:1000])
before = resident()
learner.fit(X, y)
print(X.nbytes, resident() - before)
assert "MIMALLOC_PURGE_DELAY" not in os.environ
"""


@pytest.mark.parametrize("grouped", [False, True])
def test_samples_held_out_are_the_first_of_many_folds(grouped):
    random = np.random.default_rng(0)
    X = random.standard_normal((30_000, 1))
    y = random.integers(0, 2, 30_000)
    _, data = make_data(X, y, groups=np.arange(30_000) // 10 if grouped else None)
    expected = data.split(7, y, 0)[0][1]
    np.testing.assert_array_equal(hold_out(data, y, 0), expected)
