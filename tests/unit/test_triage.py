"""Reviews: windows of given capacity against brute force, and guarantees that hold with their confidence."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricwise
from metricwise import (
    GuaranteeMonitor,
    MetricClassifier,
    PlugInClassifier,
    TriageClassifier,
    UnreachableGuaranteeError,
    get_measure,
)
from metricwise.decisions.decision import ScoredSamples, Sigmoid
from metricwise.decisions.guarantees import Constraint
from metricwise.decisions.review_label import choose_review_label, label_codes
from metricwise.decisions.review_window import ReviewWindow, best_window
from metricwise.decisions.triage import describe_window, find_guaranteed_window, parse_review_constraints
from metricwise.inference.threshold import Candidates
from metricwise.measures import Accuracy, FBeta

BOTH = ["precision>=0.9", "npv>=0.95"]
X, Y = make_classification(2400, 6, weights=[0.7], class_sep=1.6, flip_y=0.02, random_state=0)
NEW_X, NEW_Y = X[1200:], Y[1200:]


def draw(n_samples, seed, base=0.3, separation=2.8):
    """Return truth, log-odds and weights of samples of two normal distributions."""
    random = np.random.default_rng(seed)
    truth = random.random(n_samples) < base
    scores = random.normal(size=n_samples) + separation * truth
    return ScoredSamples(truth, separation * scores - separation**2 / 2 + np.log(base / (1 - base)), np.ones(n_samples))


# -------------------------------------------------------------------------------------------------------------- windows


def best_by_brute_force(measure, samples, capacity):
    """Return the best measure over all pairs of thresholds between which lies as much as the capacity allows."""
    truth, scores, weights = samples
    cuts = np.concatenate([[-np.inf], np.unique(scores)])
    total, best = weights.sum(), -np.inf
    for lower, upper in combinations_with_replacement(cuts, 2):
        window = ReviewWindow(lower, upper)
        if weights[window.holds(scores)].sum() > capacity * total + 1e-9:
            continue
        wider = [cut for cut in cuts if cut < lower]
        if wider and weights[ReviewWindow(wider[-1], upper).holds(scores)].sum() <= capacity * total + 1e-9:
            continue  # it could hold more
        value = float(measure.value(*window.table(truth, scores, weights)))
        best = max(best, value if np.isfinite(value) else -np.inf)
    return best


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(-4, 4), st.sampled_from([1.0, 2.0, 0.5])), min_size=2, max_size=14),
    st.sampled_from(["f1", "accuracy", "g_mean", "matthews_corrcoef"]),
    st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.8]),
)
def test_the_best_window_is_that_of_all_pairs_of_thresholds(cases, name, capacity):
    truth, scores, weights = (np.array(column) for column in zip(*cases, strict=True))
    samples = ScoredSamples(truth, scores.astype(float), weights)
    measure = get_measure(name)
    window = best_window(measure, Candidates.of(*samples), capacity)
    assert window.lower <= window.upper
    assert weights[window.holds(samples.scores)].sum() <= capacity * weights.sum() + 1e-9
    found = float(measure.value(*window.table(*samples)))
    assert found == pytest.approx(best_by_brute_force(measure, samples, capacity))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.3, 0.6]), st.sampled_from(["f1", "accuracy"]))
def test_no_narrower_window_is_better_if_scores_are_calibrated(seed, capacity, name):
    """Of samples whose scores are the true probabilities, the expected table is best for a window of full width."""
    random = np.random.default_rng(seed)
    chance = np.sort(random.random(12))[::-1]
    candidates = Candidates(np.concatenate([[1.1], chance, [-0.1]]), chance, 1.0 - chance)
    measure = get_measure(name)
    positives, negatives = (np.concatenate([[0.0], np.cumsum(one)]) for one in (chance, 1.0 - chance))

    def value(first, last):
        return float(
            measure.value(
                positives[first], negatives[first], positives[-1] - positives[last], negatives[-1] - negatives[last]
            )
        )

    most = int(capacity * 12)
    pairs = combinations_with_replacement(range(13), 2)
    best = max(value(first, last) for first, last in pairs if last - first <= most)
    window = best_window(measure, candidates, capacity)
    first, last = (int(np.count_nonzero(chance > end)) for end in (window.upper, window.lower))
    assert value(first, last) == pytest.approx(best)


def test_a_weight_of_two_is_a_sample_twice():
    samples = draw(200, 1)
    twice = np.random.default_rng(2).integers(1, 4, 200)
    weighted = ScoredSamples(samples.target, samples.scores, twice.astype(float))
    copies = ScoredSamples(*(np.repeat(column, twice) for column in samples))
    windows = [best_window(FBeta(), Candidates.of(*one), 0.2) for one in (weighted, copies)]
    assert windows[0] == windows[1]
    decisions = [
        describe_window(FBeta(), window, one, None, 0, True)
        for window, one in zip(windows, (weighted, copies), strict=True)
    ]
    assert decisions[0] == decisions[1]


def test_scores_on_the_thresholds():
    window = ReviewWindow(0.0, 1.0)
    scores = np.array([0.0, np.nextafter(0.0, 1.0), 1.0, np.nextafter(1.0, 2.0)])
    assert window.assign(scores).tolist() == [0, 1, 1, 2]
    assert np.sign(window.margins(scores)).tolist() == [-1, 0, 0, 1]
    assert window.holds(scores).tolist() == [False, True, True, False]
    never = ReviewWindow(-np.inf, np.inf)
    assert never.holds(scores).all() and np.all(never.margins(scores) == 0.0)


# ----------------------------------------------------------------------------------------------------------- guarantees


def is_kept(window, population, precision=0.9, npv=0.95):
    tp, fp, fn, tn = window.table(*population)
    return tp >= precision * (tp + fp) and tn >= npv * (fn + tn)


def test_both_guarantees_hold_together_with_their_confidence():
    """Of 150 windows with confidence 0.9, at most 10 percent break a guarantee, up to chance, and reviews are few."""
    population, constraints = draw(100_000, 10_000), parse_review_constraints(BOTH)
    broken, shares = 0, []
    for seed in range(150):
        try:
            window = find_guaranteed_window(Accuracy(), constraints, 0.9, draw(300, 2 * seed), draw(600, 2 * seed + 1))
        except UnreachableGuaranteeError:
            continue
        broken += not is_kept(window, population)
        shares.append(float(window.holds(population.scores).mean()))
    assert len(shares) > 130
    assert broken <= binom.ppf(0.99, 150, 0.1)
    assert np.mean(shares) < 0.2


def list_passed(constraint, ordering, testing, first_level, level):
    """Return the thresholds that pass, by binomial tails of scipy and a loop."""
    is_precision = constraint.share.name == "precision"
    thresholds = Candidates.of(*ordering).thresholds(np.arange(ordering.scores.size + 1))

    def count(samples, threshold):
        chosen = samples.scores > threshold if is_precision else samples.scores <= threshold
        right = samples.target if is_precision else ~samples.target
        return int(np.count_nonzero(right[chosen])), int(np.count_nonzero(chosen))

    chances = 0.25 * ordering.target + 0.75 * expit(Sigmoid.fit(ordering).log_odds(ordering.scores))

    def margin(threshold):
        chosen = ordering.scores > threshold if is_precision else ordering.scores <= threshold
        right, among = (chances if is_precision else 1.0 - chances)[chosen].sum(), np.count_nonzero(chosen)
        q = constraint.bound
        return -np.inf if among == 0 else (right / among - q) * np.sqrt(among / (q * (1 - q)))

    rows = sorted(((-margin(t), -count(ordering, t)[1], t) for t in thresholds), key=lambda row: row[:2])
    front, most = [], -1
    for negative_margin, negative_count, threshold in rows:
        if -negative_count > most and np.isfinite(negative_margin):
            front.append(threshold)
            most = -negative_count
    passed = []
    for k, threshold in enumerate(front):
        right, among = count(testing, threshold)
        if binom.sf(right - 1, among, constraint.bound) > (first_level if k == 0 else level):
            break
        passed.append(threshold)
    return passed


@pytest.mark.parametrize("seed", range(8))
def test_the_window_is_the_best_pair_of_thresholds_that_pass(seed):
    """Against a second implementation: every pair of thresholds that pass their binomial tests is looked at."""
    base, separation = [(0.3, 2.8), (0.5, 4.0)][seed % 2]  # the second needs no reviews
    ordering, testing = (draw(120, 2 * seed + k, base, separation) for k in (0, 1))
    constraints = parse_review_constraints(["precision>=0.8", "npv>=0.85"])
    uppers, lowers = (list_passed(one, ordering, testing, 0.1, 0.05) for one in constraints)
    if not uppers or not lowers:
        with pytest.raises(UnreachableGuaranteeError):
            find_guaranteed_window(Accuracy(), constraints, 0.9, ordering, testing)
        return
    found = find_guaranteed_window(Accuracy(), constraints, 0.9, ordering, testing)
    assert found.upper in [*uppers, np.inf] and found.lower in [*lowers, -np.inf]
    pairs = [
        ReviewWindow(lower, upper) for upper in [*uppers, np.inf] for lower in [*lowers, -np.inf] if lower <= upper
    ]
    keys = [(-one.holds(ordering.scores).sum(), Accuracy().value(*one.table(*ordering))) for one in pairs]
    assert (-found.holds(ordering.scores).sum(), Accuracy().value(*found.table(*ordering))) == max(keys)


def test_a_label_without_a_guarantee_is_never_predicted():
    samples = draw(800, 0), draw(800, 1)
    rule_out = find_guaranteed_window(FBeta(), parse_review_constraints("npv>=0.95"), 0.95, *samples)
    rule_in = find_guaranteed_window(FBeta(), parse_review_constraints("precision>=0.9"), 0.95, *samples)
    assert rule_out.upper == np.inf and np.isfinite(rule_out.lower)
    assert rule_in.lower == -np.inf and np.isfinite(rule_in.upper)


def test_one_threshold_is_left_if_the_guarantees_need_no_reviews():
    separated = draw(2000, 0, separation=6.0), draw(2000, 1, separation=6.0)
    window = find_guaranteed_window(Accuracy(), parse_review_constraints(BOTH), 0.95, *separated)
    assert window.lower == window.upper
    assert is_kept(window, draw(100_000, 2, separation=6.0))


def test_unreachable_guarantees_are_named_with_the_nearest():
    samples = draw(400, 0, separation=1.0), draw(400, 1, separation=1.0)
    with pytest.raises(UnreachableGuaranteeError, match=r"can guarantee precision >= 0.99 .* which can guarantee"):
        find_guaranteed_window(FBeta(), parse_review_constraints(["precision>=0.99", "npv>=0.7"]), 0.95, *samples)
    with pytest.raises(UnreachableGuaranteeError, match=r"(?s)precision >= 0.99 .*; no threshold .*npv >= 0.995"):
        find_guaranteed_window(FBeta(), parse_review_constraints(["precision>=0.99", "npv>=0.995"]), 0.95, *samples)


@pytest.mark.parametrize(
    ("subject_to", "message"),
    [
        ("recall>=0.9", "a least precision and a least npv, got recall >= 0.9"),
        ("precision<=0.9", "got precision <= 0.9"),
        (["npv>=0.9", "negative_predictive_value>=0.8"], "two constraints on npv"),
    ],
)
def test_other_constraints_are_refused(subject_to, message):
    with pytest.raises(ValueError, match=message):
        TriageClassifier(LogisticRegression(), subject_to=subject_to).fit(X, Y)


# --------------------------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("classes", "review"), [([0, 1], -1), ([-1, 1], 0), ([-1, 0], -2), ([1.0, 2.0], -1), (["a", "b"], "review")]
)
def test_the_label_of_reviews_is_no_class(classes, review):
    assert choose_review_label("auto", np.array(classes)) == review


@pytest.mark.parametrize(
    ("classes", "given"), [([0, 1], 1), (["review", "yes"], "auto"), ([0, 1], [2]), ([0, 1], None)]
)
def test_labels_that_cannot_be_those_of_reviews_are_refused(classes, given):
    with pytest.raises(ValueError, match="review_label"):
        choose_review_label(given, np.array(classes))


def test_labels_of_another_kind_keep_the_classes():
    assert label_codes(np.array([-1.0, 0.0, 1.0]), np.array([0, 1]), "ask").tolist() == [0, "ask", 1]
    words = np.array(["no", "yes"], dtype=object)
    assert label_codes(np.array([1.0, 0.0]), words, "review").tolist() == ["yes", "review"]


# ----------------------------------------------------------------------------------------------------------- estimator


@pytest.fixture(scope="module")
def with_capacity():
    return TriageClassifier(LogisticRegression(), capacity=0.15).fit(X[:1200], Y[:1200])


@pytest.fixture(scope="module")
def guaranteed():
    return TriageClassifier(LogisticRegression(), subject_to=BOTH).fit(X[:1200], Y[:1200])


def test_reviews_of_new_samples_are_as_expected(with_capacity):
    low, high = with_capacity.review_share_interval_
    assert low < with_capacity.review_share_ <= 0.15 < high
    assert low < with_capacity.review_share(NEW_X) < high
    low, high = with_capacity.score_interval(NEW_Y.size)
    assert low <= with_capacity.score(NEW_X, NEW_Y) <= high
    alone = PlugInClassifier(LogisticRegression()).fit(X[:1200], Y[:1200]).score(NEW_X, NEW_Y)
    assert with_capacity.score(NEW_X, NEW_Y) > alone + 0.02


def test_predictions_agree_with_each_other(guaranteed):
    labels, review = guaranteed.predict(NEW_X), guaranteed.needs_review(NEW_X)
    assert np.array_equal(labels == -1, review) and 0 < review.sum() < review.size
    lower, upper = guaranteed.thresholds_
    chance = guaranteed.predict_proba(NEW_X)[:, 1]
    assert np.array_equal(labels == 1, chance > upper) and np.array_equal(labels == 0, chance <= lower)
    assert np.array_equal(np.sign(guaranteed.decision_function(NEW_X)), np.where(review, 0, 2 * (labels == 1) - 1))
    kept = ~review
    assert guaranteed.score(NEW_X, NEW_Y) == FBeta().score(NEW_Y[kept], labels[kept])
    assert guaranteed.guarantees_ == ["precision >= 0.9", "npv >= 0.95"]
    assert np.mean(NEW_Y[labels == 1]) > 0.88 and np.mean(NEW_Y[labels == 0] == 0) > 0.93


def test_texts_and_a_positive_class_that_comes_first(guaranteed):
    names = np.array(["no", "yes"])
    flipped = np.where(Y == 1, "a positive", "z")
    model = TriageClassifier(LogisticRegression(), subject_to=BOTH, pos_label="a positive").fit(
        X[:1200], flipped[:1200]
    )
    labels = model.predict(NEW_X)
    assert set(labels) == {"a positive", "review", "z"}
    translated = np.array(["z", "a positive", "review"])[guaranteed.predict(NEW_X)]
    assert np.mean(translated == labels) > 0.99
    margins = model.decision_function(NEW_X)
    assert np.array_equal(margins > 0, labels == "z") and np.array_equal(margins == 0, labels == "review")
    with pytest.raises(ValueError, match="Name the positive class"):
        TriageClassifier(LogisticRegression(), "accuracy", subject_to=BOTH).fit(X, names[Y])


def test_a_trained_classifier_is_used_as_it_is():
    learner = LogisticRegression().fit(X[:600], Y[:600])
    for wanted in ({"capacity": 0.2}, {"subject_to": BOTH}):
        model = TriageClassifier(learner, prefit=True, **wanted).fit(X[600:1800], Y[600:1800])
        assert model.estimator_ is learner
        assert 0.0 < model.review_share(X[1800:]) < 0.5
    inner = PlugInClassifier(LogisticRegression()).fit(X[:600], Y[:600])
    model = TriageClassifier(inner, prefit=True, capacity=0.2).fit(X[600:1800], Y[600:1800])
    assert np.array_equal(model.predict_proba(NEW_X), inner.predict_proba(NEW_X))


def test_decision_values_pipelines_and_groups():
    pipeline = make_pipeline(StandardScaler(), RidgeClassifier())
    groups = np.arange(1200) // 4
    alone = TriageClassifier(pipeline, capacity=0.1).fit(X[:1200], Y[:1200])
    grouped = TriageClassifier(pipeline, capacity=0.1).fit(X[:1200], Y[:1200], groups=groups)
    for model in (alone, grouped):
        assert not hasattr(model, "predict_proba") and model.thresholds_[0] < model.thresholds_[1]
        assert 0.05 < model.review_share(NEW_X) < 0.16
    clustered = TriageClassifier(LogisticRegression(), capacity=0.1).fit(
        np.repeat(X[:300], 4, axis=0), np.repeat(Y[:300], 4), groups=groups
    )
    width = np.diff(clustered.review_share_interval_)[0]
    assert width > 1.5 * np.diff(alone.review_share_interval_)[0]  # 300 samples, not 1200
    guaranteed = TriageClassifier(LogisticRegression(), subject_to="npv>=0.9").fit(X, Y, groups=np.arange(2400) // 2)
    assert guaranteed.thresholds_[1] == 1.0


def test_capacity_zero_sends_nothing_to_review():
    model = TriageClassifier(LogisticRegression(), capacity=0).fit(X[:1200], Y[:1200])
    assert not model.needs_review(NEW_X).any() and model.review_share_ == 0.0
    assert model.thresholds_[0] == model.thresholds_[1]
    default = TriageClassifier(LogisticRegression()).fit(X[:1200], Y[:1200])
    assert (
        default.thresholds_ == TriageClassifier(LogisticRegression(), capacity=0.1).fit(X[:1200], Y[:1200]).thresholds_
    )


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"capacity": 0.1, "subject_to": BOTH}, ValueError, "leave one of both out"),
        ({"capacity": 1.0}, ValueError, "capacity"),
        ({"measure": "roc_auc"}, TypeError, "no function of the contingency table"),
        ({"measure": "precision_at_k"}, TypeError, "no function of the contingency table"),
        ({"measure": "precision"}, ValueError, "'precision' alone is greatest"),
        ({"review_label": 1}, ValueError, "review_label=1 is one of the classes"),
        ({"subject_to": "precision>=0.999"}, UnreachableGuaranteeError, "precision >= 0.999 cannot be guaranteed"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    model = TriageClassifier(LogisticRegression(), **settings)
    with pytest.raises(error, match=message):
        model.fit(X[:600], Y[:600])
    assert not hasattr(model, "classes_")


def test_bad_samples_are_refused(with_capacity, guaranteed):
    with pytest.raises(ValueError, match="Only binary classification"):
        clone(with_capacity).fit(X[:90], np.arange(90) % 3)
    with pytest.raises(ValueError, match="a guarantee counts samples"):
        clone(guaranteed).fit(X, Y, sample_weight=np.arange(2400.0) + 1.0)
    all_reviewed = NEW_X[guaranteed.needs_review(NEW_X)]
    with pytest.raises(ValueError, match="nothing to score"):
        guaranteed.score(all_reviewed, np.zeros(len(all_reviewed)))
    with pytest.raises(ValueError, match="the model knows"):
        guaranteed.score(NEW_X, np.full(NEW_Y.size, "1"))
    with pytest.raises(AttributeError, match="read thresholds_"):
        guaranteed.threshold_  # noqa: B018
    with pytest.raises(AttributeError, match="fit again"):
        guaranteed.threshold_ = 0.5


def test_a_watch_leaves_reviewed_samples_out(guaranteed):
    labels = guaranteed.predict(NEW_X)
    monitor = GuaranteeMonitor(guaranteed).update(NEW_Y, labels, guaranteed.decision_function(NEW_X))
    assert not monitor.alarm and not monitor.score_warning
    assert monitor.n_seen == np.count_nonzero(labels != -1) and monitor.n_scores_seen == NEW_Y.size
    assert [one.n_counted for one in monitor.status] == [np.sum(labels == 1), np.sum(labels == 0)]
    wrong = np.where(labels == 1, 0, 1)
    assert GuaranteeMonitor(guaranteed).update(wrong, labels).alarm
    with pytest.raises(ValueError, match="y_true has the unknown label -1"):
        GuaranteeMonitor(guaranteed).update(np.full(labels.size, -1), labels)
    with pytest.raises(ValueError, match="trained without subject_to"):
        GuaranteeMonitor(TriageClassifier(LogisticRegression()).fit(X, Y))


def test_a_model_selection_is_wrapped_like_any_classifier():
    selection = MetricClassifier("f1", candidates={"line": LogisticRegression()}, cv=2)
    model = TriageClassifier(selection, capacity=0.2, cv=2).fit(X[:600], Y[:600])
    assert isinstance(model.estimator_, MetricClassifier)
    lower, upper = model.thresholds_
    chance = model.estimator_.predict_proba(NEW_X)[:, 1]
    assert np.array_equal(model.needs_review(NEW_X), (chance > lower) & (chance <= upper))


@pytest.mark.parametrize("outer", [TriageClassifier, PlugInClassifier])
@pytest.mark.parametrize(
    ("inner", "message"),
    [
        (PlugInClassifier(LogisticRegression(), subject_to="recall>=0.8"), "PlugInClassifier inside has subject_to="),
        (MetricClassifier("f1", subject_to="recall>=0.8"), r"MetricClassifier inside has subject_to='recall>=0.8'"),
        (TriageClassifier(LogisticRegression(), subject_to=BOTH), "TriageClassifier inside has subject_to="),
        (
            make_pipeline(StandardScaler(), PlugInClassifier(LogisticRegression(), subject_to="recall>=0.8 by region")),
            "PlugInClassifier inside has subject_to='recall>=0.8 by region'",
        ),
        (PlugInClassifier(LogisticRegression(), "recall_at_precision"), "inside has measure='recall_at_precision'"),
    ],
)
def test_constraints_of_the_classifier_inside_are_refused(outer, inner, message):
    with pytest.raises(ValueError, match=message) as caught:
        outer(inner).fit(X[:600], Y[:600])
    assert f"{outer.__name__}(..., subject_to=...)" in str(caught.value)


def test_constraints_of_a_trained_classifier_inside_are_refused():
    trained = PlugInClassifier(LogisticRegression(), subject_to="recall>=0.6", confidence=None).fit(X[:600], Y[:600])
    with pytest.raises(ValueError, match="would not keep"):
        TriageClassifier(trained, prefit=True).fit(NEW_X, NEW_Y)


def test_model_files_keep_reviews_and_refuse_damaged_thresholds(guaranteed, tmp_path):
    metricwise.save(guaranteed, tmp_path / "model.mw")
    loaded = metricwise.load(tmp_path / "model.mw")
    assert np.array_equal(loaded.predict(NEW_X), guaranteed.predict(NEW_X))
    assert loaded.review_share_interval_ == guaranteed.review_share_interval_
    assert loaded.guarantees_ == guaranteed.guarantees_ and loaded.score_interval(99) == guaranteed.score_interval(99)
    damaged = copy.deepcopy(guaranteed)
    damaged._decision = replace(damaged._decision, window=ReviewWindow(1.0, -1.0))
    with pytest.raises(ValueError, match="do not fit together"):
        metricwise.save(damaged, tmp_path / "damaged.mw")
        metricwise.load(tmp_path / "damaged.mw")


def test_constraints_are_in_the_order_of_the_labels():
    assert parse_review_constraints(["npv>=0.9", "precision>=0.8"]) == (
        Constraint.of("precision>=0.8"),
        Constraint.of("npv>=0.9"),
    )
