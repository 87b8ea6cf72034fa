"""Expected contingency measures: tables of folds at independent thresholds, and the variance between models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm

from metricwise.decisions.binary import ThresholdRule, choose, count_table, fold_tables, make_aim
from metricwise.decisions.decision import Calibration, Decision, ScoredSamples, Sigmoid
from metricwise.decisions.intervals import TablePosterior
from metricwise.decisions.model_spread import SPREADS, draw_other_models, spread_posterior
from metricwise.measures import FBeta, GMean


def make_scored_samples(random, n_samples=120, shift=1.5):
    positive = np.arange(n_samples) % 6 == 0
    return ScoredSamples(positive, random.normal(size=n_samples) + shift * positive - 2.0, np.ones(n_samples))


def test_the_posterior_of_spreads_equals_numerical_integration():
    found, total = np.array([3.0, 9.0, 5.0]), np.array([20.0, 22.0, 19.0])
    logs, variances = logit((found + 0.5) / (total + 1.0)), 1.0 / (found + 0.5) + 1.0 / (total - found + 0.5)

    def likelihood(spread):
        deviations = np.sqrt(variances + spread**2)
        return quad(lambda mean: np.prod(norm.pdf(logs, mean, deviations)), -20.0, 20.0, points=[-1.0])[0]

    wanted = [likelihood(spread) for spread in SPREADS]
    np.testing.assert_allclose(spread_posterior(found, total), np.array(wanted) / np.sum(wanted), rtol=1e-6)


def test_the_posterior_of_spreads_concentrates_with_samples_and_is_flat_without():
    random = np.random.default_rng(0)
    total = np.full(30, 1e6)
    for spread in (0.0, 0.1, 0.3):
        found = total * expit(-1.0 + spread * random.normal(size=30))
        assert SPREADS @ spread_posterior(found, total) == pytest.approx(spread, abs=0.05)
    np.testing.assert_allclose(spread_posterior(np.zeros(5), np.zeros(5)), 1.0 / SPREADS.size)


def test_rates_of_other_models_stay_between_0_and_1():
    shares = np.array([0.0, 1e-300, 0.5, 1.0])
    found = draw_other_models(shares, np.array([0.0, 5.0]), np.array([5.0, 5.0]), np.random.default_rng(0))
    assert np.all((found >= 0.0) & (found <= 1.0)) and found[0] < 1e-9 and found[3] > 1.0 - 1e-9


def draw_table(random, spread, n_pos, n_neg):
    tp = random.binomial(n_pos, expit(1.0 + spread * random.normal()))
    fp = random.binomial(n_neg, expit(-3.0 + spread * random.normal()))
    return float(tp), float(fp), float(n_pos - tp), float(n_neg - fp)


@pytest.mark.parametrize("spread", [0.0, 0.2])
def test_intervals_cover_the_score_of_another_model(spread):
    """Evaluate five models on their folds, and a sixth on new samples."""
    random, inside, alone = np.random.default_rng(1), 0, 0
    for _ in range(200):
        tables = tuple(draw_table(random, spread, 200, 2000) for _ in range(5))
        new = FBeta().value(*draw_table(random, spread, 1000, 10_000))
        low, high = TablePosterior(FBeta(), tables).interval(n_samples=11_000)
        inside += low <= new <= high
        low, high = TablePosterior(FBeta(), (tuple(np.sum(tables, axis=0)),)).interval(n_samples=11_000)
        alone += low <= new <= high
    assert 0.85 <= inside / 200 <= (0.97 if spread else 1.0)
    assert spread == 0.0 or alone / 200 < 0.7  # as if all models were the selected one


def compute_fold_tables(strategy, scored, sizes, line, threshold, seed):
    decision = Decision(threshold, (threshold, threshold), 0.0, (0.0, 1.0), calibration=Calibration((line,)))
    return fold_tables(make_aim(FBeta(), None), ThresholdRule(strategy, seed=seed), decision, scored, sizes)


def test_every_fold_is_evaluated_at_the_threshold_of_the_others():
    scored, aim = make_scored_samples(np.random.default_rng(0)), make_aim(FBeta(), None)
    sizes = [50, 30, 40]
    found = compute_fold_tables("auto", scored, sizes, Sigmoid(2.0, 1.0), 0.0, seed=3)
    start = 0
    for size, table in zip(sizes, found.tables, strict=True):
        own = np.zeros(120, dtype=bool)
        own[start : start + size] = True
        start += size
        others = ScoredSamples(*(column[~own] for column in scored))
        log_odds = others._replace(scores=2.0 * others.scores + 1.0)
        threshold = (choose(aim, ThresholdRule(seed=3), log_odds, True).threshold - 1.0) / 2.0
        assert table == count_table(threshold, ScoredSamples(*(column[own] for column in scored)))
    assert found.value == FBeta().value(*np.sum(found.tables, axis=0))


def test_a_fold_with_all_positives_is_evaluated_at_the_threshold_of_all_samples():
    scored = make_scored_samples(np.random.default_rng(0))
    order = np.argsort(~scored.target, kind="stable")
    scored = ScoredSamples(*(column[order] for column in scored))
    found = compute_fold_tables("auto", scored, [60, 60], Sigmoid(), -1.25, seed=0)
    assert found.tables[0] == count_table(-1.25, ScoredSamples(*(column[:60] for column in scored)))


@pytest.mark.parametrize("measure", [FBeta(), GMean()])
def test_fold_tables_are_unbiased_and_the_chosen_score_is_optimistic(measure):
    random, aim = np.random.default_rng(5), make_aim(measure, None)
    by_folds, by_choice, truth = [], [], []
    new = make_scored_samples(random, 30_000)
    for seed in range(20):
        scored = make_scored_samples(random)
        order = random.permutation(120)
        scored = ScoredSamples(*(column[order] for column in scored))
        chosen = choose(aim, ThresholdRule("max", seed=seed), scored, True)
        by_choice.append(chosen.expected_score)
        by_folds.append(fold_tables(aim, ThresholdRule("max", seed=seed), chosen, scored, [24] * 5).value)
        truth.append(measure.value(*count_table(chosen.threshold, new)))
    assert np.mean(by_choice) > np.mean(truth) + 0.02
    assert abs(np.mean(by_folds) - np.mean(truth)) < 0.02
