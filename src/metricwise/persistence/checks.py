"""Check the stored values of an object against the schema of its class, or the types that its fields declare.

Compiled code follows any index and size; a file in which they do not fit together is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from metricwise._state import Values
from metricwise.persistence.boosters.checks import CHECKS as BOOSTER_CHECKS
from metricwise.persistence.compiled import check_predictor
from metricwise.persistence.declared import check_fields
from metricwise.persistence.names import is_own
from metricwise.persistence.schemas import SCHEMAS
from metricwise.persistence.schemas.groups import CHECKS as GROUP_CHECKS
from metricwise.persistence.schemas.money import CHECKS as MONEY_CHECKS
from metricwise.persistence.schemas.monitors import CHECKS as MONITOR_CHECKS
from metricwise.persistence.schemas.own import OWN_SCHEMAS
from metricwise.persistence.schemas.parts import require
from metricwise.persistence.schemas.schema import Schema
from metricwise.results import StreamEntry

ANY_ESTIMATOR = ("_metadata_request", "table_")  # what estimators of any class may have, checked where it is made


def check_state(cls: Any, name: str, values: Values) -> None:
    """Raise a ValueError unless values are those of an object of a class, complete and fitting together."""
    last = name.rpartition(".")[2]
    schema = _find_own_schema(cls) if is_own(name) else SCHEMAS.get(name)
    if schema is not None:
        schema.check(cls, {key: value for key, value in values.items() if key not in ANY_ESTIMATOR})
    elif dataclasses.is_dataclass(cls) or issubclass(cls, tuple):
        check_fields(cls, values)
    elif last not in _CHECKS and not issubclass(cls, Enum):
        raise ValueError(f"a {last} has no schema, and model files hold no class without one")
    if last in _CHECKS:
        _CHECKS[last](values)


def _find_own_schema(cls: Any) -> Schema | None:
    """Return the schema of a class of metricwise, or that of the class which it extends."""
    return next((OWN_SCHEMAS[base.__name__] for base in cls.__mro__ if base.__name__ in OWN_SCHEMAS), None)


def _check_bunch(values: Values) -> None:
    """Raise unless models are named."""
    for name, part in values.items():
        is_model = isinstance(part, BaseEstimator) or (isinstance(part, str) and part in ("drop", "passthrough"))
        require(type(name) is str and is_model, "models with names are damaged")


# ------------------------------------------------------------------------------------------------------------- our own


def _check_function_measure(values: Values) -> None:
    """Raise unless a measure made of functions is described by numbers and text, and has no function."""
    from metricwise.measures import MissingFunction

    functions = [values[key] for key in ("function", "ratio_function") if key in values]
    numbers = [values.get("unit", 1.0), *values.get("costs", ())]
    require(all(isinstance(one, MissingFunction) for one in functions), _MEASURE)
    require(type(values["name"]) is str and all(one.measure_name == values["name"] for one in functions), _MEASURE)
    require(
        all(type(number) in (int, float) and np.isfinite(number) for number in numbers) and numbers[0] > 0.0, _MEASURE
    )
    n_classes = values.get("n_classes")
    require(n_classes is None or (type(n_classes) is int and n_classes >= 3), _MEASURE)
    require("costs" not in values or len(numbers) == 5, _MEASURE)
    require(all(type(values[key]) is bool for key in ("elementwise", "is_total") if key in values), _MEASURE)


_MEASURE = "a measure made of a function is damaged"


def _check_missing_function(values: Values) -> None:
    name, found = values["measure_name"], values["values"]
    require(type(name) is str and type(found) is tuple and all(type(value) is float for value in found), _MEASURE)


def _check_stream_model(values: Values) -> None:
    from metricwise.estimators.streaming.training import BinaryModel
    from metricwise.solvers.stream_state import StreamState

    for key, cls in (("states", StreamState), ("selected", BinaryModel), ("entries", StreamEntry)):
        parts = values[key]
        is_right = isinstance(parts, tuple) and all(isinstance(part, cls) for part in parts)
        require(is_right, f"the {key} of a stream are damaged")
    weights = [one.weights for one in values["selected"]]
    is_right = all(isinstance(one, np.ndarray) and one.dtype == np.float64 and one.ndim == 1 for one in weights)
    require(is_right and values["states"], "the models of a stream are damaged")


def _check_stream_state(values: Values) -> None:
    from metricwise.solvers.schema import StateError  # not needed for other models
    from metricwise.solvers.stream_state import check_values

    try:
        check_values(values)
    except StateError as error:
        raise ValueError(f"the state of a stream is damaged: {error}") from error


_CHECKS: dict[str, Callable[[Values], None]] = {
    **BOOSTER_CHECKS,
    **GROUP_CHECKS,
    **MONEY_CHECKS,
    **MONITOR_CHECKS,
    "ConfusionMeasure": _check_function_measure,
    "ContingencyCost": _check_function_measure,
    "ContingencyMeasure": _check_function_measure,
    "LinearContingencyCost": _check_function_measure,
    "MissingFunction": _check_missing_function,
    "RatioContingencyCost": _check_function_measure,
    "RatioContingencyMeasure": _check_function_measure,
    "StreamModel": _check_stream_model,
    "StreamState": _check_stream_state,
    "TreePredictor": check_predictor,
    "Bunch": _check_bunch,
}
