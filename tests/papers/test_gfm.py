"""Results of Dembczynski, Waegeman, Cheng, Hullermeier 2011, *An Exact Algorithm for F-Measure Maximization*."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metricwise.inference import gfm, gfm_threshold, meuf


def compute_expected_f1(P, p_zero, labels):
    """Return the expected F1 of given labels, from the joint probabilities of labels and sizes."""
    m, k = len(P), int(labels.sum())
    return float(2.0 * (labels @ P / (np.arange(1, m + 1) + k)).sum()) if k else p_zero


def make_all_or_none(m):
    """Return a distribution with all labels at a small probability, else none: as dependent as labels can be."""
    chance = min(0.4, 2.0 * math.log(m) / m)
    P = np.zeros((m, m))
    P[:, -1] = chance
    return P, 1.0 - chance


def test_proposition_2_1_independence_can_cost_everything():
    regrets = []
    for m in (10, 100, 1000, 4000):
        P, p_zero = make_all_or_none(m)
        best = gfm(P, p_zero, return_expected=True)
        # Under independence some labels seem likely to be 1, and all of them are predicted.
        independent = meuf(P.sum(axis=1))
        assert independent.all() and not best.labels.any()
        regrets.append(best.expected - compute_expected_f1(P, p_zero, independent))
    assert regrets == sorted(regrets)
    assert regrets[-1] > 0.99
    assert all(r >= 1.0 - 4.0 * math.log(m) / m - 1e-12 for r, m in zip(regrets[1:], (100, 1000, 4000), strict=True))


def make_alone_or_many(m, tilt=1e-9):
    """Return a distribution of label 1 alone or, slightly more often, label 0 with half of the remaining labels."""
    alone, crowd = 0.5 - tilt, 0.5 + tilt
    P = np.zeros((m, m))
    P[1, 0] = alone
    P[0, m // 2 - 1] = crowd
    P[2:, m // 2 - 1] = crowd / 2
    return P, 0.0


@pytest.mark.parametrize("m", [10, 30, 100, 1000])
def test_proposition_2_3_thresholds_can_cost_a_sixth(m):
    P, p_zero = make_alone_or_many(m)
    best, ordered = gfm(P, p_zero, return_expected=True), gfm_threshold(P, p_zero, return_expected=True)
    assert best.labels.tolist() == [0, 1] + [0] * (m - 2)
    assert ordered.labels[0] == 1
    assert ordered.expected == pytest.approx(compute_expected_f1(P, p_zero, ordered.labels), abs=1e-12)
    assert best.expected - ordered.expected >= 1 / 6 - 2 / (m + 4) - 1e-7


def test_theorem_3_1_only_labels_and_sizes_matter():
    # Two distributions of four labels with the same P, one with dependent and one with mixed pairs.
    together = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    mixed = np.array([[1, 0, 1, 0], [0, 1, 0, 1]])
    every = np.array([[int(bit) for bit in f"{number:04b}"] for number in range(16)])

    def values(truth):
        return (2.0 * (truth @ every.T) / (truth.sum(axis=1)[:, None] + every.sum(axis=1))).mean(axis=0)

    np.testing.assert_allclose(values(together), values(mixed))
    P = np.zeros((4, 4))
    P[:, 1] = 0.5
    assert gfm(P, 0.0, return_expected=True).expected == pytest.approx(values(mixed).max())
