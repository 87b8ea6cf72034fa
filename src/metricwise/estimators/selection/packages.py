"""Packages that may be absent: imported when they are used, with a reason where that fails."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any


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
        return import_module(name)
    except Exception as error:  # a shared library that is missing is reported by an exception of the package's own
        cause = " ".join(str(error).split()) or "no reason given"
        raise AbsentPackageError(
            f"installed, but cannot be imported ({type(error).__name__}: {cause}): repair it, or {remedy}"
        ) from error
