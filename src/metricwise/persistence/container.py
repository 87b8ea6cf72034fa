"""The file around a model: a zip archive of JSON texts and arrays, closed by a checksum of all bytes before it.

The archive's comment, the last 64 bytes of the file, is the SHA-256 of everything before it. Members are stored, not
compressed, and there are no others than these:

==================  ==================================================================================
``header.json``     format, kind of model, versions, training command, fingerprint of the data
``model.json``      the model without its arrays (`metricwise.persistence.tree_writer`)
``array_<k>.npy``   arrays of numbers or text, in numpy's format, never of objects
==================  ==================================================================================

So no member can be larger than the file, and `numpy.load` and any unzip program can open it.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from metricwise._typing import Labels
from metricwise.io.atomic import atomic_file
from metricwise.io.npy import parse_npy

HEADER, TREE = "header.json", "model.json"
_CHECKSUM_BYTES = 64
_MOST_HEADER_BYTES = 1 << 20
_BLOCK = 1 << 20
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that a model gives the same file at any time
_MEMBER = re.compile(r"header\.json|model\.json|array_(0|[1-9][0-9]{0,8})\.npy")
_NUMBERS_AND_TEXT = "biufcUSV"


# ------------------------------------------------------------------------------------------------------------- writing


def write_container(path: Path, header: dict[str, Any], tree: dict[str, Any], arrays: list[Labels]) -> None:
    """Write a file as a whole or not at all."""
    with atomic_file(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.comment = b"0" * _CHECKSUM_BYTES
            _add(archive, HEADER, _to_json(header))
            _add(archive, TREE, _to_json(tree))
            for number, array in enumerate(arrays):
                with archive.open(_make_info(f"array_{number}.npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        checksum = _compute_checksum(file)
        file.seek(-_CHECKSUM_BYTES, io.SEEK_END)
        file.write(checksum)


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(_make_info(name), content)


def _make_info(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, _BEGINNING)


def _to_json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def _compute_checksum(file: BinaryIO) -> bytes:
    """Return the SHA-256 of a file without its last bytes, which contain it."""
    left = file.seek(0, io.SEEK_END) - _CHECKSUM_BYTES
    file.seek(0)
    found = hashlib.sha256()
    while left > 0 and (block := file.read(min(left, _BLOCK))):
        found.update(block)
        left -= len(block)
    return found.hexdigest().encode("ascii")


# ------------------------------------------------------------------------------------------------------------- reading


class Container:
    """An open file with the right checksum and no members but those allowed."""

    def __init__(self, archive: zipfile.ZipFile, checksum: str) -> None:
        self._archive, self.checksum = archive, checksum

    def read_header(self) -> Any:
        """Return the header."""
        if self._archive.getinfo(HEADER).file_size > _MOST_HEADER_BYTES:
            raise ValueError("its header is too long")
        return self._read_json(HEADER)

    def read_tree(self) -> Any:
        """Return the model without its arrays."""
        return self._read_json(TREE)

    def _read_json(self, name: str) -> Any:
        return json.loads(self._archive.read(name), parse_constant=_refuse_constant)

    def read_array(self, number: int) -> Labels:
        """Return an array; raise a ValueError if its header claims more than the file contains."""
        content = self._archive.read(f"array_{number}.npy")
        try:
            return parse_npy(content, _NUMBERS_AND_TEXT)
        except ValueError as error:
            raise ValueError(f"array {number} is damaged: {error}") from error


@contextmanager
def open_container(path: Path) -> Iterator[Container]:
    """Open a file and check its checksum and members; ValueError if they are wrong."""
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        checksum = _compute_checksum(file)
        file.seek(max(size - _CHECKSUM_BYTES, 0))
        written = file.read()
        file.seek(0)
        if file.read(2) != b"PK":
            raise ValueError("it is no model file of metricwise, or its beginning is damaged")
        if written != checksum:
            raise ValueError("its checksum is wrong: it is cut short, damaged or was changed")
        with zipfile.ZipFile(file) as archive:
            _check_members(archive, size, checksum)
            yield Container(archive, checksum.decode("ascii"))


def _check_members(archive: zipfile.ZipFile, size: int, checksum: bytes) -> None:
    members = archive.infolist()
    names = {member.filename for member in members}
    if archive.comment != checksum or len(names) != len(members) or not {HEADER, TREE} <= names:
        raise ValueError("it is no model file of metricwise")
    for member in members:
        if not _MEMBER.fullmatch(member.filename):
            raise ValueError(f"it has a part {member.filename[:60]!r} that no model file has")
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError(f"its part {member.filename!r} is compressed, which no part of a model file is")
    if sum(member.file_size for member in members) > size:
        raise ValueError("its parts are together larger than the file")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"it has {name} where a number belongs")
