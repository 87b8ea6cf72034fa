"""What weights and groups of test samples mean for the figures that a command prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metricwise._typing import Floats
    from metricwise.reporting.resampling import SampleGroups


def describe_samples(weights: Floats | None, groups: SampleGroups | None) -> dict[str, Any]:
    """Return the sum of the weights and the number of groups, where samples have some."""
    facts: dict[str, Any] = {} if weights is None else {"weight": float(weights.sum())}
    return facts | ({} if groups is None else {"groups": groups.n_groups})


def format_samples(facts: dict[str, Any]) -> list[str]:
    """Return a line for the weights and one for the groups of samples, where `describe_samples` found some.

    Examples
    --------
    >>> format_samples({"weight": 1234.5, "groups": 40})
    ['samples count by their weights, 1,234.5 in total', 'intervals are for new groups like these 40']
    """
    from metricwise.reporting.markup import tally

    lines = []
    if "weight" in facts:
        lines.append(f"samples count by their weights, {tally(facts['weight'])} in total")
    if "groups" in facts:
        lines.append(f"intervals are for new groups like these {facts['groups']:,}")
    return lines
