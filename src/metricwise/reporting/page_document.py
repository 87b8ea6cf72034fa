"""The HTML document around the sections of a page: one file that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from metricwise.reporting.explorer import explorer_script
from metricwise.reporting.markup import Markup, text

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def make_document(title: str, parts: Sequence[Markup | None], explorer_data: str | None = None) -> str:
    """Return a page of sections, with the script of the explorer if there are data for it.

    Examples
    --------
    >>> page = make_document("Model", [Markup("<p>good</p>")])
    >>> "<main><p>good</p></main>" in page, "<script" in page
    (True, False)
    """
    style = files("metricwise.reporting").joinpath("style.css").read_text("utf-8")
    body = "".join(part for part in parts if part)
    script = (
        ""
        if explorer_data is None
        else f'<script type="application/json" id="explorer-data">{explorer_data}</script>'
        f"<script>{explorer_script()}</script>"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{text(title)}</title><style>{style}</style></head><body><main>{body}</main>"
        "<footer><p>Made with metricwise. This page is complete in itself: it loads nothing.</p></footer>"
        f"{script}</body></html>\n"
    )
