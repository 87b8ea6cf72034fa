"""What counts as a clear error; everything else that a case meets is a finding.

An error is clear if a ``raise`` statement of metricwise, or of scikit-learn (its validation of parameters and input,
and its learners), raises it deliberately, with a message. An exception of any other origin is not: neither one of
numpy, scipy, pandas or the interpreter that passes through, nor one that follows from exhausted memory.
"""

from __future__ import annotations

import dis
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")

_KINDS_OF_ERRORS = (ValueError, TypeError, OSError, ImportError, NotImplementedError, AttributeError, MemoryError)
_DELIBERATE = ("metricwise", "sklearn")
_RAISE = dis.opmap["RAISE_VARARGS"]


class Finding(Exception):
    """Something that must not happen."""


def attempt(function: Callable[..., T], *args: Any, **options: Any) -> T | Exception:
    """Return what a function returns, or the clear error that it raises; another one is a `Finding`."""
    try:
        return function(*args, **options)
    except Exception as error:
        require_clear(error)
        return error


def require_clear(error: BaseException) -> None:
    """Raise a `Finding` unless an error is clear."""
    problem = find_problem(error)
    if problem is not None:
        raise Finding(f"{problem}: {describe(error)}") from error


def find_problem(error: BaseException) -> str | None:
    """Return why an error is not clear; None if it is."""
    if any(isinstance(one, MemoryError) and not _is_deliberate(one.__traceback__) for one in _list_causes(error)):
        return "memory exhausted"
    if isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError) and error.filename is not None:
        return None  # those of the operating system name the file and say what is wrong
    if not isinstance(error, _KINDS_OF_ERRORS):
        return "unexpected exception"
    if not _is_deliberate(error.__traceback__):
        return "exception of internals"
    message = str(error).strip()
    return None if message else "error without a message"


def describe(error: BaseException) -> str:
    """Return an exception on one line, with the line of metricwise that it passed last."""
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text} [{find_place(error)}]"


def find_place(error: BaseException) -> str:
    """Return the last line of metricwise, or of fuzzing, in the traceback of an error."""
    frames = traceback.extract_tb(error.__traceback__)
    for package in ("metricwise", "fuzzing"):
        own = [frame for frame in frames if package in Path(frame.filename).parts]
        if own:
            parts = Path(own[-1].filename).parts
            return f"{'/'.join(parts[parts.index(package) + 1 :])}:{own[-1].lineno}"
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "unknown"


def _list_causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _is_deliberate(trace: TracebackType | None) -> bool:
    """Return whether the innermost frame belongs to a package whose errors are clear, and stopped at a ``raise``."""
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    module = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
    return module in _DELIBERATE and code.co_code[trace.tb_lasti] == _RAISE
