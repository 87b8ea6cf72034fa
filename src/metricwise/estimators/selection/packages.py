"""Packages that may be absent: imported when they are used, with a reason where that fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

# CatBoost has an allocator of its own (mimalloc), which keeps freed memory, more than that of the samples, for later.
# It reads this variable when it is loaded. With no delay, training takes a few percent longer.
_SETTINGS_OF_ALLOCATORS = {"catboost": {"MIMALLOC_PURGE_DELAY": "0"}}


class AbsentPackageError(ImportError):
    """A package is not installed, or its installation is broken."""


def import_package(name: str, remedy: str) -> Any:
    """Return an installed package.

    Parameters
    ----------
    name : str
        The name of the package.
    remedy : str
        What to do if it is absent, such as a command that installs it.

    Raises
    ------
    AbsentPackageError
        If it is not installed, or cannot be imported.

    Examples
    --------
    >>> import_package("gradient_boosting_of_tomorrow", "wait")
    Traceback (most recent call last):
        ...
    metricwise.estimators.selection.packages.AbsentPackageError: not installed: wait
    """
    if find_spec(name) is None:
        raise AbsentPackageError(f"not installed: {remedy}")
    try:
        with _set_while_loading(name):
            return import_module(name)
    except Exception as error:  # a shared library that is missing is reported by an exception of the package's own
        cause = " ".join(str(error).split()) or "no reason given"
        raise AbsentPackageError(
            f"installed, but cannot be imported ({type(error).__name__}: {cause}): repair it, or {remedy}"
        ) from error


@contextmanager
def _set_while_loading(name: str) -> Iterator[None]:
    """Set the variables of the allocator of a package that is not loaded yet, except those that the user has set."""
    settings = {} if name in sys.modules else _SETTINGS_OF_ALLOCATORS.get(name, {})
    added = {variable: value for variable, value in settings.items() if variable not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for variable in added:
            os.environ.pop(variable, None)
