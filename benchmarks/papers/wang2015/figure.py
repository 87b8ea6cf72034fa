"""The figures: boxes over folds, boxes of seconds, and F1 against C1, C2 and C3 of joint sparse coding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.papers.wang2015.methods import JSCHP, METHODS, TITLES
from benchmarks.papers.wang2015.remarks import MEASURE_TITLES
from benchmarks.papers.wang2015.sensitivity import MIDDLE, PARAMETERS
from benchmarks.papers.wang2015.summary import Case, curve

Record = dict[str, Any]

_OURS, _THEIRS = "#1f77b4", "#c9c9c9"
_STYLES = (("#d9802e", "s-"), ("#5a9e5a", "^-"), ("#1f77b4", "o-"))


def _panels(count: int, height: float, sharey: bool = False) -> tuple[Any, list[Any]]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    size = (3.2 * count, height)
    figure, grid = pyplot.subplots(1, count, figsize=size, layout="constrained", squeeze=False, sharey=sharey)
    for axes in grid.flat:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, list(grid.flat)


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _boxes(axes: Any, values: dict[str, list[float]]) -> None:
    """Draw one box per method, from quartile to quartile, with the median; ours in colour."""
    shown = [method for method in METHODS if method in values]
    drawn = axes.boxplot(
        [values[method] for method in shown],
        patch_artist=True,
        widths=0.6,
        medianprops={"color": "black"},
        flierprops={"markersize": 3},
    )
    for method, box in zip(shown, drawn["boxes"], strict=True):
        box.set_facecolor(_OURS if method == JSCHP else _THEIRS)
    axes.set_xticks(range(1, len(shown) + 1), [TITLES[method] for method in shown], rotation=60, ha="right", fontsize=8)


def values(some: list[Case], path: Path) -> None:
    """Draw the values of one data set, one panel per measure (Figures 4 to 6 of the paper)."""
    figure, panels = _panels(len(some), 3.2)
    for axes, case in zip(panels, some, strict=True):
        _boxes(axes, case.values)
        axes.set_title(MEASURE_TITLES[case.measure], fontsize=9)
    _save(figure, path)


def times(some: list[Case], path: Path) -> None:
    """Draw the seconds of training, all measures of a data set together, one panel per data set (Figure 8)."""
    names = list(dict.fromkeys(case.name for case in some))
    figure, panels = _panels(len(names), 3.2)
    for axes, name in zip(panels, names, strict=True):
        mine = [case for case in some if case.name == name]
        together = {
            method: [value for case in mine if method in case.seconds for value in case.seconds[method]]
            for method in METHODS
        }
        _boxes(axes, together)
        axes.set_yscale("log")
        axes.set_title(mine[0].title, fontsize=9)
    panels[0].set_ylabel("seconds")
    _save(figure, path)


def sensitivity(found: Record, path: Path) -> None:
    """Draw F1 against each parameter, one line per data set (Figure 7)."""
    figure, panels = _panels(len(PARAMETERS), 2.9, sharey=True)
    for axes, parameter in zip(panels, PARAMETERS, strict=True):
        for record, (colour, style) in zip(found["problems"], _STYLES, strict=False):
            line = curve(found, record["name"], parameter, MIDDLE)
            axes.plot(line.grid, line.values, style, color=colour, markersize=4, label=record["title"])
        axes.set_xscale("log")
        axes.set_xlabel(parameter)
    panels[0].set_ylabel("F1")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    _save(figure, path)
