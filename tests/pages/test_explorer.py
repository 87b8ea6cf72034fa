"""The explorer in a real browser, compared with scikit-learn's metrics at the same threshold."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from metricwise import FBeta, PlugInClassifier, report

REFERENCES = {
    "precision": lambda y, p: metrics.precision_score(y, p, zero_division=0),
    "recall": metrics.recall_score,
    "specificity": lambda y, p: metrics.recall_score(y, p, pos_label=0),
    "f1": metrics.f1_score,
    "f2": lambda y, p: metrics.fbeta_score(y, p, beta=2),
    "f0.5": lambda y, p: metrics.fbeta_score(y, p, beta=0.5),
    "jaccard": metrics.jaccard_score,
    "accuracy": metrics.accuracy_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "matthews_corrcoef": metrics.matthews_corrcoef,
    "cohen_kappa": metrics.cohen_kappa_score,
    "own": lambda y, p: metrics.fbeta_score(y, p, beta=3),
}


def keys(name: str) -> str:
    from selenium.webdriver.common.keys import Keys

    return str(getattr(Keys, name))


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Return a page about the digit 8 with a measure that the script does not know by name."""
    X, digit = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, (digit == 8).astype(int), stratify=digit == 8, random_state=0)
    model = make_pipeline(MinMaxScaler(), LogisticRegression()).fit(X, y)
    path = tmp_path_factory.mktemp("digits") / "report.html"
    report(model, X_test, y_test, path, measure=FBeta(3.0))
    return SimpleNamespace(
        path=path,
        model=model,
        X=X_test,
        y=y_test,
        scores=model.predict_proba(X_test)[:, 1],
        labels=model.predict(X_test),
    )


@pytest.fixture
def page(browser: Any, digits: SimpleNamespace) -> Any:
    browser.open(digits.path)
    return browser


def check_shown_values(page: Any, y: np.ndarray, labels: np.ndarray) -> None:
    """Check that all shown values equal scikit-learn's for these labels."""
    tn, fp, fn, tp = metrics.confusion_matrix(y, labels).ravel()
    assert page.counts() == (tp, fp, fn, tn)
    shown = page.measures()
    for name, reference in REFERENCES.items():
        assert shown[name] == pytest.approx(reference(y, labels), abs=5.1e-4), name
    tpr, tnr = tp / (tp + fn), tn / (tn + fp)
    assert shown["g_mean"] == pytest.approx(np.sqrt(tpr * tnr), abs=5.1e-4)
    assert shown["h_mean"] == pytest.approx(2 * tpr * tnr / (tpr + tnr), abs=5.1e-4)
    assert shown["q_mean"] == pytest.approx(1 - np.hypot(1 - tpr, 1 - tnr) / np.sqrt(2), abs=5.1e-4)
    assert shown["min_rate"] == pytest.approx(min(tpr, tnr), abs=5.1e-4)


def test_the_slider_starts_at_the_labels_of_the_model(page: Any, digits: SimpleNamespace) -> None:
    assert page.threshold() == 0.5
    check_shown_values(page, digits.y, digits.labels)


def test_the_keyboard_moves_the_slider(page: Any, digits: SimpleNamespace) -> None:
    slider = page.find("#explorer-step")
    before = page.threshold()
    slider.send_keys(keys("ARROW_LEFT") * 3)
    after = page.threshold()
    assert after < before
    check_shown_values(page, digits.y, digits.scores > after)
    slider.send_keys(keys("ARROW_RIGHT") * 3)
    assert page.threshold() == before
    slider.send_keys(keys("HOME"))
    assert page.counts()[2:] == (0, 0)  # all samples are predicted positive
    slider.send_keys(keys("END"))
    assert page.counts()[:2] == (0, 0)


@pytest.mark.parametrize("share", [0.1, 0.45, 0.8, 0.97])
def test_all_values_equal_scikit_learn_at_every_threshold(page: Any, digits: SimpleNamespace, share: float) -> None:
    page.set("#explorer-step", int(share * float(page.find("#explorer-step").get_attribute("max"))))
    check_shown_values(page, digits.y, digits.scores > page.threshold())
    assert (
        page.find("#explorer-step").get_attribute("aria-valuetext") == f"threshold {page.text('#explorer-threshold')}"
    )


@pytest.mark.parametrize("percent", [70, 90, 95, 100])
def test_a_precision_constraint_finds_the_largest_recall(page: Any, digits: SimpleNamespace, percent: int) -> None:
    page.set("#explorer-precision", percent)
    precision, recall, _ = metrics.precision_recall_curve(digits.y, digits.scores)
    reached = recall[:-1][precision[:-1] >= percent / 100].max()
    tp, fp, fn, _ = page.counts()
    assert tp / (tp + fp) >= percent / 100
    assert tp / (tp + fn) == pytest.approx(reached)
    check_shown_values(page, digits.y, digits.scores > page.threshold())


@pytest.mark.parametrize(("alarm", "miss"), [(1, 1), (1, 20), (7.5, 1)])
def test_costs_find_the_threshold_of_least_cost(page: Any, digits: SimpleNamespace, alarm: float, miss: float) -> None:
    page.set("#explorer-alarm", alarm)
    page.set("#explorer-miss", miss)
    page.find("#explorer-cheapest").click()
    cuts = np.concatenate([[-1.0], np.unique(digits.scores)])
    costs = [
        alarm * np.sum((digits.scores > cut) & (digits.y == 0))
        + miss * np.sum((digits.scores <= cut) & (digits.y == 1))
        for cut in cuts
    ]
    assert page.number("#explorer-cost") == pytest.approx(min(costs))
    check_shown_values(page, digits.y, digits.scores > page.threshold())


def test_a_typed_threshold_is_applied_and_can_be_reset(page: Any, digits: SimpleNamespace) -> None:
    typed = page.find("#explorer-typed")
    typed.clear()
    typed.send_keys("0.2" + keys("ENTER"))
    assert page.threshold() == pytest.approx(0.2, abs=0.05)
    check_shown_values(page, digits.y, digits.scores > page.threshold())
    page.find("#explorer-reset").click()
    assert page.threshold() == 0.5


def test_changes_are_announced_and_the_marker_moves(page: Any, digits: SimpleNamespace) -> None:
    where = "return document.querySelector('svg[data-live=pr] .live').getAttribute('transform')"
    before = page.run(where)
    page.set("#explorer-precision", 100)
    assert page.run(where) != before
    page.run("return new Promise(done => setTimeout(done, 300))")
    tp = page.counts()[0]
    assert f"{tp:.0f} of {digits.y.sum()} positives are found" in page.text("#explorer-said")
    page.set("#explorer-precision", 400)
    page.run("return new Promise(done => setTimeout(done, 250))")
    assert "between 0 and 100" in page.text("#explorer-said")


def test_an_unreachable_constraint_is_reported(browser: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 3)), random.integers(0, 2, 300)
    X[0], y[0] = 99.0, 0  # the highest score is a negative, so that precision 1 is unreachable
    model = LogisticRegression().fit(X[1:], X[1:, 0] > 0)
    report(model, X, y.astype(bool), tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    before = browser.counts()
    browser.set("#explorer-precision", 100)
    browser.run("return new Promise(done => setTimeout(done, 300))")
    assert "No threshold has a precision of 100 %" in browser.text("#explorer-said")
    assert browser.counts() == before


def test_each_class_can_be_explored(browser: Any, tmp_path: Path) -> None:
    X, y = make_classification(600, n_informative=5, n_classes=3, random_state=0)
    names = np.array(["ash", "beech", "oak"])[y]
    model = PlugInClassifier(LogisticRegression(), "f1_macro").fit(X[:300], names[:300])
    report(model, X[300:], names[300:], tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    browser.set("#explorer-problem", 2, "change")
    browser.set("#explorer-precision", 80)
    labels = model.predict_proba(X[300:])[:, 2] > browser.threshold()
    truth = names[300:] == "oak"
    tn, fp, fn, tp = metrics.confusion_matrix(truth, labels).ravel()
    assert browser.counts() == (tp, fp, fn, tn)
    assert browser.measures()["f1"] == pytest.approx(metrics.f1_score(truth, labels), abs=5.1e-4)
    assert browser.run("return [...document.querySelectorAll('[data-problem]')].map(e => e.hidden)") == [
        True,
        True,
        False,
    ]


def test_weights_of_samples_are_summed(browser: Any, digits: SimpleNamespace, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).exponential(size=digits.y.size)
    report(digits.model, digits.X, digits.y, tmp_path / "page.html", sample_weight=weights, measure=FBeta(3.0))
    browser.open(tmp_path / "page.html")
    before = browser.counts()
    browser.set("#explorer-step", int(0.7 * float(browser.find("#explorer-step").get_attribute("max"))))
    labels = digits.scores > browser.threshold()
    tn, fp, fn, tp = metrics.confusion_matrix(digits.y, labels, sample_weight=weights).ravel()
    assert browser.counts() == pytest.approx((tp, fp, fn, tn), abs=0.051) and browser.counts() != before
    expected = metrics.f1_score(digits.y, labels, sample_weight=weights)
    assert browser.measures()["f1"] == pytest.approx(expected, abs=5.1e-4)
    assert browser.errors() == []


def test_values_of_many_samples_are_exact(browser: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(60_000, 2))
    y = X[:, 0] + random.logistic(size=60_000) > 3.0
    model = LogisticRegression().fit(X[:5000], y[:5000])
    scores = model.predict_proba(X)[:, 1]
    report(model, X, y, tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    assert float(browser.find("#explorer-step").get_attribute("max")) < 2500
    order = np.argsort(-scores)
    tp, fp = np.cumsum(y[order]), np.cumsum(~y[order])
    for percent in (40, 55):
        browser.set("#explorer-precision", percent)
        assert browser.counts()[0] == tp[tp / (tp + fp) >= percent / 100].max()
    for miss in (3, 11):
        browser.set("#explorer-miss", miss)
        assert browser.number("#explorer-cost") == min((fp + miss * (y.sum() - tp)).min(), miss * y.sum())
        found = scores > browser.threshold()
        assert browser.counts() == (np.sum(found & y), np.sum(found & ~y), np.sum(~found & y), np.sum(~found & ~y))
