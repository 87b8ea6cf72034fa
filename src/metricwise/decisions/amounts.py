"""The amounts of each sample: from columns of X, from arrays that users pass, or the same for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from metricwise._typing import Floats, Mask
from metricwise.clusters import is_dask
from metricwise.designs.cluster.source import DaskSource
from metricwise.measures.expressions import parse_expression, suggest_column
from metricwise.measures.profit import OUTCOMES, Amounts, Profit, SampleProfit

_LARGEST = 1e100  # beyond it, sums and products of amounts would overflow


def list_given(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the outcomes for which arrays are given.

    Examples
    --------
    >>> list_given({"tp": None, "fn": [1.0, 2.0]})
    ('fn',)
    """
    return tuple(outcome for outcome in OUTCOMES if given.get(outcome) is not None)


def is_per_sample(measure: Any, given: Mapping[str, Any]) -> bool:
    """Return whether samples have amounts of their own; TypeError for arrays that the measure has no use for."""
    if isinstance(measure, Profit):
        return bool(list_given(given)) or not measure.has_numbers_only
    if list_given(given):
        name = list_given(given)[0]
        raise TypeError(
            f"{name}= is an amount per sample, and the measure {getattr(measure, 'name', measure)!r} has none: set "
            "measure=Profit(...), or leave it out"
        )
    return False


def find_amounts(profit: Profit, X: Any, given: Mapping[str, Any], n_samples: int) -> Amounts:
    """Return the amounts of samples.

    Parameters
    ----------
    profit : Profit
        Numbers, names of columns or expressions.
    X : data frame or other samples
        Has the columns.
    given : dict
        Arrays by outcome ("tp", "fp", "fn", "tn"), which replace the amounts of ``profit``; None for no array.
    n_samples : int
        Number of samples.

    Raises
    ------
    ValueError
        If a column or an array is missing, has another length, or an amount is no finite number.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"amount": [100.0, 30.0]})
    >>> find_amounts(Profit(tp="0.1*amount - 5"), X, {}, 2).tp
    array([ 5., -2.])
    """
    if is_dask(X) or isinstance(X, DaskSource):
        raise ValueError(
            "a profit with amounts per sample decides for samples in memory: use X.compute(), or amounts that are "
            "numbers"
        )
    expected = profit.given if isinstance(profit, SampleProfit) else ()
    found = []
    for outcome in OUTCOMES:
        if given.get(outcome) is not None:
            found.append(_check_array(given[outcome], outcome, n_samples))
        elif outcome in expected:
            raise ValueError(
                f"the model was trained with an array of one amount {outcome!r} per sample: pass {outcome}= for these "
                "samples, too"
            )
        else:
            found.append(_evaluate(getattr(profit, outcome), outcome, X, n_samples))
    return Amounts(*found)


def _check_array(values: Any, outcome: str, n_samples: int) -> Floats:
    try:
        array: Floats = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{outcome}= must be an array of numbers, one per sample") from error
    if array.ndim == 0:
        array = np.full(n_samples, float(array))
    if array.shape != (n_samples,):
        raise ValueError(f"X has {n_samples} samples and {outcome}= has the shape {array.shape}: give one amount each")
    return _check_finite(array, f"{outcome}=")


def _check_finite(amounts: Floats, what: str) -> Floats:
    wrong = ~(np.abs(amounts) <= _LARGEST)
    if wrong.any():
        first = int(np.argmax(wrong))
        limit = " (amounts reach 1e100 at most)" if np.isfinite(amounts[first]) else ""
        raise ValueError(
            f"{what} is {amounts[first]:g} for sample {first}{limit}, {np.count_nonzero(wrong)} of {amounts.size} "
            "samples in all: fill missing values, guard divisions, or leave such samples out"
        )
    return amounts


def _evaluate(amount: float | str, outcome: str, X: Any, n_samples: int) -> Floats:
    if not isinstance(amount, str):
        return np.full(n_samples, amount)
    expression = parse_expression(amount)
    columns = {name: _column(X, name, amount, outcome) for name in expression.columns}
    with np.errstate(all="ignore"):  # what is not finite is refused by sample
        values = np.asarray(expression.evaluate(columns), dtype=np.float64)
    return _check_finite(values, f"{outcome}={amount!r}")


def _column(X: Any, name: str, text: str, outcome: str) -> Floats:
    names = getattr(X, "columns", None)
    if names is None:
        raise ValueError(
            f"{outcome}={text!r} of the profit needs the column {name!r}, and X has no names of columns: pass a data "
            f"frame, or an array of amounts per sample as {outcome}="
        )
    if name not in set(names):
        raise ValueError(
            f"{outcome}={text!r} of the profit needs the column {name!r}, which X lacks{suggest_column(name, names)}"
        )
    try:
        column: Floats = np.asarray(X[name], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{outcome}={text!r} of the profit needs numbers in the column {name!r}, which holds others: convert it, "
            f"or pass an array of amounts per sample as {outcome}="
        ) from error
    if column.ndim != 1:
        raise ValueError(f"X has several columns {name!r}, which {outcome}={text!r} of the profit names: rename them")
    return column


AMOUNTS_DTYPE = np.dtype([("positive", np.bool_), *((outcome, np.float64) for outcome in OUTCOMES)])


def attach_amounts(truth: Mask, amounts: Amounts) -> Any:
    """Return targets that carry the amounts of their samples, so that folds and subsets divide both alike."""
    target = np.empty(truth.size, dtype=AMOUNTS_DTYPE)
    target["positive"] = truth
    for outcome, values in zip(OUTCOMES, amounts, strict=True):
        target[outcome] = values
    return target


def detach_amounts(target: Any) -> tuple[Mask, Amounts]:
    """Return the truth and the amounts of targets; see `attach_amounts`.

    Examples
    --------
    >>> import numpy as np
    >>> truth, amounts = np.array([True, False]), Amounts(*np.arange(8.0).reshape(4, 2))
    >>> detach_amounts(attach_amounts(truth, amounts))[1].fn
    array([4., 5.])
    """
    return target["positive"], Amounts(*(np.ascontiguousarray(target[outcome]) for outcome in OUTCOMES))
