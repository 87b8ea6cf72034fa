"""Functions of the contingency table that users write: their evaluation, and checks on a few tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from metricwise._typing import Floats

TableFunction = Callable[[Any, Any, Any, Any], Any]
RatioFunction = Callable[[float], Iterable[float]]

# Tables (tp, fp, fn, tn) of different size and balance, without zeros, so that no sensible measure is 0/0.
PROBE = (
    np.array([40.0, 3.0, 70.0, 1.5, 12.0]),
    np.array([10.0, 2.0, 6.0, 0.5, 9.0]),
    np.array([5.0, 4.0, 20.0, 2.5, 1.0]),
    np.array([45.0, 91.0, 4.0, 3.0, 1.0]),
)


def evaluate_function(
    function: TableFunction, elementwise: bool, tp: Floats, fp: Floats, fn: Floats, tn: Floats
) -> Floats:
    """Return the function of arrays of tables, called once, or once per table if it takes numbers only."""
    # Copies with one dimension: what the function was checked on, and safe if it writes to its arguments.
    flat = tuple(count.flatten() for count in (tp, fp, fn, tn))
    evaluate = _evaluate_one_by_one if elementwise else _evaluate_arrays
    values: Floats = evaluate(function, flat).astype(np.float64)
    return values.reshape(tp.shape)


def _evaluate_arrays(function: TableFunction, tables: tuple[Floats, ...]) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(function(*tables))


def _evaluate_one_by_one(function: TableFunction, tables: tuple[Floats, ...]) -> Any:
    # numpy's floats, unlike Python's, divide by zero without raising.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.array([function(*table) for table in zip(*tables, strict=True)])


def check_values(function: TableFunction) -> Floats:
    """Return the function's values on the probe tables, one call per table; raise unless they are finite numbers."""
    try:
        values = _evaluate_one_by_one(function, PROBE)
    except TypeError as error:
        raise TypeError(f"function must take four numbers (tp, fp, fn, tn), but calling it failed: {error}") from error
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        raise TypeError(
            "function must return one real number per table, but for "
            f"(tp, fp, fn, tn) = {_first_table()} it returned {function(*_first_table())!r}."
        )
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        table = tuple(float(count[bad]) for count in PROBE)
        raise ValueError(
            f"function must return finite numbers where all counts are above zero, but for (tp, fp, fn, tn) = {table} "
            f"it returned {values[bad]}; check its formula for logarithms, roots and differences in denominators."
        )
    floats: Floats = values.astype(np.float64)
    return floats


def _first_table() -> tuple[np.float64, ...]:
    return tuple(count[0] for count in PROBE)


def takes_arrays(function: TableFunction, reference: Floats) -> bool:
    """Return whether the function, given arrays of tables, returns what it returns for each table."""
    try:
        values = _evaluate_arrays(function, tuple(count.copy() for count in PROBE))
    except Exception:  # a function of numbers may raise anything when it gets an array
        return False
    return values.shape == reference.shape and values.dtype.kind in "biuf" and np.allclose(values, reference)


def check_ratio(ratio: RatioFunction, reference: Floats) -> None:
    """Raise unless the ratio equals the reference values on the probe tables."""
    if not callable(ratio):
        raise TypeError(f"ratio must be callable with theta = n-/n+ or None, got {ratio!r}.")
    for tp, fp, fn, tn, expected in zip(*PROBE, reference, strict=True):
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


def check_direction(function: TableFunction, elementwise: bool, name: str, greater_is_better: bool) -> None:
    """Raise a ValueError if correcting mistakes makes a function worse, so that it points the other way.

    That is so if no correction of a mistake improves the probe tables and some make them worse, or if the opposite of
    nearly perfect labels is better than these on all of them.
    """
    tp, fp, fn, tn = PROBE
    half, few = 0.5, np.full(tp.size, 0.25)  # not none, for which a function may not be defined
    tables = {
        "as they are": (tp, fp, fn, tn),
        "a miss less": (tp + half, fp, fn - half, tn),
        "an alarm less": (tp, fp - half * fp, fn, tn + half * fp),
        "nearly perfect": (tp + fn - few, few, few, tn + fp - few),
        "opposite": (few, tn + fp - few, tp + fn - few, few),
    }
    values = {kind: evaluate_function(function, elementwise, *cells) for kind, cells in tables.items()}
    sign = 1.0 if greater_is_better else -1.0
    gains = sign * (np.stack([values["a miss less"], values["an alarm less"]]) - values["as they are"])
    over_opposite = sign * (values["nearly perfect"] - values["opposite"])
    noise = 1e-12 * np.max(np.abs(values["as they are"]))
    never_gains = bool(np.all(gains <= noise) and np.any(gains < -noise))
    if never_gains or np.all(over_opposite < -noise):
        raise ValueError(_describe_direction(name, greater_is_better, values))


def _describe_direction(name: str, greater_is_better: bool, values: dict[str, Floats]) -> str:
    before, after = (values[kind][0] for kind in ("as they are", "a miss less"))
    if after == before:
        after = values["an alarm less"][0]
    remedy = (
        "If it is a cost, pass greater_is_better=False: it is then minimised, and reported as it is"
        if greater_is_better
        else "If it is no cost, leave greater_is_better=False out"
    )
    change = "falls" if after < before else "rises"
    return (
        f"{name!r} {change} when mistakes are corrected (from {before:g} to {after:g} on a table with fewer of them), "
        f"so that training for it would look for the worst labels. {remedy}."
    )
