"""The oracle of partial ROC areas against brute force over all choices of positives, orders of negatives and ranks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from metricwise.certifying.slack import Slack
from metricwise.measures import PartialAuc, RocAuc, RocRegion, TwoWayPartialAuc
from metricwise.oracles import make_oracle
from metricwise.oracles.base import Classes
from metricwise.oracles.partial_area import PartialAreaOracle
from metricwise.oracles.ranking import PairOracle
from metricwise.rounding import largest_coefficients
from tests.properties.test_oracles import assert_consistent, half_steps, mixed_score

USUAL = settings(max_examples=80, deadline=None)

# Ends on whole ranks of two, three or four negatives, ends within a sample, the whole range, and ranges within one
# sample; all positives, some whole ones, and parts of one.
REGIONS = [
    RocRegion(*rates)
    for rates in (
        *[(0.0, 0.25), (0.0, 0.5, 0.5), (0.25, 0.75), (0.5, 1.0, 1 / 3), (1 / 3, 2 / 3), (0.0, 1.0)],
        *[(0.0, 0.1, 0.9), (0.1, 0.3), (0.2, 0.9, 0.4), (0.4, 0.45), (0.93, 1.0), (0.0, 0.6, 0.7), (0.05, 1.0, 0.2)],
    )
]
rate_triples = st.tuples(st.floats(0, 0.45), st.floats(0.5, 1), st.floats(0, 0.95))
regions = st.sampled_from(REGIONS) | rate_triples.map(lambda rates: RocRegion(*rates))
any_weight = st.floats(0.1, 5)


@st.composite
def tiny_problems(draw, score=mixed_score, weight=None, most_neg=4):
    """Return a region, numbers of positives and negatives, scores, and weights or None."""
    n_pos, n_neg = draw(st.integers(1, 3)), draw(st.integers(1, most_neg))
    column = lambda values: np.array(draw(st.lists(values, min_size=n_pos + n_neg, max_size=n_pos + n_neg)), float)
    return draw(regions), n_pos, n_neg, column(score), None if weight is None else column(weight)


@dataclass(frozen=True)
class RegionMeasure:
    """As much of a ranking measure as its slack needs."""

    roc_region: RocRegion


def make_region_oracle(region, n_pos, n_neg, weights=None):
    return PartialAreaOracle(region, Classes(n_pos, n_neg, weights), mistakes=float(n_pos + n_neg))


def list_choices(weights, amount):
    """Return what may be taken of every sample if some samples are taken whole, and one of them up to the amount."""
    taken = [
        np.diff(np.minimum(np.r_[0.0, np.cumsum(weights[list(order)])], amount))[np.argsort(order)]
        for order in permutations(range(weights.size))
    ]
    return np.unique(np.round(taken, 15), axis=0)


def list_labellings(region, n_pos, n_neg, weights=None):
    """Return losses and coefficients of all labellings, by definition."""
    weights = np.ones(n_pos + n_neg) if weights is None else weights
    start, end = np.array(region[:2]) * weights[n_pos:].sum()
    amount = (1.0 - region.min_tpr) * weights[:n_pos].sum()
    chosen = list_choices(weights[:n_pos], amount)
    losses, coefficients = [], []
    for order in permutations(range(n_neg)):
        edges = np.r_[0.0, np.cumsum(weights[n_pos:][list(order)])]
        taken = np.diff(np.minimum(edges, end))
        within = np.diff(np.clip(edges, start, end))
        for ranks in product(range(n_neg + 1), repeat=n_pos):
            lost, c = np.zeros(n_pos), np.zeros((n_pos, n_pos + n_neg))
            for i, rank in enumerate(ranks):
                lost[i] = within[:rank].sum()
                c[i, i] = -taken[:rank].sum()
                c[i, n_pos + np.array(order[:rank], int)] = taken[:rank]
            losses.append(chosen @ lost)
            coefficients.append(chosen @ c)
    scale = 1.0 / (amount * (end - start))
    return scale * np.concatenate(losses), scale * np.vstack(coefficients)


def assert_most_violated(case):
    region, n_pos, n_neg, scores, weights = case
    labelling = make_region_oracle(region, n_pos, n_neg, weights).violate(scores)
    losses, coefficients = list_labellings(region, n_pos, n_neg, weights)
    # The violation is divided by the area of the region.
    exact = 1e-9 / region.largest_area
    assert labelling.value == pytest.approx(np.max(losses + coefficients @ scores), abs=exact)
    assert_consistent(labelling, scores)
    # At other scores it is no more violated than the most violated labelling: it is a labelling, or a mean of some.
    for other in (scores[::-1], np.zeros_like(scores), 3.0 * scores, scores + np.cos(np.arange(scores.size))):
        assert labelling.loss + labelling.coefficients() @ other <= np.max(losses + coefficients @ other) + exact


@given(case=tiny_problems())
@example(case=(RocRegion(0.25, 0.75), 1, 4, np.zeros(5), None))
@example(case=(RocRegion(0.5, 1.0), 1, 4, np.array([1.0, 1.5, 1.0, 0.5, 0.0]), None))  # tied maxima
@USUAL
def test_equals_brute_force_over_all_labellings(case):
    assert_most_violated(case)


@given(case=tiny_problems(score=half_steps, most_neg=3))
@USUAL
def test_equals_brute_force_where_scores_are_tied(case):
    assert_most_violated(case)


@given(case=tiny_problems(weight=any_weight))
@USUAL
def test_equals_brute_force_with_any_weights(case):
    assert_most_violated(case)


@given(case=tiny_problems(weight=st.integers(1, 4)))
@USUAL
def test_integer_weights_equal_repeated_samples(case):
    region, n_pos, n_neg, scores, weights = case
    copies = weights.astype(int)
    weighted = make_region_oracle(region, n_pos, n_neg, weights).violate(scores)
    repeated = make_region_oracle(region, copies[:n_pos].sum(), copies[n_pos:].sum()).violate(np.repeat(scores, copies))
    assert (weighted.value, weighted.loss) == pytest.approx((repeated.value, repeated.loss), abs=1e-9)
    each = np.repeat(weighted.coefficients() / copies, copies)
    np.testing.assert_allclose(repeated.coefficients(), each, atol=1e-9)


def make_random_case(seed):
    """Return hundreds of samples with or without weights and ties, and a region."""
    rng = np.random.default_rng(seed)
    n_pos, n_neg = int(rng.integers(1, 120)), int(rng.integers(1, 400))
    scores = rng.normal(size=n_pos + n_neg) * rng.choice([0.3, 1.0, 5.0])
    scores[:n_pos] += rng.choice([0.0, 1.0, 3.0])
    scores = np.round(scores, 1) if seed % 2 else scores
    weights = [None, rng.uniform(0.1, 5.0, size=scores.size), rng.integers(1, 4, size=scores.size) * 1.0][seed % 3]
    return REGIONS[seed % len(REGIONS)], n_pos, n_neg, scores, weights


def try_every_rank(region, n_pos, n_neg, scores, weights):
    """Return the largest violation over every rank of each positive, of those positives that add most."""
    weights = np.ones(scores.size) if weights is None else weights
    order = n_pos + np.argsort(-scores[n_pos:])
    edges = np.r_[0.0, np.cumsum(weights[order])]
    start, end = np.array(region[:2]) * edges[-1]
    taken, within = np.diff(np.minimum(edges, end)), np.diff(np.clip(edges, start, end))
    terms = within + taken * (scores[order] - scores[:n_pos, None])
    best = np.maximum(np.cumsum(terms, axis=1).max(axis=1), 0.0)
    most = np.argsort(-best)
    amount = (1.0 - region.min_tpr) * weights[:n_pos].sum()
    chosen = np.diff(np.minimum(np.r_[0.0, np.cumsum(weights[:n_pos][most])], amount))
    return chosen @ best[most] / (amount * (end - start))


each_seed = pytest.mark.parametrize("seed", range(24))


@each_seed
def test_equals_the_best_of_all_ranks_on_many_samples(seed):
    case = make_random_case(seed)
    region, n_pos, n_neg, scores, weights = case
    labelling = make_region_oracle(region, n_pos, n_neg, weights).violate(scores)
    assert labelling.value == pytest.approx(try_every_rank(*case), rel=1e-8, abs=1e-8)
    assert_consistent(labelling, scores)


@each_seed
def test_the_slack_of_certificates_finds_the_same_labelling(seed):
    case = make_random_case(seed)
    region, n_pos, n_neg, scores, weights = case
    truth, weights = np.arange(scores.size) < n_pos, np.ones(scores.size) if weights is None else weights
    slack = Slack(RegionMeasure(region), truth, weights, 1.0)
    assert slack.at(scores) == pytest.approx(try_every_rank(*case), rel=1e-8, abs=1e-8)
    labelling = make_region_oracle(region, n_pos, n_neg, weights).violate(scores)
    loss, coefficients = slack.labelling(scores, np.empty(2))
    assert loss == pytest.approx(labelling.loss, abs=1e-9)
    np.testing.assert_allclose(coefficients, labelling.coefficients(), atol=1e-12)


@each_seed
def test_bounds_of_coefficients_are_reached_by_the_worst_ranking(seed):
    region, n_pos, n_neg, scores, weights = make_random_case(seed)
    truth, oracle = np.arange(scores.size) < n_pos, make_region_oracle(region, n_pos, n_neg, weights)
    largest = largest_coefficients(truth, np.ones(scores.size) if weights is None else weights, 1.0, region)
    assert np.all(np.abs(oracle.violate(scores).coefficients()) <= largest * (1 + 1e-9))
    # All positives are ranked below all negatives: those that count in full reach the bounds.
    worst = np.abs(oracle.violate(np.where(truth, -2.0, 2.0) + 0.1 * np.sin(scores)).coefficients())
    assert np.all(worst <= largest * (1 + 1e-9))
    if region.height * n_pos > 10 and region.max_fpr * n_neg > 10:
        assert np.any(worst[:n_pos] >= largest[:n_pos] * (1 - 1e-9))
        assert np.any(worst[n_pos:] >= largest[n_pos:] * (1 - 1e-9))


@each_seed
def test_a_labelling_is_a_lower_bound_everywhere(seed):
    region, n_pos, n_neg, scores, weights = make_random_case(seed)
    oracle = make_region_oracle(region, n_pos, n_neg, weights)
    labelling = oracle.violate(scores)
    rng = np.random.default_rng(seed)
    for size in (1e-9, 1e-3, 0.1, 1.0, 10.0):
        there = scores + size * rng.normal(size=scores.size)
        bound = labelling.loss + labelling.coefficients() @ there
        assert oracle.violate(there).value >= bound - 1e-9 * max(1.0, abs(bound))


@each_seed
def test_the_whole_square_equals_the_oracle_of_the_whole_area(seed):
    _, n_pos, n_neg, scores, weights = make_random_case(seed)
    whole = make_oracle(RocAuc(), n_pos, n_neg, weights)
    for measure in (RocAuc(), PartialAuc(0, 1), TwoWayPartialAuc(1, 0)):
        assert isinstance(make_oracle(measure, n_pos, n_neg, weights), PairOracle)
    assert make_oracle(PartialAuc(0, 0.2), n_pos, n_neg, weights).mistakes == whole.mistakes
    expected, found = whole.violate(scores), make_region_oracle(RocRegion(), n_pos, n_neg, weights).violate(scores)
    assert (found.value, found.loss) == pytest.approx((expected.value, expected.loss), abs=1e-9)
    np.testing.assert_allclose(found.coefficients(), expected.coefficients(), atol=1e-12)


@each_seed
def test_two_way_areas_equal_the_hinge_loss_of_the_pairs_that_count(seed):
    region, n_pos, n_neg, scores, weights = make_random_case(seed)
    measure = TwoWayPartialAuc(region.max_fpr, region.min_tpr)
    oracle = make_oracle(measure, n_pos, n_neg, weights)
    weights = np.ones(scores.size) if weights is None else weights
    taken = []
    for own, weight, amount in (
        (scores[:n_pos], weights[:n_pos], 1.0 - measure.min_tpr),
        (-scores[n_pos:], weights[n_pos:], measure.max_fpr),
    ):
        order = np.argsort(own)
        edges = np.minimum(np.r_[0.0, np.cumsum(weight[order])], amount * weight.sum())
        taken.append(np.diff(edges)[np.argsort(order)] / edges[-1])
    hinges = np.maximum(0.0, 1.0 - scores[:n_pos, None] + scores[n_pos:])
    assert oracle.violate(scores).value == pytest.approx(taken[0] @ hinges @ taken[1], rel=1e-8, abs=1e-8)
    if region.min_tpr == 0.0:
        part = make_oracle(PartialAuc(0.0, region.max_fpr), n_pos, n_neg, None if np.all(weights == 1) else weights)
        np.testing.assert_array_equal(oracle.violate(scores).coefficients(), part.violate(scores).coefficients())


@each_seed
def test_labellings_do_not_depend_on_the_order_of_samples(seed):
    region, n_pos, n_neg, scores, weights = make_random_case(seed)
    rng = np.random.default_rng(seed)
    order = np.r_[rng.permutation(n_pos), n_pos + rng.permutation(n_neg)]
    found = make_region_oracle(region, n_pos, n_neg, weights).violate(scores)
    moved = make_region_oracle(region, n_pos, n_neg, None if weights is None else weights[order]).violate(scores[order])
    assert moved.value == pytest.approx(found.value, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(moved.coefficients(), found.coefficients()[order], atol=1e-12)


@each_seed
def test_ties_up_to_rounding_are_treated_equally(seed):
    """Rounding errors in the scores do not break ties between equal samples."""
    region, n_pos, n_neg, scores, weights = make_random_case(seed)
    oracle, scores = make_region_oracle(region, n_pos, n_neg, weights), np.round(scores)
    blurred = scores * (1.0 + 1e-15 * np.random.default_rng(seed).normal(size=scores.size))
    expected, found = oracle.violate(scores).coefficients(), oracle.violate(blurred).coefficients()
    np.testing.assert_allclose(found, expected, atol=1e-12)


@given(case=tiny_problems(score=half_steps, weight=st.sampled_from([1.0, 0.5, 2.3])))
@USUAL
def test_the_slack_bounds_the_loss_of_the_ranking(case):
    region, n_pos, n_neg, scores, weights = case
    truth = np.arange(n_pos + n_neg) < n_pos
    range_alone = region._replace(min_tpr=0.0)
    found = make_region_oracle(range_alone, n_pos, n_neg, weights).violate(scores)
    loss = 1.0 - PartialAuc(*range_alone[:2], standardize=False).score(truth, scores, weights)
    assert loss <= found.value + 1e-8
    # The rescaled area has the same loss in other units.
    rescaled = 1.0 - PartialAuc(*range_alone[:2]).score(truth, scores, weights)
    assert rescaled == pytest.approx(loss / (2.0 - sum(range_alone[:2])), rel=1e-6, abs=1e-6)
    two_way = TwoWayPartialAuc(region.max_fpr, region.min_tpr)
    corner = make_region_oracle(two_way.roc_region, n_pos, n_neg, weights).violate(scores)
    assert 1.0 - two_way.score(truth, scores, weights) <= corner.value + 1e-8


def test_perfect_rankings_with_a_margin_have_no_slack():
    scores = np.r_[np.full(3, 1.5), np.linspace(0.5, -4.0, 9)]
    for region in REGIONS:
        labelling = make_region_oracle(region, 3, 9).violate(scores)
        assert (labelling.value, labelling.loss, np.abs(labelling.coefficients()).max()) == (0.0, 0.0, 0.0)
