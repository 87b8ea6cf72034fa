"""Properties of measures on any data: agreement with scikit-learn and brute force, invariances, capabilities."""

from __future__ import annotations

import math
import warnings
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from metricwise.measures import (
    MCC,
    PRBEP,
    Accuracy,
    BalancedAccuracy,
    CohenKappa,
    ConcaveInRates,
    FBeta,
    GowerLegendre,
    HasViolatedLabelling,
    Jaccard,
    PartialAuc,
    PrecisionAtK,
    PrecisionAtRecall,
    RatioOfRates,
    RecallAtK,
    RecallAtPrecision,
    RocAuc,
    TwoWayPartialAuc,
    get_measure,
    registered_names,
)

USUAL = settings(max_examples=60, deadline=None)
BRIEF = settings(max_examples=40, deadline=None)  # For tests over every measure.

SCORE_STEPS = st.integers(-4, 4).map(lambda i: i / 4)  # Few values give many ties.
SCORES = st.one_of(SCORE_STEPS, st.floats(-1e6, 1e6, allow_subnormal=False))
# Sums of quarters are exact, so that rounding in scikit-learn does not affect degenerate cases.
WEIGHTS = st.integers(0, 20).map(lambda i: i / 4)
COUNTS = st.one_of(st.integers(0, 50).map(float), st.floats(0.01, 1e4))
RATES = st.floats(0, 1, allow_subnormal=False)


@st.composite
def samples(draw, max_size=25, weights=WEIGHTS):
    """Return y, labels, scores and weights (or None) of the same samples."""
    n = draw(st.integers(1, max_size))
    column = lambda values: np.array(draw(st.lists(values, min_size=n, max_size=n)))
    weight = column(weights) if draw(st.booleans()) else None
    assume(weight is None or weight.max() > 0)
    return column(st.integers(0, 1)), column(st.integers(0, 1)), column(SCORES).astype(float), weight


def call_quietly(function, *arguments, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(function(*arguments, **keywords))


def score_or_none(measure, y, response, weight=None):
    """Return the score, or None where there are fewer samples than the measure requires."""
    try:
        return measure.score(y, response, weight)
    except ValueError as error:
        assert "predicted positives" in str(error)
        return None


def get_response(measure, labels, scores):
    return labels if measure.response == "labels" else scores


# --------------------------------------------------------------------------------------------------------- scikit-learn
FOLLOWING_SKLEARN = [
    *((FBeta(b), lambda y, p, b=b, **k: sk.fbeta_score(y, p, beta=b, zero_division=0, **k)) for b in (0.5, 1.0, 2.0)),
    (Jaccard(), lambda y, p, **k: sk.jaccard_score(y, p, zero_division=0, **k)),
    (MCC(), sk.matthews_corrcoef),
    (CohenKappa(), lambda y, p, **k: np.nan_to_num(sk.cohen_kappa_score(y, p, **k))),
    (Accuracy(), sk.accuracy_score),
    (GowerLegendre(1.0), sk.accuracy_score),
    (BalancedAccuracy(), sk.balanced_accuracy_score),
]


@pytest.mark.parametrize(("measure", "reference"), FOLLOWING_SKLEARN, ids=[repr(m) for m, _ in FOLLOWING_SKLEARN])
@USUAL
@given(data=samples())
@example(data=(np.zeros(3, int), np.zeros(3, int), None, None))
@example(data=(np.ones(3, int), np.ones(3, int), None, None))
@example(data=(np.ones(3, int), np.zeros(3, int), None, None))
@example(data=(np.zeros(3, int), np.ones(3, int), None, None))
def test_label_measures_equal_sklearn(measure, reference, data):
    y, labels, _, weight = data
    expected = call_quietly(reference, y, labels, sample_weight=weight)
    assert measure.score(y, labels, weight) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@USUAL
@given(data=samples(), max_fpr=st.floats(0.01, 1))
def test_roc_areas_equal_sklearn(data, max_fpr):
    y, _, scores, weight = data
    present = y if weight is None else y[weight > 0]
    assume(0 < present.sum() < len(present))
    whole = sk.roc_auc_score(y, scores, sample_weight=weight)
    assert RocAuc().score(y, scores, weight) == pytest.approx(whole, rel=1e-10, abs=1e-12)
    part = sk.roc_auc_score(y, scores, sample_weight=weight, max_fpr=max_fpr)
    assert PartialAuc(max_fpr=max_fpr).score(y, scores, weight) == pytest.approx(part, rel=1e-9, abs=1e-10)
    plain = PartialAuc(max_fpr=max_fpr, standardize=False).score(y, scores, weight)
    assert TwoWayPartialAuc(max_fpr, 0.0).score(y, scores, weight) == plain
    assert TwoWayPartialAuc(1.0, 0.0).score(y, scores, weight) == RocAuc().score(y, scores, weight)


@USUAL
@given(data=samples(), cuts=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=4, unique=True))
def test_partial_areas_add_up_to_the_whole(data, cuts):
    y, _, scores, weight = data
    edges = [0.0, *sorted(cuts), 1.0]
    parts = [
        PartialAuc(low, high, standardize=False).score(y, scores, weight) * (high - low)
        for low, high in pairwise(edges)
    ]
    assert sum(parts) == pytest.approx(RocAuc().score(y, scores, weight), abs=1e-10, nan_ok=True)


@USUAL
@given(data=samples(), most=st.floats(0.01, 1), least=st.floats(0, 0.99))
def test_two_way_areas_equal_the_integral_of_the_curve_of_sklearn(data, most, least):
    y, _, scores, weight = data
    present = y if weight is None else y[weight > 0]
    assume(0 < present.sum() < len(present))
    fpr, tpr, _ = sk.roc_curve(y, scores, sample_weight=weight, drop_intermediate=False)
    area = 0.0
    for (left, low), (right, high) in pairwise(zip(fpr, tpr, strict=True)):
        # The part of a straight piece within the region, by where it crosses the borders.
        begin = max(0.0, (least - low) / (high - low)) if high > low else float(low < least)
        end = min(1.0, (most - left) / (right - left)) if right > left else float(right <= most)
        if begin < end:
            heights = [low + t * (high - low) - least for t in (begin, end)]
            area += (end - begin) * (right - left) * sum(heights) / 2
    found = TwoWayPartialAuc(most, least).score(y, scores, weight)
    assert found == pytest.approx(area / (most * (1 - least)), abs=1e-9)
    assert -1e-12 <= found <= 1 + 1e-12


@USUAL
@given(data=samples(max_size=12, weights=st.integers(1, 20).map(lambda i: i / 4)), cell=st.integers(0, 24))
def test_two_way_areas_equal_the_share_of_the_pairs_that_count(data, cell):
    y, _, _, weight = data
    assume(0 < y.sum() < y.size)
    most, least = (1 + cell % 5) / 5, (cell // 5) / 5
    scores, weight = np.cos(np.arange(y.size)), np.ones(y.size) if weight is None else weight  # without ties
    parts = []
    for own, sign, share in ((y == 1, 1.0, 1 - least), (y == 0, -1.0, most)):
        order = np.argsort(sign * scores[own])
        edges = np.minimum(np.r_[0.0, np.cumsum(weight[own][order])], share * weight[own].sum())
        parts.append((scores[own][order], np.diff(edges) / edges[-1]))
    (pos, of_pos), (neg, of_neg) = parts
    expected = of_pos @ (pos[:, None] > neg) @ of_neg
    measure = TwoWayPartialAuc(most, least)
    assert measure.score(y, scores, weight) == pytest.approx(expected, abs=1e-12)
    turned = TwoWayPartialAuc(1 - least, 1 - most)  # positives and negatives exchanged
    assert turned.score(1 - y, -scores, weight) == pytest.approx(expected, abs=1e-12)


@USUAL
@given(data=samples(), level=st.one_of(st.sampled_from([0.2, 0.5, 0.75, 0.8, 0.9, 1.0]), st.floats(0.01, 1)))
def test_measures_under_a_constraint_equal_the_curve_of_sklearn(data, level):
    y, _, scores, weight = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        precision, recall, _ = sk.precision_recall_curve(y, scores, sample_weight=weight)
    expected = recall[precision >= level].max(initial=0.0)
    assert RecallAtPrecision(level).score(y, scores, weight) == pytest.approx(expected, abs=1e-12)
    expected = precision[recall >= level].max(initial=0.0)
    assert PrecisionAtRecall(level).score(y, scores, weight) == pytest.approx(expected, abs=1e-12)


# ---------------------------------------------------------------------------------------------------------- brute force
@USUAL
@given(
    y=st.lists(st.integers(0, 1), min_size=1, max_size=5),
    scores=st.lists(st.integers(0, 2), min_size=5, max_size=5),
    k=st.integers(1, 5),
)
def test_tied_scores_count_with_their_expectation(y, scores, k):
    y, scores, k = np.array(y), np.array(scores[: len(y)]), min(k, len(y))
    # Shuffle, then sort stably: every order of the tied samples, equally often.
    orders = [np.array(p)[np.argsort(-scores[list(p)], kind="stable")] for p in permutations(range(len(y)))]
    hits = np.mean([y[order][:k].sum() for order in orders])
    assert PrecisionAtK(k).score(y, scores) == pytest.approx(hits / k)
    assert RecallAtK(k).score(y, scores) == pytest.approx(hits / max(1, y.sum()))
    hits = np.mean([y[order][: y.sum()].sum() for order in orders])
    assert PRBEP().score(y, scores) == pytest.approx(hits / max(1, y.sum()))


# ---------------------------------------------------------------------------------------------------------- invariances
@pytest.mark.parametrize("name", registered_names())
@BRIEF
@given(data=samples(), seed=st.integers(0, 1000))
def test_the_order_of_samples_does_not_matter(name, data, seed):
    y, labels, scores, weight = data
    measure, order = get_measure(name), np.random.default_rng(seed).permutation(len(y))
    response = get_response(measure, labels, scores)
    shuffled = score_or_none(measure, y[order], response[order], None if weight is None else weight[order])
    assert shuffled == pytest.approx(score_or_none(measure, y, response, weight), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", registered_names())
@BRIEF
@given(data=samples(max_size=12, weights=st.integers(0, 4)))
def test_integer_weights_equal_repeated_samples(name, data):
    y, labels, scores, weight = data
    assume(weight is not None)
    measure = get_measure(name)
    response = get_response(measure, labels, scores)
    repeated = score_or_none(measure, np.repeat(y, weight), np.repeat(response, weight))
    assert score_or_none(measure, y, response, weight) == pytest.approx(repeated, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", [n for n in registered_names() if get_measure(n).response == "scores"])
@BRIEF
@given(data=samples())
def test_only_the_order_of_scores_matters(name, data):
    y, _, scores, weight = data
    ranks = np.unique(scores, return_inverse=True)[1]
    measure = get_measure(name)
    expected = score_or_none(measure, y, scores, weight)
    assert score_or_none(measure, y, ranks**3 - 7.0, weight) == pytest.approx(expected, abs=1e-12, nan_ok=True)


# --------------------------------------------------------------------------------------------------------- capabilities
RATIOS = [*(get_measure(n) for n in registered_names(RatioOfRates)), FBeta(3.7), GowerLegendre(0.3)]
CONCAVE = [get_measure(n) for n in registered_names(ConcaveInRates)]


@pytest.mark.parametrize("measure", RATIOS, ids=repr)
@USUAL
@given(tp=COUNTS, fp=COUNTS, fn=COUNTS, tn=COUNTS)
def test_ratio_agrees_with_value(measure, tp, fp, fn, tn):
    n_pos, n_neg = tp + fn, tn + fp
    assume(n_pos > 0 and n_neg > 0)
    tpr, tnr = tp / n_pos, tn / n_neg
    a0, a1, a2, b0, b1, b2 = measure.ratio(n_neg / n_pos)
    found = (a0 + a1 * tpr + a2 * tnr) / (b0 + b1 * tpr + b2 * tnr)
    assert found == pytest.approx(measure.value(tp, fp, fn, tn), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("measure", CONCAVE, ids=repr)
@USUAL
@given(tp=COUNTS, fp=COUNTS, fn=COUNTS, tn=COUNTS)
def test_rate_value_agrees_with_value(measure, tp, fp, fn, tn):
    assume(tp + fn > 0 and tn + fp > 0)
    found = measure.rate_value(tp / (tp + fn), tn / (tn + fp))
    assert np.ndim(found) == 0
    assert found == pytest.approx(measure.value(tp, fp, fn, tn), abs=1e-12)


@pytest.mark.parametrize("measure", CONCAVE, ids=repr)
@USUAL
@given(ends=st.tuples(RATES, RATES, RATES, RATES), t=RATES)
def test_rate_value_is_concave_and_increasing(measure, ends, t):
    p0, n0, p1, n1 = ends
    between = measure.rate_value((1 - t) * p0 + t * p1, (1 - t) * n0 + t * n1)
    chord = (1 - t) * measure.rate_value(p0, n0) + t * measure.rate_value(p1, n1)
    assert between >= chord - 1e-9
    assert measure.rate_value(max(p0, p1), max(n0, n1)) >= measure.rate_value(p0, n0) - 1e-12
    both = measure.rate_value(np.array([p0, p1]), np.array([n0, n1]))
    np.testing.assert_allclose(both, [measure.rate_value(p0, n0), measure.rate_value(p1, n1)], rtol=1e-14)


@pytest.mark.parametrize("name", registered_names(HasViolatedLabelling))
@USUAL
@given(n_pos=st.floats(0.1, 1e5), n_neg=st.floats(1, 1e6))
def test_mistakes_per_loss_makes_one_mistake_cost_about_one(name, n_pos, n_neg):
    measure = get_measure(name)
    assume(name not in ("precision_at_k", "recall_at_k") or 2 * n_pos + 1 < n_neg)
    u = measure.mistakes_per_loss(n_pos, n_neg)
    assert math.isfinite(u) and u > 0
    if measure.response == "labels" and n_pos >= 1:
        assert u * (1 - measure.value(n_pos - 1, 0, 1, n_neg)) == pytest.approx(1.0)
