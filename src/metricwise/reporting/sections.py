"""The later sections of a report: curves with the explorer, features, calibration, convergence and the leaderboard."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise.measures import Measure, RocAuc
from metricwise.reporting import charts
from metricwise.reporting.evaluation import measure_curve, threshold_measure
from metricwise.reporting.explorer import ExplorerProblem, explorer_markup
from metricwise.reporting.importance import Importance
from metricwise.reporting.markup import (
    Markup,
    beside,
    count_of,
    figure,
    number,
    paragraph,
    percent,
    section,
    signed,
    spread,
    table,
)
from metricwise.reporting.models import leaderboard_of, results_of, title_of
from metricwise.reporting.predictions import Predictions, Problem
from metricwise.results import Result, StreamResult

_SHOWN_FEATURES = 15


def curves(
    explored: list[ExplorerProblem], predictions: Predictions, measure: Measure, confidence: float, seed: int
) -> Markup:
    """Return the explorer with the curves that it moves on."""
    criterion = threshold_measure(measure)
    pictures = [_pictures(one, criterion, confidence, seed) for one in explored]
    return section(
        "explorer",
        "Explore the threshold",
        paragraph("Move the threshold, set a precision, or set the costs of mistakes."),
        explorer_markup(explored, measure, criterion, pictures),
        paragraph(" ".join(_notes(explored, predictions)), style="soft"),
    )


def _notes(explored: list[ExplorerProblem], predictions: Predictions) -> list[str]:
    """Return notes about the steps of the slider."""
    steps = explored[0].steps
    notes = ["Every threshold that separates samples is a step of the slider."]
    if any(one.steps.n_distinct > one.steps.thresholds.size for one in explored):
        notes = [
            f"{count_of(steps.thresholds.size, 'threshold')} of {steps.n_distinct:,} are steps of the slider; counts "
            "are exact for each. The cheapest threshold, and the best one for each whole percentage of precision, are "
            "among them."
        ]
    if explored[0].problem.threshold is None:
        notes.append(
            "The labels of this model are no threshold of one score; the slider starts where about as many samples are "
            "predicted positive."
        )
    if len(explored) < len(predictions.problems):
        notes.append(f"The {len(explored)} most frequent of {len(predictions.problems)} are here.")
    return notes


def _pictures(one: ExplorerProblem, criterion: Any, confidence: float, seed: int) -> str:
    problem, steps = one.problem, one.steps
    point = charts.operating_point(problem)
    both = 0 < steps.n_pos < problem.truth.size
    area = RocAuc().score(problem.truth, problem.scores) if both else None
    curve = measure_curve(steps, criterion, confidence, seed)
    title = title_of(criterion)
    captions = (
        "Precision against recall. Diamond: the model; ring: the explorer.",
        "ROC curve: positives found against false alarms.",
        f"{title} at every threshold; the band holds it with a probability of {percent(confidence)}, threshold by "
        "threshold.",
    )
    drawn = (
        charts.precision_recall(steps, point),
        charts.roc(steps, point, area),
        charts.measure_by_threshold(title, steps, curve, confidence, problem.scale),
    )
    return "".join(figure(chart, caption) for chart, caption in zip(drawn, captions, strict=True))


def calibration(problem: Problem, confidence: float) -> Markup | None:
    """Return the reliability of the probabilities; None without probabilities."""
    if problem.scale != "probability":
        return None
    found = charts.compute_calibration(problem, confidence)
    brier = float(np.mean((problem.scores - problem.truth) ** 2))
    words = (
        f"Samples in {count_of(found.counts.size, 'group')} by their probability, each about equally informative. "
        f"On average over samples, prediction and share of positives differ by {number(found.error)}; the Brier "
        f"score is {number(brier)}."
    )
    rows = [
        (number(p), number(o), spread((low, high)), f"{n:,}")
        for p, o, low, high, n in zip(found.predicted, found.observed, found.low, found.high, found.counts, strict=True)
    ]
    head = ("mean probability", "share of positives", f"{percent(confidence)} interval", "rows")
    chart = figure(charts.reliability(found), "Above the diagonal, positives are more frequent than predicted.")
    return section(
        "calibration",
        "Can its probabilities be believed?",
        paragraph(words),
        beside(chart, table("Groups of samples", head, rows)),
    )


def convergence(model: Any, measure: Measure) -> Markup | None:
    """Return the history of training and its distance from the optimum; None for models without a result."""
    results = results_of(model)
    shown = _convergence_parts(results[0], measure) if results else None
    if shown is None:
        return None
    several = f"The first of {len(results)} problems, one per class, is shown." if len(results) > 1 else ""
    return section("training", "How close to optimal is the training?", *shown, paragraph(several, style="soft"))


def _convergence_parts(result: Any, measure: Measure) -> list[Markup] | None:
    if isinstance(result, StreamResult) and any(np.isfinite(entry.measure) for entry in result.history):
        words = (
            f"Training saw {result.n_samples:,} samples in {result.n_passes} "
            f"pass{'' if result.n_passes == 1 else 'es'} and {result.seconds:.3g} s, and ended as "
            f"“{result.status.value}”. Learning sample by sample gives no certificate."
        )
        chart = charts.stream_history(result, title_of(measure))
        return [paragraph(words), figure(chart, "On samples that were not learnt from.")]
    if not isinstance(result, Result) or not len(result.history):
        return None
    certificate = result.certificate
    words = (
        f"Training ended as “{result.status.value}” after {count_of(result.n_iter, 'iteration')} and "
        f"{result.seconds:.3g} s."
    )
    if not certificate.is_bounded:
        words += f" Its objective fell to {certificate.upper:.6g}; it is not convex, and no bound of it is known."
        return [paragraph(words)]
    words += f" No weights have an objective more than {100.0 * certificate.relative:.2g} % below that of this model."
    bounds = [
        ("upper: this model", f"{certificate.upper:.6g}"),
        ("lower: no weights have less", f"{certificate.lower:.6g}"),
        ("gap", f"{certificate.gap:.3g}"),
        ("relative gap", f"{certificate.relative:.3g}"),
    ]
    chart = figure(charts.convergence(result), "Both bounds of the objective, iteration by iteration.")
    return [paragraph(words), beside(chart, table("Certificate", ("bound", "objective"), bounds))]


def features(found: Importance | None, measure: Measure) -> Markup | None:
    """Return the most important features."""
    if found is None or not found.names:
        return None
    shown = min(_SHOWN_FEATURES, len(found.names))
    two_sided = bool(np.any(found.values[:shown] < 0.0))
    longest = (50.0 if two_sided else 100.0) / (float(np.abs(found.values[:shown]).max()) or 1.0)
    rows = [_feature(found, k, longest) for k in range(shown)]
    words = (
        "Weights of the linear model, each times the standard deviation of its feature: what one standard deviation "
        "adds to the score."
        if found.is_linear
        else f"What the {title_of(measure)} loses on {count_of(found.n_samples)} when the values of a feature are "
        "shuffled, with the standard deviation over shuffles."
    )
    if found.n_tried < found.n_features:
        words += f" Time allowed for {found.n_tried} of {found.n_features} features, drawn by chance."
    all_of_them = shown == found.n_features
    caption = "All features" if all_of_them else f"The {shown} features that matter most, of {found.n_features}"
    head = ("feature", "weight" if found.is_linear else "loss", Markup('<span class="sr">bar</span>'))
    style = "features two-sided" if two_sided else "features"
    return section("features", "The features that matter", paragraph(words), table(caption, head, rows, style))


def _feature(found: Importance, k: int, percent_of_one: float) -> tuple[object, ...]:
    value = float(found.values[k])
    size = f"--size:{percent_of_one * abs(value):.1f}%"
    bar = Markup(f'<span class="bar {"up" if value >= 0 else "down"}" style="{size}"></span>')
    spread_of_it = np.nan if found.spread is None else float(found.spread[k])
    doubt = f" ± {number(spread_of_it)}" if np.isfinite(spread_of_it) else ""
    return found.names[k], signed(value) + doubt, bar


def leaderboard(model: Any, measure: Measure) -> Markup | None:
    """Return the candidates of a `MetricClassifier`."""
    rows = [_candidate(record) for record in leaderboard_of(model)]
    if not rows:
        return None
    head = ("candidate", "settings", title_of(measure), "90 % interval", "samples", "seconds", "outcome")
    return section("leaderboard", "Leaderboard", table("Candidates, by out-of-fold scores", head, rows, "", (1, 6)))


def _candidate(record: dict[str, Any]) -> tuple[object, ...]:
    evaluated = np.isfinite(record["value"])
    fate = f"chosen, weight {record['weight']:.2g}" if record["weight"] else record["why_dropped"]
    return (
        record["candidate"],
        ", ".join(f"{name}={value}" for name, value in record["settings"].items()),
        number(record["value"]) if evaluated else "–",
        spread((record["low"], record["high"])) if evaluated else "–",
        f"{record['n_samples']:,}",
        f"{record['seconds']:.2g}",
        fate or "no gain when added",
    )
