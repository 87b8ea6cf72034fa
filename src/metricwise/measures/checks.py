"""Validation of the arguments of measures; every message names the argument and what to do about it."""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricwise._typing import Floats, Mask

_LARGEST_RELEVANCE = 1e100
# Of the parameters of a measure: their squares, multiplied by counts, keep all digits that decide.
LEAST_FACTOR, LARGEST_FACTOR = 1e-6, 1e6
LEAST_AMOUNT, LARGEST_AMOUNT = 1e-100, 1e100  # of money that is not zero: sums over samples stay finite and exact
NARROWEST_RATES = 1e-9  # between two rates that bound a part of a curve: areas are known to about 1e-16
MOST_COUNTED = 2**53  # whole numbers up to it are exact in double precision
_MAX_SHOWN = 5  # values listed in a message


def check_positive(value: object, name: str) -> float:
    """Return ``value`` as a float; raise ValueError unless it is a finite number above zero."""
    number = math.nan if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) else to_float(value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be a positive finite number, got {shorten(value)}.")
    return number


def check_factor(value: object, name: str, remedy: str) -> float:
    """Return ``value`` as a float; raise ValueError unless it is a number whose square can be multiplied by counts.

    ``remedy`` is the part of the error that names what to use instead of a factor beyond the limits.
    """
    number = check_positive(value, name)
    if not LEAST_FACTOR <= number <= LARGEST_FACTOR:
        raise ValueError(
            f"{name} must lie between {LEAST_FACTOR:g} and {LARGEST_FACTOR:g}, got {shorten(value)}; {remedy}."
        )
    return number


def as_real(value: object, name: str) -> float:
    """Return a real number as a float; raise ValueError if it is none, NaN, or beyond double precision.

    A decimal and an array without dimensions are read as numbers, too; booleans are not.
    """
    given = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    is_real = isinstance(given, Real | Decimal) and not isinstance(given, bool | np.bool_)
    if not is_real or (given.is_nan() if isinstance(given, Decimal) else given != given):
        raise ValueError(f"{name} is not a number: {shorten(value)}.")
    number = to_float(given)
    if math.isinf(number) and given != number:
        raise ValueError(
            f"{name} is beyond double precision: {shorten(value)}. Give a number of at most 1e308 in size."
        )
    return number


def to_float(value: Any) -> float:
    """Return a real number as a float; infinity, with its sign, for whole numbers and fractions that are too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def shorten(value: object) -> str:
    """Return a value as text, or its type if it holds whole numbers of too many digits for Python to write."""
    if isinstance(value, Integral) and abs(int(value)) > MOST_COUNTED:
        return f"{to_float(value):g}"
    try:
        return repr(value)
    except ValueError:
        return f"a {type(value).__name__}"


def check_share(value: object, name: str) -> float:
    """Return ``value`` as a float; raise ValueError unless it lies in (0, 1]."""
    number = check_positive(value, name)
    if number > 1:
        raise ValueError(f"{name} must be in (0, 1], got {value!r}; write 90 percent as 0.9.")
    return number


def check_count_or_share(value: object, name: str) -> int | float:
    """Return ``value`` as an int (a number of samples) or a float (a fraction); raise ValueError unless positive."""
    fix = "pass a positive integer for that many samples or a positive float for that fraction of the positives"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise ValueError(f"{name} must be a positive number, got {value!r}; {fix}.")
    number = int(value) if isinstance(value, Integral) else float(value)
    if not 0 < number <= MOST_COUNTED:
        raise ValueError(f"{name} must be positive and at most {MOST_COUNTED:g}, got {shorten(value)}; {fix}.")
    return number


def as_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return values as an array; raise ValueError if they are lists of different lengths."""
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} has entries of different lengths: pass one value per sample.") from error


def check_one_dimensional(values: ArrayLike, name: str, *, keeps_objects: bool = False) -> NDArray[Any]:
    """Return ``values`` as a non-empty one-dimensional array, in a native dtype where there is one and it is wanted."""
    array = as_array(values, name)
    if array.dtype == object and not keeps_objects:
        # Nullable pandas columns arrive as objects although they hold plain numbers.
        array = np.asarray(array.tolist())
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, got an array of shape {array.shape}; "
            "pass one value per sample (numpy.ravel flattens a column)."
        )
    if array.size == 0:
        raise ValueError(f"{name} is empty; pass at least one sample.")
    return array


def check_same_length(array: NDArray[Any], name: str, reference: NDArray[Any], reference_name: str) -> None:
    """Raise ValueError, naming both lengths, unless the two arrays are equally long."""
    if len(array) != len(reference):
        raise ValueError(
            f"{reference_name} has {len(reference)} samples but {name} has {len(array)}; pass one value per sample."
        )


def check_binary(values: ArrayLike, name: str) -> Mask:
    """Return the mask of the positives; raise ValueError unless ``values`` hold 0 and 1, -1 and 1, or booleans."""
    array = check_one_dimensional(values, name)
    if array.dtype.kind == "b":
        return array
    if array.dtype.kind in "iuf":
        positive: Mask = array == 1
        if np.all(positive | (array == 0)) or np.all(positive | (array == -1)):
            return positive
    distinct = list(dict.fromkeys(array.tolist()))
    listing = ", ".join(map(repr, distinct[:_MAX_SHOWN])) + (", ..." if len(distinct) > _MAX_SHOWN else "")
    raise ValueError(
        f"{name} must hold 0 and 1, -1 and 1, or booleans, but these values were found: {listing}. "
        f"Encode the labels first, for instance with {name} == positive_class."
    )


def check_relevance(values: ArrayLike, name: str) -> Floats:
    """Return relevances as floats, zero for -1 of the labels -1 and 1; raise ValueError if one is negative."""
    array = check_finite(values, name)
    if np.all((array == 1.0) | (array == -1.0)):
        return np.maximum(array, 0.0)
    if array.min() < 0.0:
        bad = int(np.argmax(array < 0.0))
        raise ValueError(
            f"{name} holds relevances, which must not be negative, but {name}[{bad}] is {array[bad]:g}: shift the "
            "grades so that the lowest is 0, which gains nothing."
        )
    if array.max() > _LARGEST_RELEVANCE:
        bad = int(np.argmax(array))
        raise ValueError(
            f"{name}[{bad}] is {array[bad]:g}, and relevances above 1e100 cannot be added up: rescale them."
        )
    return array


def check_finite(values: ArrayLike, name: str) -> Floats:
    """Return ``values`` as floats; raise ValueError, with the first bad position, at NaN or infinity."""
    array = check_one_dimensional(values, name)
    if array.dtype.kind not in "biuf":
        bad = next((i for i, v in enumerate(array.tolist()) if not isinstance(v, Real)), 0)
        raise ValueError(f"{name} must be real numbers, but {name}[{bad}] is {array.tolist()[bad]!r}.")
    floats = array.astype(np.float64, copy=False)
    wrong = ~np.isfinite(floats)
    if wrong.any():
        bad = int(np.argmax(wrong))
        raise ValueError(f"{name} must be finite, but {name}[{bad}] is {floats[bad]}; remove or repair such samples.")
    return floats


def check_weights(sample_weight: ArrayLike | None, y: Mask | Floats) -> Floats:
    """Return one weight per sample of ``y``, ones by default; raise ValueError if negative, not finite or all zero."""
    if sample_weight is None:
        return np.ones(len(y))
    weight = check_finite(sample_weight, "sample_weight")
    check_same_length(weight, "sample_weight", y, "y")
    if weight.min() < 0:
        bad = int(np.argmax(weight < 0))
        raise ValueError(f"sample_weight must not be negative, but sample_weight[{bad}] is {weight[bad]}.")
    if weight.max() == 0:
        raise ValueError("sample_weight is zero for every sample; at least one sample must count.")
    return weight


def check_labels(y: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> tuple[Mask, Mask, Floats]:
    """Return the truth, the predicted labels and the weights of the same samples, checked."""
    truth = check_binary(y, "y")
    predicted = check_binary(labels, "labels")
    check_same_length(predicted, "labels", truth, "y")
    return truth, predicted, check_weights(sample_weight, truth)


def check_scores(
    y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None
) -> tuple[Mask, Floats, Floats]:
    """Return the truth, the scores and the weights of the same samples, checked."""
    truth = check_binary(y, "y")
    real = check_finite(scores, "scores")
    check_same_length(real, "scores", truth, "y")
    return truth, real, check_weights(sample_weight, truth)
