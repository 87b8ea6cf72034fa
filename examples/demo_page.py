"""The demo's report: one HTML file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import demo_plots as plots
import numpy as np
from numpy.typing import NDArray

from metricwise import Certificate, Result

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Facts:
    """The data in numbers."""

    digit: int
    n_train: int
    n_test: int
    n_train_positive: int
    n_test_positive: int
    seed: int


@dataclass(frozen=True)
class Row:
    """A model and how it does on the test rows; ``ahead`` is the interval of the first model's F1 minus its own."""

    name: str
    trained_for: str
    cut: str
    f1: float
    interval: tuple[float, float]
    ahead: tuple[float, float]
    precision: float
    recall: float
    seconds: float
    scores: Floats
    labels: Mask


@dataclass(frozen=True)
class Comparison:
    """The models side by side, our own first."""

    rows: Sequence[Row]
    resamples: int

    def cells(self) -> list[list[str]]:
        """Return the table as text."""
        return [
            [row.name, f"{row.f1:.3f}", f"{row.interval[0]:.3f} to {row.interval[1]:.3f}"]
            + [f"{value:.{digits}f}" for value, digits in ((row.precision, 3), (row.recall, 3), (row.seconds, 2))]
            for row in self.rows
        ]

    def verdicts(self) -> list[str]:
        """Say in words what the intervals of the differences allow to say."""
        return [_verdict(self.rows[0], row) for row in self.rows[1:]]


def _verdict(first: Row, other: Row) -> str:
    low, high = other.ahead
    outcome = "ahead" if low > 0.0 else "behind" if high < 0.0 else "too close to call"
    difference = f"{first.f1 - other.f1:+.3f}, 90 % interval {low:+.3f} to {high:+.3f}"
    return f"F1 minus that of {other.name}: {difference}: {outcome}."


@dataclass(frozen=True)
class CrossTable:
    """Every model under every measure."""

    models: Sequence[str]
    measures: Sequence[str]
    values: Floats
    seconds: Sequence[float]

    @property
    def best(self) -> Mask:
        """Which values are the best of their column, as far as three digits tell."""
        shown = np.round(self.values, 3)
        return np.asarray(shown == shown.max(axis=0))


@dataclass(frozen=True)
class Proof:
    """The solver's certificate and the recomputed one."""

    result: Result
    again: Certificate
    tol: float
    difference: float
    agrees: bool

    def summary(self) -> str:
        """Say in one line what was proved."""
        recomputed = "agrees" if self.agrees else "DOES NOT AGREE"
        return (
            f"{self.result.status.value} after {self.result.n_iter} iterations, within "
            f"{self.result.certificate.relative:.2e} of the optimum; recomputed from the data it {recomputed}."
        )


CSS = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --paper: #ffffff; --card: #f5f7fa; --line: #ccd3dc;
  --first: #0b6bcb; --second: #c2570c; --third: #6d28d9; --good: #d9f2e3; --bad: #fde4d3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a3aebd; --paper: #12161c; --card: #1b212a;
  --line: #414b59; --first: #62b0ff; --second: #ffa45c; --third: #c3a2ff; --good: #14432b; --bad: #552d14; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .5rem; } h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; }
p { max-width: 46rem; margin: .5rem 0; } .soft, figcaption, caption { color: var(--soft); font-size: .9rem; }
code { font-size: .92em; overflow-wrap: anywhere; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem; }
figure, .card { margin: 1rem 0 0; padding: 1rem; background: var(--card); border-radius: .6rem; }
figure { max-width: 36rem; } .card { width: fit-content; max-width: 100%; } .card .scroll { margin: 0; }
.grid > * { margin: 0; max-width: none; } svg { display: block; width: 100%; height: auto; color: var(--ink); }
svg * { stroke-linejoin: round; stroke-linecap: butt; } svg text { font-family: inherit !important; }
.scroll { overflow-x: auto; margin: 1rem 0; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .4rem; }
th, td { padding: .45rem .8rem; border-bottom: 1px solid var(--line); } th { text-align: left; font-weight: 600; }
td { text-align: right; white-space: nowrap; } td.text { text-align: left; white-space: normal; }
thead th { vertical-align: bottom; } thead th.number { text-align: right; } tbody th { font-weight: 500; }
tr.own > * { background: var(--card); } td.best { font-weight: 700; } .right { background: var(--good); }
.wrong { background: var(--bad); } .right, .wrong { text-align: center; font-size: 1.2rem; }
.headline { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0; padding: 0; list-style: none; }
.headline li { flex: 1 1 9rem; background: var(--card); border-radius: .6rem; padding: .75rem 1rem; }
.headline strong { display: block; font-size: 1.5rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
@media (max-width: 36rem) { figure { padding: .5rem; } h1 { font-size: 1.5rem; } table { font-size: .9rem; }
  th, td { padding: .4rem .45rem; } }
"""


def render(
    facts: Facts,
    roster: Sequence[tuple[str, str, str]],
    truth: Mask,
    threshold: float,
    comparison: Comparison,
    cross_table: CrossTable,
    proof: Proof,
) -> str:
    """Return the page.

    ``roster`` has each model's name, what its weights and what its cut were chosen for; ``threshold`` is what the
    first model's scores have already been lowered by.
    """
    own = comparison.rows[0]
    sections = [
        _introduction(facts, comparison, proof),
        _section("What was trained for which measure", _trained_for(roster)),
        _section("Comparison on the test rows", _compared(comparison, facts)),
        _section(f"The model trained for {own.trained_for}", _operating_point(truth, threshold, comparison)),
        _section("The proof", _proved(proof)),
        _section("Other measures", _cross_table(cross_table)),
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>metricwise demo</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(sections)
        + "\n</main>\n</body>\n</html>\n"
    )


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>"


def _table(caption: str, head: Sequence[str], n_text: int, body: Sequence[str]) -> str:
    """Return a table whose first ``n_text`` columns hold text; narrow screens scroll it."""
    cells = "".join(
        f'<th scope="col"{"" if k < n_text else " class=number"}>{escape(title)}</th>' for k, title in enumerate(head)
    )
    return (
        f'<div class="scroll" role="region" aria-label="{escape(caption)}" tabindex="0">\n<table>\n'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n"
        + "\n".join(body)
        + "\n</tbody>\n</table>\n</div>"
    )


def _row(cells: Sequence[str], n_text: int = 1, own: bool = False, best: Sequence[bool] = ()) -> str:
    first, *others = map(escape, cells)
    first = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=\w)(?=\()", "<wbr>", first)  # long names may break between words
    kinds = ["text" if k < n_text else "best" if k < len(best) and best[k] else "" for k in range(1, len(cells))]
    data = "".join(
        f'<td class="{kind}">{cell}</td>' if kind else f"<td>{cell}</td>"
        for kind, cell in zip(kinds, others, strict=True)
    )
    return f'<tr{" class=own" if own else ""}><th scope="row">{first}</th>{data}</tr>'


def _figure(svg: str, caption: str) -> str:
    return f"<figure>\n{svg}\n<figcaption>{escape(caption)}</figcaption>\n</figure>"


def _introduction(facts: Facts, comparison: Comparison, proof: Proof) -> str:
    own = comparison.rows[0]
    figures = [
        (f"{own.f1:.3f}", "F1 on the test rows"),
        (f"{proof.result.certificate.relative:.3%}", "above the optimum of the training objective, at most"),
        (f"{own.seconds:.2f} s", "to train, threshold included"),
    ]
    items = "".join(f"<li><strong>{value}</strong> {escape(meaning)}</li>" for value, meaning in figures)
    return (
        f"<h1>Find the digit {facts.digit}, trained for F1</h1>\n"
        "<p>scikit-learn's handwritten digits, 8 × 8 pixels each. "
        f"{facts.n_train_positive} of {facts.n_train} training rows show the digit {facts.digit} "
        f"({facts.n_train_positive / facts.n_train:.1%}); {facts.n_test} rows, "
        f"{facts.n_test_positive} of them positive, were kept for the test. Pixels are scaled to [0, 1]; every model "
        "has its default settings, and none has seen the test rows. "
        f"The split is stratified, with seed {facts.seed}.</p>\n"
        f'<ul class="headline">{items}</ul>'
    )


def _trained_for(roster: Sequence[tuple[str, str, str]]) -> str:
    rows = [_row(cells, n_text=3, own=k == 0) for k, cells in enumerate(roster)]
    return _table("The weights and the cut can serve different measures", ["model", "weights", "cut"], 3, rows)


def _compared(comparison: Comparison, facts: Facts) -> str:
    head = ["model", "F1", "90 % interval", "precision", "recall", "seconds"]
    rows = [_row(cells, own=k == 0) for k, cells in enumerate(comparison.cells())]
    svg = plots.intervals(
        [r.name for r in comparison.rows], [r.f1 for r in comparison.rows], [r.interval for r in comparison.rows]
    )
    caption = f"Intervals hold the middle 90 % over {comparison.resamples} resamples of the {facts.n_test} test rows."
    verdicts = "".join(f"<li>{escape(verdict)}</li>" for verdict in comparison.verdicts())
    return (
        _table("Test F1, precision and recall, and seconds to train", head, 1, rows)
        + f"\n<ul>{verdicts}</ul>\n"
        + _figure(svg, caption)
    )


def _operating_point(truth: Mask, threshold: float, comparison: Comparison) -> str:
    own, *others = comparison.rows
    curves = {own.name: own.scores, others[0].name: others[0].scores}
    points = {row.name: (row.recall, row.precision) for row in comparison.rows}
    pr_caption = (
        f"Curves of {own.name} and {others[0].name}, whose weights {others[1].name} shares; marks: where each cuts."
    )
    return (
        '<div class="grid">\n'
        + _figure(plots.precision_recall(truth, curves, points), pr_caption)
        + _figure(
            plots.f1_by_threshold(truth, own.scores + threshold, threshold),
            "threshold_ was chosen on training rows, out of fold: it need not be the best for the test rows.",
        )
        + f'\n</div>\n<div class="card">{_confusion(truth, own.labels)}</div>'
    )


def _confusion(truth: Mask, labels: Mask) -> str:
    def cell(actual: bool, called: bool) -> str:
        count = np.count_nonzero((truth == actual) & (labels == called))
        return f'<td class="{"right" if actual == called else "wrong"}">{count}</td>'

    rows = [
        f'<tr><th scope="row">{name}</th>{cell(actual, True)}{cell(actual, False)}</tr>'
        for name, actual in (("is positive", True), ("is negative", False))
    ]
    return _table("Confusion matrix of the test rows", ["", "called positive", "called negative"], 3, rows)


def _proved(proof: Proof) -> str:
    ours, again = proof.result.certificate, proof.again
    rows = [
        _row([name, f"{c.upper:.6f}", f"{c.lower:.6f}", f"{c.relative:.3e}"])
        for name, c in (("by the solver", ours), ("recomputed by certify", again))
    ]
    outcome = (
        f"Both agree, up to {proof.difference:.1e} of the objective."
        if proof.agrees
        else "They do not agree: the solver's certificate must not be trusted."
    )
    return (
        f"<p>Training ended as <strong>{escape(proof.result.status.value)}</strong> after {proof.result.n_iter} "
        f"iterations: the relative gap between the bounds is {ours.relative:.2e}, the tolerance {proof.tol:g}. "
        "<code>metricwise.certify</code> computed both bounds again, from the data and the model alone and with none "
        f"of the solver's code. {escape(outcome)}</p>\n"
        + _table("Bounds of the objective", ["certificate", "upper", "lower", "relative gap"], 1, rows)
        + _figure(
            plots.convergence(proof.result.history, proof.tol), "Bounds of the objective, iteration by iteration."
        )
    )


def _cross_table(table: CrossTable) -> str:
    rows = [
        _row([name, *(f"{value:.3f}" for value in values), f"{seconds:.2f}"], best=[False, *best])
        for name, values, best, seconds in zip(table.models, table.values, table.best, table.seconds, strict=True)
    ]
    return (
        "<p>The same rows, trained for other measures; each model is judged by all of them. PRBEP and ROC area judge "
        "the scores, F1 and G-mean the labels.</p>\n"
        + _table("Test value by measure; bold: best of the column", ["model", *table.measures, "seconds"], 1, rows)
    )
