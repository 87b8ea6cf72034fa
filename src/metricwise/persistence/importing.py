"""Failures to import what a model needs: the environment of the process is their cause, and not the model file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ImportFailedError(ImportError):
    """Code that a model needs cannot be imported, for a reason outside the file."""


@contextmanager
def name_import_failures(name: str) -> Iterator[None]:
    """Convert any error of importing what a model file names into one that does not blame the file."""
    try:
        yield
    except Exception as error:  # of any kind: packages check their environment when they are imported
        raise ImportFailedError(
            f"{name}, which the model needs, cannot be imported ({error}): check the installation, the memory limit "
            "and the environment variables of its packages"
        ) from error
