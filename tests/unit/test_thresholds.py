"""Thresholds against brute force over all cuts of the scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from metricwise import MultivariateSVC
from metricwise.decisions.threshold_choice import choose_threshold
from metricwise.inference import best_threshold, fraction_threshold, threshold_for
from metricwise.measures import (
    MCC,
    Accuracy,
    BalancedAccuracy,
    FBeta,
    GMean,
    Jaccard,
    contingency_measure,
    get_measure,
)

RECALL = contingency_measure(lambda tp, fp, fn, tn: tp / (tp + fn), "recall")
MEASURES = [FBeta(), FBeta(2.0), Jaccard(), Accuracy(), BalancedAccuracy(), GMean(), MCC(), RECALL]

LAYOUTS = (np.ascontiguousarray, np.asfortranarray)

few_values = st.integers(-3, 3).map(lambda k: k / 2)
any_value = st.floats(-1e6, 1e6)
of_all_sizes = st.sampled_from([0.0, 1e-300, 1e-3, -1e-3, 1.0, 1.0 + 2**-52, -1.0, 1e16, -1e16, 1e300, -1e300])
some_weight = st.one_of(st.just(1.0), st.integers(1, 4).map(float), st.floats(0.01, 100.0))


@st.composite
def labelled_scores(draw):
    value = draw(st.sampled_from([few_values, any_value, of_all_sizes]))
    samples = draw(st.lists(st.tuples(st.booleans(), value, some_weight), min_size=2, max_size=25))
    positive, scores, weights = (np.array(column) for column in zip(*samples, strict=True))
    positive[0], positive[-1] = True, False
    assume(_are_apart(scores))
    return positive, scores, weights


def _are_apart(scores):
    """Return whether scores that differ do so by more than rounding errors."""
    distinct = np.unique(scores)
    sizes = np.maximum(np.maximum(np.abs(distinct[1:]), np.abs(distinct[:-1])), np.median(np.abs(distinct)))
    return np.all(np.diff(distinct) > 1e-9 * sizes)


def compute_all_cuts(measure, positive, scores, weights):
    """Return the measure with the k highest distinct scores predicted positive, for every k."""
    values = []
    for k in range(np.unique(scores).size + 1):
        top = np.unique(scores)[::-1][:k]
        values.append(compute_value(measure, positive, np.isin(scores, top), weights))
    return np.array(values)


def compute_value(measure, positive, predicted, weights):
    tp, fp = weights @ (predicted & positive), weights @ (predicted & ~positive)
    return float(measure.value(tp, fp, weights @ positive - tp, weights @ ~positive - fp))


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
@given(case=labelled_scores())
@example(case=(np.array([True, True, False]), np.array([0.0, -1e16, 1e-3]), np.ones(3)))
@settings(max_examples=100, deadline=None)
def test_no_cut_is_better_than_the_threshold(measure, case):
    positive, scores, weights = case
    threshold, value = best_threshold(measure, positive, scores, weights)
    assert np.isfinite(threshold)
    assert compute_value(measure, positive, scores > threshold, weights) == pytest.approx(value, abs=1e-9)
    values = compute_all_cuts(measure, positive, scores, weights)
    if values[-1] <= values[0] + 1e-6:
        values = values[:-1]  # predicting all positive must be noticeably better than none
    assert value == pytest.approx(values.max(), abs=1e-9)


@given(case=labelled_scores())
@settings(max_examples=100, deadline=None)
def test_without_weights_every_sample_counts_once(case):
    positive, scores, _ = case
    assert best_threshold(FBeta(), positive, scores) == best_threshold(FBeta(), positive, scores, np.ones(scores.size))


@given(case=labelled_scores(), seed=st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_order_and_copies_do_not_matter(case, seed):
    positive, scores, _ = case
    rng = np.random.default_rng(seed)
    order, copies = rng.permutation(scores.size), rng.integers(1, 4, size=scores.size)
    weighted = best_threshold(FBeta(), positive[order], scores[order], copies[order].astype(float))
    repeated = best_threshold(FBeta(), np.repeat(positive, copies), np.repeat(scores, copies))
    assert weighted.threshold == repeated.threshold
    assert weighted.value == pytest.approx(repeated.value)


def test_ties_select_the_threshold_in_the_widest_gap():
    positive = np.array([True, True, True, False, False])
    scores = np.array([10.0, 9.0, 3.0, 1.0, 0.0])
    assert best_threshold(FBeta(), positive, scores) == (2.0, 1.0)
    # Accuracy is 4/5 both above the sample of score 9 and below; the gap below is wider.
    scores = np.array([10.0, 9.0, 0.5, 2.0, 0.0])
    assert best_threshold(Accuracy(), positive, scores) == (5.5, 0.8)


def test_equal_scores_predict_all_or_none():
    """No sample is predicted positive unless predicting all positive is better."""
    positive, scores = np.array([True, False, False]), np.zeros(3)
    threshold, value = best_threshold(Accuracy(), positive, scores)
    assert threshold > 0.0 and value == pytest.approx(2 / 3)
    threshold, value = best_threshold(FBeta(), positive, scores)
    assert threshold < 0.0 and value == pytest.approx(0.5)


@given(case=labelled_scores(), fraction=st.floats(0.0, 1.0))
@example(case=(np.array([True, True, False]), np.array([0.0, -1e16, 1e-3]), np.ones(3)), fraction=1.0)
@settings(max_examples=200, deadline=None)
def test_the_predicted_fraction_is_as_close_as_ties_allow(case, fraction):
    _, scores, weights = case
    threshold = fraction_threshold(scores, fraction, weights)
    wanted = fraction * weights.sum()
    cuts = [weights[scores > at].sum() for at in np.unique(scores)] + [weights.sum()]
    missed = abs(weights[scores > threshold].sum() - wanted)
    assert missed <= min(abs(cut - wanted) for cut in cuts) + 1e-9 * weights.sum()


def test_the_predicted_fraction_counts_samples_without_weights():
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    assert [fraction_threshold(scores, f) for f in (0.25, 0.5, 0.75)] == [3.5, 2.5, 1.5]
    assert fraction_threshold(scores, 0.0) > 4.0
    assert fraction_threshold(scores, 1.0) < 1.0


@pytest.mark.parametrize("levels", [3, 20, 10_000])
@pytest.mark.parametrize("measure", ["f1", "accuracy", "balanced_accuracy", "min_rate", "precision_at_k", "roc_auc"])
def test_rounding_errors_of_scores_hardly_move_the_threshold(measure, levels):
    """Ties and equally wide gaps are the rule where features are whole numbers; rounding errors tear them apart."""
    random = np.random.default_rng(levels)
    for _ in range(20):
        scores = random.integers(-levels, levels, 120) / levels
        positive = scores + random.normal(size=120) > 0.5
        noisy = [scores * (1.0 + 1e-12 * random.normal(size=120)) for _ in range(3)]
        exact, *others = (threshold_for(get_measure(measure), positive, one) for one in (scores, *noisy))
        assert np.allclose(others, exact, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("strategy", ["max", "bagged", "expected", "auto"])
def test_rounding_errors_hardly_move_estimated_thresholds(strategy):
    random = np.random.default_rng(0)
    log_odds = random.integers(-12, 12, 400) / 4.0
    positive = random.random(400) < 1.0 / (1.0 + np.exp(-log_odds))
    noisy = log_odds * (1.0 + 1e-12 * random.normal(size=400))
    before, after = (choose_threshold(strategy, FBeta(), positive, one) for one in (log_odds, noisy))
    np.testing.assert_allclose([after.threshold, *after.interval], [before.threshold, *before.interval], atol=1e-9)


def test_scores_within_their_error_are_not_separated():
    positive, scores = np.array([True, False, True, False]), np.array([2.0, 1.0 - 1e-7, 1.0 + 1e-7, 0.0])
    assert best_threshold(FBeta(), positive, scores).threshold == pytest.approx(1.0)
    assert best_threshold(FBeta(), positive, scores, error=1e-6).threshold == pytest.approx(0.5)
    assert fraction_threshold(scores, 0.5, error=1e-6) in (pytest.approx(1.5), pytest.approx(0.5))


def test_thresholds_of_kernels_do_not_separate_samples_by_rounding_errors():
    """All but one of the scores are the same up to rounding errors of coefficients of a million."""
    X = np.array([-0.999995, -0.999996, -1.0, -1.0, -1.000001, -0.999998, -0.999998, -1.0], dtype=np.float32)[:, None]
    y, weights = np.array([1, 1, 1, 1, 1, 0, 1, 0]), np.array([2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0])
    model = MultivariateSVC("cohen_kappa", C=1e6, kernel="rbf", fit_intercept=False, threshold="train")
    scores = model.fit(X, y, sample_weight=weights).decision_function(X)
    assert np.abs(scores).min() > 1e-4


@pytest.mark.filterwarnings("ignore::metricwise.DegenerateOptimumWarning")
def test_thresholds_of_fallbacks_do_not_separate_equal_samples_by_rounding_errors():
    X = np.repeat(
        np.array([-0.9026943981076386, -1.4017481402045802, -2.0951015732045857], dtype=np.float32), [4, 1, 1]
    )[:, None] * np.ones(2)
    model = MultivariateSVC("f2", C=1e6, kernel="poly", coef0=1.0, intercept_scaling=0.01, threshold="train")
    model.fit(X.astype(np.float32), [0, 1, 0, 0, 0, 0])
    assert model.result_.status.value == "fallback"
    np.testing.assert_array_equal(model.predict(X.astype(np.float32)), [1, 1, 1, 1, 0, 0])


def test_an_outlier_does_not_make_other_scores_the_same():
    scores = np.array([1e12, 3.0, 2.0, 1.0, 0.0])
    positive = np.array([True, True, True, False, False])
    assert best_threshold(FBeta(), positive, scores) == (1.5, 1.0)


@pytest.mark.parametrize(("measure", "seed"), [("balanced_accuracy", 2), ("f1", 4), ("min_rate", 0)])
def test_thresholds_do_not_depend_on_the_memory_layout(measure, seed):
    X, y = make_classification(600, 10, weights=[0.8], flip_y=0.1, random_state=seed)
    models = [MultivariateSVC(measure, threshold="train").fit(order(np.round(X)), y) for order in LAYOUTS]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=1e-10)
    assert models[0].threshold_ == pytest.approx(models[1].threshold_, abs=1e-9)
    np.testing.assert_array_equal(*(model.predict(X) for model in models))


@pytest.mark.parametrize(("measure", "seed"), [("accuracy", 5), ("f1", 4), ("min_rate", 7), ("min_rate", 8)])
def test_out_of_fold_thresholds_do_not_depend_on_the_memory_layout(measure, seed):
    # Fold models that meet ties end elsewhere within their tolerance if sums are rounded differently.
    X, y = make_classification(600, 10, weights=[0.8], flip_y=0.1, random_state=seed)
    X = np.round(X) if seed == 8 else X
    layouts = [*LAYOUTS, lambda X: np.repeat(X, 2, axis=1)[:, ::2], pd.DataFrame]
    models = [MultivariateSVC(measure).fit(np.asarray(order(X)), y) for order in layouts]
    assert len({model.threshold_ for model in models}) == 1
    assert all(np.array_equal(model.coef_, models[0].coef_) for model in models)
