"""What must hold among the attributes of a model whose predictions are made by compiled code.

Such code follows indices and sizes without looking; a file in which they do not fit together is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from scipy import sparse

from metricwise.persistence.allowed import class_named
from metricwise.persistence.compiled import check_predictor, kind_of, require

Values = dict[str, Any]

_KERNELS = ("linear", "poly", "rbf", "sigmoid")
_MOST_CATEGORIES = 256  # of a feature, in histogram-based boosting


def checked_state(name: str, values: Values) -> None:
    """Raise unless the attributes of an object of a class fit together."""
    check = _CHECKS.get(name.rpartition(".")[2])
    if check is not None:
        check(values)


def _matrix(thing: Any, n_columns: Any, what: str) -> None:
    """Raise unless a thing is a matrix of floats with the given number of columns."""
    right = isinstance(thing, np.ndarray) and thing.dtype.kind == "f" and thing.ndim == 2
    require(right and type(n_columns) is int and thing.shape[1] == n_columns, f"{what} has the wrong shape")


# --------------------------------------------------------------------------------------------------------------- trees


def _features_of(tree: Any) -> int:
    require(kind_of(tree) == "tree", "there is something else where a decision tree belongs")
    return int(tree.n_features)


def _decision_tree(values: Values) -> None:
    if "tree_" in values:
        require(
            _features_of(values["tree_"]) == values.get("n_features_in_"), "a tree has other features than its model"
        )


def _forest(values: Values) -> None:
    for model in values.get("estimators_", ()):
        found = _features_of(getattr(model, "tree_", None))
        require(found == values.get("n_features_in_"), "a tree has other features than its forest")


def _boosting(values: Values) -> None:
    if "estimators_" not in values:
        return
    models, columns = values["estimators_"], values.get("n_trees_per_iteration_")
    right = isinstance(models, np.ndarray) and models.dtype == object and models.ndim == 2
    require(right and models.shape[1] == columns, "boosted trees have the wrong shape")
    _forest({**values, "estimators_": models.ravel()})
    require(all(model.tree_.value.shape[1:] == (1, 1) for model in models.ravel()), "a boosted tree has several values")
    _first_guess(values["init_"], len(values["classes_"]), values["_loss"], columns)


def _first_guess(guess: Any, n_classes: int, loss: Any, columns: Any) -> None:
    """Raise unless what boosting starts from gives one number for every sample and column of trees."""
    require(columns == (n_classes if kind_of(loss) == "loss" and loss.is_multiclass else 1), _BOOSTED)
    if isinstance(guess, str):
        require(guess == "zero", _BOOSTED)
        return
    require(
        type(guess).__name__ == "DummyClassifier" and guess.strategy == "prior",
        "boosted trees start from an estimator of their own (init), which model files do not hold: set init=None",
    )
    require(guess.n_outputs_ == 1 and np.shape(guess.class_prior_) == (n_classes,), _BOOSTED)


def _histogram_boosting(values: Values) -> None:
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


def _kernel_machine(values: Values) -> None:
    if "_n_support" not in values:
        return
    vectors, counts, rows = values["support_vectors_"], values["_n_support"], values["support_"]
    n_classes, kernel = len(values["classes_"]), values["kernel"]
    require(kernel in (*_KERNELS, "precomputed"), "a kernel machine has an unknown kernel")
    right = isinstance(counts, np.ndarray) and counts.dtype == np.int32 and counts.shape == (n_classes,)
    require(right and counts.min() >= 0 and rows.shape == (counts.sum(),), _MACHINE)
    if kernel == "precomputed":
        require(np.all((rows >= 0) & (rows < values["shape_fit_"][0])), _MACHINE)
    else:
        require(vectors.shape == (counts.sum(), values["n_features_in_"]), _MACHINE)
    require(sparse.issparse(vectors) == (values["_sparse"] is True), _MACHINE)
    _machine_coefficients(values, n_classes, int(counts.sum()))


_MACHINE = "a kernel machine is damaged"


def _machine_coefficients(values: Values, n_classes: int, n_vectors: int) -> None:
    coefficients, pairs = values["_dual_coef_"], n_classes * (n_classes - 1) // 2
    require(coefficients.shape == (n_classes - 1, n_vectors), _MACHINE)
    if sparse.issparse(coefficients):
        require(coefficients.data.size == (n_classes - 1) * n_vectors, _MACHINE)
    require(values["_intercept_"].shape == (pairs,), _MACHINE)
    for name in ("_probA", "_probB"):
        require(values[name].shape in ((0,), (pairs,)), _MACHINE)
    require(values["_probA"].shape == values["_probB"].shape, _MACHINE)


def _neighbours(values: Values) -> None:
    if "_fit_X" in values:
        rows = values["_fit_X"]
        require(rows.shape == (len(values["_y"]), values["n_features_in_"]), "neighbours have the wrong shape")
        require(type(values["leaf_size"]) is int and values["leaf_size"] >= 1, "neighbours are damaged")


# ------------------------------------------------------------------------------------------------------------- our own


def _linear(values: Values) -> None:
    if "coef_" in values:
        _matrix(values["coef_"], values.get("n_features_in_"), "coef_")


def _sparse_coding(values: Values) -> None:
    """Dictionaries have the features as columns, weights the atoms; there are as many of one as of the other."""
    if "coef_" not in values:
        return
    atoms: Any = values.get("dictionary_")
    weights = values["coef_"]
    right = isinstance(atoms, np.ndarray) and atoms.ndim in (2, 3) and atoms.dtype == np.float64
    require(right and type(values.get("C1")) in (int, float), "a sparse coding is damaged")
    several = atoms.reshape(-1, *atoms.shape[-2:])
    _matrix(weights, several.shape[1], "coef_")
    require(len(weights) == len(several), "a sparse coding is damaged")
    for dictionary in several:
        _matrix(dictionary, values.get("n_features_in_"), "dictionary_")


def _streaming(values: Values) -> None:
    model = values.get("_model")
    if model is None:
        return
    problem = "the model of a stream is damaged"
    require(type(model).__name__ == "StreamModel", problem)
    for name, part in {
        "StreamState": model.states,
        "BinaryModel": model.selected,
        "StreamEntry": model.entries,
    }.items():
        require(isinstance(part, tuple) and all(type(one).__name__ == name for one in part), problem)
    sizes = [state.v.shape for state in model.states] + [np.shape(one.weights) for one in model.selected]
    require(all(size == (values.get("n_features_in_"),) for size in sizes), "a stream has the wrong number of features")


def _stream_state(values: Values) -> None:
    """Compare arrays with those of a state that has not seen any sample."""
    v, problem = values["v"], "the state of a stream is damaged"
    require(isinstance(v, np.ndarray) and v.ndim == 1, problem)
    cls = class_named("metricwise.solvers.stream_state.StreamState")
    fresh = cls.fresh(v.size, values["is_sparse"], False)
    for field in fields(cls):
        right, found = getattr(fresh, field.name), values[field.name]
        if isinstance(right, np.ndarray):
            same = isinstance(found, np.ndarray) and found.shape == right.shape and found.dtype == right.dtype
            require(same and found.flags.c_contiguous, problem)
        elif field.name != "pieces":
            require(isinstance(found, int | float), problem)
    require(np.all(values["n_scores"] >= 0), problem)  # of all times, also of scores that are forgotten
    require(np.all(values["strides"] >= 1) and values["waiting"] >= 0, problem)
    for X, positive, weights in values["pieces"]:
        require(X.shape == (weights.size, v.size) and positive.shape == weights.shape == (weights.size,), problem)
        require(sparse.issparse(X) == values["is_sparse"] and positive.dtype == bool, problem)


def _chain(values: Values) -> None:
    order, size, problem = values["order"], len(values["models"]), "a chain of classifiers is damaged"
    require(isinstance(order, np.ndarray) and np.array_equal(np.sort(order), np.arange(size)), problem)
    if values["_linear"] is not None:
        of_rows, of_labels, constants = values["_linear"]
        _matrix(of_rows, values["n_features"], "a chain's weights")
        _matrix(of_labels, size, "a chain's weights of labels")
        require(of_rows.shape[0] == of_labels.shape[0] == size and constants.shape == (size,), problem)
        require(of_rows.dtype == of_labels.dtype == constants.dtype == np.float64, problem)


_CHECKS: dict[str, Callable[[Values], None]] = {
    "AMPClassifier": _linear,
    "AUCSVC": _linear,
    "Chain": _chain,
    "DecisionTreeClassifier": _decision_tree,
    "DecisionTreeRegressor": _decision_tree,
    "ExtraTreeClassifier": _decision_tree,
    "ExtraTreesClassifier": _forest,
    "FeatureSelectingSVC": _linear,
    "GradientBoostingClassifier": _boosting,
    "HistGradientBoostingClassifier": _histogram_boosting,
    "KNeighborsClassifier": _neighbours,
    "MiniBatchSVC": _streaming,
    "MultivariateSVC": _linear,
    "NuSVC": _kernel_machine,
    "RandomForestClassifier": _forest,
    "SPADEClassifier": _streaming,
    "STAMPClassifier": _streaming,
    "SmoothedSVC": _linear,
    "SVC": _kernel_machine,
    "SparseCodingClassifier": _sparse_coding,
    "StreamState": _stream_state,
    "TreePredictor": check_predictor,
}
