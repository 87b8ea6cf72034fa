"""Training for a partial ROC area, on data where it conflicts with the whole area."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise import MiniBatchSVC, MultivariateSVC, PartialAuc, RocAuc, certify

START = PartialAuc(0.0, 0.1, standardize=False)


def make_conflicting_data(copies=1, seed=0):
    """Return data whose second feature ranks most pairs correctly, but a tenth of the negatives on top.

    The first feature puts four fifths of the positives above all negatives, and the others below them.
    """
    rng = np.random.default_rng(seed)
    groups = [((2.5, 0.5), 80), ((-2.5, 0.5), 20), ((0.5, 2.0), 20), ((0.5, -2.0), 180)]
    X = np.vstack([rng.normal(centre, 0.5, size=(copies * samples, 2)) for centre, samples in groups])
    return X, np.arange(len(X)) < 100 * copies


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
