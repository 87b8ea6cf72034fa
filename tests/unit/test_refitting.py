"""Thresholds shifted from the fold models to the refitted model."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier

from metricwise import CostSensitiveClassifier, MetricClassifier, PlugInClassifier, get_measure
from metricwise.decisions.binary import ThresholdRule, choose, make_aim
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.out_of_fold import collect_scores, draw_probe, make_splits, probe_of_folds
from metricwise.decisions.refitting import refit_shift
from metricwise.decisions.scoring import binary_scores

RANDOM = np.random.default_rng(0)


def test_the_shift_is_the_median_over_samples_near_the_threshold():
    by_folds = RANDOM.normal(size=500)
    moves = np.where(np.abs(by_folds - 1.0) < 0.5, 0.3, -5.0) + RANDOM.normal(scale=0.01, size=500)
    shift = refit_shift(1.0, by_folds, by_folds + moves, np.ones(500), rare=25.0)
    near = np.argsort(np.abs(by_folds - 1.0))[:50]
    assert shift == pytest.approx(np.median(moves[near]), abs=1e-12)
    assert shift == pytest.approx(0.3, abs=0.01)


def test_models_that_disagree_on_training_samples_cause_no_shift():
    by_folds = RANDOM.normal(size=500)
    assert refit_shift(0.0, by_folds, by_folds + 0.5, np.ones(500), 50.0) == pytest.approx(0.5)
    assert refit_shift(0.0, by_folds, by_folds + 0.5 + RANDOM.normal(scale=2.0, size=500), np.ones(500), 50.0) == 0.0
    assert refit_shift(0.0, np.zeros(0), np.zeros(0), np.zeros(0), 0.0) == 0.0


def test_sample_weights_equal_repeated_samples():
    by_folds, by_whole = RANDOM.normal(size=60), RANDOM.normal(scale=0.2, size=60)
    weights = RANDOM.integers(1, 4, size=60)
    copied = np.repeat(np.arange(60), weights)
    whole = by_folds + by_whole
    shift = refit_shift(0.2, by_folds, whole, weights.astype(float), 12.0)
    assert shift == refit_shift(0.2, by_folds[copied], whole[copied], np.ones(copied.size), 12.0)
    assert refit_shift(0.2, by_folds, whole, np.full(60, 1e-3), 1e-3) == pytest.approx(np.median(by_whole))


def test_probes_contain_the_rare_class():
    codes = (np.arange(20_000) % 50 == 0).astype(np.int64)
    probe = draw_probe(codes, seed=0, most=1000)
    assert probe.size == 1000 and np.unique(probe).size == 1000
    assert codes[probe].sum() == 400  # all of them
    assert np.array_equal(probe, draw_probe(codes, seed=0, most=1000))
    assert draw_probe(np.arange(20_000) % 2, seed=0, most=1000).size == 1000


def test_training_scores_are_means_over_the_models_trained_on_the_sample():
    splits = [(np.array([0, 1]), np.array([2, 3])), (np.array([1, 2]), np.array([0, 3]))]
    probe = np.array([0, 1, 3])
    assert [seen.tolist() for seen in probe_of_folds(splits, probe)] == [[0, 1], [1]]
    parts = [(np.array([5.0, 6.0]), np.array([1.0, 2.0])), (np.array([7.0, 8.0]), np.array([4.0]))]
    found = collect_scores(splits, probe, parts)
    assert found.samples.tolist() == [2, 3, 0, 3] and found.scores.tolist() == [5.0, 6.0, 7.0, 8.0]
    assert found.probe.tolist() == [0, 1] and found.probe_scores.tolist() == [
        1.0,
        3.0,
    ]  # no model was trained on sample 3


class GrowingScores(ClassifierMixin, BaseEstimator):
    """A classifier whose log-odds are the first feature times a factor that grows with n_samples."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.scale_ = len(y) / 1000.0
        return self

    def predict_proba(self, X):
        probability = expit(self.scale_ * (X[:, 0] - 1.0))
        return np.column_stack([1.0 - probability, probability])

    def predict(self, X):
        return self.classes_[(X[:, 0] > 1.0).astype(int)]


@pytest.fixture(scope="module")
def growing_data():
    X = np.random.default_rng(3).normal(size=(1000, 2))
    y = (np.random.default_rng(4).random(1000) < expit(8.0 * (X[:, 0] - 1.6))).astype(int)
    return X, y


def choose_by_folds(estimator, X, y):
    """Return the threshold on log-odds chosen from out-of-fold scores alone, with the folds of the models."""
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    splits = make_splits(None, X, y, seed)
    scores = [binary_scores(clone(estimator).fit(X[a], y[a]), X[b], np.unique(y), 1) for a, b in splits]
    samples = np.concatenate([test for _, test in splits])
    held = ScoredSamples(y[samples] == 1, np.concatenate(scores), np.ones(samples.size))
    return choose(make_aim(get_measure("f1"), None), ThresholdRule(seed=seed), held, True).threshold


@pytest.mark.parametrize("wrap", [PlugInClassifier, partial(CostSensitiveClassifier, max_iter=0)])
def test_the_threshold_follows_scores_that_grow_with_n_samples(growing_data, wrap):
    X, y = growing_data
    model = wrap(GrowingScores(), measure="f1").fit(X, y)
    threshold = float(logit(model.threshold_))
    assert threshold == pytest.approx(choose_by_folds(GrowingScores(), X, y) / 0.8, rel=0.03)
    np.testing.assert_array_equal(model.predict(X) == 1, X[:, 0] - 1.0 > threshold)


def test_multilabel_and_batch_thresholds_follow_growing_scores(growing_data):
    X, y = growing_data
    threshold = choose_by_folds(GrowingScores(), X, y)
    labels = PlugInClassifier(GrowingScores(), "f1_macro").fit(X, np.column_stack([y, 1 - y]))
    assert float(logit(labels.threshold_[0])) == pytest.approx(
        threshold / 0.8, rel=0.1
    )  # folds are not stratified for multilabel targets
    batch = PlugInClassifier(GrowingScores(), "f1", threshold="batch").fit(X, y)
    assert float(logit(batch.threshold_)) == pytest.approx(threshold / 0.8, rel=0.03)


def test_metric_classifier_follows_growing_scores(growing_data):
    X, y = growing_data
    model = MetricClassifier("f1", candidates={"growing": GrowingScores()}).fit(X, y)
    called = model.predict(X) == 1
    cut = 0.5 * (X[called, 0].min() + X[~called, 0].max())
    assert cut == pytest.approx(1.6, abs=0.1)  # the fold models' threshold alone would be near 1.48


def test_memorised_samples_cause_no_shift():
    X, y = make_classification(400, 5, weights=[0.8], flip_y=0.1, random_state=0)
    neighbours = PlugInClassifier(KNeighborsClassifier(3), "f1").fit(X, y)
    assert neighbours.threshold_ == pytest.approx(expit(choose_by_folds(KNeighborsClassifier(3), X, y)))


def test_the_shift_improves_f1_with_few_positives_and_many_features():
    """The scores of the final model are more spread out; shifting the threshold with them improves F1."""
    gains = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        X = random.normal(size=(3000, 300)) / 17.0
        signal = X[:, :5].sum(axis=1)
        y = (signal > np.quantile(signal, 0.97)).astype(int)
        new = slice(600, None)
        model = PlugInClassifier(LogisticRegression(), "f1").fit(X[:600], y[:600])
        unmoved = model.decision_function(X[new]) + float(logit(model.threshold_))
        before = unmoved > choose_by_folds(LogisticRegression(), X[:600], y[:600])
        gains.append(model.score(X[new], y[new]) - f1_score(y[new], before))
    assert np.mean(gains) > 0.0
