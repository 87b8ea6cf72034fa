"""Check the values of classes of metricwise against the types that their fields declare."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from functools import cache
from inspect import getattr_static
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from metricwise._state import Values
from metricwise.persistence.schemas.kinds import is_real, is_whole


def check_fields(cls: Any, values: Values) -> None:
    """Raise a ValueError unless the fields of a dataclass or named tuple are there and of their declared types."""
    hints = _get_hints(cls)
    for name in _get_required(cls):
        if name not in values:
            raise ValueError(f"a {cls.__name__} lacks its attribute {name!r}")
    for name, value in values.items():
        if not fits(value, hints[name]):
            raise ValueError(f"{name!r} of a {cls.__name__} is damaged: it is of another type")


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of a declared type.

    Examples
    --------
    >>> fits((1.0, 2.0), tuple[float, ...]), fits((1.0, "2"), tuple[float, ...]), fits(None, float | None)
    (True, False, True)
    """
    if hint is Any:
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    if isinstance(hint, TypeVar):
        return any(fits(value, one) for one in hint.__constraints__) or (
            not hint.__constraints__ and (hint.__bound__ is None or fits(value, hint.__bound__))
        )
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if origin is np.ndarray:
        return _fits_array(value, parts[1])
    if origin is not None:
        return _fits_container(value, origin, parts)
    if hint is float:
        return is_real(value)
    if hint is int:
        return is_whole(value)
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    return _has_members(value, hint) if getattr(hint, "_is_protocol", False) else isinstance(value, hint)


def _has_members(value: Any, protocol: Any) -> bool:
    """Return whether a value has all that a protocol names, methods as methods; properties are found, not computed."""
    bases = [base for base in protocol.__mro__ if getattr(base, "_is_protocol", False)]
    named = {name: None for base in bases for name in getattr(base, "__annotations__", {})}
    named |= {name: member for base in bases for name, member in vars(base).items()}
    return all(_is_like(getattr_static(value, name, None), one) for name, one in named.items() if name[0] != "_")


def _is_like(found: Any, declared: Any) -> bool:
    """Return whether a member is there, and can be called if the declared one can."""
    return found is not None and (not callable(declared) or callable(found))


def _fits_array(value: Any, dtype: Any) -> bool:
    (kind,) = get_args(dtype) or (Any,)
    return type(value) is np.ndarray and (kind is Any or value.dtype == kind)


def _fits_container(value: Any, origin: Any, parts: tuple[Any, ...]) -> bool:
    if origin is tuple:
        if type(value) is not tuple:
            return False
        if len(parts) == 2 and parts[1] is Ellipsis:
            return all(fits(item, parts[0]) for item in value)
        return len(value) == len(parts) and all(map(fits, value, parts))
    if origin is list:
        return type(value) is list and all(fits(item, parts[0]) for item in value)
    if origin is dict:
        return type(value) is dict and all(fits(k, parts[0]) and fits(v, parts[1]) for k, v in value.items())
    if origin is Callable or getattr(origin, "__name__", "") == "Callable":
        return callable(value)
    return isinstance(value, origin)


@cache
def _get_hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


@cache
def _get_required(cls: Any) -> tuple[str, ...]:
    if dataclasses.is_dataclass(cls):
        missing = dataclasses.MISSING
        fields = (one for one in dataclasses.fields(cls) if one.init)
        return tuple(one.name for one in fields if one.default is missing and one.default_factory is missing)
    return tuple(name for name in cls._fields if name not in cls._field_defaults)
