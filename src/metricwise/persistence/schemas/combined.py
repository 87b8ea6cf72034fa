"""Schemas of classifiers that combine others: bagging, stacking, voting, one classifier per class or output."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise._sklearn import HELD_CLASSES
from metricwise.persistence.schemas.kinds import (
    Sizes,
    Values,
    any_text,
    array,
    either,
    indices,
    is_label_array,
    labels,
    listed,
    nothing,
    of_class,
    one_each,
    predictor,
    real,
    size,
    text,
    tupled,
    whole,
)
from metricwise.persistence.schemas.parts import check_codes, check_features, get_classes, require
from metricwise.persistence.schemas.schema import Schema

_F = {"n_features_in_": size("F", low=1)}


def _check_bagging(values: Values, sizes: Sizes) -> None:
    problem = "a bag of classifiers is damaged"
    require(values["n_classes_"] == sizes["C"] and sizes["B"] >= 1, problem)
    for part, columns in zip(values["estimators_"], values["estimators_features_"], strict=True):
        check_features(part, columns.size, problem)
        check_codes(part, sizes["C"], problem, all_of_them=False)


def _check_ada_boost(values: Values, sizes: Sizes) -> None:
    problem = "boosted classifiers are damaged"
    require(values["n_classes_"] == sizes["C"] >= 2 and values["estimators_"], problem)
    require(len(values["estimators_"]) <= values["estimator_weights_"].size, problem)
    require(values["estimator_weights_"].shape == values["estimator_errors_"].shape, problem)
    for part in values["estimators_"]:
        check_features(part, values.get("n_features_in_"), problem)
        require(np.all(np.isin(get_classes(part), values["classes_"])), problem)


_NAMED = listed(lambda value, sizes: _is_named_model(value))


def _is_named_model(value: Any) -> bool:
    return (
        type(value) is tuple
        and len(value) == 2
        and isinstance(value[0], str)
        and (value[1] == "drop" if isinstance(value[1], str) else predictor(value[1], {}))
    )


_LABEL_ENCODER = of_class("LabelEncoder")


def _check_voting(values: Values, sizes: Sizes) -> None:
    problem = "a vote of classifiers is damaged"
    require(np.array_equal(values["le_"].classes_, values["classes_"]) and values["estimators_"], problem)
    used = [weight for weight in _get_weights(values, problem)]
    require(len(used) == len(values["estimators_"]), problem)
    for part in values["estimators_"]:
        check_codes(part, sizes["C"], problem)
        require(values["voting"] == "hard" or hasattr(part, "predict_proba"), problem)


def _get_weights(values: Values, problem: str) -> list[float]:
    """Return the weights of the classifiers that were not dropped."""
    names, weights = values["estimators"], values["weights"]
    given = [1.0] * len(names) if weights is None else np.asarray(weights, dtype=float).tolist()
    require(len(given) == len(names) and np.all(np.isfinite(given)) and sum(given) > 0.0, problem)
    kept = [weight for (_, part), weight in zip(names, given, strict=True) if not isinstance(part, str)]
    require(min(kept, default=-1.0) >= 0.0 and sum(kept) > 0.0, problem)
    return kept


_METHODS = ("predict_proba", "decision_function", "predict")


def _check_stacking(values: Values, sizes: Sizes) -> None:
    problem = "a stack of classifiers is damaged"
    parts, methods = values["estimators_"], values["stack_method_"]
    require(parts and len(parts) == len(methods) and all(map(hasattr, parts, methods)), problem)
    encoders, classes = values["_label_encoder"], values["classes_"]
    several = isinstance(classes, list)
    require(isinstance(encoders, list) == several and (not several or len(encoders) == len(classes)), problem)
    pairs = zip(encoders, classes, strict=True) if several else [(encoders, classes)]
    require(all(np.array_equal(one.classes_, known) for one, known in pairs), problem)
    if not several:
        check_codes(values["final_estimator_"], len(classes), problem)


def _check_pairs(values: Values, sizes: Sizes) -> None:
    problem = "classifiers of pairs of classes are damaged"
    n_classes = sizes["C"]
    require(n_classes >= 2 and len(values["estimators_"]) == n_classes * (n_classes - 1) // 2, problem)
    for part in values["estimators_"]:
        check_codes(part, 2, problem)


def _check_rest(values: Values, sizes: Sizes) -> None:
    problem = "classifiers of one class vs the rest are damaged"
    binarizer = values["label_binarizer_"]
    known = get_classes(binarizer)
    require(binarizer.y_type_ in ("binary", "multiclass", "multilabel-indicator"), problem)
    require(binarizer.neg_label == 0 and binarizer.pos_label == 1, problem)
    expected = 1 if binarizer.y_type_ == "binary" else known.size
    require(len(values["estimators_"]) == expected and (expected > 1 or known.size == 2), problem)
    for part in values["estimators_"]:
        if type(part).__name__ != "_ConstantPredictor":
            check_codes(part, 2, problem)
            check_features(part, values.get("n_features_in_"), problem)


def _check_outputs(values: Values, sizes: Sizes) -> None:
    problem = "classifiers of several outputs are damaged"
    classes, parts = values["classes_"], values["estimators_"]
    require(parts and len(parts) == len(classes), problem)
    for part, known in zip(parts, classes, strict=True):
        require(np.array_equal(get_classes(part), known), problem)


def _check_chain(values: Values, sizes: Sizes) -> None:
    problem = "a chain of classifiers is damaged"
    parts, order = values["estimators_"], values["order_"]
    require(parts and np.array_equal(np.sort(order), np.arange(len(parts))), problem)
    require(len(values["classes_"]) == len(parts), problem)
    for k, part in enumerate(parts):
        check_features(part, sizes["F"] + k, problem)
        get_classes(part)


def _check_constant(values: Values, sizes: Sizes) -> None:
    require(np.all(np.isin(values["y_"], [0, 1])), "a constant classifier is damaged")


SCHEMAS: dict[str, Schema] = {
    "sklearn.ensemble.AdaBoostClassifier": Schema(
        {
            "estimator_": predictor,
            "classes_": labels,
            "n_classes_": whole(2),
            "estimators_": listed(predictor),
            "estimator_weights_": array("double", "*", finite=True),
            "estimator_errors_": array("double", "*"),
        },
        always={"estimator_params": tupled(any_text)},
        relate=_check_ada_boost,
    ),
    "sklearn.ensemble.BaggingClassifier": Schema(
        {
            **_F,
            "classes_": labels,
            "n_classes_": whole(1),
            "estimator_": predictor,
            "estimators_": listed(predictor, "B"),
            "estimators_features_": listed(indices("F", "*"), "B"),
        },
        {
            "_n_samples": whole(1),
            "_max_samples": whole(1),
            "_max_features": whole(1),
            "_seeds": array("int", "*"),
            "oob_decision_function_": array("float", "*", "*"),
            "oob_score_": real(),
        },
        {"estimator_params": tupled(any_text)},
        relate=_check_bagging,
        derived=("_sample_weight",),
    ),
    "sklearn.ensemble.StackingClassifier": Schema(
        {
            "_label_encoder": either(_LABEL_ENCODER, listed(_LABEL_ENCODER)),
            "classes_": one_each(lambda value, sizes: is_label_array(value)),
            "final_estimator_": predictor,
            "estimators_": listed(predictor),
            "named_estimators_": of_class("Bunch"),
            "stack_method_": listed(text(*_METHODS)),
        },
        {"_n_feature_outs": listed(whole())},
        parameters={"estimators": _NAMED},
        relate=_check_stacking,
    ),
    "sklearn.ensemble.VotingClassifier": Schema(
        {
            "le_": _LABEL_ENCODER,
            "classes_": labels,
            "estimators_": listed(predictor),
            "named_estimators_": of_class("Bunch"),
        },
        parameters={"estimators": _NAMED},
        relate=_check_voting,
    ),
    "sklearn.multiclass.OneVsOneClassifier": Schema(
        {"classes_": labels, "estimators_": either(tupled(predictor), listed(predictor)), "pairwise_indices_": nothing},
        {"n_features_in_": size("F", low=1)},
        relate=_check_pairs,
    ),
    "sklearn.multiclass.OneVsRestClassifier": Schema(
        {"label_binarizer_": of_class("LabelBinarizer"), "classes_": labels, "estimators_": listed(predictor)},
        relate=_check_rest,
    ),
    HELD_CLASSES["_ConstantPredictor"]: Schema(always={"y_": array("number", 1)}, relate=_check_constant),
    "sklearn.multioutput.ClassifierChain": Schema(
        {
            **_F,
            "order_": either(array("int", "*"), listed(whole())),
            "estimators_": listed(predictor),
            "classes_": listed(lambda value, sizes: is_label_array(value)),
        },
        {"chain_method_": text(*_METHODS, "predict_log_proba")},
        relate=_check_chain,
    ),
    "sklearn.multioutput.MultiOutputClassifier": Schema(
        {"estimators_": listed(predictor), "classes_": listed(lambda value, sizes: is_label_array(value))},
        relate=_check_outputs,
    ),
}
