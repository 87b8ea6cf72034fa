"""Around every `fit`: convert numeric parameters, restore the model after an error, warn once per cause."""

from __future__ import annotations

import re
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from metricwise.estimators.parameters import plain_numbers

_NUMBERS = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)


@contextmanager
def guard_fit(estimator: Any) -> Iterator[None]:
    """Restore all attributes of an estimator if the body of the with statement raises, else warn once per cause.

    In the body, numeric parameters are plain Python numbers.
    """
    with plain_numbers(estimator), restore_on_error(estimator), warn_once_per_cause():
        yield


@contextmanager
def restore_on_error(estimator: Any) -> Iterator[None]:
    """Restore all attributes of an estimator if the body of the with statement raises."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@contextmanager
def warn_once_per_cause(hidden: tuple[type[Warning], ...] = ()) -> Iterator[None]:
    """Show the first warning of every cause, after the block; none if the block raises.

    The models of folds, classes, labels and ensembles repeat the warnings of each other, with other numbers in them:
    warnings of one category whose texts differ in numbers alone have one cause.

    Parameters
    ----------
    hidden : tuple of type
        Warnings that are not shown.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     with warn_once_per_cause():
    ...         for fold in range(5):
    ...             warnings.warn(f"no convergence after {fold} iterations")
    >>> [str(one.message) for one in caught]
    ['no convergence after 0 iterations']
    """
    # The filters of warnings belong to the process: a thread that changed them would reset those of another.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in hidden:
            warnings.simplefilter("ignore", category)
        yield
    shown: set[tuple[type[Warning], str]] = set()
    for one in caught:
        cause = one.category, _NUMBERS.sub("0", " ".join(str(one.message).split()))
        if cause not in shown:
            shown.add(cause)
            _warn_again(one)


def _warn_again(one: warnings.WarningMessage) -> None:
    """Show a recorded warning as the module that has raised it would: filters name modules."""
    module = next((found for found in list(sys.modules.values()) if _get_file(found) == one.filename), None)
    name = one.filename if module is None else module.__name__
    registry = {} if module is None else vars(module).setdefault("__warningregistry__", {})
    warnings.warn_explicit(one.message, one.category, one.filename, one.lineno, name, registry, source=one.source)


def _get_file(module: Any) -> str | None:
    return vars(module).get("__file__") if isinstance(module, ModuleType) else None
