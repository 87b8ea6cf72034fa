"""The explorer: the user moves the threshold directly, by a wanted precision or by costs, and sees the results.

The page's script computes the measures from the counts of each step; here are the same measures by name, so that the
page shows the model's own threshold before, and without, any script.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from metricwise.measures import Measure, get_measure
from metricwise.measures.base import CountsTable, show_value
from metricwise.measures.tables import divide
from metricwise.measures.titles import title_of
from metricwise.reporting.markup import Markup, number, tally
from metricwise.reporting.predictions import Problem
from metricwise.reporting.steps import Steps

NAMES = (
    "f1", "f2", "f0.5", "jaccard", "balanced_accuracy", "g_mean", "h_mean", "q_mean", "min_rate",
    "matthews_corrcoef", "cohen_kappa", "accuracy",
)  # fmt: skip
_COST_OF_A_MISS = 5  # in units of a false alarm; the reader can change it
_RATES: dict[str, tuple[str, str, Callable[[float, float, float, float], tuple[float, float]]]] = {
    "precision": (
        "precision",
        "of the samples predicted positive, the share that is",
        lambda tp, fp, fn, tn: (tp, tp + fp),
    ),
    "recall": ("recall", "of the positives, the share that is found", lambda tp, fp, fn, tn: (tp, tp + fn)),
    "specificity": ("specificity", "of the negatives, the share left alone", lambda tp, fp, fn, tn: (tn, tn + fp)),
}


@dataclass(frozen=True)
class ExplorerProblem:
    """A problem with its steps."""

    problem: Problem
    steps: Steps


def measure_values(measure: Measure, table: CountsTable, tables: tuple[Any, ...]) -> list[tuple[str, str, str, float]]:
    """Return key, title, note and value of all measures of a table, that of the model first."""
    rows = [(key, title, note, float(divide(*pair(*tables)))) for key, (title, note, pair) in _RATES.items()]
    rows += [(name, title_of(get_measure(name)), "", float(get_measure(name).value(*tables))) for name in NAMES]  # type: ignore[attr-defined]
    own: Any = table
    if own.name in NAMES and own == get_measure(own.name):
        first = next(row for row in rows if row[0] == own.name)
        rows.remove(first)
    else:
        first = ("own", title_of(own), "", float(show_value(own, own.value(*tables), sum(tables))))
    why = "the model's measure" if measure.response == "labels" else "judges the threshold"
    return [(first[0], first[1], why, first[3]), *rows]


def explorer_data(explored: list[ExplorerProblem], table: CountsTable) -> str:
    """Return what the script needs, as JSON that is safe within a script element."""
    problems = []
    for one in explored:
        steps = one.steps
        values = show_value(table, table.value(*steps.tables), steps.n_pos + steps.n_neg)
        own = np.round(np.asarray(values, dtype=np.float64), 6)
        problems.append(
            {
                "name": one.problem.name,
                "t": steps.thresholds.tolist(),
                "tp": _shorten(steps.tp),
                "fp": _shorten(steps.fp),
                "pos": _shorten(steps.n_pos),
                "neg": _shorten(steps.n_neg),
                "own": own.tolist(),
                "start": steps.own,
            }
        )
    found = json.dumps({"problems": problems}, separators=(",", ":"), allow_nan=False)
    return found.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _shorten(counts: Any) -> Any:
    """Return counts as integers, or sums of weights with six digits after the point."""
    values = np.asarray(counts)
    return (values.astype(np.int64) if np.all(values == np.floor(values)) else np.round(values, 6)).tolist()


def explorer_script() -> str:
    """Return the script of the page."""
    return files("metricwise.reporting").joinpath("explorer.js").read_text("utf-8")


def explorer_markup(explored: list[ExplorerProblem], measure: Measure, table: CountsTable, charts: list[str]) -> Markup:
    """Return the controls, the charts of every problem and the tables, as they are at the model's own threshold."""
    first = explored[0].steps
    tables = tuple(float(cell[first.own]) for cell in first.tables)
    several = _choice(explored) if len(explored) > 1 else ""
    pictures = "".join(
        f'<div class="grid" data-problem="{k}"{" hidden" if k else ""}>{chart}</div>' for k, chart in enumerate(charts)
    )
    return Markup(
        f'{several}{_slider(first)}<div class="controls">{_TARGETS}{_costs(first)}</div>'
        f'<p id="explorer-said" role="status" aria-live="polite">{_describe_threshold(first)}</p>'
        "<noscript><p>The explorer needs JavaScript; below is the model at its own threshold.</p></noscript>"
        f'{pictures}<div class="beside">{_confusion(tables)}{_measures(measure, table, tables)}</div>'
    )


def _choice(explored: list[ExplorerProblem]) -> str:
    options = "".join(f'<option value="{k}">{escape(one.problem.name)}</option>' for k, one in enumerate(explored))
    return (
        '<p class="choice"><label for="explorer-problem">One vs the rest:</label> '
        f'<select id="explorer-problem">{options}</select></p>'
    )


def _describe_threshold(steps: Steps) -> str:
    """Describe the model at its own threshold, in the same words as the script."""
    tp, fp = float(steps.tp[steps.own]), float(steps.fp[steps.own])
    precision, recall = float(divide(tp, tp + fp)), float(divide(tp, steps.n_pos))
    return (
        f"At {steps.thresholds[steps.own]:.6g}, {tally(tp)} of {tally(steps.n_pos)} positives are found, with "
        f"{tally(fp)} false alarms: precision {number(precision)}, recall {number(recall)}."
    )


def _slider(steps: Steps) -> str:
    last, where = steps.thresholds.size - 1, f"{steps.thresholds[steps.own]:.6g}"
    return (
        '<fieldset class="slider"><legend>Threshold</legend>'
        '<label for="explorer-step">Predict positive where the score is above '
        f'<output id="explorer-threshold" for="explorer-step">{where}</output></label>'
        f'<input id="explorer-step" type="range" min="0" max="{last}" step="1" value="{steps.own}" '
        f'aria-valuetext="threshold {where}">'
        '<span class="ends"><span>more found</span><span>fewer false alarms</span></span>'
        '<span class="pair"><label for="explorer-typed">or type one; the nearest is taken</label>'
        f'<input id="explorer-typed" type="number" step="any" value="{where}">'
        '<button id="explorer-reset" type="button">the model’s own</button></span></fieldset>'
    )


_TARGETS = (
    "<fieldset><legend>Precision on these samples</legend>"
    '<label for="explorer-precision">At least so much precision here, in %</label>'
    '<span class="pair"><input id="explorer-precision" type="number" min="0" max="100" step="1" value="90">'
    '<button id="explorer-most-recall" type="button">most recall</button></span>'
    "<small>The precision of new samples may be lower: for a guarantee, train with subject_to and "
    "confidence.</small></fieldset>"
)


def _costs(steps: Steps) -> str:
    together = float(steps.fp[steps.own]) + _COST_OF_A_MISS * (steps.n_pos - float(steps.tp[steps.own]))
    return (
        "<fieldset><legend>Costs</legend>"
        '<span class="pair"><label for="explorer-alarm">of a false alarm</label>'
        '<input id="explorer-alarm" type="number" min="0" step="any" value="1">'
        '<label for="explorer-miss">of a miss</label>'
        f'<input id="explorer-miss" type="number" min="0" step="any" value="{_COST_OF_A_MISS}"></span>'
        '<span class="pair"><button id="explorer-cheapest" type="button">cheapest</button>'
        '<span>now <output id="explorer-cost" for="explorer-step explorer-alarm explorer-miss">'
        f"{tally(together)}</output> together</span></span></fieldset>"
    )


def _confusion(tables: tuple[float, ...]) -> str:
    tp, fp, fn, tn = tables

    def cell(name: str, count: float, words: str, right: bool) -> str:
        style = "right" if right else "wrong"
        return f'<td class="{style}"><b data-count="{name}">{tally(count)}</b><span>{words}</span></td>'

    return (
        '<table class="confusion" id="explorer-confusion"><caption>Confusion matrix at this threshold</caption>'
        '<thead><tr><td></td><th scope="col">predicted positive</th>'
        '<th scope="col">predicted negative</th></tr></thead>'
        f'<tbody><tr><th scope="row">is positive</th>{cell("tp", tp, "found", True)}{cell("fn", fn, "missed", False)}'
        f'</tr><tr><th scope="row">is negative</th>{cell("fp", fp, "false alarms", False)}'
        f"{cell('tn', tn, 'left alone', True)}</tr></tbody></table>"
    )


def _measures(measure: Measure, table: CountsTable, tables: tuple[float, ...]) -> str:
    tiles = []
    for k, (key, title, note, value) in enumerate(measure_values(measure, table, tables)):
        small = f" <small>{escape(note)}</small>" if note else ""
        tiles.append(
            f"<div{' class=own' if k == 0 else ''}><dt>{escape(title)}{small}</dt>"
            f'<dd data-measure="{escape(key)}">{number(value)}</dd></div>'
        )
    measures = f'<dl class="measures" id="explorer-measures">{"".join(tiles)}</dl>'
    return f"<div><h3>Measures at this threshold</h3>{measures}</div>"
