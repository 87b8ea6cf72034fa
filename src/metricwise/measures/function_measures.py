"""The base class of measures that users define by functions, and what remains of such functions in model files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NoReturn, Self

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.measures.averages import Averaged
from metricwise.measures.base import Measure
from metricwise.measures.functions import PROBE, evaluate_function
from metricwise.measures.tables import TableMeasure

# Tables (tp, fp, fn, tn) on which functions are compared: small ones, and large ones, where a limit would show.
_COMPARED = tuple(np.concatenate([count, 20.0 * count]) for count in PROBE)
_SAME = 1e-6  # relative difference within which two functions count as the same formula


class MissingFunctionError(ValueError):
    """A value was asked of a measure whose function is not in the model file that it was loaded from.

    Examples
    --------
    >>> from metricwise.measures import MissingFunction, MissingFunctionError
    >>> try:
    ...     MissingFunction("own", (0.5,))(1.0, 0.0, 0.0, 1.0)
    ... except MissingFunctionError as error:
    ...     print(error)
    this model was saved with the measure 'own', a function of yours, which a model file does not hold: ...
    """


@stored_fields(version=1)
@dataclass(frozen=True)
class MissingFunction:
    """What a model file holds of a user's function; to call it raises a `MissingFunctionError`.

    Parameters
    ----------
    measure_name : str
        The name of the measure.
    values : tuple of float
        The function on some tables, by which it is recognised.

    Examples
    --------
    >>> from metricwise.measures import MissingFunction
    >>> MissingFunction("own", (0.5,)).measure_name
    'own'
    """

    measure_name: str
    values: tuple[float, ...]

    def __call__(self, *arguments: Any) -> NoReturn:
        """Raise an error that says how to give the function."""
        raise MissingFunctionError(
            f"this model was saved with the measure {self.measure_name!r}, a function of yours, which a model file "
            "does not hold: load it with metricwise.load(path, measure=...)"
        )


@dataclass(frozen=True)
class UserFunction(ABC):
    """A measure that is made of a user's function.

    Parameters
    ----------
    function : callable
        The function.
    name : str
        The name of the measure.
    elementwise : bool
        Whether the function takes one table or matrix at a time.
    """

    function: Callable[..., Any]
    name: str
    elementwise: bool

    @property
    def lacks_function(self) -> bool:
        """Whether the measure comes from a model file that was loaded without its function."""
        return isinstance(self.function, MissingFunction)

    def stored_form(self) -> Self:
        """Return the measure as a model file holds it: without functions, but with what recognises them.

        Returns
        -------
        measure
            The same measure, whose functions are each a `MissingFunction`.
        """
        if self.lacks_function:
            return self
        held = [field.name for field in fields(self) if callable(getattr(self, field.name))]
        missing: dict[str, Any] = dict.fromkeys(held, self._describe_function())
        return replace(self, **missing)

    def find_difference(self, other: UserFunction) -> str | None:
        """Return how the function of another measure differs from this one, in words; None if it does not.

        Parameters
        ----------
        other : UserFunction
            A measure of the same class.

        Returns
        -------
        str or None
            The table or matrix for which they differ, with both values; None if they agree.
        """
        before, now = (np.array(one._describe_function().values) for one in (self, other))
        differs = ~np.isclose(now, before, rtol=_SAME, atol=0.0, equal_nan=True)
        if not differs.any():
            return None
        at = int(np.argmax(differs))
        return f"for {self._describe_compared(at)} it is {now[at]:g} instead of {before[at]:g}"

    def _describe_function(self) -> MissingFunction:
        if isinstance(self.function, MissingFunction):
            return self.function
        return MissingFunction(self.name, tuple(self._values_compared().tolist()))

    @abstractmethod
    def _values_compared(self) -> Floats:
        """Return the values by which the function is recognised."""

    @abstractmethod
    def _describe_compared(self, at: int) -> str:
        """Return the argument of one of these values in words."""


@dataclass(frozen=True)
class FunctionMeasure(UserFunction, TableMeasure):
    """A measure of the contingency table that is made of a user's function.

    Parameters
    ----------
    function : callable
        A function of (tp, fp, fn, tn).
    name : str
        The name of the measure.
    elementwise : bool
        Whether the function takes numbers only, so that it is called once per table.

    Examples
    --------
    >>> from metricwise import contingency_measure
    >>> from metricwise.measures import FunctionMeasure
    >>> isinstance(contingency_measure(lambda tp, fp, fn, tn: tp / (tp + fp + fn), name="overlap"), FunctionMeasure)
    True
    """

    # Nothing is known about a user's function.
    monotone = False

    def _values_compared(self) -> Floats:
        return self._evaluate(*_COMPARED)

    def _describe_compared(self, at: int) -> str:
        table = ", ".join(f"{count[at]:g}" for count in _COMPARED)
        return f"(tp, fp, fn, tn) = ({table})"

    def _evaluate(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        return evaluate_function(self.function, self.elementwise, tp, fp, fn, tn)


def find_function_measure(measure: Measure) -> UserFunction | None:
    """Return the measure made of a function that a measure is, or averages; None if there is none.

    Examples
    --------
    >>> from metricwise.measures import Averaged, FBeta, contingency_measure
    >>> overlap = contingency_measure(lambda tp, fp, fn, tn: tp / (tp + fp + fn), name="overlap")
    >>> find_function_measure(Averaged(overlap)).name, find_function_measure(Averaged(FBeta()))
    ('overlap', None)
    """
    base = measure.base if isinstance(measure, Averaged) else measure
    return base if isinstance(base, UserFunction) else None
