"""Profit and savings of a model on samples, for the command and the report."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats
from metricwise.decisions.design_effect import estimate_design_effect
from metricwise.decisions.earnings import Outcomes
from metricwise.measures.profit import Profit
from metricwise.reporting.markup import Markup, number, paragraph, percent, section, spread, table, tally
from metricwise.reporting.models import layers


class Estimate(NamedTuple):
    """A value with its interval."""

    value: float
    low: float
    high: float


class Earnings(NamedTuple):
    """The profit of samples and, unless the better constant decision earns nothing, the savings beside it."""

    profit: Estimate
    savings: Estimate | None


def find_earning(model: Any) -> Any:
    """Return the layer of a model that decides by a profit; None if there is none."""
    found = (layer for layer in layers(model) if isinstance(getattr(layer, "measure_", None), Profit))
    return next((layer for layer in found if hasattr(layer, "savings")), None)


def has_amounts_per_sample(measure: Any) -> bool:
    """Return whether a measure is a profit that no contingency table determines."""
    return isinstance(measure, Profit) and not measure.has_numbers_only


def evaluate_earnings(
    model: Any, X: Any, y: Any, sample_weight: Any, confidence: float, groups: Any = None
) -> Earnings | None:
    """Return profit and savings of a model on samples; None unless it was trained for a profit.

    Parameters
    ----------
    model : fitted classifier
        The model; not one inside a pipeline, whose samples have other columns.
    X, y : samples and labels
        Samples that the model was not trained with.
    sample_weight : array or None
        Weights of the samples.
    confidence : float
        Probability that the intervals hold.
    groups : array or None
        Groups of the samples; intervals are then for new groups.
    """
    if find_earning(model) is not model:
        return None
    outcomes = model._collect_outcomes(X, y, sample_weight, {})
    posterior, n_samples = outcomes.posterior(), float(outcomes.weights.sum())
    if groups is not None:
        posterior = posterior.thin(_design_effect(outcomes, np.asarray(groups)))
    low, high = posterior.interval(confidence)  # values: 1 plus the mean
    profit = Estimate(outcomes.total, n_samples * (low - 1.0), n_samples * (high - 1.0))
    if math.isnan(outcomes.savings):
        return Earnings(profit, None)
    return Earnings(profit, Estimate(outcomes.savings, *posterior.savings_interval(confidence)))


def _design_effect(outcomes: Outcomes, groups: Any) -> float:
    """Return how many samples in groups are worth one independent sample for the profit."""
    earned = outcomes.earned
    lost = (earned.max() - earned) / max(float(np.ptp(earned)), 1e-300)
    codes = np.unique(groups, return_inverse=True)[1].ravel()

    def value(weights: Floats) -> float:
        return 1.0 - float(weights @ lost / max(float(weights.sum()), 1e-300))

    return estimate_design_effect(value, outcomes.weights, codes, (lost > np.median(lost)).astype(np.int64))


def describe_earnings(earnings: Earnings | None, confidence: float) -> Markup | None:
    """Return a section with profit and savings; None if there are none."""
    if earnings is None:
        return None
    profit, savings = earnings
    rows = [["profit of these samples", tally(profit.value), f"{tally(profit.low)} to {tally(profit.high)}"]]
    words = "Without a model, the better constant decision earns nothing, so that there are no savings beside it."
    if savings is not None:
        rows.append(["savings", number(savings.value), spread((savings.low, savings.high))])
        words = "Savings are the gain over the better constant decision, as a share of what that costs or earns."
    caption = "What the decisions about these samples earn"
    return section(
        "profit", "Profit", paragraph(words), table(caption, ["", "value", f"{percent(confidence)} interval"], rows)
    )
