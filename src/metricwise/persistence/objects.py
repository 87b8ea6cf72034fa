"""Convert objects to stored values, and stored values to objects.

Classes of metricwise declare what is stored (`metricwise._state`). Those of scikit-learn cannot: all of their
attributes are stored, but for those that follow from others.
"""

from __future__ import annotations

import dataclasses
import keyword
from collections.abc import Callable
from enum import Enum
from typing import Any

from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from metricwise._sklearn import SIMPLE_METHODS
from metricwise._state import StoredState
from metricwise.persistence.allowed import is_own
from metricwise.persistence.checks import Values, check_state
from metricwise.persistence.compiled import require

# Requests of metadata routing refer back to their estimator: what was requested is stored, by method and name.
_REQUESTS = "_metadata_request"
_TABLE_INFO = "table_"  # how the command read the table that an estimator of any class was trained on
_MEMORY = "memory"  # a parameter of pipelines that names files of the training


def get_values(thing: Any, name: str) -> Values:
    """Return the stored values of an object whose class has the given name in files."""
    if is_own(name):
        values = _get_declared(thing, type(thing).__stored_state__)
    elif isinstance(thing, Bunch):
        return dict(thing)
    else:
        skipped = _REBUILT[name][0] if name in _REBUILT else frozenset()
        values = {key: value for key, value in vars(thing).items() if key not in skipped}
        values |= {key: None for key in (_MEMORY,) if key in values}
    if isinstance(thing, BaseEstimator) and _TABLE_INFO in vars(thing):
        values[_TABLE_INFO] = thing.table_
    if isinstance(thing, BaseEstimator) and _REQUESTS in vars(thing):
        values[_REQUESTS] = _get_requests(thing._metadata_request)
    check_state(name, values)
    return values


def make_object(cls: Any, name: str, values: Values) -> Any:
    """Return the object of a class from stored values; ValueError if they do not fit the class."""
    make = _make_own if is_own(name) else _make_sklearn
    return make(cls, name, values)


# ----------------------------------------------------------------------------------------------- classes of metricwise


def _get_declared(thing: Any, state: StoredState) -> Values:
    parameters = _get_parameters(type(thing), state) if isinstance(thing, BaseEstimator) else []
    return {key: getattr(thing, key) for key in parameters} | {
        key: getattr(thing, key) for key in state.attributes if hasattr(thing, key)
    }


def _make_own(cls: Any, name: str, values: Values) -> Any:
    is_estimator, state = issubclass(cls, BaseEstimator), cls.__stored_state__
    parameters = _get_parameters(cls, state) if is_estimator else []
    for key in values:
        is_stored = key in state.attributes or key in parameters or (is_estimator and key in (_REQUESTS, _TABLE_INFO))
        require(is_stored, f"it sets {key[:100]!r}, which a {cls.__name__} does not store")
    if issubclass(cls, Enum):
        require(isinstance(values["name"], str), f"the name of a {cls.__name__} is damaged")
        return cls[values["name"]]
    check_state(name, values)
    if dataclasses.is_dataclass(cls) or issubclass(cls, tuple):
        return cls(**values)
    if not is_estimator:
        return _fill(cls.__new__(cls), values)
    _check_parameters(cls, parameters, values)
    return _fill_estimator(cls(**{key: values[key] for key in parameters}), values)


def _get_parameters(cls: Any, state: StoredState) -> list[str]:
    return [key for key in cls._get_param_names() if key not in state.training_parameters]


# --------------------------------------------------------------------------------------------- classes of scikit-learn


def _make_sklearn(cls: Any, name: str, values: Values) -> Any:
    if issubclass(cls, Bunch):
        return Bunch(**values)
    for key in values:
        if not key.isidentifier() or keyword.iskeyword(key) or key.startswith("__"):
            raise ValueError(f"{key[:100]!r} is no name of an attribute")
        require(not callable(getattr(cls, key, None)), f"{key[:100]!r} is a method of {cls.__name__}, not an attribute")
    require(values.get(_MEMORY) is None, f"it sets {_MEMORY!r}, which no model file does")
    check_state(name, values)
    if issubclass(cls, BaseEstimator):
        _check_parameters(cls, cls._get_param_names(), values)
    made = _fill_estimator(cls.__new__(cls), values)
    if name in _REBUILT:
        _REBUILT[name][1](made)
    return made


def _rebuild_isotonic(model: Any) -> None:
    if hasattr(model, "X_thresholds_"):
        model._build_f(model.X_thresholds_, model.y_thresholds_)


def _rebuild_sgd(model: Any) -> None:
    if hasattr(model, "coef_"):
        model._loss_function_ = model._get_loss_function(model.loss)


def _rebuild_neighbors(model: Any) -> None:
    if not hasattr(model, "_fit_method"):
        return
    from sklearn.neighbors import BallTree, KDTree

    tree = {"kd_tree": KDTree, "ball_tree": BallTree}.get(model._fit_method)
    settings = {"metric": model.effective_metric_, **model.effective_metric_params_}
    model._tree = None if tree is None else tree(model._fit_X, model.leaf_size, **settings)


# Attributes that follow from others and are not stored, and what computes them again.
_REBUILT: dict[str, tuple[frozenset[str], Callable[[Any], None]]] = {
    "sklearn.isotonic.IsotonicRegression": (frozenset({"f_"}), _rebuild_isotonic),
    "sklearn.linear_model.SGDClassifier": (frozenset({"_loss_function_"}), _rebuild_sgd),
    "sklearn.linear_model.Perceptron": (frozenset({"_loss_function_"}), _rebuild_sgd),
    "sklearn.linear_model.PassiveAggressiveClassifier": (frozenset({"_loss_function_"}), _rebuild_sgd),
    "sklearn.neighbors.KNeighborsClassifier": (frozenset({"_tree"}), _rebuild_neighbors),
}


# ---------------------------------------------------------------------------------------------------------- estimators


def _check_parameters(cls: Any, parameters: list[str], values: Values) -> None:
    missing = [key for key in parameters if key not in values]
    if missing:
        raise ValueError(f"a {cls.__name__} lacks its parameter {missing[0]!r}")


def _fill_estimator(made: Any, values: Values) -> Any:
    """Set attributes, and repeat the requests of metadata routing."""
    requests = values.get(_REQUESTS, {})
    _fill(made, {key: value for key, value in values.items() if key != _REQUESTS})
    for method, asked in requests.items():
        is_right = method in SIMPLE_METHODS and all(isinstance(value, bool | str) for value in asked.values())
        require(is_right, "a request is damaged")
        with config_context(enable_metadata_routing=True):
            getattr(made, f"set_{method}_request")(**asked)
    return made


def _fill(made: Any, values: Values) -> Any:
    vars(made).update(values)
    return made


def _get_requests(requested: Any) -> dict[str, dict[str, Any]]:
    by_method = {method: getattr(getattr(requested, method, None), "requests", {}) for method in SIMPLE_METHODS}
    stated = {method: {k: v for k, v in asked.items() if v is not None} for method, asked in by_method.items()}
    return {method: asked for method, asked in stated.items() if asked}
