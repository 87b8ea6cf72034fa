"""What fits into memory beside stored samples, and what has to be in memory."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from metricwise._typing import Labels
from metricwise.decisions.amounts import is_per_sample
from metricwise.decisions.group_constraints import separate_constraints
from metricwise.designs.cluster.source import DaskSource
from metricwise.estimators.selection.beyond_memory.learners import refuse_own_candidates, refuse_own_labels
from metricwise.estimators.selection.profile import MANY_SAMPLES
from metricwise.measures import get_measure
from metricwise.memory import available_bytes, format_megabytes

# Measured: Python with all libraries of candidates, vectors over all samples beside copies of their labels, and what
# candidates take of the sample that they are compared on, per sample and as a multiple of it.
_LIBRARIES = 480 * 10**6
_BYTES_PER_STORED_SAMPLE = 30
_COPIES_OF_LABELS = 3
_BYTES_PER_SAMPLE = 600
_COPIES = 12
_FEWEST_SAMPLES = 2000


def count_selected(X: Any, y: Labels) -> int:
    """Return how many samples may be brought into memory to compare candidates on.

    Raises
    ------
    ValueError
        If the memory limit leaves room for too few.
    """
    if isinstance(X, DaskSource):
        return min(MANY_SAMPLES, X.most_gathered)
    per_sample = _COPIES * _sample_bytes(X) + _BYTES_PER_SAMPLE
    found = int(find_room(X, y) / per_sample)
    fewest = min(_FEWEST_SAMPLES, X.shape[0])
    if found < fewest:
        needed = X.memory_limit - find_room(X, y) + fewest * per_sample
        raise ValueError(
            f"memory_limit={format_megabytes(X.memory_limit)} leaves no room to compare candidates on {fewest} of the "
            f"{X.shape[0]} samples of {X.path}: give at least memory_limit={format_megabytes(needed)!r}, or train one "
            "classifier that reads them in blocks, such as MultivariateSVC"
        )
    return min(MANY_SAMPLES, found)


def find_room(X: Any, y: Labels) -> float:
    """Return the bytes of memory beside libraries and vectors over all samples, whose labels are y."""
    limit = getattr(X, "memory_limit", None) or available_bytes()
    per_sample = _BYTES_PER_STORED_SAMPLE + _COPIES_OF_LABELS * y.dtype.itemsize
    return float(limit - _LIBRARIES - per_sample * X.shape[0])


def _sample_bytes(X: Any) -> float:
    """Return the bytes of one sample in memory."""
    if not X.is_sparse:
        return float(X.shape[1] * X.dtype.itemsize)
    _, block = next(iter(X.blocks([0])))
    return float(block.nnz * (X.dtype.itemsize + block.indices.itemsize) / block.shape[0])


def refuse_options(model: Any, X: Any, groups: Any, sensitive_features: Any, amounts: Mapping[str, Any]) -> None:
    """Raise a ValueError if a parameter, a candidate or an argument of `fit` needs the samples in memory."""
    found = {"groups": groups, "sensitive_features": sensitive_features, **amounts}
    given = [name for name, value in found.items() if value is not None]
    if model.group_thresholds:
        given.append("group_thresholds")
    if given:
        raise ValueError(f"{given[0]} is for samples in memory: leave it out, or load the samples if they fit")
    if separate_constraints(model.subject_to).by_group:
        raise ValueError("constraints by group are for samples in memory: leave them out, or load the samples")
    if is_per_sample(get_measure(model.measure), amounts):
        raise ValueError(
            "a profit with amounts per sample decides for samples in memory: give amounts that are numbers, or load "
            "the samples if they fit"
        )
    if model.cv is not None and not isinstance(model.cv, Integral):
        raise ValueError(
            f"cv must be a number of folds where samples are not in memory, not {type(model.cv).__name__}: candidates "
            "are compared on a random sample of them"
        )
    if isinstance(model.candidates, dict):
        refuse_own_candidates(model.candidates, "cluster" if isinstance(X, DaskSource) else "disk")


def refuse_labels(model: Any, X: Any, y: Labels) -> None:
    """Raise a ValueError, before candidates are compared, if one of a user cannot be trained on all with labels y."""
    if isinstance(model.candidates, dict) and isinstance(X, DaskSource):
        refuse_own_labels(model.candidates, y)


def refuse_multilabel(y: Any, who: str) -> None:
    """Raise a ValueError if there is more than one column of targets."""
    if np.ndim(y) == 2 and np.shape(y)[1] > 1:
        raise ValueError(
            f"y has {np.shape(y)[1]} columns, and multilabel targets need all samples in memory: train a {who} for "
            "each label, or load the samples if they fit"
        )
