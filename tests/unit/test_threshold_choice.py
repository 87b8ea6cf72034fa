"""Threshold strategies: exact over all cuts, consistent with weights, and less variable than the maximum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from metricwise.decisions.batch_rule import BatchRule
from metricwise.decisions.intervals import resampled_interval, score_interval
from metricwise.decisions.ranking_posterior import RankingPosterior, summarize_scores
from metricwise.decisions.threshold_choice import (
    choose_threshold,
    expected_threshold,
    has_similar_mistake_costs,
    mix_log_odds,
    resamples,
)
from metricwise.inference import best_threshold
from metricwise.inference.threshold import Candidates
from metricwise.measures import (
    MCC,
    Accuracy,
    BalancedAccuracy,
    FBeta,
    GMean,
    Jaccard,
    RecallAtPrecision,
    RocAuc,
    TwoWayPartialAuc,
    get_measure,
)

MEASURES = [FBeta(), FBeta(2.0), Jaccard(), Accuracy(), BalancedAccuracy(), GMean(), MCC()]
STRATEGIES = ["auto", "max", "bagged", "expected"]


def make_problem(n=300, seed=0, centre=-2.0):
    random = np.random.default_rng(seed)
    log_odds = random.normal(centre, 2.0, n)
    return random.random(n) < expit(log_odds), log_odds


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_max_equals_the_best_of_all_cuts(measure):
    positive, log_odds = make_problem()
    found = choose_threshold("max", measure, positive, log_odds)
    assert found.threshold == best_threshold(measure, positive, log_odds).threshold


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
@pytest.mark.parametrize("seed", range(3))
def test_expected_equals_the_best_cut_of_the_expected_table(measure, seed):
    _, log_odds = make_problem(40, seed)
    probability = expit(log_odds)

    def value(threshold):
        above = log_odds > threshold
        return measure.value(
            probability[above].sum(),
            (1 - probability)[above].sum(),
            probability[~above].sum(),
            (1 - probability)[~above].sum(),
        )

    best = max(value(threshold) for threshold in [log_odds.min() - 1.0, *log_odds])
    assert value(expected_threshold(measure, log_odds)) == pytest.approx(best)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_sample_of_weight_two_equals_two_samples(strategy):
    positive, log_odds = make_problem()
    weights = np.random.default_rng(1).integers(1, 4, positive.size)
    weighted = choose_threshold(strategy, FBeta(), positive, log_odds, weights.astype(float), seed=3)
    repeated = choose_threshold(strategy, FBeta(), np.repeat(positive, weights), np.repeat(log_odds, weights), seed=3)
    assert weighted.threshold == pytest.approx(repeated.threshold)
    assert weighted.interval == pytest.approx(repeated.interval)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_order_of_samples_does_not_matter(strategy):
    positive, log_odds = make_problem()
    order = np.random.default_rng(2).permutation(positive.size)
    here = choose_threshold(strategy, FBeta(), positive, log_odds)
    there = choose_threshold(strategy, FBeta(), positive[order], log_odds[order])
    assert (here.threshold, *here.interval) == pytest.approx((there.threshold, *there.interval))


def test_bagged_depends_on_the_ranking_only():
    positive, log_odds = make_problem()
    share = (log_odds > choose_threshold("bagged", FBeta(), positive, log_odds).threshold).mean()
    stretched = log_odds**3
    assert (stretched > choose_threshold("bagged", FBeta(), positive, stretched).threshold).mean() == share


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_interval_contains_the_threshold_and_shrinks_with_samples(strategy):
    few, many = (choose_threshold(strategy, FBeta(), *make_problem(n)) for n in (100, 10_000))
    for found in (few, many):
        assert found.interval[0] <= found.threshold <= found.interval[1]
    assert many.interval[1] - many.interval[0] < few.interval[1] - few.interval[0]


def test_auto_varies_less_and_scores_higher_than_max():
    """On problems with few positives and true log-odds, so that the best threshold is known."""
    large_positive, large = make_problem(200_000, seed=99, centre=-4.0)
    best = best_threshold(FBeta(), large_positive, large).threshold
    found = {
        name: [choose_threshold(name, FBeta(), *make_problem(400, s, -4.0)).threshold for s in range(60)]
        for name in ("max", "auto")
    }
    errors = {name: np.abs(np.array(values) - best).mean() for name, values in found.items()}
    assert errors["auto"] < 0.7 * errors["max"]


def test_the_mean_of_the_resamples_is_the_original():
    candidates = Candidates(np.arange(5.0)[::-1], np.array([1.0, 2.5, 0.0]), np.array([0.0, 4.0, 0.5]))
    drawn = np.mean([np.stack(one) for _ in range(40) for one in resamples(candidates, _)], axis=0)
    np.testing.assert_allclose(drawn, [candidates.positives, candidates.negatives], atol=0.15)
    assert drawn[0, 2] == 0.0 and drawn[1, 0] == 0.0


def test_mixed_log_odds_are_weighted_and_lie_between():
    assert mix_log_odds([-3.0, 1.0], [1.0, 0.0]) == pytest.approx(-3.0)
    assert -3.0 < mix_log_odds([-3.0, 1.0], [0.9, 0.1]) < mix_log_odds([-3.0, 1.0], [0.5, 0.5]) < 1.0
    assert mix_log_odds([60.0, 50.0], [0.5, 0.5]) == pytest.approx(55.0)  # both round to a probability of 1


def test_measures_with_equal_costs_of_mistakes_are_recognised():
    assert all(has_similar_mistake_costs(m, 20.0, 980.0) for m in (FBeta(), Jaccard(), MCC(), Accuracy()))
    assert not any(has_similar_mistake_costs(m, 20.0, 980.0) for m in (FBeta(2.0), GMean(), BalancedAccuracy()))
    assert has_similar_mistake_costs(GMean(), 500.0, 500.0)


def test_the_batch_rule_follows_shifted_scores():
    _, log_odds = make_problem(2000)
    rule = BatchRule(FBeta(), threshold=-0.8, share=float((log_odds > -0.8).mean()))
    assert rule.threshold_for(log_odds) == pytest.approx(-0.8, abs=0.1)
    assert rule.threshold_for(log_odds + 1.0) > -0.6  # the scores are shifted upwards
    assert rule.threshold_for(np.array([0.3])) == pytest.approx(
        -0.8, abs=0.05
    )  # a single sample carries little information


def test_equal_scores_give_a_finite_threshold():
    positive = np.array([True, False, False])
    for strategy in STRATEGIES:
        found = choose_threshold(strategy, FBeta(), positive, np.zeros(3))
        assert np.isfinite(found.threshold)


def test_score_intervals_cover_the_true_score():
    """About 90 percent of 300 true values lie in their intervals, and so do values on 200 new samples."""
    random = np.random.default_rng(0)
    value, shares = FBeta().value, np.array([0.08, 0.03, 0.04, 0.85])
    inside = {None: 0, 200: 0}
    for seed in range(300):
        table = tuple(random.multinomial(500, shares).astype(float))
        for n_samples in inside:
            new = shares if n_samples is None else random.multinomial(n_samples, shares)
            low, high = score_interval(value, table, n_samples=n_samples, seed=seed)
            inside[n_samples] += low <= value(*new) <= high
    assert all(0.85 <= count / 300 <= 0.95 for count in inside.values())


def test_intervals_allow_for_a_miss_after_few_positives():
    low, high = score_interval(GMean().value, (20.0, 5.0, 0.0, 995.0), n_samples=1000)
    assert low < 0.95 and high > 0.995

    def recall(tp, fp, fn, tn):
        return tp / np.where(tp + fn > 0.0, tp + fn, np.nan)

    random, inside = np.random.default_rng(0), 0
    for seed in range(200):
        own, new = random.normal(size=(2, 20))
        missed = float(np.sum(new <= own.min()))  # at the highest threshold that finds all
        low, high = score_interval(recall, (20.0, 0.0, 0.0, 980.0), 0.9, 1000, seed)
        inside += low <= 1.0 - missed / 20.0 <= high
    assert inside / 200 >= 0.85


def test_bootstrap_intervals_cover_the_mean_of_new_samples():
    random = np.random.default_rng(0)
    inside = 0
    for seed in range(150):
        samples, new = random.normal(size=(2, 100))
        low, high = resampled_interval(
            lambda w, samples=samples: float(np.average(samples, weights=w)), np.ones(100), seed=seed
        )
        inside += low <= new.mean() <= high
    assert 0.82 <= inside / 150 <= 0.96


# ----------------------------------------------------------------------------------------------------- ranking measures


@pytest.mark.parametrize(("positives", "shift"), [(12, 2.5), (40, 1.0)])
def test_intervals_of_roc_areas_cover_those_of_new_samples(positives, shift):
    """Areas near one with few positives are included; the bootstrap alone would cover far fewer."""
    is_covered = []
    for seed in range(20):
        random = np.random.default_rng(seed)

        def draw(count, samples, random=random):
            truth = np.arange(samples) < count
            return truth, random.normal(size=samples) + shift * truth

        truth, scores = draw(positives, 400)
        posterior = summarize_scores(RocAuc(), truth, scores, np.ones(400))
        low, high = posterior.interval(n_samples=200)
        is_covered.append(low <= roc_auc_score(*draw(positives // 2, 200)) <= high)
    assert np.mean(is_covered) >= 0.75  # fails once in 90 times at a coverage of 0.9


def test_intervals_of_perfect_rankings_are_below_one():
    truth = np.arange(100) < 20
    low, high = RankingPosterior(RocAuc(), truth, truth * 1.0, np.ones(100)).interval(n_samples=100)
    assert 0.7 < low < 0.95 and high == 1.0
    assert RankingPosterior(RocAuc(), truth, -1.0 * truth, np.ones(100)).interval()[0] == 0.0


def test_intervals_allow_for_an_outlier_not_yet_seen():
    """A single positive of fifty that is ranked last lowers the area by 0.02, which the data cannot exclude."""
    random = np.random.default_rng(0)
    truth = np.arange(2000) < 50
    scores = random.normal(size=2000) + 8.0 * truth
    posterior = summarize_scores(RocAuc(), truth, scores, np.ones(2000))
    assert posterior.value > 0.9999
    assert posterior.interval(n_samples=2000)[0] < 0.99
    mirrored = summarize_scores(RocAuc(), ~truth, -scores, np.ones(2000))
    assert mirrored.interval(n_samples=2000) == pytest.approx(posterior.interval(n_samples=2000), abs=0.01)


def test_intervals_for_few_new_samples_are_valid():
    truth = np.arange(300) < 3
    posterior = summarize_scores(RocAuc(), truth, truth * 1.0 + np.arange(300) / 300.0, np.ones(300))
    low, high = posterior.interval(n_samples=2)
    assert 0.0 <= low < high <= 1.0


@pytest.mark.parametrize(
    "measure", [RocAuc(), get_measure("prbep"), RecallAtPrecision(0.9), TwoWayPartialAuc(0.1, 0.8)]
)
def test_a_binned_posterior_has_the_value_and_interval_of_all_samples(measure):
    random = np.random.default_rng(3)
    truth = random.random(20_000) < 0.05
    scores, weights = random.normal(size=20_000) + 2.5 * truth, random.uniform(0.5, 2.0, 20_000)
    binned, exact = summarize_scores(measure, truth, scores, weights), RankingPosterior(measure, truth, scores, weights)
    assert binned.scores.size < 6000
    assert binned.weights.sum() == pytest.approx(weights.sum())
    assert binned.value == pytest.approx(exact.value, abs=2e-3)
    if measure == RocAuc():  # the fastest measure for so many samples
        assert binned.interval() == pytest.approx(exact.interval(), abs=5e-3)
