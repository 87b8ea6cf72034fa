"""What samples earn by the decisions of a model, beside constant decisions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats
from metricwise.decisions import targets
from metricwise.decisions.amounts import find_amounts
from metricwise.decisions.cost_matrix import CostTask
from metricwise.decisions.design_effect import GroupedPosterior
from metricwise.decisions.intervals import TablePosterior
from metricwise.decisions.learning_curve import FinalPosterior
from metricwise.decisions.outcome_posterior import OutcomePosterior, compute_savings, summarize_outcomes
from metricwise.decisions.task import Task
from metricwise.measures.checks import check_weights
from metricwise.measures.profit import Amounts, Profit


class Outcomes(NamedTuple):
    """What samples earn by their decisions, what they would earn by constant ones, and their weights."""

    earned: Floats
    constant: Floats
    weights: Floats

    @property
    def total(self) -> float:
        """What all samples earn."""
        return float(self.weights @ self.earned)

    @property
    def savings(self) -> float:
        """The gain over the better constant decision, as a share of what that earns or costs; NaN if that is zero."""
        return float(compute_savings(np.array([self.total]), (self.weights @ self.constant)[None])[0])

    def posterior(self) -> OutcomePosterior:
        """Return the posterior of these samples, on the scale of their own mean."""
        return summarize_outcomes(*self, best=0.0, stake=1.0)


def collect_outcomes(task: Task, y: Any, margins: Floats, sample_weight: Any, amounts: Amounts | None) -> Outcomes:
    """Return what samples earn, given their decision function.

    Parameters
    ----------
    task : Task
        Of a `Profit` or a `CostMatrix`.
    y : array
        Labels.
    margins : array
        The decision function.
    sample_weight : array or None
        Weights of the samples.
    amounts : Amounts or None
        Amounts per sample, if the profit has some.

    Raises
    ------
    TypeError
        If the measure of the task is neither.
    """
    labels = np.asarray(y)
    targets.refuse_unknown_labels(labels, task.classes)
    truth, weights = task.encode(labels), check_weights(sample_weight, labels)
    if isinstance(task, CostTask):
        predicted = np.argmax(margins, axis=1)
        return Outcomes(-task.costs[truth, predicted], -task.costs[truth], weights)
    profit = task.measure
    if not isinstance(profit, Profit):
        raise TypeError(f"savings are those of a Profit or a CostMatrix, and the measure is {profit.name!r}")
    if amounts is None:
        amounts = find_amounts(profit, None, {}, labels.size)
    constant = np.column_stack([amounts.earned(truth, label) for label in (True, False)])
    return Outcomes(amounts.earned(truth, task.orient(margins) > 0.0), constant, weights)


def find_outcomes(posterior: Any) -> OutcomePosterior | None:
    """Return the posterior of what samples earn that another consists of; None if there is none.

    The table of a profit whose amounts are numbers has four kinds of samples.
    """
    while isinstance(posterior, GroupedPosterior | FinalPosterior):
        posterior = posterior.independent if isinstance(posterior, GroupedPosterior) else posterior.of_folds
    if isinstance(posterior, TablePosterior) and isinstance(posterior.measure, Profit):
        cells = np.sum(posterior.tables, axis=0)
        kinds = cells > 0.0
        amounts = find_amounts(posterior.measure, None, {}, 4)
        truth, predicted = np.array([True, False, True, False]), np.array([True, True, False, False])
        constant = np.column_stack([amounts.earned(truth, label) for label in (True, False)])
        return OutcomePosterior(amounts.earned(truth, predicted)[kinds], constant[kinds], cells[kinds], 0.0, 1.0)
    return posterior if isinstance(posterior, OutcomePosterior) else None
