"""Input of measures: accepted truth, labels, scores and weights, and errors for the rest."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from metricwise.measures import (
    PRBEP,
    FBeta,
    RecallAtPrecision,
    RocAuc,
    contingency_table,
    get_measure,
    registered_names,
)

ALL_MEASURES = [get_measure(name) for name in registered_names()]
SCORE_MEASURES = [measure for measure in ALL_MEASURES if measure.response == "scores"]
Y = np.array([1, 1, 0, 0, 0])
LABELS = np.array([1, 0, 1, 0, 0])
SCORES = np.array([0.9, 0.3, 0.5, 0.2, 0.1])


def get_response(measure):
    return LABELS if measure.response == "labels" else SCORES


@pytest.mark.parametrize("measure", ALL_MEASURES, ids=repr)
def test_all_encodings_of_labels_give_the_same_score(measure):
    response = get_response(measure)
    expected = measure.score(Y, response)
    assert isinstance(expected, float)
    for y in (Y == 1, 2 * Y - 1, Y.astype(float), Y.tolist(), pd.Series(Y), pd.array(Y, dtype="Int64")):
        assert measure.score(y, response) == expected
    if measure.response == "labels":
        assert measure.score(Y, 2 * response - 1) == expected
        assert measure.score(2 * Y - 1, response == 1) == expected


BAD_Y = [
    ([0, 1, 2, 1, 0], "y must hold 0 and 1.*found: 0, 1, 2. Encode the labels"),
    ([-1, 0, 1, 1, 0], "y must hold.*found: -1, 0, 1"),
    (list("abcba"), "y must hold.*found: 'a', 'b', 'c'"),
    (np.array(["1", "0", "1", "0", "0"], dtype=object), "y must hold.*found: '1', '0'"),
    ([1, None, 0, 1, 0], "y must hold.*None"),
    ([1, math.nan, 0, 1, 0], "y must hold.*nan"),
    (range(2, 9), r"found: 2, 3, 4, 5, 6, \.\.\."),
    (np.ones((5, 1)), r"y must be one-dimensional.*\(5, 1\)"),
    (1, r"y must be one-dimensional.*\(\)"),
    ([], "y is empty"),
]


@pytest.mark.parametrize(("y", "message"), BAD_Y)
@pytest.mark.parametrize("measure", [FBeta(), PRBEP(), RocAuc(), RecallAtPrecision()])
def test_invalid_truth_raises(measure, y, message):
    with pytest.raises(ValueError, match=message):
        measure.score(y, get_response(measure))


def test_invalid_labels_raise():
    with pytest.raises(ValueError, match="labels must hold 0 and 1"):
        FBeta().score(Y, SCORES)
    with pytest.raises(ValueError, match="y has 5 samples but labels has 4"):
        FBeta().score(Y, LABELS[:4])


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1, 2, math.nan, 4, 5], r"scores must be finite, but scores\[2\] is nan"),
        ([1, math.inf, math.nan, 4, 5], r"scores\[1\] is inf"),
        ([1, 2, 3, None, 5], r"scores must be real numbers, but scores\[3\] is None"),
        ([1, 2, 3, 1j, 5], r"scores must be real numbers"),
        (list("abcde"), r"scores\[0\] is 'a'"),
        (np.ones((5, 2)), r"scores must be one-dimensional.*\(5, 2\)"),
        ([1, 2, 3], "y has 5 samples but scores has 3"),
    ],
)
@pytest.mark.parametrize("measure", SCORE_MEASURES, ids=repr)
def test_invalid_scores_raise(measure, scores, message):
    with pytest.raises(ValueError, match=message):
        measure.score(Y, scores)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1, -1, 1, 1], r"not be negative, but sample_weight\[2\] is -1"),
        ([1, 1, math.nan, 1, 1], r"sample_weight\[2\] is nan"),
        ([0] * 5, "zero for every sample"),
        ([1] * 4, "y has 5 samples but sample_weight has 4"),
        (2.0, "sample_weight must be one-dimensional"),
    ],
)
@pytest.mark.parametrize("measure", [FBeta(), PRBEP(), RocAuc()])
def test_invalid_weights_raise(measure, weight, message):
    with pytest.raises(ValueError, match=message):
        measure.score(Y, get_response(measure), weight)


def test_contingency_tables_count_weights():
    table = contingency_table(Y, LABELS, [1, 2, 4, 8, 16])
    assert (table.tp, table.fp, table.fn, table.tn) == (1, 4, 2, 24)
