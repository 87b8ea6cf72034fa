"""Training for the area under a part of the ROC curve, where this and the whole area want different things."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise import MiniBatchSVC, MultivariateSVC, PartialAuc, RocAuc, certify

START = PartialAuc(0.0, 0.1, standardize=False)


def conflict(copies=1, seed=0):
    """The second feature ranks most pairs rightly but puts a tenth of the negatives on top.

    The first feature puts four fifths of the positives above all negatives, and the others below them.
    """
    rng = np.random.default_rng(seed)
    groups = [((2.5, 0.5), 80), ((-2.5, 0.5), 20), ((0.5, 2.0), 20), ((0.5, -2.0), 180)]
    X = np.vstack([rng.normal(centre, 0.5, size=(copies * rows, 2)) for centre, rows in groups])
    return X, np.arange(len(X)) < 100 * copies


@pytest.mark.parametrize("seed", range(3))
def test_the_part_that_is_trained_for_is_the_part_that_is_good(seed):
    X, y = conflict(seed=seed)
    whole, part = (MultivariateSVC(m, threshold=0.0).fit(X, y) for m in ("roc_auc", START))
    of_whole, of_part = whole.decision_function(X), part.decision_function(X)
    assert START.score(y, of_whole) < 0.2 and RocAuc().score(y, of_whole) > 0.85
    assert START.score(y, of_part) > 0.75 and RocAuc().score(y, of_part) < 0.85
    assert part.result_.certificate.relative <= 1e-3
    assert certify(part, X, y).relative <= 1e-3 * (1 + 1e-6)


def test_buffers_of_a_stream_serve_the_part_too():
    X, y = conflict(copies=20)
    whole, part = (MiniBatchSVC(m, random_state=0).fit(X, y) for m in ("roc_auc", START))
    assert START.score(y, whole.decision_function(X)) < 0.2
    assert START.score(y, part.decision_function(X)) > 0.7


def test_a_later_part_can_be_trained_for():
    X, y = conflict()
    late = PartialAuc(0.3, 0.9, standardize=False)
    part = MultivariateSVC(late, threshold=0.0).fit(X, y)
    # Behind the first negatives the second feature is perfect.
    assert late.score(y, part.decision_function(X)) > 0.99


@pytest.mark.parametrize("fpr_range", [(0.0, 0.1), (0.3, 0.9)])
def test_rescaling_the_area_changes_nothing_in_training(fpr_range):
    X, y = conflict()
    plain, rescaled = (
        MultivariateSVC(PartialAuc(*fpr_range, standardize=on), threshold=0.0).fit(X, y) for on in (False, True)
    )
    np.testing.assert_array_equal(plain.coef_, rescaled.coef_)
    bound = rescaled.result_.certificate.loss_bound
    assert 1.0 - plain.score(X, y) <= bound
    assert 1.0 - rescaled.score(X, y) <= bound / (2.0 - sum(fpr_range))


def test_there_is_no_intercept_and_a_threshold_for_balanced_labels():
    X, y = conflict()
    model = MultivariateSVC(START).fit(X, y)
    assert model.intercept_.tolist() == [0.0]
    recalls = [np.mean(model.predict(X)[y == label] == label) for label in (False, True)]
    assert np.mean(recalls) > 0.85
