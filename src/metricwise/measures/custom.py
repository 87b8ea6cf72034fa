"""User-defined measures, given as functions of the contingency table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metricwise._typing import Floats
from metricwise.measures.base import Ratio
from metricwise.measures.tables import TableMeasure

TableFunction = Callable[[Any, Any, Any, Any], Any]
RatioFunction = Callable[[float], Iterable[float]]

# Tables (tp, fp, fn, tn) of different size and balance, without zeros, so that no sensible measure is 0/0.
_PROBE = (
    np.array([40.0, 3.0, 70.0, 1.5, 12.0]),
    np.array([10.0, 2.0, 6.0, 0.5, 9.0]),
    np.array([5.0, 4.0, 20.0, 2.5, 1.0]),
    np.array([45.0, 91.0, 4.0, 3.0, 1.0]),
)


@dataclass(frozen=True)
class ContingencyMeasure(TableMeasure):
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
    """

    function: TableFunction
    name: str
    elementwise: bool
    monotone: ClassVar[bool] = False  # nothing is known about a user's function

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        # Copies with one dimension: what the function was checked on, and safe if it writes to its arguments.
        flat = tuple(count.flatten() for count in (tp, fp, fn, tn))
        evaluate = _evaluate_one_by_one if self.elementwise else _evaluate_arrays
        values = evaluate(self.function, flat).astype(np.float64)
        return np.where(np.isnan(values), 0.0, values).reshape(tp.shape)


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
    """

    ratio_function: RatioFunction

    def ratio(self, theta: float) -> Ratio:
        """Return the coefficients at theta = n-/n+."""
        return Ratio(*self.ratio_function(theta))


def contingency_measure(
    function: TableFunction, name: str, *, ratio: RatioFunction | None = None
) -> ContingencyMeasure | RatioContingencyMeasure:
    """Make a measure from a function of the contingency table.

    Parameters
    ----------
    function : callable
        A function of (tp, fp, fn, tn); greater is better, 1 for perfect labels. It may take arrays (fast) or numbers
        only, in which case it is called once per table. Counts are floats: with sample weights they are sums of
        weights. Where it returns NaN (0/0), the measure is 0.
    name : str
        The name of the measure.
    ratio : callable, optional
        A function of theta = n-/n+ that returns the six coefficients of `metricwise.measures.Ratio`, for a measure
        that is a ratio of affine functions of the rates. Solvers for such measures then accept it.

    Returns
    -------
    ContingencyMeasure
        A measure, also a `metricwise.measures.RatioOfRates` if ``ratio`` was given. It can be pickled if the
        functions can: a function defined in a module can, a lambda cannot.

    Raises
    ------
    TypeError
        If ``function`` or ``ratio`` cannot be called as described or ``name`` is not text.
    ValueError
        If ``function`` returns NaN or infinity, or ``ratio`` disagrees with it.

    Examples
    --------
    >>> import metricwise
    >>> cost = metricwise.contingency_measure(lambda tp, fp, fn, tn: 1 - (5 * fn + fp) / (tp + fp + fn + tn), "cost")
    >>> cost.score([1, 1, 0, 0], [1, 1, 0, 1])
    0.75
    """
    if not callable(function):
        raise TypeError(f"function must be callable with (tp, fp, fn, tn), got {function!r}.")
    if not isinstance(name, str) or not name:
        raise TypeError(f"name must be non-empty text, got {name!r}.")
    reference = _check_values(function)
    elementwise = not _takes_arrays(function, reference)
    if ratio is None:
        return ContingencyMeasure(function, name, elementwise)
    _check_ratio(ratio, reference)
    return RatioContingencyMeasure(function, name, elementwise, ratio)


def _copy(tables: tuple[Floats, ...]) -> tuple[Floats, ...]:
    return tuple(count.copy() for count in tables)


def _evaluate_arrays(function: TableFunction, tables: tuple[Floats, ...]) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(function(*tables))


def _evaluate_one_by_one(function: TableFunction, tables: tuple[Floats, ...]) -> Any:
    # numpy's floats, unlike Python's, divide by zero without raising.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.array([function(*table) for table in zip(*tables, strict=True)])


def _check_values(function: TableFunction) -> Floats:
    """Return the function's values on the probe tables, one call per table; raise unless they are finite numbers."""
    try:
        values = _evaluate_one_by_one(function, _PROBE)
    except TypeError as error:
        raise TypeError(f"function must take four numbers (tp, fp, fn, tn), but calling it failed: {error}") from error
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        raise TypeError(
            "function must return one real number per table, but for "
            f"(tp, fp, fn, tn) = {_first_table()} it returned {function(*_first_table())!r}."
        )
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        table = tuple(float(count[bad]) for count in _PROBE)
        raise ValueError(
            f"function must return finite numbers where all counts are above zero, but for (tp, fp, fn, tn) = {table} "
            f"it returned {values[bad]}; check its formula for logarithms, roots and differences in denominators."
        )
    floats: Floats = values.astype(np.float64)
    return floats


def _first_table() -> tuple[np.float64, ...]:
    return tuple(count[0] for count in _PROBE)


def _takes_arrays(function: TableFunction, reference: Floats) -> bool:
    """Return whether the function, given arrays of tables, returns what it returns for each table."""
    try:
        values = _evaluate_arrays(function, _copy(_PROBE))
    except Exception:  # a function of numbers may raise anything when it gets an array
        return False
    return values.shape == reference.shape and values.dtype.kind in "biuf" and np.allclose(values, reference)


def _check_ratio(ratio: RatioFunction, reference: Floats) -> None:
    """Raise unless the ratio equals the reference values on the probe tables."""
    if not callable(ratio):
        raise TypeError(f"ratio must be callable with theta = n-/n+ or None, got {ratio!r}.")
    for tp, fp, fn, tn, expected in zip(*_PROBE, reference, strict=True):
        n_pos, n_neg = tp + fn, tn + fp
        try:
            a0, a1, a2, b0, b1, b2 = ratio(n_neg / n_pos)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"ratio must return the six coefficients of metricwise.measures.Ratio at theta: {error}"
            ) from error
        tpr, tnr = tp / n_pos, tn / n_neg
        value = (a0 + a1 * tpr + a2 * tnr) / (b0 + b1 * tpr + b2 * tnr)
        if not np.isclose(value, expected, rtol=1e-6):
            raise ValueError(
                f"ratio disagrees with function: for tp={tp:g}, fp={fp:g}, fn={fn:g}, tn={tn:g} they give "
                f"{value:g} and {expected:g}. The ratio is (a0 + a1 P + a2 N) / (b0 + b1 P + b2 N) of the rates "
                "P = tp/n+ and N = tn/n-."
            )
