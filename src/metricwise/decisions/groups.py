"""Groups of samples that belong together, such as those of one patient: they are never divided.

Samples of a group are alike, so a model that has seen some of them is flattered by the others. Folds, halves, subsets
and held-out samples therefore consist of whole groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils.validation import column_or_1d

from metricwise._typing import Indices, Integers, Labels, Mask
from metricwise.measures.checks import as_array

_MOST_GROUPS_TO_BALANCE = 5000  # beyond, StratifiedGroupKFold takes seconds and groups even out anyway
_FEWEST_GROUPS = 3  # of every class in a subset, so that folds can be made of it


def validate_groups(groups: Any, n_samples: int) -> Integers | None:
    """Return the number of the group of every sample, groups in sorted order; None if there are none.

    Raises
    ------
    ValueError
        If there is not one group per sample, a group is missing, or all samples are in one.

    Examples
    --------
    >>> validate_groups(["b", "a", "b"], 3)
    array([1, 0, 1])
    """
    if groups is None:
        return None
    names = column_or_1d(as_array(groups, "groups"), warn=True)
    if names.size != n_samples:
        raise ValueError(f"groups has {names.size} entries for {n_samples} samples: give the group of every sample")
    missing = find_missing(names)
    if missing.size:
        raise ValueError(
            f"groups is missing for {missing.size} samples, the first at position {missing[0]}: fill it in (a value of "
            "its own for a sample that belongs to no other), or leave these samples out"
        )
    if names.dtype == object:
        names = names.astype(np.str_)  # mixed types cannot be sorted
    distinct, codes = np.unique(names, return_inverse=True)
    if distinct.size < 2:
        raise ValueError(
            "all samples are in one group, so that none are left to test a model on: give two groups or more, or leave "
            "groups out"
        )
    return codes.astype(np.int64).ravel()


def find_missing(values: Labels) -> Indices:
    """Return the positions of missing values: None, NaN, NaT and the missing value of pandas.

    Examples
    --------
    >>> find_missing(np.array(["a", None], dtype=object)), find_missing(np.array([np.nan, 1.0]))
    (array([1]), array([0]))
    """
    if values.dtype == object:
        return np.flatnonzero([_is_missing(value) for value in values])
    return np.flatnonzero(values != values)


def _is_missing(value: Any) -> bool:
    is_itself = value == value  # False for NaN; neither True nor False for the missing value of pandas
    return value is None or not isinstance(is_itself, bool | np.bool_) or not is_itself


def assign_group_folds(groups: Integers, classes: Mask | Integers, n_folds: int, seed: int) -> Integers | None:
    """Return a fold for every sample, of whole groups with all classes in training; None if there are no two.

    Classes are balanced between folds as far as groups allow.

    Parameters
    ----------
    groups, classes : arrays of int
        The group and the class of every sample.
    n_folds : int
        Most folds.
    seed : int
        Seeds the order of the groups.

    Examples
    --------
    >>> import numpy as np
    >>> groups = np.repeat(np.arange(6), 2)
    >>> folds = assign_group_folds(groups, np.repeat([0, 1], 6), 3, seed=0)
    >>> [np.unique(folds[groups == number]).size for number in range(6)]
    [1, 1, 1, 1, 1, 1]
    """
    groups, codes = (np.unique(part, return_inverse=True)[1].ravel() for part in (groups, classes))
    members = count_members(groups, codes)
    most = min(n_folds, *(int(count) for count in np.count_nonzero(members, axis=0)))
    for count in range(most, 1, -1):
        fold_of_group = _balance(members, count, seed)
        inside = np.array([members[fold_of_group == k].sum(axis=0) for k in range(count)])
        if np.all(inside.sum(axis=0) > inside) and np.all(inside.sum(axis=1) > 0):
            return fold_of_group[groups]
    return None


def count_members(groups: Integers, codes: Integers) -> Integers:
    """Return the number of samples by group and class."""
    size, n_groups = int(codes.max()) + 1, int(groups.max()) + 1
    return np.bincount(groups * size + codes, minlength=n_groups * size).reshape(n_groups, size)


def _balance(members: Integers, n_folds: int, seed: int) -> Integers:
    """Return the fold of every group."""
    folds = np.zeros(len(members), dtype=np.int64)
    if len(members) > _MOST_GROUPS_TO_BALANCE:
        random = np.random.default_rng((seed, 7))
        folds[np.lexsort((random.uniform(size=len(members)), _kinds(members)))] = np.arange(len(members)) % n_folds
        return folds
    groups, codes = (np.repeat(index, members.ravel()) for index in np.indices(members.shape).reshape(2, -1))
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed % 2**32)
    for fold, (_, test) in enumerate(splitter.split(codes, codes, groups)):
        folds[groups[test]] = fold
    return folds


def _kinds(members: Integers) -> Integers:
    """Return the kind of every group: the place of its rarest class in the order of rarity."""
    rarity = np.argsort(np.count_nonzero(members, axis=0), kind="stable")
    kinds: Integers = np.argmax(members[:, rarity] > 0, axis=1)
    return kinds


def _order_by_kind(members: Integers, seed: int) -> Indices:
    """Return groups in a random order in which all kinds are evenly spread."""
    random, kinds = np.random.default_rng((seed, 7)), _kinds(members)
    place = np.empty(len(members))
    for kind in np.unique(kinds):
        own = random.permutation(np.flatnonzero(kinds == kind))
        place[own] = (np.arange(own.size) + random.uniform(size=own.size)) / own.size
    order: Indices = np.argsort(place, kind="stable")
    return order


def draw_whole_groups(groups: Integers, codes: Integers, size: int, seed: int) -> Indices:
    """Return the samples of random groups, at least ``size`` samples; larger subsets contain smaller ones.

    Every class is in three groups or more, if there are so many.
    """
    members = count_members(groups, codes)
    order = _order_by_kind(members, seed)
    drawn = members[order]
    wanted = np.minimum(np.count_nonzero(members, axis=0), _FEWEST_GROUPS)
    is_enough = (np.cumsum(drawn.sum(axis=1)) >= size) & np.all(np.cumsum(drawn > 0, axis=0) >= wanted, axis=1)
    kept = order[: int(np.argmax(is_enough)) + 1]
    return np.flatnonzero(np.isin(groups, kept))


def draw_one_per_group(groups: Integers, seed: int) -> Indices:
    """Return one random sample of every group, in order.

    Examples
    --------
    >>> import numpy as np
    >>> draw_one_per_group(np.array([0, 1, 2]), seed=0)
    array([0, 1, 2])
    """
    order = np.random.default_rng((seed, 13)).permutation(groups.size)
    first = np.unique(groups[order], return_index=True)[1]
    return np.sort(order[first])
