"""States of solvers as arrays, for training that is interrupted and goes on in another process.

Scores are not among them: one product with the samples gives them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise.results import HistoryEntry
from metricwise.solvers.loop import State

Arrays = dict[str, NDArray[Any]]


def progress_arrays(state: State) -> Arrays:
    """Return how far a training has come."""
    entries = np.array([astuple(entry) for entry in state.history], dtype=np.float64).reshape(len(state.history), -1)
    return {"iteration": np.array(state.iteration), "seconds": np.array(state.seconds), "history": entries}


def set_progress(state: State, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Let a state be as far as `progress_arrays` says.

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
