"""Equal samples: those that were repeated, and those that occur naturally.

Copies of a sample are of two kinds. Where samples were repeated, to weigh them or to balance the classes, a copy of a
training sample would flatter the model, and copies say nothing that one of them does not. Where equal samples occur
naturally, as in data with few or coarse features, new samples will be copies of training samples, too, and each is an
observation of its own.
"""

from __future__ import annotations

import numpy as np

from metricwise._typing import Hashes, Indices, Integers, Mask
from metricwise.designs import Design
from metricwise.kernels.random_numbers import STEP, mix

_FEWEST_DISTINCT = 20  # distinct samples per class below which only their number of copies is considered
_MORE_OFTEN = 2.0  # factor by which copies may be more frequent in the minority class
_MOST_SINGLE = 0.8  # share of the distinct samples that occur once
_OFTEN = 5.0  # mean occurrences of a sample above which there are few distinct ones
_CONTESTED = 0.2  # share of the copies that have other labels than their like
_BALANCED = 1.25  # factor between the sizes of classes that are about as large

NO_COUNTS: Indices = np.zeros(0, dtype=np.int64)


def identify_samples(design: Design, classes: Mask | Integers, seed: int) -> Hashes:
    """Return a number for every sample, equal for copies that were repeated; natural copies have different ones.

    Parameters
    ----------
    design : Design
        The samples.
    classes : array
        The class of each; copies are samples of one class.
    seed : int
        Seeds the numbers.
    """
    fingerprints = design.fingerprints(seed)
    distinct = [np.unique(fingerprints[classes == label], return_counts=True) for label in np.unique(classes)]
    if _copies_are_natural([counts for _, counts in distinct]) or _are_contested(distinct):
        return _separate_copies(fingerprints)
    return fingerprints


def _copies_are_natural(counts: list[Indices]) -> bool:
    """Whether copies occur naturally, given how often each distinct sample of each class occurs.

    Samples repeated on purpose are minority samples, or most samples. Natural copies are in all classes, and either
    most samples are unique, or there are few distinct ones at all, as of one feature with a dozen values.
    """
    majority = _find_majority(counts)
    others = np.concatenate([count for count in counts if count is not majority] or [NO_COUNTS])
    if not others.size or majority.max() == 1:
        return False
    if min(map(np.size, counts)) < _FEWEST_DISTINCT:
        return all(float(count.mean()) > _OFTEN for count in counts)
    is_few, are_single = float(majority.mean()) > _OFTEN, float(np.mean(majority == 1)) > _MOST_SINGLE
    return _share_copies(others) <= _MORE_OFTEN * _share_copies(majority) and (is_few or are_single)


def _are_contested(distinct: list[tuple[Hashes, Indices]]) -> bool:
    """Whether copies often have other labels than their like, given the distinct samples of each class.

    Repeating a sample repeats its label, and where equal samples have several labels, they occur naturally.
    """
    every, counts = (np.concatenate(parts) for parts in zip(*distinct, strict=True))
    values, n_classes = np.unique(every, return_counts=True)
    is_contested = n_classes[np.searchsorted(values, every)] > 1
    copied = counts > 1
    return bool(counts[copied & is_contested].sum() > _CONTESTED * counts[copied].sum())


def _find_majority(counts: list[Indices]) -> Indices:
    """Return the counts of the largest class; of classes about as large, that with the most distinct samples.

    Minority samples that were repeated until the classes were balanced would else pass for those of the majority.
    """
    most = max(int(count.sum()) for count in counts)
    return max((count for count in counts if count.sum() * _BALANCED >= most), key=np.size)


def _share_copies(count: Indices) -> float:
    """Return the share of samples that are copies of others."""
    return 1.0 - count.size / float(count.sum())


def _separate_copies(fingerprints: Hashes) -> Hashes:
    """Return fingerprints that also differ between the first, second, ... occurrence of equal samples."""
    order = np.argsort(fingerprints, kind="stable")
    ordered = fingerprints[order]
    first = np.append(True, ordered[1:] != ordered[:-1])
    number = np.arange(order.size) - np.flatnonzero(first)[np.cumsum(first) - 1]
    separate = np.empty_like(fingerprints)
    separate[order] = mix(ordered + number.astype(np.uint64) * STEP)
    return separate
