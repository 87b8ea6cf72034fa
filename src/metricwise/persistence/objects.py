"""Convert objects to stored values, and stored values to objects.

Classes of metricwise declare what is stored (`metricwise._state`); those of scikit-learn are described by
`metricwise.persistence.schemas`. Either way all stored values are checked before an object is made of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from metricwise._sklearn import SIMPLE_METHODS
from metricwise._state import StoredState, Values
from metricwise.estimators.parameters import list_numeric, to_plain
from metricwise.persistence.checks import check_state
from metricwise.persistence.names import is_own
from metricwise.persistence.schemas import SCHEMAS
from metricwise.persistence.schemas.machines import has_probabilities
from metricwise.persistence.schemas.parts import require

# Requests of metadata routing refer back to their estimator: what was requested is stored, by method and name.
_REQUESTS = "_metadata_request"
_TABLE_INFO = "table_"  # how the command read the table that an estimator of any class was trained on
_MEMORY = "memory"  # a parameter of pipelines that names files of the training
_NUMBERS = (int, float, np.integer, np.float32)  # that files hold; others, such as fractions, are made floats
_RESET = ("n_jobs",)  # a file must not start processes: set the parameter again after loading


def get_values(thing: Any, name: str) -> Values:
    """Return the stored values of an object whose class has the given name in files."""
    if is_own(name):
        values = _get_declared(thing, type(thing).__stored_state__)
    elif isinstance(thing, Bunch):
        values = dict(thing)
    else:
        skipped = SCHEMAS[name].derived if name in SCHEMAS else ()
        values = {key: value for key, value in vars(thing).items() if key not in skipped}
        values |= {key: None for key in (_MEMORY,) if key in values}
    if isinstance(thing, BaseEstimator) and _TABLE_INFO in vars(thing):
        values[_TABLE_INFO] = thing.table_
    if isinstance(thing, BaseEstimator) and _REQUESTS in vars(thing):
        values[_REQUESTS] = _get_requests(thing._metadata_request)
    return values


def make_object(cls: Any, name: str, values: Values) -> Any:
    """Return the object of a class from stored values; ValueError if they do not fit the class."""
    make = _make_own if is_own(name) else _make_sklearn
    return make(cls, name, values)


# ----------------------------------------------------------------------------------------------- classes of metricwise


def _get_declared(thing: Any, state: StoredState) -> Values:
    parameters = _get_parameters(type(thing), state) if isinstance(thing, BaseEstimator) else []
    attributes = {key: getattr(thing, key) for key in state.attributes if hasattr(thing, key)}
    given = {key: getattr(thing, key) for key in parameters}
    numeric = {key for key in list_numeric(thing) if key in given and not isinstance(given[key], _NUMBERS)}
    return given | {key: to_plain(given[key], key) for key in numeric} | attributes


def _make_own(cls: Any, name: str, values: Values) -> Any:
    is_estimator, state = issubclass(cls, BaseEstimator), cls.__stored_state__
    parameters = _get_parameters(cls, state) if is_estimator else []
    for key in values:
        is_stored = key in state.attributes or key in parameters or (is_estimator and key in (_REQUESTS, _TABLE_INFO))
        require(is_stored, f"it sets {key[:100]!r}, which a {cls.__name__} does not store")
    if issubclass(cls, Enum):
        name_of_member = values.get("name")
        is_member = isinstance(name_of_member, str) and name_of_member in cls.__members__
        require(is_member, f"the name of a {cls.__name__} is damaged")
        return cls[name_of_member]
    values |= {key: 1 for key in _RESET if key in parameters and values.get(key) is not None}
    check_state(cls, name, values)
    if dataclasses.is_dataclass(cls) or issubclass(cls, tuple):
        return cls(**values)
    if not is_estimator:
        return _fill(cls.__new__(cls), values)
    return _fill_estimator(cls(**{key: values[key] for key in parameters}), values)


def _get_parameters(cls: Any, state: StoredState) -> list[str]:
    return [key for key in cls._get_param_names() if key not in state.training_parameters]


# --------------------------------------------------------------------------------------------- classes of scikit-learn


def _make_sklearn(cls: Any, name: str, values: Values) -> Any:
    skipped = SCHEMAS[name].derived if name in SCHEMAS else ()
    values = {key: value for key, value in values.items() if key not in skipped}
    values |= {key: 1 for key in _RESET if values.get(key) is not None}
    check_state(cls, name, values)
    if issubclass(cls, Bunch):
        return Bunch(**values)
    made = _fill_estimator(cls.__new__(cls), values)
    if name in _REBUILT:
        _REBUILT[name](made)
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


def _rebuild_machine(model: Any) -> None:
    if hasattr(model, "support_vectors_"):
        model._effective_probability = has_probabilities(model.probability)


def _rebuild_imputer(model: Any) -> None:
    if hasattr(model, "_fit_dtype") and not hasattr(model, "_fill_dtype"):  # of an earlier version of scikit-learn
        model._fill_dtype = model._fit_dtype


# What computes attributes that follow from others again.
_REBUILT: dict[str, Callable[[Any], None]] = {
    "sklearn.impute.SimpleImputer": _rebuild_imputer,
    "sklearn.isotonic.IsotonicRegression": _rebuild_isotonic,
    "sklearn.linear_model.SGDClassifier": _rebuild_sgd,
    "sklearn.linear_model.Perceptron": _rebuild_sgd,
    "sklearn.neighbors.KNeighborsClassifier": _rebuild_neighbors,
    "sklearn.svm.NuSVC": _rebuild_machine,
    "sklearn.svm.SVC": _rebuild_machine,
}


# ---------------------------------------------------------------------------------------------------------- estimators


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
