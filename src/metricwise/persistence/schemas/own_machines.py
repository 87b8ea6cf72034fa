"""Schemas of the linear, kernel and streaming classifiers of metricwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from metricwise._state import Values
from metricwise.measures.joint import find_joint_losses
from metricwise.persistence.declared import fits
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Check, Sizes
from metricwise.persistence.schemas.parts import KERNELS, require
from metricwise.persistence.schemas.schema import Schema
from metricwise.registry import entry_of

Relations = Callable[[Values, Sizes], None]


def measure(value: Any, sizes: Sizes) -> bool:
    """Accept a measure."""
    from metricwise.measures import Measure

    return fits(value, Measure) and not isinstance(value, type)


def require_trainable(measure: Any, name: str) -> None:
    """Raise unless an estimator, by its name, can be trained for a measure."""
    entry = entry_of(name)
    fits_measure = entry is not None and entry.fits(measure)
    require(fits_measure, f"a model is damaged: no {name} can be trained for its measure, {type(measure).__name__}")


def _for_trainable(name: str, check: Relations) -> Relations:
    """Return a check of relations that also refuses a fitted measure which a class cannot be trained for."""

    def check_both(values: Values, sizes: Sizes) -> None:
        check(values, sizes)
        require_trainable(values["measure_"], name)

    return check_both


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


def _check_multivariate(values: Values, sizes: Sizes) -> None:
    """Raise unless the measure has the losses of all classes together, if these were trained in one problem."""
    _check_kernel_machine(values, sizes)
    if values["multi_class"] == "joint" and sizes["C"] > 2:
        require(find_joint_losses(values["measure_"]) is not None, _MACHINE)
    else:
        require_trainable(values["measure_"], "MultivariateSVC")


def _check_sparse_coding(values: Values, sizes: Sizes) -> None:
    """Raise unless there are as many dictionaries (features as columns) as weights (atoms as columns)."""
    _check_machine(values, sizes)
    atoms = values["dictionary_"]
    require(atoms.ndim == (3 if sizes["M"] > 1 else 2), _MACHINE)
    require(atoms.ndim == 2 or len(atoms) == sizes["M"], _MACHINE)
    require(k.is_real(values["C1"]) and values["C1"] > 0.0, _MACHINE)


def _describe_machine(name: str, **more: Check) -> Schema:
    relations = _for_trainable(name, _check_machine)
    return Schema(_LINEAR | more, parameters={"measure": given_measure}, check_relations=relations)


def _describe_kernel_machine(check_relations: Relations) -> Schema:
    limited = {"kernel": k.text(*KERNELS), "degree": k.whole(0, 1 << 30), "coef0": k.real()}
    return Schema(_TRAINED, _KERNEL, parameters={"measure": given_measure, **limited}, check_relations=check_relations)


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


def _describe_stream(name: str) -> Schema:
    def check_both(values: Values, sizes: Sizes) -> None:
        _check_stream(values, sizes)
        require_trainable(values["_model"].measure, name)

    return Schema(
        {"_model": k.of_class("StreamModel")},
        {**k.FEATURES, "hashed_columns_": k.of_class("HashedColumns")},
        parameters={"measure": given_measure},
        check_relations=check_both,
    )


SCHEMAS: dict[str, Schema] = {
    "AMPClassifier": _describe_machine("AMPClassifier", challenge_levels_=k.array("double", "*")),
    "AUCSVC": _describe_kernel_machine(_for_trainable("AUCSVC", _check_kernel_machine)),
    "FeatureSelectingSVC": _describe_machine("FeatureSelectingSVC", support_=k.array("bool", "F")),
    "MiniBatchSVC": _describe_stream("MiniBatchSVC"),
    "MultivariateSVC": _describe_kernel_machine(_check_multivariate),
    "RankingSVC": Schema(
        _RANKER, parameters={"measure": given_measure}, check_relations=_for_trainable("RankingSVC", _check_ranker)
    ),
    "SPADEClassifier": _describe_stream("SPADEClassifier"),
    "STAMPClassifier": _describe_stream("STAMPClassifier"),
    "SmoothedSVC": _describe_machine("SmoothedSVC"),
    "SparseCodingClassifier": Schema(
        _TRAINED | {"dictionary_": _DICTIONARY, "coef_": k.array("double", "M", "A", finite=True)},
        parameters={"measure": given_measure},
        check_relations=_for_trainable("SparseCodingClassifier", _check_sparse_coding),
    ),
}
