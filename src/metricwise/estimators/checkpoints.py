"""Checkpoints of a training: written as a whole or not at all, and read back only for the training they belong to."""

from __future__ import annotations

import json
import struct
import tokenize
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metricwise.estimators.training_identity import digest
from metricwise.io import atomic
from metricwise.io.atomic import atomic_file, remove_abandoned
from metricwise.io.npy import parse_npy
from metricwise.solvers.saved import Arrays, join_parts, split_parts
from metricwise.solvers.schema import StateError

_HEADER = "header"
_KINDS = "biufU"  # of entries
_TRAINING, _CONTENT, _VERSION = "training", "content", "version"  # in the header
_CURRENT = 2  # version of checkpoints; there was none in the headers of the first
_UNREADABLE = (
    ValueError,
    TypeError,
    OSError,
    KeyError,
    EOFError,
    MemoryError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
)


def digest_arrays(arrays: Arrays) -> str:
    """Return a hash that identifies named arrays.

    Examples
    --------
    >>> digest_arrays({"a": np.ones(2)}) == digest_arrays({"a": np.ones(2, dtype=int)})
    False
    """
    return digest(arrays)


def check_writable(path: Path) -> None:
    """Raise before training starts if no checkpoint can be written to a path."""
    try:
        atomic.check_writable(path)
    except (OSError, ValueError) as error:  # ValueError: a null character, or one that has no encoding
        raise OSError(
            f"checkpoint {str(path)!r} cannot be written ({error}): give the path of a file in a folder that exists "
            "and can be written to"
        ) from error


@dataclass(frozen=True)
class Checkpoint:
    """The file from which an interrupted training resumes.

    Parameters
    ----------
    path : Path
        The file.
    training : mapping
        Identifies this training (`metricwise.estimators.training_identity.identify_training`).
    """

    path: Path
    training: Mapping[str, str]

    def save(self, runs: Sequence[Arrays]) -> None:
        """Write the arrays of the solver runs of a training, in their order."""
        joined: dict[str, Any] = join_parts({str(number): arrays for number, arrays in enumerate(runs)})
        header = json.dumps(
            {_VERSION: _CURRENT, _TRAINING: dict(self.training), _CONTENT: digest_arrays(joined)}
        ).encode()
        with atomic_file(self.path) as file:
            np.savez(file, header=np.frombuffer(header, dtype=np.uint8), **joined)

    def load(self) -> list[Arrays]:
        """Return the arrays of the solver runs that were saved last; none if there is no file.

        Raises
        ------
        ValueError
            If the file is no checkpoint, or one of another training.
        """
        if not self.path.exists():
            return []
        try:
            arrays = _read_arrays(self.path)
            header = json.loads(arrays.pop(_HEADER).tobytes())
            training, content, version = header[_TRAINING], header[_CONTENT], header.get(_VERSION)
        except _UNREADABLE as error:
            raise ValueError(
                f"checkpoint {str(self.path)!r} cannot be read ({error}): remove the file to start anew"
            ) from error
        if version != _CURRENT:
            raise ValueError(
                f"checkpoint {str(self.path)!r} was written by another version of metricwise, whose training this one "
                "cannot resume: finish it with that version, or remove the file to start anew"
            )
        if training != dict(self.training):
            raise ValueError(
                f"checkpoint {str(self.path)!r} belongs to another training ({self._describe_difference(training)}): "
                "remove the file to start anew, or give another path"
            )
        runs = split_parts(arrays)
        with self.naming_damage():
            if content != digest_arrays(arrays):  # wrong numbers of the right type would give wrong bounds
                raise StateError("its checksum is wrong")
            if runs.keys() != {str(number) for number in range(len(runs))}:
                raise StateError("a part is missing")
        return [runs[str(number)] for number in range(len(runs))]

    def _describe_difference(self, other: Any) -> str:
        """Return what differs from the training of a file, as far as its header lists it."""
        listed = other if isinstance(other, dict) else {}
        found = [name for name, content in self.training.items() if listed.get(name) != content]
        return f"{', '.join(found)} differ{'s' if len(found) == 1 else ''}" if listed and found else "all differs"

    def remove(self) -> None:
        """Remove the file of a finished training, and unfinished files of killed ones."""
        remove_abandoned(self.path)
        self.path.unlink(missing_ok=True)

    @contextmanager
    def naming_damage(self) -> Iterator[None]:
        """Convert errors about missing or wrong arrays into one that names the file."""
        try:
            yield
        except StateError as error:
            raise ValueError(
                f"checkpoint {str(self.path)!r} is damaged ({error}): remove the file to start anew, or train "
                "without a checkpoint"
            ) from error


def _read_arrays(path: Path) -> Arrays:
    """Return the arrays of a file that `Checkpoint.save` wrote; raise if one claims more memory than the file has."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("it is compressed")
        if sum(member.file_size for member in members) > path.stat().st_size:
            raise ValueError("its parts are larger than the file")
        return {member.filename.removesuffix(".npy"): parse_npy(archive.read(member), _KINDS) for member in members}
