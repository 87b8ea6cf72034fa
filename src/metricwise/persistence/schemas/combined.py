"""Schemas of classifiers that combine others: bagging, stacking, voting, one classifier per class or output."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise._sklearn import HELD_CLASSES
from metricwise._state import Values
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Sizes
from metricwise.persistence.schemas.parts import check_codes, check_features, get_classes, require
from metricwise.persistence.schemas.schema import Schema


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


_NAMED = k.list_of(lambda value, sizes: _is_named_model(value))


def _is_named_model(value: Any) -> bool:
    return (
        type(value) is tuple
        and len(value) == 2
        and isinstance(value[0], str)
        and (value[1] == "drop" if isinstance(value[1], str) else k.predictor(value[1], {}))
    )


_LABEL_ENCODER = k.of_class("LabelEncoder")


def _check_voting(values: Values, sizes: Sizes) -> None:
    problem = "a vote of classifiers is damaged"
    require(np.array_equal(values["le_"].classes_, values["classes_"]) and values["estimators_"], problem)
    require(len(_get_weights(values, problem)) == len(values["estimators_"]), problem)
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
    problem = "a multi-output classifier is damaged"
    classes, parts = values["classes_"], values["estimators_"]
    require(parts and len(parts) == len(classes), problem)
    for part, known in zip(parts, classes, strict=True):
        require(np.array_equal(get_classes(part), known), problem)


def _check_chain(values: Values, sizes: Sizes) -> None:
    problem = "a chain of classifiers is damaged"
    parts, order = values["estimators_"], values["order_"]
    require(parts and np.array_equal(np.sort(order), np.arange(len(parts))), problem)
    require(len(values["classes_"]) == len(parts), problem)
    for n_before, part in enumerate(parts):
        check_features(part, sizes["F"] + n_before, problem)
        get_classes(part)


def _check_constant(values: Values, sizes: Sizes) -> None:
    require(np.all(np.isin(values["y_"], [0, 1])), "a constant classifier is damaged")


SCHEMAS: dict[str, Schema] = {
    "sklearn.ensemble.AdaBoostClassifier": Schema(
        {
            "estimator_": k.predictor,
            "classes_": k.labels,
            "n_classes_": k.whole(2),
            "estimators_": k.list_of(k.predictor),
            "estimator_weights_": k.array("double", "*", finite=True),
            "estimator_errors_": k.array("double", "*"),
        },
        always={"estimator_params": k.tuple_of(k.any_text)},
        check_relations=_check_ada_boost,
    ),
    "sklearn.ensemble.BaggingClassifier": Schema(
        {
            **k.FEATURES,
            "classes_": k.labels,
            "n_classes_": k.whole(1),
            "estimator_": k.predictor,
            "estimators_": k.list_of(k.predictor, "B"),
            "estimators_features_": k.list_of(k.indices("F", "*"), "B"),
        },
        {
            "_n_samples": k.whole(1),
            "_max_samples": k.whole(1),
            "_max_features": k.whole(1),
            "_seeds": k.array("int", "*"),
            "oob_decision_function_": k.array("float", "*", "*"),
            "oob_score_": k.real(),
        },
        {"estimator_params": k.tuple_of(k.any_text)},
        check_relations=_check_bagging,
        derived=("_sample_weight",),
    ),
    "sklearn.ensemble.StackingClassifier": Schema(
        {
            "_label_encoder": k.either(_LABEL_ENCODER, k.list_of(_LABEL_ENCODER)),
            "classes_": k.one_each(k.label_array),
            "final_estimator_": k.predictor,
            "estimators_": k.list_of(k.predictor),
            "named_estimators_": k.of_class("Bunch"),
            "stack_method_": k.list_of(k.text(*_METHODS)),
        },
        {"_n_feature_outs": k.list_of(k.whole())},
        parameters={"estimators": _NAMED},
        check_relations=_check_stacking,
    ),
    "sklearn.ensemble.VotingClassifier": Schema(
        {
            "le_": _LABEL_ENCODER,
            "classes_": k.labels,
            "estimators_": k.list_of(k.predictor),
            "named_estimators_": k.of_class("Bunch"),
        },
        parameters={"estimators": _NAMED},
        check_relations=_check_voting,
    ),
    "sklearn.multiclass.OneVsOneClassifier": Schema(
        {
            "classes_": k.labels,
            "estimators_": k.either(k.tuple_of(k.predictor), k.list_of(k.predictor)),
            "pairwise_indices_": k.none,
        },
        k.FEATURES,
        check_relations=_check_pairs,
    ),
    "sklearn.multiclass.OneVsRestClassifier": Schema(
        {"label_binarizer_": k.of_class("LabelBinarizer"), "classes_": k.labels, "estimators_": k.list_of(k.predictor)},
        check_relations=_check_rest,
    ),
    HELD_CLASSES["_ConstantPredictor"]: Schema(always={"y_": k.array("number", 1)}, check_relations=_check_constant),
    "sklearn.multioutput.ClassifierChain": Schema(
        {
            **k.FEATURES,
            "order_": k.either(k.array("int", "*"), k.list_of(k.whole())),
            "estimators_": k.list_of(k.predictor),
            "classes_": k.list_of(k.label_array),
        },
        {"chain_method_": k.text(*_METHODS, "predict_log_proba")},
        check_relations=_check_chain,
    ),
    "sklearn.multioutput.MultiOutputClassifier": Schema(
        {"estimators_": k.list_of(k.predictor), "classes_": k.list_of(k.label_array)},
        check_relations=_check_outputs,
    ),
}
