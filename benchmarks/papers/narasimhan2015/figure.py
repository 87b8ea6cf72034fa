"""The curves of one measure, a panel a problem, as in Figures 1 to 4 of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.papers.narasimhan2015.methods import BATCHES, MULTIVARIATE, OURS, PLUG_IN
from benchmarks.papers.narasimhan2015.summary import NEAR, Line

Record = dict[str, Any]

_STYLES = {
    OURS: ("#1f77b4", "o-"),
    BATCHES: ("#5a9e5a", "^-"),
    MULTIVARIATE: ("#8a5fb0", "s-"),
    PLUG_IN: ("#d9802e", "D-"),
}
_LOWEST = 0.25  # of the range of values is shown below the best


def draw(found: Record, measure: str, titles: dict[str, str], axis: str, path: Path) -> None:
    """Draw the value on test samples against seconds, on a logarithmic axis, and write it as SVG."""
    import matplotlib

    matplotlib.use("Agg")
    # Without these, every run would write another file for the same numbers.
    matplotlib.rcParams["svg.hashsalt"] = "metricwise"
    from matplotlib import pyplot

    drawn = [Line(problem, measure) for problem in found["problems"]]
    figure, panels = pyplot.subplots(
        1, len(drawn), figsize=(3.0 * len(drawn), 3.2), layout="constrained", squeeze=False
    )
    for axes, line in zip(panels[0], drawn, strict=True):
        _panel(axes, line, titles)
    panels[0][0].set_ylabel(axis)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _panel(axes: Any, line: Line, titles: dict[str, str]) -> None:
    for method, (colour, style) in _STYLES.items():
        seconds, values = zip(*line.points(method), strict=True)
        axes.plot(seconds, values, style, color=colour, markersize=3, linewidth=1, label=titles[method])
    axes.axhline(NEAR * line.best, color="grey", linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_ylim(line.best * (1.0 - _LOWEST), line.best * (1.0 + 0.1 * _LOWEST))
    axes.set_xlabel("seconds")
    axes.set_title(line.problem["title"], fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
