"""Intervals of several classes and labels: coverage by simulation, folds judged by the others, what is stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.datasets import load_digits, make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

import metricwise
from metricwise import PlugInClassifier
from metricwise.decisions import confusion_posterior, label_posterior
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.class_offsets import bagged_offsets
from metricwise.decisions.confusion_posterior import ConfusionPosterior
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.label_posterior import LabelPosterior, summarize_labels
from metricwise.decisions.learning_curve import FinalPosterior
from metricwise.decisions.model_spread import SPREADS, spread_posterior
from metricwise.decisions.multiclass import choose_offsets, choose_thresholds, judge_offsets, judge_thresholds
from metricwise.measures import MCC, Accuracy, Averaged, BalancedAccuracy, FBeta, Jaccard
from metricwise.measures.confusion import one_vs_rest

MACRO, MICRO = Averaged(FBeta()), Averaged(FBeta(), "micro")
COVERED = (0.84, 0.98)  # of trials, at a confidence of 0.9


@pytest.fixture
def few_draws(monkeypatch):
    """Many intervals are computed, so each from few draws."""
    monkeypatch.setattr(confusion_posterior, "_MOST_DRAWS", 500)


# -------------------------------------------------------------------------------------------------------- multiclass


def draw_matrix(random, shares, recall, n_samples):
    """Draw a confusion matrix; mistakes go to the other classes by their shares."""
    rows = np.diag(recall) + (1.0 - recall)[:, None] * (1.0 - np.eye(recall.size)) * shares / (1.0 - shares)[:, None]
    return random.multinomial(n_samples, (shares[:, None] * rows).ravel()).reshape(rows.shape).astype(float)


def move(random, rates, spread):
    return expit(logit(rates) + spread * random.normal(size=rates.shape))


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(
    ("measure", "spread"), [(MACRO, 0.0), (MACRO, 0.2), (Accuracy(), 0.2), (MCC(), 0.0), (BalancedAccuracy(), 0.2)]
)
def test_multiclass_intervals_cover_the_score_of_another_model(measure, spread):
    """Evaluate five models on their folds, and a sixth on new samples, for ten classes with few mistakes."""
    random, inside = np.random.default_rng(1), 0
    shares = np.array([0.3] + [0.1] * 4 + [0.06] * 5)
    recall = np.linspace(0.99, 0.9, 10)
    for _ in range(100):
        folds = [draw_matrix(random, shares, move(random, recall, spread), 200) for _ in range(5)]
        new = draw_matrix(random, shares, move(random, recall, spread), 500)
        low, high = ConfusionPosterior(measure, np.array(folds)).interval(n_samples=500)
        inside += low <= measure.of_tables(*one_vs_rest(new)) <= high
    assert COVERED[0] <= inside / 100 <= COVERED[1]


def test_the_interval_of_digits_contains_the_estimate_and_the_test_score():
    """A pseudo-sample in each of 75 empty cells would move the interval below both."""
    X, y = load_digits(return_X_y=True)
    train = np.arange(len(y)) % 2 == 0
    model = PlugInClassifier(LogisticRegression(), "f1_macro", cv=3).fit(X[train] / 16.0, y[train])
    low, high = model.score_interval(int(np.sum(~train)))
    assert low < model.expected_score_ < high
    assert low < model.score(X[~train] / 16.0, y[~train]) < high
    assert high - low < 0.06


def test_a_model_without_mistakes_may_make_one():
    perfect = np.diag([50.0, 30.0, 20.0])
    low, high = ConfusionPosterior(MACRO, perfect[None]).interval(n_samples=100)
    assert 0.9 < low < 0.99 and high == 1.0
    low, high = summarize_labels(
        MACRO, np.eye(3, dtype=bool)[np.arange(100) % 3], np.eye(3)[np.arange(100) % 3] > 0, np.ones(100)
    ).interval(n_samples=100)
    assert 0.9 < low < 0.99 and high == 1.0


def test_classes_that_new_samples_lack_do_not_count_as_in_scikit_learn():
    matrix = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    truth, predicted = np.repeat([0, 0, 1, 1], [3, 1, 1, 2]), np.repeat([0, 1, 0, 1], [3, 1, 1, 2])
    (found,) = ConfusionPosterior(MACRO, matrix[None])._evaluate(matrix[None])
    assert found == pytest.approx(f1_score(truth, predicted, average="macro"))


def make_class_scores(random, n_samples, shift=1.5):
    codes = random.choice(4, n_samples, p=[0.6, 0.2, 0.1, 0.1])
    codes[:8] = np.arange(8) % 4
    scores = random.normal(size=(n_samples, 4))
    scores[np.arange(n_samples), codes] += shift
    return ScoredSamples(codes, scores, np.ones(n_samples))


def test_every_fold_is_evaluated_at_the_offsets_of_the_others():
    samples, rule = make_class_scores(np.random.default_rng(0), 120), ThresholdRule(seed=3)
    decision = judge_offsets(MACRO, rule, choose_offsets(MACRO, rule, samples, False), samples, [50, 70], False)
    for own, matrix in zip((slice(50), slice(50, None)), decision.posterior.matrices, strict=True):
        other = slice(50, None) if own == slice(50) else slice(50)
        offsets = bagged_offsets(MACRO.of_tables, *(part[other] for part in samples), seed=3).offsets
        predicted = np.argmax(samples.scores[own] - offsets, axis=1)
        np.testing.assert_array_equal(
            np.diagonal(matrix), np.bincount(predicted[predicted == samples.target[own]], minlength=4)
        )
    assert decision.expected_score == decision.posterior.value


def test_folds_without_which_a_class_is_missing_keep_the_offsets_of_all_samples():
    samples = make_class_scores(np.random.default_rng(0), 120)
    order = np.argsort(-samples.target, kind="stable")  # all samples of the last class in the first fold
    samples, rule = ScoredSamples(*(part[order] for part in samples)), ThresholdRule()
    chosen = choose_offsets(MACRO, rule, samples, False)
    found = judge_offsets(MACRO, rule, chosen, samples, [60, 60], False).posterior.matrices[0]
    predicted = np.argmax(samples.scores[:60] - chosen.threshold, axis=1)
    assert np.trace(found) == np.sum(predicted == samples.target[:60])


def test_folds_are_unbiased_and_the_chosen_offsets_are_optimistic():
    random, rule = np.random.default_rng(5), ThresholdRule("max")
    new = make_class_scores(random, 20_000, 1.0)
    by_folds, by_choice, truth = [], [], []
    for _ in range(15):
        samples = make_class_scores(random, 100, 1.0)
        chosen = choose_offsets(MACRO, rule, samples, False)
        by_choice.append(chosen.expected_score)
        by_folds.append(judge_offsets(MACRO, rule, chosen, samples, [20] * 5, False).expected_score)
        predicted = np.argmax(new.scores - chosen.threshold, axis=1)
        truth.append(f1_score(new.target, predicted, average="macro"))
    assert np.mean(by_choice) > np.mean(truth) + 0.04
    assert abs(np.mean(by_folds) - np.mean(truth)) < 0.03


def test_classes_share_one_spread():
    random = np.random.default_rng(0)
    total = np.full((5, 20), 400.0)
    for spread in (0.0, 0.3):
        found = random.binomial(400, move(random, np.full((5, 20), 0.8), spread)).astype(float)
        assert SPREADS @ spread_posterior(found, total) == pytest.approx(spread, abs=0.09)
    several = spread_posterior(np.c_[found, np.zeros((5, 1))], np.c_[total, np.zeros((5, 1))])
    np.testing.assert_allclose(several, spread_posterior(found, total))  # a class without samples says nothing


# -------------------------------------------------------------------------------------------------------- multilabel


def draw_labels(random, n_samples, n_labels=10, together=1.0):
    """Draw true and predicted labels; hard samples have mistakes in many labels."""
    hard = together * random.normal(size=(n_samples, 1))
    truth = random.random((n_samples, n_labels)) < np.linspace(0.05, 0.4, n_labels)
    wrong = random.random((n_samples, n_labels)) < expit(np.where(truth, -1.0, -3.0) + hard)
    return truth, truth ^ wrong


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("measure", [MACRO, MICRO, Averaged(Jaccard()), Averaged(MCC())], ids=lambda m: m.name)
def test_multilabel_intervals_cover_the_score_of_new_samples(measure):
    random, inside = np.random.default_rng(2), 0
    for _ in range(100):
        posterior = summarize_labels(measure, *draw_labels(random, 300), np.ones(300), [60] * 5)
        truth, predicted = draw_labels(random, 300)
        low, high = posterior.interval(n_samples=300)
        inside += low <= measure.score(truth, predicted) <= high
    assert COVERED[0] <= inside / 100 <= 1.0


def test_intervals_of_labels_with_common_mistakes_are_wider():
    widths = []
    for together in (0.0, 2.5):
        truth, predicted = draw_labels(np.random.default_rng(0), 2000, 20, together)
        low, high = summarize_labels(MICRO, truth, predicted, np.ones(2000)).interval()
        widths.append(high - low)
    assert widths[1] > 1.3 * widths[0]


def test_many_sets_of_labels_are_drawn_and_keep_their_tables(monkeypatch):
    truth, predicted = draw_labels(np.random.default_rng(0), 3000, 20)
    every = summarize_labels(MACRO, truth, predicted, np.ones(3000))
    monkeypatch.setattr(label_posterior, "_MOST_SETS", 1000)
    some = summarize_labels(MACRO, truth, predicted, np.ones(3000))
    assert len(some.cells) == 1000 < len(every.cells) and some.weights.sum() == pytest.approx(3000.0)
    assert some.value == every.value == pytest.approx(MACRO.score(truth, predicted))
    np.testing.assert_allclose(some.interval(), every.interval(), atol=0.01)


def test_every_fold_is_evaluated_at_the_thresholds_of_the_others():
    random, rule = np.random.default_rng(0), ThresholdRule("max")
    target = random.random((200, 3)) < 0.3
    target[100:, 2] = False  # without the first fold, no sample has the last label
    samples = ScoredSamples(target, random.normal(size=(200, 3)) + 2.0 * target, np.ones(200))
    chosen = choose_thresholds(MACRO, rule, samples, True)
    found = judge_thresholds(MACRO, rule, chosen, samples, [100, 100])
    halves = [ScoredSamples(*(part[own] for part in samples)) for own in (slice(100), slice(100, None))]
    for own, other, table in zip(halves, halves[::-1], found.posterior.tables, strict=True):
        thresholds = choose_thresholds(MACRO, rule, other, True).threshold
        if not other.target[:, 2].any():
            thresholds[2] = chosen.threshold[2]
        np.testing.assert_array_equal(table[0], np.sum(own.target & (own.scores > thresholds), axis=0))


# --------------------------------------------------------------------------------------------------------- model files


@pytest.mark.parametrize("kind", [ConfusionPosterior, LabelPosterior])
def test_posteriors_are_restored(kind, tmp_path: Path) -> None:
    data = (
        make_classification(150, n_informative=5, n_classes=3, random_state=0)
        if kind is ConfusionPosterior
        else make_multilabel_classification(150, n_classes=3, random_state=0)
    )
    model = PlugInClassifier(LogisticRegression(), "f1_macro").fit(*data)
    metricwise.save(model, tmp_path / "model.mw")
    found = metricwise.load(tmp_path / "model.mw")
    assert type(found._decision.posterior) is FinalPosterior
    assert type(found._decision.posterior.of_folds) is kind
    assert found.score_interval(50) == model.score_interval(50)
