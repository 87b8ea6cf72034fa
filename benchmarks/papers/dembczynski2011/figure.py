"""The figures: expected F against samples and time against labels (Figure 1), and F against one C for all labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.papers.dembczynski2011.published import PUBLISHED
from benchmarks.papers.dembczynski2011.settings import SINGLE, single_c
from benchmarks.papers.dembczynski2011.summary import METHOD_TITLES, comparable, title, value

Record = dict[str, Any]

_STYLES = {
    "gfm": ("#1f77b4", "o-"),
    "gfm_t": ("#5a9e5a", "^--"),
    "meuf": ("#d9802e", "s-"),
    "meuf_approx": ("#8a5fb0", "D--"),
}
_THIN = {"markersize": 3, "linewidth": 1}


def _panels(count: int) -> tuple[Any, list[Any]]:
    import matplotlib

    matplotlib.use("Agg")
    # Without these, every run would write another file for the same numbers.
    matplotlib.rcParams["svg.hashsalt"] = "metricwise"
    from matplotlib import pyplot

    figure, grid = pyplot.subplots(1, count, figsize=(3.4 * count, 3.2), layout="constrained", squeeze=False)
    for axes in grid[0]:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, list(grid[0])


def _finish(figure: Any, axes: Any, path: Path) -> None:
    from matplotlib import pyplot

    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def synthetic(found: Record, titles: dict[str, str], model_titles: dict[str, str], path: Path) -> None:
    """Draw Figure 1: panels of expected F with standard errors, and one of time."""
    figure, panels = _panels(len(found["synthetic"]) + 1)
    for axes, entry in zip(panels, found["synthetic"], strict=False):
        for rule, (colour, style) in _STYLES.items():
            means, errors = entry["means"][rule], entry["errors"][rule]
            axes.errorbar(entry["sizes"], means, errors, fmt=style, color=colour, label=titles[rule], **_THIN)
        axes.axhline(entry["best"], color="grey", linewidth=0.8, linestyle=":", label="best possible")
        axes.set_xlabel("samples")
        axes.set_ylabel("expected F")
        axes.set_title(model_titles[entry["model"]], fontsize=9)
    _times(panels[-1], found["times"])
    _finish(figure, panels[0], path)


def _times(axes: Any, times: Record) -> None:
    for rule, (colour, style) in _STYLES.items():
        axes.plot(times["labels"], times["milliseconds"][rule], style, color=colour, **_THIN)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("labels")
    axes.set_ylabel("milliseconds per instance")
    axes.set_title("time", fontsize=9)


def by_c(found: Record, path: Path) -> None:
    """Draw F against one C for all labels, one panel per data set; horizontal lines are the paper's values."""
    problems = comparable(found)
    figure, panels = _panels(len(problems))
    methods = {"pcc_gfm": _STYLES["gfm"], "pcc_meuf": _STYLES["meuf"], "br_meuf": _STYLES["gfm_t"]}
    for axes, problem in zip(panels, problems, strict=True):
        measured = {entry["setting"]: entry["f"] for entry in found["settings"] if entry["data"] == problem["name"]}
        drawn = [C for C in SINGLE if single_c(C) in measured]
        for method, (colour, style) in methods.items():
            values = [measured[single_c(C)][method] for C in drawn]
            axes.plot(drawn, values, style, color=colour, label=METHOD_TITLES[method], **_THIN)
            axes.axhline(PUBLISHED[problem["name"]][method].f, color=colour, linewidth=0.8, linestyle=":")
            axes.plot([drawn[-1] * 4], [value(problem, method)], style[0], color=colour, fillstyle="none")
        axes.set_xscale("log")
        axes.set_xlabel("C")
        axes.set_ylabel("F")
        axes.set_title(title(problem), fontsize=9)
    _finish(figure, panels[0], path)
