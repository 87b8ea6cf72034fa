"""Check the attributes of models whose predictions are made by compiled code.

Such code follows any index and size; a file in which they do not fit together is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from scipy import sparse

from metricwise.persistence.boosters.checks import CHECKS as BOOSTER_CHECKS
from metricwise.persistence.compiled import check_predictor, find_kind, require
from metricwise.results import StreamEntry

Values = dict[str, Any]

_KERNELS = ("linear", "poly", "rbf", "sigmoid")
_MOST_CATEGORIES = 256  # of a feature, in histogram-based boosting


def check_state(name: str, values: Values) -> None:
    """Raise a ValueError unless the attributes of an object of a class fit together."""
    check = _CHECKS.get(name.rpartition(".")[2])
    if check is not None:
        check(values)


def _check_matrix(thing: Any, n_columns: Any, what: str) -> None:
    """Raise unless a value is a matrix of floats with the given number of columns."""
    is_right = isinstance(thing, np.ndarray) and thing.dtype.kind == "f" and thing.ndim == 2
    require(is_right and type(n_columns) is int and thing.shape[1] == n_columns, f"{what} has the wrong shape")


# --------------------------------------------------------------------------------------------------------------- trees


def _count_features(tree: Any) -> int:
    require(find_kind(tree) == "tree", "there is something else where a decision tree belongs")
    return int(tree.n_features)


def _check_decision_tree(values: Values) -> None:
    if "tree_" in values:
        require(
            _count_features(values["tree_"]) == values.get("n_features_in_"), "a tree has other features than its model"
        )


def _check_forest(values: Values) -> None:
    for model in values.get("estimators_", ()):
        found = _count_features(getattr(model, "tree_", None))
        require(found == values.get("n_features_in_"), "a tree has other features than its forest")


def _check_boosting(values: Values) -> None:
    if "estimators_" not in values:
        return
    models, columns = values["estimators_"], values.get("n_trees_per_iteration_")
    is_right = isinstance(models, np.ndarray) and models.dtype == object and models.ndim == 2
    require(is_right and models.shape[1] == columns, "boosted trees have the wrong shape")
    _check_forest({**values, "estimators_": models.ravel()})
    require(all(model.tree_.value.shape[1:] == (1, 1) for model in models.ravel()), "a boosted tree has several values")
    _check_first_guess(values["init_"], len(values["classes_"]), values["_loss"], columns)


def _check_first_guess(guess: Any, n_classes: int, loss: Any, columns: Any) -> None:
    """Raise unless the initial prediction of boosting is one number per sample and column of trees."""
    require(columns == (n_classes if find_kind(loss) == "loss" and loss.is_multiclass else 1), _BOOSTED)
    if isinstance(guess, str):
        require(guess == "zero", _BOOSTED)
        return
    require(
        type(guess).__name__ == "DummyClassifier" and guess.strategy == "prior",
        "boosted trees start from an estimator of their own (init), which model files do not hold: set init=None",
    )
    require(guess.n_outputs_ == 1 and np.shape(guess.class_prior_) == (n_classes,), _BOOSTED)


def _check_histogram_boosting(values: Values) -> None:
    if "_predictors" not in values:
        return
    mapper, n_features = values["_bin_mapper"], values["_n_features"]
    categorical = np.asarray(mapper.is_categorical_)
    require(categorical.shape == (n_features,) and len(mapper.bin_thresholds_) == n_features, _BOOSTED)
    for feature in np.flatnonzero(categorical):
        known = np.asarray(mapper.bin_thresholds_[feature])
        require(known.dtype.kind in "fiu" and known.ndim == 1, _BOOSTED)
        require(np.all((known >= 0) & (known < _MOST_CATEGORIES)), _BOOSTED)
    for iteration in values["_predictors"]:
        require(len(iteration) == values["n_trees_per_iteration_"], _BOOSTED)
        for predictor in iteration:
            nodes = predictor.nodes
            used = nodes["feature_idx"][nodes["is_leaf"] == 0]
            require(np.all((used >= 0) & (used < n_features)), _BOOSTED)
            require(np.all(categorical[nodes["feature_idx"][_splits_categories(nodes)]]), _BOOSTED)


_BOOSTED = "boosted trees are damaged"


def _splits_categories(nodes: Any) -> Any:
    return (nodes["is_leaf"] == 0) & (nodes["is_categorical"] != 0)


# ------------------------------------------------------------------------------------------ kernel machines, neighbours


def _check_kernel_machine(values: Values) -> None:
    if "_n_support" not in values:
        return
    vectors, counts, samples = values["support_vectors_"], values["_n_support"], values["support_"]
    n_classes, kernel = len(values["classes_"]), values["kernel"]
    require(kernel in (*_KERNELS, "precomputed"), "a kernel machine has an unknown kernel")
    is_right = isinstance(counts, np.ndarray) and counts.dtype == np.int32 and counts.shape == (n_classes,)
    require(is_right and counts.min() >= 0 and samples.shape == (counts.sum(),), _MACHINE)
    if kernel == "precomputed":
        require(np.all((samples >= 0) & (samples < values["shape_fit_"][0])), _MACHINE)
    else:
        require(vectors.shape == (counts.sum(), values["n_features_in_"]), _MACHINE)
    require(sparse.issparse(vectors) == (values["_sparse"] is True), _MACHINE)
    _check_machine_coefficients(values, n_classes, int(counts.sum()))


_MACHINE = "a kernel machine is damaged"


def _check_machine_coefficients(values: Values, n_classes: int, n_vectors: int) -> None:
    coefficients, pairs = values["_dual_coef_"], n_classes * (n_classes - 1) // 2
    require(coefficients.shape == (n_classes - 1, n_vectors), _MACHINE)
    if sparse.issparse(coefficients):
        require(coefficients.data.size == (n_classes - 1) * n_vectors, _MACHINE)
    require(values["_intercept_"].shape == (pairs,), _MACHINE)
    for name in ("_probA", "_probB"):
        require(values[name].shape in ((0,), (pairs,)), _MACHINE)
    require(values["_probA"].shape == values["_probB"].shape, _MACHINE)


def _check_neighbours(values: Values) -> None:
    if "_fit_X" in values:
        samples = values["_fit_X"]
        require(samples.shape == (len(values["_y"]), values["n_features_in_"]), "neighbours have the wrong shape")
        require(type(values["leaf_size"]) is int and values["leaf_size"] >= 1, "neighbours are damaged")


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
    require("costs" not in values or len(numbers) == 5, _MEASURE)
    require(all(type(values[key]) is bool for key in ("elementwise", "is_total") if key in values), _MEASURE)


_MEASURE = "a measure made of a function is damaged"


def _check_missing_function(values: Values) -> None:
    name, found = values["measure_name"], values["values"]
    require(type(name) is str and type(found) is tuple and all(type(value) is float for value in found), _MEASURE)


def _check_linear(values: Values) -> None:
    if "coef_" in values:
        _check_matrix(values["coef_"], values.get("n_features_in_"), "coef_")


def _check_sparse_coding(values: Values) -> None:
    """Raise unless there are as many dictionaries (features as columns) as weights (atoms as columns)."""
    if "coef_" not in values:
        return
    atoms: Any = values.get("dictionary_")
    weights = values["coef_"]
    is_right = isinstance(atoms, np.ndarray) and atoms.ndim in (2, 3) and atoms.dtype == np.float64
    require(is_right and type(values.get("C1")) in (int, float), "a sparse coding is damaged")
    dictionaries = atoms.reshape(-1, *atoms.shape[-2:])
    _check_matrix(weights, dictionaries.shape[1], "coef_")
    require(len(weights) == len(dictionaries), "a sparse coding is damaged")
    for dictionary in dictionaries:
        _check_matrix(dictionary, values.get("n_features_in_"), "dictionary_")


def _check_streaming(values: Values) -> None:
    from metricwise.estimators.streaming.training import StreamModel  # not needed for other models

    if "_model" not in values:
        return
    model, size = values["_model"], (values.get("n_features_in_"),)
    require(isinstance(model, StreamModel), "there is something else where the model of a stream belongs")
    sizes = [state.v.shape for state in model.states] + [np.shape(one.weights) for one in model.selected]
    require(all(found == size for found in sizes), "a stream has the wrong number of features")


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
    """Raise unless arrays have the shapes and types of those of a fresh state."""
    v, problem = values["v"], "the state of a stream is damaged"
    require(isinstance(v, np.ndarray) and v.ndim == 1, problem)
    from metricwise.solvers.stream_state import StreamState  # not needed for other models

    fresh = StreamState.fresh(v.size, values["is_sparse"], False)
    for field in fields(StreamState):
        right, found = getattr(fresh, field.name), values[field.name]
        if isinstance(right, np.ndarray):
            same = isinstance(found, np.ndarray) and found.shape == right.shape and found.dtype == right.dtype
            require(same and found.flags.c_contiguous, problem)
        elif field.name != "pieces":
            require(isinstance(found, int | float), problem)
    require(np.all(values["n_scores"] >= 0), problem)  # counts all scores, also those dropped since
    require(np.all(values["strides"] >= 1) and values["waiting"] >= 0, problem)
    for X, positive, weights in values["pieces"]:
        require(X.shape == (weights.size, v.size) and positive.shape == weights.shape == (weights.size,), problem)
        require(sparse.issparse(X) == values["is_sparse"] and positive.dtype == bool, problem)


def _check_chain(values: Values) -> None:
    order, size, problem = values["order"], len(values["models"]), "a chain of classifiers is damaged"
    require(isinstance(order, np.ndarray) and np.array_equal(np.sort(order), np.arange(size)), problem)
    if values["_linear"] is not None:
        of_samples, of_labels, constants = values["_linear"]
        _check_matrix(of_samples, values["n_features"], "a chain's weights")
        _check_matrix(of_labels, size, "a chain's weights of labels")
        require(of_samples.shape[0] == of_labels.shape[0] == size and constants.shape == (size,), problem)
        require(of_samples.dtype == of_labels.dtype == constants.dtype == np.float64, problem)


_CHECKS: dict[str, Callable[[Values], None]] = {
    **BOOSTER_CHECKS,
    "AMPClassifier": _check_linear,
    "AUCSVC": _check_linear,
    "Chain": _check_chain,
    "ContingencyCost": _check_function_measure,
    "ContingencyMeasure": _check_function_measure,
    "DecisionTreeClassifier": _check_decision_tree,
    "DecisionTreeRegressor": _check_decision_tree,
    "ExtraTreeClassifier": _check_decision_tree,
    "ExtraTreesClassifier": _check_forest,
    "FeatureSelectingSVC": _check_linear,
    "GradientBoostingClassifier": _check_boosting,
    "HistGradientBoostingClassifier": _check_histogram_boosting,
    "KNeighborsClassifier": _check_neighbours,
    "LinearContingencyCost": _check_function_measure,
    "MiniBatchSVC": _check_streaming,
    "MissingFunction": _check_missing_function,
    "MultivariateSVC": _check_linear,
    "NuSVC": _check_kernel_machine,
    "RandomForestClassifier": _check_forest,
    "RatioContingencyCost": _check_function_measure,
    "RatioContingencyMeasure": _check_function_measure,
    "SPADEClassifier": _check_streaming,
    "STAMPClassifier": _check_streaming,
    "SmoothedSVC": _check_linear,
    "SVC": _check_kernel_machine,
    "SparseCodingClassifier": _check_sparse_coding,
    "StreamModel": _check_stream_model,
    "StreamState": _check_stream_state,
    "TreePredictor": check_predictor,
}
