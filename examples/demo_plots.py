"""The demo's figures as inline SVG: drawn by matplotlib, coloured by the style sheet of the page around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from io import StringIO
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.metrics import f1_score, precision_recall_curve

from metricwise import History

matplotlib.use("Agg")

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Placeholders, replaced in the SVG so that the figures follow light and dark mode.
INK, FAINT, FIRST, SECOND, THIRD = "#010101", "#010102", "#010103", "#010104", "#010105"
SERIES = (FIRST, SECOND, THIRD)
_IN_PAGE = {
    INK: "currentColor",
    FAINT: "var(--line)",
    FIRST: "var(--first)",
    SECOND: "var(--second)",
    THIRD: "var(--third)",
}
_MARKERS = ("o", "s", "D")
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "metricwise",
    "font.size": 12.0,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0.0,
    "ytick.major.size": 0.0,
    "xtick.major.pad": 6.0,
    "ytick.major.pad": 6.0,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
}


def draw(name: str, description: str, paint: Callable[[Figure], None], height: float = 4.2) -> str:
    """Return a figure as an SVG element with its own ids, a text for those who do not see it, and no fixed size."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(5.4, height), layout="constrained")
        figure.patch.set_alpha(0.0)
        paint(figure)
        for axes in figure.axes:
            axes.patch.set_alpha(0.0)
        stream = StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    for placeholder, colour in _IN_PAGE.items():
        svg = svg.replace(placeholder, colour)
    view = re.search(r'viewBox="[^"]*"', svg)
    assert view is not None
    namespaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    opening = f'<svg {namespaces} {view.group()} role="img" aria-label="{escape(description)}">'
    return opening + svg[svg.index(">") + 1 :].strip()


def intervals(names: Sequence[str], f1: Sequence[float], bounds: Sequence[tuple[float, float]]) -> str:
    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for k, (name, value, (low, high)) in enumerate(zip(names, f1, bounds, strict=True)):
            axes.plot([low, high], [-k, -k], color=SERIES[k])
            axes.plot(value, -k, _MARKERS[k], color=SERIES[k], markersize=8)
            axes.text(low, -k + 0.2, f"{name}  {value:.3f}", va="bottom")
        axes.set(ylim=(-len(names) + 0.6, 0.7), yticks=[], xlabel="F1 on the test rows")
        axes.spines["left"].set_visible(False)
        axes.margins(x=0.12)

    described = [f"{n} {v:.3f}, {low:.3f} to {high:.3f}" for n, v, (low, high) in zip(names, f1, bounds, strict=True)]
    return draw("intervals", "Test F1 with 90 % intervals: " + "; ".join(described) + ".", paint, height=2.4)


def precision_recall(truth: Mask, curves: dict[str, Floats], points: dict[str, tuple[float, float]]) -> str:
    """Draw a curve for each scorer, and the recall and precision at which each model works."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for colour, scores in zip(SERIES, curves.values(), strict=False):
            precision, recall, _ = precision_recall_curve(truth, scores)
            axes.step(recall, precision, where="post", color=colour)
        for k, (name, (x, y)) in enumerate(points.items()):
            axes.plot(x, y, _MARKERS[k], color=SERIES[k], markersize=8, label=name, clip_on=False, zorder=5)
        axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="recall", ylabel="precision")
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2)

    described = "; ".join(f"{name} works at recall {x:.3f} and precision {y:.3f}" for name, (x, y) in points.items())
    return draw("pr", f"Precision against recall on the test rows. {described}.", paint)


def f1_by_threshold(truth: Mask, scores: Floats, threshold: float) -> str:
    """Draw the test F1 over all thresholds of the raw scores, with the chosen one and zero marked."""
    precision, recall, cuts = precision_recall_curve(truth, scores)
    f1 = 2.0 * precision * recall / np.maximum(precision + recall, 1e-12)
    at = [_f1_at(truth, scores, t) for t in (threshold, 0.0)]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.step(cuts, f1[:-1], where="pre", color=FIRST)
        axes.axvline(threshold, color=INK, linewidth=1.0, zorder=1)
        chosen, zero = (f"threshold_ = {threshold:.3f}: F1 {at[0]:.3f}", f"threshold 0: F1 {at[1]:.3f}")
        axes.plot(threshold, at[0], "o", color=FIRST, markersize=9, label=chosen)
        axes.plot(0.0, at[1], "s", color=SECOND, markersize=8, label=zero)
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=1, borderaxespad=0.2)
        axes.set(ylim=(0, 1), xlabel="threshold of the score", ylabel="F1 on the test rows")

    text = (
        f"Test F1 against the threshold of the scores. At the chosen threshold {threshold:.3f} it is {at[0]:.3f}, "
        f"at 0 it is {at[1]:.3f}, at the best threshold for the test rows {f1.max():.3f}."
    )
    return draw("threshold", text, paint)


def _f1_at(truth: Mask, scores: Floats, threshold: float) -> float:
    return float(f1_score(truth, scores > threshold, zero_division=0.0))


def convergence(history: History, tol: float) -> str:
    """Draw both bounds of the objective, and below them the relative gap."""
    iteration = [entry.iteration for entry in history]
    upper = np.array([entry.objective for entry in history])
    lower = np.array([entry.lower for entry in history])
    gap = (upper - lower) / upper

    def paint(figure: Figure) -> None:
        bounds, gaps = figure.subplots(2, 1, sharex=True)
        bounds.fill_between(iteration, lower, upper, color=FIRST, alpha=0.15, linewidth=0)
        bounds.plot(iteration, upper, color=FIRST, label="upper bound: the model's objective")
        bounds.plot(iteration, lower, "--", color=SECOND, label="lower bound: no model is better")
        bounds.set(ylabel="objective", ylim=(min(0.0, float(lower.min())), 1.05 * float(upper.max())))
        bounds.legend(loc="upper right", borderaxespad=0.0)
        gaps.semilogy(iteration, gap, color=FIRST)
        gaps.axhline(tol, color=INK, linewidth=1.2)
        gaps.text(iteration[0], tol * 1.15, f"tol = {tol:g}", va="bottom")
        gaps.set(xlabel="iteration", ylabel="relative gap")

    text = (
        f"Upper and lower bound of the objective meet within {len(iteration)} iterations; the relative gap falls from "
        f"{gap[0]:.2g} to {gap[-1]:.2g}, with a tolerance of {tol:g}."
    )
    return draw("convergence", text, paint, height=4.8)
