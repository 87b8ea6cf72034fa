"""Turn a model into JSON values and arrays.

A tree is a list of entries, each of which refers only to entries before it, so that what is shared stays shared and
nothing can contain itself; the last one is the model. An entry is a JSON object with a ``kind``:

==================  ==================================================================================
``object``          ``class``, ``fields`` and, for classes of metricwise, ``version``: what the class
                    declares as its state (`metricwise._state`), or all attributes; of a measure made
                    of a user's function all but the function
``array``           ``number``: a member of the file
``items``           an array of Python objects: ``shape`` and ``items``
``sparse``          a matrix: ``format``, ``shape`` and its three arrays
``scalar``          a number of numpy: ``dtype`` and ``value``
``dtype``, ``name`` a type of numbers; a type or function that is a parameter
==================  ==================================================================================

and those of `metricwise.persistence.compiled`. Values in entries are JSON values, where an object with ``is`` stands
for what JSON lacks: tuples, dictionaries, sets, slices, NaN and infinity, and other entries.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np
from scipy import sparse

from metricwise._sklearn import SEARCH_MODULE
from metricwise._state import HasStoredForm
from metricwise._typing import Labels
from metricwise.estimators.selection.pretrained import PretrainedClassifier
from metricwise.measures import Measure
from metricwise.persistence.allowed import get_class_name
from metricwise.persistence.boosters.conversion import find_learner, make_stored_booster
from metricwise.persistence.compiled import COMPILED, find_kind
from metricwise.persistence.names import VALUES, get_name, is_own
from metricwise.persistence.objects import get_values

_PLAIN = (bool, int, str)
SPARSE_CLASSES = {"csr": (sparse.csr_matrix, sparse.csr_array), "csc": (sparse.csc_matrix, sparse.csc_array)}
SCALAR_KINDS = "biufU"
OBJECT_TYPE = "object"  # of the arrays of text that an imputer was trained on


class TreeWriter:
    """Collects the entries and arrays of a model."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.places: list[str] = []  # of the entries, as messages name them
        self.arrays: list[Labels] = []
        self._known: dict[int, int] = {}
        self._open: set[int] = set()
        self._alive: list[Any] = []  # keeps objects alive, so that their ids stay unique

    def _encode(self, thing: Any, where: str) -> Any:
        """Return the JSON value of a thing; messages name it by ``where``."""
        if thing is None or type(thing) in _PLAIN:
            return thing
        if type(thing) is float:
            return thing if np.isfinite(thing) else {"is": "float", "value": repr(thing)}
        if type(thing) is list:
            return [self._encode(item, f"{where}[{k}]") for k, item in enumerate(thing)]
        if type(thing) is tuple:
            return {"is": "tuple", "items": self._encode(list(thing), where)}
        if type(thing) is dict:
            return {"is": "dict", "items": self._encode_pairs(thing, where)}
        if type(thing) in (set, frozenset):
            items = self._encode(sorted(thing, key=repr), where)
            return {"is": type(thing).__name__, "items": items}
        if type(thing) is slice:
            return {"is": "slice", "items": self._encode([thing.start, thing.stop, thing.step], where)}
        return {"is": "entry", "at": self.add(thing, where)}

    def _encode_fields(self, values: dict[str, Any], where: str) -> dict[str, Any]:
        return {name: self._encode(value, f"{where}.{name}") for name, value in values.items()}

    def add(self, thing: Any, where: str) -> int:
        """Return the number of the entry that holds a thing; add the entry if there is none."""
        if id(thing) in self._known:
            return self._known[id(thing)]
        if id(thing) in self._open:
            raise ValueError(f"{where} contains itself: remove the reference")
        self._open.add(id(thing))
        entry = self._make_entry(thing, where)
        self._open.remove(id(thing))
        self.entries.append(entry)
        self.places.append(where)
        self._alive.append(thing)
        self._known[id(thing)] = len(self.entries) - 1
        return len(self.entries) - 1

    def _encode_pairs(self, thing: dict[Any, Any], where: str) -> list[list[Any]]:
        return [
            [self._encode(key, f"{where} (a key)"), self._encode(v, f"{where}[{key!r}]")] for key, v in thing.items()
        ]

    def _make_entry(self, thing: Any, where: str) -> dict[str, Any]:
        if type(thing) in (np.ndarray, np.memmap):
            return self._add_array(np.asarray(thing), where)
        if isinstance(thing, np.generic) and thing.dtype.kind in SCALAR_KINDS and not isinstance(thing, np.longdouble):
            return {"kind": "scalar", "dtype": thing.dtype.str, "value": self._encode(thing.item(), where)}
        for layout, classes in SPARSE_CLASSES.items():
            if type(thing) in classes:
                parts = {key: getattr(thing, key) for key in ("shape", "data", "indices", "indptr")}
                is_array = isinstance(thing, sparse.sparray)
                return {"kind": "sparse", "format": layout, "is_array": is_array, **self._encode_fields(parts, where)}
        if isinstance(thing, np.dtype) and thing.kind == "O":
            return {"kind": "dtype", "dtype": OBJECT_TYPE}
        if isinstance(thing, np.dtype) and thing.names is None and not thing.hasobject:
            return {"kind": "dtype", "dtype": thing.str}
        if (name := get_name(thing, VALUES) if callable(thing) else None) is not None:
            return {"kind": "name", "name": name}
        if (kind := find_kind(thing)) is not None:
            return {"kind": kind, **self._encode_fields(COMPILED[kind].write(thing), where)}
        return self._describe_object(thing, where)

    def _add_array(self, thing: Labels, where: str) -> dict[str, Any]:
        if thing.dtype.kind == "O":
            items = [self._encode(item, f"{where}[{k}]") for k, item in enumerate(thing.ravel().tolist())]
            return {"kind": "items", "shape": list(thing.shape), "items": items}
        if thing.dtype.hasobject or thing.dtype.kind in "mM":
            raise ValueError(f"{where} is an array of {thing.dtype}: model files hold arrays of numbers and text")
        self.arrays.append(thing)
        return {"kind": "array", "number": len(self.arrays) - 1}

    def _describe_object(self, thing: Any, where: str) -> dict[str, Any]:
        if (learner := find_learner(thing)) is not None:
            thing = _convert_booster(thing, learner, where)
        name = get_class_name(type(thing))
        if name is None:
            raise ValueError(_explain_refusal(thing, where))
        version = {"version": type(thing).__stored_state__.version} if is_own(name) else {}
        stored = thing.stored_form() if isinstance(thing, HasStoredForm) else thing
        return {
            "kind": "object",
            "class": name,
            **version,
            "fields": self._encode_fields(get_values(stored, name), where),
        }


def _convert_booster(booster: Any, learner: str, where: str) -> Any:
    try:
        return make_stored_booster(booster, learner)
    except ValueError as error:
        raise ValueError(f"{where} is a {type(booster).__name__} that cannot be saved: {error}") from error


def _explain_refusal(thing: Any, where: str) -> str:
    """Return why an object cannot be saved, and what to do."""
    kind = f"{type(thing).__module__}.{type(thing).__qualname__}"
    no_code = "and a model file holds no code"
    if isinstance(thing, Measure):
        return (
            f"{where} is the measure {thing.name!r} of a class of your own, {no_code}: make it by "
            "metricwise.contingency_measure, whose measures are saved without their functions"
        )
    if isinstance(thing, types.FunctionType | types.BuiltinFunctionType | types.MethodType | np.ufunc | type):
        return f"{where} is {thing.__name__!r}, {no_code}: use a setting that has a name instead"
    if type(thing).__name__ == "make_column_selector" or (kind.startswith("pandas.") and hasattr(thing, "tolist")):
        return f"{where} is of the type {type(thing).__name__}: give a list of names of columns, and train again"
    if isinstance(thing, PretrainedClassifier):
        return (
            f"{where} is the candidate {thing.package!r}, whose network model files do not hold: leave it out of "
            "candidates and train again, or keep this model by pickle, where you trust the file"
        )
    if kind.startswith(f"{SEARCH_MODULE}."):
        return f"{where} is a search: save its best_estimator_"
    return (
        f"{where} is of the type {kind}, which model files do not hold: they hold the estimators of metricwise, many "
        "of scikit-learn and the classifiers of LightGBM, XGBoost and CatBoost, with numbers, text, arrays and sparse "
        "matrices as settings"
    )
