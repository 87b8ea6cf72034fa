"""Files that commands write: checked before any work, and never one that the command reads."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import click

_STANDARD_INPUT = 0  # the number of its file


class Output(NamedTuple):
    """A file that a command writes; the path is None without one.

    ``sequential`` means that it is written from start to end, so that a device or a pipe can take it.
    """

    description: str
    path: str | None
    sequential: bool = False


def check_outputs(outputs: Sequence[Output], inputs: Sequence[str | None]) -> None:
    """Raise before any work if a file cannot be written, or if writing it would replace another file of the command.

    Parameters
    ----------
    outputs : sequence of Output
        The files that the command writes.
    inputs : sequence of str or None
        The files that it reads; ``-`` is standard input.
    """
    from metricwise.io.atomic import check_writable

    written = [(one.description, one.path, one.sequential) for one in outputs if one.path is not None]
    for description, path, sequential in written:
        for other in inputs:
            if other is not None and _is_same_file(path, other):
                replaced = "standard input" if other == "-" else other
                raise click.UsageError(
                    f"{description} {path} would replace {replaced}, which the command reads: give another path"
                )
        try:
            check_writable(Path(path), sequential=sequential)
        except OSError as error:
            raise OSError(f"{description} {path} cannot be written: {error.strerror or error}") from error
    for (description, path, _), (other_description, other, _) in combinations(written, 2):
        if _is_same_file(path, other):
            raise click.UsageError(f"{description} and {other_description} would both be {path}: give two paths")


def write_text(path: str, parts: Iterable[str]) -> None:
    """Write a text file atomically: as a whole or not at all."""
    from metricwise.io.atomic import atomic_file

    with atomic_file(Path(path), sequential=True) as file:
        for part in parts:
            file.write(part.encode())


def _is_same_file(output: str, other: str) -> bool:
    """Return whether writing a file would replace another; devices and pipes are not replaced."""
    try:
        there = os.fstat(_STANDARD_INPUT) if other == "-" else os.stat(other)
        return stat.S_ISREG(there.st_mode) and os.path.samestat(there, os.stat(output))
    except OSError:  # one of them does not exist, or standard input is closed
        return other != "-" and os.path.realpath(output) == os.path.realpath(other)
