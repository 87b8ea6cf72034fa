"""The groups of samples that constraints are on: the values of a column, such as those of a region.

They are columns of X, or given beside it as ``sensitive_features``. These groups have nothing to do with ``groups`` of
`metricwise.decisions.groups`, samples that folds must not divide.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Integers, Labels, Mask
from metricwise.decisions.groups import find_missing
from metricwise.measures.checks import as_array

_MOST_NAMED = 5  # groups in a message
GroupName = str | bool | int | float


@stored_fields(version=1)
@dataclass(frozen=True)
class GroupColumn:
    """A column and the groups that it had in training.

    Attributes
    ----------
    name : str
        Name of the column.
    groups : tuple
        Its distinct values in ascending order: numbers, or texts.
    """

    name: str
    groups: tuple[GroupName, ...]

    @classmethod
    def of(cls, name: str, values: Labels) -> GroupColumn:
        """Return the column with the distinct values that it has."""
        return cls(name, tuple(np.unique(values).tolist()))

    def encode(self, values: Labels) -> Integers:
        """Return the number of the group of every sample, -1 for one that was not seen in training.

        Examples
        --------
        >>> import numpy as np
        >>> GroupColumn("region", ("north", "south")).encode(np.array(["south", "east"]))
        array([ 1, -1])
        """
        distinct, codes = np.unique(values, return_inverse=True)
        places = {group: number for number, group in enumerate(self.groups)}
        numbers = np.array([places.get(value, -1) for value in distinct.tolist()], dtype=np.int64)
        return numbers[codes.ravel()]


def is_column_given(name: str, X: Any, sensitive_features: Any) -> bool:
    """Return whether the groups of samples are given, as metadata or as a column of X."""
    return sensitive_features is not None or name in (_column_names(X) or [])


def read_column(name: str, X: Any, sensitive_features: Any, n_samples: int, may_be_missing: bool = False) -> Labels:
    """Return the group of every sample: from the samples' metadata if given, else from a column of X.

    Parameters
    ----------
    name : str
        The column that a constraint names.
    X : samples
        A data frame if the column is one of its columns.
    sensitive_features : data frame, dict, array or None
        Columns by name, or the only one.
    n_samples : int
        Number of samples of X.
    may_be_missing : bool
        Whether values may be missing; they are then texts.

    Returns
    -------
    array of numbers or texts

    Raises
    ------
    ValueError
        If there is no such column, it has another length, or values are missing.

    Examples
    --------
    >>> read_column("region", None, ["north", "south"], 2)
    array(['north', 'south'], dtype='<U5')
    """
    column = _find_column(name, X, sensitive_features)
    values = as_array(column, f"{name!r} of sensitive_features")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_samples,):
        raise ValueError(
            f"sensitive_features must have one entry of {name!r} for each of the {n_samples} samples of X, got an "
            f"array of shape {values.shape}; give several columns as a data frame or a dictionary"
        )
    missing = find_missing(values)
    if missing.size and not may_be_missing:
        raise ValueError(
            f"the group {name!r} is missing for {missing.size} samples, the first at position {missing[0]}: fill it in "
            "with a value of its own, or leave these samples out"
        )
    is_number = values.dtype.kind in "biuf" and not missing.size
    return values if is_number else values.astype(np.str_)


def _find_column(name: str, X: Any, given: Any) -> Any:
    if given is not None:
        names = _column_names(given)
        if names is None:  # an array without a name is the only column
            return given
        if name in names:
            return given[name]
        raise ValueError(f"sensitive_features has no column {name!r}, which groups are by; it has {_quote(names)}")
    names = _column_names(X)
    if names is not None and name in names:
        return X[name]
    where = "X has no column names" if names is None else f"X has no column {name!r}"
    raise ValueError(
        f"groups are by {name!r}, but {where}: name a column of a data frame, or give the group of every sample as "
        "sensitive_features"
    )


def _column_names(table: Any) -> list[Any] | None:
    if isinstance(table, dict):
        return list(table)
    columns = getattr(table, "columns", None)
    return None if columns is None else list(columns)


def find_columns(names: Iterable[str], X: Any, sensitive_features: Any, n_samples: int) -> list[tuple[str, Labels]]:
    """Return the columns that constraints name, each once, with the groups of the samples.

    Raises
    ------
    ValueError
        If one cannot be read, or has fewer than two groups.
    """
    distinct = list(dict.fromkeys(names))
    if len(distinct) > 1 and sensitive_features is not None and _column_names(sensitive_features) is None:
        raise ValueError(
            f"constraints are by {_quote(distinct)}, but sensitive_features is a single column: give a data frame or a "
            "dictionary with these columns"
        )
    found = [(name, read_column(name, X, sensitive_features, n_samples)) for name in distinct]
    for name, values in found:
        if np.unique(values).size < 2:
            raise ValueError(f"all samples have the same {name!r}: leave the constraint by {name!r} out")
    return found


def warn_unseen(column: GroupColumn, values: Labels, unseen: Mask) -> None:
    """Warn that a guarantee says nothing about samples of groups that were not seen in training."""
    if unseen.any():
        warnings.warn(
            f"{np.count_nonzero(unseen)} samples have a {column.name!r} that was not seen in training "
            f"({_quote(np.unique(values[unseen]).tolist())}): the shared threshold is used for them, but constraints "
            f"by {column.name!r} say nothing about them",
            UserWarning,
            stacklevel=4,
        )


def refuse_unseen(column: GroupColumn, values: Labels, unseen: Mask) -> None:
    """Raise if a sample's group has no threshold."""
    if unseen.any():
        raise ValueError(
            f"{np.count_nonzero(unseen)} samples have a {column.name!r} that was not seen in training "
            f"({_quote(np.unique(values[unseen]).tolist())}), so that there is no threshold for them; known are "
            f"{_quote(column.groups)}. Train again with samples of these groups, or with group_thresholds=False"
        )


def _quote(names: Iterable[Any]) -> str:
    listed = list(names)
    shown = ", ".join(map(repr, listed[:_MOST_NAMED]))
    return shown if len(listed) <= _MOST_NAMED else f"{shown} and {len(listed) - _MOST_NAMED} more"
