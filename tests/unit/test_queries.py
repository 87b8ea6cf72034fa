"""Measures of queries: graded relevance and means over queries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.metrics import average_precision_score, ndcg_score

import metricwise as mw
from metricwise import NDCG, score_queries

relevances = arrays.arrays(np.int64, st.integers(2, 12), elements=st.integers(0, 4))


@given(y=relevances, data=st.data())
@settings(max_examples=80, deadline=None)
def test_graded_ndcg_is_that_of_scikit_learn(y, data):
    scores = np.array(data.draw(st.lists(st.integers(-2, 2), min_size=y.size, max_size=y.size)), dtype=float)
    k = data.draw(st.integers(1, 15))
    assert NDCG().score(y, scores) == pytest.approx(ndcg_score([y], [scores]), abs=1e-12)
    assert NDCG(k).score(y, scores) == pytest.approx(ndcg_score([y], [scores], k=k), abs=1e-12)
    gained = NDCG(k, gain="exponential").score(y, scores)
    assert gained == pytest.approx(ndcg_score([2.0**y - 1.0], [scores], k=k), abs=1e-12)


@given(y=relevances, data=st.data())
@settings(max_examples=40, deadline=None)
def test_weights_of_graded_samples_are_copies(y, data):
    draw = lambda values: np.array(data.draw(st.lists(values, min_size=y.size, max_size=y.size)))
    scores, copies = draw(st.integers(-2, 2)), draw(st.integers(1, 3))
    repeated = NDCG(5).score(np.repeat(y, copies), np.repeat(scores, copies))
    assert NDCG(5).score(y, scores, copies) == pytest.approx(repeated, abs=1e-12)


@given(y=relevances, data=st.data(), gain=st.sampled_from(["linear", "exponential"]))
@settings(max_examples=60, deadline=None)
def test_the_graded_loss_is_a_mean_of_two_grade_losses(y, data, gain):
    scores = np.array(data.draw(st.permutations(range(y.size))), dtype=float)
    levels = np.unique(y[y > 0]).astype(float)
    if not levels.size:
        return
    counts = np.array([np.count_nonzero(y >= level) for level in levels], dtype=float)
    shares = NDCG(gain=gain).weigh_levels(levels, counts)
    losses = [1.0 - NDCG().score(y >= level, scores) for level in levels]
    assert shares.sum() == pytest.approx(1.0) and np.all(shares > 0.0)
    assert 1.0 - NDCG(gain=gain).score(y, scores) == pytest.approx(shares @ losses, abs=1e-12)


def test_labels_of_two_classes_are_relevances():
    scores = [0.1, 0.4, 0.35, 0.8]
    values = [NDCG().score(y, scores) for y in ([0, 1, 1, 0], [-1, 1, 1, -1], [False, True, True, False])]
    assert values[0] == values[1] == values[2] == pytest.approx(ndcg_score([[0, 1, 1, 0]], [scores]))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 2, -1], r"y\[2\] is -1: shift the grades"),
        ([-1, -2, 1], r"must not be negative, but y\[0\] is -1"),
        ([0.0, np.nan, 1.0], r"y\[1\] is nan"),
        ([0.0, 1.0, 1e200], r"y\[2\] is 1e\+200, and relevances above 1e100"),
        ([0, 2000, 1], "NDCG of 2000"),
    ],
)
def test_bad_relevance_is_refused(y, message):
    if "NDCG of" in message:
        with pytest.raises(ValueError, match="2\\^2000 is too large for gain='exponential': number the grades"):
            NDCG(gain="exponential").score(y, [1.0, 2.0, 3.0])
        return
    with pytest.raises(ValueError, match=message):
        NDCG().score(y, [1.0, 2.0, 3.0])


def test_an_unknown_gain_is_refused_and_others_are_shown():
    with pytest.raises(ValueError, match="gain must be 'linear' or 'exponential'"):
        NDCG(gain="squared")
    assert repr(NDCG(5)) == "NDCG(k=5)" and repr(NDCG(gain="exponential")) == "NDCG(k=None, gain='exponential')"


RNG = np.random.default_rng(0)
GROUPS = RNG.permutation(np.repeat(["a", "b", "c", "d"], [5, 3, 8, 4]))
SCORES = RNG.normal(size=20)
GRADES = RNG.integers(0, 4, 20) * (GROUPS != "d")  # no sample of d is relevant
QUERIES = {name: name == GROUPS for name in "abcd"}


def test_means_over_queries_are_those_of_scikit_learn():
    ndcg = [ndcg_score([GRADES[own]], [SCORES[own]], k=3) for own in QUERIES.values()]
    assert score_queries("ndcg@3", GRADES, SCORES, GROUPS) == pytest.approx(np.mean(ndcg), abs=1e-12)
    relevant = GRADES > 1
    some = {name: own for name, own in QUERIES.items() if relevant[own].any()}
    precision = [average_precision_score(relevant[own], SCORES[own]) for own in some.values()]
    found = score_queries("average_precision", relevant, SCORES, GROUPS, no_relevant="skip", per_query=True)
    assert list(found) == list(some) and list(found.values()) == pytest.approx(precision, abs=1e-12)


def test_queries_without_relevant_samples_count_as_asked():
    others = score_queries("ndcg", GRADES, SCORES, GROUPS, no_relevant="skip")
    assert score_queries("ndcg", GRADES, SCORES, GROUPS) == pytest.approx(0.75 * others)
    assert score_queries("ndcg", GRADES, SCORES, GROUPS, no_relevant="one") == pytest.approx(0.75 * others + 0.25)
    with pytest.raises(ValueError, match="query 'd' has no relevant sample: leave it out"):
        score_queries("ndcg", GRADES, SCORES, GROUPS, no_relevant="raise")
    with pytest.raises(ValueError, match="none of the 1 queries has a relevant sample"):
        score_queries("ndcg", [0, 0], [1.0, 2.0], no_relevant="skip")


def test_without_groups_all_samples_are_one_query():
    assert score_queries("ndcg", GRADES, SCORES) == NDCG().score(GRADES, SCORES)
    assert score_queries("ndcg", GRADES, SCORES, per_query=True) == {None: NDCG().score(GRADES, SCORES)}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"measure": "f1"}, TypeError, "'f1' does not rank"),
        ({"groups": [1, 2]}, ValueError, "groups has 2 entries for 20 samples"),
        ({"groups": np.r_[np.nan, np.ones(19)]}, ValueError, r"groups\[0\] is missing"),
        ({"scores": [1.0]}, ValueError, "y has 20 samples but scores has 1"),
        ({"no_relevant": "nan"}, ValueError, "no_relevant must be 'zero', 'one', 'skip' or 'raise', got 'nan'"),
        (
            {"measure": "average_precision"},
            ValueError,
            "takes the relevances 0 and 1, and y has 0, 1, 2, 3: choose",
        ),
    ],
)
def test_bad_arguments_are_named(given, error, message):
    usual = {"measure": "ndcg", "y": GRADES, "scores": SCORES, "groups": GROUPS}
    with pytest.raises(error, match=message):
        score_queries(**usual | given)


def test_files_keep_the_gain(tmp_path):
    from sklearn.linear_model import LogisticRegression

    model = mw.PlugInClassifier(LogisticRegression(), NDCG(gain="exponential"))
    model.fit(SCORES[:, None], GRADES > 0)
    mw.save(model, tmp_path / "model.mw")
    assert mw.load(tmp_path / "model.mw").measure == NDCG(gain="exponential")


@pytest.mark.parametrize(
    "groups",
    [
        ["a", np.nan, "b", "b"],
        np.array(["a", np.nan, "b", "b"], dtype=object),
        pd.Series(["a", None, "b", "b"], dtype="string"),
        pd.Series(["a", None, "b", "b"], dtype="category"),
        pd.Series([1, None, 2, 2], dtype="Int64"),
        [1.0, np.nan, 2.0, 2.0],
    ],
    ids=["list", "objects", "strings", "categories", "integers", "floats"],
)
def test_missing_queries_raise(groups):
    with pytest.raises(ValueError, match=r"groups\[1\] is missing"):
        score_queries("ndcg", [1, 0, 1, 0], [4, 3, 2, 1], groups)


def test_numbers_and_text_are_different_queries():
    found = score_queries(
        "reciprocal_rank", [1, 0, 0, 1], [4, 3, 2, 1], np.array([1, "1", 1, "1"], object), per_query=True
    )
    assert found == {1: 1.0, "1": 0.5}


def test_a_query_of_relevant_samples_has_no_roc_area():
    with pytest.raises(ValueError, match="query 'b' has relevant samples only, and measure 'roc_auc' is not defined"):
        score_queries("roc_auc", [1, 0, 1, 1], [4, 3, 2, 1], list("aabb"))


def test_negative_zeros_are_shown_as_zeros():
    with pytest.raises(ValueError, match="y has 0, 1, 2:"):
        score_queries("average_precision", [-0.0, 1.0, 2.0], [3, 2, 1])
