"""Profit with amounts per sample: decisions against brute force, intervals, errors, storage."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import metricwise
from metricwise import (
    CostSensitiveClassifier,
    MetricClassifier,
    MultivariateSVC,
    PlugInClassifier,
    Profit,
    contingency_measure,
)
from metricwise.decisions.amounts import attach_amounts, detach_amounts, find_amounts
from metricwise.decisions.binary import ThresholdRule, make_aim
from metricwise.decisions.decision import ScoredSamples, Sigmoid
from metricwise.decisions.outcome_posterior import OutcomePosterior, compute_savings, summarize_outcomes
from metricwise.decisions.profit import CERTAIN, Money, Stakes, choose_shift, compute_margins, value_candidates
from metricwise.measures import FBeta
from metricwise.measures.profit import Amounts, SampleProfit

LOAN = Profit(tp="0.1*amount - 5", fp=-5, fn="-amount", tn=0)


def draw_samples(n, seed=0):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal(size=(n, 3)), columns=["a", "b", "c"])
    X["amount"] = np.exp(random.normal(3.0, 1.0, n))
    return X, (random.random(n) < expit(1.5 * X.a + X.b - 1.5)).astype(int)


X, Y = draw_samples(600)
AMOUNT = X["amount"].to_numpy()
ARRAYS = {"tp": 0.1 * AMOUNT - 5, "fp": np.full(600, -5.0), "fn": -AMOUNT, "tn": np.zeros(600)}


class Given(ClassifierMixin, BaseEstimator):
    """Has the probabilities in its only column."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = np.asarray(X)[:, 0]
        return np.column_stack([1 - p, p])


def draw_amounts(random, n):
    return Amounts(*(np.round(random.normal(size=n) * 5, 1) for _ in range(4)))


# ---------------------------------------------------------------------------------------- the measure


def test_numbers_make_a_linear_measure_of_the_table():
    profit, table = Profit(tp=20, fp=-5, fn=-30, tn=1), (3.0, 2.0, 1.0, 4.0)
    cost = contingency_measure(lambda tp, fp, fn, tn: -20 * tp + 5 * fp + 30 * fn - tn, "cost", greater_is_better=False)
    assert profit.value(*table) == pytest.approx(cost.value(*table))
    assert profit.total_of_value(profit.value(*table), 10.0) == pytest.approx(20 * 3 - 5 * 2 - 30 + 4)
    assert profit.mistake_costs == pytest.approx(cost.mistake_costs)
    assert profit.ratio(2.5) == pytest.approx(cost.ratio(2.5))
    assert profit.mistakes_per_loss(4.0, 6.0) == pytest.approx(cost.mistakes_per_loss(4.0, 6.0))
    y, labels, weights = [1, 1, 0, 0, 1], [1, 0, 1, 0, 1], [1, 2, 3, 4, 5]
    assert profit.score(y, labels, weights) == 20 - 60 - 15 + 4 + 100


def test_the_machine_for_a_profit_is_that_of_the_equal_cost():
    cost = contingency_measure(lambda tp, fp, fn, tn: 5 * fn + fp, "cost", greater_is_better=False)
    machines = [MultivariateSVC(measure, C=1.0).fit(X.to_numpy(), Y) for measure in (Profit(fn=-5, fp=-1), cost)]
    np.testing.assert_allclose(machines[0].coef_, machines[1].coef_, rtol=1e-6)
    assert machines[0].score(X.to_numpy(), Y) == -machines[1].score(X.to_numpy(), Y)


@pytest.mark.parametrize(
    "amounts, message",
    [
        ({"tp": np.ones(3)}, r"fit\(X, y, tp=array\)"),
        ({"fp": np.nan}, "fp of the profit must be a finite number"),
        ({"fn": True}, "finite number or an expression, got True"),
        ({"tn": "amount +"}, "tn of the profit: 'amount \\+' is no arithmetic expression"),
        ({"tn": "1/0"}, "finite number"),
    ],
)
def test_wrong_amounts_are_named(amounts, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Profit(**amounts)


def test_a_constant_expression_is_a_number():
    assert Profit(tp="2*3", fp=np.int64(-1)) == Profit(tp=6.0, fp=-1.0)
    assert Profit(tp="2*3").has_numbers_only and not LOAN.has_numbers_only


def test_amounts_per_sample_are_refused_where_they_cannot_be_used():
    with pytest.raises(TypeError, match=r"amount per sample.*PlugInClassifier"):
        MultivariateSVC(LOAN).fit(X, Y)
    with pytest.raises(ValueError, match=r"a profit is for two classes.*CostMatrix"):
        PlugInClassifier(LogisticRegression(), Profit(tp=1, fp=-1)).fit(X, np.arange(600) % 3)


# ---------------------------------------------------------------------------------------- decisions by amounts


def test_decisions_equal_the_larger_expected_profit_for_known_probabilities():
    random = np.random.default_rng(1)
    amounts = draw_amounts(random, 5000)
    p = random.random(5000)
    expected = p * amounts.tp + (1 - p) * amounts.fp > p * amounts.fn + (1 - p) * amounts.tn
    margins = compute_margins(np.log(p / (1 - p)), amounts)
    ties = np.abs(p * amounts.gain_if_positive - (1 - p) * amounts.gain_if_negative) < 1e-9
    np.testing.assert_array_equal((margins > 0.0)[~ties], expected[~ties])
    is_certain = amounts.gain_if_positive * amounts.gain_if_negative <= 0.0
    np.testing.assert_array_equal(np.abs(margins) == CERTAIN, is_certain)


def test_the_classifier_decides_so_for_calibrated_probabilities():
    random = np.random.default_rng(2)
    p = random.uniform(0.02, 0.98, 4000)
    y = (random.random(p.size) < p).astype(int)
    amounts = np.exp(random.normal(size=p.size))
    model = PlugInClassifier(Given(), Profit(fp=-1), threshold="expected", prefit=False)
    predicted = model.fit(p[:, None], y, tp=amounts).predict(p[:, None], tp=amounts)
    assert np.mean(predicted == (p * amounts > 1 - p)) > 0.97
    assert model.threshold_ == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_the_best_shift_equals_a_search_over_all_thresholds(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 12))
    truth, amounts = random.random(n) < 0.5, draw_amounts(random, n)
    weights = random.integers(1, 4, n).astype(float)
    samples = ScoredSamples(attach_amounts(truth, amounts), np.round(random.normal(size=n), 1), weights)
    stakes = Stakes.of(samples, Sigmoid())
    choice = choose_shift("max", stakes, seed=0)

    def profit_at(shift):
        return weights @ amounts.earned(truth, stakes.margins > shift)

    inner = stakes.margins[np.abs(stakes.margins) < CERTAIN]
    every = [-CERTAIN / 2, *(np.nextafter(m, s) for m, s in itertools.product(inner, (-np.inf, np.inf)))]
    assert profit_at(choice.threshold) == pytest.approx(max(profit_at(shift) for shift in every))
    known = value_candidates(stakes).value(*stakes.candidates.tables())
    scale = np.max(np.abs(stakes.gains), initial=0.0) or 1.0
    by_candidate = [profit_at(shift) for shift in stakes.candidates.thresholds(np.arange(known.size))]
    np.testing.assert_allclose(scale * (known - known[0]), np.subtract(by_candidate, by_candidate[0]), atol=1e-9)


def test_weights_are_copies():
    copies = np.random.default_rng(3).integers(1, 4, 600)
    repeated, labels = X.loc[X.index.repeat(copies)].reset_index(drop=True), np.repeat(Y, copies)
    truth = labels == 1
    target = attach_amounts(Y == 1, find_amounts(LOAN, X, {}, 600))
    scores = X["a"].to_numpy()
    measure = SampleProfit.scale(LOAN, detach_amounts(target)[1], Y == 1, copies.astype(float), ())
    money = Money(measure, make_aim(FBeta(), None), ThresholdRule("auto"))
    many = attach_amounts(truth, find_amounts(LOAN, repeated, {}, labels.size))
    weighted = money.decide(ScoredSamples(target, scores, copies.astype(float)))
    copied = money.decide(ScoredSamples(many, np.repeat(scores, copies), np.ones(labels.size)))
    assert weighted.threshold == pytest.approx(copied.threshold, abs=1e-4)
    assert weighted.expected_score == pytest.approx(copied.expected_score)
    assert weighted.posterior.savings == pytest.approx(copied.posterior.savings)
    assert weighted.expected_interval == pytest.approx(copied.expected_interval, rel=0.1)


@pytest.mark.parametrize("strategy", ["auto", "bagged", "max", "expected"])
def test_columns_and_arrays_decide_alike(strategy):
    by_column = PlugInClassifier(LogisticRegression(), LOAN, threshold=strategy).fit(X, Y)
    by_array = PlugInClassifier(LogisticRegression(), Profit(), threshold=strategy).fit(X, Y, **ARRAYS)
    np.testing.assert_array_equal(by_column.predict(X), by_array.predict(X, **ARRAYS))
    assert by_column.score(X, Y) == pytest.approx(by_array.score(X, Y, **ARRAYS))
    assert by_column.savings(X, Y) == pytest.approx(by_array.savings(X, Y, **ARRAYS))
    assert by_column.expected_score_ == pytest.approx(by_array.expected_score_)


def test_score_and_savings_are_their_definitions():
    model = PlugInClassifier(LogisticRegression(), LOAN).fit(X, Y)
    labels = model.predict(X)
    earned = [
        ARRAYS[("tn", "fp", "fn", "tp")[2 * y + label]][i] for i, (y, label) in enumerate(zip(Y, labels, strict=True))
    ]
    assert model.score(X, Y) == pytest.approx(sum(earned))
    all_positive = sum(ARRAYS["tp" if y else "fp"][i] for i, y in enumerate(Y))
    all_negative = sum(ARRAYS["fn" if y else "tn"][i] for i, y in enumerate(Y))
    assert model.savings(X, Y) == pytest.approx(1 - -sum(earned) / -max(all_positive, all_negative))
    low, high = model.savings_interval(X, Y)
    assert low < model.savings(X, Y) < high < 1.0
    low, high = model.expected_savings_interval_
    assert low < model.expected_savings_ < high
    assert model.score(X, Y, np.full(600, 2.0)) == pytest.approx(2 * sum(earned))


def test_the_threshold_per_sample_beats_one_threshold_for_all():
    test, y = draw_samples(4000, seed=5)
    per_sample = PlugInClassifier(LogisticRegression(), LOAN).fit(X, Y)
    mean = Profit(*(float(np.mean(ARRAYS[name])) for name in ("tp", "fp", "fn", "tn")))
    scalar = PlugInClassifier(LogisticRegression(), mean).fit(X, Y).predict(test)
    amounts = find_amounts(LOAN, test, {}, len(y))
    assert per_sample.score(test, y) > amounts.earned(y == 1, scalar == 1).sum()


def test_the_other_class_may_be_positive():
    names = np.where(Y == 1, "bad", "good")
    model = PlugInClassifier(LogisticRegression(), LOAN, pos_label="bad").fit(X, names)
    numbers = PlugInClassifier(LogisticRegression(), LOAN).fit(X, Y)
    assert np.mean((model.predict(X) == "bad") == (numbers.predict(X) == 1)) > 0.99
    assert model.score(X, names) == pytest.approx(numbers.score(X, Y), rel=0.05)
    # The decision function points to classes_[1], "good".
    np.testing.assert_array_equal(model.decision_function(X) < 0.0, model.predict(X) == "bad")


# ---------------------------------------------------------------------------------------- constraints and classes


def test_constraints_hold_and_the_profit_is_the_best_among_those_that_keep_them():
    model = PlugInClassifier(LogisticRegression(), LOAN, subject_to="recall>=0.9", confidence=None).fit(X, Y)
    free = PlugInClassifier(LogisticRegression(), LOAN).fit(X, Y)
    predicted = model.predict(X) == 1
    assert predicted[Y == 1].mean() > 0.85
    assert model.expected_score_ < free.expected_score_
    guaranteed = PlugInClassifier(LogisticRegression(), LOAN, subject_to="recall>=0.6").fit(X, Y)
    assert (guaranteed.predict(X) == 1)[Y == 1].mean() > 0.6
    with pytest.raises(metricwise.UnreachableGuaranteeError, match="precision"):
        PlugInClassifier(LogisticRegression(), LOAN, subject_to="precision>=0.999").fit(X, Y)


def test_a_watch_compares_the_scores_of_a_profit():
    model = PlugInClassifier(LogisticRegression(), LOAN, subject_to="recall>=0.6").fit(X, Y)
    new, truth = draw_samples(2000, seed=5)
    same = metricwise.GuaranteeMonitor(model).update(truth, model.predict(new), model.decision_function(new))
    assert same.n_scores_seen == 2000 and not same.score_warning and not same.alarm
    larger = new.assign(amount=20.0 * new["amount"])
    watch = metricwise.GuaranteeMonitor(model).update(truth, model.predict(larger), model.decision_function(larger))
    assert watch.score_warning


def test_guarantees_by_margins_hold_in_simulation():
    test, y = draw_samples(5000, seed=9)
    broken = 0
    for seed in range(12):
        train, labels = draw_samples(300, seed=100 + seed)
        try:
            model = PlugInClassifier(LogisticRegression(), LOAN, subject_to="recall>=0.7", cv=3).fit(train, labels)
        except metricwise.UnreachableGuaranteeError:
            continue
        broken += (model.predict(test) == 1)[y == 1].mean() < 0.69
    assert broken <= 2  # 5 % of 12, with room


def test_metric_classifier_selects_by_profit_and_explains_it():
    own = {"tree": DecisionTreeClassifier(max_depth=1), "logistic": LogisticRegression()}
    model = MetricClassifier(LOAN, candidates=own, cv=3).fit(X, Y)
    assert "compared by their profit" in model.explain()
    low, high = model.expected_score_interval_
    assert low < model.expected_score_ < high
    best = model.leaderboard_.iloc[0]
    assert best["candidate"] == "logistic" and low < best["value"] < high
    assert model.score(X, Y) > PlugInClassifier(own["tree"], LOAN).fit(X, Y).score(X, Y)
    guaranteed = MetricClassifier(LOAN, candidates=own, cv=3, subject_to="recall>=0.6").fit(X, Y)
    assert "Guaranteed on new samples" in guaranteed.explain()


def test_cost_sensitive_trains_with_what_a_wrong_decision_loses():
    seen = []

    class Recording(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append(sample_weight)
            return super().fit(X, y, sample_weight)

    model = CostSensitiveClassifier(Recording(), LOAN, cv=2).fit(X, Y)
    assert [one is None for one in seen[:2]] == [True, True] and model.n_iter_ == 2
    costs = np.where(AMOUNT * 1.1 > 5, np.where(Y == 1, 1.1 * AMOUNT - 5, 5.0), 0.0)
    weights = np.concatenate(seen[2:4])
    np.testing.assert_allclose(np.sort(weights), np.sort(costs * 600 / costs.sum()))
    assert model.history_[model.best_iter_].score == pytest.approx(model.expected_score_)
    assert model.class_weights_ == model.history_[model.best_iter_].class_weights


def test_weighted_log_odds_decide_without_the_amounts():
    amounts = Amounts(np.array([3.0, 3.0]), np.array([-9.0, 1.0]), np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(compute_margins(np.array([0.5, 0.5]), amounts, is_weighted=True), [0.5, CERTAIN])


# ---------------------------------------------------------------------------------------- intervals


def test_intervals_cover_the_profit_and_the_savings_of_new_samples():
    random = np.random.default_rng(4)
    values = savings = 0
    for _ in range(100):
        truth = random.random((2, 300)) < 0.2
        amount = np.exp(random.normal(2.0, 0.7, (2, 300)))
        found = random.random((2, 300)) < np.where(truth, 0.7, 0.1)
        earned = np.where(found, -3.0, np.where(truth, -amount, 0.0))
        constant = np.stack([np.full((2, 300), -3.0), np.where(truth, -amount, 0.0)], axis=-1)
        given, new = (OutcomePosterior(earned[i], constant[i], np.ones(300), 0.0, 1.0) for i in (0, 1))
        low, high = given.interval(n_samples=300)
        values += low <= new.value <= high
        low, high = given.savings_interval(n_samples=300)
        savings += low <= new.savings <= high
    assert values >= 80 and savings >= 80  # of 100, for 90 %


def test_many_samples_are_summarised_without_moving_means():
    random = np.random.default_rng(5)
    earned, constant, weights = random.normal(size=25_000) ** 3, random.normal(size=(25_000, 2)), random.random(25_000)
    whole = OutcomePosterior(earned, constant, weights, 1.0, 2.0)
    summary = summarize_outcomes(*whole)
    assert summary.earned.size <= 20_000
    assert (summary.value, summary.savings, summary.n_samples) == pytest.approx(
        (whole.value, whole.savings, whole.n_samples)
    )
    assert summary.interval() == pytest.approx(whole.interval(), abs=0.008)  # 400 draws of each


@pytest.mark.parametrize("is_weighted", [False, True])
def test_probabilities_are_those_of_samples_without_costs(monkeypatch, is_weighted):
    """Positives weigh ten times as much in the second training, and its probabilities say so unless calibrated."""
    monkeypatch.setattr("metricwise.estimators.wrappers.cost_sensitive.sample_costs._select", lambda *_: is_weighted)
    train, new = draw_samples(1500, seed=1), draw_samples(3000, seed=2)
    model = CostSensitiveClassifier(LogisticRegression(), Profit(tp="0.1*amount", fp=-5, fn="-amount"), cv=3)
    model.fit(*train)
    assert model.calibrated_ == is_weighted
    assert model.predict_proba(new[0])[:, 1].mean() == pytest.approx(new[1].mean(), abs=0.03)
    assert model.set_params(calibrate=True).fit(*train).calibrated_


def test_savings_of_nothing_are_undefined():
    assert np.isnan(compute_savings(np.array([1.0]), np.array([[0.0, -1.0]]))).all()
    model = PlugInClassifier(LogisticRegression(), Profit(tp="amount", fp="-10*amount")).fit(X, Y)
    with pytest.raises(ValueError, match="neither earns nor costs"):
        model.savings(X, Y)
    with pytest.raises(TypeError, match="savings are those of a Profit"):
        PlugInClassifier(LogisticRegression()).fit(X, Y).savings(X, Y)


def test_groups_widen_the_interval():
    groups = np.arange(600) // 30
    alone = PlugInClassifier(LogisticRegression(), LOAN).fit(X, Y)
    grouped = PlugInClassifier(LogisticRegression(), LOAN).fit(X, Y, groups=groups)
    assert np.diff(grouped.expected_score_interval_) > np.diff(alone.expected_score_interval_)
    assert 0.0 < grouped.expected_savings_ < 1.0


# ---------------------------------------------------------------------------------------- errors and storage


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m: m.predict(X.drop(columns="amount")), "needs the column 'amount', which X lacks"),
        (lambda m: m.predict(X.rename(columns={"amount": "amuont"})), "did you mean 'amuont'"),
        (lambda m: m.predict(X.to_numpy()), "X has no names of columns"),
        (lambda m: m.predict(X, tp=np.ones(3)), r"X has 600 samples and tp= has the shape \(3,\)"),
        (lambda m: m.score(X, Y, tp=np.where(np.arange(600) == 7, np.nan, 1.0)), "tp= is nan for sample 7"),
        (lambda m: m.predict(X.assign(amount="much")), "needs numbers in the column 'amount'"),
        (lambda m: m.predict(X.assign(amount=np.where(np.arange(600) == 3, np.inf, 1.0))), "for sample 3"),
    ],
)
def test_missing_and_wrong_amounts_at_prediction_are_named(call, message):
    model = PlugInClassifier(LogisticRegression(), LOAN).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        call(model)


def test_arrays_of_training_are_needed_again():
    model = PlugInClassifier(LogisticRegression(), Profit(fp=-5, tn=0)).fit(X, Y, fn=-AMOUNT)
    with pytest.raises(ValueError, match=r"trained with an array of one amount 'fn'.*pass fn="):
        model.predict(X)
    with pytest.raises(TypeError, match="measure 'f1' has none"):
        PlugInClassifier(LogisticRegression()).fit(X, Y, fn=-AMOUNT)
    with pytest.raises(TypeError, match="the model was trained without"):
        PlugInClassifier(LogisticRegression()).fit(X, Y).predict(X, fn=-AMOUNT)


@pytest.mark.parametrize(
    "profit, message",
    [
        (Profit(tp=-1.0), "one decision is always right, to predict negative"),
        (Profit(tp=1.0, fp=1.0), "one decision is always right, to predict positive"),
        (Profit(fp=1.0, fn=1.0), "wrong predictions earn more"),
        (Profit(tp="-amount"), "positive is always right for 0 of 600 samples"),
        (Profit(tp="amount", fp="amount"), "positive is always right for 600 of 600"),
        (Profit(fp="amount", fn="amount"), "wrong predictions earn more than right ones for 600 of 600 samples"),
        (Profit(tp="amount/c*0"), "finite|every|decide"),
    ],
)
def test_amounts_that_decide_alone_are_refused(profit, message):
    for model in (
        PlugInClassifier(LogisticRegression(), profit),
        CostSensitiveClassifier(LogisticRegression(), profit),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y)


def test_a_batch_rule_is_refused():
    with pytest.raises(ValueError, match="threshold='batch' needs one threshold for all samples"):
        PlugInClassifier(LogisticRegression(), LOAN, threshold="batch").fit(X, Y)


@pytest.mark.parametrize("kind", ["plug_in", "cost_sensitive", "metric", "arrays", "numbers"])
def test_models_survive_storage(kind, tmp_path):
    given = {"fn": ARRAYS["fn"]} if kind == "arrays" else {}
    made = {
        "plug_in": PlugInClassifier(LogisticRegression(), LOAN),
        "cost_sensitive": CostSensitiveClassifier(LogisticRegression(), LOAN, cv=2),
        "metric": MetricClassifier(LOAN, candidates={"logistic": LogisticRegression()}, cv=2),
        "arrays": PlugInClassifier(LogisticRegression(), Profit(fp=-5)),
        "numbers": PlugInClassifier(LogisticRegression(), Profit(fp=-5, fn=-50)),
    }[kind]
    model = clone(made).fit(X, Y, **given)
    metricwise.save(model, tmp_path / "model.mw")
    stored = metricwise.load(tmp_path / "model.mw")
    np.testing.assert_array_equal(stored.decision_function(X, **given), model.decision_function(X, **given))
    assert stored.measure_ == model.measure_
    assert stored.expected_savings_interval_ == model.expected_savings_interval_
    assert stored.score(X, Y, **given) == model.score(X, Y, **given)


def test_damaged_amounts_of_a_stored_model_are_refused(tmp_path):
    from metricwise.persistence.schemas.money import CHECKS

    good = {"tp": "amount", "fp": -1.0, "fn": 0.0, "tn": 0.0}
    CHECKS["Profit"](good)
    for bad in ({"tp": "open('x')"}, {"fp": float("nan")}, {"fn": (1.0,)}, {"tn": True}):
        with pytest.raises((TypeError, ValueError)):
            CHECKS["Profit"](good | bad)
    with pytest.raises(ValueError):
        CHECKS["SampleProfit"](good | {"given": (), "best": 0.0, "stake": 0.0})
