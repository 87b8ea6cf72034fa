"""User-defined measures, given as functions of the contingency table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.measures.costs import ContingencyCost, make_cost
from metricwise.measures.function_measures import FunctionMeasure
from metricwise.measures.functions import (
    RatioFunction,
    TableFunction,
    check_direction,
    check_ratio,
    check_values,
    takes_arrays,
)
from metricwise.measures.rate_capabilities import Ratio


@stored_fields(version=1)
@dataclass(frozen=True)
class ContingencyMeasure(FunctionMeasure):
    """A user-defined function of the contingency table; `contingency_measure` checks and makes it.

    Where the function returns NaN (0/0), the value is 0.

    Parameters
    ----------
    function : callable
        A function of (tp, fp, fn, tn).
    name : str
        The name of the measure.
    elementwise : bool
        Whether the function takes numbers only, so that it is called once per table.

    Examples
    --------
    >>> from metricwise import contingency_measure
    >>> overlap = contingency_measure(lambda tp, fp, fn, tn: tp / (tp + fp + fn), name="overlap")
    >>> type(overlap).__name__, overlap.score([1, 1, 0, 0], [1, 0, 0, 0])
    ('ContingencyMeasure', 0.5)
    """

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        values = self._evaluate(tp, fp, fn, tn)
        return np.where(np.isnan(values), 0.0, values)


@stored_fields(version=1)
@dataclass(frozen=True)
class RatioContingencyMeasure(ContingencyMeasure):
    """A user-defined measure that is a ratio of affine functions of the rates.

    Parameters
    ----------
    function : callable
        A function of (tp, fp, fn, tn).
    name : str
        The name of the measure.
    elementwise : bool
        Whether the function takes numbers only, so that it is called once per table.
    ratio_function : callable
        Returns the six coefficients of `Ratio` at theta = n-/n+.

    Examples
    --------
    >>> from metricwise import contingency_measure
    >>> overlap = contingency_measure(
    ...     lambda tp, fp, fn, tn: tp / (tp + fp + fn), name="overlap", ratio=lambda t: (0, 1, 0, 1 + t, 0, -t)
    ... )
    >>> type(overlap).__name__, overlap.ratio(theta=3.0).b0
    ('RatioContingencyMeasure', 4.0)
    """

    ratio_function: RatioFunction

    def ratio(self, theta: float) -> Ratio:
        """Return the coefficients at theta = n-/n+."""
        return Ratio(*self.ratio_function(theta))


def contingency_measure(
    function: TableFunction, name: str, *, ratio: RatioFunction | None = None, greater_is_better: bool = True
) -> ContingencyMeasure | ContingencyCost:
    """Make a measure, or a cost, from a function of the contingency table.

    Parameters
    ----------
    function : callable
        A function of (tp, fp, fn, tn): a measure that is 1 for perfect labels, or a cost in units of your own. It may
        take arrays (fast) or numbers only, in which case it is called once per table. Counts are floats: with sample
        weights they are sums of weights. Where it returns NaN (0/0), a measure is 0, and a cost is 1 (per sample, if
        it adds up over samples).
    name : str
        The name of the measure.
    ratio : callable, optional
        A function of theta = n-/n+ that returns the six coefficients of `metricwise.measures.Ratio`, for a measure
        that is a ratio of affine functions of the rates. Solvers for such measures then accept it. Linear costs need
        none.
    greater_is_better : bool, default=True
        False for a cost: training and thresholds minimise it, and ``score``, ``expected_score_``, `evaluate` and
        reports show it in its own units, less being better. A cost that adds up over samples, such as 5 fn + fp, is
        shown for the samples at hand; what is expected of new samples is for as many as those of training. To select
        models by cross-validation, as in `sklearn.model_selection.GridSearchCV`, which maximises, pass a scorer that
        is negative: ``scoring=lambda model, X, y: -model.score(X, y)``.

    Returns
    -------
    ContingencyMeasure or ContingencyCost
        A measure or a cost, also a `metricwise.measures.RatioOfRates` if ``ratio`` was given or the cost is linear. It
        can be pickled if the functions can: a function defined in a module can, a lambda cannot.

    Raises
    ------
    TypeError
        If ``function`` or ``ratio`` cannot be called as described or ``name`` is not text.
    ValueError
        If ``function`` returns NaN or infinity, ``ratio`` disagrees with it, or correcting mistakes makes it worse.

    Examples
    --------
    >>> import metricwise
    >>> jaccard = metricwise.contingency_measure(lambda tp, fp, fn, tn: tp / (tp + fp + fn), name="overlap")
    >>> jaccard.score([1, 1, 0, 0], [1, 1, 0, 0])
    1.0
    >>> cost = metricwise.contingency_measure(lambda tp, fp, fn, tn: 5 * fn + fp, name="cost", greater_is_better=False)
    >>> cost.score([1, 1, 0, 0], [0, 1, 0, 1])
    6.0
    """
    if not callable(function):
        raise TypeError(f"function must be callable with (tp, fp, fn, tn), got {function!r}.")
    if not isinstance(name, str) or not name:
        raise TypeError(f"name must be non-empty text, got {name!r}.")
    reference = check_values(function)
    elementwise = not takes_arrays(function, reference)
    check_direction(function, elementwise, name, greater_is_better)
    if ratio is not None:
        check_ratio(ratio, reference)
    if not greater_is_better:
        return make_cost(function, name, elementwise, ratio)
    if ratio is None:
        return ContingencyMeasure(function, name, elementwise)
    return RatioContingencyMeasure(function, name, elementwise, ratio)
