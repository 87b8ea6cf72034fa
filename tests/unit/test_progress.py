"""Progress of training: what is shown, where, and by which estimators."""

from __future__ import annotations

import io
import sys
import time
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression

import metricwise as mw
from metricwise import progress, registry
from metricwise.progress import ProgressBar, Stage, choose_display, show_progress

X, Y = make_classification(200, 5, weights=[0.7], random_state=0)
LABELS, LABEL_MATRIX = make_multilabel_classification(100, 5, n_classes=3, random_state=0)


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show progress at once, and often."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(progress, "_DELAY", 0.01)
    monkeypatch.setattr(progress, "_BETWEEN_REDRAWS", 0.005)
    monkeypatch.setattr(progress, "_BETWEEN_LINES", 0.005)


def show_stages(stream: io.StringIO, verbose: int | None, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what is written while two nested blocks run."""
    monkeypatch.setattr(sys, "stderr", stream)
    with show_progress("MetricClassifier", verbose) as stage:
        stage.update("candidate 2 of 4", 0.25)
        with show_progress("MultivariateSVC", 1) as inner:
            inner.update("iteration 7", 0.9)
            wait_for(stream, 5.0 if verbose or (verbose is None and stream.isatty()) else 0.1)
    return stream.getvalue()


def wait_for(stream: io.StringIO, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while "iteration 7" not in stream.getvalue() and time.monotonic() < deadline:
        time.sleep(0.005)


@pytest.mark.usefixtures("quick")
def test_a_terminal_has_one_bar_which_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    written = show_stages(Terminal(), None, monkeypatch)
    line = "\r[###---------]  25 %  0:00  MetricClassifier: candidate 2 of 4, iteration 7"
    assert line in written and "\n" not in written
    assert written.endswith(f"\r{' ' * (len(line) - 1)}\r")


@pytest.mark.usefixtures("quick")
def test_lines_are_written_to_other_streams_only_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert show_stages(io.StringIO(), None, monkeypatch) == ""
    for stream in (io.StringIO(), Terminal()):
        assert show_stages(stream, 0, monkeypatch) == ""
    *lines, last = show_stages(io.StringIO(), 1, monkeypatch).splitlines()
    assert lines and all(line.endswith("MetricClassifier: candidate 2 of 4, iteration 7") for line in lines)
    assert last == "0:00  MetricClassifier: finished"
    assert show_stages(Terminal(), 1, monkeypatch).endswith("0:00  MetricClassifier: finished\n")


@pytest.mark.parametrize("width", [79, 99, 119])
def test_what_matters_most_comes_first_and_fits(width: int) -> None:
    bar = ProgressBar("MetricClassifier", "none")
    with bar.add_stage() as stage, bar.add_stage() as fold:
        stage.update("rung 2 of 3, extra trees (3 of 8), best f1 0.731 (boosted trees)", 0.25, seconds_left=40.0)
        fold.update("fold 2 of 5", 0.2)
        line = bar.line(width)
        assert len(line) <= width
        assert ("25 %" in line) == (width > 80)
        for part in ("0:00, about 40 s left", "rung 2 of 3", "extra trees (3 of 8)", "best f1 0.731"):
            assert part in line
        assert ("[###---------]" in line) == (width > 100)
        stage.update("rung 2 of 3", 0.25, seconds_left=-1.0)
        assert "left" not in bar.line()
        assert bar.line(20) == " 25 %  0:00  rung 2 "


def test_nothing_is_shown_of_work_that_is_soon_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    assert progress._DELAY == 2.0
    with show_progress("PlugInClassifier") as stage:
        stage.update("fold 1 of 5", 0.0)
    assert stream.getvalue() == ""


def test_an_error_removes_the_bar_and_its_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with pytest.raises(ZeroDivisionError), show_progress("first", 1) as stage:
        stage.update(str(1 // 0))
    assert stream.getvalue() == ""
    with show_progress("second", 1):
        pass
    assert stream.getvalue() == "0:00  second: finished\n"


def test_notebooks_have_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    output = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
    monkeypatch.setattr(sys, "stderr", output())
    assert choose_display(None) == "notebook"
    monkeypatch.setattr(sys, "stderr", None)  # pythonw has none
    assert choose_display(1) == "none"


def test_worker_processes_show_nothing() -> None:
    assert joblib.Parallel(2)(joblib.delayed(choose_display)(1) for _ in range(2)) == ["none", "none"]


@pytest.mark.parametrize(
    ("gap", "share"), [(1.0, 0.0), (5.0, 0.0), (0.1, 1 / 3), (1e-4, 1.0), (0.0, 1.0), (np.inf, None), (np.nan, None)]
)
def test_the_share_of_a_gap_is_logarithmic(gap: float, share: float | None) -> None:
    found = progress.share_of_gap(gap, 1e-3)
    assert found == (None if share is None else pytest.approx(share))


MODELS: dict[str, tuple[Any, str]] = {
    "MetricClassifier": (
        mw.MetricClassifier(candidates={"linear": LogisticRegression()}, cv=2),
        "rung 1 of 1, linear (1 of 1), fold 2 of 2",
    ),
    "PlugInClassifier": (mw.PlugInClassifier(LogisticRegression(), cv=2), "fold 2 of 2"),
    "CostSensitiveClassifier": (mw.CostSensitiveClassifier(LogisticRegression(), cv=2, max_iter=1), "fold 2 of 2"),
    "TriageClassifier": (mw.TriageClassifier(LogisticRegression(), cv=2), "fold 2 of 2"),
    "AdaptedSVC": (mw.AdaptedSVC(estimators=[("line", LogisticRegression())], cv=2), "training 3 of 3"),
    "MultivariateSVC": (mw.MultivariateSVC(cv=2), "fold 2 of 2, iteration 1, gap "),
    "AUCSVC": (mw.AUCSVC(threshold="train"), "iteration 1, gap "),
    "RankingSVC": (mw.RankingSVC(), "iteration 1, gap "),
    "SmoothedSVC": (mw.SmoothedSVC(threshold="train"), "iteration 1, gap "),
    "FeatureSelectingSVC": (mw.FeatureSelectingSVC(threshold="train", n_features=3), "iteration 1, gap "),
    "SparseCodingClassifier": (mw.SparseCodingClassifier(threshold="train", max_iter=2), "iteration 1, gap "),
    "AMPClassifier": (mw.AMPClassifier(threshold="train"), "iteration 1, gap "),
    "SPADEClassifier": (mw.SPADEClassifier("g_mean", n_passes=2), "pass 2 of 2, "),
    "STAMPClassifier": (mw.STAMPClassifier(n_passes=2), "pass 2 of 2, "),
    "MiniBatchSVC": (mw.MiniBatchSVC("precision_at_k", n_passes=2), "pass 2 of 2, "),
    "OnlineMetricClassifier": (mw.OnlineMetricClassifier(), "samples, measure "),
    "BinaryRelevance": (mw.BinaryRelevance(LogisticRegression()), "label 3 of 3"),
    "ProbabilisticClassifierChain": (mw.ProbabilisticClassifierChain(LogisticRegression()), "label 3 of 3"),
}


@pytest.mark.parametrize("name", [entry.name for entry in registry.entries()])
@pytest.mark.filterwarnings("ignore")
def test_every_estimator_shows_its_stages(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    update = Stage.update

    def record(stage: Stage, text: str, fraction: float | None = None, seconds_left: float | None = None) -> None:
        update(stage, text, fraction, seconds_left)
        bar = progress._current.get()
        assert isinstance(bar, ProgressBar)
        if bar._title == "":  # of a fold beside others
            return
        assert fraction is None or 0.0 <= fraction <= 1.0
        lines.append(bar.line())

    monkeypatch.setattr(Stage, "update", record)
    model, text = MODELS[name]
    assert model.get_params()["verbose"] is None
    model.fit(*((LABELS, LABEL_MATRIX) if text.startswith("label") else (X, Y)))
    assert all(f"  {name}: " in line for line in lines)
    assert any(text in line for line in lines), lines[:20]
    assert progress._current.get() is None


def test_verbose_belongs_to_the_training_and_not_to_the_model(tmp_path: Any) -> None:
    model = mw.PlugInClassifier(LogisticRegression(), verbose=0).fit(X, Y)
    mw.save(model, tmp_path / "model.mw")
    assert mw.load(tmp_path / "model.mw").verbose is None
    with pytest.raises(ValueError, match="verbose"):
        mw.MultivariateSVC(verbose="yes").fit(X, Y)
