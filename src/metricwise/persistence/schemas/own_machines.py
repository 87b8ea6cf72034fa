"""Schemas of the linear, kernel and streaming classifiers of metricwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from metricwise._state import Values
from metricwise.persistence.declared import fits
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Check, Sizes
from metricwise.persistence.schemas.parts import KERNELS, require
from metricwise.persistence.schemas.schema import Schema


def measure(value: Any, sizes: Sizes) -> bool:
    """Accept a measure."""
    from metricwise.measures import Measure

    return fits(value, Measure) and not isinstance(value, type)


def given_measure(value: Any, sizes: Sizes) -> bool:
    """Accept a measure or the name of one."""
    return isinstance(value, str) or measure(value, sizes)


# ------------------------------------------------------------------------------------------------------ linear machines

RESULT = k.of_class(
    "AmpResult", "Result", "SelectionResult", "SmoothedResult", "SparseCodingResult", "SquaredPairsResult"
)
_TRAINED: dict[str, Check] = {
    **k.FEATURES,
    "measure_": measure,
    "classes_": k.labels,
    "intercept_": k.array("double", "M", finite=True),
    "threshold_": k.either(k.real(-1e308, 1e308), k.array("double", "M", finite=True)),
    "n_iter_": k.whole(),
    "result_": k.either(RESULT, k.list_of(RESULT, "M")),
}
_LINEAR = _TRAINED | {"coef_": k.array("double", "M", "F", finite=True)}
_KERNEL: dict[str, Check] = {
    "coef_": k.array("double", "M", "F", finite=True),
    "dual_coef_": k.array("double", "M", "V", finite=True),
    "support_": k.array("int64", "V"),
    "support_vectors_": k.either(k.none, k.matrix("V", "F")),
    "approximation_": k.any_text,
    "gamma_": k.real(0.0, 1e308),
}
_MACHINE = "a model is damaged: its weights, thresholds and classes do not fit together"


def _check_machine(values: Values, sizes: Sizes) -> None:
    n_classes, n_models = sizes["C"], sizes["M"]
    pairs = n_classes * (n_classes - 1) // 2
    by_pairs = values.get("multi_class") == "ovo" and n_classes > 2
    require(n_classes >= 2 and n_models == (pairs if by_pairs else sizes["R"]), _MACHINE)
    require(np.ndim(values["threshold_"]) == (n_models > 1), _MACHINE)
    is_joint = values.get("multi_class") == "joint"
    require(isinstance(values["result_"], list) == (n_models > 1 and not is_joint), _MACHINE)


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
    require(k.is_real(values["C1"]) and values["C1"] > 0.0, _MACHINE)


def _describe_machine(**more: Check) -> Schema:
    return Schema(_LINEAR | more, parameters={"measure": given_measure}, check_relations=_check_machine)


_KERNEL_SCHEMA = Schema(
    _TRAINED,
    _KERNEL,
    parameters={"measure": given_measure, "kernel": k.text(*KERNELS), "degree": k.whole(0, 1 << 30), "coef0": k.real()},
    check_relations=_check_kernel_machine,
)
_RANKER: dict[str, Check] = {
    **{name: check for name, check in _LINEAR.items() if name not in ("classes_", "threshold_")},
    "n_queries_": k.whole(1),
    "result_": k.of_class("Result"),
}


def _check_ranker(values: Values, sizes: Sizes) -> None:
    require(sizes["M"] == 1, "a ranker is damaged: it has more than one vector of weights")


_DICTIONARY = k.either(k.array("double", "A", "F", finite=True), k.array("double", "M", "A", "F", finite=True))

# ------------------------------------------------------------------------------------------------------------ streams


def _check_stream(values: Values, sizes: Sizes) -> None:
    model = values["_model"]
    n_features, problem = values.get("n_features_in_"), "a stream has the wrong number of features"
    shapes = [state.v.shape for state in model.states] + [one.weights.shape for one in model.selected]
    require(all(shape == (n_features,) for shape in shapes), problem)
    require(k.is_label_array(model.classes) and model.classes.size >= 2, _MACHINE)
    n_models = model.classes.size if model.classes.size > 2 else 1
    require(len(model.states) == n_models and len(model.selected) in (0, n_models), _MACHINE)
    if "hashed_columns_" in values:
        is_sparse = all(state.is_sparse for state in model.states)
        require(values["hashed_columns_"].n_features == n_features and is_sparse, problem)


_STREAM = Schema(
    {"_model": k.of_class("StreamModel")},
    {**k.FEATURES, "hashed_columns_": k.of_class("HashedColumns")},
    parameters={"measure": given_measure},
    check_relations=_check_stream,
)

SCHEMAS: dict[str, Schema] = {
    "AMPClassifier": _describe_machine(challenge_levels_=k.array("double", "*")),
    "AUCSVC": _KERNEL_SCHEMA,
    "FeatureSelectingSVC": _describe_machine(support_=k.array("bool", "F")),
    "MiniBatchSVC": _STREAM,
    "MultivariateSVC": _KERNEL_SCHEMA,
    "RankingSVC": Schema(_RANKER, parameters={"measure": given_measure}, check_relations=_check_ranker),
    "SPADEClassifier": _STREAM,
    "STAMPClassifier": _STREAM,
    "SmoothedSVC": _describe_machine(),
    "SparseCodingClassifier": Schema(
        _TRAINED | {"dictionary_": _DICTIONARY, "coef_": k.array("double", "M", "A", finite=True)},
        parameters={"measure": given_measure},
        check_relations=_check_sparse_coding,
    ),
}
