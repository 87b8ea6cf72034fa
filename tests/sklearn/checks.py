"""scikit-learn's checks as parameters of a test, some of which must fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator


def _name(estimator: Any, check: partial[None]) -> str:
    settings = ",".join(f"{name}={value}" for name, value in check.keywords.items())
    return f"{''.join(str(estimator).split())}-{check.func.__name__}({settings})"


def parametrize_with_checks(estimators: Iterable[Any]) -> Callable[[Any], Any]:
    """Parametrise a test with every check of every estimator."""
    pairs = [pair for estimator in estimators for pair in estimator_checks_generator(estimator)]
    return pytest.mark.parametrize(("estimator", "check"), pairs, ids=[_name(*pair) for pair in pairs])


def run_check(estimator: Any, check: partial[None], failures: Mapping[str, str]) -> None:
    """Run a check, which must fail with the given message if its name is among the failures.

    The mark xfail would accept any message, and format the traceback, which takes longer than the check.
    """
    message = failures.get(check.func.__name__)
    if message is None:
        check(estimator)
    else:
        with pytest.raises((AssertionError, ValueError), match=message):
            check(estimator)
