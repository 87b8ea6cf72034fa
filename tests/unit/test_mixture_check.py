"""Scores that prior shift explains, and scores that it does not, of folds whose models differ."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from metricwise.decisions.adaptation_data import AdaptationData
from metricwise.decisions.calibrating import ClassCalibration, fit_calibration
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.mixture_check import Mixture, distribution_distance, is_explained
from metricwise.decisions.tasks import Binary, Multiclass
from metricwise.measures import FBeta

N_FOLDS = 5


def draw_scores(random, codes, n_classes, offset, scale=1.0):
    """Return scores of a model that adds an offset of its own to those of the last class."""
    scores = 2.0 * np.eye(n_classes)[codes] + scale * random.normal(size=(codes.size, n_classes))
    scores[:, -1] += offset
    return scores


def make_mixture(random, n_classes, offsets, n_samples=500):
    codes = np.repeat(np.arange(n_classes), n_samples // n_classes)
    codes = random.permutation(codes)
    folds = np.arange(codes.size) * len(offsets) // codes.size
    scores = draw_scores(random, codes, n_classes, np.asarray(offsets)[folds])
    weights = np.ones(codes.size)
    if n_classes == 2:
        task, own = Binary(np.arange(2), FBeta(), 1), scores[:, 1] - scores[:, 0]
        scores = np.column_stack([np.zeros(codes.size), own])
        calibration = fit_calibration(task, ScoredSamples(codes == 1, own, weights))
    else:
        task = Multiclass(np.arange(n_classes), FBeta())
        calibration = fit_calibration(task, ScoredSamples(codes, scores, weights))
    return Mixture(ScoredSamples(codes, scores, weights), folds, ClassCalibration.of(calibration))


def count_warnings(n_classes, spread, scale=1.0, runs=20, is_folded=True):
    """Return how often scores of another model are not explained, where models differ by offsets."""
    random, warned = np.random.default_rng(0), 0
    for _ in range(runs):
        offsets = spread * random.normal(size=N_FOLDS + 1)
        mixture = make_mixture(random, n_classes, offsets[:-1])
        if not is_folded:
            mixture = mixture._replace(folds=np.arange(mixture.folds.size) % N_FOLDS)
        shares = np.append(np.full(n_classes - 1, 0.3 / (n_classes - 1)), 0.7)
        new = draw_scores(random, random.choice(n_classes, 400, p=shares), n_classes, offsets[-1], scale)
        if n_classes == 2:
            new = np.column_stack([np.zeros(len(new)), new[:, 1] - new[:, 0]])
        warned += not is_explained(mixture, new)
    return warned


@pytest.mark.parametrize(("n_classes", "spread"), [(2, 0.0), (2, 1.0), (3, 0.0)])
def test_a_mixture_of_the_classes_is_explained(n_classes, spread):
    assert count_warnings(n_classes, spread) <= 2  # 60 draws: at most 1 in 61 is expected


def test_differences_of_models_are_learnt_from_folds():
    assert count_warnings(2, 1.0, runs=25, is_folded=False) >= 5


@pytest.mark.parametrize("n_classes", [2, 3])
def test_other_scores_are_not_explained(n_classes):
    assert count_warnings(n_classes, 0.0, scale=3.0, runs=5) == 5


def test_a_class_that_a_fold_lacks_is_drawn_from_the_others():
    random = np.random.default_rng(1)
    mixture = make_mixture(random, 2, [0.0])
    folds = np.where(mixture.samples.target == 1, random.integers(2, size=mixture.folds.size), 1)
    new = np.column_stack([np.zeros(300), 2.0 * random.normal(size=300) ** 2])
    mixture = mixture._replace(folds=folds)
    assert is_explained(mixture, mixture.samples.scores) and not is_explained(mixture, new + 5.0)


def test_distances_are_those_of_scipy_and_weights_are_copies():
    random = np.random.default_rng(0)
    for _ in range(20):
        new, old = random.integers(0, 6, 7).astype(float), random.integers(0, 6, 9).astype(float)
        copies = random.integers(1, 4, 9)
        expected = ks_2samp(new, np.repeat(old, copies), method="asymp").statistic
        assert distribution_distance(new, old, copies.astype(float)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("sizes", [(), (90,), (90, 0)])
def test_a_single_fold_is_divided_into_parts(sizes):
    codes = np.arange(90) % 2
    data = AdaptationData.of(codes, codes + np.linspace(0.0, 1.0, 90), np.ones(90), sizes)
    assert np.unique(data.folds).size == N_FOLDS and np.bincount(data.folds[data.codes == 1]).min() > 0
    divided = AdaptationData.of(codes, data.scores, np.ones(90), (60, 30))
    assert np.bincount(divided.folds).tolist() == [60, 30]


def test_many_classes_have_few_stored_samples():
    codes = np.arange(4000) % 200
    data = AdaptationData.of(codes, np.random.default_rng(0).normal(size=(4000, 200)), np.ones(4000))
    assert np.bincount(data.codes).tolist() == [20] * 200
    codes = np.arange(8000) % 200
    data = AdaptationData.of(codes, np.random.default_rng(0).normal(size=(8000, 200)), np.ones(8000))
    assert np.bincount(data.codes).tolist() == [25] * 200 and data.weights.sum() == pytest.approx(8000)
