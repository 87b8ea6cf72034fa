"""Folds that follow the content of the samples, and copies of samples merged into weights.

The folds do not depend on the order of the samples. Copies are of two kinds. Where samples were repeated, to weigh them
or to balance the classes, equal samples share a fold: a copy of a training sample would flatter the model, and a sample
of weight two is treated as the same sample twice. Where equal samples occur naturally, as in data with few or coarse
features, new samples will be copies of training samples, too. Folds that keep such copies together would underrate
models that memorise, so there every sample gets a fold of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from metricwise._typing import Floats, Indices, Mask
from metricwise.designs import Design
from metricwise.kernels.random_numbers import STEP, mix

DEFAULT_FOLDS = 5

_FEWEST_DISTINCT = 20  # distinct samples per class below which copies are not analysed
_MORE_OFTEN = 2.0  # factor by which copies may be more frequent in the minority class
_MOST_SINGLE = 0.8  # share of the distinct samples that occur once
_OFTEN = 5.0  # mean occurrences of a sample above which there are few distinct ones

# Equal samples are merged into one with their total weight where that costs nothing, so that a sample of weight two and
# the same sample twice give the same numbers to the last digit. On large data both end within the tolerance, and unit
# weights are faster.
_MOST_SAMPLES_TO_MERGE = 2000


def deal_chunks(n_chunks: int, n_parts: int) -> list[list[int]]:
    """Return the chunks of every part: dealt out in turn, which spreads samples that are stored together.

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
    if _copies_are_natural([np.unique(fingerprints[mask], return_counts=True)[1] for mask in masks]):
        fingerprints = _separate_copies(fingerprints)
    folds = np.zeros(classes.size, dtype=np.int64)
    distinct = [np.unique(fingerprints[mask], return_inverse=True) for mask in masks]
    n_folds = min(n_folds, *(values.size for values, _ in distinct))
    if n_folds < 2:
        return None
    for mask, (_, rank) in zip(masks, distinct, strict=True):
        folds[mask] = rank % n_folds
    return folds


def _copies_are_natural(counts: list[Indices]) -> bool:
    """Whether copies occur naturally, given how often each distinct sample of each class occurs.

    Samples repeated on purpose are minority samples, or most samples. Natural copies are in all classes, and either
    most samples are unique, or there are few distinct ones at all.
    """
    rarest = min(counts, key=lambda count: int(count.sum()))
    shares = [1.0 - count.size / float(count.sum()) for count in counts if count is not rarest]
    if not shares or sum(shares) == 0.0 or min(map(np.size, counts)) < _FEWEST_DISTINCT:
        return False
    others = np.concatenate([count for count in counts if count is not rarest])
    of_rarest = 1.0 - rarest.size / float(rarest.sum())
    few = float(others.mean()) > _OFTEN
    return of_rarest <= _MORE_OFTEN * float(np.mean(shares)) and (few or float(np.mean(others == 1)) > _MOST_SINGLE)


def _separate_copies(fingerprints: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return fingerprints that also differ between the first, second, ... occurrence of equal samples."""
    order = np.argsort(fingerprints, kind="stable")
    ordered = fingerprints[order]
    first = np.append(True, ordered[1:] != ordered[:-1])
    number = np.arange(order.size) - np.flatnonzero(first)[np.cumsum(first) - 1]
    separate = np.empty_like(fingerprints)
    separate[order] = mix(ordered + number.astype(np.uint64) * STEP)
    return separate


def merge_copies(
    design: Design, samples: Indices, positive: Mask, weights: NDArray[np.float64]
) -> tuple[Indices, NDArray[np.float64]]:
    """Return one of each set of equal samples of a class, with their total weight, ordered by content."""
    fingerprints = design.fingerprints()
    order = np.lexsort((fingerprints, positive))
    new = np.append(True, np.diff(fingerprints[order]) != 0) | np.append(True, np.diff(positive[order]))
    first = np.flatnonzero(new)
    return samples[order][first], np.add.reduceat(weights[order], first)


def merge_equal_samples(design: Design, samples: Indices, positive: Mask, weights: Floats) -> tuple[Indices, Floats]:
    """Return samples and their weights, equal ones of a class merged where that costs nothing."""
    are_whole = bool(np.all(weights[samples] == np.floor(weights[samples])))
    if are_whole and samples.size <= _MOST_SAMPLES_TO_MERGE:
        return merge_copies(design.take(samples), samples, positive[samples], weights[samples])
    return samples, weights[samples]


def split_samples(
    cv: Any, design: Design, X: Any, positive: Mask, seed: int
) -> Iterator[tuple[Indices, Indices]] | None:
    """Yield training and held-out samples; None if there are too few samples for folds."""
    if cv is None or isinstance(cv, int | np.integer):
        folds = assign_folds(design, positive, int(cv) if cv is not None else DEFAULT_FOLDS, seed)
        if folds is None:
            return None
        return ((np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(int(folds.max()) + 1))
    splitter = check_cv(cv, positive, classifier=True)
    splits: Iterator[tuple[Indices, Indices]] = splitter.split(X, positive)
    return splits
