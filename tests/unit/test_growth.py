"""Intervals of several classes and labels allow for a final model that is better than the fold models."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from metricwise import MetricClassifier, PlugInClassifier
from metricwise.decisions.learning_curve import FinalPosterior, bound_growth, shows_growth

N_TRIALS = 14


def draw_classes(random, n_samples):
    """Draw three classes whose mean has 90 features to learn."""
    y = random.integers(3, size=n_samples)
    return random.normal(size=(n_samples, 90)) + 0.45 * (np.arange(90) % 3 == y[:, None]), y


def draw_labels(random, n_samples):
    """Draw four labels, each with its own features of 40."""
    Y = (random.random((n_samples, 4)) < 0.4).astype(int)
    return random.normal(size=(n_samples, 40)) + 0.35 * (2 * Y[:, np.arange(40) % 4] - 1), Y


@pytest.mark.parametrize(
    ("draw", "measure", "n_samples"), [(draw_classes, "accuracy", 180), (draw_labels, "f1_micro", 120)]
)
def test_intervals_cover_the_score_of_a_final_model_that_still_learns(draw, measure, n_samples):
    """With many features for the samples, fold models are worse than the final model."""
    random, inside, of_folds = np.random.default_rng(0), 0, 0
    for _ in range(N_TRIALS):
        model = PlugInClassifier(LinearDiscriminantAnalysis(), measure, threshold="max").fit(*draw(random, n_samples))
        truth = model.score(*draw(random, 2000))
        low, high = model.score_interval()
        inside += low <= truth <= high
        low_of_folds, high_of_folds = model._decision.posterior.of_folds.interval()
        of_folds += low_of_folds <= truth <= high_of_folds
    assert of_folds < inside
    assert inside >= 0.7 * N_TRIALS


def test_growth_is_bounded_by_half_of_what_training_scores_flatter():
    low, high = bound_growth(trained=0.9, unseen=0.7, share=0.8).interval(0.7, 0.7)
    assert (low, high) == (0.7, pytest.approx(0.7 + 0.5 * 0.2 * 0.2))


@pytest.mark.parametrize("trained, unseen, share", [(0.6, 0.7, 0.8), (1.0, 1.0, 0.8), (0.9, 0.7, 1.0)])
def test_nothing_grows_without_optimism_mistakes_or_further_samples(trained, unseen, share):
    assert bound_growth(trained, unseen, share).interval(0.4, 0.6) == pytest.approx((0.4, 0.6))


class Memorizing(ClassifierMixin, BaseEstimator):
    """Always right about the samples that it was trained on, always sure of the first class of others."""

    def fit(self, X, y):
        self.classes_, self.seen_ = np.unique(y), {tuple(x): label for x, label in zip(X, y, strict=True)}
        return self

    def predict_proba(self, X):
        labels = np.array([self.seen_.get(tuple(x), self.classes_[0]) for x in X])
        return 0.01 + 0.97 * (labels[:, None] == self.classes_)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.parametrize(
    "make", [PlugInClassifier, lambda one, measure: MetricClassifier(measure, candidates={"a": one})]
)
def test_the_growth_is_that_of_scores_in_and_out_of_fold(make):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(100, 2)), np.arange(100) % 4
    posterior = make(Memorizing(), "accuracy").fit(X, y)._decision.posterior
    assert isinstance(posterior, FinalPosterior)
    assert posterior.value == posterior.of_folds.value and posterior.n_samples == 100.0
    # All mistakes are unseen ones: of the gap, which is all that is missing, half is left to learn, and a fifth of it.
    assert posterior.extrapolation.left_at_best == pytest.approx(1.0 - 0.5 * 0.2)
    assert posterior.interval()[1] > posterior.of_folds.interval()[1]
    assert posterior.thin(2.0).interval()[0] < posterior.interval()[0]


def test_learning_curves_of_several_rungs_show_growth_themselves():
    assert shows_growth([[(100.0, 0.5)], [(100.0, 0.5), (400.0, 0.6)]])
    assert not shows_growth([[(100.0, 0.5)], [(400.0, 0.6)]])
