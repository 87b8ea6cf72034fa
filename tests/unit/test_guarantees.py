"""Guarantees for new samples: exact tests, valid however many thresholds are searched."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, binomtest

from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.guarantees import (
    SHARE_NAMES,
    Constraint,
    Share,
    UnreachableGuaranteeError,
    find_guaranteed_threshold,
    safest_first,
    tables_at,
)
from metricwise.decisions.tasks import Binary
from metricwise.inference.threshold import Candidates
from metricwise.measures import FBeta, contingency_measure

TABLE = (30.0, 4.0, 10.0, 56.0)
SHARES = {
    "accuracy": 86 / 100,
    "false_positive_rate": 4 / 60,
    "npv": 56 / 66,
    "positive_rate": 34 / 100,
    "precision": 30 / 34,
    "recall": 30 / 40,
    "specificity": 56 / 60,
}


def test_proportions_equal_their_definitions():
    assert {name: pytest.approx(float(Share(name).value(*TABLE))) for name in SHARE_NAMES} == SHARES
    assert float(Share("precision").value(0, 0, 5, 5)) == 0.0


@pytest.mark.parametrize("sign", [">=", "<="])
@pytest.mark.parametrize("name", ["precision", "positive_rate"])
def test_p_values_and_bounds_are_exact(sign, name):
    constraint = Constraint.of((name, sign, 0.6))
    kind, among = (int(count) for count in constraint.share.counts(*TABLE))
    tail = binom.sf(kind - 1, among, 0.6) if sign == ">=" else binom.cdf(kind, among, 0.6)
    assert float(constraint.p_value(*TABLE)) == pytest.approx(tail)
    side = "greater" if sign == ">=" else "less"
    bounds = binomtest(kind, among, 0.6, alternative=side).proportion_ci(0.95)
    assert float(constraint.guaranteed_bound(0.95, *TABLE)) == pytest.approx(
        bounds.low if sign == ">=" else bounds.high
    )


def test_an_empty_denominator_guarantees_nothing():
    for given in (("precision", ">=", 0.9), ("precision", "<=", 0.9)):
        assert float(Constraint.of(given).p_value(0.0, 0.0, 5.0, 5.0)) == 1.0
    assert Constraint.of(("precision", ">=", 0.9)).guaranteed_bound(0.95, 0.0, 0.0, 5.0, 5.0) == 0.0
    assert Constraint.of(("recall", "<=", 0.9)).guaranteed_bound(0.95, 5.0, 0.0, 0.0, 5.0) == 1.0


def test_tables_at_thresholds_equal_direct_counts():
    random = np.random.default_rng(0)
    positive, scores = random.random(50) < 0.5, random.integers(0, 9, 50).astype(float)
    thresholds = np.array([-1.0, 3.0, 3.5, 8.0])
    tp, fp, fn, tn = tables_at(thresholds, positive, scores)
    for k, threshold in enumerate(thresholds):
        above = scores > threshold
        counts = (
            (above & positive).sum(),
            (above & ~positive).sum(),
            (~above & positive).sum(),
            (~above & ~positive).sum(),
        )
        assert (tp[k], fp[k], fn[k], tn[k]) == counts


def make_scores(n, seed, slope=1.5):
    random = np.random.default_rng(seed)
    scores = random.normal(-1.0, 2.0, n)
    return random.random(n) < expit(slope * scores), scores


def test_candidates_fall_in_margin_and_rise_in_measure():
    positive, scores = make_scores(400, 0)
    candidates = Candidates.of(positive, scores)
    wanted = [Constraint.of(("precision", ">=", 0.8)), Constraint.of(("recall", ">=", 0.2))]
    order = safest_first(FBeta(), wanted, candidates)
    tables = [count[order] for count in candidates.tables()]
    margins = np.min([c.margin(*tables) for c in wanted], axis=0)
    assert np.all(np.diff(margins) <= 0.0)
    assert np.all(np.diff(FBeta().value(*tables)) > 0.0)


LARGE = make_scores(50_000, 10_000)
GUARANTEES = {
    "recall at a precision": ("recall", [("precision", ">=", 0.8)]),
    "precision at a recall": ("precision", [("recall", ">=", 0.8)]),
    "two constraints": ("recall", [("precision", ">=", 0.7), ("false_positive_rate", "<=", 0.2)]),
}


@pytest.mark.parametrize("name", GUARANTEES)
def test_guarantees_hold_with_their_confidence(name):
    """Of 200 guarantees with confidence 0.9, at most 10 percent fail, up to chance, and they are not vacuous."""
    objective, given = GUARANTEES[name]
    wanted = [Constraint.of(one) for one in given]
    broken, values = 0, []
    for seed in range(200):
        try:
            found = find_guaranteed_threshold(
                Share(objective), wanted, 0.9, make_scores(300, 2 * seed), make_scores(300, 2 * seed + 1)
            )
        except UnreachableGuaranteeError:
            values.append(0.0)
            continue
        table = tables_at(np.array([found.threshold]), *LARGE)
        broken += any(float(c.margin(*table)[0]) < 0.0 for c in wanted)
        values.append(float(Share(objective).value(*table)[0]))
    assert broken <= binom.ppf(0.99, 200, 0.1)
    candidates = Candidates.of(*LARGE)
    tables = candidates.tables()
    is_feasible = np.min([c.margin(*tables) for c in wanted], axis=0) >= 0.0
    assert np.mean(values) > 0.6 * np.max(Share(objective).value(*tables)[is_feasible])


def test_an_unreachable_guarantee_names_the_nearest_one():
    wanted = [Constraint.of(("precision", ">=", 0.99))]
    message = (
        r"no threshold can guarantee precision >= 0.99 with confidence 0.95 on the 200 samples \(\d+ positive\).*"
        r"nearest is threshold .* which can guarantee precision >= 0\.\d+"
    )
    with pytest.raises(UnreachableGuaranteeError, match=message):
        find_guaranteed_threshold(Share("recall"), wanted, 0.95, make_scores(200, 0, 0.3), make_scores(200, 1, 0.3))


@pytest.mark.parametrize(("has_probabilities", "nearest"), [(True, r"0\.731\d*"), (False, "1")])
def test_thresholds_without_a_guarantee_are_shown_in_the_units_of_users(has_probabilities, nearest):
    samples = ScoredSamples(np.array([True, False, True, False]), np.array([2.0, 2.0, 0.0, 0.0]), np.ones(4))
    task, rule = Binary(np.array([0, 1]), FBeta(), 1), ThresholdRule(subject_to=["precision>=0.9", "recall<=0.6"])
    with pytest.raises(UnreachableGuaranteeError, match=f"the nearest, {nearest}, has precision 0.5, recall 0.5"):
        task.decide(samples, rule, has_probabilities)


def test_scores_that_cannot_keep_the_constraints_are_worth_least():
    cost = contingency_measure(lambda tp, fp, fn, tn: (50 * fn + fp) / (tp + fn), name="c", greater_is_better=False)
    truth = np.arange(40) % 4 == 0
    scores = {"useful": truth + 0.0, "useless": np.tile([0.0, 1.0], 20)}
    scores["useful"][:4] = [0.0, 1.0, 1.0, 1.0]
    task, rule = Binary(np.array([0, 1]), cost, 1), ThresholdRule(subject_to="precision>=0.7")
    samples = {name: ScoredSamples(truth, own, np.ones(40)) for name, own in scores.items()}
    useful, useless = (task.best_value(own, rule)(own.weights) for own in samples.values())
    assert useful > useless


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("precision > 0.9", "'precision > 0.9' is no constraint: write 'precision>=0.9' or"),
        (("precision", 0.9), "is no constraint: write"),
        ("precision >= 90", "must lie between 0 and 1, got 90.0; write 90 percent as 0.9"),
        (("f1", ">=", 0.9), "a constraint is on one of accuracy, .*precision.*got 'f1'"),
        (("precision", ">", 0.9), "the sign of a constraint is '>=' or '<=', got '>'"),
        (("precision", ">=", 90), "must lie between 0 and 1, got 90; write 90 percent as 0.9"),
        (("precision", ">=", "0.9"), "must lie between 0 and 1"),
    ],
)
def test_invalid_constraints_raise(given, message):
    with pytest.raises(ValueError, match=message):
        Constraint.of(given)
