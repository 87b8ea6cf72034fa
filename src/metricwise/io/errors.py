"""Errors about files and their lines, and a record of the lines that were left out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_REMEMBERED = 10


class MalformedLineError(ValueError):
    """A line of a file that is no labelled row.

    Parameters
    ----------
    path : str
        The file.
    line : int
        The number of the line, from one. In a Parquet file, the number of the row.
    column : int
        The position in the line of what is wrong, from one. In a Parquet file, the number of the column.
    problem : str
        What was found, and what to do about it.

    Examples
    --------
    >>> error = MalformedLineError("train.svm", 3, 7, "found 'abc' where a number belongs")
    >>> print(error)
    train.svm, line 3, column 7: found 'abc' where a number belongs
    >>> error.line, error.column
    (3, 7)
    """

    def __init__(self, path: str, line: int, column: int, problem: str) -> None:
        super().__init__(path, line, column, problem)
        self.path = path
        self.line = line
        self.column = column
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}, column {self.column}: {self.problem}"


@contextmanager
def name_damaged_file(path: str, kind: str) -> Iterator[None]:
    """Raise a ValueError that names the file if a library cannot read what the file holds.

    Libraries have errors of their own for damaged files, and different ones for every kind of damage. Errors of the
    operating system, and those that name the file already, are not changed.

    Parameters
    ----------
    path : str
        The file.
    kind : str
        What it should be.

    Examples
    --------
    >>> with name_damaged_file("X.npz", ".npz"):
    ...     raise NotImplementedError("compression type 99")
    Traceback (most recent call last):
        ...
    ValueError: X.npz is damaged, or no .npz file (compression type 99): write or copy it again
    """
    try:
        yield
    except Exception as error:
        names_file = isinstance(error, MalformedLineError) or (type(error) is ValueError and path in str(error))
        if names_file or (isinstance(error, OSError) and error.filename is not None):
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} is damaged, or no {kind} file ({reason}): write or copy it again") from error


class UndecodableTextError(MalformedLineError):
    """A text that is not written in the encoding it is read with, so that its lines are not known from there on."""


class ModelFileError(ValueError):
    """A file that is no model, or a model that cannot be written to a file.

    Parameters
    ----------
    path : str
        The file.
    problem : str
        What is wrong, and what to do about it.

    Examples
    --------
    >>> print(ModelFileError("model.mw", "its checksum is wrong"))
    model.mw: its checksum is wrong
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class SkippedLinesWarning(UserWarning):
    """Malformed lines of a file were left out."""


class SkipLog:
    """The malformed lines left out of one pass over a file: how many, and what was wrong with the first few.

    Examples
    --------
    >>> log = SkipLog()
    >>> log.add(MalformedLineError("train.svm", 3, 7, "found 'abc' where a number belongs"))
    >>> log.count, log.messages
    (1, ["train.svm, line 3, column 7: found 'abc' where a number belongs"])
    """

    def __init__(self) -> None:
        self.count = 0
        self.messages: list[str] = []

    def add(self, error: MalformedLineError) -> None:
        """Record a line."""
        self.count += 1
        if len(self.messages) < _REMEMBERED:
            self.messages.append(str(error))

    @property
    def summary(self) -> str | None:
        """How many lines were left out, and what was wrong with the first; None if there are none."""
        if not self.count:
            return None
        lines = "1 malformed line was" if self.count == 1 else f"{self.count} malformed lines were"
        return f"{lines} left out; the first: {self.messages[0]}"

    def warn(self, stacklevel: int) -> None:
        """Warn once about all lines left out, if there are any."""
        if self.count:
            warnings.warn(SkippedLinesWarning(self.summary), stacklevel=stacklevel + 1)
