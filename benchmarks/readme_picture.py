"""Draw the picture of the README, light and dark: ``python -m benchmarks.readme_picture``.

On the left F1 by threshold on the table of the README's example, on the right the mean F1 of the first suite of the
quality benchmark.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.context import ROOT
from benchmarks.quality.comparing import OURS
from benchmarks.quality.comparison_page import load_comparison
from benchmarks.quality.running import RESULTS
from benchmarks.quality.verdicts import peers_of
from metricwise import PlugInClassifier, get_measure
from metricwise.reporting.evaluation import measure_curve
from metricwise.reporting.predictions import Problem
from metricwise.reporting.steps import make_steps

FOLDER = ROOT / "docs" / "_static"
SHARE = 0.9  # of the patients, whose disease progresses more slowly


@dataclass(frozen=True)
class Palette:
    """Colours of a theme."""

    text: str
    soft: str
    ours: str
    other: str


PALETTES = {
    "light": Palette("#1f2328", "#8c959f", "#0b6e99", "#c2571a"),
    "dark": Palette("#e6edf3", "#7d8590", "#58b5e1", "#f0883e"),
}


@dataclass(frozen=True)
class Curve:
    """F1 by threshold out of fold, the 90 % band, and the chosen threshold with what is expected of it."""

    thresholds: Any
    value: Any
    low: Any
    high: Any
    chosen: float
    expected: float
    interval: tuple[float, float]
    at_default: float


def compute_curve() -> Curve:
    """Return F1 by threshold of a logistic regression on the table of the README."""
    X, y = load_diabetes(return_X_y=True)
    positive = y > np.quantile(y, SHARE)
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_predict(learner, X, positive, cv=folds, method="predict_proba")[:, 1]
    measure = get_measure("f1")
    ones = np.ones(scores.size)
    problem = Problem("1", 1, positive, scores > 0.5, scores, "probability", 0.5, ones)
    steps = make_steps(problem, measure)
    value, low, high = measure_curve(steps, measure)
    model = PlugInClassifier(learner, "f1", cv=folds).fit(X, positive)
    at_default = float(measure.score(positive, (scores > 0.5).astype(int)))
    interval = tuple(map(float, model.expected_score_interval_))
    return Curve(steps.thresholds, value, low, high, model.threshold_, model.expected_score_, interval, at_default)


def draw(folder: Path = FOLDER) -> list[Path]:
    """Draw both pictures; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    curve, paths = compute_curve(), []
    for name, palette in PALETTES.items():
        settings = {"svg.fonttype": "none", "svg.hashsalt": "readme", "font.family": "sans-serif", "font.size": 10}
        with matplotlib.rc_context(settings):
            figure = Figure(figsize=(10.0, 3.6), layout="constrained")
            left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.05))
            _draw_curve(left, curve, palette)
            _draw_means(right, palette)
            for axes in (left, right):
                _colour(axes, palette)
            paths.append(folder / f"readme_{name}.svg")
            FigureCanvasSVG(figure)
            figure.savefig(paths[-1], transparent=True, metadata={"Date": None, "Creator": None})
    return paths


def _draw_curve(axes: Any, curve: Curve, palette: Palette) -> None:
    axes.fill_between(curve.thresholds, curve.low, curve.high, color=palette.ours, alpha=0.18, linewidth=0)
    axes.plot(curve.thresholds, curve.value, color=palette.ours, linewidth=1.6)
    axes.axvline(0.5, color=palette.other, linestyle="--", linewidth=1.2)
    axes.annotate(
        f"default: {curve.at_default:.2f}", (0.5, 0.93), xytext=(5, 0), textcoords="offset points", color=palette.other
    )
    low, high = curve.interval
    axes.errorbar(
        [curve.chosen],
        [curve.expected],
        [[curve.expected - low], [high - curve.expected]],
        fmt="o",
        markersize=6,
        color=palette.text,
        capsize=3,
    )
    axes.annotate(
        f"chosen: expect {curve.expected:.2f}\n({low:.2f} to {high:.2f})",
        (curve.chosen, high),
        xytext=(0, 6),
        ha="center",
        textcoords="offset points",
        color=palette.text,
    )
    axes.set(xlim=(0.0, 0.8), ylim=(0.0, 1.0), xlabel="threshold of the probability", ylabel="F1")
    axes.set_title("442 patients, a tenth positive: logistic regression", fontsize=10, loc="left", color=palette.text)


def _draw_means(axes: Any, palette: Palette) -> None:
    found = load_comparison(RESULTS, "tables", "f1")
    if found is None:
        raise ValueError(f"{RESULTS} has no trials of tables for F1: run make bench-quality first")
    methods = [OURS, *peers_of(found)]
    for position, name in enumerate(methods):
        mean, colour = found.mean(name), palette.ours if name == OURS else palette.soft
        axes.plot([0.0, mean], [position, position], color=colour, linewidth=1.0, alpha=0.5)
        axes.plot([mean], [position], "o", color=colour, markersize=7)
        axes.annotate(
            f"{mean:.3f}", (mean, position), xytext=(8, 0), textcoords="offset points", va="center", color=palette.text
        )
    axes.set_yticks(range(len(methods)), methods)
    axes.invert_yaxis()
    axes.set(xlim=(0.0, 0.85), xlabel="mean F1, every threshold tuned")
    axes.set_title(
        f"{len(found.problems)} tables, {found.n_splits} splits", fontsize=10, loc="left", color=palette.text
    )


def _colour(axes: Any, palette: Palette) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(palette.soft)
    axes.tick_params(colors=palette.text, length=3)
    axes.xaxis.label.set_color(palette.text)
    axes.yaxis.label.set_color(palette.text)


if __name__ == "__main__":
    draw()
