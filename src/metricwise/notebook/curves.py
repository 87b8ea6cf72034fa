"""Small charts for notebooks, as inline SVG in the colour of the text around it and in two others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from metricwise._typing import Floats
from metricwise.markup import Markup, text

FIRST, SECOND = "#2f7de1", "#c9660f"  # both contrast with white and with black
_WIDTH, _HEIGHT = 150, 16  # of an interval
_CHART_WIDTH, _CHART_HEIGHT = 400, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 8, 10, 34
_FONT = 'font-family="system-ui, sans-serif" font-size="11"'
_ROW, _LETTER = 14, 6  # height of a name, and width of a letter
_MOST_POINTS = 300  # of a line


class Line(NamedTuple):
    """A line of a chart, with its name beside it."""

    y: ArrayLike
    label: str
    colour: str = FIRST
    is_dashed: bool = False


def draw_interval(
    value: float, interval: tuple[float, float], ends: tuple[float, float] = (0.0, 1.0), bound: float | None = None
) -> Markup:
    """Return a value as a dot on the bar of its interval; nothing if one of them is not defined.

    Parameters
    ----------
    value : float
        The value.
    interval : pair of float
        Its interval.
    ends : pair of float
        Ends of the scale.
    bound : float, optional
        A value to compare with, marked by a stroke.

    Examples
    --------
    >>> draw_interval(0.7, (0.6, 0.8)).count("<circle")
    1
    >>> draw_interval(float("nan"), (0.6, 0.8))
    ''
    """
    if not np.isfinite([value, *interval, *ends]).all() or ends[0] >= ends[1]:
        return Markup("")
    middle, margin = _HEIGHT / 2, 5.0
    low, high, at = (margin + (_WIDTH - 2 * margin) * share for share in _share([*interval, value], ends).tolist())
    parts = [
        f'<path d="M{margin} {middle}H{_WIDTH - margin}" stroke="currentColor" stroke-opacity=".3"/>',
        f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="{FIRST}" stroke-width="5" stroke-opacity=".55"/>',
    ]
    if bound is not None:
        where = margin + (_WIDTH - 2 * margin) * float(_share([bound], ends)[0])
        parts.append(f'<path d="M{where:.1f} 1V{_HEIGHT - 1}" stroke="{SECOND}" stroke-width="2"/>')
    parts.append(f'<circle cx="{at:.1f}" cy="{middle}" r="4" fill="{FIRST}"/>')
    words = f"{value:.3g}, between {interval[0]:.3g} and {interval[1]:.3g}"
    return _svg(_WIDTH, _HEIGHT, words, parts, "vertical-align:middle")


def draw_lines(x: ArrayLike, lines: Sequence[Line], x_label: str, ends: tuple[float, float]) -> Markup:
    """Return a chart of lines, each named in its colour; nothing for fewer than two points.

    Parameters
    ----------
    x : array of shape (n_points,)
        Ascending positions.
    lines : sequence of Line
        The lines, of n_points each, without NaN.
    x_label : str
        Name of the horizontal axis.
    ends : pair of float
        Ends of the vertical axis; what lies beyond is drawn at its edge.

    Examples
    --------
    >>> chart = draw_lines([1, 2, 3], [Line([3.0, 2.0, 1.5], "objective")], "iteration", (0.0, 3.0))
    >>> chart.count("<path"), "objective" in chart
    (2, True)
    """
    positions = np.asarray(x, dtype=np.float64)
    if positions.size < 2 or not positions[0] < positions[-1] or not ends[0] < ends[1]:
        return Markup("")
    kept = np.unique(np.linspace(0, positions.size - 1, _MOST_POINTS).astype(int))
    right, bottom = _CHART_WIDTH - _RIGHT, _CHART_HEIGHT - _BOTTOM
    across = _LEFT + (right - _LEFT) * _share(positions[kept], (positions[0], positions[-1]))
    axes = f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="currentColor" stroke-opacity=".4"/>'
    parts = [axes, *_ticks(positions[[0, -1]].tolist(), ends, x_label)]
    drawn = [bottom - (bottom - _TOP) * _share(np.asarray(line.y, dtype=np.float64)[kept], ends) for line in lines]
    for line, down in zip(lines, drawn, strict=True):
        points = "L".join(f"{px:.1f} {py:.1f}" for px, py in zip(across, down, strict=True))
        dashes = ' stroke-dasharray="5 3"' if line.is_dashed else ""
        parts.append(f'<path d="M{points}" fill="none" stroke="{line.colour}" stroke-width="1.8"{dashes}/>')
    parts += _names(lines, across, drawn)
    words = "; ".join(f"{line.label}, at last {np.asarray(line.y, dtype=np.float64)[-1]:.4g}" for line in lines)
    return _svg(_CHART_WIDTH, _CHART_HEIGHT, words, parts, "display:block;max-width:100%")


def _ticks(x_ends: list[float], ends: tuple[float, float], x_label: str) -> list[str]:
    """Return the numbers at the ends of both axes and the name of the horizontal one."""
    right, bottom = _CHART_WIDTH - _RIGHT, _CHART_HEIGHT - _BOTTOM
    places = [
        (_LEFT - 6, bottom, "end", _short(ends[0])),
        (_LEFT - 6, _TOP + 8, "end", _short(ends[1])),
        (_LEFT, bottom + 15, "start", _short(x_ends[0])),
        (right, bottom + 15, "end", _short(x_ends[1])),
        ((_LEFT + right) / 2, bottom + 28, "middle", x_label),
    ]
    return [_write(*place) for place in places]


def _names(lines: Sequence[Line], across: Floats, drawn: Sequence[Floats]) -> list[str]:
    """Return the names of the lines, in their colours, in the corner through which the lines pass least."""
    height, width = _ROW * len(lines), _LETTER * max(len(line.label) for line in lines)
    left, right, bottom = _LEFT + 8, _CHART_WIDTH - _RIGHT, _CHART_HEIGHT - _BOTTOM - 4
    corners = [(x, top) for top in (_TOP, bottom - height) for x in (right, left)]

    def measure_overlap(corner: tuple[int, int]) -> int:
        side, top = corner
        positions = np.linspace(side, side - width if side == right else side + width)
        inside = (np.abs(np.interp(positions, across, down) - top - height / 2) < height / 2 + 3 for down in drawn)
        return sum(int(np.sum(points)) for points in inside)

    x, top = min(corners, key=measure_overlap)
    anchor = "end" if x == right else "start"
    return [_write(x, top + _ROW * (row + 0.8), anchor, line.label, line.colour) for row, line in enumerate(lines)]


def _write(x: float, y: float, side: str, words: str, colour: str = "currentColor") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{side}" fill="{colour}" {_FONT}>{text(words)}</text>'


def _short(value: float) -> str:
    shown = f"{value:,.0f}" if value.is_integer() and abs(value) < 1e7 else f"{value:.3g}"
    return shown.replace("-", "−")


def _share(values: ArrayLike, ends: tuple[float, float]) -> Floats:
    low, high = ends
    return np.clip((np.asarray(values, np.float64) - low) / (high - low), 0.0, 1.0)


def _svg(width: int, height: int, words: str, parts: Sequence[str], style: str) -> Markup:
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{text(words)}" style="{style}">{"".join(parts)}</svg>'
    )
