"""Which column of a table is the label, which the weight, and which are features."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

# The numbers the compiled parser has for them, which tables that need no parser do without loading.
TARGET, WEIGHT = -1, -2


def find_column(path: str, argument: str, which: str | int, names: Sequence[str] | None, count: int) -> int:
    """Return the position of a column given by name or position.

    Examples
    --------
    >>> find_column("train.csv", "target", "label", ["age", "label"], 2)
    1
    >>> find_column("train.csv", "target", "lable", ["age", "label"], 2)
    Traceback (most recent call last):
    ValueError: train.csv has no column 'lable' for target: did you mean 'label'?
    """
    if not isinstance(which, str):
        if not -count <= which < count:
            raise ValueError(f"{path} has {count} columns, so {argument}={which} is none of them")
        return which % count
    if names is None:
        raise ValueError(f"{path} has no line of column names: give {argument} by position, or pass has_header=True")
    if list(names).count(which) > 1:
        raise ValueError(f"{path} has more than one column {which!r}: give {argument} by position")
    if which not in names:
        close = get_close_matches(which, names)
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"its columns are {_listed(names)}"
        raise ValueError(f"{path} has no column {which!r} for {argument}: {hint}")
    return list(names).index(which)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return shown + (", ..." if len(names) > 10 else "")


def roles_of(
    path: str,
    names: Sequence[str] | None,
    count: int,
    target: str | int | None,
    weight: str | int | None,
    n_features: int | None,
    labelled: bool = True,
) -> NDArray[np.int64]:
    """Return for every column its position among the features, or that it is the label or the weight.

    A table that is not ``labelled`` has no label.

    Examples
    --------
    >>> roles_of("train.csv", ["age", "w", "label"], 3, target=None, weight="w", n_features=None)
    array([ 0, -2, -1])
    """
    roles = np.zeros(count, dtype=np.int64)
    if labelled:
        roles[find_column(path, "target", -1 if target is None else target, names, count)] = TARGET
    elif target is not None:
        raise ValueError(f"labelled=False says that {path} has no labels, and target={target!r} where: leave one out")
    if weight is not None:
        at = find_column(path, "weight", weight, names, count)
        if roles[at] == TARGET:
            raise ValueError(f"{path}: target and weight are the same column: name the target, or another weight")
        roles[at] = WEIGHT
    features = np.flatnonzero(roles == 0)
    if not features.size:
        raise ValueError(f"{path} has no columns left for features: it has {count} in all")
    if n_features is not None and n_features != features.size:
        raise ValueError(f"{path} has {features.size} columns of features, not n_features={n_features}")
    roles[features] = np.arange(features.size)
    return roles
