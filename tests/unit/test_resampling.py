"""Intervals of test samples in groups: whole groups are drawn, in evaluations and on the page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from metricwise import RecallAtK, get_measure, report
from metricwise.reporting.charts import compute_calibration
from metricwise.reporting.displays import MeasureCurveDisplay
from metricwise.reporting.evaluation import evaluate
from metricwise.reporting.importance import ImportanceSettings, compute_importance
from metricwise.reporting.predictions import Predictions, Problem, collect_predictions
from metricwise.reporting.resampling import SampleGroups

SIZE = 10  # samples of a group


def draw_groups(seed: int, n_groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels and scores that the samples of a group nearly share, and the groups."""
    random = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), SIZE)
    truth = (random.uniform(size=n_groups) < 0.4)[groups]
    scores = 1.2 * truth + random.normal(size=n_groups)[groups] + 0.3 * random.normal(size=groups.size)
    return truth, scores, groups


def predict(truth: np.ndarray, scores: np.ndarray, groups: np.ndarray | None = None) -> Predictions:
    ones = np.ones(truth.size)
    found = Predictions("binary", ["0", "1"], [Problem("1", 1, truth, scores > 0.7, scores, "score", 0.7, ones)])
    return replace(found, groups=SampleGroups.of(groups, found.strata))


@pytest.mark.parametrize(
    ("name", "n_groups", "n_trials"), [("f1", 12, 60), ("f1", 40, 60), ("accuracy", 40, 60), ("roc_auc", 40, 15)]
)
def test_intervals_of_groups_cover_the_measure_of_all_groups(name: str, n_groups: int, n_trials: int) -> None:
    """Intervals of 90 % hold the measure of the population, which is that of very many groups."""
    measure = get_measure(name)
    truth, scores, _ = draw_groups(1000, 20_000)
    expected = measure.score(truth, scores if measure.response == "scores" else scores > 0.7)
    inside = {True: 0, False: 0}
    for seed in range(n_trials):
        truth, scores, groups = draw_groups(seed, n_groups)
        for is_grouped in inside:
            (found,) = evaluate([predict(truth, scores, groups if is_grouped else None)], measure)
            low, high = found.interval
            assert low <= found.value <= high
            inside[is_grouped] += low <= expected <= high
    assert 0.8 * n_trials <= inside[True]
    assert inside[False] < 0.7 * n_trials


def test_groups_of_one_sample_are_samples() -> None:
    truth, scores, _ = draw_groups(0, 60)
    for name in ("f1", "roc_auc"):
        alone, grouped = (
            evaluate([predict(truth, scores, groups)], get_measure(name))[0] for groups in (None, np.arange(truth.size))
        )
        assert grouped.value == alone.value
        np.testing.assert_allclose(grouped.interval, alone.interval, atol=0.015)


def test_the_difference_of_two_models_is_paired_by_groups() -> None:
    truth, scores, groups = draw_groups(0, 60)
    other = scores - 0.1
    first, second = evaluate([predict(truth, scores, groups), predict(truth, other, groups)], get_measure("f1"))
    low, high = first.ahead_of(second)[1:]
    assert high - low < 0.5 * (first.interval[1] - first.interval[0])
    same, again = evaluate([predict(truth, scores, groups)] * 2, get_measure("f1"))
    assert same.ahead_of(again) == (0.0, 0.0, 0.0)


def test_a_whole_group_may_fail_though_none_has() -> None:
    truth = np.repeat(np.arange(20) % 2 == 0, 30)
    groups = np.repeat(np.arange(20), 30)
    alone, grouped = (
        evaluate([predict(truth, truth * 2.0, given)], get_measure("accuracy"))[0] for given in (None, groups)
    )
    assert alone.value == grouped.value == grouped.interval[1] == 1.0
    assert 0.85 < grouped.interval[0] < alone.interval[0] - 0.02


def test_resamples_with_fewer_samples_than_are_predicted_positive_are_left_out() -> None:
    truth, scores, groups = draw_groups(0, 16)
    measure = RecallAtK(k=float(0.9 / truth.mean()))  # nine tenths of the samples, and more than all in many resamples
    (found,) = evaluate([predict(truth, scores, groups)], measure)
    low, high = found.interval
    assert found.value == measure.score(truth, scores) and low <= found.value <= high < 1.0 + 1e-9
    assert found.draws.size < 300


@pytest.mark.parametrize("kind", ["multiclass", "multilabel"])
def test_groups_of_other_tasks(kind: str) -> None:
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 10)
    samples = random.normal(size=(30, 3))[groups]
    y = np.repeat(np.arange(30) % 3, 10) if kind == "multiclass" else (samples + random.normal(size=(300, 3)) > 0) * 1
    measure, widths = get_measure("f1_macro"), []
    model = OneVsRestClassifier(LogisticRegression()).fit(samples, y)
    for given in (None, groups):
        (found,) = evaluate([collect_predictions(model, samples, y, groups=given)], measure)
        widths.append(found.interval[1] - found.interval[0])
    assert widths[1] > 1.3 * widths[0]


# ------------------------------------------------------------------------------------------------------------- the page


def draw_patients() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    truth, scores, groups = draw_groups(3, 60)
    samples = np.column_stack([scores, np.random.default_rng(0).normal(size=scores.size)])
    return samples, truth.astype(int), groups


SAMPLES, Y, GROUPS = draw_patients()
MODEL = LogisticRegression().fit(SAMPLES, Y)


def test_the_page_is_about_new_groups() -> None:
    alone, grouped = (
        report(MODEL, SAMPLES, Y, measure="f1", groups=groups, importance_seconds=0.1) for groups in (None, GROUPS)
    )
    assert grouped.value == alone.value
    widths = [page.interval[1] - page.interval[0] for page in (alone, grouped)]
    assert widths[1] > 1.5 * widths[0]
    assert "600 samples in 60 groups" in grouped.html and "in the choice of these groups" in grouped.html
    assert "groups" not in alone.html[: alone.html.index("</header>")]


def test_all_intervals_of_the_page_are_wider_with_groups() -> None:
    groups = SampleGroups.of(GROUPS, Y)
    (problem,) = collect_predictions(MODEL, SAMPLES, Y).problems
    assert problem.scale == "probability"
    calibrations = [compute_calibration(problem, 0.9, given) for given in (None, groups)]
    assert np.all(calibrations[1].high - calibrations[1].low > 1.3 * (calibrations[0].high - calibrations[0].low))
    np.testing.assert_array_equal(calibrations[1].observed, calibrations[0].observed)
    settings = ImportanceSettings(seconds=0.1)
    losses = [
        compute_importance(MODEL, SAMPLES, Y, get_measure("f1"), 1, None, settings, given) for given in (None, groups)
    ]
    first, second = (np.diff(found.intervals[0])[0] for found in losses if found and found.intervals is not None)
    assert second > 1.2 * first


def test_the_band_of_a_curve_is_wider_with_groups() -> None:
    pytest.importorskip("matplotlib")
    bands = [MeasureCurveDisplay.from_estimator(MODEL, SAMPLES, Y, groups=groups) for groups in (None, GROUPS)]
    scores = MODEL.decision_function(SAMPLES)
    bands += [MeasureCurveDisplay.from_predictions(Y, scores, groups=groups) for groups in (None, GROUPS)]
    widths = [float(np.mean(band.high - band.low)) for band in bands]
    assert widths[1] > 1.5 * widths[0] and widths[3] > 1.5 * widths[2]


def test_groups_and_weights_together() -> None:
    weights = np.where(np.arange(Y.size) % 3 == 0, 0.0, 2.0)
    kept = weights > 0.0
    weighted = collect_predictions(MODEL, SAMPLES, Y, sample_weight=weights, groups=GROUPS)
    part = collect_predictions(MODEL, SAMPLES[kept], Y[kept], groups=GROUPS[kept])
    first, second = (evaluate([found], get_measure("f1"))[0] for found in (weighted, part))
    assert first.value == second.value and first.interval == pytest.approx(second.interval)
    pages = [
        report(MODEL, SAMPLES, Y, measure="f1", sample_weight=weights, groups=GROUPS, importance_seconds=0.1),
        report(MODEL, SAMPLES[kept], Y[kept], measure="f1", groups=GROUPS[kept], importance_seconds=0.1),
    ]
    assert pages[0].interval == pytest.approx(pages[1].interval)


def test_wrong_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="give the group of every sample"):
        report(MODEL, SAMPLES, Y, groups=GROUPS[:-1])
    with pytest.raises(ValueError, match="all samples are in one group"):
        report(MODEL, SAMPLES, Y, groups=np.zeros(Y.size))
