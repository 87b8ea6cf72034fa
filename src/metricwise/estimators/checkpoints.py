"""Checkpoints of a training: written as a whole or not at all, and read back only for the training they belong to."""

from __future__ import annotations

import glob
import hashlib
import json
import re
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise.io.atomic import PARTIAL, atomic_file

Arrays = dict[str, NDArray[Any]]

_KEY = "training"
_NOT_DECISIVE = {"checkpoint", "every", "callback", "n_jobs", "max_seconds"}
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of a user's function or random state: another one in every process
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
    """Return a short text that differs whenever settings or data do."""
    found = hashlib.sha256()
    for part in parts:
        content = np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode()
        found.update(content + b"\0")
    return found.hexdigest()[:32]


def settings_of(model: Any) -> list[tuple[str, str]]:
    """Return the parameters of an estimator that decide what is trained."""
    decisive = {name: value for name, value in model.get_params(deep=False).items() if name not in _NOT_DECISIVE}
    described = sorted((name, _ADDRESS.sub("", repr(value))) for name, value in decisive.items())
    return [(type(model).__name__, ""), *described]


def check_writable(path: Path) -> None:
    """Raise before training starts, not after hours of it, if no checkpoint can be written to a path."""
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


def remove_checkpoint(path: Path) -> None:
    """Remove the checkpoint of a finished training, and what killed ones left of theirs."""
    for unfinished in glob.iglob(glob.escape(f".{path.name}.") + "*" + PARTIAL, root_dir=path.parent):
        (path.parent / unfinished).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def save_checkpoint(path: Path, training: str, arrays: Arrays, notes: dict[str, Any]) -> None:
    """Write arrays and notes (whatever JSON can hold) under the name of a training."""
    header = np.frombuffer(json.dumps({_KEY: training, "notes": notes}).encode(), dtype=np.uint8)
    named: dict[str, Any] = {f"array_{name}": value for name, value in arrays.items()}
    with atomic_file(path) as file:
        np.savez(file, header=header, **named)


def load_checkpoint(path: Path, training: str) -> tuple[Arrays, dict[str, Any]] | None:
    """Return what was saved last for this training; None if nothing was.

    Raises
    ------
    ValueError
        If the file is no checkpoint, or one of another training.
    """
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes())
            arrays = {name.removeprefix("array_"): file[name] for name in file.files if name != "header"}
            found, notes = header[_KEY], header["notes"]
    except _UNREADABLE as error:
        raise ValueError(f"checkpoint {str(path)!r} cannot be read ({error}): remove the file to start anew") from error
    if found != training:
        raise ValueError(
            f"checkpoint {str(path)!r} belongs to a training with other settings or other data: remove the file to "
            "start anew, or give another path"
        )
    return arrays, notes


@contextmanager
def reading(path: Path | None) -> Iterator[None]:
    """Turn what a checkpoint lacks into an error that names the file."""
    try:
        yield
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(
            f"checkpoint {str(path)!r} is damaged ({error!r} is missing or wrong): remove the file to start anew"
        ) from error
