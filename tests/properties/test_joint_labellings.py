"""The oracle of several classes against brute force over all labellings, and what it depends on."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metricwise.measures import Accuracy, BalancedAccuracy, CostMatrix, MinRate, get_measure
from metricwise.measures.confusion import of_matrices
from metricwise.measures.joint import find_joint_losses
from metricwise.oracles.joint import JointOracle

COSTS = CostMatrix([[0, 1, 5], [1, 0, 2], [20, 10, 0]])
MEASURES = [Accuracy(), BalancedAccuracy(), MinRate(), COSTS, get_measure("f1_micro")]


@st.composite
def problems(draw):
    """Draw classes that all occur, weights and scores of up to six samples; small whole scores are often tied."""
    codes = draw(st.permutations([0, 1, 2, *draw(st.lists(st.integers(0, 2), max_size=3))]))
    weights = draw(st.lists(st.sampled_from([1.0, 2.0, 0.5, 1.3]), min_size=len(codes), max_size=len(codes)))
    number = st.integers(-2, 2).map(float) | st.floats(-3.0, 3.0)
    scores = draw(st.lists(number, min_size=3 * len(codes), max_size=3 * len(codes)))
    return np.array(codes), np.array(weights), np.array(scores)


def loss_of(measure, codes, weights, labels):
    """Return the loss by the definition of the measure."""
    if measure is COSTS:
        costs = np.array(measure.costs)
        return float(weights @ costs[codes, labels]) / (costs.max() * weights.sum())
    matrix = np.zeros((3, 3))
    np.add.at(matrix, (codes, labels), weights)
    return 1.0 - float(of_matrices(measure, matrix))


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
@settings(max_examples=25, deadline=None)
@given(problem=problems())
def test_oracle_equals_brute_force(measure, problem):
    codes, weights, scores = problem
    by_class = scores.reshape(-1, 3)
    losses = find_joint_losses(measure).mistake_losses(np.bincount(codes, weights), [0, 1, 2])
    oracle = JointOracle(losses, codes, weights)
    samples = np.arange(codes.size)
    best = -np.inf
    for labels in map(np.array, product(range(3), repeat=codes.size)):
        change = by_class[samples, labels] - by_class[samples, codes]
        best = max(best, loss_of(measure, codes, weights, labels) + float(weights @ change) / oracle.mistakes)
    found = oracle.exact().violate(scores)
    assert found.value == pytest.approx(best, abs=1e-12)
    rounded = oracle.violate(scores)
    assert rounded.value == pytest.approx(best, abs=1e-8)
    for labelling in (found, rounded):  # cuts are exact where they are made
        assert labelling.value == pytest.approx(labelling.loss + labelling.slope(scores), abs=1e-12)
        assert labelling.coefficients().reshape(-1, 3).sum(axis=1) == pytest.approx(0.0, abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(problem=problems(), moved=st.lists(st.floats(-3.0, 3.0), min_size=18, max_size=18))
def test_cuts_are_below_the_slack_elsewhere(problem, moved):
    codes, weights, scores = problem
    oracle = JointOracle(MinRate().mistake_losses(np.bincount(codes, weights), [0, 1, 2]), codes, weights)
    other = np.array(moved)[: scores.size]
    cut = oracle.violate(scores)
    assert cut.loss + cut.slope(other) <= oracle.exact().violate(other).value + 1e-12


def test_mistakes_are_those_of_two_classes_if_the_positives_are_rarer():
    for measure in (Accuracy(), BalancedAccuracy(), MinRate()):
        losses = measure.mistake_losses(np.array([7.0, 3.0]), [0, 1])
        assert 1.0 / losses.max() == pytest.approx(measure.mistakes_per_loss(3.0, 7.0))


@pytest.mark.parametrize("name", ["g_mean", "h_mean", "q_mean", "mcc", "cohen_kappa", "f1_macro", "f1_weighted", "f1"])
def test_other_measures_have_no_joint_losses(name):
    assert find_joint_losses(get_measure(name)) is None


def test_costs_below_those_of_the_truth_are_refused():
    costs = CostMatrix([[0, 1, 5], [1, 3, 2], [20, 10, 0]], classes=["a", "b", "c"])
    with pytest.raises(ValueError, match="'b' costs 3 where it is predicted right, and 1 where 'a' is predicted"):
        costs.mistake_losses(np.ones(3), ["a", "b", "c"])
