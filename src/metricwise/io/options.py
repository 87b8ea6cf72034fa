"""Checks of the options with which files are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, get_args

import numpy as np

from metricwise.io.roles import Kind, Which

_FLOATS = (np.float64, np.float32)


def check_column(argument: str, which: object) -> Which:
    """Return a column as a name or a position; raise if it is neither.

    Examples
    --------
    >>> check_column("weight", "w"), check_column("weight", -1)
    ('w', -1)
    >>> check_column("weight", 1.5)
    Traceback (most recent call last):
    ValueError: weight must be the name or the position of a column, got 1.5
    """
    if isinstance(which, str):
        return which
    if isinstance(which, Integral) and not isinstance(which, bool):
        return int(which)
    raise ValueError(f"{argument} must be the name or the position of a column, got {which!r}")


def check_columns(argument: str, given: object) -> tuple[Which, ...]:
    """Return columns as names and positions; raise if they are no list of these, such as one name alone.

    Examples
    --------
    >>> check_columns("drop", ["id", 3])
    ('id', 3)
    >>> check_columns("drop", "id")
    Traceback (most recent call last):
    ValueError: drop must be a list of columns, got 'id': write ['id']
    """
    return tuple(check_column(argument, which) for which in _list_entries(argument, given))


def check_targets(target: object) -> tuple[Which, ...] | None:
    """Return the columns of labels, of which one may stand alone; None if none are named."""
    if target is None:
        return None
    return (check_column("target", target),) if _stands_alone(target) else check_columns("target", target)


def check_features(columns: object) -> tuple[tuple[str, ...] | None, dict[str, Kind] | None]:
    """Return the names of features, each once, and their kinds if a dictionary gives them; None where not given.

    Examples
    --------
    >>> check_features({"age": "number", "job": "text"})
    (('age', 'job'), {'age': 'number', 'job': 'text'})
    """
    if columns is None:
        return None, None
    names: list[str] = []
    for name in _list_entries("columns", columns):
        if not isinstance(name, str):
            raise ValueError(f"columns must be names of columns, got {name!r} among them")
        names.append(name)
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"columns names {twice[0]!r} twice: name each column once")
    kinds = dict(columns) if isinstance(columns, Mapping) else None
    for name, kind in (kinds or {}).items():
        if kind not in get_args(Kind):
            raise ValueError(f"columns gives {name!r} the kind {kind!r}: write 'number' or 'text'")
    return tuple(names), kinds


def _list_entries(argument: str, given: Any) -> list[Any]:
    if _stands_alone(given):
        hint = f": write [{given!r}]" if isinstance(given, str) else ""
        raise ValueError(f"{argument} must be a list of columns, got {given!r}{hint}")
    return list(given)


def _stands_alone(given: object) -> bool:
    """Return whether an argument is no list of columns; an array without dimensions is none."""
    return isinstance(given, str | bytes) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0


def check_flag(name: str, value: object) -> None:
    """Raise if an option is neither true nor false."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def check_float_type(dtype: Any) -> np.dtype[Any]:
    """Return the type of the features; raise if it is neither double nor single precision."""
    found: np.dtype[Any] | None
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found not in _FLOATS:
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}")
    return found
