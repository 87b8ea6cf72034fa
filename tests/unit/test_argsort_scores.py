"""The radix argsort of scores."""

import numpy as np
import pytest

from metricwise.kernels.pairs import argsort_scores

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "scores",
    [
        RNG.normal(size=3000),
        np.round(RNG.normal(size=3000), 1),
        np.zeros(100),
        1.0 + RNG.normal(size=5000) * 1e-14,
        RNG.normal(size=500) * 1e-300,
        np.array([0.0, -0.0, np.inf, -np.inf, 5e-324, -5e-324, 1e308, -1e308]),
        np.empty(0),
    ],
    ids=["normal", "ties", "equal", "last bits", "tiny", "extremes", "empty"],
)
def test_sorts_like_numpy(scores):
    order, values = argsort_scores(scores)
    np.testing.assert_array_equal(values, np.sort(scores))
    np.testing.assert_array_equal(scores[order], values)
    assert sorted(order) == list(range(scores.size))
