"""Rows by their content: folds that keep copies together, and copies merged into weights.

Equal rows share a fold, so a copy of a training row never waits among the held-out ones, where it would flatter the
model. The folds do not depend on the order of the rows, and a row of weight two is treated as the same row twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from metricwise.designs import Design

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
DEFAULT_FOLDS = 5


def fold_of_rows(
    design: Design, classes: NDArray[np.bool_] | NDArray[np.int64], n_folds: int, seed: int
) -> NDArray[np.int64] | None:
    """Return a fold for every row, all classes spread evenly; None if a class has fewer than two distinct rows."""
    fingerprints = design.fingerprints(seed)
    folds = np.zeros(classes.size, dtype=np.int64)
    masks = [classes == label for label in np.unique(classes)]
    distinct = [np.unique(fingerprints[mask], return_inverse=True) for mask in masks]
    n_folds = min(n_folds, *(values.size for values, _ in distinct))
    if n_folds < 2:
        return None
    for mask, (_, rank) in zip(masks, distinct, strict=True):
        folds[mask] = rank % n_folds
    return folds


def merge_copies(
    design: Design, rows: Rows, positive: Mask, weights: NDArray[np.float64]
) -> tuple[Rows, NDArray[np.float64]]:
    """Return one of each set of equal rows of a class, with the weight of all of them, in an order given by content."""
    fingerprints = design.fingerprints()
    order = np.lexsort((fingerprints, positive))
    new = np.append(True, np.diff(fingerprints[order]) != 0) | np.append(True, np.diff(positive[order]))
    first = np.flatnonzero(new)
    return rows[order][first], np.add.reduceat(weights[order], first)


def split_rows(cv: Any, design: Design, X: Any, positive: Mask, seed: int) -> Iterator[tuple[Rows, Rows]] | None:
    """Yield training and held-out rows; None if the data are too few to be divided."""
    if cv is None or isinstance(cv, int | np.integer):
        folds = fold_of_rows(design, positive, int(cv) if cv is not None else DEFAULT_FOLDS, seed)
        if folds is None:
            return None
        return ((np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(int(folds.max()) + 1))
    splitter = check_cv(cv, positive, classifier=True)
    splits: Iterator[tuple[Rows, Rows]] = splitter.split(X, positive)
    return splits
