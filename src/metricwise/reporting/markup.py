"""Pieces of HTML: every text is escaped unless it is markup already."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from metricwise.markup import NO_INTERVAL, Markup, number, percent, spread, text

__all__ = [
    "NO_INTERVAL",
    "Markup",
    "beside",
    "count_of",
    "details",
    "figure",
    "grid",
    "number",
    "paragraph",
    "percent",
    "section",
    "signed",
    "spread",
    "table",
    "tally",
    "text",
]


def tally(count: float) -> str:
    """Return a number of samples, or a sum of their weights with one digit after the point.

    Examples
    --------
    >>> tally(12000), tally(12000.26), tally(3.0), tally(1e200)
    ('12,000', '12,000.3', '3', '1e+200')
    """
    return f"{round(count, 1) + 0.0:,.1f}".removesuffix(".0") if abs(count) < 1e15 else f"{count:.4g}"


def count_of(count: int, noun: str = "sample") -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> count_of(1), count_of(12000)
    ('1 sample', '12,000 samples')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def signed(value: float) -> str:
    """Return a number with its sign.

    Examples
    --------
    >>> signed(0.0312), signed(-0.5)
    ('+0.031', '−0.500')
    """
    return number(value) if math.isnan(value) or value < 0.0 else f"+{number(value)}"


def table(
    caption: str, head: Sequence[object], rows: Iterable[Sequence[object]], style: str = "", words: Iterable[int] = ()
) -> Markup:
    """Return a table whose first column names the rows.

    Parameters
    ----------
    caption : str
        Caption of the table.
    head : sequence
        Headers of the columns.
    rows : iterable of sequences
        Cells; the first cell of a row is its header.
    style : str
        Class of the table.
    words : iterable of int
        Columns that hold words, not numbers.
    """
    wordy = {0, *words}

    def kind(column: int) -> str:
        return ' class="words"' if column in wordy else ""

    headers = "".join(f'<th scope="col"{kind(k)}>{text(cell)}</th>' for k, cell in enumerate(head))
    body = []
    for name, *cells in rows:
        data = "".join(f"<td{kind(k)}>{text(cell)}</td>" for k, cell in enumerate(cells, start=1))
        body.append(f'<tr><th scope="row">{text(name)}</th>{data}</tr>')
    return Markup(
        f'<div class="scroll" role="region" aria-label="{escape(caption)}" tabindex="0"><table class="{style}">'
        f"<caption>{text(caption)}</caption><thead><tr>{headers}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def figure(svg: str, caption: object) -> Markup:
    """Return a chart with its caption."""
    return Markup(f"<figure>{svg}<figcaption>{text(caption)}</figcaption></figure>")


def paragraph(*parts: object, style: str = "") -> Markup:
    """Return a paragraph."""
    kind = f' class="{style}"' if style else ""
    return Markup(f"<p{kind}>{''.join(map(text, parts))}</p>")


def section(identifier: str, title: str, *parts: object) -> Markup:
    """Return a section with its heading."""
    name = f"{identifier}-title"
    body = "".join(map(text, parts))
    return Markup(
        f'<section id="{identifier}" aria-labelledby="{name}"><h2 id="{name}">{text(title)}</h2>{body}</section>'
    )


def details(summary: str, content: Markup) -> Markup:
    """Return a collapsed block that opens on request."""
    return Markup(f"<details><summary>{text(summary)}</summary>{content}</details>")


def grid(*parts: object) -> Markup:
    """Return pieces side by side where there is room."""
    return Markup(f'<div class="grid">{"".join(map(text, parts))}</div>')


def beside(chart: Markup, content: Markup) -> Markup:
    """Return a chart with something wider at its right, or below it where there is no room."""
    return Markup(f'<div class="beside">{chart}<div>{content}</div></div>')
