"""Make a model from the entries of a file, which `metricwise.persistence.tree_writer` describes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from metricwise._typing import Labels
from metricwise.csr import check_csr_arrays
from metricwise.persistence.allowed import find_class
from metricwise.persistence.compiled import COMPILED
from metricwise.persistence.names import VALUES, find_value, is_own
from metricwise.persistence.objects import make_object
from metricwise.persistence.old import NEWEST_FORMAT, StoredObject, translate, upgrade
from metricwise.persistence.tree_writer import OBJECT_TYPE, SCALAR_KINDS, SPARSE_CLASSES

_DEEPEST = 100
_PLAIN = (bool, int, str)
_HASHABLE = (bool, int, str, float, np.generic, type(None))
# What a reference stands for counts once per reference, so that no small file stands for a vast model: references may
# repeat what a file holds so many times over.
_MOST_REPETITIONS = 20
_FREE_PARTS = 5_000
_MOST_COPIES = 8  # of the bytes of arrays, in matrices and trees that are made of them
_FREE_BYTES = 1 << 26


class TreeReader:
    """Reads entries of a file; raises a ValueError for any unexpected content.

    Parameters
    ----------
    array : callable
        Returns the array with a given number.
    file_format : int
        The format of the file.
    restore : callable
        Returns an object of the file, or the one that the user gives in its place.
    """

    def __init__(self, array: Callable[[int], Labels], file_format: int, restore: Callable[[Any], Any]) -> None:
        self._read_array, self._format, self._restore = array, file_format, restore
        self._read_so_far: list[Any] = []
        self._n_parts: list[int] = []  # of each entry, those of the entries that it refers to included
        self._parts_of_entry = 0
        self._arrays: dict[int, Labels] = {}
        self._bytes_of_arrays = self._bytes_of_copies = 0
        self._readers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "object": self._read_object,
            "array": lambda entry: self._share_array(_check_index(entry["number"])),
            "items": self._read_items,
            "sparse": self._read_sparse,
            "scalar": self._read_scalar,
            "dtype": lambda entry: _make_dtype(entry["dtype"]),
            "name": lambda entry: find_value(entry["name"], VALUES),
        }

    @property
    def n_read(self) -> int:
        """How many entries have been read."""
        return len(self._read_so_far)

    def read(self, entries: Any) -> Any:
        """Return what the last entry stands for."""
        most_parts = _MOST_REPETITIONS * len(_check_type(entries, list)) + _FREE_PARTS
        for entry in entries:
            self._parts_of_entry = 1
            made = self._read_entry(_check_type(entry, dict))
            if self._parts_of_entry > most_parts:
                raise ValueError("its parts are repeated too often")
            self._read_so_far.append(made)
            self._n_parts.append(self._parts_of_entry)
        return self._read_so_far[-1]

    def _share_array(self, number: int) -> Labels:
        """Return an array, the same for every entry that names it."""
        if number not in self._arrays:
            self._arrays[number] = self._read_array(number)
            self._bytes_of_arrays += self._arrays[number].nbytes
        return self._arrays[number]

    def _count_copies(self, *arrays: Labels) -> None:
        """Raise a ValueError if more copies are made of arrays than any model has."""
        self._bytes_of_copies += sum(array.nbytes for array in arrays)
        if self._bytes_of_copies > _MOST_COPIES * self._bytes_of_arrays + _FREE_BYTES:
            raise ValueError("its arrays are repeated too often")

    def _decode(self, written: Any, depth: int = 0) -> Any:
        """Return what a JSON value stands for."""
        if depth > _DEEPEST:
            raise ValueError("values are nested too deeply")
        if written is None or type(written) in _PLAIN or type(written) is float:
            return written
        if type(written) is list:
            return [self._decode(item, depth + 1) for item in written]
        kind = _check_type(written, dict)["is"]
        if kind == "entry":
            at = _check_index(written["at"])
            if at >= len(self._read_so_far):
                raise ValueError("an entry refers to one that follows it")
            self._parts_of_entry += self._n_parts[at]
            return self._read_so_far[at]
        if kind == "float":
            return {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}[written["value"]]
        if kind == "dict":
            pairs = [_check_type(pair, list) for pair in _check_type(written["items"], list)]
            return {_check_key(self._decode(key, depth + 1)): self._decode(value, depth + 1) for key, value in pairs}
        items = self._decode(_check_type(written["items"], list), depth + 1)
        if kind == "slice":
            return slice(*items)
        if kind == "tuple":
            return tuple(items)
        return {"set": set, "frozenset": frozenset}[kind](map(_check_key, items))

    def _decode_fields(self, written: Any) -> dict[str, Any]:
        return {name: self._decode(value) for name, value in _check_type(written, dict).items()}

    def _read_entry(self, entry: dict[str, Any]) -> Any:
        kind = _check_type(entry["kind"], str)
        if kind in self._readers:
            return self._readers[kind](entry)
        if kind not in COMPILED:
            raise ValueError(f"it has an entry of the unknown kind {kind[:100]!r}")
        values = self._decode_fields({name: value for name, value in entry.items() if name != "kind"})
        self._count_copies(*(value for value in values.values() if isinstance(value, np.ndarray)))
        return COMPILED[kind].read(values)

    def _read_items(self, entry: dict[str, Any]) -> Labels:
        items = self._decode(_check_type(entry["items"], list))
        shape = tuple(_check_index(size) for size in _check_type(entry["shape"], list))
        made = np.empty(len(items), dtype=object)
        for k, item in enumerate(items):  # one by one: numpy would make columns of lists
            made[k] = item
        return made.reshape(shape)

    def _read_sparse(self, entry: dict[str, Any]) -> Any:
        cls = SPARSE_CLASSES[entry["format"]][bool(entry["is_array"])]
        rows, columns = (_check_index(size) for size in self._decode(entry["shape"]))
        data, indices, indptr = (
            _check_type(self._decode(entry[key]), np.ndarray) for key in ("data", "indices", "indptr")
        )
        if data.dtype.kind not in "biuf":
            raise ValueError("a sparse matrix is not made of numbers")
        try:
            check_csr_arrays(data, indices, indptr, (rows, columns) if entry["format"] == "csr" else (columns, rows))
        except ValueError as error:
            raise ValueError(f"a sparse matrix is damaged: {error}") from None
        self._count_copies(data, indices, indptr)
        return cls((data, indices, indptr), shape=(rows, columns))

    def _read_scalar(self, entry: dict[str, Any]) -> Any:
        dtype = _make_dtype(entry["dtype"])
        if dtype.kind not in SCALAR_KINDS or (dtype.kind == "U" and dtype.itemsize > 4 * len(entry["value"]) + 4):
            raise ValueError("a number has the type of something else")
        return dtype.type(self._decode(entry["value"]))

    def _read_object(self, entry: dict[str, Any]) -> Any:
        written = StoredObject(entry["class"], entry.get("version"), self._decode_fields(entry["fields"]))
        stored = written if self._format == NEWEST_FORMAT else translate(written)
        if stored.is_gone:
            return stored
        cls = find_class(stored.name)
        if is_own(stored.name) and stored.version != cls.__stored_state__.version:
            stored = upgrade(stored, cls.__stored_state__.version)
        return self._restore(make_object(cls, stored.name, stored.values))


def _check_type(value: Any, cls: type) -> Any:
    if not isinstance(value, cls):
        raise ValueError(f"there is {type(value).__name__} where {cls.__name__} belongs")
    return value


def _check_key(value: Any) -> Any:
    """Return a member of a set or a key: plain, because hashes of what contains others take their time."""
    if not isinstance(value, _HASHABLE):
        raise ValueError(f"there is {type(value).__name__} where a number or text belongs")
    return value


def _check_index(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"there is {str(value)[:50]!r} where a whole number belongs")
    return value


def _make_dtype(text: Any) -> Any:
    if text == OBJECT_TYPE:
        return np.dtype(object)  # schemas accept it where a model has one
    dtype = np.dtype(_check_type(text, str))
    if dtype.hasobject or dtype.names is not None:
        raise ValueError(f"{dtype} is no type of numbers")
    return dtype
