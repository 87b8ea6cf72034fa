"""Mutants of zip archives of arrays and JSON texts: model files, checkpoints and npz files."""

from __future__ import annotations

import hashlib
import io
import zipfile
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzzing.mutation import mutate_array, mutate_bytes, mutate_json

_CHECKSUM_BYTES = 64
Members = dict[str, bytes]


def read_members(content: bytes) -> Members:
    """Return the members of an archive by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(members: Members, has_checksum: bool, is_compressed: bool = False) -> bytes:
    """Return an archive; with the checksum of a model file behind it, if asked for."""
    buffer = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if is_compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", method) as archive:
        if has_checksum:
            archive.comment = b"0" * _CHECKSUM_BYTES
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    content = buffer.getvalue()
    return repair_checksum(content) if has_checksum else content


def repair_checksum(content: bytes) -> bytes:
    """Return a model file whose checksum is that of the bytes before it."""
    body = content[:-_CHECKSUM_BYTES]
    return body + hashlib.sha256(body).hexdigest().encode()


def mutate_archive(content: bytes, random: Random, has_checksum: bool = False) -> bytes:
    """Return an archive with changed members, or changed bytes; a checksum is made right."""
    if random.random() < 0.1:
        changed = mutate_bytes(content, random)
        return repair_checksum(changed) if has_checksum and random.random() < 0.8 else changed
    members = read_members(content)
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        name = random.choice(list(members))
        change = random.randrange(12)
        if change == 0 and len(members) > 1:
            del members[name]
        elif change == 1:
            members[random.choice(list(members))] = members[name]
        elif change == 2:
            members[name] = mutate_bytes(members[name], random)
        elif name.endswith(".json"):
            members[name] = mutate_json(members[name], random)
        else:
            members[name] = _mutate_member(members[name], random)
    return write_members(members, has_checksum, is_compressed=random.random() < 0.05)


def _mutate_member(content: bytes, random: Random) -> bytes:
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # of any kind: a member may be a mutant already
        return mutate_bytes(content, random)
    if (
        random.random() < 0.15 and b"\n" in content[content.index(b"{") :]
    ):  # a mutant may have lost the end of its header
        return _change_header(content, random)
    return write_array(mutate_array(array, random))


def _change_header(content: bytes, random: Random) -> bytes:
    """Return an array whose header declares another shape or type than its bytes have."""
    start = content.index(b"{")
    end = content.index(b"\n", start)
    header = content[start:end].rstrip()
    claims: list[tuple[bytes, bytes]] = [(b"(", b"(99999999, "), (b"(", b"(-1, "), (b"<f8", b"<f4"), (b"<i8", b"|O8")]
    claims += [(b"False", b"True"), (b"<f8", b"|V8"), (b"(", b"(9223372036854775807, "), (b"<", b">")]
    before, after = random.choice(claims)
    return content[:start] + header.replace(before, after, 1).ljust(end - start) + content[end:]


def write_array(array: NDArray[Any]) -> bytes:
    """Return an array in numpy's format."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
