"""Checkpoints of a training: written as a whole or not at all, and read back only for the training they belong to."""

from __future__ import annotations

import hashlib
import json
import re
import struct
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metricwise.io.atomic import atomic_file, remove_abandoned
from metricwise.solvers.saved import Arrays, join_parts, split_parts

_KEY = "training"
_NOT_DECISIVE = {"checkpoint", "every", "callback", "n_jobs", "max_seconds", "verbose"}
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # in the repr of a function or random state; it differs between processes
_UNREADABLE = (
    ValueError,
    TypeError,
    OSError,
    KeyError,
    EOFError,
    NotImplementedError,
    OverflowError,
    struct.error,
    zipfile.BadZipFile,
)


def digest(*parts: Any) -> str:
    """Return a hash that identifies settings and data."""
    found = hashlib.sha256()
    for part in parts:
        content = np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode()
        found.update(content + b"\0")
    return found.hexdigest()[:32]


def settings_of(model: Any) -> list[tuple[str, str]]:
    """Return the parameters of an estimator that its training depends on."""
    decisive = {name: value for name, value in model.get_params(deep=False).items() if name not in _NOT_DECISIVE}
    described = sorted((name, _ADDRESS.sub("", repr(value))) for name, value in decisive.items())
    return [(type(model).__name__, ""), *described]


def check_writable(path: Path) -> None:
    """Raise before training starts if no checkpoint can be written to a path."""
    try:
        if path.is_dir():
            raise IsADirectoryError("it is a directory")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
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
    training : str
        Identifies this training (`digest`).
    """

    path: Path
    training: str

    def save(self, runs: Sequence[Arrays]) -> None:
        """Write the arrays of the solver runs of a training, in their order."""
        header = np.frombuffer(json.dumps({_KEY: self.training}).encode(), dtype=np.uint8)
        joined: dict[str, Any] = join_parts({str(number): arrays for number, arrays in enumerate(runs)})
        with atomic_file(self.path) as file:
            np.savez(file, header=header, **joined)

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
            with np.load(self.path, allow_pickle=False) as file:
                found = json.loads(file["header"].tobytes())[_KEY]
                runs = split_parts({name: file[name] for name in file.files if name != "header"})
        except _UNREADABLE as error:
            raise ValueError(
                f"checkpoint {str(self.path)!r} cannot be read ({error}): remove the file to start anew"
            ) from error
        if found != self.training:
            raise ValueError(
                f"checkpoint {str(self.path)!r} belongs to a training with other settings or other data: remove the "
                "file to start anew, or give another path"
            )
        with self.naming_damage():
            return [runs[str(number)] for number in range(len(runs))]

    def remove(self) -> None:
        """Remove the file of a finished training, and unfinished files of killed ones."""
        remove_abandoned(self.path)
        self.path.unlink(missing_ok=True)

    @contextmanager
    def naming_damage(self) -> Iterator[None]:
        """Convert errors about missing or wrong arrays into one that names the file."""
        try:
            yield
        except (KeyError, ValueError, TypeError) as error:
            raise ValueError(
                f"checkpoint {str(self.path)!r} is damaged ({error!r} is missing or wrong): remove the file to start "
                "anew"
            ) from error
