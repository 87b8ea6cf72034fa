"""Ensembles of model selection: their log loss, their calibration, and what does not change them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from metricwise import MetricClassifier, PlugInClassifier
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.out_of_fold import NO_SAMPLES
from metricwise.decisions.tasks import Binary
from metricwise.decisions.training_data import prepare_data
from metricwise.estimators.selection.candidate_run import CandidateRun
from metricwise.estimators.selection.candidates.candidate import Candidate
from metricwise.estimators.selection.clock import Clock
from metricwise.estimators.selection.ensemble import best_mixture
from metricwise.estimators.selection.halving import SuccessiveHalving
from metricwise.estimators.selection.rungs import Rung
from metricwise.estimators.selection.schedule import Schedule
from metricwise.measures import FBeta

SEVERAL = {
    "linear": LogisticRegression(),
    "bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
}


def make_halving(y, sample_weight=None):
    task = Binary(np.array([0, 1]), FBeta(), 1)
    data = prepare_data(task, np.zeros((len(y), 1)), y, sample_weight, None)
    schedule = Schedule(Clock(None))
    return SuccessiveHalving(task, data, ThresholdRule(), None, schedule, lambda text: False)


def run_with_scores(name, scores, value):
    return CandidateRun(Candidate(name, None), n_samples=len(scores), value=value, scores=scores)


def draw_outcomes(n_samples, seed):
    """Return samples whose probabilities of the positive class are known, and these."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_samples, 5))
    chances = expit(X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) - 2.5)
    return X, (random.random(n_samples) < chances).astype(int), chances


class FailsOnAll(DecisionTreeClassifier):
    """A tree that fails on more samples than the folds have."""

    def __init__(self, most=1900, reason="too many samples", max_depth=4, random_state=0):
        super().__init__(max_depth=max_depth, random_state=random_state)
        self.most, self.reason = most, reason

    def fit(self, X, y, sample_weight=None):
        if len(y) > self.most:
            raise ValueError(self.reason)
        return super().fit(X, y, sample_weight)


def test_a_learner_that_fails_on_all_samples_leaves_the_ensemble():
    X, y, _ = draw_outcomes(2000, seed=0)
    model = MetricClassifier("f1", candidates={"linear": LogisticRegression(), "tree": FailsOnAll(10**6)}).fit(X, y)
    assert set(model.leaderboard_["weight"] > 0.0) == {True}
    model.set_params(candidates={"linear": LogisticRegression(), "tree": FailsOnAll()})
    with pytest.warns(UserWarning, match="training the selected tree on 2000 samples failed: too many samples"):
        model.fit(X, y)
    board = model.leaderboard_.set_index("candidate")
    assert board.loc["tree", "why_dropped"] == "failed: too many samples" and board.loc["tree", "weight"] == 0.0
    alone = MetricClassifier("f1", candidates={"linear": LogisticRegression()}).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    assert model.expected_score_ == alone.expected_score_


def test_an_ensemble_of_learners_that_all_fail_on_all_samples_reports_their_error():
    X, y, _ = draw_outcomes(2000, seed=0)
    trees = {f"tree {depth}": FailsOnAll(reason=f"depth {depth}", max_depth=depth) for depth in (2, 4)}
    with pytest.raises(ValueError, match=r"depth [24]"):
        MetricClassifier("f1", candidates=trees).fit(X, y)


def test_finalists_that_an_ensemble_does_not_need_replace_one_that_fails():
    X, y, _ = draw_outcomes(2000, seed=0)
    learners = {"tree": FailsOnAll(), "prior": DummyClassifier()}
    with pytest.warns(UserWarning, match="training the selected tree on 2000 samples failed"):
        model = MetricClassifier("f1", candidates=learners).fit(X, y)
    board = model.leaderboard_.set_index("candidate")
    assert board.loc["prior", ["weight", "why_dropped"]].tolist() == [1.0, ""]
    assert board.loc["tree", ["weight", "why_dropped"]].tolist() == [0.0, "failed: too many samples"]


def test_predicted_probabilities_of_an_ensemble_are_calibrated():
    X, y, _ = draw_outcomes(2000, seed=0)
    model = MetricClassifier("f1", candidates=SEVERAL).fit(X, y)
    assert len(model.weights_) > 1 and model.weights_.sum() > 1.05  # not a mean, which would be too cautious
    X_new, _, chances = draw_outcomes(20_000, seed=1)
    predicted = model.predict_proba(X_new)[:, 1]
    bins = np.digitize(predicted, np.quantile(predicted, np.linspace(0.1, 0.9, 9)))
    gaps = [abs(predicted[bins == k].mean() - chances[bins == k].mean()) for k in range(10)]
    assert np.mean(gaps) < 0.025 and abs(predicted.mean() - chances.mean()) < 0.02


def test_the_prior_of_an_ensemble_counts_sample_weights():
    y, weights = np.array([0, 0, 0, 1, 1, 0]), np.array([1.0, 1.0, 1.0, 4.0, 2.0, 0.0])
    assert make_halving(y, weights).prior == pytest.approx(logit(6.0 / 9.0))


def test_a_single_candidate_with_weight_is_no_ensemble():
    random = np.random.default_rng(0)
    y = (random.random(2000) < expit(known := random.normal(size=2000))).astype(int)
    halving = make_halving(y)
    everyone = np.arange(2000)
    rung = Rung(everyone, [(everyone, everyone)], NO_SAMPLES)
    noise = random.normal(size=2000)  # more by the measure, which it was selected for on these samples
    mixture = best_mixture(halving, rung, [run_with_scores("lucky", noise, 0.9), run_with_scores("able", known, 0.8)])
    assert [run.candidate.name for run in mixture.runs] == ["able"]
    assert mixture.weights.tolist() == [1.0] and mixture.gain is None
    np.testing.assert_array_equal(mixture.scores, known)


def test_fewer_candidates_stay_on_later_rungs(monkeypatch):
    monkeypatch.setattr(f"{SuccessiveHalving.__module__}._FIRST_SAMPLES", 1000)
    X, y = make_classification(8000, 8, n_informative=8, n_redundant=0, shuffle=False, random_state=0)
    of_one_column = {
        f"column {k}": make_pipeline(ColumnTransformer([("one", "passthrough", [k])]), GaussianNB()) for k in range(8)
    }
    board = MetricClassifier("accuracy", candidates=of_one_column).fit(X, y).leaderboard_
    assert (board["n_samples"] >= 4000).sum() == 6
    assert (board["n_samples"] == 8000).sum() == 4
    assert board["why_dropped"].str.contains("not among the 4|clearly behind")[board["n_samples"] == 4000].all()


def test_the_best_of_a_rung_is_the_first_of_the_next_where_the_user_stops():
    X, y = make_classification(5000, 6, flip_y=0.1, random_state=0)
    weak = make_pipeline(ColumnTransformer([("one", "passthrough", [0])]), GaussianNB())
    model = MetricClassifier(
        "f1", candidates={"weak": weak, **SEVERAL}, callback=lambda text: text.startswith("5000 samples")
    ).fit(X, y)
    board = model.leaderboard_
    assert (board["n_samples"] == 5000).sum() == 1
    assert board["candidate"][0] == "tree" and board["value"].max() == board["value"][0]


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_averages_over_two_classes_choose_a_threshold(average):
    X, y = make_classification(400, 6, weights=[0.7], flip_y=0.1, random_state=0)
    for model in (
        MetricClassifier(f"f1_{average}", candidates={"linear": LogisticRegression()}, cv=3),
        PlugInClassifier(LogisticRegression(), f"f1_{average}", cv=3),
    ):
        score = model.fit(X, y).score(X, y)
        assert model.expected_score_ == pytest.approx(score, abs=0.05)
        for threshold in (0.2, 0.35, 0.65, 0.8):
            model.threshold_ = threshold
            assert model.score(X, y) <= score + 0.01
