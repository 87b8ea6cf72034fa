"""The figures: areas against training samples and against C, the best C, clusters, and times."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.brefeld2005 import costs
from benchmarks.papers.brefeld2005.methods import AUC_1, AUC_2, CLUSTERS, PLAIN, SQUARED
from benchmarks.papers.brefeld2005.summary import Cell, Point, cells, cluster_points, curve, names, point, sizes

Record = dict[str, Any]

_STYLES = {
    AUC_1: ("#1f77b4", "o-"),
    AUC_2: ("#5a9e5a", "^-"),
    PLAIN: ("#d9802e", "s-"),
    SQUARED: ("#8a5fb0", "D-"),
    CLUSTERS: ("#7f7f7f", "v--"),
}
_TIME_STYLES = {
    costs.EXACT: ("#1f77b4", "o-"),
    costs.EXACT_2: ("#5a9e5a", "^-"),
    costs.KERNEL: ("#1f77b4", "o:"),
    costs.LISTED: ("#b03030", "x--"),
    costs.CLUSTERED: ("#7f7f7f", "v--"),
    costs.PLAIN: ("#d9802e", "s-"),
    costs.PLAIN_KERNEL: ("#d9802e", "s:"),
    costs.HINGE: ("#8a5fb0", "D-"),
}
_THIN = {"markersize": 3, "linewidth": 1}


def _panels(count: int, columns: int = 3, height: float = 2.4) -> tuple[Any, list[Any]]:
    import matplotlib

    matplotlib.use("Agg")
    # Without these, every run would write another file for the same numbers.
    matplotlib.rcParams["svg.hashsalt"] = "metricwise"
    from matplotlib import pyplot

    across = min(count, columns)
    down = -(-count // across)
    figure, grid = pyplot.subplots(
        down, across, figsize=(3.0 * across, height * down + 0.4), layout="constrained", squeeze=False
    )
    axes = list(grid.flat)
    for unused in axes[count:]:
        unused.set_visible(False)
    for used in axes[:count]:
        used.spines[["top", "right"]].set_visible(False)
    return figure, axes[:count]


def _finish(figure: Any, axes: Any, path: Path, columns: int = 3) -> None:
    from matplotlib import pyplot

    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), columns), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def by_size(some: list[Cell], titles: dict[str, str], panel_titles: dict[str, str], path: Path) -> None:
    """Draw the area against the number of training samples with standard errors, one panel per problem."""
    figure, panels = _panels(len(names(some)))
    for axes, name in zip(panels, names(some), strict=True):
        mine = [cell for cell in some if cell.name == name]
        for method, (colour, style) in _STYLES.items():
            drawn = [cell for cell in mine if cell.has(method)]
            if drawn:
                n_samples, means = [cell.n_samples for cell in drawn], [cell.mean(method) for cell in drawn]
                errors = [cell.error(method) for cell in drawn]
                axes.errorbar(n_samples, means, errors, fmt=style, color=colour, label=titles[method], **_THIN)
        axes.set_title(panel_titles[name], fontsize=9)
        axes.set_xlabel("training samples")
        axes.set_ylabel("area")
    _finish(figure, panels[0], path)


def by_c(some: list[Cell], exponents: list[float], titles: dict[str, str], panel_titles: list[str], path: Path) -> None:
    """Draw the area against C, one panel per cell; the AUC-SVM also on the paper's scale."""
    figure, panels = _panels(len(some))
    for axes, cell, title in zip(panels, some, panel_titles, strict=True):
        for method, (colour, style) in _STYLES.items():
            if method in cell.record["search"]:
                axes.plot(exponents, cell.search(method), style, color=colour, label=titles[method], **_THIN)
        shifted = np.array(exponents) + np.log10(cell.record["paper_scale"])
        label = f"{titles[AUC_1]}, the paper's C"
        axes.plot(shifted, cell.search(AUC_1), "o:", color=_STYLES[AUC_1][0], alpha=0.5, label=label, **_THIN)
        shown = [value for method in (AUC_1, AUC_2, PLAIN) for value in cell.search(method)]
        margin = 0.05 * (max(shown) - min(shown)) + 1e-4
        axes.set_ylim(min(shown) - margin, max(shown) + margin)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("log10 C")
        axes.set_ylabel("area")
    _finish(figure, panels[0], path)


def best_c(found: Record, titles: dict[str, str], path: Path) -> None:
    """Draw the average exponent of the best C over topics against the number of training samples."""
    figure, panels = _panels(1, height=3.0)
    some = cells(found, "text")
    for method in (AUC_1, AUC_2, PLAIN):
        colour, style = _STYLES[method]
        panels[0].plot(sizes(some), _averages(some, method, False), style, color=colour, label=titles[method], **_THIN)
    label = f"{titles[AUC_1]}, the paper's C"
    panels[0].plot(sizes(some), _averages(some, AUC_1, True), "o:", color=_STYLES[AUC_1][0], label=label, **_THIN)
    panels[0].set_xlabel("training samples")
    panels[0].set_ylabel("log10 of the best C, average")
    figure.set_size_inches(6.0, 3.2)
    _finish(figure, panels[0], path, columns=2)


def _averages(some: list[Cell], method: str, of_paper: bool) -> list[float]:
    return [
        float(
            np.mean(
                [cell.best_of_paper(method) if of_paper else cell.best(method) for cell in some if cell.n_samples == n]
            )
        )
        for n in sizes(some)
    ]


def clusters(found: Record, path: Path) -> None:
    """Draw area and seconds against the number of clusters, and those over all pairs as horizontal lines."""
    figure, panels = _panels(2 * len(found["clusters"]), columns=2)
    for position, record in enumerate(found["clusters"]):
        exact = point(record["exact"])
        counts, points = zip(*cluster_points(record), strict=True)
        for axes, field, label in (
            (panels[2 * position], "area", "area"),
            (panels[2 * position + 1], "seconds", "seconds"),
        ):
            drawn = [getattr(value, field) for value in points]
            axes.plot(counts, drawn, "v--", color=_STYLES[CLUSTERS][0], label="clusters of pairs", **_THIN)
            axes.axhline(getattr(exact, field), color=_STYLES[AUC_1][0], linewidth=1, label="all pairs, exact")
            axes.set_xscale("log")
            axes.set_xlabel("clusters")
            axes.set_ylabel(label)
            axes.set_title(f"{record['topic']}, {record['n_samples']} samples", fontsize=9)
        panels[2 * position + 1].set_yscale("log")
    _finish(figure, panels[0], path)


def times(found: Record, titles: dict[str, str], path: Path) -> None:
    """Draw processor seconds against the number of training samples, both on logarithmic axes."""
    figure, panels = _panels(1)
    for method, (colour, style) in _TIME_STYLES.items():
        n_samples, points = _split(curve(found, method).items())
        seconds = [value.seconds for value in points]
        panels[0].plot(n_samples, seconds, style, color=colour, label=titles[method], **_THIN)
    panels[0].set_xscale("log")
    panels[0].set_yscale("log")
    panels[0].set_xlabel("training samples")
    panels[0].set_ylabel("seconds")
    figure.set_size_inches(7.0, 4.4)
    _finish(figure, panels[0], path, columns=2)


def _split(points: Iterable[tuple[int, Point]]) -> tuple[list[int], list[Point]]:
    every = sorted(points)
    return [n_samples for n_samples, _ in every], [value for _, value in every]
