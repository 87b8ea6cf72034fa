"""What the bar shows of model selection: rung, candidate, best so far, time left."""

from __future__ import annotations

import re

import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from metricwise import MetricClassifier, contingency_measure
from metricwise.estimators.selection import halving
from metricwise.estimators.selection.candidate_run import CandidateRun
from metricwise.estimators.selection.candidates.candidate import Candidate
from metricwise.estimators.selection.clock import Clock
from metricwise.estimators.selection.schedule import Schedule
from metricwise.estimators.selection.selection_progress import SelectionProgress
from metricwise.measures import get_measure
from metricwise.progress import Stage

X, Y = make_classification(2200, 5, weights=[0.7], random_state=0)
COST = contingency_measure(lambda tp, fp, fn, tn: 5 * fn + fp, name="cost", greater_is_better=False)


class RecordedStage(Stage):
    """A stage that remembers what it showed."""

    def __init__(self):
        super().__init__()
        self.shown = []

    def update(self, text, fraction=None, seconds_left=None):
        super().update(text, fraction, seconds_left)
        self.shown.append((text, fraction, seconds_left))


def make_progress(sizes=(1000, 4000), budget=None, measure="f1"):
    return SelectionProgress(RecordedStage(), Schedule(Clock(budget)), get_measure(measure), 4000.0, sizes)


def make_runs(*names):
    return [CandidateRun(Candidate(name, None)) for name in names]


def finish(run, value, seconds, n_samples=1000):
    run.value = value
    run.record_time(3.0 * seconds, 3, n_samples)
    run.trained_share = 1.0  # a final training takes as long as that of a fold, for round numbers


def test_the_line_has_rung_candidate_and_best():
    progress, runs = make_progress(), make_runs("linear", "bayes", "trees")
    progress.show_candidate(runs, runs, 0, 3)
    assert progress.stage.text == "rung 1 of 2, linear (1 of 3)"
    finish(runs[0], 0.6, 1.0)
    progress.show_candidate(runs, runs, 1, 3)
    finish(runs[1], 0.7, 1.0)
    progress.show_candidate(runs, runs, 2, 3)
    assert progress.stage.text == "rung 1 of 2, trees (3 of 3), best f1 0.700 (bayes)"
    finish(runs[2], 0.5, 1.0)
    runs[2].why_dropped, progress.rung = "clearly behind", 1
    finish(runs[0], 0.65, 2.0, 4000)
    progress.show_candidate(runs, runs[:2], 1, 5)
    assert progress.stage.text == "rung 2 of 2, bayes (2 of 2), best f1 0.650 (linear)"
    progress.show_final(runs, runs[:1])
    assert progress.stage.text == "training the selected model, best f1 0.650 (linear)"
    assert progress.stage.shown[-1][2] == pytest.approx(2.0)


def test_the_time_left_is_that_of_candidates_and_rungs_to_come():
    progress, runs = make_progress(sizes=(1000,)), make_runs("linear", "bayes", "trees", "svm", "boosted")
    for position in range(5):
        progress.show_candidate(runs, runs, position, 3)
        finish(runs[position], 0.5, 1.0 + position)
    left = [seconds for _, _, seconds in progress.stage.shown]
    assert left[:3] == [None, None, None]
    assert left[3] == pytest.approx(2 * 3 * 2.0 + 4 * 2.0)  # two of them and four final trainings, of 2 s on average
    assert left[4] == pytest.approx(3 * 2.5 + 4 * 2.5)
    fractions = [fraction for _, fraction, _ in progress.stage.shown]
    assert fractions == sorted(fractions) and 0.0 <= fractions[0] <= fractions[-1] <= 1.0
    larger = make_progress()  # a second rung, of four times as many samples and five folds
    larger.show_candidate(runs, runs, 4, 3)
    assert larger.stage.shown[0][2] == pytest.approx(3 * 5.0 + 4 * 5 * 3.0 * 2.5 + 4 * 3.0 * 2.5)


def test_a_time_budget_bounds_the_time_left():
    progress, runs = make_progress(budget=100.0), make_runs("linear", "bayes")
    progress.show_candidate(runs, runs, 0, 3)
    assert progress.stage.shown[-1][2] == pytest.approx(100.0, abs=1.0)
    finish(runs[0], 0.5, 1000.0)
    progress.show_candidate(runs, runs, 1, 3)
    assert progress.stage.shown[-1][2] == pytest.approx(100.0, abs=1.0)
    finish(runs[0], 0.5, 1e-3)
    progress.show_candidate(runs, runs, 1, 3)
    assert progress.stage.shown[-1][2] < 1.0


def test_costs_are_shown_as_costs():
    progress, runs = make_progress(measure=COST), make_runs("linear", "bayes")
    finish(runs[0], COST.value(tp=1500, fp=100, fn=200, tn=2200), 1.0)
    finish(runs[1], COST.value(tp=1400, fp=100, fn=300, tn=2200), 1.0)
    progress.show_candidate(runs, runs, 1, 3)
    assert progress.stage.text.endswith("best cost 1100 (linear)")


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_selection_shows_every_candidate_of_every_rung(monkeypatch, n_jobs):
    shown, lines = [], []
    update = Stage.update

    def record(stage, text, fraction=None, seconds_left=None):
        update(stage, text, fraction, seconds_left)
        shown.append(text)

    monkeypatch.setattr(Stage, "update", record)
    monkeypatch.setattr(halving, "_FIRST_SAMPLES", 1000)
    learners = {"linear": LogisticRegression(), "bayes": GaussianNB()}
    MetricClassifier("f1", candidates=learners, n_jobs=n_jobs, callback=lines.append).fit(X, Y)
    own = [text for text in shown if text.startswith(("rung", "training"))]
    assert own[0] == "rung 1 of 2, linear (1 of 2)"
    assert re.fullmatch(r"rung 1 of 2, bayes \(2 of 2\), best f1 0\.\d{3} \(linear\)", own[1])
    assert re.fullmatch(r"training the selected model, best f1 0\.\d{3} \(\w+\)", own[-1])
    assert any(text.startswith("rung 2 of 2, ") for text in own)
    assert "fold 3 of 3" in shown and "fold 5 of 5" in shown
    assert len(lines) == len(own) - 1 and re.fullmatch(r"1000 samples: linear  0\.\d{4}", lines[0])
