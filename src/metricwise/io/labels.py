"""Labels, groups and weights of the rows of a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats
from metricwise.io.columns import Content, restore_integers
from metricwise.io.errors import MalformedLineError
from metricwise.io.roles import Roles
from metricwise.memory import format_megabytes

ENDS_WITH_NUL = "found a text that ends with a NUL byte, which arrays of texts drop: remove it"
_INEXACT = 2.0**53  # from which on neighbouring whole numbers are one number in double precision
_LARGEST_ARRAY = 2**27  # bytes of texts, whatever their lengths
_MOST_PADDING = 100  # times the length of all texts together


def refuse_inexact(where: str, y: NDArray[Any]) -> None:
    """Raise a ValueError if labels are numbers so large that different ones may have become equal."""
    if y.dtype.kind == "f" and y.size and (largest := float(np.abs(y).max())) >= _INEXACT:
        raise ValueError(f"{where}: {_explain_inexact(largest)}")


def restore_labels(where: str, y: NDArray[Any]) -> NDArray[Any]:
    """Return labels as integers if all of them are whole numbers; raise if some are too large to be exact."""
    refuse_inexact(where, y)
    return restore_integers(y)


def make_text_labels(path: str, texts: NDArray[Any], first_row: int = 0) -> NDArray[np.str_]:
    """Return labels as an array of texts, which takes the space of the longest in every row; raise if that is too much.

    Parameters
    ----------
    path : str
        The file, for messages.
    texts : ndarray of shape (n_rows,)
        The labels as objects.
    first_row : int, default=0
        How many rows of the file come before.

    Examples
    --------
    >>> make_text_labels("train.csv", np.array(["yes", "no"], dtype=object))
    array(['yes', 'no'], dtype='<U3')
    """
    lengths = np.fromiter(map(len, texts.tolist()), dtype=np.int64, count=texts.size)
    longest = int(lengths.max(initial=0))
    size = texts.size * longest * np.dtype("U1").itemsize
    if size > _LARGEST_ARRAY and texts.size * longest > _MOST_PADDING * int(lengths.sum()):
        raise ValueError(
            f"{path}, row {first_row + int(lengths.argmax()) + 1}: found a label of {longest:,} characters, and all "
            f"labels would take as much space, {format_megabytes(size)} together: shorten it, or name another target"
        )
    return texts.astype(np.str_)


def _explain_inexact(value: float) -> str:
    return (
        f"found about {value:.17g} for a label or group, and whole numbers from 2**53 on are merged with their "
        "neighbours: write such values as text, for instance with a letter in front"
    )


def read_labels(path: str, roles: Roles, content: Content) -> NDArray[Any] | None:
    """Return the labels, zeros and ones for several targets; None without a target."""
    if not roles.targets:
        return None
    for number, name in zip(roles.targets, roles.target_names, strict=True):
        field = content.fields[number]
        _refuse_missing(path, content, number, f"the target {name!r} is missing: fill it in or leave the row out")
        wrong = np.arange(1) if field.is_text else np.flatnonzero((field.values != 0.0) & (field.values != 1.0))
        if len(roles.targets) > 1 and wrong.size:
            found = field.objects()[wrong[:1]].tolist()[0]
            problem = f"found {found!r} for {name!r}: several targets must hold zeros and ones"
            raise MalformedLineError(path, *content.locate(int(wrong[0]), number), problem)
    fields = [content.fields[number] for number in roles.targets]
    if len(fields) > 1:
        return np.column_stack([field.values for field in fields]).astype(np.int64)
    _refuse_merged(path, content, roles.targets[0])
    if fields[0].is_text:
        return make_text_labels(path, fields[0].objects())
    return restore_integers(fields[0].values.copy())


def read_groups(path: str, content: Content, number: int) -> NDArray[Any]:
    """Return the groups."""
    problem = "the group is missing: fill it in (a value of its own for a row that belongs to no other)"
    _refuse_missing(path, content, number, problem)
    _refuse_merged(path, content, number)
    return content.fields[number].values.copy()


def read_weights(path: str, content: Content, number: int) -> Floats:
    """Return the weights."""
    field = content.fields[number]
    wrong = np.zeros(1, dtype=np.int64) if field.is_text else np.flatnonzero(~(field.values >= 0.0))
    if wrong.size:
        problem = "a weight must be a number, not negative: correct it, or name another column as weight"
        raise MalformedLineError(path, *content.locate(int(wrong[0]), number), problem)
    return field.values.copy()


def _refuse_missing(path: str, content: Content, number: int, problem: str) -> None:
    missing = np.flatnonzero(content.fields[number].missing)
    if missing.size:
        raise MalformedLineError(path, *content.locate(int(missing[0]), number), problem)


def _refuse_merged(path: str, content: Content, number: int) -> None:
    """Raise if different entries of a column would become equal labels or groups."""
    field = content.fields[number]
    if field.categories is None:
        wrong = np.flatnonzero(np.abs(field.values) >= _INEXACT)
        problem = _explain_inexact(float(field.values[wrong[0]])) if wrong.size else ""
    else:
        ends = np.array([*(text.endswith("\0") for text in field.categories), False])
        wrong, problem = np.flatnonzero(ends[field.values]), ENDS_WITH_NUL
    if wrong.size:
        raise MalformedLineError(path, *content.locate(int(wrong[0]), number), problem)
