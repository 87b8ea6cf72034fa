"""States of solvers as arrays, so that an interrupted training can resume in another process.

Scores are not stored: one product with the samples recomputes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise.results import HistoryEntry
from metricwise.solvers.loop import State
from metricwise.solvers.schema import MOST, ArrayField, Schema, require_state

Arrays = dict[str, NDArray[Any]]

_CROSSED = 1e-6  # of the objective: bounds that exceed each other by less do so by rounding
COUNT = ArrayField("count", low=0, high=MOST)
_HISTORY: Schema = {
    "iteration": ArrayField("count", ("history",), low=1, high=MOST, is_rising=True),
    "seconds": ArrayField("float", ("history",), low=0.0, is_rising=True),
    "objective": ArrayField("float", ("history",), may_be_infinite=True, may_be_nan=True),
    "lower": ArrayField("float", ("history",), may_be_infinite=True, may_be_nan=True),
    "cuts": ArrayField("count", ("history",), low=0, high=MOST),
    "bytes_moved": ArrayField("count", ("history",), low=0, high=MOST),
}
PROGRESS: Schema = {
    "iteration": COUNT,
    "seconds": ArrayField("float", low=0.0),
    **{f"history_{name}": field for name, field in _HISTORY.items()},
}


def pack_fields(record: Any, schema: Schema) -> Arrays:
    """Return numbers, texts and arrays of a record as the arrays of a schema."""
    return {name: field.pack(getattr(record, name)) for name, field in schema.items()}


def unpack_fields(arrays: Mapping[str, NDArray[Any]], schema: Schema) -> dict[str, Any]:
    """Return the fields that `pack_fields` packed."""
    found = {name: arrays[name] for name in schema}
    return {name: value if value.ndim else value.item() for name, value in found.items()}


def join_parts(parts: Mapping[str, Arrays]) -> Arrays:
    """Return the arrays of named parts under one name each.

    Examples
    --------
    >>> joined = join_parts({"0": {"v": np.ones(2)}, "1": {"v": np.zeros(1)}})
    >>> list(joined), split_parts(joined)["1"]
    (['0/v', '1/v'], {'v': array([0.])})
    """
    return {f"{part}/{name}": value for part, arrays in parts.items() for name, value in arrays.items()}


def split_parts(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Arrays]:
    """Return the parts that `join_parts` joined."""
    parts: dict[str, Arrays] = {}
    for key, value in arrays.items():
        part, _, name = key.partition("/")
        parts.setdefault(part, {})[name] = value
    return parts


def progress_arrays(state: State) -> Arrays:
    """Return the progress of a training as the arrays of `PROGRESS`."""
    columns = zip(*map(astuple, state.history), strict=True) if state.history else [()] * len(_HISTORY)
    history = {name: field.pack(column) for (name, field), column in zip(_HISTORY.items(), columns, strict=True)}
    own = {"iteration": COUNT.pack(state.iteration), "seconds": np.array(state.seconds, dtype=np.float64)}
    return own | {f"history_{name}": column for name, column in history.items()}


def set_progress(state: State, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Set the progress of a state from the checked arrays of `progress_arrays`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> before = SimpleNamespace(iteration=1, seconds=0.5, history=[HistoryEntry(1, 0.5, 2.0, 1.0, 3)])
    >>> after = SimpleNamespace()
    >>> set_progress(after, progress_arrays(before))
    >>> after == before
    True
    """
    state.iteration, state.seconds = int(arrays["iteration"]), float(arrays["seconds"])
    columns = [arrays[f"history_{item.name}"].tolist() for item in fields(HistoryEntry)]
    state.history = [HistoryEntry(*entry) for entry in zip(*columns, strict=True)]


def require_bounds(upper: float, lower: float) -> None:
    """Raise a `StateError` unless a stored lower bound can be one of an objective that was computed again."""
    require_state(np.isfinite(upper), "'w' has no finite objective")
    require_state(lower <= upper + _CROSSED * abs(upper), "'lower' exceeds the objective of 'w'")
