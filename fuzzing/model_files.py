"""Mutants of model files: structure and values are changed, and the checksum is made right again.

Every mutant is an archive that the reader opens; what is wrong with it is inside. `mutate` draws one change; `KINDS`
names all of them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fuzzing.archives import read_members, write_array, write_members
from fuzzing.mutation import list_places

Random = np.random.Generator
Entries = list[dict[str, Any]]
Arrays = dict[int, Any]

_NUMBERS = (-1, 0, 1, 2, 3, 255, 2**31 - 1, 2**31, 2**63 - 1, -(2**31), 10**30, 0.5, -1e308, 1e308)
_OTHERS = (
    None,
    True,
    False,
    "",
    "x",
    "filename",
    "precomputed",
    "passthrough",
    "drop",
    [],
    [1],
    {"is": "tuple", "items": []},
)
_FLOATS = (np.nan, np.inf, -np.inf, 0.0, 1e308, -1e308, 1e-320)
_HAZARDS: dict[str, Any] = {
    "n_jobs": 40,
    "n_features": 0,
    "degree": 10**6,
    "input": "filename",
    "token_pattern": "(a+)+$",
    "ngram_range": {"is": "tuple", "items": [1, 10**9]},
    "memory": "/tmp",
    "n_features_in_": 10**9,
    "n_components": 10**9,
    "leaf_size": 10**12,
    "n_outputs_": 10**6,
    "n_classes_": 10**6,
    "_strategy": "stratified",
    "strategy": "uniform",
    "kernel": "precomputed",
    "algorithm": "brute",
    "encode": "onehot",
}


# ---------------------------------------------------------------------------------------------------------- the archive


def read_archive(path: Path) -> tuple[bytes, Any, Arrays]:
    """Return the header, the model and the arrays of a model file."""
    members = read_members(path.read_bytes())
    header, model = members.pop("header.json"), json.loads(members.pop("model.json"))
    arrays = {int(name[6:-4]): np.load(io.BytesIO(content), allow_pickle=False) for name, content in members.items()}
    return header, model, arrays


def write_archive(header: bytes, model: Any, arrays: Arrays) -> bytes:
    """Return the bytes of a model file with the right checksum."""
    members = {"header.json": header, "model.json": json.dumps(model).encode()}
    members |= {f"array_{number}.npy": write_array(array) for number, array in arrays.items()}
    return write_members(members, has_checksum=True)


# ---------------------------------------------------------------------------------------------------------- the changes


def _draw(random: Random, things: Any) -> Any:
    return things[int(random.integers(len(things)))]


def find_objects(entries: Entries) -> Entries:
    """Return the entries that are objects with attributes."""
    return [entry for entry in entries if isinstance(entry.get("fields"), dict) and entry["fields"]]


def change_value(entries: Entries, arrays: Arrays, random: Random) -> None:
    """Replace a number, text or flag by an extreme or foreign one."""
    places = [(home, key) for home, key in list_places(entries) if not isinstance(home[key], dict | list)]
    home, key = _draw(random, places)
    is_number = isinstance(home[key], int | float) and not isinstance(home[key], bool)
    home[key] = _draw(random, _NUMBERS if is_number and random.random() < 0.7 else (*_NUMBERS, *_OTHERS))


def drop_field(entries: Entries, arrays: Arrays, random: Random) -> None:
    """Remove a stored attribute."""
    fields = _draw(random, find_objects(entries))["fields"]
    del fields[_draw(random, list(fields))]


def add_field(entries: Entries, arrays: Arrays, random: Random) -> None:
    """Add an attribute of another object."""
    objects = find_objects(entries)
    other = _draw(random, objects)["fields"]
    name = _draw(random, [*other, "predict", "__class__", "_tree", "memory"])
    _draw(random, objects)["fields"][name] = other.get(name, 1)


def exchange_fields(entries: Entries, arrays: Arrays, random: Random) -> None:
    """Exchange two attributes of an object."""
    fields = _draw(random, find_objects(entries))["fields"]
    first, second = _draw(random, list(fields)), _draw(random, list(fields))
    fields[first], fields[second] = fields[second], fields[first]


def redirect_reference(entries: Entries, arrays: Arrays, random: Random) -> None:
    """Let a reference name another entry."""
    places = [home for home, key in list_places(entries) if key == "at"]
    if places:
        _draw(random, places)["at"] = int(random.integers(len(entries)))


def rename_class(entries: Entries, arrays: Arrays, random: Random) -> None:
    """Give an object the class of another."""
    objects = [entry for entry in entries if "class" in entry]
    _draw(random, objects)["class"] = _draw(random, objects)["class"]


def change_list(entries: Entries, arrays: Arrays, random: Random) -> None:
    """Remove, repeat or reorder items of a list."""
    places = [home[key] for home, key in list_places(entries) if isinstance(home[key], list) and home[key]]
    if not places:
        return
    chosen = _draw(random, places)
    at = int(random.integers(len(chosen)))
    way = int(random.integers(4))
    if way == 0:
        del chosen[at]
    elif way == 1:
        chosen.append(chosen[at])
    elif way == 2:
        chosen.reverse()
    else:
        chosen[:] = [chosen[at]] * 4000


def set_hazard(entries: Entries, arrays: Arrays, random: Random) -> None:
    """Set a parameter that starts processes, reads files, compiles expressions or asks for much memory."""
    places = [(entry["fields"], key) for entry in find_objects(entries) for key in entry["fields"] if key in _HAZARDS]
    if not places:
        change_value(entries, arrays, random)
        return
    fields, key = _draw(random, places)
    fields[key] = _HAZARDS[key]


def change_numbers(entries: Entries, arrays: Arrays, random: Random) -> None:
    """Replace numbers of an array by extreme ones."""
    number = _draw(random, sorted(arrays))
    array = arrays[number] = arrays[number].copy()
    if not array.size:
        return
    names = array.dtype.names
    part = array if names is None else array[_draw(random, names)]
    at = random.integers(part.size, size=int(random.integers(1, 4)))
    flat = part.reshape(-1)
    if part.dtype.kind in "iu":
        limits = np.iinfo(part.dtype)
        flat[at] = _draw(random, [limits.min, limits.max, 0, 1, part.size % limits.max])
    elif part.dtype.kind == "f":
        with np.errstate(all="ignore"):
            flat[at] = np.asarray(_draw(random, _FLOATS)).astype(part.dtype)
    elif part.dtype.kind == "b":
        flat[at] = ~flat[at]
    else:
        flat[at] = flat[0]
    part.reshape(-1)[:] = flat
    if names is None:
        arrays[number] = flat.reshape(array.shape)


def reshape_array(entries: Entries, arrays: Arrays, random: Random) -> None:
    """Change the shape, type or order of an array."""
    number = _draw(random, sorted(arrays))
    array = arrays[number]
    way = int(random.integers(7))
    if way == 0:
        changed = array[:-1] if array.ndim else array.reshape(1)
    elif way == 1:
        changed = np.concatenate([array, array]) if array.ndim else array.reshape(1, 1)
    elif way == 2:
        changed = array.reshape(-1)
    elif way == 3:
        changed = np.asfortranarray(array.reshape(1, *array.shape))
    elif way == 4:
        changed = array[:0] if array.ndim else array
    elif way == 5 and array.dtype.names is None and array.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            changed = array.astype(_draw(random, ["<i4", "<f4", ">f8", "<u2", "?", "<c16", "<f2", "<U3"]))
    else:
        changed = np.asfortranarray(array)
    arrays[number] = changed


def change_rows(entries: Entries, arrays: Arrays, random: Random) -> None:
    """Let rows of a sparse matrix begin or end where no entries are."""
    matrices = [entry for entry in entries if entry["kind"] == "sparse"]
    if not matrices:
        change_numbers(entries, arrays, random)
        return
    number = entries[_draw(random, matrices)["indptr"]["at"]]["number"]
    rows = arrays[number] = arrays[number].copy()
    inside = slice(int(random.integers(1, rows.size)), None)
    way = int(random.integers(4))
    if way == 0:
        rows[1:], rows[-1] = 2**30, 0
    elif way == 1:
        rows[inside] += _draw(random, [-(2**30), -1, 1, 2**30])
    elif way == 2:
        rows[inside] = rows[inside][::-1]
    else:
        rows[inside][:3] = np.array([2**31 - 1, -(2**31), -1])[: rows[inside].size]  # their differences overflow


def repeat_array(entries: Entries, arrays: Arrays, random: Random) -> None:
    """Let thousands of entries name one array."""
    number = _draw(random, sorted(arrays))
    last = entries.pop()
    start = len(entries)
    entries += [{"kind": "array", "number": number} for _ in range(4000)]
    last["fields"]["copies"] = [{"is": "entry", "at": start + k} for k in range(4000)]
    entries.append(last)


def nest_containers(entries: Entries, arrays: Arrays, random: Random) -> None:
    """Put sets or tuples into one another in place of a value."""
    kind = _draw(random, ["frozenset", "tuple", "set", "dict"])
    nested: Any = {"is": "tuple", "items": []}
    for _ in range(int(random.integers(2, 40))):
        nested = {"is": kind, "items": [[nested, 1]] if kind == "dict" else [nested]}
    fields = _draw(random, find_objects(entries))["fields"]
    fields[_draw(random, list(fields))] = nested


KINDS: dict[str, Callable[[Entries, Arrays, Random], None]] = {
    "value": change_value,
    "missing attribute": drop_field,
    "unknown attribute": add_field,
    "exchanged attributes": exchange_fields,
    "reference": redirect_reference,
    "class": rename_class,
    "list": change_list,
    "hazard": set_hazard,
    "numbers": change_numbers,
    "shape": reshape_array,
    "rows": change_rows,
    "copies": repeat_array,
    "nesting": nest_containers,
}
# Changes of values find more than changes that any reader must refuse.
_ODDS = {"value": 6.0, "numbers": 5.0, "shape": 3.0, "hazard": 3.0, "reference": 2.0, "list": 2.0, "copies": 0.3}


def mutate(path: Path, random: Random) -> bytes:
    """Return the bytes of a mutant of a model file.

    Parameters
    ----------
    path : Path
        A file that `metricwise.save` has written.
    random : Generator
        Draws the change, those of values more often than others.
    """
    header, model, arrays = read_archive(path)
    odds = np.array([_ODDS.get(kind, 1.0) for kind in KINDS])
    kind = str(random.choice(list(KINDS), p=odds / odds.sum()))
    needs_arrays = kind in ("numbers", "shape", "rows", "copies")
    KINDS["value" if needs_arrays and not arrays else kind](model["entries"], arrays, random)
    return write_archive(header, model, arrays)
