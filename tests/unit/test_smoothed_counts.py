"""Smoothed counts: against loops, and the refusals that orders made from them avoid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from metricwise import PlugInClassifier, UnreachableGuaranteeError
from metricwise.decisions.amounts import attach_amounts
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.calibrating import fit_class_calibration
from metricwise.decisions.decision import ScoredSamples, Sigmoid
from metricwise.decisions.guarantees import Constraint, find_kept_thresholds, safest_first, tables_at
from metricwise.decisions.profit_task import ProfitTask
from metricwise.decisions.smoothed_counts import smooth_candidates, smooth_classes
from metricwise.decisions.tasks import Multiclass
from metricwise.inference.threshold import Candidates
from metricwise.measures import FBeta
from metricwise.measures.profit import Amounts, Profit, SampleProfit


def make_scores(n, seed, centre=-2.5):
    random = np.random.default_rng(seed)
    scores = random.normal(centre, 1.8, n)
    return random.random(n) < expit(scores), scores


def test_smoothed_tables_equal_a_loop_over_samples():
    positive, scores = make_scores(60, 0, -1.0)
    scores = scores.round(1)  # with ties
    candidates = smooth_candidates(positive, scores)
    chances = expit(Sigmoid.fit(ScoredSamples(positive, scores, np.ones(60))).log_odds(scores))
    thresholds = candidates.thresholds(np.arange(np.unique(scores).size + 1))
    for threshold, *table in zip(thresholds, *candidates.tables(), strict=True):
        expected = np.zeros(4)
        for is_positive, score, chance in zip(positive, scores, chances, strict=True):
            part = 0.25 * is_positive + 0.75 * chance
            above = score > threshold
            expected += [part * above, (1 - part) * above, part * (not above), (1 - part) * (not above)]
        assert table == pytest.approx(expected, abs=1e-9)


def test_infinite_scores_and_a_single_class_keep_their_counts():
    scores = np.array([np.inf, 1.0, 0.0, 0.5, -np.inf])
    candidates = smooth_candidates(np.array([True, True, False, False, False]), scores)
    assert candidates.positives[[0, -1]] == pytest.approx([1.0, 0.0])
    alone = smooth_candidates(np.ones(3, dtype=bool), np.arange(3.0))
    assert np.array_equal(alone.positives, np.ones(3)) and np.array_equal(alone.negatives, np.zeros(3))


def test_parts_of_samples_have_the_calibrated_probabilities():
    random = np.random.default_rng(0)
    scores = 2.0 * random.normal(size=(80, 3))
    samples = ScoredSamples(np.argmax(0.5 * scores + random.gumbel(size=(80, 3)), axis=1), scores, np.ones(80))
    found, lines = smooth_classes(samples), fit_class_calibration(samples).lines
    chances = softmax(np.column_stack([one.log_odds(column) for one, column in zip(lines, scores.T, strict=True)]), 1)
    for sample in range(80):
        own = np.all(found.scores == scores[sample], axis=1)
        weights = np.bincount(found.target[own], found.weights[own], 3)
        assert weights == pytest.approx(0.75 * chances[sample] + 0.25 * np.eye(3)[samples.target[sample]], abs=2e-3)


def count_refusals(order, trials=200):
    """Return how many trials refuse a precision of a rare class, and how many break it."""
    wanted, refused, broken, large = [Constraint.of("precision>=0.5")], 0, 0, make_scores(100_000, 10**6)
    for seed in range(trials):
        ordering, testing = make_scores(400, 2 * seed), make_scores(400, 2 * seed + 1)
        thresholds = order(wanted, ordering)
        p_values = wanted[0].p_value(*tables_at(thresholds, *testing))
        kept = int(np.argmax(np.append(p_values, 1.0) > 0.1))
        refused += kept == 0
        broken += kept > 0 and float(wanted[0].margin(*tables_at(thresholds[[kept - 1]], *large))[0]) < 0.0
    return refused, broken


def order_with(make):
    def order(wanted, ordering):
        candidates = make(*ordering)
        return candidates.thresholds(safest_first(FBeta(), wanted, candidates))

    return order


def test_smoothed_orders_are_refused_less_often_and_stay_valid():
    observed, _ = count_refusals(order_with(Candidates.of))
    smoothed, broken = count_refusals(order_with(smooth_candidates))
    assert smoothed < observed  # on the same samples
    assert broken <= binom.ppf(0.99, 200, 0.1)


def test_thresholds_are_tested_in_the_smoothed_order():
    ordering, testing = make_scores(800, 0), make_scores(800, 1)
    wanted = [Constraint.of("precision>=0.5")]
    known = find_kept_thresholds(FBeta(), wanted, 0.9, ordering, testing)
    assert np.array_equal(known, order_with(smooth_candidates)(wanted, ordering)[: known.size])


def draw_classes(n, seed):
    random = np.random.default_rng(seed)
    scores = log_softmax(np.array([0.0, 0.0, -0.5, -1.5]) + 3.0 * random.normal(size=(n, 4)), axis=1)
    return ScoredSamples(np.argmax(scores + random.gumbel(size=scores.shape), axis=1), scores, np.ones(n))


def test_a_reachable_recall_of_a_rare_class_is_not_refused():
    """Predicting the class for every sample has it for sure, so that only too few samples justify a refusal."""
    task, rule = Multiclass(np.arange(4), FBeta()), ThresholdRule(subject_to="recall>=0.8 of 3")
    large, broken = draw_classes(30_000, 10**6), 0
    for seed in range(12):
        ordering, testing = draw_classes(150, 2 * seed), draw_classes(200, 2 * seed + 1)
        assert np.count_nonzero(testing.target == 3) >= 14
        offsets = np.asarray(task.guarantee(rule, 0.95, ordering, testing, True).threshold)
        predicted = np.argmax(large.scores - offsets, axis=1)
        broken += np.mean(predicted[large.target == 3] == 3) < 0.8
    assert broken <= binom.ppf(0.99, 12, 0.05)


def test_two_thirds_of_the_samples_test_a_trained_model():
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = X[:, 0] + np.random.default_rng(1).normal(size=300) > 0.0
    trained = LogisticRegression().fit(X, y)
    for prefit, n_tested in ((True, 199), (False, 150)):
        model = PlugInClassifier(trained, subject_to="precision>=0.99", confidence=0.95, prefit=prefit)
        with pytest.raises(UnreachableGuaranteeError, match=f"the {n_tested} samples"):
            model.fit(X, y)


def test_given_chances_replace_those_of_a_line():
    positive, scores = make_scores(40, 0, -1.0)
    scores, chances = scores.round(1), np.linspace(0.0, 1.0, 40)
    found = smooth_candidates(positive, scores, chances)
    parts = 0.25 * positive + 0.75 * chances
    expected = [parts[scores == one].sum() for one in np.unique(scores)[::-1]]
    assert found.positives == pytest.approx(expected)


def draw_earnings(n, seed):
    """Return samples of which a fifth are never worth being predicted positive, and their amounts."""
    random = np.random.default_rng(seed)
    scores, amounts = random.normal(-1.0, 1.8, n), np.exp(random.normal(3.5, 1.0, n))
    truth = random.random(n) < expit(scores)
    earned = Amounts(0.3 * amounts - 5.0, np.full(n, -5.0), -0.05 * amounts, np.zeros(n))
    return ScoredSamples(attach_amounts(truth, earned), scores, np.ones(n)), earned


def test_amounts_that_decide_for_some_samples_hide_no_probabilities():
    """Their margins are far from all others: the order by a line fitted to margins is refused here twice."""
    rule, refused = ThresholdRule(subject_to="precision>=0.5"), 0
    for seed in range(12):
        (ordering, amounts), (testing, _) = draw_earnings(300, 2 * seed), draw_earnings(600, 2 * seed + 1)
        truth = ordering.target["positive"]
        measure = SampleProfit.scale(Profit(), amounts, truth, np.ones(300), ("tp", "fp", "fn"))
        try:
            ProfitTask(np.array([0, 1]), measure, 1).guarantee(rule, 0.95, ordering, testing, True)
        except UnreachableGuaranteeError:
            refused += 1
    assert refused == 0
