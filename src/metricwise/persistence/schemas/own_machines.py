"""Schemas of the linear, kernel and streaming classifiers of metricwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from metricwise.persistence.declared import fits
from metricwise.persistence.schemas.kinds import (
    Check,
    Sizes,
    Values,
    any_text,
    array,
    either,
    is_real,
    labels,
    listed,
    matrix,
    nothing,
    of_class,
    real,
    size,
    text,
    whole,
)
from metricwise.persistence.schemas.parts import require
from metricwise.persistence.schemas.schema import Schema

_F = {"n_features_in_": size("F", low=1)}


def measure(value: Any, sizes: Sizes) -> bool:
    """Accept a measure."""
    from metricwise.measures import Measure

    return fits(value, Measure) and not isinstance(value, type)


def given_measure(value: Any, sizes: Sizes) -> bool:
    """Accept a measure or the name of one."""
    return isinstance(value, str) or measure(value, sizes)


# ------------------------------------------------------------------------------------------------------ linear machines

RESULT = of_class(
    "AmpResult", "Result", "SelectionResult", "SmoothedResult", "SparseCodingResult", "SquaredPairsResult"
)
_TRAINED: dict[str, Check] = {
    **_F,
    "measure_": measure,
    "classes_": labels,
    "intercept_": array("double", "M", finite=True),
    "threshold_": either(real(-1e308, 1e308), array("double", "M", finite=True)),
    "n_iter_": whole(),
    "result_": either(RESULT, listed(RESULT, "M")),
}
_LINEAR = _TRAINED | {"coef_": array("double", "M", "F", finite=True)}
_KERNEL: dict[str, Check] = {
    "coef_": array("double", "M", "F", finite=True),
    "dual_coef_": array("double", "M", "V", finite=True),
    "support_": array("int64", "V"),
    "support_vectors_": either(nothing, matrix("V", "F")),
    "approximation_": any_text,
    "gamma_": real(0.0, 1e308),
}
_KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed")
_MACHINE = "a model is damaged: its weights, thresholds and classes do not fit together"


def _check_machine(values: Values, sizes: Sizes) -> None:
    n_classes, n_models = sizes["C"], sizes["M"]
    pairs = n_classes * (n_classes - 1) // 2
    by_pairs = values.get("multi_class") == "ovo" and n_classes > 2
    require(n_classes >= 2 and n_models == (pairs if by_pairs else sizes["R"]), _MACHINE)
    require(np.ndim(values["threshold_"]) == (n_models > 1), _MACHINE)
    require(isinstance(values["result_"], list) == (n_models > 1), _MACHINE)


def _check_kernel_machine(values: Values, sizes: Sizes) -> None:
    _check_machine(values, sizes)
    is_linear = values["kernel"] == "linear"
    require(("coef_" in values) == is_linear and ("dual_coef_" in values) != is_linear, _MACHINE)
    if is_linear:
        return
    require(all(name in values for name in _KERNEL if name != "coef_"), _MACHINE)
    vectors, samples = values["support_vectors_"], values["support_"]
    require((vectors is None) == (values["kernel"] == "precomputed") and np.all(samples >= 0), _MACHINE)
    require(vectors is not None or np.all(samples < sizes["F"]), _MACHINE)
    data = vectors.data if sparse.issparse(vectors) else vectors
    require(data is None or np.all(np.isfinite(data)), _MACHINE)


def _check_sparse_coding(values: Values, sizes: Sizes) -> None:
    """Raise unless there are as many dictionaries (features as columns) as weights (atoms as columns)."""
    _check_machine(values, sizes)
    atoms = values["dictionary_"]
    require(atoms.ndim == (3 if sizes["M"] > 1 else 2), _MACHINE)
    require(atoms.ndim == 2 or len(atoms) == sizes["M"], _MACHINE)
    require(is_real(values["C1"]) and values["C1"] > 0.0, _MACHINE)


def _describe_machine(**more: Check) -> Schema:
    return Schema(_LINEAR | more, parameters={"measure": given_measure}, relate=_check_machine)


_KERNEL_SCHEMA = Schema(
    _TRAINED,
    _KERNEL,
    parameters={"measure": given_measure, "kernel": text(*_KERNELS), "degree": whole(0, 1 << 30), "coef0": real()},
    relate=_check_kernel_machine,
)
_DICTIONARY = either(array("double", "A", "F", finite=True), array("double", "M", "A", "F", finite=True))

# ------------------------------------------------------------------------------------------------------------ streams


def _check_stream(values: Values, sizes: Sizes) -> None:
    model = values["_model"]
    n_features, problem = values.get("n_features_in_"), "a stream has the wrong number of features"
    shapes = [state.v.shape for state in model.states] + [one.weights.shape for one in model.selected]
    require(all(shape == (n_features,) for shape in shapes), problem)


_STREAM = Schema(
    {"_model": of_class("StreamModel")},
    {"n_features_in_": size("F", low=1)},
    parameters={"measure": given_measure},
    relate=_check_stream,
)

SCHEMAS: dict[str, Schema] = {
    "AMPClassifier": _describe_machine(challenge_levels_=array("double", "*")),
    "AUCSVC": _KERNEL_SCHEMA,
    "FeatureSelectingSVC": _describe_machine(support_=array("bool", "F")),
    "MiniBatchSVC": _STREAM,
    "MultivariateSVC": _KERNEL_SCHEMA,
    "SPADEClassifier": _STREAM,
    "STAMPClassifier": _STREAM,
    "SmoothedSVC": _describe_machine(),
    "SparseCodingClassifier": Schema(
        _TRAINED | {"dictionary_": _DICTIONARY, "coef_": array("double", "M", "A", finite=True)},
        parameters={"measure": given_measure},
        relate=_check_sparse_coding,
    ),
}
