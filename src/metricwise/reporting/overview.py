"""The first sections of a report: the measure, the model, its classes, and other models beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metricwise.measures import Measure
from metricwise.measures.tables import divide
from metricwise.measures.titles import title_of
from metricwise.reporting import charts
from metricwise.reporting.evaluation import Evaluation, evaluate_constant
from metricwise.reporting.markup import (
    NO_INTERVAL,
    Markup,
    beside,
    count_of,
    details,
    figure,
    grid,
    number,
    paragraph,
    percent,
    section,
    signed,
    spread,
    table,
    tally,
    text,
)
from metricwise.reporting.models import (
    changed_settings,
    describe_class,
    expectation_of,
    explanation_of,
    list_layers,
    prior_of,
)
from metricwise.reporting.predictions import NOUNS, Predictions, Problem

_SHOWN_CLASSES = 30  # in a confusion matrix


def headline(
    title: str, measure: Measure, evaluated: Evaluation, predictions: Predictions, samples: str, is_declared: bool
) -> Markup:
    """Return the measure, with its interval and the samples it was evaluated on."""
    first = predictions.problems[0]
    two = predictions.kind == "binary"
    has_interval = not np.isnan(evaluated.interval).any()
    drawn = "samples" if predictions.groups is None else "groups"
    words = paragraph(
        "" if is_declared else "The model does not declare its measure; it is evaluated by this one. ",
        f"Evaluated on {samples}: {_describe_samples(predictions)}. ",
        f"The interval reflects the chance in the choice of these {drawn}."
        if has_interval
        else "There is no interval, as resamples of these samples leave the measure undefined.",
        f" The best constant prediction, which needs no model, has {number(evaluate_constant(predictions, measure))}.",
        style="soft",
    )
    interval = f"<p>{percent(evaluated.confidence)} interval {spread(evaluated.interval)}</p>" if has_interval else ""
    bar = _interval_bar(evaluated.value, *evaluated.interval) if has_interval and not evaluated.is_cost else ""
    hero = (
        f'<div class="hero"><p class="measure">{text(title_of(measure))}</p>'
        f'<p class="value">{number(evaluated.value)}</p>'
        f"{interval}{bar}{_rates(first) if two else ''}</div>"
    )
    side = _confusion(first) if two else ""
    return Markup(f'<header><h1>{text(title)}</h1>{words}<div class="headline">{hero}{side}</div></header>')


def _describe_samples(predictions: Predictions) -> str:
    """Return the number of samples and classes in words, with the sum of the weights where samples have some."""
    first, what, whose = predictions.problems[0], count_of(predictions.n_samples), "them"
    if predictions.groups is not None:
        what = f"{what} in {count_of(predictions.groups.n_groups, 'group')}"
    if predictions.is_weighted:
        what, whose = f"{what} with a total weight of {tally(float(predictions.weights.sum()))}", "it"
    if predictions.kind != "binary":
        return f"{what}, {len(predictions.problems)} {NOUNS[predictions.kind]}"
    positive = first.table.tp + first.table.fn
    share = percent(positive / float(predictions.weights.sum()))
    return f"{what}, {tally(positive)} of {whose} of the positive class “{first.name}” ({share})"


def _interval_bar(value: float, low: float, high: float) -> str:
    """Return a scale from 0 to 1 with the interval on it, for sighted readers; the text says the same."""
    start, end, at = (100.0 * min(max(x, 0.0), 1.0) for x in (low, high, value))
    return (
        '<div class="scale" aria-hidden="true"><div class="rail">'
        f'<i style="left:{start:.1f}%;width:{max(end - start, 0.5):.1f}%"></i><b style="left:{at:.1f}%"></b></div>'
        "<span>0</span><span>1</span></div>"
    )


def _rates(problem: Problem) -> str:
    point = charts.operating_point(problem)
    named = ((point.precision, "precision"), (point.recall, "recall"))
    return f'<ul class="rates">{"".join(f"<li><b>{number(value)}</b> {name}</li>" for value, name in named)}</ul>'


def _confusion(problem: Problem) -> str:
    table = problem.table
    tp, fp, fn, tn = map(tally, (table.tp, table.fp, table.fn, table.tn))
    cells = (
        f'<tr><th scope="row">is “{text(problem.name)}”</th><td class="right"><b>{tp}</b><span>found</span></td>'
        f'<td class="wrong"><b>{fn}</b><span>missed</span></td></tr>'
        f'<tr><th scope="row">is not</th><td class="wrong"><b>{fp}</b><span>false alarms</span></td>'
        f'<td class="right"><b>{tn}</b><span>left alone</span></td></tr>'
    )
    return (
        '<div><table class="confusion"><caption>Confusion matrix of the model</caption><thead><tr><td></td>'
        f'<th scope="col">predicted “{text(problem.name)}”</th><th scope="col">predicted otherwise</th></tr></thead>'
        f"<tbody>{cells}</tbody></table></div>"
    )


def training(model: Any, measure: Measure, is_declared: bool) -> Markup:
    """Return what was trained, for which measure, and why this algorithm."""
    shown = list_layers(model)
    names = " → ".join(type(layer).__name__ for layer in shown)
    aim = f", for {title_of(measure)}" if is_declared else ""
    parts = [paragraph(Markup(f"<strong>{text(names)}</strong>"), f"{aim}. ", describe_class(shown[-1]))]
    explanation = explanation_of(model)
    if explanation:
        parts += [paragraph(line) for line in explanation.splitlines() if not line.startswith("- ")]
    expected, prior = expectation_of(model), prior_of(model)
    if prior and not explanation:
        parts.append(paragraph(f"It was adapted to the prior {prior}."))
    if expected and not explanation and not np.isnan(expected[0]):
        found = "Out of fold, weighted for this prior" if prior else "Out of fold, while it was trained"
        parts.append(paragraph(_describe_expectation(f"{found}, its {title_of(measure)} was", *expected)))
    settings = [
        (name, value, type(layer).__name__) for layer in shown for name, value in changed_settings(layer).items()
    ]
    if settings:
        caption = "Settings that are not the defaults"
        parts.append(details("Settings", table(caption, ("setting", "value", "of"), settings, "plain", (1, 2))))
    return section("model", "What was trained, and why", *parts)


def _describe_expectation(start: str, value: float, low: float, high: float) -> str:
    found = f"{start} {number(value)}"
    if np.isnan([low, high]).any():
        return f"{found}; training evaluated too few samples for an interval."
    return f"{found}; on as many new samples, {spread((low, high))} was to be expected (90 %)."


def class_tables(predictions: Predictions) -> Markup:
    """Return samples, precision, recall and F1 per class or label; for classes the confusion matrix, too."""
    rows = []
    for problem in predictions.problems:
        tp = problem.table.tp
        predicted, true = tp + problem.table.fp, tp + problem.table.fn
        values = divide(tp, predicted), divide(tp, true), divide(2 * tp, predicted + true)
        rows.append((problem.name, tally(true), tally(predicted), *(number(float(value)) for value in values)))
    what = "label" if predictions.kind == "multilabel" else "class"
    own = table(f"Every {what} vs the rest", (what, "samples", "predicted", "precision", "recall", "F1"), rows)
    return section("classes", f"Every {what}", grid(own, _class_confusion(predictions) if what == "class" else ""))


def _class_confusion(predictions: Predictions) -> Markup:
    names = predictions.classes
    if len(names) > _SHOWN_CLASSES:
        return paragraph(f"The confusion matrix of {len(names)} classes is too large to be shown.", style="soft")
    truth, found = predictions.truth.argmax(axis=1), predictions.predicted.argmax(axis=1)
    codes, size = truth * len(names) + found, len(names) ** 2
    cells = np.bincount(codes, weights=predictions.weights, minlength=size).reshape(len(names), -1)

    def cell(true: int, predicted: int) -> Markup:
        count = cells[true, predicted]
        kind = "hit" if true == predicted else "miss" if count else "none"
        return Markup(f'<span class="{kind}">{tally(count)}</span>')

    rows = [(name, *(cell(i, j) for j in range(len(names)))) for i, name in enumerate(names)]
    caption = "Confusion matrix: true classes in rows, predicted ones in columns"
    return table(caption, ("true class", *names), rows, "matrix")


def comparison(
    names: Sequence[str], evaluated: Sequence[Evaluation], measure: Measure, models: Sequence[Predictions]
) -> Markup:
    """Return the models side by side, with the intervals of their differences."""
    title, two = title_of(measure), models[0].kind == "binary"
    confidence = percent(evaluated[0].confidence)
    rows = []
    for name, one, found in zip(names, evaluated, models, strict=True):
        point = charts.operating_point(found.problems[0])
        rates = (number(point.precision), number(point.recall)) if two else ()
        rows.append((name, number(one.value), spread(one.interval), *rates))
    head = ("model", title, f"{confidence} interval", *(("precision", "recall") if two else ()))
    verdicts = "".join(
        f"<li>{text(_verdict(names[0], name, evaluated[0], one, title))}</li>"
        for name, one in zip(names[1:], evaluated[1:], strict=True)
    )
    side = f'{table("The models on the same samples", head, rows)}<ul class="verdicts">{verdicts}</ul>'
    chart = figure(charts.intervals(title, names, evaluated), f"{title} with {confidence} intervals.")
    note = (
        "Differences are evaluated on the same resamples for both models, which is more precise than comparing their "
        "separate intervals."
    )
    return section("comparison", "Beside other models", beside(chart, Markup(side)), paragraph(note, style="soft"))


def _verdict(name: str, other: str, own: Evaluation, its: Evaluation, title: str) -> str:
    difference, low, high = own.ahead_of(its)
    above, below = ("behind", "ahead") if own.is_cost else ("ahead", "behind")
    outcome = above if low > 0.0 else below if high < 0.0 else "too close to call"
    between = NO_INTERVAL if np.isnan([low, high]).any() else f"{signed(low)} to {signed(high)}"
    return f"{title} of {name} minus that of {other}: {signed(difference)} ({between}): {outcome}."
