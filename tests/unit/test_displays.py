"""Matplotlib displays draw the values that scikit-learn computes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from metricwise import (
    ConvergenceDisplay,
    LeaderboardDisplay,
    MeasureCurveDisplay,
    MetricClassifier,
    MultivariateSVC,
    STAMPClassifier,
)

X, Y = make_classification(600, weights=[0.8], random_state=0)


@pytest.fixture(autouse=True)
def pyplot() -> Iterator[Any]:
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    yield plt
    plt.close("all")


def test_measure_curve_of_an_estimator_equals_scikit_learn() -> None:
    model = LogisticRegression().fit(X[:300], Y[:300])
    display = MeasureCurveDisplay.from_estimator(model, X[300:], Y[300:], measure="f1", color="C3")
    scores = model.predict_proba(X[300:])[:, 1]
    for threshold, value in zip(display.thresholds[::40], display.values[::40], strict=True):
        assert value == pytest.approx(f1_score(Y[300:], scores > threshold, zero_division=0))
    assert display.chosen == 0.5
    assert np.all(display.low <= display.high)
    assert display.ax_.get_ylabel() == "F1" and display.line_.get_color() == "C3"
    assert display.ax_.get_legend_handles_labels()[1] == ["LogisticRegression"]


def test_weights_count_in_the_measure_curve() -> None:
    weights = np.arange(300) % 3  # some are zero
    model = LogisticRegression().fit(X[:300], Y[:300])
    scores = model.predict_proba(X[300:])[:, 1]
    own = MeasureCurveDisplay.from_estimator(model, X[300:], Y[300:], measure="f1", sample_weight=weights)
    also = MeasureCurveDisplay.from_predictions(Y[300:], scores, measure="f1", sample_weight=weights)
    for display in (own, also):
        for threshold, value in zip(display.thresholds[::40], display.values[::40], strict=True):
            expected = f1_score(Y[300:], scores > threshold, sample_weight=weights, zero_division=0)
            assert value == pytest.approx(expected)


def test_measure_curve_is_drawn_on_given_axes(pyplot: Any) -> None:
    _, ax = pyplot.subplots()
    scores = X[:, 0]
    labels = np.where(Y == 1, "a", "b")
    display = MeasureCurveDisplay.from_predictions(
        labels, scores, measure="g_mean", pos_label="a", threshold=0.3, ax=ax
    )
    assert display.ax_ is ax and display.chosen == 0.3
    assert ax.get_ylabel() == "G-mean" and ax.get_legend() is None


def test_measure_curve_raises_for_multiclass_or_unequal_lengths() -> None:
    with pytest.raises(ValueError, match="two classes"):
        MeasureCurveDisplay.from_predictions([0, 1, 2], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="y_true has 2 samples but y_score has 3"):
        MeasureCurveDisplay.from_predictions([0, 1], [0.1, 0.2, 0.3])
    multiclass = LogisticRegression().fit(X, np.arange(600) % 3)
    with pytest.raises(ValueError, match="needs two classes"):
        MeasureCurveDisplay.from_estimator(multiclass, X, np.arange(600) % 3)


@pytest.mark.parametrize("by", ["iteration", "seconds"])
def test_convergence_shows_both_bounds(by: Any) -> None:
    model = make_pipeline(StandardScaler(), MultivariateSVC("f1")).fit(X, Y)
    display = ConvergenceDisplay.from_estimator(model, by=by)
    upper, lower = (line.get_ydata() for line in display.lines_)
    assert upper[-1] == model[-1].result_.history[-1].objective
    assert np.all(np.asarray(lower) <= np.asarray(upper) + 1e-9)
    assert display.ax_.get_xlabel() == by


def test_convergence_of_a_stream_shows_its_measure() -> None:
    model = STAMPClassifier("f1").fit(X, Y)
    display = ConvergenceDisplay.from_estimator(model)
    assert display.ax_.get_xlabel() == "samples"
    assert list(display.lines_[0].get_ydata()) == [entry.measure for entry in model.result_.history]


def test_models_without_a_history_raise() -> None:
    with pytest.raises(ValueError, match="keeps no result_"):
        ConvergenceDisplay.from_estimator(LogisticRegression().fit(X, Y))
    with pytest.raises(ValueError, match="has no leaderboard"):
        LeaderboardDisplay.from_estimator(LogisticRegression().fit(X, Y))
    with pytest.raises(ValueError, match="'iteration' or 'seconds'"):
        ConvergenceDisplay(STAMPClassifier("f1").fit(X, Y).result_, by="rows")  # type: ignore[arg-type]


def test_leaderboard_ranks_the_candidates() -> None:
    model = MetricClassifier("f1", candidates=["logistic"]).fit(X, Y)
    display = LeaderboardDisplay.from_estimator(model)
    values = [record["value"] for record in model._records]
    assert len(display.ax_.get_yticklabels()) == len(values)
    assert display.ax_.get_yticklabels()[-1].get_text().startswith("logistic regression")
