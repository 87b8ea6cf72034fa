"""The gradient of measures at running counts, the rule it gives, and the counts themselves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from metricwise import CohenKappa, CostMatrix, confusion_measure, contingency_measure, get_measure
from metricwise.decisions.cost_matrix import CostTask
from metricwise.decisions.online import OnlineDecision
from metricwise.decisions.online_rule import differentiate, evaluate_counts, make_rule, tables_of
from metricwise.decisions.running_counts import Forgetting, RunningCounts
from metricwise.decisions.tasks import Binary, Multiclass, Multilabel
from metricwise.measures.confusion import one_vs_rest

RNG = np.random.default_rng(0)
TWO = np.array([0, 1])
COSTS = CostMatrix([[0, 1, 5], [1, 0, 2], [20, 10, 0]])
SMOOTH = ["accuracy", "balanced_accuracy", "cohen_kappa", "f0.5", "f1", "f2", "g_mean", "gower_legendre", "h_mean"]
SMOOTH += ["jaccard", "matthews_corrcoef", "q_mean"]
TASKS = {
    **{name: Binary(TWO, get_measure(name), 1) for name in SMOOTH},
    "f1_macro of two": Binary(TWO, get_measure("f1_macro"), 1),
    "own": Binary(TWO, contingency_measure(lambda tp, fp, fn, tn: tp / (tp + fp + 3 * fn), name="own"), 1),
    **{
        f"{name} of classes": Multiclass(np.arange(4), get_measure(name))
        for name in ("f1_macro", "f1_micro", "f1_weighted", "jaccard_weighted", "matthews_corrcoef", "cohen_kappa")
    },
    "accuracy of classes": Multiclass(np.arange(4), get_measure("accuracy")),
    "balanced accuracy of classes": Multiclass(np.arange(4), get_measure("balanced_accuracy")),
    "G-mean of classes": Multiclass(np.arange(4), get_measure("g_mean")),
    "quadratic kappa of classes": Multiclass(np.arange(4), CohenKappa("quadratic")),
    "own measure of classes": Multiclass(np.arange(4), confusion_measure(lambda C: C[0, 0] / C[:, 0].sum(), "own")),
    "costs": CostTask(np.arange(3), COSTS),
    **{
        f"{name} of labels": Multilabel(np.arange(3), get_measure(name), False)
        for name in ("f1_macro", "f1_micro", "f1_weighted", "g_mean_macro")
    },
}


def draw_counts(task):
    if task.is_multilabel:
        return RNG.integers(5, 60, size=(task.classes.size, 2, 2)).astype(float)
    return RNG.integers(5, 60, size=(1, task.classes.size, task.classes.size)).astype(float)


def list_predictions(task):
    """Return all predictions of one sample, of shape (n_predictions, n_parts)."""
    values = range(2) if task.is_multilabel or task.is_binary else range(task.classes.size)
    return np.array(list(itertools.product(values, repeat=task.classes.size if task.is_multilabel else 1)))


def expected_gain(task, counts, chances, prediction):
    """Return by how much a tiny share of a sample with these probabilities raises the measure, per share."""
    share, changed = 1e-6, counts.copy()
    for part, value in enumerate(prediction):
        if task.is_binary or task.is_multilabel:
            changed[part, :, value] += share * np.array([1.0 - chances[part], chances[part]])
        else:
            changed[part, :, value] += share * chances
    return (evaluate_counts(task, changed) - evaluate_counts(task, counts)) / share


@pytest.mark.parametrize("name", TASKS)
def test_the_rule_predicts_what_raises_the_measure_most(name):
    """Against the change of the measure itself, over all predictions of a sample, labels in every combination."""
    task, predictions = TASKS[name], list_predictions(TASKS[name])
    for _ in range(20):
        counts = draw_counts(task)
        n_columns = 1 if task.is_binary else task.classes.size
        several = not (task.is_binary or task.is_multilabel)
        chances = RNG.dirichlet(np.ones(n_columns)) if several else RNG.random(n_columns)
        gains = np.array([expected_gain(task, counts, chances, one) for one in predictions])
        decision = OnlineDecision.start(task)
        chosen = decision.choose(make_rule(task, counts).gains(chances[None]))[0]
        own = gains[np.flatnonzero((predictions == chosen).all(axis=1))[0]]
        assert own >= gains.max() - 1e-7


def test_the_derivatives_of_f1_are_those_of_its_formula():
    tp, fp, fn, tn = 30.0, 20.0, 10.0, 50.0
    size = 2 * tp + fp + fn
    found = differentiate(TASKS["f1"], np.array([[tp], [fp], [fn], [tn]])).ravel()
    np.testing.assert_allclose(found, np.array([2 * (fp + fn), -2 * tp, -2 * tp, 0.0]) / size**2, atol=1e-12)


def test_the_derivatives_of_mcc_are_those_of_its_formula():
    tp, fp, fn, tn = cells = np.array([30.0, 20.0, 10.0, 50.0])
    top, sums = tp * tn - fp * fn, np.array([tp + fp, tp + fn, tn + fp, tn + fn])
    # Of top / sqrt(product of the sums): each cell is in two of the sums.
    members = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]])
    tops = np.array([tn, -fn, -fp, tp])
    expected = (tops - top * (members / sums).sum(axis=1) / 2) / np.sqrt(sums.prod())
    found = differentiate(TASKS["matthews_corrcoef"], cells[:, None]).ravel()
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_averages_have_the_derivatives_of_all_their_cells(average):
    """The shortcuts of averages equal differences of the whole average, cell by cell."""
    task = Multiclass(np.arange(4), get_measure(f"f1_{average}"))
    tables = np.array(one_vs_rest(draw_counts(task)[0]))
    value, step = task.average.of_tables, 1e-4
    expected = np.empty_like(tables)
    for cell in np.ndindex(*tables.shape):
        move = np.zeros_like(tables)
        move[cell] = step
        expected[cell] = (value(*(tables + move)) - value(*(tables - move))) / (2 * step)
    np.testing.assert_allclose(differentiate(task, tables), expected, atol=1e-9)


def test_labels_of_a_macro_average_have_thresholds_of_their_own_and_those_of_a_micro_average_share_one():
    counts = draw_counts(TASKS["f1_macro of labels"])
    tp, fp, fn, _ = tables_of(counts)
    own = make_rule(TASKS["f1_macro of labels"], counts).thresholds
    np.testing.assert_allclose(own, tp / (2 * tp + fp + fn), rtol=1e-7)
    shared = make_rule(TASKS["f1_micro of labels"], counts).thresholds
    np.testing.assert_allclose(shared, tp.sum() / (2 * tp + fp + fn).sum(), rtol=1e-7)


# ---------------------------------------------------------------------------------------------------------- the stream


def draw_stream(n_samples, seed=0):
    random = np.random.default_rng(seed)
    chances = random.beta(0.5, 2.0, size=(n_samples, 1))
    return chances, (random.random((n_samples, 1)) < chances).astype(np.int64)


def best_value(measure, chances):
    """Return the best measure of a threshold, by the tables that the probabilities expect."""
    order = np.sort(chances.ravel())[::-1]
    tp = np.cumsum(order)
    fp = np.arange(1, order.size + 1) - tp
    return float(np.max(measure.value(tp, fp, tp[-1] - tp, order.size - tp[-1] - fp)))


@pytest.mark.parametrize("name", SMOOTH)
def test_a_stationary_stream_reaches_the_optimum(name):
    chances, truth = draw_stream(20_000)
    measure = get_measure(name)
    decided, predicted = OnlineDecision.start(TASKS[name]).observe(chances, truth, np.ones(len(truth)))
    assert decided.value == measure.score(truth[:, 0], predicted[:, 0])
    best = best_value(measure, chances)
    assert abs(decided.value - best) < 0.015
    assert measure.score(truth[:, 0], decided.average.gains(chances)[:, 0] > 0.0) > best - 0.015
    low, high = decided.interval()
    assert low < decided.value < high < low + 0.05


def test_a_measure_with_a_kink_does_not_alternate_between_its_sides():
    chances, truth = draw_stream(20_000)
    measure = get_measure("min_rate")
    decided, _ = OnlineDecision.start(Binary(TWO, measure, 1)).observe(chances, truth, np.ones(len(truth)))
    best = best_value(measure, chances)
    assert decided.value > best - 0.1
    assert measure.score(truth[:, 0], decided.average.gains(chances)[:, 0] > 0.0) > best - 0.15


def test_classes_are_decided_together():
    """The macro F1 of rare classes exceeds that of the most probable class, and of each class vs the rest at 1/2."""
    random = np.random.default_rng(0)
    chances = random.dirichlet([4.0, 0.5, 0.4], size=8000)
    truth = (chances.cumsum(axis=1) < random.random((8000, 1))).sum(axis=1)
    task = Multiclass(np.arange(3), get_measure("f1_macro"))
    decided, predicted = OnlineDecision.start(task).observe(chances, truth[:, None], np.ones(8000))
    probable = task.measure.score(truth, chances.argmax(axis=1))
    assert decided.value == pytest.approx(task.measure.score(truth, predicted[:, 0]), abs=1e-12)
    assert decided.value > probable + 0.05


@pytest.mark.parametrize("forgetting", [Forgetting(), Forgetting(half_life=300.0), Forgetting(window=500)])
def test_decisions_do_not_depend_on_the_division_of_the_stream(forgetting):
    chances, truth = draw_stream(3000)
    weights = np.ones(3000)
    whole = OnlineDecision.start(TASKS["f1"], forgetting).observe(chances, truth, weights)
    for sizes in ([1] * 3000, [7, 100, 2, 891, 2000]):
        decision, found, start = OnlineDecision.start(TASKS["f1"], forgetting), [], 0
        for size in sizes:
            own = slice(start, start + size)
            decision, predicted = decision.observe(chances[own], truth[own], weights[own])
            found.append(predicted)
            start += size
        np.testing.assert_array_equal(np.concatenate(found), whole.predicted)
        np.testing.assert_allclose(decision.running.totals, whole.decision.running.totals, rtol=1e-12)
        np.testing.assert_allclose(decision.average.thresholds, whole.decision.average.thresholds, rtol=1e-12)


def test_observing_leaves_the_decision_before_as_it_was():
    chances, truth = draw_stream(50)
    before = OnlineDecision.start(TASKS["f1"]).observe(chances, truth, np.ones(50)).decision
    totals = before.running.totals
    before.observe(chances, truth, np.ones(50))
    before.anticipate(chances)
    np.testing.assert_array_equal(before.running.totals, totals)


# ---------------------------------------------------------------------------------------------------------- forgetting


def test_a_half_life_halves_the_weight_of_earlier_samples():
    """Against weights computed sample by sample."""
    truth, predicted = RNG.integers(0, 2, size=(2, 400, 1))
    running = RunningCounts.start(1, 2, Forgetting(half_life=60.0))
    for start in range(0, 400, 40):
        running = running.add(truth[start : start + 40], predicted[start : start + 40], np.ones(40))
        if start % 80:
            running = running.renew()
    weights = 0.5 ** ((399 - np.arange(400)) / 60.0)
    expected = np.zeros((2, 2))
    np.add.at(expected, (truth[:, 0], predicted[:, 0]), weights)
    np.testing.assert_allclose(running.totals[0], expected, rtol=1e-10)
    assert running.effective_size == pytest.approx(weights.sum() ** 2 / (weights @ weights))


def test_a_window_holds_recent_samples_only():
    chances, truth = draw_stream(5000)
    decided = OnlineDecision.start(TASKS["f1"], Forgetting(window=640)).observe(chances, truth, np.ones(5000)).decision
    assert 640 <= decided.weight <= 640 + 2 * 640 // 8
    recent = truth[-int(decided.weight) :]
    assert decided.running.totals[0, 1].sum() == recent.sum()


@pytest.mark.parametrize("forgetting", [Forgetting(half_life=500.0), Forgetting(window=1000)])
def test_forgetting_follows_a_prior_that_changes(forgetting):
    """Positives become eight times rarer; probabilities know, and the threshold of F1 has to follow."""
    random = np.random.default_rng(0)
    often, rarely = random.beta(2.0, 2.0, size=(20_000, 1)), random.beta(0.25, 4.0, size=(4000, 1))
    chances = np.concatenate([often, rarely])
    truth = (random.random(chances.shape) < chances).astype(np.int64)
    after = {}
    for kind in (Forgetting(), forgetting):
        decided, predicted = OnlineDecision.start(TASKS["f1"], kind).observe(chances, truth, np.ones(len(truth)))
        after[kind] = get_measure("f1").score(truth[-3000:, 0], predicted[-3000:, 0])
        if kind is forgetting:
            assert decided.value == pytest.approx(after[kind], abs=0.08)
    assert after[forgetting] > after[Forgetting()] + 0.02
