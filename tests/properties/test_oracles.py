"""Oracles against brute force over all labellings, and fast scans against the generic one."""

from itertools import product
from math import ceil

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metricwise.measures import (
    MCC,
    FBeta,
    GowerLegendre,
    HasViolatedLabelling,
    Jaccard,
    PrecisionAtK,
    RecallAtK,
    RestrictsLabellings,
    contingency_measure,
    get_measure,
    registered_names,
)
from metricwise.measures.ranking_capabilities import Ranks
from metricwise.oracles import make_oracle
from metricwise.oracles.contingency import AdditiveOracle, TableOracle
from metricwise.oracles.generic import GenericOracle


# Names as ids: a function's repr contains its address, which differs between processes.
def get_name(measure):
    return repr(measure) if "lambda" not in repr(measure) else measure.name


OWN = contingency_measure(lambda tp, fp, fn, tn: (tp + 0.3 * tn) / (tp + 0.3 * tn + 2 * np.sqrt(fp) + fn), "own")
WAVY = contingency_measure(lambda tp, fp, fn, tn: 1 - (fp + fn) / (tp + fp + fn + tn) * (1 + 0.9 * np.sin(fp)), "wavy")
RATIO = contingency_measure(
    lambda tp, fp, fn, tn: tp / (tp + 3 * fn + 0.5 * fp),
    "three to a half",
    ratio=lambda theta: (0.0, 1.0, 0.0, 3.0 + 0.5 * theta, -2.0, -0.5 * theta),
)
TABLE_MEASURES = [
    m
    for m in map(get_measure, registered_names(HasViolatedLabelling))
    if not isinstance(m, RestrictsLabellings | Ranks)
] + [FBeta(0.3), FBeta(3.0), GowerLegendre(0.4), RATIO, OWN, WAVY]
FIXED_SIZE = [get_measure("prbep"), PrecisionAtK(1), PrecisionAtK(3), PrecisionAtK(0.5), RecallAtK(2), RecallAtK(2.0)]

# Whole numbers of a half make ties common, between samples and exactly on margins.
half_steps = st.integers(-6, 6).map(lambda k: k / 2)
any_score = st.integers(-4_000_000, 4_000_000).map(lambda k: k / 1e6)


mixed_score = st.one_of(half_steps, any_score)


@st.composite
def small_problems(draw, most=10, score=mixed_score):
    n_pos = draw(st.integers(1, most // 2))
    n_neg = draw(st.integers(1, most - n_pos))
    scores = draw(st.lists(score, min_size=n_pos + n_neg, max_size=n_pos + n_neg))
    return n_pos, n_neg, np.array(scores)


def count_missing_samples(measure, n_pos, n_samples):
    """Return how many samples are missing for the number of predicted positives of the measure."""
    if not isinstance(measure, RestrictsLabellings):
        return 0
    return max(0, ceil(measure.predicted_positives(n_pos, 10**9) - n_samples))


def search_labellings(measure, n_pos, n_neg, scores, weights=None, shares=(0.0, 1.0)):
    """Return the largest violation over all labellings, each sample positive by one of the given fractions."""
    weights = np.ones(len(scores)) if weights is None else weights
    called = np.array(list(product(shares, repeat=len(scores))))
    truth = np.r_[np.ones(n_pos), np.zeros(n_neg)]
    tp, fp = called[:, :n_pos] @ weights[:n_pos], called[:, n_pos:] @ weights[n_pos:]
    total_pos, total_neg = weights[:n_pos].sum(), weights[n_pos:].sum()
    u = measure.mistakes_per_loss(total_pos, total_neg)
    value = measure.value(tp, fp, total_pos - tp, total_neg - fp)
    if isinstance(measure, RestrictsLabellings):
        size = measure.predicted_positives(total_pos, total_pos + total_neg)
        allowed = (tp + fp >= min(size, total_pos) - 1e-9) if size <= total_pos else np.ones(tp.size, bool)
        allowed &= (tp + fp <= size + 1e-9) if size >= total_pos else True
        called, tp, fp = called[allowed], tp[allowed], fp[allowed]
        value = tp / total_pos if size >= total_pos else tp / (tp + fp)
    loss = 1.0 - np.asarray(value)
    return float(np.max(loss + (called - truth) @ (weights * scores) / u))


def assert_consistent(labelling, scores):
    """Check that the value of a labelling is its loss plus its coefficients times the scores."""
    c = labelling.coefficients()
    assert labelling.value == pytest.approx(labelling.loss + c @ scores, abs=1e-9)
    direction = np.sin(np.arange(len(scores)))
    assert labelling.slope(direction) == pytest.approx(c @ direction, abs=1e-9)


@pytest.mark.parametrize("measure", TABLE_MEASURES + FIXED_SIZE, ids=get_name)
@given(problem=small_problems())
@settings(max_examples=60, deadline=None)
def test_oracles_equal_brute_force_over_all_labellings(measure, problem):
    n_pos, n_neg, scores = problem
    n_neg += count_missing_samples(measure, n_pos, n_pos + n_neg)
    scores = np.resize(scores, n_pos + n_neg)
    labelling = make_oracle(measure, n_pos, n_neg).violate(scores)
    assert labelling.value == pytest.approx(search_labellings(measure, n_pos, n_neg, scores), abs=1e-9)
    assert_consistent(labelling, scores)


@given(problem=small_problems(), weighted=st.booleans(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_roc_area_equals_all_pairs(problem, weighted, data):
    n_pos, n_neg, scores = problem
    n = n_pos + n_neg
    weights = np.array(data.draw(st.lists(st.floats(0.1, 5), min_size=n, max_size=n))) if weighted else None
    labelling = make_oracle(get_measure("roc_auc"), n_pos, n_neg, weights).violate(scores)
    hinge = np.maximum(0.0, 1.0 - (scores[:n_pos, None] - scores[None, n_pos:]))
    w = np.ones(n) if weights is None else weights
    mean = w[:n_pos] @ hinge @ w[n_pos:] / (w[:n_pos].sum() * w[n_pos:].sum())
    assert labelling.value == pytest.approx(mean, abs=1e-9)
    assert_consistent(labelling, scores)


@pytest.mark.parametrize("measure", TABLE_MEASURES + FIXED_SIZE, ids=get_name)
@given(problem=small_problems(most=5), data=st.data())
@settings(max_examples=30, deadline=None)
def test_integer_weights_equal_repeated_samples(measure, problem, data):
    n_pos, n_neg, scores = problem
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(scores), max_size=len(scores))), dtype=float)
    weights[-1] += count_missing_samples(measure, weights[:n_pos].sum(), weights.sum())
    weighted = make_oracle(measure, n_pos, n_neg, weights).violate(scores)
    copies = weights.astype(int)
    repeated = np.repeat(scores, copies)
    unweighted = make_oracle(measure, copies[:n_pos].sum(), copies[n_pos:].sum()).violate(repeated)
    assert weighted.value == pytest.approx(unweighted.value, abs=1e-9)
    assert_consistent(weighted, scores)
    if weighted.table == pytest.approx(unweighted.table, abs=1e-9):  # otherwise two tables are tied
        summed = np.add.reduceat(unweighted.coefficients(), np.r_[0, np.cumsum(copies)[:-1]])
        np.testing.assert_allclose(weighted.coefficients(), summed, atol=1e-9)


@pytest.mark.parametrize("measure", TABLE_MEASURES + FIXED_SIZE[:1] + FIXED_SIZE[3:4], ids=get_name)
@given(problem=small_problems(most=6), data=st.data())
@settings(max_examples=25, deadline=None)
def test_fractional_weights_split_samples(measure, problem, data):
    n_pos, n_neg, scores = problem
    weights = np.array(data.draw(st.lists(st.floats(0.2, 4), min_size=len(scores), max_size=len(scores))))
    weights[-1] += count_missing_samples(measure, weights[:n_pos].sum(), weights.sum()) + 0.123
    assume(np.any(weights != np.floor(weights)))
    oracle = make_oracle(measure, n_pos, n_neg, weights)
    labelling = oracle.violate(scores)
    assert_consistent(labelling, scores)
    if isinstance(oracle, TableOracle | AdditiveOracle):
        n_shares = 4 * max(1, int(10_000 ** (1.0 / len(scores)) / 4)) + 1
        coarse = search_labellings(measure, n_pos, n_neg, scores, weights, shares=np.linspace(0.0, 1.0, n_shares))
        assert labelling.value >= coarse - 1e-9
        # Between a split and the nearest share of the same sample the loss is smooth, so quarters or finer come close.
        assert labelling.value <= coarse + 0.08 * max(1.0, np.abs(scores).max())


@pytest.mark.parametrize("measure", [m for m in TABLE_MEASURES if m not in (OWN, WAVY, MCC())], ids=get_name)
@pytest.mark.parametrize("seed", range(6))
def test_fast_scan_equals_generic_scan(measure, seed):
    rng = np.random.default_rng(seed)
    n_pos, n_neg = int(rng.integers(1, 250)), int(rng.integers(1, 400))
    scores = rng.normal(size=n_pos + n_neg) * rng.choice([0.3, 1.0, 5.0])
    scores[:n_pos] += rng.choice([0.0, 1.0, 3.0])
    if seed % 2:
        scores = np.round(scores, 1)
    fast = make_oracle(measure, n_pos, n_neg)
    assert isinstance(fast, TableOracle | AdditiveOracle)
    slow = make_oracle(measure, n_pos, n_neg, generic=True)
    assert isinstance(slow, GenericOracle)
    assert fast.violate(scores).value == pytest.approx(slow.violate(scores).value, abs=1e-9)
    assert_consistent(fast.violate(scores), scores)


@pytest.mark.parametrize("measure", [MCC(), OWN], ids=get_name)
def test_generic_scan_prunes_and_stays_exact(measure):
    rng = np.random.default_rng(0)
    n_pos, n_neg = 150, 700
    scores = rng.normal(size=n_pos + n_neg) + np.r_[np.ones(n_pos), np.zeros(n_neg)]
    oracle = make_oracle(measure, n_pos, n_neg)
    T, F = np.arange(n_pos + 1.0), np.arange(n_neg + 1.0)
    scale = 1 / oracle.mistakes
    A = -scale * np.r_[0, np.cumsum(np.sort(scores[:n_pos]))][::-1]
    B = scale * np.r_[0, np.cumsum(np.sort(scores[n_pos:])[::-1])]
    tp, fp = np.meshgrid(T, F, indexing="ij")
    everything = 1 - measure.value(tp, fp, n_pos - tp, n_neg - fp) + A[:, None] + B[None, :]
    assert oracle.violate(scores).value == pytest.approx(everything.max(), abs=1e-10)


@given(problem=small_problems(most=8, score=half_steps), seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
@pytest.mark.parametrize("measure", [FBeta(), Jaccard(), get_measure("prbep"), get_measure("g_mean")], ids=get_name)
def test_labellings_do_not_depend_on_the_order_of_samples(measure, problem, seed):
    n_pos, n_neg, scores = problem
    rng = np.random.default_rng(seed)
    order = np.r_[rng.permutation(n_pos), n_pos + rng.permutation(n_neg)]
    oracle = make_oracle(measure, n_pos, n_neg)
    c, shuffled = oracle.violate(scores).coefficients(), oracle.violate(scores[order]).coefficients()
    np.testing.assert_allclose(shuffled, c[order], atol=1e-12)
