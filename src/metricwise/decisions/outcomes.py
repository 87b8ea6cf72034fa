"""Validate outcomes: labels of samples beside the labels that were predicted, in the order of their arrival."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats, Labels, Mask
from metricwise.decisions.groups import find_missing
from metricwise.decisions.targets import names_positive_class
from metricwise.measures.checks import as_array

Position = int | float | str


class Classes(NamedTuple):
    """The two labels of outcomes, as far as they are known, and which of them is positive."""

    labels: tuple[Any, ...]
    positive: Any

    @classmethod
    def unknown(cls) -> Classes:
        """Return the classes before a label is known that is not 1: 0 and 1, -1 and 1, or booleans."""
        return cls((1,), 1)


def encode_outcomes(y_true: Any, y_pred: Any, classes: Classes) -> tuple[Mask, Mask, Classes]:
    """Return which samples are positive, which are predicted positive, and the classes known from now on.

    Raises
    ------
    ValueError
        If a label is missing or unknown, or if there are more labels of one kind than of the other.

    Examples
    --------
    >>> encode_outcomes([1, 0], [1, 1], Classes.unknown())
    (array([ True, False]), array([ True,  True]), Classes(labels=(0, 1), positive=1))
    """
    given = {"y_true": as_column(y_true, "y_true"), "y_pred": as_column(y_pred, "y_pred")}
    sizes = [column.size for column in given.values()]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"y_true has {sizes[0]} labels and y_pred has {sizes[1]}: give the true and the predicted label of each "
            "outcome"
        )
    if len(classes.labels) < 2:
        classes = _recognise(given, classes)
    for name, column in given.items():
        _refuse_unknown(name, column, classes)
    truth, predicted = (np.asarray(column == classes.positive, dtype=np.bool_) for column in given.values())
    return truth, predicted, classes


def leave_out_reviews(y_true: Any, y_pred: Any, review: list[Any]) -> tuple[Any, Any, int]:
    """Return outcomes without those that were sent to review, which have no predicted label, and how many there were.

    Parameters
    ----------
    y_true, y_pred : label or column of them
        True and predicted labels.
    review : list
        The label of reviews; empty if there are none.

    Examples
    --------
    >>> leave_out_reviews([1, 0, 0], [1, -1, 0], [-1])
    (array([1, 0]), array([1, 0]), 3)
    """
    truth, predicted = as_column(y_true, "y_true"), as_column(y_pred, "y_pred")
    if not review or truth.size != predicted.size:
        return truth, predicted, truth.size
    is_decided = np.array([label != review[0] for label in predicted.tolist()], dtype=np.bool_)
    return truth[is_decided], predicted[is_decided], truth.size


def as_column(values: Any, name: str) -> Labels:
    """Return one value or a column of them as an array; ValueError if a value is missing.

    Examples
    --------
    >>> as_column(1, "y_true")
    array([1])
    """
    column = as_array(values, name)
    if column.ndim > 1:
        raise ValueError(f"{name} must be one label or a column of them, got an array of shape {column.shape}")
    column = np.atleast_1d(column)
    other = [value for value in column.tolist() if not isinstance(value, Hashable)] if column.dtype == object else []
    if other:
        raise ValueError(f"{name} must be one label or a column of them, got a {type(other[0]).__name__}")
    missing = find_missing(column) if column.dtype.kind in "Ofc" else np.array([], dtype=np.int64)
    if missing.size:
        raise ValueError(
            f"{name} is missing for {missing.size} of {column.size} outcomes, the first at position {missing[0]}: give "
            "outcomes when they are known, and leave out those that are not"
        )
    return column


def as_scores(values: Any, n_outcomes: int | None, n_classes: int | None = None) -> Floats:
    """Return scores as an array; ValueError if they are no numbers, or not one per outcome.

    Parameters
    ----------
    values : float or array
        Scores of one or more samples.
    n_outcomes : int or None
        Number of samples, if it is known.
    n_classes : int or None
        Number of scores of a sample, of several classes or labels; None for one.

    Examples
    --------
    >>> as_scores([0.5, -1.0, 2.0], 1, n_classes=3)
    array([[ 0.5, -1. ,  2. ]])
    """
    try:
        given = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("scores must be numbers, those of decision_function") from error
    scores: Floats = as_column(given, "scores") if n_classes is None else _as_rows(given, n_classes)
    if n_outcomes is not None and len(scores) != n_outcomes:
        raise ValueError(f"there are {len(scores)} scores and {n_outcomes} outcomes: give the score of each outcome")
    return scores


def _as_rows(scores: Floats, n_classes: int) -> Floats:
    """Return a row of scores per sample; ValueError if there is not one for each class or label."""
    rows: Floats = np.atleast_2d(scores)
    if rows.ndim != 2 or rows.shape[1] != n_classes:
        raise ValueError(
            f"scores have the shape {scores.shape}: give {n_classes} for each outcome, one per class or label, as "
            "decision_function does"
        )
    missing = np.flatnonzero(np.isnan(rows).any(axis=1))
    if missing.size:
        raise ValueError(
            f"scores are missing for {missing.size} of {len(rows)} outcomes, the first at position {missing[0]}"
        )
    return rows


def check_order(order: Any, n_outcomes: int, last: Position | None) -> Position | None:
    """Return the last position of a batch; ValueError if positions descend, or do not follow those seen before.

    Parameters
    ----------
    order : number, text, date, or a column of them
        Positions of outcomes, such as times or ascending numbers. Texts are compared letter by letter.
    n_outcomes : int
        Number of outcomes.
    last : number, text or None
        The last position seen before.

    Examples
    --------
    >>> check_order(["2026-01-30", "2026-01-31"], 2, "2026-01-29")
    '2026-01-31'
    >>> check_order([3, 4], 2, 3)
    Traceback (most recent call last):
        ...
    ValueError: outcomes up to 3 have been seen, and this batch starts at 3: give only outcomes that follow, in order
    """
    column = as_column(order, "order")
    if column.size != n_outcomes:
        raise ValueError(f"order has {column.size} entries for {n_outcomes} outcomes: give one for each")
    if column.dtype.kind == "M":
        column = np.datetime_as_string(column, unit="ns")
    positions = column.tolist()
    if not all(isinstance(one, str) for one in positions) and not all(_is_number(one) for one in positions):
        raise ValueError("order must be numbers, dates or texts, one kind for all outcomes")
    for number, (before, after) in enumerate(pairwise(positions), start=1):
        if after < before:
            raise ValueError(
                f"outcomes are out of order: {after!r} at position {number} follows {before!r}; sort them first"
            )
    if not positions:
        return last
    if last is not None and isinstance(last, str) != isinstance(positions[0], str):
        raise ValueError(f"the last outcome seen is at {last!r}, and these are of another kind: {positions[0]!r}")
    if last is not None and not positions[0] > last:
        raise ValueError(
            f"outcomes up to {last!r} have been seen, and this batch starts at {positions[0]!r}: give only outcomes "
            "that follow, in order"
        )
    found: Position = positions[-1]
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _recognise(given: dict[str, Labels], classes: Classes) -> Classes:
    """Return the classes once a label other than 1 is seen: 0 or False and 1, or -1 and 1."""
    for column in given.values():
        negative = next((label for label in column.tolist() if label != 1), None)
        if negative is not None and names_positive_class(np.array([negative, 1], dtype=object)):
            return Classes((int(negative), 1), 1)
    return classes


def _refuse_unknown(name: str, column: Labels, classes: Classes) -> None:
    known = list(classes.labels)
    unknown = next((k for k, label in enumerate(column.tolist()) if label not in known), None)
    if unknown is None:
        return
    label = column.tolist()[unknown]
    if classes == Classes.unknown():
        remedy = (
            "without a model, labels are 0 and 1, -1 and 1, or booleans: give a fitted model as the guarantee, or "
            "compare with the positive label first, y == 'yes'"
        )
    else:
        remedy = f"known are {known[0]!r} and {known[-1]!r}"
    raise ValueError(f"{name} has the unknown label {label!r} at position {unknown}; {remedy}")
