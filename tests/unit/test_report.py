"""The report without a browser: numbers against independent references, data, file and errors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, f1_score, precision_recall_curve, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from metricwise import (
    Accuracy,
    BinaryRelevance,
    MultivariateSVC,
    PlugInClassifier,
    STAMPClassifier,
    contingency_measure,
    get_measure,
    report,
)
from metricwise.reporting.evaluation import evaluate, measure_curve, resolve_measure
from metricwise.reporting.models import explanation_of, leaderboard_of
from metricwise.reporting.precision_recall import precision_recall_band
from metricwise.reporting.predictions import Predictions, Problem, collect_predictions
from metricwise.reporting.steps import make_steps

X, Y = make_classification(800, 6, n_informative=4, n_redundant=0, weights=[0.8], random_state=3)
MODEL = LogisticRegression().fit(X[:400], Y[:400])
X_NEW, Y_NEW = X[400:], Y[400:]


def extract_problems(html: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="explorer-data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    problems: list[dict[str, Any]] = json.loads(found.group(1))["problems"]
    return problems


def make_predictions(truth: np.ndarray, scores: np.ndarray, threshold: float = 0.5) -> Predictions:
    problem = Problem("1", 1, truth, scores > threshold, scores, "probability", threshold, np.ones(truth.size))
    return Predictions("binary", ["0", "1"], [problem])


# ------------------------------------------------------------------------------------------------------- the numbers


def test_the_value_is_the_measure_of_the_labels() -> None:
    page = report(MODEL, X_NEW, Y_NEW)
    assert page.value == pytest.approx(f1_score(Y_NEW, MODEL.predict(X_NEW)))
    assert f'<p class="value">{page.value:.3f}</p>' in page.html


def test_the_interval_of_accuracy_equals_that_of_a_proportion() -> None:
    right = int(np.sum(MODEL.predict(X_NEW) == Y_NEW))
    page = report(MODEL, X_NEW, Y_NEW, measure="accuracy")
    assert page.interval == pytest.approx(beta.ppf([0.05, 0.95], right, len(Y_NEW) - right), abs=3e-3)


def test_the_interval_of_the_roc_area_equals_the_bootstrap() -> None:
    scores = MODEL.decision_function(X_NEW)
    random = np.random.default_rng(0)
    areas = [
        roc_auc_score(Y_NEW[samples], scores[samples]) for samples in (random.integers(0, 400, 400) for _ in range(200))
    ]
    page = report(MODEL, X_NEW, Y_NEW, measure="roc_auc")
    assert page.value == pytest.approx(roc_auc_score(Y_NEW, scores))
    assert page.interval == pytest.approx(np.quantile(areas, [0.05, 0.95]), abs=0.012)


def test_binned_bootstrap_of_a_large_roc_area_has_the_right_error() -> None:
    random = np.random.default_rng(0)
    truth = random.random(40_000) < 0.3
    scores, other = (1 / (1 + np.exp(-(truth * 1.2 + random.normal(size=truth.size)))) for _ in range(2))
    own, its = evaluate([make_predictions(truth, scores), make_predictions(truth, other)], get_measure("roc_auc"))
    # The standard error of an area by Hanley and McNeil is close to that of DeLong for normal scores.
    area = roc_auc_score(truth, scores)
    n_pos, n_neg = truth.sum(), (~truth).sum()
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    error = np.sqrt((area * (1 - area) + (n_pos - 1) * (q1 - area**2) + (n_neg - 1) * (q2 - area**2)) / (n_pos * n_neg))
    assert own.value == pytest.approx(area)
    assert np.std(own.draws) == pytest.approx(error, rel=0.2)
    assert np.std(own.draws - its.draws) == pytest.approx(np.sqrt(2) * error, rel=0.2)  # independent scores


@pytest.mark.parametrize("n_samples", [40, 4000])
def test_perfect_labels_have_an_interval_below_one(n_samples: int) -> None:
    truth = np.arange(n_samples) % 4 == 0
    (evaluation,) = evaluate([make_predictions(truth, truth.astype(float))], get_measure("f1"))
    low, high = evaluation.interval
    # Jeffreys: half a miss and half a false alarm, one mistake on average.
    assert evaluation.value == 1.0
    assert 1.0 - low == pytest.approx(3.0 / (n_samples / 2.0), rel=0.15)  # its 95 % quantile is 3 mistakes
    assert high > 1.0 - 0.1 / (n_samples / 4.0)


def test_differences_are_paired() -> None:
    random = np.random.default_rng(1)
    truth = random.random(1000) < 0.5
    scores = np.where(random.random(1000) < 0.8, truth, ~truth).astype(float)
    nearly = scores.copy()
    nearly[:3] = 1 - nearly[:3]
    own, its = evaluate([make_predictions(truth, scores), make_predictions(truth, nearly)], Accuracy())
    difference, low, high = own.ahead_of(its)
    assert difference == pytest.approx(own.value - its.value)
    assert high - low < 0.3 * np.subtract(*own.interval[::-1])
    assert own.interval[0] < own.value < own.interval[1]


@pytest.mark.parametrize("measure", ["f1_macro", "f1_micro", "matthews_corrcoef", "accuracy"])
def test_multiclass_values_equal_the_measure(measure: str) -> None:
    samples, classes = make_classification(500, n_informative=5, n_classes=4, random_state=0)
    model = LogisticRegression(max_iter=500).fit(samples[:250], classes[:250])
    found = collect_predictions(model, samples[250:], classes[250:])
    judged_by = get_measure(measure)
    (evaluation,) = evaluate([found], resolve_measure(judged_by, found))
    score = getattr(judged_by, "multiclass_score", judged_by.score)
    assert evaluation.value == pytest.approx(score(classes[250:], model.predict(samples[250:])))
    assert evaluation.interval[0] < evaluation.value < evaluation.interval[1]


@pytest.mark.parametrize("measure", ["f1_macro", "f1_micro", "f1_samples"])
def test_multilabel_values_equal_the_measure(measure: str) -> None:
    samples, labels = make_multilabel_classification(300, 5, n_classes=4, random_state=0)
    model = BinaryRelevance(LogisticRegression(), "hamming").fit(samples[:150], labels[:150])
    own = {"measure": measure, "label_names": ["a", "b", "c", "d<"], "importance_seconds": 0.1}
    page = report(model, samples[150:], labels[150:], **own)
    assert page.value == pytest.approx(get_measure(measure).score(labels[150:], model.predict(samples[150:])))
    assert len(extract_problems(page.html)) == 4 and "d&lt;" in page.html


def test_binary_macro_averages_use_both_classes() -> None:
    expected = f1_score(Y_NEW, MODEL.predict(X_NEW), average="macro")
    assert report(MODEL, X_NEW, Y_NEW, measure="f1_macro").value == pytest.approx(expected)


def test_the_confidence_band_equals_the_bootstrap() -> None:
    found = collect_predictions(MODEL, X_NEW, Y_NEW)
    steps = make_steps(found.problems[0])
    values, low, high = measure_curve(steps, get_measure("f1"))  # type: ignore[arg-type]
    at = steps.own
    labels = MODEL.predict(X_NEW)
    random = np.random.default_rng(0)
    drawn = [f1_score(Y_NEW[r], labels[r]) for r in (random.integers(0, 400, 400) for _ in range(200))]
    assert values[at] == pytest.approx(f1_score(Y_NEW, labels))
    assert (low[at], high[at]) == pytest.approx(np.quantile(drawn, [0.05, 0.95]), abs=0.02)


@pytest.mark.parametrize("n_copies", [1, 20])  # of 8000 samples, only some thresholds are steps
def test_the_precision_recall_band_equals_the_bootstrap(n_copies: int) -> None:
    random = np.random.default_rng(0)
    truth = np.tile(Y_NEW == 1, n_copies)
    scores = np.tile(MODEL.predict_proba(X_NEW)[:, 1], n_copies) + 1e-3 * random.random(truth.size)
    problem = make_predictions(truth, scores).problems[0]
    band = precision_recall_band(problem, make_steps(problem))
    assert band is not None and band.area == pytest.approx(average_precision_score(truth, scores))

    def precision_at(recall: float, drawn: np.ndarray) -> float:
        precisions, recalls, _ = precision_recall_curve(truth[drawn], scores[drawn])
        return float(precisions[recalls >= recall - 1e-12][-1])

    draws = [random.integers(0, truth.size, truth.size) for _ in range(200)]
    areas = [average_precision_score(truth[drawn], scores[drawn]) for drawn in draws]
    width = np.ptp(np.quantile(areas, [0.05, 0.95]))
    assert band.interval == pytest.approx(np.quantile(areas, [0.05, 0.95]), abs=0.25 * width)
    at = int(np.argmin(np.abs(band.recall - 0.6)))
    ends = np.quantile([precision_at(0.6, drawn) for drawn in draws], [0.05, 0.95])
    assert (band.low[at], band.high[at]) == pytest.approx(ends, abs=0.25 * np.ptp(ends))


def test_a_perfect_ranking_has_the_area_one() -> None:
    problem = make_predictions(Y_NEW == 1, Y_NEW + 0.0).problems[0]
    band = precision_recall_band(problem, make_steps(problem))
    assert band is not None and band.area == 1.0 and band.interval == pytest.approx((1.0, 1.0))
    assert band.low == pytest.approx(1.0) and band.high == pytest.approx(1.0)


def test_one_class_has_no_precision_recall_band() -> None:
    problem = make_predictions(np.zeros(50, dtype=bool), np.linspace(0.0, 1.0, 50)).problems[0]
    assert precision_recall_band(problem, make_steps(problem)) is None


def test_the_page_shows_average_precision_with_its_interval() -> None:
    page = report(MODEL, X_NEW, Y_NEW, measure="average_precision")
    value = average_precision_score(Y_NEW, MODEL.predict_proba(X_NEW)[:, 1])
    assert page.value == pytest.approx(value)
    assert f"area {value:.3f} (" in page.html and f"The area, average precision, is {value:.3f}; its 90 %" in page.html


# ------------------------------------------------------------------------------------------------------- thresholds


@pytest.mark.parametrize("ties", [False, True])
def test_every_threshold_has_the_exact_counts(ties: bool) -> None:
    random = np.random.default_rng(2)
    scores = random.beta(0.5, 3.0, 30_000)
    scores = np.round(scores, 4) if ties else scores
    truth = random.random(30_000) < scores
    steps = make_steps(make_predictions(truth, scores, 0.37).problems[0])
    assert steps.thresholds.size < 2600
    assert np.all(np.diff(steps.thresholds) > 0)
    assert steps.thresholds[steps.own] == 0.37
    for k in random.integers(0, steps.thresholds.size, 60):
        predicted = scores > steps.thresholds[k]
        assert (steps.tp[k], steps.fp[k]) == (np.sum(truth & predicted), np.sum(~truth & predicted))


def test_thinned_curves_deviate_by_less_than_a_pixel() -> None:
    random = np.random.default_rng(2)
    scores = random.beta(0.5, 3.0, 100_000)
    truth = random.random(100_000) < scores
    steps = make_steps(make_predictions(truth, scores).problems[0])
    order = np.argsort(-scores)
    tp, fp = np.cumsum(truth[order]), np.cumsum(~truth[order])
    shown = np.interp(fp / fp[-1], steps.false_positive_rate[::-1], steps.recall[::-1])
    assert np.abs(shown - tp / tp[-1]).max() < 0.003  # under a pixel
    predicted = tp + fp
    precision = np.interp(predicted, (steps.tp + steps.fp)[::-1], steps.precision[::-1])
    assert np.abs(precision - tp / predicted).max() < 0.005


def test_the_page_of_many_samples_is_small() -> None:
    random = np.random.default_rng(0)
    samples = random.normal(size=(200_000, 3))
    truth = samples[:, 0] + random.normal(size=200_000) > 2.0
    page = report(LogisticRegression().fit(samples[:5000], truth[:5000]), samples, truth)
    assert len(page.html.encode()) < 300_000


# ----------------------------------------------------------------------------------------------- all types of models


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), LinearSVC()),
        RandomForestClassifier(20, random_state=0),
        GaussianNB(),
        GridSearchCV(
            make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1.0]}, cv=3
        ),
        MultivariateSVC("g_mean"),
        PlugInClassifier(LogisticRegression(), "f1", pos_label="Yes"),
        PlugInClassifier(LogisticRegression(), "f1", threshold="batch", pos_label="Yes"),
        STAMPClassifier("f1", pos_label="maybe"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_slider_starts_at_the_labels_of_any_model(model: Any) -> None:
    labels = np.where(Y == 1, "Yes", "maybe")  # "Yes" sorts first and is the minority class
    model.fit(X[:400], labels[:400])
    page = report(model, X_NEW, labels[400:], pos_label="Yes", measure="f1", importance_seconds=0.2)
    (problem,) = extract_problems(page.html)
    predicted = model.predict(X_NEW) == "Yes"
    truth = labels[400:] == "Yes"
    assert problem["name"] == "Yes"
    assert problem["tp"][problem["start"]] == np.sum(predicted & truth)
    assert problem["fp"][problem["start"]] == np.sum(predicted & ~truth)
    assert page.value == pytest.approx(f1_score(truth, predicted))


def test_custom_measures_are_reported() -> None:
    own = contingency_measure(lambda tp, fp, fn, tn: tp / (tp + 2.0 * fp + fn + 1e-9), name="strict <b>")
    page = report(MODEL, X_NEW, Y_NEW, measure=own)
    (problem,) = extract_problems(page.html)
    tp, fp = np.array(problem["tp"]), np.array(problem["fp"])
    assert problem["own"] == pytest.approx(tp / (tp + 2.0 * fp + problem["pos"] - tp + 1e-9), abs=1e-6)
    assert "strict &lt;b&gt;" in page.html and "strict <b>" not in page.html


def test_the_certificate_and_parameters_are_reported() -> None:
    model = make_pipeline(StandardScaler(), MultivariateSVC("f1", C=0.5)).fit(X[:400], Y[:400])
    html = report(model, X_NEW, Y_NEW).html
    result = model[-1].result_
    assert f"{result.certificate.upper:.6g}" in html and f"{result.certificate.lower:.6g}" in html
    assert "“optimal”" in html and '<td class="words">0.5</td>' in html


# -------------------------------------------------------------------------------------------------- file and errors


def test_the_page_is_saved_atomically(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    page = report(MODEL, X_NEW, Y_NEW, path)
    assert path.read_text("utf-8") == page.html
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="folder that exists"):
        page.save(tmp_path / "missing" / "page.html")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        page.save(tmp_path / "folder")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "page.html"]


def test_same_input_gives_the_same_page() -> None:
    assert report(MODEL, X_NEW, Y_NEW).html == report(MODEL, X_NEW, Y_NEW).html


def test_notebooks_show_the_page_in_a_frame() -> None:
    page = report(MODEL, X_NEW, Y_NEW)
    assert page._repr_html_().startswith('<iframe title="report" srcdoc="&lt;!DOCTYPE html&gt;')


def test_the_page_loads_no_external_resource() -> None:
    html = report(MODEL, X_NEW, Y_NEW, compare={"nb": GaussianNB().fit(X[:400], Y[:400])}).html
    assert not re.search(r"""(src|href)\s*=\s*["'](?!data:|#)""", html)
    assert "url(" not in html and "@import" not in html and "http://" not in html and "https://" not in html


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"model": Ridge().fit(X, Y)}, TypeError, "neither predict_proba nor decision_function"),
        ({"model": LogisticRegression()}, NotFittedError, "not fitted"),
        ({"y": Y_NEW[:-1]}, ValueError, "give a label for every sample"),
        ({"y": np.full(400, 7)}, ValueError, "label 7, which the model does not know"),
        ({"y": np.linspace(0, 1, 400)}, ValueError, "must hold classes"),
        ({"confidence": 90}, ValueError, "between 0 and 1"),
        ({"measure": "f7"}, ValueError, "There is no measure 'f7'"),
        ({"feature_names": ["a"]}, ValueError, "1 names, but X has 6 columns"),
        ({"pos_label": 5}, ValueError, "pos_label=5 is not a label"),
    ],
)
def test_invalid_input_is_named(change: dict[str, Any], error: type[Exception], message: str) -> None:
    settings: dict[str, Any] = {"model": MODEL, "X": X_NEW, "y": Y_NEW, **change}
    with pytest.raises(error, match=re.escape(message)):
        report(**settings)


@pytest.mark.parametrize("truth", [0, 1])
def test_samples_of_one_class_are_reported(truth: int) -> None:
    page = report(MODEL, X_NEW[:50], np.full(50, truth))
    assert page.value == pytest.approx(f1_score(np.full(50, truth), MODEL.predict(X_NEW[:50]), zero_division=0))


@pytest.mark.parametrize("predicted", [False, True])
def test_a_class_that_is_never_or_always_predicted_is_reported(predicted: bool) -> None:
    model = LinearSVC().fit(X[:400], Y[:400])
    model.intercept_ = np.array([99.0 if predicted else -99.0])
    (problem,) = extract_problems(report(model, X_NEW, Y_NEW).html)
    assert problem["tp"][problem["start"]] + problem["fp"][problem["start"]] == 400 * predicted
    multiclass = LogisticRegression().fit(X[:400], np.arange(400) % 3)
    multiclass.intercept_ = np.array([99.0, 0.0, 0.0])
    found = collect_predictions(multiclass, X_NEW, np.arange(400) % 3)
    assert [np.sum(one.scores > one.threshold) for one in found.problems] == [400, 0, 0]


class _ExplainedRegression(LogisticRegression):
    """A classifier of another package with methods and attributes that `MetricClassifier` has, too."""

    _records = "of something else"

    def explain(self, X: Any) -> Any:
        """Return something about samples."""
        return self.decision_function(X)


def test_another_classifier_that_explains_is_no_model_selection() -> None:
    assert explanation_of(_ExplainedRegression()) is None
    assert leaderboard_of(_ExplainedRegression()) == []
