"""What model selection makes of a time budget, on a clock that only learners advance: the same on every machine."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier

from metricwise import MetricClassifier
from metricwise.estimators.selection import clock, final_training, halving
from metricwise.estimators.selection.clock import OutOfTimeError
from metricwise.estimators.selection.schedule import Schedule

NOW = SimpleNamespace(seconds=0.0)


def run_within(seconds, function, n_threads=None):
    """Return what a function returns, or give up after the seconds if the clock says that it took longer."""
    started = NOW.seconds
    result = function() if seconds > 0.0 else None
    if seconds <= 0.0 or NOW.seconds - started > seconds:
        NOW.seconds = started + max(seconds, 0.0)
        raise OutOfTimeError
    return result


@pytest.fixture(autouse=True)
def simulated_time(monkeypatch):
    NOW.seconds = 0.0
    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=lambda: NOW.seconds))
    for module in (halving, final_training):
        monkeypatch.setattr(module, "run_within", run_within)


def make_data(n_samples, seed=0, share=0.1):
    X, y = make_classification(n_samples + 4000, 20, n_informative=6, weights=[1.0 - share], random_state=seed)
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]


@pytest.mark.parametrize("seed", range(2))
def test_fold_models_keep_the_threshold_that_was_chosen_for_them(monkeypatch, seed):
    # Trees score samples that they were trained with almost certainly. The average of fold models, one of which has not
    # seen a sample, must not pass for a shift of these scores.
    monkeypatch.setattr(Schedule, "final_limit", lambda *_: None)
    X, y, X_new, y_new = make_data(1900, seed)
    trees = {"trees": ExtraTreesClassifier(50, random_state=0)}
    model = MetricClassifier("f1", candidates=trees, time_budget=60.0).fit(X, y)
    assert len(model.best_estimator_) == 5
    assert model.score(X_new, y_new) > model.expected_score_ - 0.1
