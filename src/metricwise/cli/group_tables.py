"""Tables of the groups of columns, for ``metricwise evaluate``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from metricwise.cli.console import format_table

if TYPE_CHECKING:
    from metricwise.reporting.predictions import Predictions


def evaluate_groups(
    model: Any, table: Any, found: Predictions, by: tuple[str, ...], confidence: float, seed: int
) -> dict[str, list[dict[str, Any]]]:
    """Return one record per group of every column, for two classes: shares of samples with their intervals.

    Parameters
    ----------
    model : fitted classifier
        Its constraints name the columns if ``by`` does not.
    table : Table
        The samples.
    found : Predictions
        The predictions for those of them that have weight.
    by : tuple of str
        Columns.
    confidence : float
        Confidence level of the intervals.
    seed : int
        Seeds the resamples.
    """
    from metricwise.reporting.group_tables import drop_weightless_groups, find_columns_by, summarize_groups

    if found.kind != "binary" and not by:
        return {}
    columns = find_columns_by(model, table.X, by or None, table.n_rows)
    return {
        column: [_record(one) for one in summarize_groups(found, groups, confidence, seed)]
        for column, groups in drop_weightless_groups(columns, table.sample_weight).items()
    }


def _record(summary: Any) -> dict[str, Any]:
    counts = {"group": summary.group, "samples": summary.n_samples, "share": summary.share}
    counts |= {"positives": summary.n_positives}
    for name, value in summary.values.items():
        low, high = summary.intervals[name]
        is_defined = not math.isnan(value)
        counts[name] = {"value": value, "low": low, "high": high} if is_defined else None
    return counts


def format_groups(column: str, records: list[dict[str, Any]], confidence: float) -> str:
    """Return the table of the groups of a column as text."""
    from metricwise.reporting.group_tables import SHARES
    from metricwise.reporting.markup import tally

    rows = [
        [
            str(one["group"]),
            tally(one["samples"]),
            f"{100 * one['share']:.1f} %",
            tally(one["positives"]),
            *(_format_share(one[name]) for name in SHARES),
        ]
        for one in records
    ]
    head = [column, "samples", "share", "positives", *(name.replace("_", " ") for name in SHARES)]
    return f"\nby {column}, with {100 * confidence:g} % intervals\n{format_table(head, rows)}"


def _format_share(found: dict[str, float] | None) -> str:
    return "-" if found is None else f"{found['value']:.3f} ({found['low']:.3f} to {found['high']:.3f})"
