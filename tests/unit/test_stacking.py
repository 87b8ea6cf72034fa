"""Weights of ensembles against brute force and an independent solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.log_loss import logistic_loss, softmax_loss
from metricwise.decisions.multilabel_task import Multilabel
from metricwise.decisions.tasks import Binary, Multiclass
from metricwise.estimators.selection.stacking import combine_scores, stack, stack_scores
from metricwise.measures import FBeta


def draw(random, n_samples=400, n_noise=2):
    """Return a target, an informative column of log-odds, and columns of noise."""
    target = random.random(n_samples) < 0.3
    good = np.where(target, 1.0, -1.0) + random.normal(size=n_samples) - 0.8
    return target, [good, *random.normal(size=(n_noise, n_samples))]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_losses_and_gradients_are_those_of_scikit_learn_and_of_differences(seed, n_classes):
    random = np.random.default_rng(seed)
    weights, scores = random.exponential(size=30), random.normal(size=(30, n_classes))
    codes = np.arange(30) % n_classes
    found = softmax_loss(codes, scores, weights)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert found.value == pytest.approx(log_loss(codes, chances, sample_weight=weights))
    numeric = approx_fprime(scores.ravel(), lambda s: softmax_loss(codes, s.reshape(scores.shape), weights).value)
    np.testing.assert_allclose(found.gradient.ravel(), numeric, atol=1e-6)
    labels = random.random((30, n_classes)) < 0.4
    found = logistic_loss(labels, scores, weights)
    columns = [logistic_loss(labels[:, k], scores[:, k], weights) for k in range(n_classes)]
    assert found.value == pytest.approx(sum(one.value for one in columns))
    np.testing.assert_allclose(found.gradient, np.column_stack([one.gradient for one in columns]))
    numeric = approx_fprime(scores[:, 0], lambda s: logistic_loss(labels[:, 0], s, weights).value)
    np.testing.assert_allclose(columns[0].gradient, numeric, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_weights_are_those_of_ridge_logistic_regression_where_all_are_positive(seed):
    random = np.random.default_rng(seed)
    target, (good, noise) = draw(random, n_noise=1)
    other = good + 0.3 * noise
    penalty, n_samples = 1e-3, target.size
    found = stack(lambda scores: logistic_loss(target, scores, np.ones(n_samples)), [good, other], penalty)
    # scikit-learn minimises C * (sum of losses) + |w|^2 / 2.
    peer = LogisticRegression(C=1.0 / (2.0 * penalty * n_samples), fit_intercept=False, tol=1e-10)
    expected = peer.fit(np.column_stack([good, other]), target).coef_[0]
    assert expected.min() > 0.0
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_no_weights_on_a_grid_have_a_smaller_objective():
    target, parts = draw(np.random.default_rng(0), 200)

    def objective(weights):
        loss = logistic_loss(target, combine_scores(weights, parts, 0.0), np.ones(200)).value
        return loss + 0.01 * float(weights @ weights)

    found = stack(lambda scores: logistic_loss(target, scores, np.ones(200)), parts, 0.01)
    grid = np.stack(np.meshgrid(*3 * [np.linspace(0.0, 2.0, 21)]), axis=-1).reshape(-1, 3)
    assert objective(found) <= min(map(objective, grid)) + 1e-9
    assert found.min() >= 0.0


@pytest.mark.parametrize("kind", ["binary", "multiclass", "multilabel"])
def test_useless_candidates_have_no_weight_and_twins_share_it(kind):
    random = np.random.default_rng(1)
    target, parts = draw(random, 2000, n_noise=1)
    task, prior = Binary(np.array([0, 1]), FBeta(), 1), np.log(0.3 / 0.7)
    if kind == "multiclass":
        task, prior = Multiclass(np.arange(3), FBeta()), np.log(np.array([0.5, 0.3, 0.2]))
        target = random.choice(3, size=2000, p=np.exp(prior))
        parts = [random.normal(size=(2000, 3)) + scale * (target[:, None] == np.arange(3)) for scale in (2.0, 0.0)]
    if kind == "multilabel":
        task, prior = Multilabel(np.arange(2), FBeta(), False), np.array([prior, prior])
        target, parts = np.column_stack([target, ~target]), [np.column_stack([part, -part]) for part in parts]
    good, noise = parts
    constant = np.broadcast_to(prior, good.shape).copy()
    weights = stack_scores(task, target, np.ones(2000), [good, noise, constant, good], prior)
    assert weights[2] == 0.0 and weights[1] < 0.1 * weights[0]
    assert weights[0] == pytest.approx(weights[3], rel=1e-3)
    alone = task.log_loss(ScoredSamples(target, good, np.ones(2000))).value
    both = task.log_loss(
        ScoredSamples(target, combine_scores(weights, [good, noise, constant, good], prior), np.ones(2000))
    )
    assert both.value <= alone


def test_a_sample_of_weight_two_is_two_samples():
    target, parts = draw(np.random.default_rng(2), 300)
    task, prior = Binary(np.array([0, 1]), FBeta(), 1), -0.8
    counts = 1 + np.arange(300) % 2
    weighted = stack_scores(task, target, counts.astype(float), parts, prior)
    repeated = stack_scores(
        task, np.repeat(target, counts), np.ones(counts.sum()), [np.repeat(p, counts) for p in parts], prior
    )
    np.testing.assert_allclose(weighted, repeated, atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["binary", "multiclass", "multilabel"]),
    st.integers(0, 10_000),
    st.integers(20, 200),
    st.lists(st.floats(0.0, 3.0), min_size=2, max_size=5),
)
def test_an_ensemble_has_at_most_the_loss_of_its_best_member_and_the_penalty(kind, seed, n_samples, strengths):
    random = np.random.default_rng(seed)
    codes = np.arange(n_samples) % 3
    columns = codes[:, None] == np.arange(3)
    task, target, prior = {
        "binary": (Binary(np.array([0, 1]), FBeta(), 1), columns[:, 0], logit(1.0 / 3.0)),
        "multiclass": (Multiclass(np.arange(3), FBeta()), codes, np.full(3, -np.log(3.0))),
        "multilabel": (Multilabel(np.arange(3), FBeta(), False), columns, np.full(3, logit(1.0 / 3.0))),
    }[kind]
    truth = columns[:, 0] if kind == "binary" else columns
    parts = [prior + strength * (truth - 0.3) + random.normal(size=truth.shape) for strength in strengths]
    weights = stack_scores(task, target, np.ones(n_samples), parts, prior)

    def loss(scores):
        return task.log_loss(ScoredSamples(target, scores, np.ones(n_samples))).value

    members = [loss(part) for part, weight in zip(parts, weights, strict=True) if weight]
    penalty = 1.0 / (n_samples * loss(np.broadcast_to(prior, truth.shape)))
    assert loss(combine_scores(weights, parts, prior)) <= min(members) + penalty + 1e-6
