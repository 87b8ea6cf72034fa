"""Costs of the contingency table, given as functions: less is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.measures.function_measures import FunctionMeasure
from metricwise.measures.functions import PROBE, RatioFunction, TableFunction, evaluate_function
from metricwise.measures.rate_capabilities import Ratio
from metricwise.measures.tables import contingency_table, divide

_EXACT = 1e-9  # relative difference within which a function counts as linear, or as a total


@stored_fields(version=1)
@dataclass(frozen=True)
class ContingencyCost(FunctionMeasure):
    """A user-defined cost of the contingency table; `contingency_measure` with ``greater_is_better=False`` makes it.

    `score` is the cost. Training and thresholds maximise `value`, which is 1 minus the cost; a cost that adds up over
    samples (a total, such as 5 fn + fp) is divided by their number first, so that samples of any size compare. Where
    the function returns NaN (0/0), the value is 0.

    Parameters
    ----------
    function : callable
        A function of (tp, fp, fn, tn).
    name : str
        The name of the cost.
    elementwise : bool
        Whether the function takes numbers only, so that it is called once per table.
    is_total : bool
        Whether the cost of twice the samples is twice the cost.
    unit : float
        The cost of a sample whose value is 0.

    Examples
    --------
    >>> from metricwise import contingency_measure
    >>> cost = contingency_measure(lambda tp, fp, fn, tn: fn**2 + fp, name="cost", greater_is_better=False)
    >>> type(cost).__name__, round(cost.score([1, 1, 0, 0], [0, 1, 0, 1]), 3)
    ('ContingencyCost', 2.0)
    """

    is_total: bool
    unit: float

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        cost = self._evaluate(tp, fp, fn, tn)
        total = tp + fp + fn + tn if self.is_total else np.ones(tp.shape)
        return np.where(np.isnan(cost), 0.0, 1.0 - divide(cost, self.unit * total))

    def cost_of_value(self, value: Any, n_samples: float) -> Any:
        """Return the cost of ``n_samples`` samples with a value."""
        # Rounded, since 1 - value has lost the last digits of the cost.
        scale = self.unit * (n_samples if self.is_total else 1.0)
        return np.round(scale * np.subtract(1.0, value), 9)[()]

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the cost of predicted labels ``response`` given the true labels ``y``: less is better.

        Both hold 0 and 1, -1 and 1, or booleans.

        Parameters
        ----------
        y : array of shape (n_samples,)
            True labels: 0 and 1, -1 and 1, or booleans.
        response : array of shape (n_samples,)
            Predicted labels, in the same form.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; by default all are 1.

        Returns
        -------
        float
            The cost, in the units of the function: less is better.
        """
        table = contingency_table(y, response, sample_weight)
        counts = (table.tp, table.fp, table.fn, table.tn)
        cost = self._evaluate(*map(np.asarray, counts))
        return float(self.cost_of_value(0.0, sum(counts)) if np.isnan(cost) else cost)

    def mistakes_per_loss(self, n_pos: float, n_neg: float) -> float:
        """Return the number of single mistakes that make up a loss of one.

        This is one over what missing one unit of positive weight adds to the cost of perfect labels. A cost that misses
        do not raise is measured by a false alarm instead.

        Raises
        ------
        ValueError
            If neither kind of mistake raises the cost of perfect labels.
        """
        perfect = float(self.value(n_pos, 0.0, 0.0, n_neg))
        missed, alarm = min(1.0, n_pos), min(1.0, n_neg)
        worse = (self.value(n_pos - missed, 0.0, missed, n_neg), self.value(n_pos, alarm, 0.0, n_neg - alarm))
        for weight, value in zip((missed, alarm), worse, strict=True):
            if weight > 0.0 and np.isfinite(value) and value < perfect:
                return weight / (perfect - float(value))
        raise ValueError(
            f"a single mistake does not raise the cost {self.name!r} of perfect labels (n_pos={n_pos:g}, "
            f"n_neg={n_neg:g}), so that nothing can be trained for it: check its formula."
        )


@stored_fields(version=1)
@dataclass(frozen=True)
class RatioContingencyCost(ContingencyCost):
    """A user-defined cost that is a ratio of affine functions of the rates.

    Parameters
    ----------
    function : callable
        A function of (tp, fp, fn, tn).
    name : str
        The name of the cost.
    elementwise : bool
        Whether the function takes numbers only, so that it is called once per table.
    is_total : bool
        Whether the cost of twice the samples is twice the cost.
    unit : float
        The cost of a sample whose value is 0.
    ratio_function : callable
        Returns the six coefficients of the cost as a `Ratio` at theta = n-/n+.

    Examples
    --------
    >>> from metricwise import contingency_measure
    >>> cost = contingency_measure(
    ...     lambda tp, fp, fn, tn: (fp + fn) / (tp + fp + fn),
    ...     name="cost",
    ...     ratio=lambda t: (1 + t, -1, -t, 1 + t, 0, -t),
    ...     greater_is_better=False,
    ... )
    >>> type(cost).__name__, round(cost.score([1, 1, 0, 0], [0, 1, 0, 1]), 3)
    ('RatioContingencyCost', 0.667)
    """

    ratio_function: RatioFunction

    def ratio(self, theta: float) -> Ratio:
        """Return the coefficients of the value, 1 minus the cost, at theta = n-/n+."""
        a0, a1, a2, b0, b1, b2 = self.ratio_function(theta)
        return Ratio(b0 - a0, b1 - a1, b2 - a2, b0, b1, b2)


@stored_fields(version=1)
@dataclass(frozen=True)
class LinearContingencyCost(ContingencyCost):
    """A user-defined cost that is linear in the table: every kind of sample has its cost.

    Parameters
    ----------
    function : callable
        A function of (tp, fp, fn, tn).
    name : str
        The name of the cost.
    elementwise : bool
        Whether the function takes numbers only, so that it is called once per table.
    is_total : bool
        Whether the cost of twice the samples is twice the cost.
    unit : float
        The cost of a sample whose value is 0.
    costs : tuple of float
        The costs of a true positive, a false positive, a false negative and a true negative.

    Examples
    --------
    >>> from metricwise import contingency_measure
    >>> cost = contingency_measure(lambda tp, fp, fn, tn: 5 * fn + fp, name="cost", greater_is_better=False)
    >>> type(cost).__name__, round(cost.score([1, 1, 0, 0], [0, 1, 0, 1]), 3)
    ('LinearContingencyCost', 6.0)
    """

    costs: tuple[float, float, float, float]

    @property
    def mistake_costs(self) -> tuple[float, float]:
        """What missing a positive and a false alarm add to the cost, in units of the costlier one."""
        tp, fp, fn, tn = self.costs
        return (fn - tp) / self.unit, (fp - tn) / self.unit

    def ratio(self, theta: float) -> Ratio:
        """Return the coefficients of the value, 1 minus the cost per sample, at theta = n-/n+."""
        tp, fp, fn, tn = (cost / self.unit for cost in self.costs)
        total = 1.0 + theta
        return Ratio(total - fn - theta * fp, fn - tp, theta * (fp - tn), total, 0.0, 0.0)


def make_cost(function: TableFunction, name: str, elementwise: bool, ratio: RatioFunction | None) -> ContingencyCost:
    """Return the cost of a checked function: linear if it is, or a ratio if one is given."""
    if ratio is not None:
        return RatioContingencyCost(function, name, elementwise, False, 1.0, ratio)
    at_probe, at_twice, units = (
        evaluate_function(function, elementwise, *tables)
        for tables in (PROBE, tuple(2.0 * count for count in PROBE), tuple(np.eye(4)))
    )
    is_total = bool(np.allclose(at_twice, 2.0 * at_probe, rtol=_EXACT, atol=0.0))
    if is_total and np.all(np.isfinite(units)) and np.allclose(units @ np.array(PROBE), at_probe, rtol=_EXACT):
        tp, fp, fn, tn = (float(cost) for cost in units)
        dearest = max(fn - tp, fp - tn)
        unit = dearest if dearest > 0.0 else 1.0
        return LinearContingencyCost(function, name, elementwise, True, unit, (tp, fp, fn, tn))
    return ContingencyCost(function, name, elementwise, is_total, 1.0)
