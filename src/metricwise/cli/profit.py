"""Profits on the command line: the option, and the figures of a model that was trained for one."""

from __future__ import annotations

from typing import Any

import click

PREFIX = "profit:"  # of the name of a profit among the measures


class ProfitText(click.ParamType):
    """A profit such as "tp=0.1*amount - 5, fp=-5, fn=-amount, tn=0"."""

    name = "amounts"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of the measure, or fail if the text is no profit."""
        from metricwise.measures.profit import parse_profit

        try:
            parse_profit(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return f"{PREFIX}{value}"


def choose_measure(measure: str | None, profit: str | None) -> str | None:
    """Return the measure that --measure or --profit names; a usage error if both are given."""
    if measure is not None and profit is not None:
        raise click.UsageError("--profit is a measure itself: leave --measure out, or --profit")
    return measure or profit


def check_profit(measure: str, algorithm: str, in_memory: bool) -> None:
    """Raise a usage error if an algorithm, or one that reads in chunks, has no use for amounts of single samples."""
    if not is_per_sample(measure):
        return
    if not in_memory:
        raise click.UsageError("amounts of single samples are for samples in memory: leave --stream and --disk out")
    if algorithm not in _PER_SAMPLE:
        raise click.UsageError(f"amounts of single samples are for {', '.join(_PER_SAMPLE)}: name one of them")


_PER_SAMPLE = ("auto", "plug-in", "cost-sensitive")


def is_per_sample(measure: str | None) -> bool:
    """Return whether a measure is a profit with amounts of single samples.

    Examples
    --------
    >>> is_per_sample("profit:tp=5, fp=-1"), is_per_sample("profit:tp=amount, fp=-1"), is_per_sample("f1")
    (False, True, False)
    """
    if measure is None or not measure.startswith(PREFIX):
        return False
    from metricwise.measures.profit import parse_profit

    return not parse_profit(measure.removeprefix(PREFIX)).has_numbers_only


def collect_savings(model: Any) -> dict[str, Any]:
    """Return the savings that a model expects, with their interval; nothing unless it was trained for money."""
    if not hasattr(model, "expected_savings_"):
        return {}
    low, high = model.expected_savings_interval_
    return {"savings": float(model.expected_savings_), "savings_interval": [float(low), float(high)]}


def format_savings(facts: dict[str, Any]) -> list[str]:
    """Return a line about savings, where `collect_savings` found some.

    Examples
    --------
    >>> format_savings({"savings": 0.5, "savings_interval": [0.4, 0.625]})
    ['savings expected on new samples: 0.5000 (90 %: 0.4000 to 0.6250)']
    """
    if "savings" not in facts:
        return []
    low, high = facts["savings_interval"]
    return [f"savings expected on new samples: {facts['savings']:.4f} (90 %: {low:.4f} to {high:.4f})"]


def evaluate_money(model: Any, table: Any, confidence: float) -> list[dict[str, Any]]:
    """Return profit and savings of a model on samples, with intervals; none unless it was trained for a profit."""
    from metricwise.reporting.money import evaluate_earnings

    found = evaluate_earnings(model, table.X, table.y, table.sample_weight, confidence, table.groups)
    if found is None:
        return []
    records: list[dict[str, Any]] = [{"measure": "profit", **found.profit._asdict(), "settings": {}}]
    if found.savings is not None:
        records.append({"measure": "savings", **found.savings._asdict(), "settings": {}})
    return records
