"""What a report says: weights, extreme numbers, thresholds, missing intervals and degenerate models."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.svm import LinearSVC

from metricwise import (
    BinaryRelevance,
    MetricClassifier,
    MultivariateSVC,
    PlugInClassifier,
    STAMPClassifier,
    Status,
    contingency_measure,
    get_measure,
    report,
)
from metricwise.reporting import overview
from metricwise.reporting.evaluation import evaluate
from metricwise.reporting.predictions import collect_predictions

X, Y = make_classification(800, 6, n_informative=4, n_redundant=0, weights=[0.8], random_state=3)
MODEL = LogisticRegression().fit(X[:400], Y[:400])
X_NEW, Y_NEW = X[400:], Y[400:]


def extract_problem(html: str) -> dict[str, Any]:
    found = re.search(r'id="explorer-data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    problem: dict[str, Any] = json.loads(found.group(1))["problems"][0]
    return problem


def without_script(html: str) -> str:
    return html[: html.index("<script>")]


def test_whole_weights_give_the_counts_and_values_of_copies() -> None:
    weights = np.arange(400) % 4  # some are zero
    copies = np.repeat(np.arange(400), weights)
    ours = report(MODEL, X_NEW, Y_NEW, sample_weight=weights, measure="f1")
    theirs = report(MODEL, X_NEW[copies], Y_NEW[copies], measure="f1")
    assert ours.value == pytest.approx(f1_score(Y_NEW, MODEL.predict(X_NEW), sample_weight=weights))
    own, its = extract_problem(ours.html), extract_problem(theirs.html)
    assert {name: own[name] for name in own if name != "t"} == {name: its[name] for name in its if name != "t"}
    confusion = re.compile(r'<table class="confusion">.*?</table>', re.DOTALL)
    assert confusion.findall(ours.html) == confusion.findall(theirs.html)
    # Copies tell nothing new, so the interval of weights is wider.
    assert np.subtract(*ours.interval) < np.subtract(*theirs.interval) < 0.0


def test_intervals_of_weighted_samples_equal_the_bootstrap() -> None:
    random = np.random.default_rng(0)
    weights = random.exponential(size=400) + np.where(Y_NEW, 3.0, 0.0)
    labels = MODEL.predict(X_NEW)
    resamples = weights * random.exponential(size=(2000, 400))
    tp, wrong = resamples @ (Y_NEW & labels), resamples @ (Y_NEW ^ labels)
    drawn = 2.0 * tp / (2.0 * tp + wrong)
    page = report(MODEL, X_NEW, Y_NEW, sample_weight=weights, measure="f1")
    assert page.interval == pytest.approx(np.quantile(drawn, [0.05, 0.95]), abs=0.012)
    scaled = report(MODEL, X_NEW, Y_NEW, sample_weight=1000.0 * weights, measure="f1")
    assert scaled.interval == pytest.approx(page.interval)
    area = report(MODEL, X_NEW, Y_NEW, sample_weight=weights, measure="roc_auc")
    assert area.value == pytest.approx(roc_auc_score(Y_NEW, MODEL.decision_function(X_NEW), sample_weight=weights))


def test_weights_count_in_multiclass_and_multilabel_pages() -> None:
    weights = np.random.default_rng(0).exponential(size=150)
    samples, classes = make_classification(300, n_informative=5, n_classes=3, random_state=0)
    model = LogisticRegression().fit(samples[:150], classes[:150])
    page = report(model, samples[150:], classes[150:], measure="f1_macro", sample_weight=weights)
    found = model.predict(samples[150:])
    assert page.value == pytest.approx(f1_score(classes[150:], found, average="macro", sample_weight=weights))
    assert f"with a total weight of {weights.sum():.1f}" in page.html
    samples, labels = make_multilabel_classification(300, 5, n_classes=3, random_state=0)
    model = BinaryRelevance(LogisticRegression(), "hamming").fit(samples[:150], labels[:150])
    page = report(model, samples[150:], labels[150:], measure="f1_macro", sample_weight=weights)
    found = model.predict(samples[150:])
    assert page.value == pytest.approx(f1_score(labels[150:], found, average="macro", sample_weight=weights))


@pytest.mark.parametrize(("weights", "message"), [(np.ones(3), "sample_weight"), (-np.ones(400), "egative")])
def test_invalid_weights_are_refused(weights: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        report(MODEL, X_NEW, Y_NEW, sample_weight=weights)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_extreme_scores_are_shown_as_they_are(size: float) -> None:
    model = LinearSVC().fit(X[:400], Y[:400])
    expected = report(model, X_NEW, Y_NEW).value
    model.coef_, model.intercept_ = size * model.coef_, size * model.intercept_
    page = report(model, X_NEW, Y_NEW)
    assert page.value == expected
    assert not re.search(r"\bnan\b|\binf\b|NaN|Infinity", without_script(page.html))
    problem = extract_problem(page.html)
    assert 0.1 * size < max(problem["t"]) < 100.0 * size


def test_values_of_a_large_measure_are_readable() -> None:
    saved = contingency_measure(lambda tp, fp, fn, tn: 1e200 * (tp + 1.0) / (tp + fp + fn + 1.0), name="saved")
    html = report(MODEL, X_NEW, Y_NEW, measure=saved).html
    assert re.search(r'<p class="value">\d\.?\d*e\+199</p>', html)
    assert not re.search(r"\bnan\b|\binf\b|NaN|Infinity|\d{30}", without_script(html))


def test_the_threshold_on_the_page_is_that_of_the_model() -> None:
    for model in (
        MultivariateSVC("f1"),
        PlugInClassifier(LogisticRegression(), "f1"),
        PlugInClassifier(LinearSVC(), "f1"),
        STAMPClassifier("f1"),
    ):
        model.fit(X[:400], Y[:400])
        problem = extract_problem(report(model, X_NEW, Y_NEW, importance_seconds=0.0).html)
        assert problem["t"][problem["start"]] == pytest.approx(model.threshold_)


def test_every_label_has_a_threshold_that_gives_its_labels() -> None:
    samples, labels = make_multilabel_classification(300, 5, n_classes=3, random_state=0)
    model = PlugInClassifier(LogisticRegression(), "f1_macro").fit(samples[:150], labels[:150])
    found = collect_predictions(model, samples[150:], labels[150:])
    assert [one.scale for one in found.problems] == ["probability"] * 3
    for one in found.problems:
        assert one.threshold is not None and np.array_equal(one.scores > one.threshold, one.predicted)


def test_the_precision_of_the_explorer_is_no_guarantee() -> None:
    html = report(MODEL, X_NEW, Y_NEW).html
    assert "<legend>Precision on these samples</legend>" in html
    assert "promise" not in html.lower() and "for a guarantee, train with subject_to and confidence" in html


def test_a_missing_interval_is_explained() -> None:
    model = MetricClassifier("f1", candidates=["logistic"], cv=3).fit(X[:400], Y[:400])
    assert "has no interval" not in report(model, X_NEW, Y_NEW).html
    model._records[-1] |= {"low": np.nan, "high": np.nan}  # as of a candidate for which time was over
    html = without_script(report(model, X_NEW, Y_NEW).html)
    assert "nan" not in html and "A candidate has no interval if time was over" in html
    tuned = PlugInClassifier(LogisticRegression(), "f1").fit(X[:400], Y[:400])
    tuned.expected_score_interval_ = (np.nan, np.nan)
    html = without_script(report(tuned, X_NEW, Y_NEW).html)
    assert "nan" not in html and "too few samples for an interval" in html


def test_a_measure_without_a_value_is_called_undefined() -> None:
    (evaluation,) = evaluate([collect_predictions(MODEL, X_NEW, Y_NEW)], get_measure("f1"))
    undefined = replace(evaluation, value=np.nan, draws=np.full(2, np.nan))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = collect_predictions(MODEL, X_NEW, Y_NEW)
        html = overview.headline("page", get_measure("f1"), undefined, found, "samples", True)
    assert "not defined" in html and "resamples of these samples leave the measure undefined" in html
    assert "nan" not in html


def test_a_degenerate_training_is_not_praised() -> None:
    model = MultivariateSVC("f1").fit(X[:400], Y[:400])
    assert "Certified: no weights have an objective more than" in report(model, X_NEW, Y_NEW).html
    model.coef_, model.intercept_ = 0.0 * model.coef_, 0.0 * model.intercept_
    model.threshold_ = 1.0
    model.result_ = replace(model.result_, status=Status.DEGENERATE)
    html = report(model, X_NEW, Y_NEW).html
    assert "The training is degenerate" in html and "Certified" not in html and "within 0 %" not in html
    constant = f1_score(Y_NEW, np.ones(400))
    assert f"On these samples its F1 is 0.000; the best constant prediction has {constant:.3f}." in html


def test_every_page_names_the_best_constant_prediction() -> None:
    constant = f1_score(Y_NEW, np.ones(400))
    assert f"The best constant prediction, which needs no model, has {constant:.3f}" in report(MODEL, X_NEW, Y_NEW).html
    area = report(MODEL, X_NEW, Y_NEW, measure="roc_auc").html
    assert "The best constant prediction, which needs no model, has 0.500" in area


def test_a_model_that_found_nothing_may_find_something_yet() -> None:
    model = LinearSVC().fit(X[:400], Y[:400])
    model.intercept_ = np.array([-99.0])
    page = report(model, X_NEW, Y_NEW)
    low, high = page.interval
    n_pos = int(Y_NEW.sum())
    assert page.value == 0.0 and low < 1e-3
    assert 1.0 / n_pos < high < 8.0 / n_pos  # Jeffreys: at most 1.9 of the positives with probability 0.95


def test_the_members_of_a_forest_are_no_layer_of_the_model() -> None:
    html = report(RandomForestClassifier(5, random_state=0).fit(X[:400], Y[:400]), X_NEW, Y_NEW).html
    assert "<strong>RandomForestClassifier</strong>" in html and "DecisionTreeClassifier" not in html
