"""Training for partial ROC areas, on data where they conflict with the whole area."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise import AUCSVC, MiniBatchSVC, MultivariateSVC, PartialAuc, RocAuc, TwoWayPartialAuc, certify

START = PartialAuc(0.0, 0.1, standardize=False)
CORNER = TwoWayPartialAuc(max_fpr=0.6, min_tpr=0.8)


def make_conflicting_data(copies=1, seed=0, low_positives=20, high_negatives=20):
    """Return data whose second feature ranks most pairs correctly, but a tenth of the negatives on top.

    The first feature puts four fifths of the positives above all negatives, and the others below them. The shares are
    those of the default ``low_positives`` of 100 and ``high_negatives`` of 200.
    """
    rng = np.random.default_rng(seed)
    centres = [(2.5, 0.5), (-2.5, 0.5), (0.5, 2.0), (0.5, -2.0)]
    sizes = [100 - low_positives, low_positives, high_negatives, 200 - high_negatives]
    groups = zip(centres, sizes, strict=True)
    X = np.vstack([rng.normal(centre, 0.5, size=(copies * samples, 2)) for centre, samples in groups])
    return X, np.arange(len(X)) < 100 * copies


def make_low_positives(copies=1, seed=0):
    """Return data whose first feature ranks more pairs correctly, but a tenth of the positives below all negatives."""
    return make_conflicting_data(copies, seed, low_positives=10, high_negatives=40)


@pytest.mark.parametrize("seed", range(3))
def test_training_optimises_the_chosen_part_of_the_curve(seed):
    X, y = make_conflicting_data(seed=seed)
    whole, part = (MultivariateSVC(m, threshold=0.0).fit(X, y) for m in ("roc_auc", START))
    of_whole, of_part = whole.decision_function(X), part.decision_function(X)
    assert START.score(y, of_whole) < 0.2 and RocAuc().score(y, of_whole) > 0.85
    assert START.score(y, of_part) > 0.75 and RocAuc().score(y, of_part) < 0.85
    assert part.result_.certificate.relative <= 1e-3
    assert certify(part, X, y).relative <= 1e-3 * (1 + 1e-6)


def test_streaming_optimises_the_chosen_part_of_the_curve():
    X, y = make_conflicting_data(copies=20)
    whole, part = (MiniBatchSVC(m, random_state=0).fit(X, y) for m in ("roc_auc", START))
    assert START.score(y, whole.decision_function(X)) < 0.2
    assert START.score(y, part.decision_function(X)) > 0.7


def test_a_part_that_does_not_start_at_zero_is_optimised():
    X, y = make_conflicting_data()
    late = PartialAuc(0.3, 0.9, standardize=False)
    part = MultivariateSVC(late, threshold=0.0).fit(X, y)
    # After the first negatives the second feature is perfect.
    assert late.score(y, part.decision_function(X)) > 0.99


@pytest.mark.parametrize("fpr_range", [(0.0, 0.1), (0.3, 0.9)])
def test_rescaling_the_area_does_not_change_training(fpr_range):
    X, y = make_conflicting_data()
    plain, rescaled = (
        MultivariateSVC(PartialAuc(*fpr_range, standardize=on), threshold=0.0).fit(X, y) for on in (False, True)
    )
    np.testing.assert_array_equal(plain.coef_, rescaled.coef_)
    bound = rescaled.result_.certificate.loss_bound
    assert 1.0 - plain.score(X, y) <= bound
    assert 1.0 - rescaled.score(X, y) <= bound / (2.0 - sum(fpr_range))


def test_ranking_measures_have_no_intercept_and_a_threshold_for_balanced_labels():
    X, y = make_conflicting_data()
    model = MultivariateSVC(START).fit(X, y)
    assert model.intercept_.tolist() == [0.0]
    recalls = [np.mean(model.predict(X)[y == label] == label) for label in (False, True)]
    assert np.mean(recalls) > 0.85


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("estimator", [MultivariateSVC, AUCSVC])
def test_training_optimises_the_corner_of_few_false_alarms_and_high_recall(estimator, seed):
    X, y = make_low_positives(seed=seed)
    part = estimator(measure=CORNER, threshold=0.0).fit(X, y)
    for other in ("roc_auc", START):
        scores = MultivariateSVC(other, threshold=0.0).fit(X, y).decision_function(X)
        assert CORNER.score(y, scores) < 0.5 and RocAuc().score(y, scores) > 0.87
    assert CORNER.score(y, part.decision_function(X)) == part.score(X, y) > 0.65
    assert RocAuc().score(y, part.decision_function(X)) < 0.85
    assert certify(part, X, y).relative <= 1e-3 * (1 + 1e-6)
    assert 1.0 - part.score(X, y) <= part.result_.certificate.loss_bound


def test_streaming_optimises_the_corner():
    X, y = make_low_positives(copies=20)
    whole, part = (MiniBatchSVC(m, random_state=0).fit(X, y) for m in ("roc_auc", CORNER))
    assert CORNER.score(y, whole.decision_function(X)) < 0.5
    assert CORNER.score(y, part.decision_function(X)) > 0.6


def test_regions_smaller_than_a_sample_are_trained_for():
    """Few samples never leave a region empty: the lowest positive and the highest negative count in part."""
    X, y = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 0.0]]), np.array([1, 1, 0, 0])
    corner = TwoWayPartialAuc(max_fpr=1e-3, min_tpr=0.999)
    model = MultivariateSVC(corner, C=10.0, threshold=0.0, tol=1e-6).fit(X, y)
    assert model.score(X, y) == pytest.approx(1.0)
    # Only the lowest positive and the highest negative matter: here two pairs have the least margin, of one.
    margins = model.decision_function(X)[:2, None] - model.decision_function(X)[2:]
    assert margins.min() == pytest.approx(1.0, abs=1e-2)
