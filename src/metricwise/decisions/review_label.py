"""The label of samples that a person reviews."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise._typing import Floats, Labels

REVIEW = "review"
_NUMBERS = (-1, 0, -2)
_KINDS = (frozenset("U"), frozenset("biuf"))  # of texts and numbers, each of which one array can hold


def choose_review_label(given: Any, classes: Labels) -> Any:
    """Return the label of reviews: the given one, or one that is no class.

    Parameters
    ----------
    given : label or "auto"
        What the user wants.
    classes : array of two labels
        The classes.

    Raises
    ------
    ValueError
        If the label is a class.

    Examples
    --------
    >>> choose_review_label("auto", np.array(["no", "yes"])), choose_review_label("auto", np.array([-1, 1]))
    ('review', 0)
    >>> choose_review_label(1, np.array([0, 1]))
    Traceback (most recent call last):
        ...
    ValueError: review_label=1 is one of the classes, [0, 1]: choose another label for samples to review
    """
    known = classes.tolist()
    is_auto = isinstance(given, str) and given == "auto"
    if is_auto and not any(isinstance(label, str) for label in known):
        return next(number for number in _NUMBERS if number not in known)
    label = REVIEW if is_auto else given
    if np.ndim(label) or label is None:
        raise ValueError(f"review_label must be one label, a text or a number, got {given!r}")
    label = np.asarray(label).item()
    if label in known:
        raise ValueError(
            f"review_label={label!r} is one of the classes, {known}: choose another label for samples to review"
        )
    return label


def label_codes(signs: Floats, classes: Labels, review: Any) -> Labels:
    """Return the first class for signs below zero, the second above, and the label of reviews at zero.

    Examples
    --------
    >>> label_codes(np.array([-1.0, 0.0, 1.0]), np.array(["no", "yes"]), "review")
    array(['no', 'review', 'yes'], dtype='<U6')
    >>> label_codes(np.array([-1.0, 0.0, 1.0]), np.array([False, True]), -1)
    array([ 0, -1,  1])
    """
    own = np.asarray(review)
    is_same_kind = any({own.dtype.kind, classes.dtype.kind} <= kinds for kinds in _KINDS)
    palette = np.empty(3, dtype=np.result_type(classes.dtype, own.dtype) if is_same_kind else object)
    palette[:] = [classes[0], review, classes[1]]
    labels: Labels = palette[np.sign(signs).astype(np.int64) + 1]
    return labels
