"""Numeric parameters may be any real numbers of Python or NumPy; training reads them as plain Python numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from metricwise._sklearn import Interval
from metricwise.measures.checks import to_float


class NumericParameters(BaseEstimator):
    """An estimator whose parameters are validated as plain numbers: ``Fraction(1, 2)`` and ``np.float16(0.5)`` as 0.5.

    `get_params` returns what was given.
    """

    _parameter_constraints: ClassVar[dict[str, Any]]

    def _validate_params(self) -> None:
        with plain_numbers(self):
            super()._validate_params()


@contextmanager
def plain_numbers(estimator: Any) -> Iterator[None]:
    """Replace numeric parameters of other types by Python's, while the body of the with statement runs.

    Compiled code takes no half or extended precision, and NumPy no fractions.

    Raises
    ------
    ValueError
        If a parameter is beyond double precision.
    """
    values = vars(estimator)
    given = {name: values[name] for name in list_numeric(estimator) if name in values}
    plain = {name: to_plain(value, name) for name, value in given.items()}
    replaced = {name: value for name, value in plain.items() if type(value) is not type(given[name])}
    values.update(replaced)
    try:
        yield
    finally:
        # A callback may have set a parameter meanwhile, which stays.
        values.update({name: given[name] for name, value in replaced.items() if values.get(name) is value})


def list_numeric(estimator: Any) -> list[str]:
    """Return the names of the parameters that are numbers in an interval; labels, such as ``pos_label``, are not."""
    constraints = getattr(estimator, "_parameter_constraints", {})
    return [
        name
        for name, allowed in constraints.items()
        if isinstance(allowed, list) and any(isinstance(one, Interval) for one in allowed)
    ]


def to_plain(value: Any, name: str) -> Any:
    """Return a real number as an int or a float, and anything else unchanged."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    number = to_float(value)
    if math.isinf(number) and value != number:
        raise ValueError(f"{name} is a number beyond double precision: give one between -1e308 and 1e308")
    return int(value) if isinstance(value, Integral) else number
