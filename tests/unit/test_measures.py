"""Measures on small tables and rankings computed by hand, edge cases and error messages."""

from __future__ import annotations

import dataclasses
import math
import os
import pickle
import re
import subprocess
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn import metrics as sk

from metricwise.measures import (
    MCC,
    NDCG,
    PRBEP,
    Accuracy,
    AveragePrecision,
    BalancedAccuracy,
    CohenKappa,
    ConcaveInRates,
    CostMatrix,
    CountsTable,
    FBeta,
    GainsByRank,
    GMean,
    GowerLegendre,
    HasMulticlassValue,
    HasViolatedLabelling,
    HMean,
    Jaccard,
    Measure,
    MinRate,
    PartialAuc,
    PrecisionAtK,
    PrecisionAtRecall,
    Profit,
    QMean,
    RanksPairs,
    RatioOfRates,
    RecallAtK,
    RecallAtPrecision,
    ReciprocalRank,
    RestrictsLabellings,
    RocAuc,
    RocRegion,
    TwoWayPartialAuc,
)

TABLE_MEASURES = [
    FBeta(),
    FBeta(2.0),
    FBeta(0.5),
    Jaccard(),
    GowerLegendre(),
    GMean(),
    HMean(),
    QMean(),
    MinRate(),
    MCC(),
    CohenKappa(),
    Accuracy(),
    BalancedAccuracy(),
]
SCORE_MEASURES = [
    PRBEP(),
    PrecisionAtK(),
    RecallAtK(),
    RecallAtPrecision(),
    PrecisionAtRecall(),
    RocAuc(),
    PartialAuc(),
    TwoWayPartialAuc(),
    AveragePrecision(),
    NDCG(),
    NDCG(k=3),
    ReciprocalRank(),
]
AREAS = {RocAuc(), PartialAuc(), TwoWayPartialAuc()}
RANK_GAINS = {AveragePrecision(), NDCG(), NDCG(k=3), ReciprocalRank()}
ALL_MEASURES = TABLE_MEASURES + SCORE_MEASURES


def list_ids(measures):
    return [repr(m) for m in measures]


# ---------------------------------------------------------------------------------------------------- common properties
@pytest.mark.parametrize("measure", ALL_MEASURES, ids=list_ids(ALL_MEASURES))
def test_measures_are_frozen_hashable_and_picklable(measure):
    assert isinstance(measure, Measure)
    copy = pickle.loads(pickle.dumps(measure))
    assert copy == measure and hash(copy) == hash(measure) and copy is not measure
    assert eval(repr(measure)) == measure
    assert dataclasses.replace(measure) == measure
    with pytest.raises(dataclasses.FrozenInstanceError):
        measure.name = "other"


def test_all_measures_are_distinct():
    assert len(set(ALL_MEASURES)) == len(ALL_MEASURES)


CAPABILITIES = {
    CountsTable: {*TABLE_MEASURES, PRBEP(), PrecisionAtK(), RecallAtK()},
    HasViolatedLabelling: {*TABLE_MEASURES, PRBEP(), PrecisionAtK(), RecallAtK(), *AREAS, *RANK_GAINS},
    GainsByRank: RANK_GAINS,
    RestrictsLabellings: {PRBEP(), PrecisionAtK(), RecallAtK()},
    RanksPairs: AREAS,
    RatioOfRates: {
        *(FBeta(b) for b in (1, 2, 0.5)),
        Jaccard(),
        GowerLegendre(),
        CohenKappa(),
        Accuracy(),
        BalancedAccuracy(),
    },
    ConcaveInRates: {GMean(), HMean(), QMean(), MinRate(), BalancedAccuracy()},
    HasMulticlassValue: {
        *(Accuracy(), BalancedAccuracy(), MCC(), CohenKappa()),
        *(GMean(), HMean(), QMean(), MinRate()),
    },
}


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda c: c.__name__)
def test_measures_have_the_expected_capabilities(capability):
    assert {m for m in ALL_MEASURES if isinstance(m, capability)} == CAPABILITIES[capability]


def test_importing_measures_loads_neither_sklearn_nor_scipy():
    code = "import sys, metricwise.measures; print([m for m in ('sklearn', 'scipy', 'numba') if m in sys.modules])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert out.stdout.strip() == "[]"


# ------------------------------------------------------------------------------------------------- contingency measures
P, N = 0.75, 0.4  # Values for the table tp=3, fp=3, fn=1, tn=2.
BY_HAND = [
    (FBeta(), 6 / 10),
    (FBeta(2.0), 15 / (15 + 4 + 3)),
    (FBeta(0.5), 3.75 / (3.75 + 0.25 + 3)),
    (Jaccard(), 3 / 7),
    (GowerLegendre(), 5 / 13),
    (GowerLegendre(0.5), 5 / 7),
    (GMean(), math.sqrt(P * N)),
    (HMean(), 2 * P * N / (P + N)),
    (QMean(), 1 - math.sqrt((0.25**2 + 0.6**2) / 2)),
    (MinRate(), 0.4),
    (MCC(), 3 / math.sqrt(6 * 4 * 5 * 3)),
    (CohenKappa(), 6 / (6 * 5 + 4 * 3)),
    (Accuracy(), 5 / 9),
    (BalancedAccuracy(), (P + N) / 2),
]


@pytest.mark.parametrize(("measure", "expected"), BY_HAND, ids=list_ids(m for m, _ in BY_HAND))
def test_values_equal_those_by_hand(measure, expected):
    value = measure.value(3, 3, 1, 2)
    assert np.ndim(value) == 0
    assert value == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("measure", TABLE_MEASURES, ids=list_ids(TABLE_MEASURES))
def test_value_broadcasts_and_is_one_for_perfect_labels(measure):
    tp, fp = np.arange(5)[:, None], np.arange(8)[None, :]
    grid = measure.value(tp, fp, 4 - tp, 7 - fp)
    assert grid.shape == (5, 8) and grid.dtype == np.float64
    assert grid[2, 3] == measure.value(2, 3, 2, 4)
    assert grid[4, 0] == 1.0 == grid.max()


@pytest.mark.parametrize("measure", TABLE_MEASURES, ids=list_ids(TABLE_MEASURES))
def test_value_never_warns_and_is_always_finite(measure):
    tables = np.array(np.meshgrid(*[[0.0, 1.0, 2.5]] * 4)).reshape(4, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = measure.value(*tables)
    assert np.isfinite(values).all()
    assert (np.abs(values) <= 1 + 1e-15).all()


@pytest.mark.parametrize("measure", TABLE_MEASURES, ids=list_ids(TABLE_MEASURES))
def test_slightly_negative_counts_are_zero(measure):
    assert measure.value(3, 2, -1e-17, -1e-17) == measure.value(3, 2, 0, 0)


ZERO_OVER_ZERO = [
    (FBeta(), (0, 0, 0, 5), 0.0),
    (Jaccard(), (0, 0, 0, 5), 0.0),
    (GowerLegendre(), (0, 0, 0, 5), 1.0),
    (GowerLegendre(), (0, 0, 5, 0), 0.0),
    (GMean(), (5, 0, 0, 0), 0.0),
    (HMean(), (5, 0, 0, 0), 0.0),
    (HMean(), (0, 2, 2, 0), 0.0),
    (QMean(), (5, 0, 0, 0), 1 - math.sqrt(0.5)),
    (QMean(), (0, 0, 0, 5), 1 - math.sqrt(0.5)),
    (MinRate(), (0, 0, 0, 5), 0.0),
    (MCC(), (5, 0, 0, 0), 0.0),
    (MCC(), (5, 3, 0, 0), 0.0),
    (CohenKappa(), (5, 0, 0, 0), 0.0),
    (CohenKappa(), (0, 0, 0, 5), 0.0),
    (BalancedAccuracy(), (3, 0, 1, 0), 0.75),
    (BalancedAccuracy(), (0, 1, 0, 3), 0.75),
]


@pytest.mark.parametrize(("measure", "table", "expected"), ZERO_OVER_ZERO)
def test_zero_over_zero_has_the_documented_value(measure, table, expected):
    assert measure.value(*table) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("measure", TABLE_MEASURES, ids=list_ids(TABLE_MEASURES))
def test_the_empty_table_has_the_value_zero(measure):
    assert measure.value(0, 0, 0, 0) == pytest.approx(0.0, abs=1e-15)


MISTAKES = [
    (FBeta(), 2 * 10 - 1),
    (Jaccard(), 10),
    (Accuracy(), 100),
    (MinRate(), 10),
    (BalancedAccuracy(), 20),
    (QMean(), 10 * math.sqrt(2)),
    (PRBEP(), 10),
    (RecallAtK(), 10),
    (PrecisionAtK(), 5),
    (PrecisionAtK(7), 7),
    (RocAuc(), 100),
    (TwoWayPartialAuc(), 100),
]


@pytest.mark.parametrize(("measure", "expected"), MISTAKES, ids=list_ids(m for m, _ in MISTAKES))
def test_mistakes_per_loss_equals_the_formula(measure, expected):
    assert measure.mistakes_per_loss(10, 90) == pytest.approx(expected, rel=1e-12)


def test_mistakes_per_loss_of_g_mean_is_about_twice_the_positives():
    assert GMean().mistakes_per_loss(1000, 5000) == pytest.approx(2000, rel=1e-3)


@pytest.mark.parametrize("measure", TABLE_MEASURES, ids=list_ids(TABLE_MEASURES))
def test_mistakes_per_loss_is_continuous_at_one_positive(measure):
    below, above = measure.mistakes_per_loss(1 - 1e-9, 7.5), measure.mistakes_per_loss(1 + 1e-9, 7.5)
    # The geometric mean and similar measures are steep at a rate of zero.
    assert below == pytest.approx(above, rel=1e-3)


def test_mistakes_per_loss_is_finite_for_small_weights():
    assert Accuracy().mistakes_per_loss(0.25, 4) == pytest.approx(4.25)
    assert Jaccard().mistakes_per_loss(0.25, 4) == pytest.approx(0.25)


@pytest.mark.parametrize("measure", [FBeta(), PRBEP(), RecallAtK()])
def test_mistakes_per_loss_needs_positives(measure):
    with pytest.raises(ValueError, match=f"'{measure.name}'.*n_pos=0"):
        measure.mistakes_per_loss(0, 10)


@pytest.mark.parametrize("beta", [1e-6, 1e6])
def test_factors_at_the_ends_of_their_range_keep_the_digits(beta):
    tp, fp, fn, tn = (1e14 * np.array(cells) for cells in ([0.2, 0.0], [0.1, 0.5], [0.3, 0.1], [0.4, 0.4]))
    exact = [Fraction(beta), *(Fraction(cells[0]) for cells in (tp, fp, fn, tn))]
    expected = _f_beta(*exact)
    np.testing.assert_allclose(FBeta(beta).value(tp, fp, fn, tn), [float(expected), 0.0], rtol=1e-14)
    slope = FBeta(beta).table_gradient(tp, fp, fn, tn)[0]
    square, own = exact[0] ** 2, exact[0] ** 2 * exact[3] + exact[2]
    assert slope[0] == pytest.approx(float((1 + square) * own / (own + (1 + square) * exact[1]) ** 2), rel=1e-6)
    right, wrong = exact[1] + exact[4], exact[0] * (exact[2] + exact[3])
    assert GowerLegendre(beta).value(tp, fp, fn, tn)[0] == pytest.approx(float(right / (right + wrong)), rel=1e-14)
    of_rates = GowerLegendre(beta).ratio(1.0)
    assert np.all(np.isfinite(of_rates)) and np.all(np.isfinite(FBeta(beta).ratio(1.0)))


def _f_beta(beta, tp, fp, fn, tn):
    return (1 + beta**2) * tp / ((1 + beta**2) * tp + beta**2 * fn + fp)


@pytest.mark.parametrize("value", [5e-324, 9.9e-7, 1.1e6, 1e154, 1.4e154, 1e308, 10**400])
@pytest.mark.parametrize("measure", [FBeta, GowerLegendre])
def test_factors_whose_squares_lose_the_counts_are_refused(measure, value):
    wrong = "must be a positive finite number, got inf" if value > 1e308 else "must lie between 1e-06 and 1e"
    with pytest.raises(ValueError, match=re.escape(wrong)):
        measure(value)


@pytest.mark.parametrize("beta", [1e-7, 1e7])
def test_limits_of_beta_name_the_measures_beyond_them(beta):
    with pytest.raises(ValueError, match="`precision` or `recall`"):
        FBeta(beta)


@pytest.mark.parametrize("k", [2**53 + 1, 1e16, 1e308, 10**400])
@pytest.mark.parametrize("measure", [PrecisionAtK, NDCG])
def test_counts_that_are_not_exact_are_refused(measure, k):
    with pytest.raises(ValueError, match="k must be "):
        measure(k)
    assert measure(2**53).k == 2**53


@pytest.mark.parametrize(
    "make",
    [
        lambda width: PartialAuc(max_fpr=width),
        lambda width: PartialAuc(0.5, 0.5 + width),
        lambda width: TwoWayPartialAuc(max_fpr=width),
        lambda width: TwoWayPartialAuc(min_tpr=1.0 - width),
    ],
)
def test_areas_that_rounding_decides_are_refused(make):
    y, scores = [1, 1, 1, 0, 0, 0], [0.9, 0.4, 0.7, 0.3, 0.8, 0.1]
    assert 0.0 <= make(1.1e-9).score(y, scores) <= 1.0
    for width in (9e-10, 1.2e-16, 0.0):
        with pytest.raises(ValueError, match=r"fpr|tpr"):
            make(width)


@pytest.mark.parametrize("size", [5e-324, 9e-101, 1.1e100, 1e308, 10**400])
def test_amounts_of_extreme_size_are_refused(size):
    with pytest.raises(ValueError, match=r"tp of the profit (is|must)"):
        Profit(tp=size, fp=-1.0)
    with pytest.raises(ValueError, match="costs"):
        CostMatrix([[0.0, size], [1.0, 0.0]])


@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_amounts_at_the_ends_of_their_range_count(size):
    y, predicted = [1, 1, 0, 0], [1, 0, 1, 0]
    assert Profit(fp=-size).score(y, predicted) == pytest.approx(-size, rel=1e-12)
    assert CostMatrix([[0.0, size], [size, 0.0]]).score(y, predicted) == pytest.approx(2 * size, rel=1e-12)


@pytest.mark.parametrize("beta", [0, -1, math.inf, math.nan, True, "1", None])
def test_beta_must_be_positive(beta):
    with pytest.raises(ValueError, match="beta must be a positive finite number"):
        FBeta(beta)
    with pytest.raises(ValueError, match="sigma must be a positive finite number"):
        GowerLegendre(beta)


def test_f_measures_have_names():
    assert [FBeta(b).name for b in (1, 2.0, np.float64(0.5), 1.5, 10)] == ["f1", "f2", "f0.5", "f1.5", "f10"]
    assert repr(FBeta(np.float64(0.5))) == "FBeta(beta=0.5)"


def test_multiclass_scores_equal_sklearn():
    rng = np.random.default_rng(0)
    y, labels, weight = rng.integers(0, 3, 50), rng.integers(0, 3, 50), rng.random(50)
    pairs = [
        (Accuracy(), sk.accuracy_score),
        (BalancedAccuracy(), sk.balanced_accuracy_score),
        (MCC(), sk.matthews_corrcoef),
        (CohenKappa(), sk.cohen_kappa_score),
    ]
    for measure, function in pairs:
        assert measure.multiclass_score(y, labels) == pytest.approx(function(y, labels))
        expected = function(y, labels, sample_weight=weight)
        assert measure.multiclass_score(y, labels, weight) == pytest.approx(expected)
        binary = measure.multiclass_score(y == 1, labels == 1, weight)
        assert measure.score(y == 1, labels == 1, weight) == pytest.approx(binary)


def test_multiclass_kappa_of_one_class_is_zero_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert CohenKappa().multiclass_score([2, 2], [2, 2]) == 0.0


# --------------------------------------------------------------------------------------------------- top of the ranking
def test_prbep_equals_the_value_by_hand():
    assert PRBEP().score([1, 1, 0, 0], [4, 3, 2, 1]) == 1.0
    assert PRBEP().score([1, 1, 0, 0], [4, 2, 3, 1]) == 0.5
    assert PRBEP().score([1, 1, 0, 0], [3, 2, 2, 2]) == pytest.approx((1 + 1 / 3) / 2)
    assert PRBEP().score([0, 0], [1, 2]) == 0.0
    assert PRBEP().score([1, 1], [1, 2]) == 1.0


def test_measures_at_k_equal_the_values_by_hand():
    y, scores = [1, 0, 1, 1, 0, 0], [6, 5, 4, 3, 2, 1]
    assert PrecisionAtK(2).score(y, scores) == 0.5
    assert RecallAtK(2).score(y, scores) == pytest.approx(1 / 3)
    assert RecallAtK(2.0).score(y, scores) == 1.0
    assert PrecisionAtK(1.0).score(y, scores) == pytest.approx(2 / 3)
    assert PrecisionAtK(6).score(y, scores) == 0.5
    assert PrecisionAtK(2).score(y, np.zeros(6)) == 0.5


@pytest.mark.parametrize(
    ("k", "n_pos", "expected"), [(0.5, 10, 5), (0.5, 5, 3), (0.01, 10, 1), (2.0, 7, 14), (1.4, 3, 4), (3, 10, 3)]
)
def test_k_determines_the_number_of_predicted_positives(k, n_pos, expected):
    assert PrecisionAtK(k).predicted_positives(n_pos, 100) == expected
    assert RecallAtK(k).predicted_positives(n_pos, 100) == expected
    assert PRBEP().predicted_positives(n_pos, 100) == n_pos


def test_measures_at_k_count_sample_weights():
    assert PrecisionAtK(3).score([1, 0, 1], [3, 2, 1], [2, 4, 1]) == pytest.approx(2 / 3)
    # Ten tenths add up to slightly less than one.
    assert PrecisionAtK(1).score([1] + [0] * 9, np.zeros(10), np.full(10, 0.1)) == pytest.approx(0.1)


def test_measures_at_k_are_zero_without_positives():
    assert PrecisionAtK().score([0, 0], [1, 2]) == 0.0
    assert RecallAtK().score([0, 0], [1, 2]) == 0.0


def test_k_beyond_the_number_of_samples_raises():
    with pytest.raises(ValueError, match="k=5 asks for 5 predicted positives but there are only 3 samples"):
        PrecisionAtK(5).score([1, 0, 1], [1, 2, 3])
    with pytest.raises(ValueError, match=r"k=2.0 asks for 4 .* only 3 samples; choose k <= 3"):
        RecallAtK(2.0).score([1, 0, 1], [1, 2, 3])


@pytest.mark.parametrize("k", [0, -1, 0.0, -0.5, math.inf, math.nan, True, np.True_, "3", None])
@pytest.mark.parametrize("measure", [PrecisionAtK, RecallAtK])
def test_k_must_be_positive(measure, k):
    with pytest.raises(ValueError, match=r"k must be .*positive integer for that many samples"):
        measure(k)


def test_k_one_sample_differs_from_as_many_samples_as_positives():
    assert PrecisionAtK(1) != PrecisionAtK(1.0)
    assert repr(PrecisionAtK(np.int64(1))) == "PrecisionAtK(k=1)"
    assert repr(PrecisionAtK(np.float32(1))) == "PrecisionAtK(k=1.0)"
    assert PrecisionAtK(np.int64(1)) == PrecisionAtK(1)


def test_measures_at_k_have_table_values():
    assert PRBEP().value(3, 1, 2, 9) == RecallAtK().value(3, 1, 2, 9) == pytest.approx(0.6)
    assert PrecisionAtK().value(3, 1, 2, 9) == pytest.approx(0.75)
    np.testing.assert_allclose(PrecisionAtK().value(np.array([0, 1]), np.array([0, 1]), 1, 1), [0, 0.5])


def test_measures_under_a_constraint_equal_the_values_by_hand():
    y, scores = [1, 0, 1, 0, 1], [5, 4, 3, 2, 1]
    assert RecallAtPrecision(0.9).score(y, scores) == pytest.approx(1 / 3)
    assert RecallAtPrecision(0.9).score(y, [1, 2, 3, 4, 5]) == pytest.approx(1 / 3)
    assert RecallAtPrecision(0.9).score(y, [0, 1, 0, 1, 0]) == 0.0
    assert RecallAtPrecision().score([0, 0], [1, 2]) == 0.0
    assert PrecisionAtRecall(2 / 3).score(y, scores) == pytest.approx(2 / 3)
    assert PrecisionAtRecall().score(y, scores) == pytest.approx(3 / 5)
    assert PrecisionAtRecall().score([0, 0], [1, 2]) == 0.0


@pytest.mark.parametrize("bad", [0, 1.1, -0.1, math.nan, True, "0.5"])
def test_constraints_outside_0_and_1_raise(bad):
    with pytest.raises(ValueError, match="precision must be"):
        RecallAtPrecision(bad)
    with pytest.raises(ValueError, match="recall must be"):
        PrecisionAtRecall(bad)


# -------------------------------------------------------------------------------------------------------------- ranking
def test_roc_auc_equals_the_value_by_hand():
    assert RocAuc().score([0, 1], [1, 1]) == 0.5
    assert RocAuc().score([0, 0, 1, 1], [1, 2, 3, 4]) == 1.0
    assert RocAuc().score([0, 0, 1, 1], [4, 3, 2, 1]) == 0.0
    assert RocAuc().score([0, 0, 1, 1], [1, 3, 2, 3]) == (1 + 0 + 1 + 0.5) / 4
    assert RocAuc().roc_region == (0.0, 1.0, 0.0)


def test_partial_auc_equals_the_value_by_hand():
    y, scores = [1, 0, 1, 0], [4, 3, 2, 1]  # The curve: 1/2 until 1/2, then 1.
    assert PartialAuc(0, 0.5, standardize=False).score(y, scores) == pytest.approx(0.5)
    assert PartialAuc(0.5, 1, standardize=False).score(y, scores) == pytest.approx(1.0)
    assert PartialAuc(0.25, 0.75, standardize=False).score(y, scores) == pytest.approx(0.75)
    assert PartialAuc(0.25, 0.75).score(y, scores) == pytest.approx(0.5 * (1 + (0.375 - 0.25) / (0.5 - 0.25)))
    assert PartialAuc(0.2, 0.3).score(y, np.zeros(4)) == pytest.approx(0.5)
    assert PartialAuc(0.2, 0.3).score(y, y) == pytest.approx(1.0)
    assert PartialAuc(0.2, 0.3).roc_region == (0.2, 0.3, 0.0)


def test_two_way_partial_auc_equals_the_value_by_hand():
    y, scores = [1, 0, 1, 0], [4, 3, 2, 1]  # The curve: 1/2 until 1/2, then 1.
    assert TwoWayPartialAuc(0.5, 0.5).score(y, scores) == 0.0  # the lower positive is below the higher negative
    assert TwoWayPartialAuc(1.0, 0.5).score(y, scores) == pytest.approx(0.5)
    assert TwoWayPartialAuc(0.75, 0.25).score(y, scores) == pytest.approx((0.5 * 0.25 + 0.25 * 0.75) / (0.75 * 0.75))
    assert TwoWayPartialAuc(0.3, 0.8).score(y, y) == pytest.approx(1.0)
    # With all scores tied, the curve is the diagonal: a triangle of it lies in the region, or nothing.
    assert TwoWayPartialAuc(0.8, 0.3).score(y, np.zeros(4)) == pytest.approx(0.5 * 0.5**2 / (0.8 * 0.7))
    assert TwoWayPartialAuc(0.3, 0.8).score(y, np.zeros(4)) == 0.0
    assert TwoWayPartialAuc(0.2, 0.3).roc_region == RocRegion(max_fpr=0.2, min_tpr=0.3)


def test_two_way_areas_are_symmetric_where_both_rates_are_equally_far_from_the_corner():
    symmetric = [TwoWayPartialAuc(1, 0), TwoWayPartialAuc(0.5, 0.5), TwoWayPartialAuc(0.3, 0.7), PartialAuc(0, 1)]
    assert [measure.symmetric for measure in symmetric] == [True] * 4
    others = [TwoWayPartialAuc(0.3, 0.6), PartialAuc(0, 0.5), PartialAuc(0.5, 1), TwoWayPartialAuc(1, 0.5)]
    assert [measure.symmetric for measure in others] == [False] * 4


@pytest.mark.parametrize("y", [[1, 1, 1], [0, 0, 0]])
def test_areas_with_one_class_are_nan(y):
    for measure in (*AREAS, PartialAuc(standardize=False)):
        assert math.isnan(measure.score(y, [1, 2, 3]))
        assert math.isnan(measure.score([0, 1, 1], [1, 2, 3], [0, 1, 1]))


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.5), (0.5, 0.5), (0.6, 0.5), (0, 1.1)])
def test_invalid_ranges_of_partial_auc_raise(low, high):
    with pytest.raises(ValueError, match="0 <= min_fpr < max_fpr <= 1"):
        PartialAuc(low, high)


@pytest.mark.parametrize(("most", "least"), [(0, 0.5), (-0.1, 0.5), (1.1, 0.5), (0.5, 1), (0.5, -0.1)])
def test_invalid_rates_of_two_way_partial_auc_raise(most, least):
    wrong = "min_tpr must be at least 0 and below 1" if most == 0.5 else "max_fpr must be above 0 and at most 1"
    with pytest.raises(ValueError, match=wrong):
        TwoWayPartialAuc(most, least)


@pytest.mark.parametrize("make", [lambda nan: PartialAuc(nan, 0.5), lambda nan: PartialAuc(0, nan)])
def test_ranges_of_partial_auc_are_numbers(make):
    with pytest.raises(ValueError, match="_fpr is not a number: nan"):
        make(math.nan)


@pytest.mark.parametrize("rates", [(math.nan, 0.5), (0.5, math.nan)])
def test_rates_of_two_way_partial_auc_are_numbers(rates):
    with pytest.raises(ValueError, match=r"_[ft]pr is not a number: nan"):
        TwoWayPartialAuc(*rates)
