"""Probabilities of the wrappers, around learners whose own are far from calibrated or missing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from metricwise import BinaryRelevance, CostSensitiveClassifier, MetricClassifier, PlugInClassifier
from metricwise.decisions.calibrating import fit_calibration
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.tasks import Multiclass
from metricwise.measures import FBeta

LEARNERS = {
    "bayes": GaussianNB(),
    "balanced": LogisticRegression(class_weight="balanced"),
    "svm": LinearSVC(),
}
WRAPPERS = {
    "plug_in": lambda learner: PlugInClassifier(learner, calibrate=True),
    "cost_sensitive": lambda learner: CostSensitiveClassifier(learner, "g_mean", calibrate=True),
    "selection": lambda learner: MetricClassifier(candidates={"own": learner}),
}


def draw(n_samples, seed, n_classes=2):
    """Draw classes that differ in three columns, each of them there three times: naive Bayes is overconfident."""
    random = np.random.default_rng(seed)
    codes = random.choice(n_classes, n_samples, p=[0.9, 0.1] if n_classes == 2 else [0.6, 0.3, 0.1])
    columns = random.normal(size=(n_samples, 3)) + np.eye(3)[codes] * 1.2 + 0.5 * codes[:, None]
    return np.hstack([columns] * 3) + 0.1 * random.normal(size=(n_samples, 9)), codes


TRAIN, TEST = draw(1500, 0), draw(10_000, 1)


def slope_of(chances, y):
    """Return slope and mean error of a logistic fit on log-odds: 1 and 0 if the probabilities are calibrated."""
    column = logit(np.clip(chances, 1e-12, 1.0 - 1e-12))[:, None]
    return float(LogisticRegression(C=1e6).fit(column, y).coef_[0, 0]), float(chances.mean() - y.mean())


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_probabilities_are_calibrated(wrapper, learner):
    model = WRAPPERS[wrapper](LEARNERS[learner]).fit(*TRAIN)
    X, y = TEST
    chances = model.predict_proba(X)[:, 1]
    slope, error = slope_of(chances, y)
    assert model.calibrated_ and 0.8 < slope < 1.25 and abs(error) < 0.015
    assert log_loss(y, chances) < 0.75 * log_loss(y, np.full(len(y), y.mean()))
    np.testing.assert_array_equal(model.predict(X), chances > model.threshold_)


def test_learners_probabilities_are_called_uncalibrated():
    model = PlugInClassifier(GaussianNB()).fit(*TRAIN)
    assert not model.calibrated_ and slope_of(model.predict_proba(TEST[0])[:, 1], TEST[1])[0] < 0.6
    calibrated = PlugInClassifier(GaussianNB(), calibrate=True).fit(*TRAIN)
    np.testing.assert_array_equal(model.predict(TEST[0]), calibrated.predict(TEST[0]))
    labels = BinaryRelevance(GaussianNB()).fit(TRAIN[0], np.column_stack([TRAIN[1], 1 - TRAIN[1]]))
    assert not labels.calibrated_


@pytest.mark.parametrize(("wrapper", "learner"), [("plug_in", "bayes"), ("selection", "svm")])
def test_several_classes_are_calibrated(wrapper, learner):
    model = WRAPPERS[wrapper](LEARNERS[learner]).set_params(measure="f1_macro").fit(*draw(600, 2, n_classes=3))
    X, y = draw(10_000, 3, n_classes=3)
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert np.abs(chances.mean(axis=0) - np.bincount(y) / len(y)).max() < 0.03
    np.testing.assert_array_equal(model.predict(X), np.argmax(np.log(chances) - model.threshold_, axis=1))
    for k in range(3):
        assert 0.6 < slope_of(chances[:, k], y == k)[0] < 1.6  # one slope serves all classes


def test_several_labels_are_calibrated():
    X, y = TRAIN
    labels = np.column_stack([y, X[:, 0] > 1.0, np.zeros_like(y)])
    model = PlugInClassifier(GaussianNB(), "f1_macro", calibrate=True).fit(X, labels)
    chances = model.predict_proba(TEST[0])
    assert 0.8 < slope_of(chances[:, 0], TEST[1])[0] < 1.25 and model.threshold_.shape == (3,)
    np.testing.assert_array_equal(model.predict(TEST[0]), chances > model.threshold_)


def test_a_guaranteed_threshold_has_calibrated_probabilities():
    model = PlugInClassifier(GaussianNB(), subject_to="recall>=0.5", calibrate=True).fit(*TRAIN)
    chances = model.predict_proba(TEST[0])[:, 1]
    assert 0.75 < slope_of(chances, TEST[1])[0] < 1.3
    np.testing.assert_array_equal(model.predict(TEST[0]), chances > model.threshold_)


# --------------------------------------------------------------------------------------------- lines of several classes


def draw_class_scores(n_samples, seed, slope=0.5):
    random = np.random.default_rng(seed)
    scores = 3.0 * random.normal(size=(n_samples, 3))
    chances = np.exp(slope * scores + np.array([0.5, 0.0, -1.0]))
    chances /= chances.sum(axis=1, keepdims=True)
    codes = np.array([random.choice(3, p=one) for one in chances])
    return ScoredSamples(codes, scores, random.integers(1, 4, n_samples).astype(float))


def fit_lines(samples):
    lines = fit_calibration(Multiclass(np.arange(3), FBeta()), samples).lines
    return np.array([lines[0].slope, *(line.intercept for line in lines)])


def test_lines_of_classes_have_the_least_log_loss():
    samples = draw_class_scores(200, 0)

    def loss(parameters):
        chances = softmax(parameters[0] * samples.scores + np.append(0.0, parameters[1:]), axis=1)
        return -samples.weights @ np.log(chances[np.arange(200), samples.target])

    best = minimize(loss, [1.0, 0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12}).x
    found = fit_lines(samples)
    assert found[0] == pytest.approx(best[0], abs=1e-4)
    np.testing.assert_allclose(found[2:] - found[1], best[1:], atol=1e-3)


def test_lines_of_classes_depend_on_neither_copies_nor_order():
    samples = draw_class_scores(60, 1)
    copies = np.random.default_rng(0).permutation(np.repeat(np.arange(60), samples.weights.astype(int)))
    copied = ScoredSamples(samples.target[copies], samples.scores[copies], np.ones(copies.size))
    found = fit_lines(samples)
    np.testing.assert_allclose(fit_lines(copied), found, atol=1e-9)
    shifted = samples._replace(scores=samples.scores + np.random.default_rng(1).normal(size=(60, 1)))
    np.testing.assert_allclose(fit_lines(shifted), found, atol=1e-9)  # constants of samples do not matter
    np.testing.assert_allclose(fit_lines(samples._replace(scores=10.0 * samples.scores))[0], found[0] / 10.0, atol=1e-9)


def test_scores_worse_than_chance_keep_their_order():
    samples = draw_class_scores(200, 2, slope=-0.5)
    found = fit_lines(samples)
    assert 0.0 < found[0] < 1e-3
    shares = np.bincount(samples.target, samples.weights) / samples.weights.sum()
    np.testing.assert_allclose(softmax(found[1:]), shares, atol=1e-3)


def test_separated_classes_have_finite_lines():
    codes = np.arange(30) % 3
    found = fit_lines(ScoredSamples(codes, 5.0 * np.eye(3)[codes], np.ones(30)))
    assert np.isfinite(found).all() and 0.5 < found[0] < 50.0
