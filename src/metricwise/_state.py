"""The attributes of a class that model files store, declared beside the class."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeVar, runtime_checkable

T = TypeVar("T", bound=type)
Values = dict[str, Any]  # what is stored of an object, by the names of its attributes


@dataclass(frozen=True)
class StoredState:
    """The attributes of a class that model files store, as its class attribute ``__stored_state__``.

    Parameters
    ----------
    version : int
        Raised whenever a stored attribute changes its name or meaning; `metricwise.persistence.old` then gets a step
        that reads the files of the version before.
    attributes : tuple of str
        Names of the stored attributes, where they exist; parameters of an estimator are stored in any case.
    training_parameters : tuple of str
        Parameters that belong to the training and not to the model, such as callbacks: they are not stored, and have
        their defaults in a loaded model.

    Examples
    --------
    >>> linear = StoredState(1, ("coef_", "intercept_"), training_parameters=("callback",))
    >>> linear.extend("support_").attributes
    ('coef_', 'intercept_', 'support_')
    """

    version: int
    attributes: tuple[str, ...] = ()
    training_parameters: tuple[str, ...] = ()

    def extend(self, *attributes: str, version: int | None = None) -> StoredState:
        """Return the state of a subclass that stores further attributes; by default of the same version."""
        own = self.version if version is None else version
        return StoredState(own, (*self.attributes, *attributes), self.training_parameters)


@runtime_checkable
class HasStoredForm(Protocol):
    """An object that model files hold in another form: without functions, or with what follows from them."""

    def stored_form(self) -> Any:
        """Return an object of the same class as it is stored; itself if it has been stored in this form before."""


def stored_fields(version: int) -> Callable[[T], T]:
    """Return a decorator that declares the fields of a class as its stored state.

    Of a dataclass or named tuple all fields are stored, of an enumeration the name of the member.

    Examples
    --------
    >>> @stored_fields(version=1)
    ... @dataclass(frozen=True)
    ... class Line:
    ...     slope: float
    >>> Line.__stored_state__.attributes
    ('slope',)
    """

    def declare(cls: T) -> T:
        cls.__stored_state__ = StoredState(version, _field_names(cls))  # type: ignore[attr-defined]
        return cls

    return declare


def _field_names(cls: Any) -> tuple[str, ...]:
    if issubclass(cls, Enum):
        return ("name",)
    if issubclass(cls, tuple):
        return tuple(cls._fields)
    return tuple(field.name for field in dataclasses.fields(cls) if field.init)
