"""A model as JSON values and arrays, and back.

A tree is a list of entries, each of which refers only to entries before it, so that what is shared stays shared and
nothing can contain itself; the last one is the model. An entry is a JSON object with a ``kind``:

==================  ==================================================================================
``object``          ``class`` and ``fields``: of an estimator its attributes, of a dataclass or a named
                    tuple its fields, of an enumeration the name of the member
``array``           ``number``: a member of the file
``items``           an array of Python objects: ``shape`` and ``items``
``sparse``          a matrix: ``format``, ``shape`` and its three arrays
``scalar``          a number of numpy: ``dtype`` and ``value``
``dtype``, ``name`` a type of numbers; a type or function that is a parameter
==================  ==================================================================================

and those of `metricwise.persistence.compiled`. Values in entries are JSON values, where an object with ``is`` stands
for what JSON has not: tuples, dictionaries, sets, slices, infinite numbers, and other entries.
"""

from __future__ import annotations

import dataclasses
import keyword
import types
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from metricwise._sklearn import SEARCH_MODULE
from metricwise._typing import Labels
from metricwise.persistence.allowed import VALUES, class_name, class_named, name_of, named
from metricwise.persistence.checks import checked_state
from metricwise.persistence.compiled import (
    COMPILED,
    REQUESTS,
    kind_of,
    left_out,
    read_requests,
    rebuild,
    write_requests,
)

_DEEPEST = 100
_SPARSE = {"csr": (sparse.csr_matrix, sparse.csr_array), "csc": (sparse.csc_matrix, sparse.csc_array)}
_PLAIN = (bool, int, str)
_SCALAR_KINDS = "biufU"
_OF_TRAINING = ("callback", "checkpoint", "memory")  # parameters that name code or files, and no part of a model


# ------------------------------------------------------------------------------------------------------------- writing


class TreeWriter:
    """Turns a model into entries and arrays."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.arrays: list[Labels] = []
        self._known: dict[int, int] = {}
        self._open: set[int] = set()
        self._kept: list[Any] = []  # what lives cannot be taken for something else with the same id

    def value(self, thing: Any, where: str) -> Any:
        """Return the JSON value of anything; ``where`` is its name in messages."""
        if thing is None or type(thing) in _PLAIN:
            return thing
        if type(thing) is float:
            return thing if np.isfinite(thing) else {"is": "float", "value": repr(thing)}
        if type(thing) is list:
            return [self.value(item, f"{where}[{k}]") for k, item in enumerate(thing)]
        if type(thing) is tuple:
            return {"is": "tuple", "items": self.value(list(thing), where)}
        if type(thing) is dict:
            return {"is": "dict", "items": self._pairs(thing, where)}
        if type(thing) in (set, frozenset):
            items = self.value(sorted(thing, key=repr), where)
            return {"is": type(thing).__name__, "items": items}
        if type(thing) is slice:
            return {"is": "slice", "items": self.value([thing.start, thing.stop, thing.step], where)}
        return {"is": "entry", "at": self.add(thing, where)}

    def fields(self, values: dict[str, Any], where: str) -> dict[str, Any]:
        """Return named values."""
        return {name: self.value(value, f"{where}.{name}") for name, value in values.items()}

    def add(self, thing: Any, where: str) -> int:
        """Return the number of the entry that holds a thing, added if it is not there yet."""
        if id(thing) in self._known:
            return self._known[id(thing)]
        if id(thing) in self._open:
            raise ValueError(f"{where} contains itself: remove the reference")
        self._open.add(id(thing))
        entry = self._entry(thing, where)
        self._open.remove(id(thing))
        self.entries.append(entry)
        self._kept.append(thing)
        self._known[id(thing)] = len(self.entries) - 1
        return len(self.entries) - 1

    def _pairs(self, thing: dict[Any, Any], where: str) -> list[list[Any]]:
        return [[self.value(key, f"{where} (a key)"), self.value(v, f"{where}[{key!r}]")] for key, v in thing.items()]

    def _entry(self, thing: Any, where: str) -> dict[str, Any]:
        if type(thing) in (np.ndarray, np.memmap):
            return self._array(np.asarray(thing), where)
        if isinstance(thing, np.generic) and thing.dtype.kind in _SCALAR_KINDS:
            return {"kind": "scalar", "dtype": thing.dtype.str, "value": self.value(thing.item(), where)}
        for layout, classes in _SPARSE.items():
            if type(thing) in classes:
                parts = {key: getattr(thing, key) for key in ("shape", "data", "indices", "indptr")}
                is_array = isinstance(thing, sparse.sparray)
                return {"kind": "sparse", "format": layout, "is_array": is_array, **self.fields(parts, where)}
        if isinstance(thing, np.dtype) and thing.names is None and not thing.hasobject:
            return {"kind": "dtype", "dtype": thing.str}
        if (name := name_of(thing, VALUES) if callable(thing) else None) is not None:
            return {"kind": "name", "name": name}
        if (kind := kind_of(thing)) is not None:
            return {"kind": kind, **self.fields(COMPILED[kind].write(thing), where)}
        return self._object(thing, where)

    def _array(self, thing: Labels, where: str) -> dict[str, Any]:
        if thing.dtype.kind == "O":
            items = [self.value(item, f"{where}[{k}]") for k, item in enumerate(thing.ravel().tolist())]
            return {"kind": "items", "shape": list(thing.shape), "items": items}
        if thing.dtype.hasobject or thing.dtype.kind in "mM":
            raise ValueError(f"{where} is an array of {thing.dtype}: model files hold arrays of numbers and text")
        self.arrays.append(thing)
        return {"kind": "array", "number": len(self.arrays) - 1}

    def _object(self, thing: Any, where: str) -> dict[str, Any]:
        cls: type = type(thing)
        name = class_name(cls)
        if name is None:
            raise ValueError(_why_not(thing, where))
        if isinstance(thing, Enum):
            return {"kind": "object", "class": name, "fields": {"name": thing.name}}
        if isinstance(thing, Bunch):
            values = dict(thing)
        elif isinstance(thing, tuple):
            values = thing._asdict()  # type: ignore[attr-defined]
        elif dataclasses.is_dataclass(thing):
            values = {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing) if field.init}
        else:
            values = {key: value for key, value in vars(thing).items() if key not in left_out(name)}
            values |= {key: None for key in _OF_TRAINING if key in values}
            if REQUESTS in values:
                values[REQUESTS] = write_requests(values[REQUESTS])
            checked_state(name, values)
        return {"kind": "object", "class": name, "fields": self.fields(values, where)}


def _why_not(thing: Any, where: str) -> str:
    """Return why a thing cannot be saved, and what to do."""
    kind = f"{type(thing).__module__}.{type(thing).__qualname__}"
    no_code = "and a model file holds no code"
    if type(thing).__module__ == "metricwise.measures.custom":
        return (
            f"{where} is the measure {thing.name!r}, made of a function of your own, {no_code}: train with a measure "
            "that has a name (metricwise.measure_names() lists them)"
        )
    if isinstance(thing, types.FunctionType | types.BuiltinFunctionType | types.MethodType | np.ufunc | type):
        return f"{where} is {thing.__name__!r}, {no_code}: use a setting that has a name instead"
    if kind.startswith(f"{SEARCH_MODULE}."):
        return f"{where} is a search: save its best_estimator_"
    return (
        f"{where} is of the type {kind}, which model files do not hold: they hold the estimators of metricwise and "
        "many of scikit-learn, with numbers, text, arrays and sparse matrices as settings"
    )


# ------------------------------------------------------------------------------------------------------------- reading


class TreeReader:
    """Makes a model of entries; whatever is not as it should be is an error."""

    def __init__(self, array: Callable[[int], Labels]) -> None:
        self._array_of_file = array
        self._made: list[Any] = []
        self._makers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "object": self._object,
            "array": lambda entry: self._array_of_file(_index(entry["number"])),
            "items": self._items,
            "sparse": self._sparse,
            "scalar": self._scalar,
            "dtype": lambda entry: _dtype(entry["dtype"]),
            "name": lambda entry: named(entry["name"], VALUES),
        }

    def read(self, entries: Any) -> Any:
        """Return what the last entry stands for."""
        for entry in _typed(entries, list):
            self._made.append(self._make(_typed(entry, dict)))
        return self._made[-1]

    def value(self, written: Any, depth: int = 0) -> Any:
        """Return what a JSON value stands for."""
        if depth > _DEEPEST:
            raise ValueError("values are nested too deeply")
        if written is None or type(written) in _PLAIN or type(written) is float:
            return written
        if type(written) is list:
            return [self.value(item, depth + 1) for item in written]
        kind = _typed(written, dict)["is"]
        if kind == "entry":
            at = _index(written["at"])
            if at >= len(self._made):
                raise ValueError("an entry refers to one that follows it")
            return self._made[at]
        if kind == "float":
            return {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}[written["value"]]
        if kind == "dict":
            pairs = [_typed(pair, list) for pair in _typed(written["items"], list)]
            return {self.value(key, depth + 1): self.value(value, depth + 1) for key, value in pairs}
        items = self.value(_typed(written["items"], list), depth + 1)
        if kind == "slice":
            return slice(*items)
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](items)

    def _fields(self, written: Any) -> dict[str, Any]:
        return {name: self.value(value) for name, value in _typed(written, dict).items()}

    def _make(self, entry: dict[str, Any]) -> Any:
        kind = _typed(entry["kind"], str)
        if kind in self._makers:
            return self._makers[kind](entry)
        if kind not in COMPILED:
            raise ValueError(f"it has an entry of the unknown kind {kind[:100]!r}")
        return COMPILED[kind].read(self._fields({name: value for name, value in entry.items() if name != "kind"}))

    def _items(self, entry: dict[str, Any]) -> Labels:
        items = self.value(_typed(entry["items"], list))
        shape = tuple(_index(size) for size in _typed(entry["shape"], list))
        made = np.empty(len(items), dtype=object)
        for k, item in enumerate(items):  # one by one: numpy would make columns of lists
            made[k] = item
        return made.reshape(shape)

    def _sparse(self, entry: dict[str, Any]) -> Any:
        cls = _SPARSE[entry["format"]][bool(entry["is_array"])]
        rows, columns = (_index(size) for size in self.value(entry["shape"]))
        data, indices, indptr = (_typed(self.value(entry[key]), np.ndarray) for key in ("data", "indices", "indptr"))
        if data.dtype.kind not in "biuf" or indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
            raise ValueError("a sparse matrix is not made of numbers")
        if indptr.size != (rows if entry["format"] == "csr" else columns) + 1:
            raise ValueError("a sparse matrix has another shape than it says")
        made = cls((data, indices, indptr), shape=(rows, columns))
        made.check_format(full_check=True)
        return made

    def _scalar(self, entry: dict[str, Any]) -> Any:
        dtype = _dtype(entry["dtype"])
        if dtype.kind not in _SCALAR_KINDS or (dtype.kind == "U" and dtype.itemsize > 4 * len(entry["value"]) + 4):
            raise ValueError("a number has the type of something else")
        return dtype.type(self.value(entry["value"]))

    def _object(self, entry: dict[str, Any]) -> Any:
        cls = class_named(entry["class"])
        values = self._fields(entry["fields"])
        if issubclass(cls, Enum):
            return cls[_typed(values["name"], str)]
        if issubclass(cls, Bunch):
            return Bunch(**values)
        if dataclasses.is_dataclass(cls) or issubclass(cls, tuple):
            made = cls(**values)
            checked_state(entry["class"], vars(made) if dataclasses.is_dataclass(cls) else values)
            return made
        _check_names(cls, values)
        checked_state(entry["class"], values)
        made = cls.__new__(cls)
        requests = values.pop(REQUESTS, {})
        vars(made).update(values)
        read_requests(requests, made)
        rebuild(entry["class"], made)
        return made


def _check_names(cls: Any, values: dict[str, Any]) -> None:
    """Raise unless names of attributes are such, hide no method, and include all parameters."""
    for name in values:
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
            raise ValueError(f"{name[:100]!r} is no name of an attribute")
        if callable(getattr(cls, name, None)):
            raise ValueError(f"{name[:100]!r} is a method of {cls.__name__}, not an attribute")
    for name in _OF_TRAINING:
        if values.get(name) is not None:
            raise ValueError(f"it sets {name!r}, which no model file does")
    if issubclass(cls, BaseEstimator):
        missing = [name for name in cls._get_param_names() if name not in values]
        if missing:
            raise ValueError(f"a {cls.__name__} lacks its parameter {missing[0]!r}")


def _typed(value: Any, cls: type) -> Any:
    if not isinstance(value, cls):
        raise ValueError(f"there is {type(value).__name__} where {cls.__name__} belongs")
    return value


def _index(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"there is {str(value)[:50]!r} where a whole number belongs")
    return value


def _dtype(text: Any) -> Any:
    dtype = np.dtype(_typed(text, str))
    if dtype.hasobject or dtype.names is not None:
        raise ValueError(f"{dtype} is no type of numbers")
    return dtype
