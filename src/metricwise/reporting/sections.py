"""The later sections of a report: curves with the explorer, features, calibration, convergence and the leaderboard."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise.measures import IsCost, Measure, RocAuc
from metricwise.measures.titles import title_of
from metricwise.reporting import charts
from metricwise.reporting.evaluation import measure_curve, threshold_measure
from metricwise.reporting.explorer import ExplorerProblem, explorer_markup
from metricwise.reporting.importance import Importance
from metricwise.reporting.markup import (
    NO_INTERVAL,
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
from metricwise.reporting.models import leaderboard_of, results_of
from metricwise.reporting.optimality import describe_optimality, describe_worth
from metricwise.reporting.precision_recall import precision_recall_band
from metricwise.reporting.predictions import Predictions, Problem
from metricwise.reporting.resampling import SampleGroups
from metricwise.results import Result, Status, StreamResult

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
    both = steps.n_pos > 0.0 and steps.n_neg > 0.0
    area = RocAuc().score(problem.truth, problem.scores, problem.weights) if both else None
    curve = measure_curve(steps, criterion, confidence, seed)
    band = precision_recall_band(problem, steps, confidence, seed)
    title = title_of(criterion)
    captions = (
        f"Precision against recall; the area is the average precision. The band holds the precision with a probability "
        f"of {percent(confidence)}, recall by recall. Diamond: the model; ring: the explorer.",
        "ROC curve: positives found against false alarms.",
        f"{title} at every threshold; the band holds it with a probability of {percent(confidence)}, threshold by "
        "threshold.",
    )
    drawn = (
        charts.precision_recall(steps, point, band, confidence),
        charts.roc(steps, point, area),
        charts.measure_by_threshold(title, steps, curve, confidence, problem.scale, isinstance(criterion, IsCost)),
    )
    return "".join(figure(chart, caption) for chart, caption in zip(drawn, captions, strict=True))


def calibration(problem: Problem, confidence: float, groups: SampleGroups | None = None) -> Markup | None:
    """Return the reliability of the probabilities; None without probabilities."""
    if problem.scale != "probability":
        return None
    found = charts.compute_calibration(problem, confidence, groups)
    brier = float(np.average((problem.scores - problem.truth) ** 2, weights=problem.weights))
    words = (
        f"Samples in {count_of(found.counts.size, 'bin')} by their probability, each about equally informative. "
        f"On average over samples, prediction and share of positives differ by {number(found.error)}; the Brier "
        f"score is {number(brier)}."
    )
    rows = [
        (number(p), number(o), spread((low, high)), f"{n:,}")
        for p, o, low, high, n in zip(found.predicted, found.observed, found.low, found.high, found.counts, strict=True)
    ]
    head = ("mean probability", "share of positives", f"{percent(confidence)} interval", "samples")
    chart = figure(charts.reliability(found), "Above the diagonal, positives are more frequent than predicted.")
    return section(
        "calibration",
        "Can its probabilities be believed?",
        paragraph(words),
        beside(chart, table("Bins of samples", head, rows)),
    )


def convergence(model: Any, measure: Measure, value: float, constant: float) -> Markup | None:
    """Return the history of training and its distance from the optimum; None for models without a result.

    Parameters
    ----------
    model : fitted classifier
        The model.
    measure : Measure
        The measure.
    value, constant : float
        The measure of the model and of the best constant prediction, shown where the training is degenerate.
    """
    results = results_of(model)
    shown = _convergence_parts(results[0], measure) if results else None
    if shown is None:
        return None
    title, notes = "How close to optimal is the training?", []
    degenerate = [result for result in results if result.is_degenerate]
    if degenerate:
        is_useless = any(result.status is Status.DEGENERATE for result in degenerate)
        title = "The training is degenerate" if is_useless else "A weighted accuracy was trained for"
        notes = [describe_worth(title_of(measure), "these samples", value, constant)]
    if len(results) > 1:
        notes.append(f"The first of {len(results)} problems, one per class, is shown.")
        if degenerate:
            notes.append(f"The surrogate is degenerate in {len(degenerate)} of them.")
    return section("training", title, *shown, *map(paragraph, notes))


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
    words += f" {describe_optimality(result, title_of(measure))}"
    if not certificate.is_bounded:
        return [paragraph(words)]
    bounds = [
        ("upper: this model", f"{certificate.upper:.6g}"),
        ("lower: no weights have less", f"{certificate.lower:.6g}"),
        ("gap", f"{certificate.gap:.3g}"),
        ("relative gap", f"{certificate.relative:.3g}"),
    ]
    chart = figure(charts.convergence(result), "Both bounds of the objective, iteration by iteration.")
    return [paragraph(words), beside(chart, table("Certificate", ("bound", "objective"), bounds))]


def features(found: Importance | None, measure: Measure, confidence: float) -> Markup:
    """Return the most important features: a chart and a ranked table with intervals; or why there are none."""
    if found is None:
        return section("features", _FEATURES, paragraph(_WITHOUT_FEATURES))
    shown = min(_SHOWN_FEATURES, len(found.names))
    is_loss = found.kind != "contribution"
    title = _loss_title(measure) if is_loss else "contribution to the score"
    noun = "word" if found.kind == "removal" else "feature"
    caption = f"All {noun}s" if shown == found.n_features else f"The {shown} that matter most, of {found.n_features:,}"
    ends = f"{percent(confidence)} interval"
    rows = [
        (name, signed(float(value)), *([] if interval is None else [spread(interval)]))
        for name, value, interval in found.first(shown)
    ]
    chart = figure(charts.importance(title, found, shown), f"The {title}{f', with its {ends}' * is_loss}.")
    return section(
        "features",
        _FEATURES,
        paragraph(_describe_loss(found, measure) if is_loss else _CONTRIBUTIONS),
        beside(chart, table(caption, (noun, title, *([ends] * is_loss)), rows)),
        paragraph(_CORRELATED, _describe_pair(found), style="soft"),
    )


_FEATURES = "The features that matter"
_WITHOUT_FEATURES = (
    "Not estimated: the samples are neither a table, whose columns could be shuffled, nor texts with words in common, "
    "which could be removed."
)
_CONTRIBUTIONS = (
    "Contributions in the linear model: the weight of a feature times its standard deviation, both as the model sees "
    "the feature after preprocessing. That is what one standard deviation adds to the score (of several classes, the "
    "root mean square over them); the effect on the measure is not estimated, as shuffling so many features one by one "
    "would take too long."
)
_CORRELATED = (
    "Features that carry the same information can stand in for each other: each may then seem to matter little, though "
    "together they matter much."
)


def _loss_title(measure: Measure) -> str:
    return f"{'rise' if isinstance(measure, IsCost) else 'loss'} of {title_of(measure)}"


def _describe_loss(found: Importance, measure: Measure) -> str:
    title, is_shuffled = title_of(measure), found.kind == "permutation"
    is_cost = isinstance(measure, IsCost)
    starts = f"{'By how much' if is_cost else 'What'} the {title} of the whole model {'rises' if is_cost else 'loses'}"
    noun, done, change = ("column", "shuffled", "Shuffling") if is_shuffled else ("word", "removed", "Removing")
    if not np.any(found.values):
        words = f"{change} a {noun} does not change the {title} of the model on these samples, whichever {noun} it is."
    elif is_shuffled:
        words = (
            f"{starts} when one column is shuffled, before any preprocessing: the mean of "
            f"{count_of(found.n_repeats, 'shuffle')} on {count_of(found.n_samples)}."
        )
    else:
        words = (
            f"{starts} when one word is removed from all texts, before any preprocessing, on "
            f"{count_of(found.n_samples)}."
        )
    words += (
        " The intervals are for new samples, and allow for changes that none of these has shown; "
        f"a {noun} whose interval holds 0 may not matter at all."
    )
    if found.n_columns < found.n_features:
        words += (
            f" {done.capitalize()} were the {found.n_columns} of {found.n_features:,} {noun}s that vary most with the "
            "scores of the model."
        )
    return words


def _describe_pair(found: Importance) -> str:
    if found.correlated is None:
        return ""
    one, other, strength = found.correlated
    return f" Here “{one}” and “{other}” are correlated ({number(strength, 2)})."


def leaderboard(model: Any, measure: Measure) -> Markup | None:
    """Return the candidates of a `MetricClassifier`."""
    rows = [_candidate(record) for record in leaderboard_of(model)]
    if not rows:
        return None
    head = ("candidate", "settings", title_of(measure), "90 % interval", "samples", "seconds", "outcome")
    found = table("Candidates, by out-of-fold scores", head, rows, "", (1, 6))
    note = paragraph(_WITHOUT_INTERVAL, style="soft") if any(NO_INTERVAL in row for row in rows) else ""
    return section("leaderboard", "Leaderboard", found, note)


_WITHOUT_INTERVAL = "A candidate has no interval if time was over before it could be compared with the others."


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
