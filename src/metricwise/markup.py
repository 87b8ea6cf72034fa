"""Text, numbers and intervals as HTML: every text is escaped unless it is markup already."""

from __future__ import annotations

import math
from html import escape

_LARGE = 1e6  # from here on, numbers are shown by their first digits and a power of ten
NO_INTERVAL = "no interval"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> str:
    """Return a value as HTML.

    Examples
    --------
    >>> text("a < b"), text(Markup("<b>a</b>"))
    ('a &lt; b', '<b>a</b>')
    """
    return value if isinstance(value, Markup) else escape(str(value))


def number(value: float, digits: int = 3) -> str:
    """Return a number with a fixed number of digits and a true minus sign; a large one with a power of ten.

    Examples
    --------
    >>> number(0.12345), number(-1.0, 1), number(1e200), number(float("nan"))
    ('0.123', '−1.0', '1e+200', 'not defined')
    """
    if math.isnan(value):
        return "not defined"
    shown = f"{value:.{digits}f}" if abs(value) < _LARGE else f"{value:.4g}"
    return shown.replace("-", "−")


def percent(share: float) -> str:
    """Return a share in percent.

    Examples
    --------
    >>> percent(0.9), percent(0.0031)
    ('90 %', '0.31 %')
    """
    return f"{100.0 * share:.2g} %" if share < 0.0995 else f"{100.0 * share:.3g} %"


def spread(interval: tuple[float, float]) -> str:
    """Return an interval in words; `NO_INTERVAL` if it has no ends.

    Examples
    --------
    >>> spread((0.25, 0.5)), spread((float("nan"), float("nan")))
    ('0.250 to 0.500', 'no interval')
    """
    return NO_INTERVAL if any(map(math.isnan, interval)) else f"{number(interval[0])} to {number(interval[1])}"
