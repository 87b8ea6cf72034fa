"""The plots of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

_COLOURS = ("#1f77b4", "#7fb2d9", "#d9802e")
_CURVE_COLOURS = ("#1f77b4", "#d9802e", "#5a9e5a", "#8a5fb0", "#b04a4a")


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    FigureCanvasAgg(figure)
    figure.savefig(path, dpi=150, bbox_inches="tight", metadata={"Software": None})


def bars(path: Path, labels: Sequence[str], series: Mapping[str, Sequence[float]], axis: str) -> None:
    """Draw horizontal bars on a logarithmic axis: one group per label, one bar per series."""
    thickness = 0.8 / len(series)
    figure = Figure(figsize=(8.0, 0.8 + 0.24 * len(labels) * (1 + len(series))))
    axes = figure.add_subplot()
    centres = np.arange(len(labels))
    for k, (name, values) in enumerate(series.items()):
        positions = centres + (k - (len(series) - 1) / 2) * thickness
        drawn = axes.barh(positions, values, height=0.9 * thickness, color=_COLOURS[k % len(_COLOURS)], label=name)
        axes.bar_label(drawn, fmt="%.3g", padding=2, fontsize=7)
    axes.set_xscale("log")
    axes.set_yticks(centres, labels)
    axes.invert_yaxis()
    axes.set_xlabel(axis)
    axes.margins(x=0.12)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="best")
    _save(figure, path)


def growth(path: Path, curves: Mapping[str, Mapping[str, Sequence[float]]], reference: float) -> None:
    """Draw seconds and iterations against the number of samples.

    ``curves`` holds for each measure the sequences n_samples, seconds and iterations, and the fit (exponent, factor).
    """
    figure = Figure(figsize=(10.0, 4.2))
    times, iterations = figure.subplots(1, 2)
    for (name, curve), colour in zip(curves.items(), _CURVE_COLOURS, strict=False):
        sizes = np.asarray(curve["n_samples"], dtype=float)
        exponent, factor = curve["fit"]
        times.plot(sizes, curve["seconds"], "o", color=colour, label=f"{name}: exponent {exponent:.2f}")
        times.plot(sizes, factor * sizes**exponent, "-", color=colour, linewidth=1)
        iterations.plot(sizes, curve["iterations"], "o-", color=colour, linewidth=1, label=name)
    _reference(times, curves, reference)
    for axes, label in ((times, "seconds"), (iterations, "iterations")):
        axes.set_xscale("log")
        axes.set_xlabel("samples")
        axes.set_ylabel(label)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    times.set_yscale("log")
    iterations.set_ylim(0, 1.1 * max(max(curve["iterations"]) for curve in curves.values()))
    _save(figure, path)


def _reference(axes: Any, curves: Mapping[str, Mapping[str, Sequence[float]]], exponent: float) -> None:
    """Draw a reference growth from the slowest first point on."""
    slowest = max(curves.values(), key=lambda curve: curve["seconds"][0])
    sizes = np.asarray(slowest["n_samples"], dtype=float)
    line = 1.5 * slowest["seconds"][0] * (sizes / sizes[0]) ** exponent
    axes.plot(sizes, line, "--", color="grey", linewidth=1, label=f"$n^{{{exponent}}}$ for comparison")


def seconds_by_size(
    path: Path, curves: Mapping[str, tuple[Sequence[int], Sequence[float]]], exponent: float, counted: str = "samples"
) -> None:
    """Draw seconds against what ``counted`` names, one curve per method, and a reference slope."""
    figure = Figure(figsize=(6.5, 4.5))
    axes = figure.subplots()
    for (name, (sizes, seconds)), colour in zip(curves.items(), _CURVE_COLOURS * 2, strict=False):
        axes.plot(sizes, seconds, "o-", color=colour, linewidth=1, label=name)
    least = min(seconds[0] for _, seconds in curves.values())
    sizes = np.array(max((sizes for sizes, _ in curves.values()), key=max), dtype=float)
    axes.plot(sizes, least * (sizes / sizes[0]) ** exponent, ":", color="0.5", label=f"{counted}^{exponent:g}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(counted)
    axes.set_ylabel("seconds")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    _save(figure, path)


def levels(path: Path, curves: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw challenge levels, and their excess with a bound that falls at a given rate, against the challenges.

    ``curves`` holds for each name the levels, the last of which is taken for the best, and the rate.
    """
    figure = Figure(figsize=(10.0, 4.2))
    heights, excesses = figure.subplots(1, 2)
    for (name, curve), colour in zip(curves.items(), _CURVE_COLOURS, strict=False):
        reached = np.asarray(curve["levels"], dtype=float)
        excess, steps = reached[-1] - reached[:-1], np.arange(reached.size)
        heights.plot(steps, reached, "o-", color=colour, linewidth=1, label=name)
        excesses.plot(steps[:-1], excess, "o-", color=colour, linewidth=1, label=name)
        bound = excess[0] * curve["rate"] ** steps[:-1]
        excesses.plot(steps[:-1], bound, "--", color=colour, linewidth=1, label=f"Table 2: rate {curve['rate']:.3f}")
    for axes, label in ((heights, "challenge level"), (excesses, "excess: best level minus level")):
        axes.set_xlabel("challenges")
        axes.set_ylabel(label)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=7)
    excesses.set_yscale("log")
    _save(figure, path)


def files(path: Path, curves: Mapping[str, Mapping[str, Sequence[float | None]]], most_memory: float) -> None:
    """Draw seconds and peak memory against the number of samples, one curve per format."""
    figure = Figure(figsize=(10.0, 4.2))
    times, memory = figure.subplots(1, 2)
    for (name, curve), colour in zip(curves.items(), _CURVE_COLOURS, strict=False):
        times.plot(curve["n_samples"], curve["seconds"], "o-", color=colour, linewidth=1, label=name)
        peaks = [np.nan if peak is None else peak for peak in curve["peak"]]
        memory.plot(curve["n_samples"], peaks, "o-", color=colour, linewidth=1, label=name)
    memory.axhline(most_memory, linestyle="--", color="grey", linewidth=1, label=f"{most_memory:.0f} MB")
    for axes, label in ((times, "seconds"), (memory, "peak memory, MB")):
        axes.set_xscale("log")
        axes.set_xlabel("samples")
        axes.set_ylabel(label)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    times.set_yscale("log")
    memory.set_ylim(bottom=0.0)
    _save(figure, path)


Pairs = tuple[Mapping[str, float], Mapping[str, float]]


def paired_points(path: Path, panels: Mapping[str, Pairs], x: str, y: str) -> None:
    """Draw one panel per title with one point per common name; above the diagonal, y is larger."""
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(3.6 * columns, 3.8 * rows), layout="constrained")
    for number, (title, (first, second)) in enumerate(panels.items(), start=1):
        names = sorted(set(first) & set(second))
        points = [first[name] for name in names], [second[name] for name in names]
        axes = figure.add_subplot(rows, columns, number)
        least = min(min(points[0]), min(points[1]))
        axes.plot([least, 1.0], [least, 1.0], color="grey", linewidth=0.8)
        axes.plot(*points, "o", color=_COLOURS[0], markersize=4, alpha=0.7)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.set_aspect("equal")
        axes.spines[["top", "right"]].set_visible(False)
    _save(figure, path)


def gaps(path: Path, panels: Mapping[str, Mapping[str, Any]], wanted: float, columns: int) -> None:
    """Draw gaps against seconds, one panel per title; curves have seconds and gaps."""
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.6 * columns, 2.8 * rows), layout="constrained")
    for number, (title, curves) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(rows, columns, number)
        for (name, curve), colour in zip(curves.items(), _CURVE_COLOURS, strict=False):
            axes.plot(curve.seconds, curve.gaps, "-", color=colour, linewidth=1.2, label=name)
        axes.axhline(wanted, linestyle="--", color="grey", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())  # their labels overlap
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("seconds")
        axes.set_ylabel("relative gap")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    _save(figure, path)


def regrets(path: Path, curves: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    """Draw regrets by the number of training samples, both axes logarithmic."""
    figure = Figure(figsize=(6.0, 4.0))
    axes = figure.add_subplot()
    for k, (name, curve) in enumerate(curves.items()):
        axes.plot(curve["sizes"], curve["regrets"], "o-", color=_CURVE_COLOURS[k % len(_CURVE_COLOURS)], label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("training samples")
    axes.set_ylabel("regret")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    _save(figure, path)


def learning(path: Path, panels: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw values against samples seen, one panel per title; curves have sizes and values, or one value for all sizes.

    A name has one colour in all panels; one legend for all is below them.
    """
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    colours = dict(zip(names, cycle((*_CURVE_COLOURS, "#7f7f7f", "#c49c34", "#4aa3a3")), strict=False))
    figure = Figure(figsize=(3.6 * columns, 2.6 * rows + 0.6), layout="constrained")
    shown: dict[str, Any] = {}
    for number, (title, curves) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(rows, columns, number)
        for name, curve in curves.items():
            if isinstance(curve, float):
                shown[name] = axes.axhline(curve, linestyle="--", color=colours[name], linewidth=1)
                continue
            shown[name] = axes.plot(*curve, "o-", color=colours[name], markersize=3, linewidth=1.2)[0]
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(bottom=0.0)
        axes.set_title(title, fontsize=9)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        if number > len(panels) - columns:
            axes.set_xlabel("samples seen", fontsize=9)
    figure.legend(shown.values(), shown, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    _save(figure, path)
