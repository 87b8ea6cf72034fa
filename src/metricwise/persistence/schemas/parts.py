"""Relations of models and the models inside them, and parameters that are limited alike in several classes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_array

from metricwise._state import Values
from metricwise.persistence.names import VALUES, get_name
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Sizes

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")  # of machines
MOST_COLUMNS = 100_000  # of features that a step makes from settings alone


def require(condition: Any, problem: str) -> None:
    """Raise a ValueError about a model in a file unless a condition holds."""
    if not condition:
        raise ValueError(problem)


_NUMBER_TYPES = (np.number, np.bool_, int, float)
_TYPE_NAMES = (
    *("bool", "int", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float", "float16", "float32", "float64"),
)


def number_type(value: Any, sizes: Sizes) -> bool:
    """Accept a type of floats, integers or truth values, or the name of one."""
    if isinstance(value, str):
        return value in _TYPE_NAMES
    is_type = isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, _NUMBER_TYPES))
    return is_type and np.dtype(value).kind in "biuf" and np.dtype(value).itemsize <= 8


def data_type(value: Any, sizes: Sizes) -> bool:
    """Accept the type of an array of numbers or of Python objects."""
    return isinstance(value, np.dtype) and (value.kind == "O" or number_type(value, sizes))


def array_function(value: Any, sizes: Sizes) -> bool:
    """Accept a function of an array."""
    if isinstance(value, partial):
        value = value.func
    is_listed = get_name(value, VALUES) is not None if callable(value) else False
    return is_listed and (isinstance(value, np.ufunc) or value is check_array)


def score_function(value: Any, sizes: Sizes) -> bool:
    """Accept a function that scores features."""
    function = value.func if isinstance(value, partial) else value
    return callable(function) and (get_name(function, VALUES) or "").startswith("sklearn.feature_selection.")


def no_settings(value: Any, sizes: Sizes) -> bool:
    """Accept no arguments of a function."""
    return value is None or value == {}


def count_features(part: Any) -> int | None:
    """Return how many features a fitted model takes; None if it does not state it."""
    found = getattr(part, "n_features_in_", None)
    return None if found is None else int(found)


def check_features(part: Any, n_features: int | None, problem: str) -> None:
    """Raise if a part of a model takes another number of features."""
    found = count_features(part)
    require(found is None or n_features is None or found == n_features, problem)


def get_classes(part: Any) -> Any:
    """Return the classes of a fitted classifier; ValueError if they are none."""
    found = getattr(part, "classes_", None)
    require(k.is_label_array(found), "a classifier inside another has no classes")
    return found


def check_several_classes(values: Values, sizes: Sizes) -> None:
    """Raise unless a classifier that compares classes has at least two."""
    require(sizes["C"] >= 2, "a classifier has one class")


def check_codes(part: Any, n_classes: int, problem: str, *, all_of_them: bool = True) -> None:
    """Raise unless a classifier predicts the numbers of so many classes."""
    found = get_classes(part)
    codes = np.arange(n_classes)
    require(found.dtype.kind in "biuf", problem)
    require(np.array_equal(found, codes) if all_of_them else np.all(np.isin(found, codes)), problem)
