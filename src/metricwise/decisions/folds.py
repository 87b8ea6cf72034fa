"""Samples by their content: folds that know copies, and copies merged into weights.

The folds do not depend on the order of the samples. Copies are of two kinds. Where samples were repeated, to weigh them
or to even out the classes, equal samples share a fold: a copy of a training sample would flatter the model, and a
sample of weight two is treated as the same sample twice. Where equal samples occur by themselves, as in data of few or
coarse features, new samples will have copies among the training samples, too, and folds that keep copies together would
show models that learn samples by heart far worse than they are; there every sample goes its own way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from metricwise._typing import Indices, Mask
from metricwise.designs import Design
from metricwise.kernels.random_numbers import STEP, mix

DEFAULT_FOLDS = 5

_FEWEST_DISTINCT = 20  # samples of every class, without which nothing is said about copies
_MORE_OFTEN = 2.0  # times that copies may be found more often in the rarest class
_MOST_SINGLE = 0.8  # share of the distinct samples that occur once
_OFTEN = 5.0  # occurrences of a sample, on average, where there are few different ones


def deal_chunks(n_chunks: int, n_parts: int) -> list[list[int]]:
    """Return the chunks of every part: dealt out in turn, so that samples that were stored together are spread.

    Examples
    --------
    >>> deal_chunks(5, 2)
    [[0, 2, 4], [1, 3]]
    >>> deal_chunks(2, 8)
    [[0], [1]]
    """
    return [list(range(first, n_chunks, n_parts)) for first in range(min(n_parts, n_chunks))]


def assign_folds(
    design: Design, classes: NDArray[np.bool_] | NDArray[np.int64], n_folds: int, seed: int
) -> NDArray[np.int64] | None:
    """Return a stratified fold for every sample; None if a class has fewer than two distinct samples."""
    masks = [classes == label for label in np.unique(classes)]
    fingerprints = design.fingerprints(seed)
    if _occur_by_themselves([np.unique(fingerprints[mask], return_counts=True)[1] for mask in masks]):
        fingerprints = _told_apart(fingerprints)
    folds = np.zeros(classes.size, dtype=np.int64)
    distinct = [np.unique(fingerprints[mask], return_inverse=True) for mask in masks]
    n_folds = min(n_folds, *(values.size for values, _ in distinct))
    if n_folds < 2:
        return None
    for mask, (_, rank) in zip(masks, distinct, strict=True):
        folds[mask] = rank % n_folds
    return folds


def _occur_by_themselves(counts: list[Indices]) -> bool:
    """Whether copies are of the data's making, given how often each distinct sample of each class occurs.

    Repeated samples are samples of the rarest class, or most samples. Those that occur by themselves are of all
    classes, and either most samples are single, or there are few different ones at all.
    """
    rarest = min(counts, key=lambda count: int(count.sum()))
    shares = [1.0 - count.size / float(count.sum()) for count in counts if count is not rarest]
    if not shares or sum(shares) == 0.0 or min(map(np.size, counts)) < _FEWEST_DISTINCT:
        return False
    others = np.concatenate([count for count in counts if count is not rarest])
    of_rarest = 1.0 - rarest.size / float(rarest.sum())
    few = float(others.mean()) > _OFTEN
    return of_rarest <= _MORE_OFTEN * float(np.mean(shares)) and (few or float(np.mean(others == 1)) > _MOST_SINGLE)


def _told_apart(fingerprints: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return fingerprints that also differ between the first, second, ... occurrence of equal samples."""
    order = np.argsort(fingerprints, kind="stable")
    ordered = fingerprints[order]
    first = np.append(True, ordered[1:] != ordered[:-1])
    number = np.arange(order.size) - np.flatnonzero(first)[np.cumsum(first) - 1]
    told = np.empty_like(fingerprints)
    told[order] = mix(ordered + number.astype(np.uint64) * STEP)
    return told


def merge_copies(
    design: Design, rows: Indices, positive: Mask, weights: NDArray[np.float64]
) -> tuple[Indices, NDArray[np.float64]]:
    """Return one of each set of equal samples of a class, with their total weight, ordered by content."""
    fingerprints = design.fingerprints()
    order = np.lexsort((fingerprints, positive))
    new = np.append(True, np.diff(fingerprints[order]) != 0) | np.append(True, np.diff(positive[order]))
    first = np.flatnonzero(new)
    return rows[order][first], np.add.reduceat(weights[order], first)


def split_samples(
    cv: Any, design: Design, X: Any, positive: Mask, seed: int
) -> Iterator[tuple[Indices, Indices]] | None:
    """Yield training and held-out samples; None if the data are too few to be divided."""
    if cv is None or isinstance(cv, int | np.integer):
        folds = assign_folds(design, positive, int(cv) if cv is not None else DEFAULT_FOLDS, seed)
        if folds is None:
            return None
        return ((np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(int(folds.max()) + 1))
    splitter = check_cv(cv, positive, classifier=True)
    splits: Iterator[tuple[Indices, Indices]] = splitter.split(X, positive)
    return splits
