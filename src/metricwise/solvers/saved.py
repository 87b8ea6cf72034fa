"""States of solvers as arrays, for training that is interrupted and goes on in another process.

Scores are not among them: one product with the rows gives them back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise.results import HistoryEntry

Arrays = dict[str, NDArray[Any]]


def progress_arrays(iteration: int, seconds: float, history: Sequence[HistoryEntry]) -> Arrays:
    """Return how far a training has come.

    Examples
    --------
    >>> arrays = progress_arrays(1, 0.5, [HistoryEntry(1, 0.5, 2.0, 1.0, 3)])
    >>> saved_history(arrays)
    [HistoryEntry(iteration=1, seconds=0.5, objective=2.0, lower=1.0, cuts=3, bytes_moved=0)]
    """
    entries = np.array([astuple(entry) for entry in history], dtype=np.float64).reshape(len(history), -1)
    return {"iteration": np.array(iteration), "seconds": np.array(seconds), "history": entries}


def saved_history(arrays: Mapping[str, NDArray[Any]]) -> list[HistoryEntry]:
    """Return the history that was saved."""
    return [
        HistoryEntry(int(iteration), float(seconds), float(objective), float(lower), int(cuts), int(moved))
        for iteration, seconds, objective, lower, cuts, moved in arrays["history"]
    ]
