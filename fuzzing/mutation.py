"""Mutants of bytes, numbers, arrays and JSON values."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBERS = (0, 1, -1, 2, 7, 255, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63), 2**64, 10**30)
FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-320, 1e-8, 1e8, 1e154, 1e200, 1e308, float("nan"), float("inf"), float("-inf"))
TEXTS = (
    "",
    "0",
    "1",
    "nan",
    "auto",
    "linear",
    "x" * 300,
    "é\u2028",
    "\0",
    "../x",
    "metricwise.measures.contingency.FBeta",
)
DTYPES = ("<f8", ">f8", "<f4", "<f2", "<i8", "<i4", "|i1", "|u1", "<u8", "|b1", "<c16", "<U3", "|S2", "<M8[s]", "|V4")
TOKENS: tuple[bytes, ...] = (
    b'"',
    b"'",
    b",",
    b";",
    b"\n",
    b"\r",
    b"\0",
    b"{",
    b"}",
    b"@data\n",
    b":",
    b"1e999",
    b"nan",
    b"-",
    b"\xff",
)
TOKENS += (
    b"99999999999999999999",
    b"%",
    b"#",
    b"\\",
    b" ",
    b"\t",
    b"?",
    b"e",
    b"0:1",
    b"\x1f\x8b",
    b"PAR1",
    b"PK\x03\x04",
)
TOKENS += (b"9" * 400, b"0." + b"1" * 900, b"1e-400", b"\xef\xbb\xbf", b"qid:1", b"@attribute a {", b"\xff\xff\xff\x7f")


def mutate_bytes(content: bytes, random: Random, most_changes: int = 6) -> bytes:
    """Return bytes with some changes: bytes, bits, tokens, pieces removed, copied or moved, or a broken end."""
    data = bytearray(content)
    for _ in range(random.randint(1, most_changes)):
        at = random.randrange(len(data) + 1)
        end = min(len(data), at + random.randint(1, 30))
        change = random.randrange(7)
        if change == 0 and at < len(data):
            data[at] = random.randrange(256)
        elif change == 1 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif change == 2:
            data[at:at] = random.choice(TOKENS)
        elif change == 3:
            del data[at:end]
        elif change == 4:
            data[at:at] = data[at:end] * random.randint(1, 4)
        elif change == 5 and random.random() < 0.3:
            del data[at:]
        else:
            data[at:end] = random.choice(TOKENS) * random.randint(1, 3)
    return bytes(data)


def mutate_array(array: NDArray[Any], random: Random) -> NDArray[Any]:
    """Return an array with other values, another type, another shape or another order."""
    change = random.randrange(8)
    if change <= 2 and array.size:
        return _replace_values(array, random)
    if change == 3:
        return _cast(array, random.choice(DTYPES))
    if change == 4:
        return array.reshape(_choose_shape(array, random))
    if change == 5 and array.ndim and array.size:
        axis = random.randrange(array.ndim)
        kept = random.choice([0, 1, array.shape[axis] - 1, array.shape[axis] + 1, 2 * array.shape[axis]])
        return np.resize(array, (*array.shape[:axis], kept, *array.shape[axis + 1 :]))
    if change == 6 and array.ndim and array.size:
        return np.roll(array, random.randrange(1, 5)) if random.random() < 0.5 else array[::-1]
    return np.array(random.choice([*NUMBERS[:10], *FLOATS]))


def _replace_values(array: NDArray[Any], random: Random) -> NDArray[Any]:
    changed = array.copy().reshape(-1)
    for _ in range(random.choice([1, 1, 3, changed.size])):
        at = random.randrange(changed.size)
        kind = changed.dtype.kind
        if kind in "iu":
            limits = np.iinfo(changed.dtype)
            choices = [
                limits.min,
                limits.max,
                0,
                1,
                int(changed.max()) + 1,
                -1,
                int(changed[random.randrange(changed.size)]),
            ]
            changed[at] = min(max(random.choice(choices), limits.min), limits.max)
        elif kind == "f":
            with np.errstate(over="ignore"):
                changed[at] = random.choice([*FLOATS, float(changed[at]) * random.choice([-1, 1e3, 1 + 1e-9])])
        elif kind == "b":
            changed[at] = not changed[at]
        else:
            changed[at] = changed[random.randrange(changed.size)]
    return changed.reshape(array.shape)


def _cast(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    try:
        with np.errstate(all="ignore"):
            return array.astype(dtype)
    except (ValueError, TypeError, RuntimeError):  # the latter where a date does not fit into a text
        return np.zeros(array.shape, dtype=dtype)


def _choose_shape(array: NDArray[Any], random: Random) -> tuple[int, ...]:
    size = array.size
    return random.choice([(size,), (size, 1), (1, size), (1, 1, size), array.shape[::-1], (*array.shape, 1)])


def mutate_json(content: bytes, random: Random, most_changes: int = 3) -> bytes:
    """Return a JSON text with some values replaced, removed, copied, exchanged or nested."""
    try:
        value = json.loads(content)
    except ValueError:
        return mutate_bytes(content, random)
    for _ in range(random.randint(1, most_changes)):
        places = list(list_places(value))
        if not places:
            break
        container, key = random.choice(places)
        other, other_key = random.choice(places)
        change = random.randrange(6)
        if change <= 2:
            container[key] = _replace_scalar(container[key], random)
        elif change == 3:
            container[key] = json.loads(json.dumps(other[other_key]))
        elif change == 4 and isinstance(container, dict):
            container[random.choice(["is", "kind", "at", "items", "value", key + "_"])] = container.pop(key)
        else:
            del container[key]
    return json.dumps(value).encode()


def list_places(value: Any) -> list[tuple[Any, Any]]:
    """Return all containers with a key in them; only those that a walk from the root reaches."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        container = waiting.pop()
        keys = (
            range(len(container)) if isinstance(container, list) else container if isinstance(container, dict) else ()
        )
        for key in keys:
            found.append((container, key))
            waiting.append(container[key])
    return found


def _replace_scalar(value: Any, random: Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int) and random.random() < 0.7:
        return random.choice([*NUMBERS, value + 1, value - 1, -value])
    if isinstance(value, float) and random.random() < 0.7:
        return random.choice([*FLOATS[:10], value * 2.0, -value])
    return random.choice(
        [None, True, random.choice(NUMBERS), random.choice(FLOATS[:10]), random.choice(TEXTS), [], {}, [value]]
    )
