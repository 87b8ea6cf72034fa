"""Schemas of trees, forests and boosted trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise._sklearn import HELD_CLASSES
from metricwise._state import Values
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Check, Sizes
from metricwise.persistence.schemas.parts import check_codes, get_classes, require
from metricwise.persistence.schemas.schema import Schema

_OUTPUTS: dict[str, Check] = {
    "n_outputs_": k.whole(1),
    "classes_": k.one_each(k.label_array),
    "n_classes_": k.either(k.whole(1), k.list_of(k.whole(1)), k.array("int", "*")),
}


# --------------------------------------------------------------------------------------------------------------- trees


def _count_classes(values: Values, problem: str) -> list[int]:
    """Return the number of classes of each output; ValueError unless the attributes agree."""
    classes, counts = values["classes_"], values["n_classes_"]
    is_single = values["n_outputs_"] == 1
    require(isinstance(classes, list) != is_single, problem)
    found = [len(classes)] if is_single else [len(one) for one in classes]
    require(len(found) == values["n_outputs_"] and np.array_equal(np.atleast_1d(counts), found), problem)
    require(np.ndim(counts) == (0 if is_single else 1), problem)
    return found


def _check_tree(values: Values, sizes: Sizes) -> None:
    tree, problem = values["tree_"], "a decision tree is damaged"
    require(tree.n_features == sizes["F"], "a tree has other features than its model")
    require(tree.n_outputs == values["n_outputs_"], problem)
    counts = _count_classes(values, problem) if "classes_" in values else [1] * tree.n_outputs
    require(np.array_equal(tree.n_classes, counts), problem)


_TREE: dict[str, Check] = {
    **k.FEATURES,
    "n_outputs_": k.whole(1),
    "max_features_": k.whole(1),
    "tree_": k.of_class("Tree"),
}
_TREE_SCHEMA = Schema({**_TREE, **_OUTPUTS}, check_relations=_check_tree)


# -------------------------------------------------------------------------------------------------------------- forests


def _check_forest(values: Values, sizes: Sizes) -> None:
    problem = "a forest is damaged"
    counts = _count_classes(values, problem)
    require(values["estimators_"], problem)
    for part in values["estimators_"]:
        require(hasattr(part, "tree_") and part.n_outputs_ == values["n_outputs_"], problem)
        require(part.n_features_in_ == sizes["F"], "a tree has other features than its forest")
        require(np.array_equal(np.atleast_1d(part.n_classes_), counts), problem)


def _describe_forest(tree: str) -> Schema:
    return Schema(
        {
            **k.FEATURES,
            **_OUTPUTS,
            "estimator_": k.of_class(tree),
            "estimators_": k.list_of(k.of_class(tree)),
        },
        {
            "_n_samples": k.whole(1),
            "_n_samples_bootstrap": k.either(k.none, k.whole(1)),
            "oob_decision_function_": k.either(k.array("float", "*", "*"), k.array("float", "*", "*", "*")),
            "oob_score_": k.real(),
        },
        {"estimator": k.of_class(tree), "estimator_params": k.tuple_of(k.any_text)},
        check_relations=_check_forest,
        derived=("_sample_weight",),
    )


# ------------------------------------------------------------------------------------------------------------- boosting

_BOOSTED = "boosted trees are damaged"
_LOSS_CLASSES = ("HalfBinomialLoss", "HalfMultinomialLoss", "ExponentialLoss")


def _check_columns(values: Values, sizes: Sizes) -> int:
    """Return the number of trees per iteration; ValueError unless it is that of the loss and the classes."""
    columns, loss = values["n_trees_per_iteration_"], values["_loss"]
    require(columns == sizes["R"] and sizes["C"] >= 2, _BOOSTED)
    is_multiclass = type(loss).__name__ == "HalfMultinomialLoss"
    require(is_multiclass == (columns > 1) and (not is_multiclass or loss.n_classes == columns), _BOOSTED)
    return int(columns)


def _check_boosting(values: Values, sizes: Sizes) -> None:
    columns, models = _check_columns(values, sizes), values["estimators_"]
    require(models.shape[1] == columns and models.size and values["n_estimators_"] == models.shape[0], _BOOSTED)
    require(values["n_classes_"] == sizes["C"], _BOOSTED)
    for part in models.ravel():
        require(getattr(part, "n_features_in_", None) == sizes["F"], "a tree has other features than its forest")
        require(hasattr(part, "tree_") and part.tree_.value.shape[1:] == (1, 1), "a boosted tree has several values")
    _check_first_guess(values["init_"], sizes)


def _check_first_guess(guess: Any, sizes: Sizes) -> None:
    """Raise unless the initial prediction of boosting is the prior of the classes, or zero."""
    if isinstance(guess, str):
        require(guess == "zero", _BOOSTED)
        return
    require(
        type(guess).__name__ == "DummyClassifier" and guess.strategy == "prior",
        "boosted trees start from an estimator of their own (init), which model files do not hold: set init=None",
    )
    require(getattr(guess, "n_outputs_", None) == 1 and np.shape(guess.class_prior_) == (sizes["C"],), _BOOSTED)
    check_codes(guess, sizes["C"], _BOOSTED)


def _check_histogram_boosting(values: Values, sizes: Sizes) -> None:
    columns, mapper, n_features = _check_columns(values, sizes), values["_bin_mapper"], sizes["F"]
    require(values["_n_features"] == n_features, _BOOSTED)
    if "_label_encoder" in values:
        require(np.array_equal(get_classes(values["_label_encoder"]), values["classes_"]), _BOOSTED)
    require(values["_baseline_prediction"].shape == (1, columns), _BOOSTED)
    thresholds = getattr(mapper, "bin_thresholds_", None)
    require(thresholds is not None and len(thresholds) == n_features, _BOOSTED)
    is_categorical = mapper.is_categorical_ != 0
    _check_preprocessor(values, n_features, is_categorical)
    for iteration in values["_predictors"]:
        require(len(iteration) == columns, _BOOSTED)
        for nodes in (tree.nodes for tree in iteration):
            inner = nodes["is_leaf"] == 0
            used = nodes["feature_idx"][inner]
            require(np.all((used >= 0) & (used < n_features)), _BOOSTED)
            require(np.all(is_categorical[nodes["feature_idx"][inner & (nodes["is_categorical"] != 0)]]), _BOOSTED)


def _check_preprocessor(values: Values, n_features: int, is_categorical: Any) -> None:
    """Raise unless categories are encoded in the columns that trees read, and no other column is added or lost."""
    columns, given, remapped = values["_preprocessor"], values["is_categorical_"], values["_is_categorical_remapped"]
    if columns is None:
        require(given is None and remapped is None and not is_categorical.any(), _BOOSTED)
        return
    require(given is not None and np.array_equal(remapped, is_categorical), _BOOSTED)
    require(np.array_equal(remapped, np.sort(given)[::-1]), _BOOSTED)  # categories come first
    require(getattr(columns, "n_features_in_", None) == n_features, _BOOSTED)
    found = {name: (type(part).__name__, chosen) for name, part, chosen in columns.transformers_ if name != "remainder"}
    require(list(found) == ["encoder", "numerical"], _BOOSTED)
    require(found["encoder"][0] == "OrdinalEncoder" and np.array_equal(found["encoder"][1], given), _BOOSTED)
    require(found["numerical"][0] in ("FunctionTransformer", "str"), _BOOSTED)
    require(np.array_equal(found["numerical"][1], ~given), _BOOSTED)
    require(columns.remainder == "drop" and columns.transformer_weights is None, _BOOSTED)
    require(not columns.sparse_output_, _BOOSTED)


_MOST_CATEGORIES = 256  # of a feature, in histogram-based boosting


def _check_bin_mapper(values: Values, sizes: Sizes) -> None:
    for feature in np.flatnonzero(values["is_categorical_"]):
        known = values["bin_thresholds_"][feature]
        require(np.all((known >= 0) & (known < _MOST_CATEGORIES)), _BOOSTED)


_SCORES = k.array("float", "*")

SCHEMAS: dict[str, Schema] = {
    "sklearn.ensemble.ExtraTreesClassifier": _describe_forest("ExtraTreeClassifier"),
    "sklearn.ensemble.GradientBoostingClassifier": Schema(
        {
            **k.FEATURES,
            "classes_": k.labels,
            "n_trees_per_iteration_": k.whole(1),
            "n_classes_": k.whole(2),
            "max_features_": k.whole(1),
            "_loss": k.of_class(*_LOSS_CLASSES),
            "init_": k.either(k.text("zero"), k.predictor),
            "estimators_": k.items(k.of_class("DecisionTreeRegressor"), "*", "*"),
            "train_score_": _SCORES,
            "n_estimators_": k.whole(1),
        },
        {
            "_rng": k.of_class("RandomState"),
            "oob_improvement_": _SCORES,
            "oob_scores_": _SCORES,
            "oob_score_": k.real(),
        },
        {"alpha": k.real()},
        check_relations=_check_boosting,
    ),
    "sklearn.ensemble.HistGradientBoostingClassifier": Schema(
        {
            **k.FEATURES,
            "is_categorical_": k.either(k.none, k.array("bool", "F")),
            "_preprocessor": k.either(k.none, k.of_class("ColumnTransformer")),
            "_is_categorical_remapped": k.either(k.none, k.array("bool", "F")),
            "classes_": k.labels,
            "n_trees_per_iteration_": k.whole(1),
            "_n_features": k.whole(1),
            "_loss": k.of_class(*_LOSS_CLASSES),
            "_bin_mapper": k.of_class("_BinMapper"),
            "_baseline_prediction": k.array("double", "*", "*"),
            "_predictors": k.list_of(k.list_of(k.of_class("TreePredictor"))),
        },
        {
            "_label_encoder": k.of_class("LabelEncoder"),  # since scikit-learn 1.7
            "_random_seed": k.whole(0, 1 << 64),
            "_feature_subsample_rng": k.of_class("Generator"),
            "_fitted_with_sw": k.boolean,
            "do_early_stopping_": k.boolean,
            "_use_validation_data": k.boolean,
            "train_score_": _SCORES,
            "validation_score_": _SCORES,
        },
        check_relations=_check_histogram_boosting,
        derived=("_scorer", "_raw_predict"),  # early stopping leaves its own
    ),
    "sklearn.ensemble.RandomForestClassifier": _describe_forest("DecisionTreeClassifier"),
    # `metricwise.persistence.compiled` checks its nodes.
    HELD_CLASSES["TreePredictor"]: Schema(
        always={
            "nodes": lambda value, sizes: isinstance(value, np.ndarray),
            "raw_left_cat_bitsets": k.array("uint32", "*", 8),
            "binned_left_cat_bitsets": k.array("uint32", "*", 8),
        }
    ),
    HELD_CLASSES["_BinMapper"]: Schema(
        {
            "is_categorical_": k.array("uint8", "B"),
            "missing_values_bin_idx_": k.whole(0, 255),
            "bin_thresholds_": k.list_of(k.array("double", "*"), "B"),
            "n_bins_non_missing_": k.array("uint32", "B"),
        },
        parameters={
            "n_bins": k.whole(3, 256),
            "subsample": k.either(k.none, k.whole()),
            "is_categorical": k.either(k.none, k.array("bool", "*"), k.array("uint8", "*")),
            "known_categories": k.either(k.none, k.list_of(k.either(k.none, k.array("number", "*")))),
            "random_state": k.either(k.none, k.whole(0, 1 << 64)),
            "n_threads": k.either(k.none, k.whole()),
        },
        check_relations=_check_bin_mapper,
    ),
    "sklearn.tree.DecisionTreeClassifier": _TREE_SCHEMA,
    "sklearn.tree.DecisionTreeRegressor": Schema(_TREE, always={"class_weight": k.none}, check_relations=_check_tree),
    "sklearn.tree.ExtraTreeClassifier": _TREE_SCHEMA,
}
