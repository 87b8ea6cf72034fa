"""Charts as inline SVG: axes, lines, bands, points and labels, coloured by the style sheet of the page around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from metricwise._typing import Floats

WIDTH, HEIGHT = 420, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 16, 46


def nice_ticks(low: float, high: float, describe_class: int = 5) -> list[float]:
    """Return round numbers between two ends.

    Examples
    --------
    >>> nice_ticks(0.0, 1.0), nice_ticks(-3.1, 7.9)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [-2.0, 0.0, 2.0, 4.0, 6.0])
    """
    rough = (high - low) / describe_class
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= 0.75 * rough)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, math.floor(high / step + 1e-9) + 1)]


def short_number(value: float) -> str:
    """Return a number with few digits and a true minus sign.

    Examples
    --------
    >>> short_number(1500000.0), short_number(-0.2), short_number(12000.0)
    ('1.5M', '−0.2', '12k')
    """
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= unit:
            return short_number(value / (1e3 if letter == "k" else unit)) + letter
    return f"{value:.4g}".replace("-", "−")


@dataclass
class Chart:
    """A chart with two axes; parts are added in the order in which they are painted.

    Parameters
    ----------
    title, description : str
        Text for screen readers.
    x_label, y_label : str
        Names of the axes.
    x_range, y_range : pair of float
        Ends of the axes.
    live : str, optional
        Name by which the explorer finds the chart to move its marker.
    """

    title: str
    description: str
    x_label: str
    y_label: str
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    live: str | None = None
    height: int = HEIGHT
    left: int = _LEFT
    parts: list[str] = field(default_factory=list)

    @property
    def frame(self) -> tuple[int, int, int, int]:
        """Left, top, width and height of the plot."""
        return self.left, _TOP, WIDTH - self.left - _RIGHT, self.height - _TOP - _BOTTOM

    def at(self, x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
        """Return pixel positions of points; those outside are moved to the edge."""
        left, top, width, height = self.frame
        return (
            left + width * _share(x, self.x_range),
            top + height * (1.0 - _share(y, self.y_range)),
        )

    def line(self, x: ArrayLike, y: ArrayLike, style: str) -> None:
        """Add a line."""
        self.parts.append(f'<path class="line {style}" d="{_path(*self.at(x, y))}"/>')

    def steps(self, x: ArrayLike, y: ArrayLike, style: str) -> None:
        """Add a line of level steps, each at the height of its right end."""
        xs, ys = np.repeat(np.asarray(x, np.float64), 2)[:-1], np.repeat(np.asarray(y, np.float64), 2)[1:]
        self.line(xs, ys, style)

    def band(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, style: str) -> None:
        """Add an area between two lines."""
        there, back = self.at(x, high), self.at(x, low)
        outline = (np.concatenate([a, b[::-1]]) for a, b in zip(there, back, strict=True))
        self.parts.append(f'<path class="band {style}" d="{_path(*outline)}Z"/>')

    def segment(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        """Add a straight line."""
        self.line([start[0], end[0]], [start[1], end[1]], style)

    def dot(self, x: float, y: float, style: str, shape: str = "circle") -> None:
        """Add a point: a circle or a diamond."""
        (px, py) = self.at(x, y)
        where = f'transform="translate({px:.1f} {py:.1f})"'
        mark = '<circle r="4.5"/>' if shape == "circle" else '<path d="M0-7L7 0L0 7L-7 0Z"/>'
        self.parts.append(f'<g class="dot {style}" {where}>{mark}</g>')

    def label(
        self, x: float, y: float, text: str, anchor: str = "start", dx: float = 0.0, dy: float = 0.0, style: str = ""
    ) -> None:
        """Add a text at a point."""
        px, py = self.at(x, y)
        place = f'x="{px + dx:.1f}" y="{py + dy:.1f}" text-anchor="{anchor}"'
        self.parts.append(f'<text class="label {style}" {place}>{escape(text)}</text>')

    def marker(self, x: float, y: float) -> None:
        """Add the ring that the explorer moves."""
        px, py = self.at(x, y)
        self.parts.append(f'<g class="live" transform="translate({px:.1f} {py:.1f})"><circle r="7"/></g>')

    def render(self, x_ticks: bool = True, y_ticks: bool = True) -> str:
        """Return the SVG element."""
        title, description = escape(self.title), escape(self.description)
        found = [*(self._x_axis() if x_ticks else []), *(self._y_axis() if y_ticks else []), *self._titles()]
        box = " ".join(map(str, (*self.frame, *self.x_range, *self.y_range)))
        live = f' data-live="{self.live}" data-frame="{box}"' if self.live else ""
        return (
            f'<svg viewBox="0 0 {WIDTH} {self.height}" role="img" aria-label="{title}. {description}"{live}>'
            f"<title>{title}</title><desc>{description}</desc>" + "".join(found + self.parts) + "</svg>"
        )

    def _x_axis(self) -> list[str]:
        left, top, width, height = self.frame
        found = []
        for tick in nice_ticks(*self.x_range):
            px = left + width * _share(tick, self.x_range)
            found.append(f'<path class="grid" d="M{px:.1f} {top}v{height}"/>')
            place = f'x="{px:.1f}" y="{top + height + 17}" text-anchor="middle"'
            found.append(f'<text class="tick" {place}>{short_number(tick)}</text>')
        return found

    def _y_axis(self) -> list[str]:
        left, top, width, height = self.frame
        found = []
        for tick in nice_ticks(*self.y_range):
            py = top + height * (1.0 - _share(tick, self.y_range))
            found.append(f'<path class="grid" d="M{left} {py:.1f}h{width}"/>')
            found.append(
                f'<text class="tick" x="{left - 7}" y="{py + 4:.1f}" text-anchor="end">{short_number(tick)}</text>'
            )
        return found

    def _titles(self) -> list[str]:
        left, top, width, height = self.frame
        middle = top + height / 2
        return [
            f'<text class="axis" x="{left + width / 2:g}" y="{self.height - 8}" text-anchor="middle">'
            f"{escape(self.x_label)}</text>",
            f'<text class="axis" transform="translate(13 {middle:g}) rotate(-90)" text-anchor="middle">'
            f"{escape(self.y_label)}</text>",
        ]


def pad_range(values: Sequence[float] | Floats, share: float = 0.05) -> tuple[float, float]:
    """Return the ends of an axis with a margin around values.

    Examples
    --------
    >>> pad_range([0.0, 2.0])
    (-0.1, 2.1)
    """
    low, high = float(np.min(values)), float(np.max(values))
    room = share * (high - low) or max(abs(high), 1.0) * share
    return low - room, high + room


def _share(value: ArrayLike, ends: tuple[float, float]) -> Floats:
    low, high = ends
    return np.clip((np.asarray(value, np.float64) - low) / (high - low), 0.0, 1.0)


def _path(x: Floats, y: Floats) -> str:
    """Return a path, to a tenth of a pixel, without points on the straight line between their neighbours."""
    points = np.round(np.column_stack([x, y]), 1)
    different = np.concatenate([[True], np.any(points[1:] != points[:-1], axis=1)])
    points = points[different]
    if len(points) > 2:
        before, after = np.diff(points[:-1], axis=0), np.diff(points[1:], axis=0)
        turning = before[:, 0] * after[:, 1] != before[:, 1] * after[:, 0]
        # A line that turns back on itself is no straight line.
        turning |= np.sum(before * after, axis=1) < 0.0
        points = points[np.concatenate([[True], turning, [True]])]
    return "M" + "L".join(f"{px:g} {py:g}" for px, py in points)
