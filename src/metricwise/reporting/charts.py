"""The pictures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from metricwise._typing import Floats, Integers
from metricwise.measures.tables import divide
from metricwise.reporting.evaluation import Evaluation
from metricwise.reporting.importance import Importance
from metricwise.reporting.markup import number, spread
from metricwise.reporting.precision_recall import PrecisionRecallBand
from metricwise.reporting.predictions import Problem, Scale
from metricwise.reporting.resampling import SampleGroups
from metricwise.reporting.steps import Steps
from metricwise.reporting.svg import Chart, pad_range
from metricwise.results import Result, StreamResult

_UNIT = (0.0, 1.0)
_BINS = 10
_FREE_BELOW = 0.88  # precision above which nothing is drawn, so that a label has room
_ROW = 46  # height of a model in the comparison
_NAME = 42  # letters of its name
_FEATURE_ROW, _FEATURE_NAME = 26, 17  # height of a feature, and letters of its name


class Point(NamedTuple):
    """The operating point of a model: recall, precision and false positive rate."""

    recall: float
    precision: float
    false_positive_rate: float


def operating_point(problem: Problem) -> Point:
    """Return recall, precision and false positive rate of a model's own labels."""
    table = problem.table
    rates = (
        divide(table.tp, table.tp + table.fn),
        divide(table.tp, table.tp + table.fp),
        divide(table.fp, table.fp + table.tn),
    )
    return Point(*map(float, rates))


def precision_recall(steps: Steps, point: Point, band: PrecisionRecallBand | None, confidence: float) -> str:
    """Return precision against recall, with the operating point of the model; no band if a class is missing."""
    share = steps.n_pos / max(steps.n_pos + steps.n_neg, 1)
    words = f"The model works at recall {number(point.recall)} and precision {number(point.precision)}."
    if band is not None:
        words = (
            f"The area, average precision, is {number(band.area)}; its {100 * confidence:g} % interval is "
            f"{spread(band.interval)}. {words}"
        )
    chart = Chart("Precision against recall", words, "recall", "precision", _UNIT, _UNIT, live="pr")
    chart.segment((0.0, share), (1.0, share), "faint")
    chart.label(0.0, share, f"by chance {number(share, 2)}", dx=4, dy=-5 if share < 0.9 else 14, style="soft")
    if band is not None:
        chart.band(band.recall, band.low, band.high, "first")
        # Curves of good models fill the upper right corner and leave the lower left free; those of others do not.
        is_free = float(band.high[band.recall >= 0.3].max()) < _FREE_BELOW
        x, y, anchor = (1.0, 0.94, "end") if is_free else (0.0, share + (0.1 if share < 0.5 else -0.1), "start")
        text = f"area {number(band.area)} ({spread(band.interval)})"
        chart.label(x, y, text, anchor, dx=-4 if is_free else 4)
    chart.steps(steps.recall[::-1], steps.precision[::-1], "first")
    _operating(chart, point.recall, point.precision)
    return chart.render()


def roc(steps: Steps, point: Point, area: float | None) -> str:
    """Return the ROC curve with the operating point of the model; without an area if a class is missing."""
    share = "not defined, as a class is missing" if area is None else number(area)
    words = (
        f"The area is {share}. The model works at a true positive rate of {number(point.recall)} and a false positive "
        f"rate of {number(point.false_positive_rate)}."
    )
    labels = "false positive rate", "true positive rate (recall)"
    chart = Chart("ROC curve", words, *labels, _UNIT, _UNIT, live="roc")
    chart.segment((0.0, 0.0), (1.0, 1.0), "faint")
    chart.line(steps.false_positive_rate[::-1], steps.recall[::-1], "first")
    if area is not None:
        chart.label(1.0, 0.06, f"area {share}", anchor="end", dx=-6)
    _operating(chart, point.false_positive_rate, point.recall)
    return chart.render()


def _operating(chart: Chart, x: float, y: float) -> None:
    # The label avoids the upper right corner, where the points of good models are.
    right = x < 0.6
    chart.dot(x, y, "own", "diamond")
    chart.label(
        x, y, "model", anchor="start" if right else "end", dx=11 if right else -11, dy=_label_shift(y), style="strong"
    )
    chart.marker(x, y)


def _label_shift(y: float) -> float:
    """Return where a label is put: below its point, or above it where the axis is near."""
    return 16.0 if y > 0.12 else -10.0


def measure_by_threshold(
    title: str, steps: Steps, curve: tuple[Floats, Floats, Floats], confidence: float, scale: Scale, is_cost: bool
) -> str:
    """Return the measure, or the cost, at every threshold, with the band that sampling leaves."""
    values, low, high = curve
    here, best = float(values[steps.own]), int((np.argmin if is_cost else np.argmax)(values))
    words = (
        f"At the model's threshold {steps.thresholds[steps.own]:.4g} it is {number(here)}; the best value on these "
        f"samples is {number(values[best])}, at {steps.thresholds[best]:.4g}."
    )
    ends = _UNIT if scale == "probability" else pad_range(steps.thresholds, 0.0)
    bottom, top = min(0.0, float(low.min())), 1.05 * float(high.max()) if is_cost else 1.0
    chart = Chart(
        f"{title} against the threshold", words, f"threshold of the {scale}", title, ends, (bottom, top), "measure"
    )
    chart.band(steps.thresholds, low, high, "first")
    chart.line(steps.thresholds, values, "first")
    where = float(steps.thresholds[steps.own])
    chart.segment((where, bottom), (where, top), "faint")
    rising = high[0] < high[-1]  # then the upper left corner is free
    corner = (ends[0], "start", 8.0) if rising else (ends[1], "end", -8.0)
    chart.label(corner[0], top, f"{100 * confidence:g} % band", corner[1], corner[2], 14, "soft")
    chart.dot(where, here, "own", "diamond")
    right = where < 0.5 * (ends[0] + ends[1])
    chart.label(
        where,
        here,
        f"model {number(here)}",
        "start" if right else "end",
        11 if right else -11,
        _label_shift(here),
        "strong",
    )
    chart.marker(where, here)
    return chart.render()


class Calibration(NamedTuple):
    """Groups of samples by predicted probability: the mean prediction, the share of positives and its interval."""

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    counts: NDArray[np.int64]
    error: float


def compute_calibration(problem: Problem, confidence: float, groups: SampleGroups | None = None) -> Calibration:
    """Compare predicted probabilities with shares of positives, in bins that are about equally informative.

    Parameters
    ----------
    problem : Problem
        Truth and probabilities.
    confidence : float
        Confidence level of the intervals.
    groups : SampleGroups, optional
        Groups of the samples; the samples of a group in a bin are worth fewer independent ones.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.arange(1000) % 10 < 3
    >>> problem = Problem("yes", "yes", truth, truth & False, np.full(1000, 0.25), "probability", 0.5, np.ones(1000))
    >>> found = compute_calibration(problem, 0.9)
    >>> found.observed.tolist(), round(found.error, 3)
    ([0.3], 0.05)
    """
    weights, edges = problem.weights, _edges(problem.scores, problem.weights)
    bins = np.searchsorted(edges, problem.scores, side="right")
    counts = np.bincount(bins, minlength=edges.size + 1)

    def sums(values: Floats) -> Floats:
        return np.bincount(bins, weights=values, minlength=edges.size + 1)[counts > 0].astype(np.float64)

    total = sums(weights)
    predicted, observed = sums(weights * problem.scores) / total, sums(weights * problem.truth) / total
    n_effective = total**2 / sums(weights**2)  # samples of equal weight that vary as much (Kish)
    if groups is not None:
        found = np.unique(bins, return_inverse=True)[1].ravel()
        n_effective = n_effective / _effects_of_groups(found, problem.truth - observed[found], weights, groups)
    tail = (1.0 - confidence) / 2.0
    prior = n_effective * observed + 0.5, n_effective * (1.0 - observed) + 0.5  # Jeffreys
    low, high = betaincinv(*prior, tail), betaincinv(*prior, 1.0 - tail)
    error = float(np.average(np.abs(predicted - observed), weights=total))
    return Calibration(predicted, observed, low, high, counts[counts > 0], error)


def _effects_of_groups(bins: Integers, residuals: Floats, weights: Floats, groups: SampleGroups) -> Floats:
    """Return the design effect in each bin: the variance of the mean if whole groups are drawn, relative to samples.

    A bin without positives, or without negatives, may be so because its groups are alike.
    """
    parts = bins.astype(np.int64) * groups.n_groups + groups.codes
    _, first, part_of = np.unique(parts, return_index=True, return_inverse=True)

    def effect(values: Floats) -> Floats:
        by_group = np.bincount(bins[first], weights=np.bincount(part_of.ravel(), weights=values) ** 2)
        by_sample = np.bincount(bins, weights=values**2)
        return np.divide(by_group, by_sample, out=np.zeros(by_group.size), where=by_sample > 0.0)

    if_alike, found = effect(weights), effect(weights * residuals)
    return groups.variance * np.where(found > 0.0, np.maximum(found, 1.0), if_alike)


def _edges(probabilities: Floats, weights: Floats) -> Floats:
    """Return bounds of bins whose numbers of positives vary equally: small probabilities share one."""
    order = np.argsort(probabilities)
    ordered = probabilities[order]
    variance = np.cumsum(weights[order] * np.maximum(ordered * (1.0 - ordered), 1e-9))
    at = np.searchsorted(variance, variance[-1] * np.arange(1, _BINS) / _BINS)
    return np.unique(ordered[at])


def reliability(found: Calibration) -> str:
    """Return the reliability curve."""
    words = "; ".join(
        f"predicted {number(p, 2)}, true {number(o, 2)}" for p, o in zip(found.predicted, found.observed, strict=True)
    )
    chart = Chart(
        "Predicted probability and share of positives",
        words,
        "predicted probability",
        "share of positives",
        _UNIT,
        _UNIT,
    )
    chart.segment((0.0, 0.0), (1.0, 1.0), "faint")
    chart.label(0.6, 0.54, "perfectly calibrated", dx=8, dy=8, style="soft")
    for p, low, high in zip(found.predicted, found.low, found.high, strict=True):
        chart.segment((p, low), (p, high), "first")
    chart.line(found.predicted, found.observed, "first")
    for p, o in zip(found.predicted, found.observed, strict=True):
        chart.dot(p, o, "first")
    return chart.render()


def convergence(result: Result) -> str:
    """Return both bounds of the objective during training."""
    entries = [entry for entry in result.history if np.isfinite(entry.objective)]
    iterations = np.array([entry.iteration for entry in entries], dtype=np.float64)
    upper, lower = np.array([e.objective for e in entries]), np.array([max(e.lower, 0.0) for e in entries])
    words = (
        f"After {len(result.history)} iterations the objective is {upper[-1]:.6g} and no weights have less than "
        f"{lower[-1]:.6g}: a relative gap of {result.certificate.relative:.2g}."
    )
    top = float(np.quantile(upper, 0.9)) * 1.15 if upper.size > 5 else float(upper.max()) * 1.1
    ends = pad_range(iterations, 0.02)
    chart = Chart("Convergence: bounds of the objective", words, "iteration", "objective", ends, (0.0, max(top, 1e-12)))
    chart.band(iterations, lower, upper, "first")
    chart.line(iterations, upper, "first")
    chart.line(iterations, lower, "second dashed")
    middle = iterations.size // 2
    chart.label(iterations[middle], upper[middle], "objective of the model", dy=-9)
    chart.label(iterations[middle], lower[middle], "no weights are better", dy=20)
    return chart.render()


def stream_history(result: StreamResult, title: str) -> str:
    """Return the measure on samples not learnt from, as training proceeds."""
    entries = [entry for entry in result.history if np.isfinite(entry.measure)]
    seen, values = [float(entry.n_samples) for entry in entries], [entry.measure for entry in entries]
    words = f"After {result.n_samples:,} samples the {title} of samples not learnt from is {number(values[-1])}."
    ends = pad_range([*values, 0.0, 1.0], 0.0)
    chart = Chart("Training", words, "samples learnt from", title, (0.0, max(seen)), ends)
    chart.line(seen, values, "first")
    chart.label(seen[-1], values[-1], number(values[-1]), anchor="end", dy=-9, style="strong")
    return chart.render()


def intervals(title: str, names: Sequence[str], evaluated: Sequence[Evaluation]) -> str:
    """Return the measure of several models with their intervals."""
    bounds = [one.interval for one in evaluated]
    words = "; ".join(
        f"{n} {number(j.value)}, {number(b[0])} to {number(b[1])}"
        for n, j, b in zip(names, evaluated, bounds, strict=True)
    )
    ends = pad_range(np.array([*np.ravel(bounds), *(one.value for one in evaluated)]), 0.12)
    height = _ROW * len(names) + 66
    chart = Chart(f"{title} of the models", words, title, "", ends, (-len(names) + 0.4, 0.6), height=height, left=16)
    for k, (name, one, (low, high)) in enumerate(zip(names, evaluated, bounds, strict=True)):
        style = "own" if k == 0 else "other"
        chart.segment((low, -k), (high, -k), "first" if k == 0 else "second")
        chart.dot(one.value, -k, style, "diamond" if k == 0 else "circle")
        chart.label(ends[0], -k, f"{_cut(name)}  {number(one.value)}", dy=-14, dx=4, style="strong" if k == 0 else "")
    return chart.render(y_ticks=False)


def importance(title: str, found: Importance, shown: int) -> str:
    """Return the importance of the first features with their intervals."""
    rows = list(found.first(shown))
    words = "; ".join(
        f"{name} {number(value)}{f', {spread(interval)}' if interval else ''}" for name, value, interval in rows
    )
    ends = pad_range([0.0, *(value for _, value, _ in rows), *(end for *_, pair in rows for end in pair or ())], 0.05)
    rows_range, height = (-shown + 0.4, 0.6), _FEATURE_ROW * shown + 66
    chart = Chart("The features that matter", words, title, "", ends, rows_range, height=height, left=140)
    chart.segment((0.0, -shown + 0.4), (0.0, 0.6), "faint")
    for k, (name, value, interval) in enumerate(rows):
        low, high = interval or (0.0, value)
        chart.segment((low, -k), (high, -k), "first")
        chart.dot(value, -k, "own", "diamond")
        chart.label(ends[0], -k, _cut(name, _FEATURE_NAME), "end", -6, 5)
    return chart.render(y_ticks=False)


def _cut(name: str, most: int = _NAME) -> str:
    """Return a name shortened to fit on the chart; the table beside it has the full name."""
    return name if len(name) <= most else name[: most - 1] + "…"
