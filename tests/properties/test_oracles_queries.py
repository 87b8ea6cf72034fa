"""The oracle of queries against brute force over all rankings, and compiled code against the loop over lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metricwise.measures import NDCG, AveragePrecision, ReciprocalRank
from metricwise.oracles.queries import QueryLists, QueryOracle, make_lists
from tests.properties.test_oracles import assert_consistent, half_steps, mixed_score
from tests.properties.test_oracles_rank_gains import OwnGain, list_rankings

USUAL = settings(max_examples=60, deadline=None)
TWO_GRADES = [AveragePrecision(), ReciprocalRank(), OwnGain(), NDCG()]
GRADED = [NDCG(), NDCG(gain="exponential")]


@st.composite
def query_problems(draw, score=mixed_score, most=6):
    """Return a measure, relevances, queries in any order, scores and weights of queries; some query can be ranked."""
    graded = draw(st.booleans())
    measure = draw(st.sampled_from(GRADED if graded else TWO_GRADES))
    sizes = draw(st.lists(st.integers(1, most), min_size=1, max_size=3))
    n_samples = sum(sizes)
    column = lambda values, size: np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype=float)
    relevance = column(st.integers(0, 3 if graded else 1), n_samples)
    codes = np.array(draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist())))
    first = np.flatnonzero(codes == codes[0])
    if np.unique(relevance[first]).size < 2:  # at least one query with two grades
        codes = np.append(codes, [codes[0], codes[0]])
        relevance = np.append(relevance, [0.0, 1.0])
    weights = column(st.integers(1, 3), len(sizes))
    return measure, relevance, codes, column(score, codes.size), weights


def compute_slack(measure, relevance, codes, scores, weights):
    """Return the mean over queries of the mean over levels of the maximum over all rankings, by definition."""
    total, mean = 0.0, 0.0
    for query, weight in enumerate(weights):
        own = codes == query
        y, s = relevance[own], scores[own]
        if np.unique(y).size < 2:
            continue
        total += weight
        gains = 2.0**y - 1.0 if getattr(measure, "gain", "") == "exponential" else y
        ideal = np.sort(gains)[::-1] @ (1.0 / np.log2(np.arange(y.size) + 2.0))
        below = 0.0
        for gain in np.unique(gains[gains > 0.0]):
            positive = gains >= gain
            if isinstance(measure, NDCG):
                share = (gain - below) * (1.0 / np.log2(np.arange(positive.sum()) + 2.0)).sum() / ideal
            else:
                share = 1.0
            below = gain
            if not positive.all():
                losses, coefficients = list_rankings(measure, positive.sum(), (~positive).sum())
                mean += weight * share * np.max(losses + coefficients @ np.r_[s[positive], s[~positive]])
    return mean / total


@given(case=query_problems(most=4))
@USUAL
def test_equals_brute_force_over_all_rankings(case):
    expect_brute_force(case)


@given(case=query_problems(score=half_steps, most=4))
@USUAL
def test_equals_brute_force_where_scores_are_tied(case):
    expect_brute_force(case)


@pytest.mark.parametrize("measure", [*GRADED, *TWO_GRADES], ids=repr)
def test_equals_brute_force_on_six_samples(measure):
    rng = np.random.default_rng(3)
    relevance = rng.integers(0, 3 if measure in GRADED else 2, 11).astype(float)
    relevance[:2] = 0.0, 1.0
    expect_brute_force((measure, relevance, np.repeat([0, 1], [6, 5]), rng.normal(size=11), np.ones(2)))


def expect_brute_force(case):
    measure, relevance, codes, scores, weights = case
    lists, samples = make_lists(measure, relevance, codes, weights)
    expected = compute_slack(measure, relevance, codes, scores, weights)
    largest = max(1.0, np.abs(scores).max())
    for loops in (False, True):
        oracle = QueryOracle(measure, lists, 1.0, loops=loops)
        assert oracle.exact().violate(scores[samples]).value == pytest.approx(expected, abs=1e-12 * largest)
        labelling = oracle.violate(scores[samples])
        assert labelling.value == pytest.approx(expected, abs=1e-9 * largest)
        assert_consistent(labelling, scores[samples])


@given(case=query_problems(score=half_steps | mixed_score, most=30))
@USUAL
def test_compiled_lists_equal_the_loop_over_lists(case):
    expect_equal_oracles(case)


@pytest.mark.parametrize("measure", [*GRADED, AveragePrecision(), ReciprocalRank()], ids=repr)
@pytest.mark.parametrize("longest", [30, 3000])  # long queries are sorted otherwise
def test_compiled_lists_equal_the_loop_on_many_samples(measure, longest):
    rng = np.random.default_rng(longest)
    codes = np.concatenate([np.repeat(np.arange(20), 30), np.full(longest, 20)])
    relevance = rng.integers(0, 4 if measure in GRADED else 2, codes.size).astype(float)
    scores = np.round(3.0 * rng.normal(size=codes.size), 1)
    expect_equal_oracles((measure, relevance, rng.permutation(codes), scores, rng.integers(0, 3, 21).astype(float)))


def test_threads_rank_the_same():
    rng = np.random.default_rng(5)
    codes, relevance = np.repeat(np.arange(800), 25), rng.integers(0, 4, 20_000).astype(float)
    lists, samples = make_lists(NDCG(), relevance, codes, np.ones(800))
    scores = np.round(rng.normal(size=20_000), 1)[samples]
    one, three, slow = (QueryOracle(NDCG(), lists, 1.0, **how) for how in ({}, {"threads": 3}, {"loops": True}))
    assert len(one._rank._bounds) > 1
    found, other, looped = (oracle.violate(scores) for oracle in (one, three, slow))
    assert found.value == other.value and np.array_equal(found.coefficients(), other.coefficients())
    assert found.value == pytest.approx(looped.value, abs=1e-12)
    np.testing.assert_allclose(found.coefficients(), looped.coefficients(), atol=1e-14)


def expect_equal_oracles(case):
    measure, relevance, codes, scores, weights = case
    lists, samples = make_lists(measure, relevance, codes, weights)
    fast, slow = (QueryOracle(measure, lists, 1.0, loops=loops) for loops in (False, True))
    for one, other in ((fast, slow), (fast.exact(), slow.exact())):
        a, b = one.violate(scores[samples]), other.violate(scores[samples])
        assert (a.value, a.loss) == pytest.approx((b.value, b.loss), abs=1e-12 * max(1.0, np.abs(scores).max()))
        np.testing.assert_allclose(a.coefficients(), b.coefficients(), atol=1e-14)


@given(case=query_problems(most=8))
@USUAL
def test_the_slack_bounds_the_loss_of_the_scores(case):
    measure, relevance, codes, scores, weights = case
    lists, samples = make_lists(measure, relevance, codes, weights)
    if isinstance(measure, OwnGain):
        return  # its score breaks ties by position
    losses, own_weights = [], []
    for query, weight in enumerate(weights):
        own = codes == query
        if np.unique(relevance[own]).size > 1:
            losses.append(1.0 - measure.score(relevance[own], scores[own]))
            own_weights.append(weight)
    slack = QueryOracle(measure, lists, 1.0).exact().violate(scores[samples]).value
    assert slack >= np.average(losses, weights=own_weights) - 1e-12


@given(case=query_problems(most=5))
@USUAL
def test_coefficients_are_within_their_bounds(case):
    measure, relevance, codes, scores, weights = case
    lists, samples = make_lists(measure, relevance, codes, weights)
    found = QueryOracle(measure, lists, 1.0).violate(scores[samples]).coefficients()
    assert np.all(np.abs(found) <= lists.largest_coefficients * (1.0 + 1e-12))


def test_some_queries_are_taken_with_their_lists():
    rng = np.random.default_rng(1)
    codes, relevance = np.repeat(np.arange(4), 5), rng.integers(0, 3, 20).astype(float)
    relevance[::5], relevance[1::5] = 0.0, 1.0
    lists, _ = make_lists(NDCG(), relevance, codes, np.array([1.0, 2.0, 3.0, 4.0]))
    some, samples = lists.take(np.array([1, 3]))
    kept = np.isin(codes, [1, 3])
    alone, _ = make_lists(NDCG(), relevance[kept], codes[kept] // 2, np.array([2.0, 4.0]))
    assert np.array_equal(samples, np.flatnonzero(kept))
    scores = rng.normal(size=10)
    assert QueryOracle(NDCG(), some, 1.0).violate(scores).value == QueryOracle(NDCG(), alone, 1.0).violate(scores).value


@pytest.mark.parametrize(
    "wrong",
    [
        {"starts": np.array([0, 4])},
        {"starts": np.array([1, 3])},
        {"queries": np.array([1])},
        {"levels": np.array([2])},
        {"levels": np.array([0])},
    ],
)
def test_lists_that_compiled_code_cannot_rank_are_refused(wrong):
    usual = {
        "starts": np.array([0, 3]),
        "query_weights": np.ones(1),
        "grades": np.array([0, 1, 1]),
        "queries": np.array([0]),
        "levels": np.array([1]),
        "level_shares": np.ones(1),
    }
    with pytest.raises(ValueError, match="2 scores are not those of the 3 samples"):
        QueryOracle(NDCG(), QueryLists(**usual), 1.0).violate(np.zeros(2))
    with pytest.raises(ValueError, match=r"quer|list"):
        QueryLists(**usual | wrong)
