"""States of solvers as arrays, so that an interrupted training can resume in another process.

Scores are not stored: one product with the samples recomputes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise.results import HistoryEntry
from metricwise.solvers.loop import State

Arrays = dict[str, NDArray[Any]]


def pack_fields(record: Any, names: Iterable[str]) -> Arrays:
    """Return numbers, texts and arrays of a record as arrays."""
    return {name: np.asarray(getattr(record, name)) for name in names}


def unpack_fields(arrays: Mapping[str, NDArray[Any]], names: Iterable[str]) -> dict[str, Any]:
    """Return the fields that `pack_fields` packed."""
    found = {name: arrays[name] for name in names}
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
    """Return the progress of a training as arrays."""
    entries = np.array([astuple(entry) for entry in state.history], dtype=np.float64)
    entries = entries.reshape(len(state.history), len(fields(HistoryEntry)))
    return {"iteration": np.array(state.iteration), "seconds": np.array(state.seconds), "history": entries}


def set_progress(state: State, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Set the progress of a state from the arrays of `progress_arrays`.

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
    state.history = [
        HistoryEntry(int(iteration), float(seconds), float(objective), float(lower), int(cuts), int(moved))
        for iteration, seconds, objective, lower, cuts, moved in arrays["history"]
    ]
