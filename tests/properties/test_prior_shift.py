"""The estimate of the class priors: the maximum of a concave likelihood, and a fixed point of its steps."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from metricwise.decisions.prior_shift import class_likelihoods, maximise_likelihood, prior_covariance

SETTINGS = settings(max_examples=25, deadline=None)


@st.composite
def likelihoods(draw, most_classes=3):
    size = (draw(st.integers(1, 12)), draw(st.integers(2, most_classes)))
    random = np.random.default_rng(draw(st.integers(0, 2**16)))
    return np.exp(random.normal(scale=draw(st.sampled_from([0.3, 1.0, 3.0])), size=size)), random.exponential(
        size=size[0]
    )


def log_likelihood(values, weights, prior):
    return float(weights @ np.log(values @ prior))


@SETTINGS
@given(likelihoods())
def test_no_shares_of_a_grid_are_more_likely(problem):
    values, weights = problem
    found = maximise_likelihood(values, weights)
    steps = np.linspace(0.0, 1.0, 21)
    grid = [np.array(one) for one in product(steps, repeat=values.shape[1]) if abs(sum(one) - 1.0) < 1e-9]
    best = max(log_likelihood(values, weights, one) for one in grid)
    assert log_likelihood(values, weights, found) >= best - 1e-6 * weights.sum()
    assert found.min() >= 0.0 and abs(found.sum() - 1.0) < 1e-12


@SETTINGS
@given(likelihoods())
def test_shares_are_the_mean_of_the_probabilities_that_they_imply(problem):
    values, weights = problem
    found = maximise_likelihood(values, weights)
    chances = values * found / (values @ found)[:, None]
    np.testing.assert_allclose(np.average(chances, axis=0, weights=weights), found, atol=1e-6)


@SETTINGS
@given(likelihoods(most_classes=2))
def test_a_grid_finds_the_same_share_of_two_classes(problem):
    values, weights = problem
    fine = np.linspace(0.0, 1.0, 20_001)
    curve = weights @ np.log(np.outer(values[:, 0], 1.0 - fine) + np.outer(values[:, 1], fine))
    found = log_likelihood(values, weights, maximise_likelihood(values, weights))
    assert abs(found - curve.max()) < 1e-6 * weights.sum()


@SETTINGS
@given(likelihoods(), st.floats(0.1, 10.0))
def test_scale_start_and_order_do_not_matter(problem, scale):
    values, weights = problem
    found = log_likelihood(values, weights, maximise_likelihood(values, weights))
    n_classes = values.shape[1]
    start = np.arange(1.0, n_classes + 1.0) / (n_classes * (n_classes + 1) / 2)
    for other in (
        maximise_likelihood(values * scale, weights),
        maximise_likelihood(values, weights * scale, start),
        maximise_likelihood(values[:, ::-1], weights)[::-1],
    ):
        assert abs(log_likelihood(values, weights, other) - found) < 1e-6 * weights.sum()


def test_probabilities_whose_mean_is_the_prior_leave_it():
    random = np.random.default_rng(0)
    chances = random.dirichlet([1.0, 2.0, 3.0], 500)
    prior = chances.mean(axis=0)
    np.testing.assert_allclose(maximise_likelihood(class_likelihoods(np.log(chances), prior)), prior, atol=1e-8)


def test_covariance_is_the_inverse_of_the_curvature():
    random = np.random.default_rng(0)
    values = np.exp(random.normal(size=(200, 3)))
    prior, step = maximise_likelihood(values), 1e-4

    def value(a, b):
        return log_likelihood(values, np.ones(200), np.array([a, b, 1.0 - a - b]))

    directions = step * np.eye(2)
    curvature = np.array(
        [
            [
                value(*(prior[:2] + d + e))
                - value(*(prior[:2] + d - e))
                - value(*(prior[:2] - d + e))
                + value(*(prior[:2] - d - e))
                for e in directions
            ]
            for d in directions
        ]
    ) / (4.0 * step**2)
    np.testing.assert_allclose(prior_covariance(values, prior), np.linalg.inv(-curvature), rtol=1e-3)


def test_a_flat_likelihood_has_a_huge_variance():
    assert prior_covariance(np.ones((100, 2)), np.array([0.5, 0.5]))[0, 0] > 1e6
