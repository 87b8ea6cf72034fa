"""What an attribute may be: its type, shape and range, with sizes that the attributes of an object share.

A `Check` takes a value and the sizes found so far. A size such as ``"F"``, the number of features, is bound by the
first attribute that has it and must be the same in all others.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

Sizes = dict[str, int]
Check = Callable[[Any, Sizes], bool]
Dimension = str | int

_INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
_TYPES = {
    "float": (np.float32, np.float64),
    "int": _INTEGERS,
    "bool": (np.bool_,),
    "number": (np.bool_, *_INTEGERS, np.float16, np.float32, np.float64),
    "double": (np.float64,),
    "int32": (np.int32,),
    "int64": (np.int64,),
    "uint8": (np.uint8,),
    "uint32": (np.uint32,),
}
_ANY = "*"
MOST_CLASSES = 1 << 20


def bind(sizes: Sizes, dimension: Dimension, size: int) -> bool:
    """Return whether a size is the one that is expected, or the first of its name."""
    if isinstance(dimension, int):
        return size == dimension
    return dimension == _ANY or sizes.setdefault(dimension, size) == size


def _binds(sizes: Sizes, dimensions: tuple[Dimension, ...], shape: tuple[int, ...]) -> bool:
    return len(shape) == len(dimensions) and all(map(bind, [sizes] * len(shape), dimensions, shape))


# ------------------------------------------------------------------------------------------------------- single values


def anything(value: Any, sizes: Sizes) -> bool:
    """Accept every value: for what is checked together with others."""
    return True


def none(value: Any, sizes: Sizes) -> bool:
    """Accept None."""
    return value is None


def boolean(value: Any, sizes: Sizes) -> bool:
    """Accept a truth value."""
    return isinstance(value, bool | np.bool_)


def any_text(value: Any, sizes: Sizes) -> bool:
    """Accept text."""
    return isinstance(value, str)


def plain(value: Any, sizes: Sizes) -> bool:
    """Accept a number, text or None."""
    return value is None or isinstance(value, bool | int | float | str | np.generic)


def data(value: Any, sizes: Sizes) -> bool:
    """Accept numbers, text and None, alone or in lists, tuples and dictionaries."""
    if type(value) in (list, tuple):
        return all(data(item, sizes) for item in value)
    if type(value) is dict:
        return all(plain(key, sizes) and data(item, sizes) for key, item in value.items())
    return plain(value, sizes)


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number that compiled code can take, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and fits_c(value)


def fits_c(value: Any, bits: int = 64) -> bool:
    """Return whether a value is no whole number, or one of so many bits."""
    return not isinstance(value, int) or -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def is_real(value: Any) -> bool:
    """Return whether a value is a number, and no truth value."""
    return is_whole(value) or isinstance(value, float | np.floating)


def text(*options: str) -> Check:
    """Accept one of several texts."""
    return lambda value, sizes: isinstance(value, str) and value in options


def whole(low: int = 0, high: int = 1 << 62) -> Check:
    """Accept a whole number of a range, ends included."""
    return lambda value, sizes: is_whole(value) and low <= value <= high


def real(low: float = -np.inf, high: float = np.inf) -> Check:
    """Accept a number of a range, ends included; NaN if there is no range."""
    is_free = np.isinf(low) and np.isinf(high)
    return lambda value, sizes: is_real(value) and (is_free or low <= value <= high)


def size(name: str, low: int = 0) -> Check:
    """Accept a whole number that is a size."""
    return lambda value, sizes: is_whole(value) and value >= low and bind(sizes, name, int(value))


FEATURES: dict[str, Check] = {"n_features_in_": size("F", low=1)}


def either(*checks: Check) -> Check:
    """Accept what one of several checks accepts."""

    def accept(value: Any, sizes: Sizes) -> bool:
        for check in checks:
            tried = dict(sizes)  # a check that fails binds no size
            if check(value, tried):
                sizes.update(tried)
                return True
        return False

    return accept


# -------------------------------------------------------------------------------------------------------------- arrays


def array(kind: str, *dimensions: Dimension, finite: bool = False) -> Check:
    """Accept an array of a kind of numbers with given dimensions."""

    def accept(value: Any, sizes: Sizes) -> bool:
        is_right = type(value) is np.ndarray and value.dtype in _TYPES[kind] and _binds(sizes, dimensions, value.shape)
        return is_right and (not finite or bool(np.all(np.isfinite(value))))

    return accept


def floats(value: Any, sizes: Sizes) -> bool:
    """Accept an array of floats of any shape."""
    return type(value) is np.ndarray and value.dtype in _TYPES["float"]


def sparse_rows(*dimensions: Dimension, kind: str = "float") -> Check:
    """Accept a sparse matrix of a kind of numbers in rows."""
    return lambda value, sizes: (
        sparse.issparse(value)
        and value.format == "csr"
        and value.dtype in _TYPES[kind]
        and _binds(sizes, dimensions, value.shape)
    )


def matrix(*dimensions: Dimension, kind: str = "float") -> Check:
    """Accept a kind of numbers, as an array or a sparse matrix."""
    return either(array(kind, *dimensions), sparse_rows(*dimensions, kind=kind))


def indices(below: Dimension, *dimensions: Dimension) -> Check:
    """Accept whole numbers below a size."""

    def accept(value: Any, sizes: Sizes) -> bool:
        limit = below if isinstance(below, int) else sizes[below]
        return array("int", *dimensions)(value, sizes) and bool(np.all(value >= 0) and np.all(value < limit))

    return accept


def sorted_floats(*dimensions: Dimension) -> Check:
    """Accept finite numbers in ascending order."""
    return lambda value, sizes: (
        array("float", *dimensions, finite=True)(value, sizes) and bool(np.all(np.diff(value) >= 0.0))
    )


def texts(*dimensions: Dimension) -> Check:
    """Accept an array of text."""

    def accept(value: Any, sizes: Sizes) -> bool:
        if type(value) is not np.ndarray or not _binds(sizes, dimensions, value.shape):
            return False
        return value.dtype.kind == "U" or (
            value.dtype == object and all(isinstance(item, str) for item in value.ravel().tolist())
        )

    return accept


def items(check: Check, *dimensions: Dimension) -> Check:
    """Accept an array of Python objects that each pass a check."""
    return lambda value, sizes: (
        type(value) is np.ndarray
        and value.dtype == object
        and _binds(sizes, dimensions, value.shape)
        and all(check(item, sizes) for item in value.ravel().tolist())
    )


def labels(value: Any, sizes: Sizes) -> bool:
    """Accept different class labels; binds C, their number, and R, the rows of linear models for them."""
    if not is_label_array(value) or not 1 <= value.size <= MOST_CLASSES:
        return False
    return bind(sizes, "C", value.size) and bind(sizes, "R", value.size if value.size > 2 else 1)


def label_array(value: Any, sizes: Sizes) -> bool:
    """Accept different class labels, of one output among others."""
    return is_label_array(value)


def is_label_array(value: Any) -> bool:
    """Return whether a value is an array of different numbers or texts, in ascending order."""
    if type(value) is not np.ndarray or value.ndim != 1:
        return False
    if value.dtype == object:
        found = value.tolist()
        one_kind = all(isinstance(item, str) for item in found) or all(map(is_real, found))
        return one_kind and all(a < b for a, b in pairwise(found))
    in_kind = value.dtype.kind in "US" or value.dtype in _TYPES["number"]
    return (
        in_kind
        and (value.dtype.kind in "bUS" or bool(np.all(np.isfinite(value))))
        and bool(np.all(value[:-1] < value[1:]))
    )


# ----------------------------------------------------------------------------------------------------------- containers


def list_of(check: Check, dimension: Dimension = _ANY) -> Check:
    """Accept a list of what a check accepts."""
    return _sequence(list, check, dimension)


def tuple_of(check: Check, dimension: Dimension = _ANY) -> Check:
    """Accept a tuple of what a check accepts."""
    return _sequence(tuple, check, dimension)


def _sequence(kind: type[list[Any]] | type[tuple[Any, ...]], check: Check, dimension: Dimension) -> Check:
    return lambda value, sizes: (
        type(value) is kind and bind(sizes, dimension, len(value)) and all(check(item, sizes) for item in value)
    )


def each(*checks: Check) -> Check:
    """Accept a tuple with one item per check."""
    return lambda value, sizes: (
        type(value) is tuple
        and len(value) == len(checks)
        and all(check(item, sizes) for check, item in zip(checks, value, strict=True))
    )


def dict_of(key: Check, check: Check) -> Check:
    """Accept a dictionary."""
    return lambda value, sizes: (
        type(value) is dict and all(key(name, sizes) and check(item, sizes) for name, item in value.items())
    )


def one_each(check: Check) -> Check:
    """Accept one value, or one per output as a list."""
    return either(check, list_of(check, "O"))


# --------------------------------------------------------------------------------------------------------------- models


def of_class(*names: str) -> Check:
    """Accept an object of one of several classes, by their names."""
    return lambda value, sizes: type(value).__name__ in names


def predictor(value: Any, sizes: Sizes) -> bool:
    """Accept an estimator that predicts."""
    return isinstance(value, BaseEstimator) and hasattr(value, "predict")


def transformer(value: Any, sizes: Sizes) -> bool:
    """Accept an estimator that transforms."""
    return isinstance(value, BaseEstimator) and hasattr(value, "transform")
