"""What notebooks show of estimators and results."""

from __future__ import annotations

import io
import sys
import time
import types
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.utils import estimator_html_repr

import metricwise as mw
from metricwise import progress, registry
from metricwise.estimators.summary import ShowsSummary, summarise
from metricwise.notebook.curves import Line, draw_interval, draw_lines
from metricwise.progress import show_progress

X, Y = make_classification(300, 5, weights=[0.7], class_sep=1.5, random_state=0)
SVG = "{http://www.w3.org/2000/svg}svg"


def parse(html: str) -> ElementTree.Element:
    """Return the tree of HTML that is well-formed as XML, too."""
    return ElementTree.fromstring(f"<div>{html}</div>")


def read_rows(html: str) -> dict[str, str]:
    """Return the texts of the tables' rows by that of their first cell."""
    rows = ([" ".join(cell.itertext()).strip() for cell in row] for row in parse(html).iter("tr"))
    return {name: " | ".join(cells) for name, *cells in rows}


@pytest.fixture(scope="module")
def svm() -> Any:
    return mw.MultivariateSVC("f1").fit(X, Y)


@pytest.fixture(scope="module")
def plug_in() -> Any:
    return mw.PlugInClassifier(LogisticRegression(), "f1", subject_to="precision>=0.5", confidence=None).fit(X, Y)


@pytest.mark.parametrize("entry", registry.entries(), ids=lambda entry: entry.name)
def test_every_estimator_shows_a_summary(entry: Any) -> None:
    bases = entry.load().__mro__
    assert bases.index(ShowsSummary) < bases.index(BaseEstimator)


def test_a_fitted_estimator_adds_to_the_diagram(svm: Any) -> None:
    for html in (svm._repr_html_(), svm._repr_mimebundle_()["text/html"]):
        assert html.endswith(summarise(svm)) and "sk-top-container" in html
    assert "sk-top-container" in estimator_html_repr(svm)  # of scikit-learn, as it is
    rows = read_rows(summarise(svm))
    assert rows["measure"] == "F1" and rows["threshold"] == f"{svm.threshold_:.4g}"
    assert rows["training"].startswith(f"optimal, {svm.n_iter_} iterations")
    assert rows["certificate"].startswith("no weights have an objective more than 0.")
    assert len(list(parse(summarise(svm)).iter(SVG))) == 1


def test_an_estimator_that_is_not_fitted_shows_the_diagram_alone() -> None:
    model = mw.PlugInClassifier(LogisticRegression())
    assert summarise(model) == "" and 'class="metricwise"' not in model._repr_html_()


def test_text_is_shown_where_text_is_asked_for(svm: Any) -> None:
    with sklearn.config_context(display="text"):
        assert list(svm._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(svm, "_repr_html_")


def test_expectation_constraints_and_a_new_threshold(plug_in: Any) -> None:
    rows = read_rows(summarise(plug_in))
    low, high = plug_in.expected_score_interval_
    assert rows["expected on new samples (90 %)"] == f"{plug_in.expected_score_:.3f} ({low:.3f} to {high:.3f})"
    assert rows["trained subject to"] == "precision >= 0.5, on out-of-fold samples"
    assert rows["threshold"] == f"{plug_in.threshold_:.4g}"
    changed = mw.adapt_prior(mw.PlugInClassifier(LogisticRegression(), "f1").fit(X, Y), prior=0.5)
    assert read_rows(summarise(changed))["adapted to the prior"].startswith("0.5 (given")
    changed.threshold_ = 0.3
    assert read_rows(summarise(changed))["threshold"] == "0.3, assigned after training"


def test_groups_reviews_streams_and_labels() -> None:
    region = np.where(np.arange(300) % 2, "<north>", "south")
    model = mw.PlugInClassifier(
        LogisticRegression(), subject_to="recall>=0.5 by region", group_thresholds=True, confidence=None
    ).fit(X, Y, sensitive_features={"region": region})
    rows = read_rows(summarise(model))
    assert rows["threshold of each group"].startswith("<north>: 0.") and "threshold" not in rows
    assert "recall >= 0.5 by region" in rows["trained subject to"]
    assert "sent to review (90 %)" in read_rows(summarise(mw.TriageClassifier(LogisticRegression()).fit(X, Y)))
    online = read_rows(summarise(mw.OnlineMetricClassifier().fit(X, Y)))
    assert "on samples before they were learnt from (90 %)" in online and "on samples not learnt from" not in online
    labels = make_multilabel_classification(100, 5, n_classes=3, random_state=0)
    chain = read_rows(summarise(mw.BinaryRelevance(LogisticRegression()).fit(*labels)))
    assert chain == {"labels": "3", "inference": "meuf"}


def test_each_of_several_classes_has_a_certificate_up_to_six() -> None:
    samples = np.random.default_rng(0).normal(size=(160, 12))
    samples[np.arange(160), np.arange(160) % 8] += 4.0
    model = mw.MultivariateSVC("f1", threshold="train").fit(samples, np.array([f"<{k % 8}>" for k in range(160)]))
    rows = read_rows(summarise(model))
    assert rows["training, class <0>"].startswith("optimal: no weights have") and "training, class <6>" not in rows
    assert rows["training, other classes"] == "2 more in result_" and rows["thresholds"].endswith(" and 2 more")
    assert list(parse(summarise(model)).iter(SVG)) == []


def test_a_model_selection_shows_its_leaderboard() -> None:
    model = mw.MetricClassifier("f1", candidates={"<img>": LogisticRegression(), "other": LogisticRegression(C=1e-6)})
    model.fit(X, Y)
    rows = read_rows(summarise(model))
    assert rows["candidate"].startswith("F1 | 90 % interval") and {"<img>", "other"} <= set(rows)
    assert rows["<img>"].startswith(f"{model.leaderboard_['value'][0]:.3f} | ")
    model._records = [dict(model._records[0], value=np.nan, why_dropped="not installed")] * 12
    assert "2 more in leaderboard_." in summarise(model)
    assert read_rows(summarise(model))["<img>"] == "– | not installed |  | – | – | –"


def test_a_fallback_is_named() -> None:
    overlapping = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.warns(mw.DegenerateOptimumWarning):
        model = mw.MultivariateSVC("f1").fit(overlapping, np.arange(300) % 10 == 0)
    assert "for the accuracy with " in read_rows(summarise(model))["certificate"]
    assert "accuracy, positives weigh" in read_rows(model.result_._repr_html_())["trained for"]


def test_results_are_tables_with_a_curve(svm: Any) -> None:
    html = svm.result_._repr_html_()
    assert read_rows(html)["status"] == "optimal" and "no weights are better" in html
    assert read_rows(svm.result_.history._repr_html_())["entries"] == str(len(svm.result_.history))
    assert read_rows(mw.History()._repr_html_()) == {"entries": "0"}
    bounds = {"upper": "10", "lower": "9.9", "gap": "0.1", "relative gap": "0.01"}
    assert read_rows(mw.Certificate(10.0, 9.9)._repr_html_()) == bounds
    assert read_rows(mw.Certificate(10.0, -np.inf)._repr_html_())["lower"] == "no bound is known"


def test_streams_show_the_measure_on_samples_not_learnt_from() -> None:
    result = mw.STAMPClassifier("f1").fit(*make_classification(1500, weights=[0.8], random_state=0)).result_
    measured = f"{result.history[-1].measure:.3f}"
    assert read_rows(result._repr_html_())["measure on samples not learnt from"] == measured
    assert read_rows(result.history._repr_html_())["measure"] == measured
    assert "measure on samples not learnt from</text>" in result._repr_html_()


def test_a_monitor_shows_guarantees_and_evidence() -> None:
    monitor = mw.GuaranteeMonitor(["precision>=0.9", "recall>=0.1"])
    assert "No alarm in 0 outcomes" in monitor._repr_html_() and "not defined" in monitor._repr_html_()
    random = np.random.default_rng(0)
    html = monitor.update(random.random(400) < 0.7, np.ones(400))._repr_html_()
    assert "Alarm in 400 outcomes" in html and "evidence against precision &gt;= 0.9" in html
    assert read_rows(html)["precision >= 0.9"].endswith(f"at outcome {monitor.status[0].alarm_at}")
    assert read_rows(html)["recall >= 0.1"].endswith("| no")


def test_a_monitor_of_a_model_reports_its_scores() -> None:
    model = mw.PlugInClassifier(LogisticRegression(), "f1", subject_to="precision>=0.5").fit(X, Y)
    monitor = mw.GuaranteeMonitor(model).update_scores(model.decision_function(X))
    assert "The scores show no change (300 seen)." in monitor._repr_html_()


def test_what_is_not_defined_is_not_drawn() -> None:
    assert draw_interval(np.nan, (0.0, 1.0)) == draw_interval(0.5, (0.0, np.inf)) == ""
    assert draw_lines([1.0], [Line([1.0], "one")], "x", (0.0, 1.0)) == ""
    assert draw_lines([1.0, 2.0], [Line([1.0, 1.0], "level")], "x", (1.0, 1.0)) == ""


def test_names_of_lines_avoid_the_lines() -> None:
    """A line at the top leaves the lower corners to its name, one at the bottom the upper ones."""
    x, heights = np.arange(10.0), []
    for level in (0.05, 0.95):
        chart = parse(draw_lines(x, [Line(np.full(10, level), "name")], "x", (0.0, 1.0)))
        (name,) = (one for one in chart.iter("{http://www.w3.org/2000/svg}text") if one.text == "name")
        heights.append(float(name.get("y", "nan")))
    assert heights[0] < 30.0 and heights[1] > 100.0


# ------------------------------------------------------------------------------------------------------------- progress


class FakeOutput:
    """Stands in for the output of a cell; records what is shown."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> FakeOutput:
        assert raw and display_id and not self.shown
        self.update(data, raw=True)
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw and set(data) == {"text/plain", "text/html"}
        self.shown.append(data)


def start_notebook(monkeypatch: pytest.MonkeyPatch) -> FakeOutput:
    """Set up as much of a notebook as progress needs; nothing may be written to its standard error."""
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(stream, "write", lambda text: pytest.fail(f"written: {text!r}"))
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_DELAY", 0.01)
    monkeypatch.setattr(progress, "_BETWEEN_REDRAWS", 0.005)
    found = FakeOutput()
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    module = types.ModuleType("IPython.display")
    monkeypatch.setattr(module, "display", found.display, raising=False)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return found


def _shows_candidate(shown: dict[str, str]) -> bool:
    """Return whether progress is shown that was reported after the first redraws of a busy machine."""
    return "candidate" in shown["text/plain"]


@pytest.mark.parametrize("verbose", [None, 1])
def test_a_notebook_has_one_output_that_is_replaced(verbose: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    output = start_notebook(monkeypatch)
    with show_progress("MetricClassifier", verbose) as stage:
        stage.update("candidate <2> of 4", 0.25)
        deadline = time.monotonic() + 5.0
        while sum(map(_shows_candidate, output.shown)) < 2 and time.monotonic() < deadline:
            time.sleep(0.005)
    first, last = next(filter(_shows_candidate, output.shown)), output.shown[-1]
    bar = parse(first["text/html"]).find("div/progress")
    assert bar is not None and bar.get("value") == "0.250"
    assert first["text/plain"] == "[###---------]  25 %  0:00  MetricClassifier: candidate <2> of 4"
    assert "candidate &lt;2&gt; of 4" in first["text/html"] and "[###" not in first["text/html"]
    assert last["text/plain"] == ("0:00  MetricClassifier: finished" if verbose else "")
    assert verbose or last["text/html"] == ""


def test_a_notebook_shows_nothing_of_short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    output = start_notebook(monkeypatch)
    monkeypatch.setattr(progress, "_DELAY", 10.0)
    with show_progress("MetricClassifier"):
        pass
    assert output.shown == []
