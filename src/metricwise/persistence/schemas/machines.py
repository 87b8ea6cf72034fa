"""Schemas of kernel machines, neighbours and networks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import VALID_METRICS

from metricwise._sklearn import HELD_CLASSES
from metricwise._state import Values
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Check, Sizes
from metricwise.persistence.schemas.parts import KERNELS, check_several_classes, get_classes, require
from metricwise.persistence.schemas.schema import Schema

# ----------------------------------------------------------------------------------------------------- kernel machines

_MACHINE_DAMAGED = "a kernel machine is damaged"
_DUAL = k.either(k.array("double", "D", "V"), k.sparse_rows("D", "V"))
_MACHINE: dict[str, Check] = {
    **k.FEATURES,
    "classes_": k.labels,
    "_sparse": k.boolean,
    "class_weight_": k.array("double", "C"),
    "_gamma": k.real(0.0, 1e300),
    "support_": k.array("int32", "V"),
    "support_vectors_": k.either(k.array("double", "*", "*"), k.sparse_rows("V", "F")),
    "_n_support": k.array("int32", "C"),
    "dual_coef_": _DUAL,
    "_dual_coef_": _DUAL,
    "intercept_": k.array("double", "P", finite=True),
    "_intercept_": k.array("double", "P", finite=True),
    "_probA": k.array("double", "Q", finite=True),
    "_probB": k.array("double", "Q", finite=True),
    "fit_status_": k.whole(0, 1),
    "shape_fit_": k.tuple_of(k.whole(), 2),
    "n_iter_": k.either(k.array("int32", "P"), k.array("int32", "*")),
    "_num_iter": k.either(k.array("int32", "P"), k.array("int32", "*")),
}


def has_probabilities(probability: Any) -> bool:
    """Return whether a kernel machine has probabilities, given its parameter of this name."""
    return probability not in (False, "deprecated")


def _check_machine(values: Values, sizes: Sizes) -> None:
    n_classes, n_vectors = sizes["C"], sizes["V"]
    require(n_classes >= 2 and sizes["D"] == n_classes - 1, _MACHINE_DAMAGED)
    pairs = n_classes * (n_classes - 1) // 2
    require(sizes["P"] == pairs, _MACHINE_DAMAGED)
    # Compiled code reads Platt's parameters if this is set.
    require(sizes["Q"] == (pairs if has_probabilities(values["probability"]) else 0), _MACHINE_DAMAGED)
    counts, samples, vectors = values["_n_support"], values["support_"], values["support_vectors_"]
    require(np.all(counts >= 0) and counts.sum(dtype=np.int64) == n_vectors, _MACHINE_DAMAGED)
    require(np.all(samples >= 0) and np.all(samples < values["shape_fit_"][0]), _MACHINE_DAMAGED)
    if values["kernel"] == "precomputed":
        require(not values["_sparse"] and values["shape_fit_"][0] == sizes["F"], _MACHINE_DAMAGED)
    else:
        require(vectors.shape == (n_vectors, sizes["F"]), _MACHINE_DAMAGED)
    duals = [values["dual_coef_"], values["_dual_coef_"]]
    for part in (vectors, *duals):
        require(sparse.issparse(part) == values["_sparse"], _MACHINE_DAMAGED)
        require(sparse.issparse(part) or part.flags.c_contiguous, _MACHINE_DAMAGED)
    if values["_sparse"]:
        _check_sparse_machine(vectors, duals)


def _check_sparse_machine(vectors: Any, duals: list[Any]) -> None:
    """Raise unless all dual coefficients are there and indices have the type that compiled code reads."""
    require(vectors.indices.dtype == vectors.indptr.dtype == np.int32, _MACHINE_DAMAGED)
    require(all(part.dtype == np.float64 for part in (vectors, *duals)), _MACHINE_DAMAGED)
    for dual in duals:
        rows, columns = dual.shape
        require(np.array_equal(dual.indptr, np.arange(rows + 1) * columns), _MACHINE_DAMAGED)
        require(np.array_equal(dual.indices, np.tile(np.arange(columns), rows)), _MACHINE_DAMAGED)


def _describe_machine(**other: Check) -> Schema:
    parameters = {"kernel": k.text(*KERNELS), "degree": k.whole(0, 1 << 30)}
    derived = ("_effective_probability",)  # which not every version of scikit-learn has
    return Schema(_MACHINE, {}, other, parameters, _check_machine, derived)


# ---------------------------------------------------------------------------------------------------------- neighbours

_NEIGHBOURS_DAMAGED = "neighbours are damaged"
_METRIC_SETTINGS: dict[str, Check] = {
    "p": lambda value, sizes: k.is_real(value) and value > 0.0,
    "w": k.either(k.none, k.array("float", "F", finite=True)),
    "V": k.either(k.array("double", "F", finite=True), k.array("double", "F", "F", finite=True)),
    "VI": k.array("double", "F", "F", finite=True),
}
# Metrics with the settings that they take.
_METRICS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "infinity"), ()),
    **dict.fromkeys(("minkowski", "p"), ("p", "w")),
    **dict.fromkeys(("cosine", "correlation", "sqeuclidean", "nan_euclidean", "canberra", "braycurtis"), ()),
    **dict.fromkeys(("hamming", "jaccard", "dice", "rogerstanimoto", "russellrao", "sokalsneath", "haversine"), ()),
    "mahalanobis": ("V", "VI"),
    "seuclidean": ("V",),
}


def _metric(value: Any, sizes: Sizes) -> bool:
    if not isinstance(value, str) or value not in _METRICS:
        raise ValueError(f"metric={str(value)[:50]!r} cannot be stored: use one of {', '.join(sorted(_METRICS))}")
    return True


def _metric_settings(value: Any, sizes: Sizes) -> bool:
    return value is None or (
        type(value) is dict
        and set(value) <= set(_METRIC_SETTINGS)
        and all(_METRIC_SETTINGS[key](one, sizes) for key, one in value.items())
    )


def _check_neighbours(values: Values, sizes: Sizes) -> None:
    codes, classes, n_samples = values["_y"], values["classes_"], sizes["N"]
    require(values["n_samples_fit_"] == n_samples >= 1, _NEIGHBOURS_DAMAGED)
    several = classes if isinstance(classes, list) else [classes]
    shape = (n_samples, len(several)) if isinstance(classes, list) else (n_samples,)
    require(codes.shape == shape, _NEIGHBOURS_DAMAGED)
    require(bool(values["outputs_2d_"]) == isinstance(classes, list), _NEIGHBOURS_DAMAGED)
    for known, column in zip(several, codes.reshape(n_samples, -1).T, strict=True):
        require(k.is_label_array(known) and known.size >= 1, _NEIGHBOURS_DAMAGED)
        require(np.all(column >= 0) and np.all(column < known.size), _NEIGHBOURS_DAMAGED)
    method, metric, settings = (values[key] for key in ("_fit_method", "effective_metric_", "effective_metric_params_"))
    samples = values["_fit_X"]
    is_sparse = sparse.issparse(samples)
    require(method == "brute" or (not is_sparse and metric in VALID_METRICS[method]), _NEIGHBOURS_DAMAGED)
    is_finite = np.all(np.isfinite(samples.data if is_sparse else samples)) or metric == "nan_euclidean"
    require(is_finite and values["n_neighbors"] <= n_samples, _NEIGHBOURS_DAMAGED)
    require(set(settings or ()) <= set(_METRICS[metric]), _NEIGHBOURS_DAMAGED)
    require(values["metric"] != "minkowski" or values["p"] is not None, _NEIGHBOURS_DAMAGED)
    require(metric != "haversine" or sizes["F"] == 2, _NEIGHBOURS_DAMAGED)
    _check_weights_of_metric(settings or {}, metric)


def _check_weights_of_metric(settings: Values, metric: str) -> None:
    """Raise unless weights of features are not negative, and variances have the shape that a metric takes."""
    weights, variances = settings.get("w"), settings.get("V")
    require(weights is None or np.all(weights >= 0.0), _NEIGHBOURS_DAMAGED)
    require(variances is None or variances.ndim == (1 if metric == "seuclidean" else 2), _NEIGHBOURS_DAMAGED)


# ------------------------------------------------------------------------------------------------------------ networks

_NETWORK_DAMAGED = "a network is damaged"
_LAYERS, _OFFSETS = k.list_of(k.array("float", "*", "*"), "L"), k.list_of(k.array("float", "*"), "L")
_SCORES = k.either(k.none, k.list_of(k.real()))
_EPOCHS: dict[str, Check] = {
    "loss_curve_": k.list_of(k.real()),
    "_no_improvement_count": k.whole(),
    "best_loss_": k.either(k.none, k.real()),
    "validation_scores_": _SCORES,
    "best_validation_score_": k.either(k.none, k.real()),
}


def _check_network(values: Values, sizes: Sizes) -> None:
    for weights, offsets in (("coefs_", "intercepts_"), ("_best_coefs", "_best_intercepts")):
        if weights in values:
            shapes = [one.shape for one in values[weights]]
            require(shapes and shapes[0][0] == sizes["F"], _NETWORK_DAMAGED)
            require(all(before[1] == after[0] for before, after in pairwise(shapes)), _NETWORK_DAMAGED)
            require([one.size for one in values[offsets]] == [shape[1] for shape in shapes], _NETWORK_DAMAGED)
            require(shapes[-1][1] == values["n_outputs_"], _NETWORK_DAMAGED)
    hidden = [one.size for one in values["intercepts_"][:-1]]
    require(np.atleast_1d(values["hidden_layer_sizes"]).tolist() == hidden, _NETWORK_DAMAGED)
    parameters = [one.shape for one in (*values["coefs_"], *values["intercepts_"])]
    for name in ("ms", "vs", "velocities"):
        sums = getattr(values.get("_optimizer"), name, None)
        require(sums is None or [one.shape for one in sums] == parameters, _NETWORK_DAMAGED)
    _check_epochs(values)
    binarizer = values["_label_binarizer"]
    require(not binarizer.sparse_output, _NETWORK_DAMAGED)
    require(np.array_equal(get_classes(binarizer), values["classes_"]), _NETWORK_DAMAGED)
    require(values["n_layers_"] == sizes["L"] + 1, _NETWORK_DAMAGED)
    kind = getattr(binarizer, "y_type_", None)
    expected = {"binary": 1, "multiclass": sizes["C"], "multilabel-indicator": sizes["C"]}.get(str(kind))
    require(values["n_outputs_"] == expected, _NETWORK_DAMAGED)
    require((values["out_activation_"] == "softmax") == (kind == "multiclass"), _NETWORK_DAMAGED)


def _check_epochs(values: Values) -> None:
    """Raise unless a network that learns in epochs has what shows whether they still improve it."""
    if values["solver"] == "lbfgs":
        return
    require(all(key in values for key in _EPOCHS), _NETWORK_DAMAGED)
    scores = values["validation_scores_"], values["best_validation_score_"]
    improving = scores if values["early_stopping"] else (values["best_loss_"],)
    require(all(one is not None for one in improving), _NETWORK_DAMAGED)


_GRADIENTS = k.list_of(k.either(k.array("float", "*"), k.array("float", "*", "*")))
_RATES: dict[str, Check] = {"learning_rate_init": k.real(0.0), "learning_rate": k.real(0.0)}

SCHEMAS: dict[str, Schema] = {
    "sklearn.neighbors.KNeighborsClassifier": Schema(
        {
            **k.FEATURES,
            "outputs_2d_": k.boolean,
            "classes_": k.one_each(k.label_array),
            "_y": k.either(k.array("int64", "*"), k.array("int64", "*", "*")),
            "effective_metric_params_": _metric_settings,
            "effective_metric_": _metric,
            "_fit_method": k.text("kd_tree", "ball_tree", "brute"),
            "_fit_X": k.matrix("N", "F", kind="number"),
            "n_samples_fit_": k.whole(1),
        },
        always={"radius": k.none},
        parameters={
            "leaf_size": k.whole(1, 1 << 30),
            "n_neighbors": k.whole(1),
            "metric": _metric,
            "metric_params": _metric_settings,
            "weights": k.either(k.none, k.text("uniform", "distance")),
        },
        check_relations=_check_neighbours,
        derived=("_tree",),
    ),
    "sklearn.neighbors.NearestCentroid": Schema(
        {
            **k.FEATURES,
            "classes_": k.labels,
            "centroids_": k.array("float", "C", "F"),
        },
        {
            "class_prior_": k.array("float", "C"),
            "true_classes_": k.labels,
            "within_class_std_dev_": k.array("float", "F"),
            "deviations_": k.array("float", "C", "F"),
        },
        parameters={"metric": k.text("euclidean", "manhattan")},
        check_relations=check_several_classes,
    ),
    "sklearn.neural_network.MLPClassifier": Schema(
        {
            **k.FEATURES,
            "_label_binarizer": k.of_class("LabelBinarizer"),
            "classes_": k.labels,
            "n_outputs_": k.whole(1),
            "n_iter_": k.whole(),
            "t_": k.whole(),
            "n_layers_": k.whole(2),
            "out_activation_": k.text("logistic", "softmax"),
            "coefs_": _LAYERS,
            "intercepts_": _OFFSETS,
            "loss_": k.real(),
        },
        {
            "_random_state": k.of_class("RandomState"),
            "_best_coefs": _LAYERS,
            "_best_intercepts": _OFFSETS,
            **_EPOCHS,
            "_optimizer": k.of_class("AdamOptimizer", "SGDOptimizer"),
            "_coef_indptr": k.list_of(k.each(k.whole(), k.whole(), k.tuple_of(k.whole(), 2))),
            "_intercept_indptr": k.list_of(k.tuple_of(k.whole(), 2)),
        },
        always={"loss": k.text("log_loss")},
        check_relations=_check_network,
    ),
    HELD_CLASSES["AdamOptimizer"]: Schema(
        always={
            **_RATES,
            "beta_1": k.real(0.0, 1.0),
            "beta_2": k.real(0.0, 1.0),
            "epsilon": k.real(0.0),
            "t": k.whole(),
            "ms": _GRADIENTS,
            "vs": _GRADIENTS,
        }
    ),
    HELD_CLASSES["SGDOptimizer"]: Schema(
        always={
            **_RATES,
            "lr_schedule": k.any_text,
            "momentum": k.real(0.0, 1.0),
            "nesterov": k.boolean,
            "power_t": k.real(),
            "velocities": _GRADIENTS,
        }
    ),
    "sklearn.svm.NuSVC": _describe_machine(C=k.real(), epsilon=k.real()),
    "sklearn.svm.SVC": _describe_machine(nu=k.real(), epsilon=k.real()),
}
