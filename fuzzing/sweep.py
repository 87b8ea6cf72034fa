"""Every field that model files hold, removed or replaced, one after the other: what random changes may miss.

``python -m fuzzing --sweep`` runs these cases. A field of a class is changed in the first model file that has it, so
that each pair of class and field is tried once, with values of every type and with objects of every class of the file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Container, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from fuzzing.cases import pack_bytes
from fuzzing.model_files import find_objects, read_archive, write_archive
from fuzzing.models import FORMAT_1, extract_models
from fuzzing.mutation import list_places
from fuzzing.workers import Job

_ARRAYS = {  # which a field may refer to
    "no numbers": np.zeros(0),
    "one number": np.zeros(1),
    "one NaN": np.full(1, np.nan),
    "a table": np.zeros((2, 3)),
    "integers": np.arange(3),
    "texts": np.array(["a", "b"]),
}
_VALUES: dict[str, Any] = {
    "nothing": None,
    "true": True,
    "minus one": -1,
    "zero": 0,
    "many": 10**9,
    "too many": 10**30,
    "a half": 0.5,
    "huge": 1e308,
    "no text": "",
    "text": "x",
    "list": [],
    "list of one": [1],
    "tuple": {"is": "tuple", "items": []},
    "dictionary": {"is": "dict", "items": []},
}
_REMOVED = object()


def list_sweep(only: Container[str] | None = None) -> Iterator[Job]:
    """Yield a job for every change of every field of every class in the model files of the corpus.

    Parameters
    ----------
    only : container of str, optional
        Names of jobs, such as "sklearn.svm.SVC.n_iter_=removed": others are left out.
    """
    seen: set[tuple[str, str]] = set()
    with tempfile.TemporaryDirectory(prefix="fuzzing-") as folder:
        for path in extract_models(Path(folder)):
            if not path.name.startswith(FORMAT_1):
                yield from _change_fields(path, seen, only)


def _change_fields(path: Path, seen: set[tuple[str, str]], only: Container[str] | None) -> Iterator[Job]:
    header, model, arrays = read_archive(path)
    for at, key in _list_fields(model["entries"], seen):
        for way, value in _list_changes(model["entries"][:at]).items():
            name = f"{model['entries'][at]['class']}.{key}={way}"
            if only is None or name in only:
                changed = deepcopy(model)
                added = _change_field(changed["entries"], at, key, value, len(arrays))
                content = write_archive(header, changed, {**arrays, **added})
                yield Job(name, case={"model": path.name, "content": pack_bytes(content)})


def _list_fields(entries: list[dict[str, Any]], seen: set[tuple[str, str]]) -> Iterator[tuple[int, str]]:
    """Yield the fields of objects whose class and name have not been seen yet, with the position of the object."""
    for at, entry in enumerate(entries):
        for key in [key for one in find_objects([entry]) for key in one["fields"]]:
            if (entry["class"], key) not in seen:
                seen.add((entry["class"], key))
                yield at, key


def _list_changes(earlier: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a field may become, by name; objects are those that come before its own, the first of every class."""
    objects = {entry["class"]: at for at, entry in reversed(list(enumerate(earlier))) if "class" in entry}
    references = {name: {"is": "entry", "at": at} for name, at in objects.items()}
    return {"removed": _REMOVED, **_VALUES, **_ARRAYS, **references}


def _change_field(entries: list[dict[str, Any]], at: int, key: str, value: Any, n_arrays: int) -> dict[int, Any]:
    """Change a field of an entry; return the array that it refers to then, by its number."""
    if value is _REMOVED:
        del entries[at]["fields"][key]
        return {}
    if not isinstance(value, np.ndarray):
        entries[at]["fields"][key] = value
        return {}
    for home, name in list_places(entries):  # entries refer to earlier ones: the array comes first
        if name == "at":
            home[name] += 1
    entries[at]["fields"][key] = {"is": "entry", "at": 0}
    entries.insert(0, {"kind": "array", "number": n_arrays})
    return {n_arrays: value}
