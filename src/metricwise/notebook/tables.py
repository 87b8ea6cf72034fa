"""Tables for notebooks. Cells are styled one by one, since notebooks align them to the right and strip style sheets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metricwise.markup import Markup, text

_CELL = "text-align:{};vertical-align:top;padding:.2em .6em;font-variant-numeric:tabular-nums"
_CAPTION = "text-align:left;caption-side:top;font-weight:600;padding:.2em 0;color:inherit;white-space:nowrap"
_TABLE = "border-collapse:collapse;margin:.4em 0"


def list_values(caption: str, values: Mapping[str, object]) -> Markup:
    """Return names and values as a table of two columns.

    Parameters
    ----------
    caption : str
        Caption of the table.
    values : mapping
        Values by name; texts are escaped.

    Examples
    --------
    >>> "&lt;b&gt;" in list_values("Result", {"status": "<b>"})
    True
    """
    rows = (f"<tr>{_header(name, 'row')}{_cell(value)}</tr>" for name, value in values.items())
    return _table(caption, "".join(rows))


def show_table(
    caption: str, head: Sequence[object], rows: Iterable[Sequence[object]], numbers: Iterable[int] = ()
) -> Markup:
    """Return a table whose first column names the rows.

    Parameters
    ----------
    caption : str
        Caption of the table.
    head : sequence
        Headers of the columns.
    rows : iterable of sequences
        Cells; texts are escaped.
    numbers : iterable of int
        Columns that are aligned to the right.

    Examples
    --------
    >>> show_table("Candidates", ["name", "value"], [["trees", "0.8"]], [1]).count("text-align:right")
    2
    """
    sides = ["right" if column in {*numbers} else "left" for column in range(len(head))]
    headers = "".join(_header(cell, "col", side) for cell, side in zip(head, sides, strict=True))
    body = []
    for name, *cells in rows:
        data = "".join(_cell(cell, side) for cell, side in zip(cells, sides[1:], strict=True))
        body.append(f"<tr>{_header(name, 'row')}{data}</tr>")
    return _table(caption, f"<thead><tr>{headers}</tr></thead><tbody>{''.join(body)}</tbody>")


def join_parts(*parts: object) -> Markup:
    """Return pieces of HTML below each other, in the colours of the page."""
    return Markup(f'<div class="metricwise" style="font-size:.9em">{"".join(map(text, parts))}</div>')


def keep_together(words: str) -> Markup:
    """Return words that are not divided among lines.

    Examples
    --------
    >>> keep_together("0.1 to 0.2")
    '<span style="white-space:nowrap">0.1 to 0.2</span>'
    """
    return Markup(f'<span style="white-space:nowrap">{text(words)}</span>')


def note(words: str) -> Markup:
    """Return a remark below a table."""
    return Markup(f'<p style="margin:.2em 0;opacity:.75">{text(words)}</p>')


def _table(caption: str, content: str) -> Markup:
    return Markup(f'<table style="{_TABLE}"><caption style="{_CAPTION}">{text(caption)}</caption>{content}</table>')


def _header(value: object, scope: str, side: str = "left") -> str:
    return f'<th scope="{scope}" style="{_CELL.format(side)}">{text(value)}</th>'


def _cell(value: object, side: str = "left") -> str:
    return f'<td style="{_CELL.format(side)}">{text(value)}</td>'
