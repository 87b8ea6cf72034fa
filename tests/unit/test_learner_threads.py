"""Threads of learners: one for few samples, the same model on any number, and the user's own choice."""

from __future__ import annotations

import importlib.util
from typing import ClassVar

import joblib
import numpy as np
import pytest
import threadpoolctl
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from metricwise import CostSensitiveClassifier, MetricClassifier, PlugInClassifier, threads
from metricwise.estimators.selection.booster import BoosterClassifier
from metricwise.estimators.selection.learner_threads import set_threads, shares_random_numbers

X, Y = make_classification(240, 6, n_informative=4, weights=[0.7], random_state=0)
CLASSES = make_classification(240, 6, n_informative=4, n_classes=3, random_state=0)
LIBRARIES = threadpoolctl.ThreadpoolController()
LABELS = make_multilabel_classification(150, 6, n_classes=3, random_state=0)


def make_boosters():
    """Return the installed boosters of other packages, with few trees."""
    found = {}
    if importlib.util.find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        found["lightgbm"] = LGBMClassifier(n_estimators=5, random_state=0, verbosity=-1)
    if importlib.util.find_spec("xgboost"):
        from xgboost import XGBClassifier

        found["xgboost"] = XGBClassifier(n_estimators=5, random_state=0)
    if importlib.util.find_spec("catboost"):
        from catboost import CatBoostClassifier

        found["catboost"] = CatBoostClassifier(
            iterations=5, random_seed=0, verbose=False, allow_writing_files=False, allow_const_label=True
        )
    return found


class Witness(ClassifierMixin, BaseEstimator):
    """A classifier that reports how many threads it may use when it is trained and when it predicts."""

    seen: ClassVar[list[tuple[int, int, int]]] = []

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.shares_ = np.bincount(np.searchsorted(self.classes_, y)) / len(y)
        self._look()
        return self

    def predict_proba(self, X):
        self._look()
        return np.tile(self.shares_, (len(X), 1))

    def _look(self):
        counts = [
            max(one["num_threads"] for one in LIBRARIES.info() if one["user_api"] == api) for api in ("blas", "openmp")
        ]
        self.seen.append((*counts, threads.available_threads()))


class FewTrees(ExtraTreesClassifier):
    """Trees without a parameter for threads."""

    def __init__(self, n_trees=3):
        super().__init__(n_trees)
        self.n_trees = n_trees


@pytest.fixture
def four_cores(monkeypatch):
    """Make all four threads of BLAS and OpenMP visible, however few cores there are."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(joblib, "cpu_count", lambda **_: 4)
    monkeypatch.setattr(Witness, "seen", [])
    with threadpoolctl.threadpool_limits(4):
        yield


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize("n_jobs", [None, 1])
@pytest.mark.parametrize("data", [(X, Y), CLASSES], ids=["binary", "multiclass"])
def test_few_samples_have_one_thread_in_every_stage(n_jobs, data):
    measure = "f1" if data[0] is X else "f1_macro"
    learners = {"witness": Witness(), "bayes": GaussianNB()}
    model = MetricClassifier(measure, candidates=learners, n_jobs=n_jobs).fit(*data)
    assert len(Witness.seen) >= 10
    model.predict_proba(X)
    PlugInClassifier(Witness(), measure, n_jobs=n_jobs).fit(*data).predict(X)
    if data[0] is X:
        CostSensitiveClassifier(Witness(), max_iter=1, n_jobs=n_jobs).fit(*data)
    assert set(Witness.seen) == {(1, 1, 1)}


@pytest.mark.usefixtures("four_cores")
def test_many_samples_have_all_threads(monkeypatch):
    monkeypatch.setattr(threads, "FEW_SAMPLES", 100)
    monkeypatch.setattr("metricwise.estimators.selection.schedule.count_free_cores", lambda: 4)
    MetricClassifier("f1", candidates={"witness": Witness()}).fit(X, Y)
    assert (4, 4, 4) in Witness.seen
    assert Witness.seen[0] == (4, 4, 4)  # the first training
    Witness.seen.clear()
    monkeypatch.setattr("metricwise.estimators.selection.schedule.count_free_cores", lambda: 1)
    MetricClassifier("f1", candidates={"witness": Witness()}).fit(X, Y)
    assert Witness.seen[0] == (1, 1, 1)


LEARNERS = {
    "linear": make_pipeline(StandardScaler(), LogisticRegression()),
    "trees": ExtraTreesClassifier(5, random_state=0),
    "boosted": HistGradientBoostingClassifier(max_iter=5, random_state=0),
    **make_boosters(),
}


@pytest.mark.parametrize(
    ("data", "measure", "names"),
    [
        ((X, Y), "f1", list(LEARNERS)),
        (CLASSES, "f1_macro", ["boosted", "lightgbm", "catboost"]),
        (LABELS, "f1_macro", ["linear", "trees"]),
    ],
    ids=["binary", "multiclass", "multilabel"],
)
@pytest.mark.filterwarnings("ignore")
def test_the_model_does_not_depend_on_n_jobs(monkeypatch, data, measure, names):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setattr(joblib, "cpu_count", lambda **_: 3)  # also where there are fewer
    learners = {name: LEARNERS[name] for name in names if name in LEARNERS}
    models = [MetricClassifier(measure, candidates=learners, cv=3, n_jobs=jobs).fit(*data) for jobs in (None, 1, 2)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.predict_proba(data[0]), models[0].predict_proba(data[0]))
        assert model.expected_score_ == models[0].expected_score_
        assert model.expected_score_interval_ == models[0].expected_score_interval_
        columns = ["candidate", "value", "low", "high", "weight", "warnings"]
        assert model.leaderboard_[columns].equals(models[0].leaderboard_[columns])


def test_learners_that_share_random_numbers_are_trained_one_after_the_other(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda **_: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    wide = make_classification(150, 300, n_informative=20, random_state=0)
    learners = {"dual": LinearSVC(C=0.01, dual=True, random_state=0)}
    models = [MetricClassifier("f1", candidates=learners, n_jobs=n_jobs).fit(*wide) for n_jobs in (None, 1)]
    scores, others = (model.decision_function(wide[0]) for model in models)
    np.testing.assert_array_equal(scores, others)
    assert models[0].leaderboard_["value"].equals(models[1].leaderboard_["value"])
    assert shares_random_numbers(LogisticRegression(solver="liblinear"))
    assert shares_random_numbers(make_pipeline(StandardScaler(), SVC(probability=True)))
    assert not any(map(shares_random_numbers, [LogisticRegression(), SVC(), *make_boosters().values()]))


def test_a_number_of_threads_that_the_user_chose_stays():
    for name, learner in {"trees": ExtraTreesClassifier(), **make_boosters()}.items():
        own = "thread_count" if name == "catboost" else "n_jobs"
        assert set_threads(learner, 3).get_params()[own] == 3
        chosen = set_threads(make_pipeline(StandardScaler(), learner.set_params(**{own: 2})), 3)
        assert chosen[-1].get_params()[own] == 2
    assert set_threads(LogisticRegression(C=2.0), 3).C == 2.0
    assert set_threads(FewTrees(5), 3).n_trees == 5
    assert set_threads(make_pipeline(BoosterClassifier("lightgbm")), 3)[-1].n_jobs == 3


@pytest.mark.parametrize("name", ["trees", *(name for name in make_boosters() if name != "catboost")])
def test_trained_models_have_the_parameters_that_they_were_given(name):
    learner = LEARNERS[name]
    model = MetricClassifier("f1", candidates={name: learner}, cv=2).fit(X, Y)
    assert model.best_estimator_.get_params()["n_jobs"] == learner.get_params()["n_jobs"]


def test_models_of_labels_that_all_samples_have_need_no_threads():
    labels = np.column_stack([Y, np.ones_like(Y)])
    model = MetricClassifier("f1_macro", candidates={"trees": LEARNERS["trees"]}, cv=2).fit(X, labels)
    assert model.best_estimator_[0].n_jobs is None
    assert model.predict(X)[:, 1].all()


@pytest.mark.skipif(importlib.util.find_spec("lightgbm") is None, reason="LightGBM is not installed")
def test_other_names_of_the_parameter_are_known():
    from lightgbm import LGBMClassifier

    assert set_threads(LGBMClassifier(num_threads=2), 3).get_params()["n_jobs"] is None
