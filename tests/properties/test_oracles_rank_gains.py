"""The oracle of gains by rank against brute force over all rankings, and against the scan of all places."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from metricwise.measures import NDCG, AveragePrecision, GainsByRank, ReciprocalRank, get_measure
from metricwise.oracles import make_oracle
from metricwise.oracles.rank_gains import RankGainOracle, check_gains
from tests.properties.test_oracles import assert_consistent, half_steps, mixed_score

USUAL = settings(max_examples=80, deadline=None)


@dataclass(frozen=True)
class OwnGain:
    """A user's own measure: later positives count less, and gains fall with the square root of the rank."""

    name: ClassVar[str] = "own gain"
    response: ClassVar[str] = "scores"

    def score(self, y, response, sample_weight=None):
        truth = np.asarray(y, dtype=bool)[np.argsort(-np.asarray(response), kind="stable")]
        ranks = np.flatnonzero(truth) + 1
        return float(self.rank_gain(np.arange(1, ranks.size + 1), ranks, ranks.size).sum())

    def mistakes_per_loss(self, n_pos, n_neg):
        return float(n_pos + n_neg)

    def rank_gain(self, i, k, n_pos):
        best = np.arange(1.0, n_pos + 1.0)
        return (1.0 / np.asarray(i) / np.sqrt(k)) / (best**-1.5).sum()


MEASURES = [AveragePrecision(), NDCG(), ReciprocalRank(), OwnGain(), NDCG(k=1)]
any_measure = st.sampled_from(MEASURES)
each_measure = pytest.mark.parametrize("measure", MEASURES, ids=repr)


@st.composite
def tiny_problems(draw, score=mixed_score, weight=None, most=7):
    """Return a measure, numbers of positives and negatives, scores, and weights or None."""
    n_pos = draw(st.integers(1, most - 1))
    n_neg = draw(st.integers(1, most - n_pos))
    column = lambda values: np.array(draw(st.lists(values, min_size=n_pos + n_neg, max_size=n_pos + n_neg)), float)
    return draw(any_measure), n_pos, n_neg, column(score), None if weight is None else column(weight)


def list_rankings(measure, n_pos, n_neg):
    """Return losses and coefficients of all rankings, by definition."""
    losses, coefficients = [], []
    for order in permutations(range(n_pos + n_neg)):
        place = np.argsort(order)
        ranks = np.sort(place[:n_pos]) + 1
        losses.append(1.0 - float(np.sum(measure.rank_gain(np.arange(1, n_pos + 1), ranks, n_pos))))
        swapped = place[:n_pos, None] > place[n_pos:]
        coefficients.append(np.r_[-swapped.sum(axis=1), swapped.sum(axis=0)] / (n_pos * n_neg))
    return np.array(losses), np.array(coefficients)


def assert_most_violated(case):
    measure, n_pos, n_neg, scores, _ = case
    oracle = make_oracle(measure, n_pos, n_neg)
    assert isinstance(oracle, RankGainOracle)
    losses, coefficients = list_rankings(measure, n_pos, n_neg)
    largest = max(1.0, np.abs(scores).max())
    assert oracle.exact().violate(scores).value == pytest.approx(
        np.max(losses + coefficients @ scores), abs=1e-12 * largest
    )
    labelling = oracle.violate(scores)
    assert labelling.value == pytest.approx(np.max(losses + coefficients @ scores), abs=1e-9 * largest)
    assert_consistent(labelling, scores)
    # At other scores it is no more violated than the most violated ranking: it is a ranking, or a mean of some.
    for other in (scores[::-1], np.zeros_like(scores), 3.0 * scores, scores + np.cos(np.arange(scores.size))):
        bound = np.max(losses + coefficients @ other)
        assert labelling.loss + labelling.coefficients() @ other <= bound + 1e-12 * max(1.0, np.abs(other).max())


@given(case=tiny_problems(most=6))
@example(case=(AveragePrecision(), 3, 3, np.zeros(6), None))
@USUAL
def test_equals_brute_force_over_all_rankings(case):
    assert_most_violated(case)


@given(case=tiny_problems(score=half_steps, most=6))
@USUAL
def test_equals_brute_force_where_scores_are_tied(case):
    assert_most_violated(case)


@each_measure
@pytest.mark.parametrize("n_pos", [1, 3, 4, 6])
def test_equals_brute_force_on_seven_samples(measure, n_pos):
    scores = np.random.default_rng(n_pos).normal(size=7)
    assert_most_violated((measure, n_pos, 7 - n_pos, scores, None))


@given(case=tiny_problems(score=half_steps | mixed_score, weight=st.integers(1, 4)))
@USUAL
def test_integer_weights_equal_repeated_samples(case):
    measure, n_pos, n_neg, scores, weights = case
    copies = weights.astype(int)
    weighted = make_oracle(measure, n_pos, n_neg, weights).violate(scores)
    repeated = make_oracle(measure, copies[:n_pos].sum(), copies[n_pos:].sum()).violate(np.repeat(scores, copies))
    assert (weighted.value, weighted.loss) == pytest.approx((repeated.value, repeated.loss), abs=1e-12)
    each = np.repeat(weighted.coefficients() / copies, copies)
    np.testing.assert_allclose(repeated.coefficients(), each, atol=1e-12)


def make_random_case(seed):
    """Return hundreds of samples with or without weights and ties."""
    rng = np.random.default_rng(seed)
    n_pos, n_neg = int(rng.integers(1, 120)), int(rng.integers(1, 300))
    scores = rng.normal(size=n_pos + n_neg) * rng.choice([0.3, 1.0, 5.0, 60.0])
    scores[:n_pos] += rng.choice([0.0, 1.0, 3.0])
    scores = np.round(scores, 1) if seed % 2 else scores
    weights = None if seed % 3 else rng.integers(1, 4, size=scores.size) * 1.0
    return n_pos, n_neg, scores, weights


def scan_all_places(measure, n_pos, n_neg, scores, weights):
    """Return the largest violation over every place of each negative, from a table of all pairs of copies."""
    copies = np.ones(scores.size, int) if weights is None else weights.astype(int)
    pos, neg = (
        np.sort(np.repeat(scores[part], copies[part]))[::-1] for part in (slice(n_pos), slice(n_pos, scores.size))
    )
    i, j = np.arange(1, pos.size + 1), np.arange(1, neg.size + 1)[:, None]
    drops = measure.rank_gain(i, i + j - 1, pos.size) - measure.rank_gain(i, i + j, pos.size)
    terms = drops - (pos - neg[:, None]) / (pos.size * neg.size)
    return np.maximum(np.cumsum(terms[:, ::-1], axis=1).max(axis=1), 0.0).sum()


each_seed = pytest.mark.parametrize("seed", range(12))


@each_measure
@each_seed
def test_equals_the_best_of_all_places_on_many_samples(measure, seed):
    n_pos, n_neg, scores, weights = make_random_case(seed)
    exact = scan_all_places(measure, n_pos, n_neg, scores, weights)
    size = 1e-12 * max(1.0, np.abs(scores).max())
    for generic in (False, True):
        oracle = make_oracle(measure, n_pos, n_neg, weights, generic=generic)
        assert oracle.exact().violate(scores).value == pytest.approx(exact, abs=size)
        labelling = oracle.violate(scores)
        assert labelling.value == pytest.approx(exact, rel=1e-8, abs=1e-8)
        assert_consistent(labelling, scores)


@pytest.mark.parametrize("measure", [AveragePrecision(), NDCG(), ReciprocalRank()], ids=lambda measure: measure.name)
@pytest.mark.parametrize(("n_pos", "n_neg"), [(12, 2048), (12, 4500), (3000, 300)])
@pytest.mark.parametrize("spread", [0.01, 3.0, 4000.0])  # none, some, and most pairs are too far apart to be swapped
def test_blocks_of_negatives_equal_the_scan(measure, n_pos, n_neg, spread):
    random = np.random.default_rng(n_neg)
    scores = spread * (random.normal(size=n_pos + n_neg) + (np.arange(n_pos + n_neg) < n_pos))
    scores[::5] = np.round(scores[::5], 1)
    fast, slow = (make_oracle(measure, n_pos, n_neg, generic=generic).violate(scores) for generic in (False, True))
    assert fast.value == pytest.approx(slow.value, rel=1e-12, abs=1e-14)
    assert fast.loss == pytest.approx(slow.loss, rel=1e-9, abs=1e-12)
    assert fast.coefficients() == pytest.approx(slow.coefficients(), rel=1e-9, abs=1e-15)


@each_measure
@each_seed
def test_a_labelling_is_a_lower_bound_everywhere(measure, seed):
    n_pos, n_neg, scores, weights = make_random_case(seed)
    oracle = make_oracle(measure, n_pos, n_neg, weights)
    labelling = oracle.violate(scores)
    rng = np.random.default_rng(seed)
    for size in (1e-9, 1e-3, 0.1, 1.0, 10.0):
        there = scores + size * rng.normal(size=scores.size)
        bound = labelling.loss + labelling.coefficients() @ there
        assert oracle.violate(there).value >= bound - 1e-9 * max(1.0, abs(bound))


@each_seed
def test_labellings_do_not_depend_on_the_order_of_samples(seed):
    n_pos, n_neg, scores, weights = make_random_case(seed)
    rng = np.random.default_rng(seed)
    order = np.r_[rng.permutation(n_pos), n_pos + rng.permutation(n_neg)]
    found = make_oracle(AveragePrecision(), n_pos, n_neg, weights).violate(scores)
    other = None if weights is None else weights[order]
    moved = make_oracle(AveragePrecision(), n_pos, n_neg, other).violate(scores[order])
    assert moved.value == pytest.approx(found.value, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(moved.coefficients(), found.coefficients()[order], atol=1e-12)


@each_seed
def test_ties_up_to_rounding_are_treated_equally(seed):
    """Rounding errors in the scores do not break ties between equal samples."""
    n_pos, n_neg, scores, weights = make_random_case(seed)
    oracle, scores = make_oracle(NDCG(), n_pos, n_neg, weights), np.round(scores)
    blurred = scores * (1.0 + 1e-15 * np.random.default_rng(seed).normal(size=scores.size))
    expected, found = oracle.violate(scores).coefficients(), oracle.violate(blurred).coefficients()
    np.testing.assert_allclose(found, expected, atol=1e-12)


@given(case=tiny_problems(score=half_steps, weight=st.sampled_from([1.0, 2.0])))
@USUAL
def test_the_slack_bounds_the_loss_of_the_ranking(case):
    measure, n_pos, n_neg, scores, weights = case
    truth = np.arange(n_pos + n_neg) < n_pos
    if isinstance(measure, OwnGain):
        weights = None
    loss = 1.0 - measure.score(truth, scores, weights)
    assert loss <= make_oracle(measure, n_pos, n_neg, weights).violate(scores).value + 1e-8


@each_measure
def test_perfect_rankings_with_a_margin_have_no_slack(measure):
    scores = np.r_[np.full(3, 30.0), np.linspace(0.5, -4.0, 9)]
    labelling = make_oracle(measure, 3, 9).violate(scores)
    assert (labelling.value, labelling.loss, np.abs(labelling.coefficients()).max()) == (0.0, 0.0, 0.0)


@each_measure
def test_gains_have_the_shape_that_the_oracle_needs(measure):
    assert isinstance(measure, GainsByRank)
    check_gains(measure, 40, 300)
    check_gains(measure, 1, 1)


def make_measure(gain):
    return type("Own", (OwnGain,), {"rank_gain": staticmethod(gain)})()


@pytest.mark.parametrize(
    ("measure", "problem"),
    [
        (NDCG(k=3), r"NDCG\(k=3\) cannot be trained for: the gain of positive 1 is not convex in the rank at rank 3"),
        (make_measure(lambda i, k, n_pos: k / k / n_pos + (k > 4)), "gain of positive 1 rises at rank 4"),
        (make_measure(lambda i, k, n_pos: (3.0 - k) * (n_pos == 2) / 3 + 0 * i), "is negative or NaN at rank 4"),
        (make_measure(lambda i, k, n_pos: 1.0 / k), "perfect ranking of 2 positives add up to 1.5"),
    ],
)
def test_gains_of_another_shape_are_refused(measure, problem):
    with pytest.raises(ValueError, match=problem):
        make_oracle(measure, 2, 5)


@pytest.mark.parametrize("name", ["average_precision", "ndcg", "reciprocal_rank"])
def test_weights_that_are_no_copies_are_refused(name):
    with pytest.raises(ValueError, match=f"'{name}' is trained with sample weights that are whole numbers.*roc_auc"):
        make_oracle(get_measure(name), 1, 1, np.array([1.0, 0.5]))
    with pytest.raises(ValueError, match=f"1,000,000,001 copies of samples.*'{name}'"):
        make_oracle(get_measure(name), 1, 1, np.array([1.0, 1e9]))
