"""Guarantees that are watched: a section of the report, and a page of its own."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from metricwise.decisions.betting import interval
from metricwise.decisions.guarantee_watch import GuaranteeWatch
from metricwise.decisions.monitor import GuaranteeMonitor, find_pooled_constraints
from metricwise.reporting.guarantees import find_guaranteed
from metricwise.reporting.markup import (
    Markup,
    count_of,
    figure,
    grid,
    number,
    paragraph,
    percent,
    section,
    spread,
    table,
    text,
)
from metricwise.reporting.page_document import make_document
from metricwise.reporting.predictions import Predictions
from metricwise.reporting.svg import Chart, pad_range

_MOST_DRAWN = 6  # guarantees with figures of their own


def guarantees(model: Any, found: Predictions) -> Markup | None:
    """Return a section about the guarantees of a model on the samples of a report; None if there is none to test.

    Weighted and grouped samples are not independent outcomes, and are not tested.
    """
    if found.is_weighted or found.groups is not None:
        return None
    guaranteed = find_guaranteed(model, found)
    if guaranteed is None:
        return None
    if found.kind == "binary":
        problem = found.problems[0]
        constraints = [replace(one, of_class=None) for one in find_pooled_constraints(guaranteed)]
        if not constraints:
            return None  # those by group are shown with the groups
        monitor = GuaranteeMonitor([str(one) for one in constraints]).update(problem.truth, problem.predicted)
    else:
        monitor = GuaranteeMonitor(guaranteed)
        given = found.truth.astype(int), found.predicted.astype(int)
        if found.kind == "multiclass":
            given = tuple(np.asarray(guaranteed.classes_)[columns.argmax(axis=1)] for columns in given)
        monitor.update(*given)
    return section(
        "guarantees",
        "Guarantees on these samples",
        paragraph("The samples are outcomes here, in their order. ", describe_alarm(monitor)),
        *_describe_watches(monitor),
    )


def watch_page(monitor: GuaranteeMonitor, title: str) -> str:
    """Return a page about a monitor, as HTML.

    Examples
    --------
    >>> monitor = GuaranteeMonitor("precision>=0.9").update([1, 0, 1], [1, 1, 1])
    >>> watch_page(monitor, "Watch").startswith("<!DOCTYPE html>")
    True
    """
    parts = [
        Markup(f"<header><h1>{text(title)}</h1></header>"),
        section(
            "guarantees",
            "Guarantees",
            paragraph(describe_alarm(monitor)),
            *_describe_watches(monitor),
            _scores(monitor),
        ),
    ]
    return make_document(title, parts)


def describe_alarm(monitor: GuaranteeMonitor) -> str:
    """Return in words whether there is an alarm.

    Examples
    --------
    >>> describe_alarm(GuaranteeMonitor("precision>=0.9"))
    'No alarm in 0 outcomes. An alarm while all guarantees are kept has a probability of at most 5 %.'
    """
    chance = f"An alarm while all guarantees are kept has a probability of at most {percent(monitor.alpha)}."
    broken = [f"{one.guarantee} (outcome {one.alarm_at:,})" for one in monitor.status if one.alarm_at is not None]
    if broken:
        return f"Alarm: {', '.join(broken)} does not hold. {chance}"
    return f"No alarm in {count_of(monitor.n_seen, 'outcome')}. {chance}"


def describe_scores(monitor: GuaranteeMonitor) -> str | None:
    """Return in words whether the scores have changed; None if none have been compared.

    Examples
    --------
    >>> describe_scores(GuaranteeMonitor("precision>=0.9")) is None
    True
    """
    if not monitor.n_scores_seen:
        return None
    if monitor.score_warning_at is None:
        return f"No change of the scores was found in {count_of(monitor.n_scores_seen, 'score')}."
    return (
        f"The scores have changed, as {count_of(monitor.score_warning_at, 'score')} showed. That needs no labels, and "
        "does not mean that a guarantee is broken."
    )


def _scores(monitor: GuaranteeMonitor) -> Markup:
    words = describe_scores(monitor)
    return Markup("") if words is None else paragraph(words)


def _describe_watches(monitor: GuaranteeMonitor) -> list[Markup]:
    confidence = percent(1.0 - monitor.alpha)
    rows = [
        [
            one.guarantee,
            f"{one.n_counted:,}",
            number(one.share),
            spread(one.interval),
            f"{one.wealth:.3g}",
            "no" if one.alarm_at is None else f"outcome {one.alarm_at:,}",
        ]
        for one in monitor.status
    ]
    head = ["guarantee", "outcomes that count", "share", f"average share, {confidence}", "evidence against", "alarm"]
    caption = f"Evidence above {short_limit(monitor)} is an alarm"
    drawn = [watch for watch in monitor.watches if len(watch.points) > 1]
    # Of many labels or classes, the guarantees that the outcomes speak most against.
    drawn = sorted(drawn, key=lambda watch: -watch.wealth)[:_MOST_DRAWN] if len(drawn) > _MOST_DRAWN else drawn
    return [table(caption, head, rows), *map(_draw, drawn)]


def short_limit(monitor: GuaranteeMonitor) -> str:
    """Return the evidence at which an alarm is raised.

    Examples
    --------
    >>> short_limit(GuaranteeMonitor(["precision>=0.9", "recall>=0.5"]))
    '40'
    """
    return f"{len(monitor.watches) / monitor.alpha:.4g}"


def _draw(watch: GuaranteeWatch) -> Markup:
    return grid(
        figure(_draw_share(watch), f"The {watch.constraint.share.name} so far, with its confidence sequence."),
        figure(_draw_evidence(watch), f"Evidence against {watch.constraint}; an alarm above the dashed line."),
    )


def _draw_share(watch: GuaranteeWatch) -> str:
    course = watch.history
    low, high = interval(course.n_of_kind, course.n_counted, watch.alpha)
    share, bound = course.n_of_kind / course.n_counted, watch.constraint.bound
    words = f"After {course.n_seen[-1]:.0f} outcomes it is {number(share[-1])}, {spread((low[-1], high[-1]))}."
    ends = pad_range([*low[low.size // 10 :], *high[high.size // 10 :], *share, bound], 0.05)
    name = watch.constraint.share.name
    chart = Chart(f"Share: {name}", words, "outcomes seen", name, _get_range(watch), ends)
    chart.band(course.n_seen, low, high, "first")
    chart.line(course.n_seen, share, "first")
    chart.segment((0.0, bound), (float(course.n_seen[-1]), bound), "second dashed")
    chart.label(0.0, bound, str(watch.constraint), dx=6, dy=-6, style="soft")
    _mark_alarm(chart, watch, ends)
    return chart.render()


def _draw_evidence(watch: GuaranteeWatch) -> str:
    course = watch.history
    powers, limit = course.log_wealth / math.log(10.0), -math.log10(watch.alpha)
    words = f"After {course.n_seen[-1]:.0f} outcomes it is {math.exp(course.log_wealth[-1]):.3g}."
    ends = pad_range([*powers, limit, 0.0], 0.05)
    chart = Chart("Evidence", words, "outcomes seen", "evidence, power of ten", _get_range(watch), ends)
    chart.line(course.n_seen, powers, "first")
    chart.segment((0.0, limit), (float(course.n_seen[-1]), limit), "second dashed")
    _mark_alarm(chart, watch, ends)
    return chart.render()


def _get_range(watch: GuaranteeWatch) -> tuple[float, float]:
    return 0.0, float(watch.history.n_seen[-1])


def _mark_alarm(chart: Chart, watch: GuaranteeWatch, ends: tuple[float, float]) -> None:
    if watch.alarm_at is None:
        return
    where = float(watch.alarm_at)
    chart.segment((where, ends[0]), (where, ends[1]), "faint")
    is_left = where < 0.6 * chart.x_range[1]
    chart.label(where, ends[1], "alarm", "start" if is_left else "end", 6 if is_left else -6, 14, "strong")
