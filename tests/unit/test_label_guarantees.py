"""Constraints on several labels: thresholds against brute force, tests of all labels at once, refusals by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import metricwise
from metricwise import MetricClassifier, PlugInClassifier
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.class_constraints import ClassConstraints, count_needed, name_classes, refuse_rare
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.guarantees import Constraint, UnreachableGuaranteeError, parse_constraints, tables_at
from metricwise.decisions.label_guarantees import advance_orders
from metricwise.decisions.multilabel_task import Multilabel
from metricwise.measures import FBeta, Share

RATES = np.array([-0.5, -1.5, -2.5])


def make_labels(n, seed, slope=1.5):
    random = np.random.default_rng(seed)
    shared = random.normal(size=(n, 1))  # labels go together
    scores = RATES + 1.5 * (0.7 * shared + random.normal(size=(n, RATES.size)))
    truth = random.random(scores.shape) < expit(slope * scores)
    return ScoredSamples(truth, scores, np.ones(n))


def make_task(n_labels=3, names=()):
    return Multilabel(np.arange(n_labels), FBeta(), False, names)


# ------------------------------------------------------------------------------------------------------------- parsing


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("recall>=0.8 of fraud", ["recall >= 0.8 of fraud"]),
        ("recall >= 80%of two words ", ["recall >= 0.8 of two words"]),
        (("recall", ">=", 0.8, "of", np.int64(3)), ["recall >= 0.8 of 3"]),
        ([("npv", "<=", 0.8, "of", "a"), "recall>=0.5"], ["npv <= 0.8 of a", "recall >= 0.5"]),
    ],
)
def test_constraints_name_a_class_by_text_or_tuple(given, shown):
    assert [str(one) for one in parse_constraints(given)] == shown


@pytest.mark.parametrize("given", ["recall>=0.8 of", "recall>=0.8 by x", ("recall", ">=", 0.8, "for", "a"), ("a", 1)])
def test_other_endings_are_no_constraints(given):
    with pytest.raises(ValueError, match=r"is no constraint: write .* of name"):
        parse_constraints([given])


def test_a_constraint_without_a_name_is_on_every_label_and_names_are_found_by_text():
    named = name_classes(
        parse_constraints(["recall>=0.5", "precision>=0.9 of 2", "npv>=0.1 of b"]), [2.0, "b"], "labels"
    )
    assert [(str(one), one.of_class) for one in named] == [
        ("recall >= 0.5 of 2.0", 2.0),
        ("recall >= 0.5 of b", "b"),
        ("precision >= 0.9 of 2.0", 2.0),
        ("npv >= 0.1 of b", "b"),
    ]
    with pytest.raises(ValueError, match=r"'c' in the constraint 'recall >= 0.5 of c' is none of the labels: 'a', 'b'"):
        name_classes(parse_constraints("recall>=0.5 of c"), ["a", "b"], "labels")
    with pytest.raises(ValueError, match=r"'1' .* is the text of several of the labels"):
        name_classes(parse_constraints("recall>=0.5 of 1"), [1, "1"], "labels")
    with pytest.raises(ValueError, match=r"recall >= 0.5 of a is asked for twice"):
        name_classes(parse_constraints(["recall>=0.5 of a", "recall>=0.5"]), ["a", "b"], "labels")


def test_the_number_of_needed_samples_is_the_smallest_that_passes():
    for text in ("recall>=0.8", "recall>=0.5", "false_positive_rate<=0.1"):
        constraint = Constraint.of(text)
        n = count_needed(constraint, 0.95)
        chance = constraint.bound if constraint.is_lower_bound else 1.0 - constraint.bound
        assert binom.pmf(n, n, chance) <= 0.05 < binom.pmf(n - 1, n - 1, chance)
    wanted = ClassConstraints.locate([Constraint.of("precision>=0.8 of spam")], ["spam"])
    refuse_rare(wanted, 0.95, np.arange(100)[:, None] < 14, "labels")
    message = "of the 100 samples set aside to test it, 13 have the label 'spam', and 14 are needed"
    with pytest.raises(UnreachableGuaranteeError, match=message):
        refuse_rare(wanted, 0.95, np.arange(100)[:, None] < 13, "labels")
    wanted = ClassConstraints.locate([Constraint.of("npv>=0.8 of spam")], ["spam"])
    with pytest.raises(UnreachableGuaranteeError, match="3 are without the label 'spam', and 14 are needed"):
        refuse_rare(wanted, 0.95, np.arange(100)[:, None] < 97, "labels")


# ------------------------------------------------------------------------------------------------- tests of all labels


def advance_one_by_one(p_values, delta, random):
    """Accept one position at a time, of an order drawn at random: the outcome may not depend on the draws."""
    ends = [0] * len(p_values)
    while True:
        unfinished = [k for k, order in enumerate(p_values) if ends[k] + 1 < len(order)]
        ready = [k for k in unfinished if p_values[k][ends[k] + 1] <= delta / len(unfinished)]
        if not ready:
            return ends
        ends[random.choice(ready)] += 1


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.01, 0.012, 0.016, 0.02, 0.03, 0.05, 0.06]), min_size=1, max_size=5),
             min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_orders_advance_as_by_single_steps(orders, random):
    assert advance_orders([np.array(one) for one in orders], 0.05) == advance_one_by_one(orders, 0.05, random)


def test_all_labels_at_once_keep_their_guarantees():
    """Of 60 guarantees with confidence 0.7 at most three tenths fail, up to chance; thresholds are not the safest."""
    task, rule = make_task(), ThresholdRule(subject_to=[("precision", ">=", 0.6), ("recall", ">=", 0.3, "of", 0)])
    large = make_labels(30_000, 10**6)
    wanted = ClassConstraints.locate(task.aim(rule).constraints, task.names)
    n_broken, n_refused, recalls = 0, 0, []
    for seed in range(60):
        ordering, testing = make_labels(800, 2 * seed), make_labels(800, 2 * seed + 1)
        try:
            decision = task.guarantee(rule, 0.7, ordering, testing, True)
        except UnreachableGuaranteeError:
            n_refused += 1
            continue
        kept = [
            one.margin(*tables_at(decision.threshold[[k]], large.target[:, k], large.scores[:, k]))[0] >= 0.0
            for one, k in zip(wanted.wanted, wanted.columns, strict=True)
        ]
        n_broken += not all(kept)
        recalls.append(np.mean(large.scores[large.target[:, 1], 1] > decision.threshold[1]))
    assert n_broken <= binom.ppf(0.999, 60, 0.3)
    assert n_refused < 6 and np.mean(recalls) > 0.3


def test_the_safest_thresholds_need_no_share_of_the_confidence():
    """14 positives suffice for a recall of 0.8 of each of ten labels: all are tested at the full level at first."""
    n, n_labels = 200, 10
    truth = np.arange(n)[:, None] % n_labels == np.arange(n_labels)
    truth[14 * n_labels :] = False
    samples = ScoredSamples(truth, np.where(truth, 2.0, -2.0) + 0.01 * np.arange(n)[:, None], np.ones(n))
    decision = make_task(n_labels).guarantee(ThresholdRule(subject_to="recall>=0.8"), 0.95, samples, samples, True)
    assert np.all(samples.scores[truth] > np.broadcast_to(decision.threshold, truth.shape)[truth])
    with pytest.raises(UnreachableGuaranteeError, match="13 have the label 3, and 14 are needed"):
        spoilt = samples._replace(target=truth & ~((np.arange(n)[:, None] == 3) & (np.arange(n_labels) == 3)))
        make_task(n_labels).guarantee(ThresholdRule(subject_to="recall>=0.8"), 0.95, samples, spoilt, True)


def test_refusals_name_every_label_and_what_is_possible():
    random = np.random.default_rng(0)
    truth = random.random((300, 2)) < 0.4
    samples = ScoredSamples(truth, random.normal(size=truth.shape), np.ones(300))
    task = make_task(2, ("spam", "urgent"))
    with pytest.raises(UnreachableGuaranteeError) as caught:
        task.guarantee(ThresholdRule(subject_to="precision>=0.9"), 0.95, samples, samples, True)
    for name, k in (("spam", 0), ("urgent", 1)):
        assert f"no threshold can guarantee precision >= 0.9 of {name} with confidence 0.95" in str(caught.value)
        assert f"({truth[:, k].sum()} positive)" in str(caught.value)
    assert "which can guarantee precision >= 0." in str(caught.value)


# ------------------------------------------------------------------------------------------------ without a guarantee


@pytest.mark.parametrize("seed", range(8))
def test_constrained_thresholds_are_the_best_of_all(seed):
    samples = make_labels(60, seed)._replace(weights=np.random.default_rng(seed).integers(1, 4, 60).astype(float))
    task, rule = make_task(), ThresholdRule("max", [("precision", ">=", 0.5, "of", 0), ("recall", ">=", 0.6, "of", 1)])
    decision = task.decide(samples, rule, True)
    for k, name in ((0, "precision"), (1, "recall")):
        truth, scores = samples.target[:, k], samples.scores[:, k]
        values = []
        for threshold in [*scores, scores.min() - 1.0]:
            above, weight = scores > threshold, samples.weights
            cells = [above & truth, above & ~truth, ~above & truth, ~above & ~truth]
            table = [float(weight[cell].sum()) for cell in cells]
            kept = Share(name).value(*table) >= {"precision": 0.5, "recall": 0.6}[name]
            values.append(float(FBeta().value(*table)) if kept else -1.0)
        above = scores > decision.threshold[k]
        cells = [above & truth, above & ~truth, ~above & truth, ~above & ~truth]
        found = float(FBeta().value(*(float(samples.weights[cell].sum()) for cell in cells)))
        assert found == pytest.approx(max(values))
    free = task.decide(samples, ThresholdRule("max"), True)
    assert decision.threshold[2] == free.threshold[2]  # a label without constraints
    assert decision.expected_score <= free.expected_score + 1e-12


def test_a_label_that_cannot_keep_its_constraint_is_named():
    samples = make_labels(80, 0)
    with pytest.raises(
        UnreachableGuaranteeError, match=r"no threshold has .* of 1 and npv >= 0.999 of 1 on out-of-fold"
    ):
        rule = ThresholdRule(subject_to=["precision>=0.99 of 1", "npv>=0.999 of 1"])
        make_task().decide(samples, rule, True)


# ------------------------------------------------------------------------------------------------------------ from fit


def make_samples(n=1500, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    return X, (X[:, :3] + 0.7 * random.normal(size=(n, 3)) > [0.3, 0.8, 1.2]).astype(int)


X, Y = make_samples()
NEW_X, NEW_Y = make_samples(20_000, 1)
NAMES = ["spam", "urgent", "rare"]


def recalls(model):
    predicted = model.predict(NEW_X)
    return ((predicted == 1) & (NEW_Y == 1)).sum(axis=0) / NEW_Y.sum(axis=0)


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC()])
def test_every_label_has_the_recall_that_is_guaranteed(estimator):
    model = PlugInClassifier(estimator, "f1_macro", subject_to=[("recall", ">=", 0.8)]).fit(X, Y)
    assert np.all(recalls(model) >= 0.8) and np.mean(model.predict(NEW_X)) < 0.6
    low, high = model.threshold_interval_
    assert np.all(low <= model.threshold_) and np.all(model.threshold_ <= high)
    assert model.expected_score_interval_[0] < model.score(NEW_X, NEW_Y) < model.expected_score_interval_[1]


def test_labels_of_a_data_frame_are_named_and_stored(tmp_path):
    frame = pd.DataFrame(Y, columns=NAMES)
    model = PlugInClassifier(LogisticRegression(), subject_to="recall>=0.9 of urgent").fit(X, frame)
    free = PlugInClassifier(LogisticRegression()).fit(X, frame)
    assert recalls(model)[1] >= 0.9 > recalls(free)[1]
    metricwise.save(model, tmp_path / "model.mw")
    loaded = metricwise.load(tmp_path / "model.mw")
    assert loaded._task.names == NAMES and np.array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="two columns with the name 'spam'"):
        PlugInClassifier(LogisticRegression()).fit(X, frame.set_axis(["spam", "spam", "rare"], axis=1))


def test_without_confidence_out_of_fold_samples_keep_the_constraints():
    wanted = [("recall", ">=", 0.75), ("precision", ">=", 0.3, "of", 2)]
    model = PlugInClassifier(LogisticRegression(), subject_to=wanted, confidence=None).fit(X, Y)
    assert np.all(recalls(model) > 0.65)
    weights = np.where(np.arange(len(Y)) % 2, 1.0, 2.0)
    PlugInClassifier(LogisticRegression(), subject_to=wanted, confidence=None).fit(X, Y, weights)
    with pytest.raises(ValueError, match="a guarantee counts samples"):
        PlugInClassifier(LogisticRegression(), subject_to=wanted).fit(X, Y, weights)


def test_model_selection_guarantees_every_label():
    candidates = {"logistic": LogisticRegression()}
    model = MetricClassifier("f1_macro", candidates=candidates, subject_to="recall>=0.7").fit(
        X, pd.DataFrame(Y, columns=NAMES)
    )
    assert np.all(recalls(model) >= 0.7)
    assert "with confidence 0.95: recall >= 0.7 of spam and recall >= 0.7 of urgent and" in model.explain()
    with pytest.raises(UnreachableGuaranteeError, match=r"cannot be guaranteed .* by any classifier: .* the label 2"):
        MetricClassifier("f1_macro", candidates=candidates, subject_to="recall>=0.9 of 2").fit(X[:200], Y[:200])


def test_pooled_labels_are_refused_with_what_implies_them():
    with pytest.raises(ValueError, match=r"Leave out 'of micro': if each label keeps the bound"):
        name_classes(parse_constraints("precision>=0.9 of micro"), ["a", "b"], "labels")
    (own,) = name_classes(parse_constraints("precision>=0.9 of micro"), ["micro", "b"], "labels")
    assert own.of_class == "micro"  # a label may have the name
