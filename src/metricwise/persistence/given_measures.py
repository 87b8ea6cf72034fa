"""Functions of measures, which model files do not hold and users give when they load a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from metricwise.measures import IsCost, RatioOfRates, get_measure
from metricwise.measures.function_measures import UserFunction, find_function_measure


class OtherMeasureError(ValueError):
    """A measure was given that is not the one that the model was saved with."""


class GivenMeasures:
    """The measures that a user gives with a model file, by their names and values.

    Parameters
    ----------
    measures : measure, name of a registered one, iterable of these, or None
        Measures that `metricwise.contingency_measure` or `metricwise.confusion_measure` made, or averages of them.

    Raises
    ------
    ValueError
        If one is not made of a function.
    """

    def __init__(self, measures: Any) -> None:
        self._given = _find_functions(measures)
        self._used: list[UserFunction] = []
        self._asked: dict[str, None] = {}  # in the order of the file

    def restore(self, stored: Any) -> Any:
        """Return the given measure in place of a stored one that lacks its function; all else as it is.

        Raises
        ------
        OtherMeasureError
            If the given measure of the same name is of another kind or has another function.
        """
        if not isinstance(stored, UserFunction):
            return stored
        self._asked[stored.name] = None
        of_name = [one for one in self._given if one.name == stored.name]
        if not of_name:
            return stored
        # Parts of a model may have different measures of one name.
        problems = [_find_problem(stored, one) for one in of_name]
        if None not in problems:
            raise OtherMeasureError(problems[0])
        given = of_name[problems.index(None)]
        self._used.append(given)
        return given

    def check_all_used(self) -> None:
        """Raise an `OtherMeasureError` if a measure was given that the file does not ask for."""
        unused = [one.name for one in self._given if one not in self._used]
        if not unused:
            return
        if not self._asked:
            raise OtherMeasureError(
                f"measure={unused[0]!r} is given, but this model was saved with all that its measure needs: leave "
                "measure out"
            )
        names = " and ".join(map(repr, self._asked))
        raise OtherMeasureError(
            f"this model was saved with the measure {names}, a function of yours, and {unused[0]!r} is given: give "
            "the measure of that name"
        )


def _find_functions(measures: Any) -> list[UserFunction]:
    """Return the measures made of functions among those given, the bases of averages included."""
    if measures is None:
        return []
    several = isinstance(measures, Iterable) and not isinstance(measures, str)
    found = []
    for one in measures if several else [measures]:
        measure = get_measure(one)
        base = find_function_measure(measure)
        if base is None:
            raise ValueError(
                f"measure={measure.name!r} is made of no function, and files hold such measures: give the one that "
                "metricwise.contingency_measure made, or leave measure out"
            )
        if base.lacks_function:
            raise ValueError(
                f"measure={base.name!r} comes from a model file and lacks its function: give the one that "
                "metricwise.contingency_measure made"
            )
        found.append(base)
    return found


def _find_problem(stored: UserFunction, given: UserFunction) -> str | None:
    """Return why a given measure of the same name is not the stored one, and what to do; None if it is."""
    saved = f"this model was saved with the measure {stored.name!r}"
    if type(stored) is not type(given):
        return f"{saved}, {_describe_kind(stored)}, and the one given is {_describe_kind(given)}: make it as before"
    difference = stored.find_difference(given)
    if difference is None:
        return None
    return (
        f"{saved}, and the one given is another function: {difference}. Give the function of the training; to "
        "evaluate the predictions by another, leave measure out and use its score(y, model.predict(X))"
    )


def _describe_kind(measure: UserFunction) -> str:
    kind = "a cost (greater_is_better=False)" if isinstance(measure, IsCost) else "a measure of which more is better"
    return f"{kind} and a ratio of rates" if isinstance(measure, RatioOfRates) else kind
