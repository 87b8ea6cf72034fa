"""The complete description of what a class stores, and the check of stored values against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from metricwise._sklearn import Interval, make_constraint
from metricwise._state import StoredState, Values
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Check, Sizes

_LONGEST_REPR = 80
NO_VALIDATION = "no_validation"  # how scikit-learn marks parameters that it does not constrain
MAY_HAVE: dict[str, Check] = {
    "n_features_in_": k.size("F"),
    "feature_names_in_": k.texts("F"),
    "_sklearn_output_config": k.dict_of(k.any_text, k.text("default", "pandas", "polars")),
}


class WrongValueError(ValueError):
    """Reports a parameter or attribute whose type, shape or range is not among those of its class.

    Parameters
    ----------
    class_name : str
        The class.
    key : str
        The parameter or attribute.
    value : object
        What was found.
    remedy : str
        What to do if a model has it, and not a damaged file.
    """

    def __init__(self, class_name: str, key: str, value: Any, remedy: str) -> None:
        super().__init__(f"{key!r} of a {class_name} is damaged: its type, shape or range is not that of such a model")
        self.key, self.value, self.remedy = key, value, remedy

    @property
    def refusal(self) -> str:
        """Why a model cannot be saved; formed on demand, as values of hostile files take their time to be shown."""
        return f"{self.key}={_describe(self.value)} cannot be stored: {self.remedy}"


def _describe(value: Any) -> str:
    if hasattr(value, "dtype") and np.ndim(value):
        return f"{type(value).__name__} of {value.dtype} of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= _LONGEST_REPR else f"{text[:_LONGEST_REPR]}..."


@dataclass(frozen=True)
class Schema:
    """What a class stores: an attribute that is not named here is refused.

    Parameters
    ----------
    fitted : dict
        Attributes that a fitted object has, all of them or none, in the order in which they are checked.
    optional : dict
        Attributes that a fitted object may have.
    always : dict
        Attributes, other than parameters, of every object.
    parameters : dict
        Parameters whose values are limited further than scikit-learn does.
    check_relations : callable, optional
        Raises a ValueError unless the attributes of a fitted object fit together, given the sizes that they have.
    derived : tuple of str
        Attributes that follow from others or belong to the training: neither written nor taken from a file.
    """

    fitted: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)
    always: Mapping[str, Check] = field(default_factory=dict)
    parameters: Mapping[str, Check] = field(default_factory=dict)
    check_relations: Callable[[Values, Sizes], None] | None = None
    derived: tuple[str, ...] = ()

    def check(self, cls: Any, values: Values) -> None:
        """Raise a ValueError unless values are those of an object of the class."""
        name = cls.__name__
        parameters = get_parameters(cls) if issubclass(cls, BaseEstimator) else []
        self._check_names(name, parameters, values)
        sizes: Sizes = {}
        for key in parameters:
            check = self.parameters.get(key, k.anything)
            if not (
                k.fits_c(values[key]) and is_allowed_parameter(cls, key, values[key]) and check(values[key], sizes)
            ):
                raise WrongValueError(name, key, values[key], "choose another value")
        checks = {**MAY_HAVE, **self.always, **self.fitted, **self.optional}
        for key, check in checks.items():
            if key in values and not check(values[key], sizes):
                raise WrongValueError(name, key, values[key], "train with other settings, or on data of another type")
        if self.check_relations is not None and (self.is_fitted(values) or not self.fitted):
            self.check_relations(values, sizes)

    def is_fitted(self, values: Values) -> bool:
        """Return whether values are those of a fitted object: if they have anything that `fit` sets."""
        may_be = (*self.optional, "n_features_in_", "feature_names_in_")
        return any(key in values for key in self.fitted) or any(values.get(key) is not None for key in may_be)

    def _check_names(self, name: str, parameters: list[str], values: Values) -> None:
        required = [*parameters, *self.always, *(self.fitted if self.is_fitted(values) else ())]
        for key in required:
            if key not in values:
                kind = "parameter" if key in parameters else "attribute"
                raise ValueError(f"a {name} lacks its {kind} {key!r}")
        known = {*required, *self.fitted, *self.optional, *MAY_HAVE}
        for key in values:
            if key not in known:
                raise ValueError(f"it sets {key[:100]!r}, which a {name} does not store")


def get_parameters(cls: Any) -> list[str]:
    """Return the names of the parameters of an estimator that files hold: not those of the training of our own."""
    skipped = getattr(cls, "__stored_state__", StoredState(1)).training_parameters
    return [key for key in cls._get_param_names() if key not in skipped]


def is_allowed_parameter(cls: Any, key: str, value: Any) -> bool:
    """Return whether a parameter satisfies the constraints that its class states, if it does."""
    constraints = getattr(cls, "_parameter_constraints", {}).get(key, NO_VALIDATION)
    if constraints == NO_VALIDATION:
        return True
    if cls.__module__.startswith("sklearn.") and not k.fits_c(value, bits=32):
        constraints = [one for one in constraints if not _is_of_whole_numbers(one)]
    return any(make_constraint(one).is_satisfied_by(value) for one in constraints)


def _is_of_whole_numbers(constraint: Any) -> bool:
    """Return whether a constraint is one of numbers that become an int of C, although it has no upper end."""
    if isinstance(constraint, Interval):
        return constraint.type is Integral
    return constraint is Integral or (isinstance(constraint, str) and constraint == "verbose")
