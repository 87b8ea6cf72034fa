"""Certificates of rankers in exact arithmetic: no rounding error lets a bound pass the objective."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from metricwise import RankingSVC, certify

HUGE = 2.0**40


@st.composite
def query_data(draw):
    """Return samples of a few short queries, the first of which can be ranked; features may differ much in size."""
    sizes = [draw(st.integers(2, 4)) for _ in range(draw(st.integers(1, 3)))]
    n_samples = sum(sizes)
    X = np.array(draw(st.lists(st.integers(-50, 50), min_size=2 * n_samples, max_size=2 * n_samples)), dtype=float)
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=n_samples, max_size=n_samples)))
    y[:2] = 0, 1
    scale = np.array([1.0 / 3.0, draw(st.sampled_from([1.0, 1e-3, HUGE]))])
    return X.reshape(-1, 2) * scale, y, np.repeat(np.arange(len(sizes)), sizes)


def compute_exact_objective(w, X, y, groups, C, measure):
    """Return 1/2 |w|^2 + C u R(w) of two grades as a fraction, by all rankings."""
    weights = [Fraction(float(value)) for value in w]
    scores = [sum(a * Fraction(float(b)) for a, b in zip(weights, row, strict=True)) for row in X]
    slacks, u = [], 0
    for query in np.unique(groups):
        own = np.flatnonzero(groups == query).tolist()
        pos, neg = [i for i in own if y[i] == 1], [i for i in own if y[i] == 0]
        if pos and neg:
            u += len(own)
            slacks.append(max(compute_violation(order, pos, neg, scores, measure) for order in permutations(own)))
    return sum(value * value for value in weights) / 2 + Fraction(C) * u * sum(slacks) / len(slacks)


def compute_violation(order, pos, neg, scores, measure):
    ranks = sorted(order.index(i) + 1 for i in pos)
    gained = Fraction(1, ranks[0])
    if measure == "average_precision":
        gained = sum(Fraction(number + 1, rank) for number, rank in enumerate(ranks)) / len(pos)
    swapped = sum(scores[i] - scores[j] for i in pos for j in neg if order.index(j) < order.index(i))
    return 1 - gained - Fraction(swapped) / (len(pos) * len(neg))


@given(data=query_data(), measure=st.sampled_from(["average_precision", "reciprocal_rank"]))
@settings(max_examples=25, deadline=None)
def test_bounds_hold_in_exact_arithmetic(data, measure):
    X, y, groups = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankingSVC(measure, C=0.5, max_iter=60).fit(X, y, groups=groups)
    exact = compute_exact_objective(model.result_.weights, X, y, groups, 0.5, measure)
    least = compute_exact_objective(np.zeros(2), X, y, groups, 0.5, measure)
    for found in (model.result_.certificate, certify(model, X, y, groups=groups)):
        assert Fraction(found.upper) >= exact
        assert Fraction(found.lower) <= min(exact, least)
        assert found.upper <= float(exact) * (1.0 + 1e-6) + 1e-6 * float(np.abs(X).max())
