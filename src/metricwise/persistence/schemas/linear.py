"""Schemas of linear models, discriminants, naive Bayes and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise._sklearn import HELD_CLASSES
from metricwise.persistence.schemas.kinds import (
    Check,
    Sizes,
    Values,
    any_text,
    array,
    either,
    flag,
    floats,
    is_label_array,
    items,
    labels,
    listed,
    mapped,
    matrix,
    nothing,
    of_class,
    one_each,
    plain,
    predictor,
    real,
    size,
    sorted_floats,
    text,
    whole,
)
from metricwise.persistence.schemas.parts import check_features, get_classes, require
from metricwise.persistence.schemas.schema import Schema

_F = {"n_features_in_": size("F", low=1)}
_LINEAR: dict[str, Check] = {
    **_F,
    "classes_": labels,
    "coef_": matrix("R", "F"),
    "intercept_": either(array("float", "R"), real()),
}
_COUNT = either(whole(), *(array("int", *["*"] * n_dimensions) for n_dimensions in (1, 3, 4)))
_LOSSES = (
    "hinge",
    "log_loss",
    "modified_huber",
    "squared_hinge",
    "perceptron",
    "squared_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
)


# ------------------------------------------------------------------------------------------------------- linear models


def _check_several_classes(values: Values, sizes: Sizes) -> None:
    require(sizes["C"] >= 2, "a linear model has one class")


def _check_ridge(values: Values, sizes: Sizes) -> None:
    found, coefficients = values["_label_binarizer"], values["coef_"]
    require(np.array_equal(get_classes(found), values["classes_"]), "a linear model has other classes than its labels")
    n_rows = sizes["C"] if found.y_type_ == "multilabel-indicator" else sizes["R"]
    require(coefficients.ndim == 2 or n_rows == 1, "a linear model is damaged")
    require(coefficients.ndim == 1 or len(coefficients) == n_rows, "a linear model is damaged")
    require(np.shape(values["intercept_"]) in ((n_rows,), ()), "a linear model is damaged")
    require(found.neg_label == -1 and found.pos_label == 1, "a linear model is damaged")


_GRADIENT: dict[str, Check] = {
    **_LINEAR,
    "t_": real(0.0),
    "_expanded_class_weight": array("double", "C"),
    "n_iter_": whole(),
}
_GRADIENT_PARTS: dict[str, Check] = {
    "_standard_coef": either(array("float", "F"), array("float", "R", "F")),
    "_standard_intercept": array("float", "R"),
    "_average_coef": either(array("float", "F"), array("float", "R", "F")),
    "_average_intercept": array("float", "R"),
    "loss_": real(),
}
_PERCEPTRON: dict[str, Check] = {
    "loss": text("perceptron"),
    "learning_rate": text("constant", "pa1", "pa2"),
    "epsilon": real(),
    "power_t": real(),
    "average": flag,
}

# -------------------------------------------------------------------------------------------------------- discriminants

_DISCRIMINANT: dict[str, Check] = {
    **_LINEAR,
    "priors_": array("float", "C"),
    "means_": array("float", "C", "F"),
    "_max_components": whole(1),
}


def _check_discriminant(values: Values, sizes: Sizes) -> None:
    require(values["_max_components"] <= max(sizes["C"], sizes["F"]), "a discriminant is damaged")
    require(sizes["C"] >= 2 and values["coef_"].dtype.kind == "f", "a discriminant is damaged")


# ---------------------------------------------------------------------------------------------------------- naive Bayes

_BAYES: dict[str, Check] = {**_F, "classes_": labels, "class_count_": array("float", "C")}
_COUNTS: dict[str, Check] = {
    **_BAYES,
    "feature_count_": array("float", "C", "F"),
    "feature_log_prob_": array("float", "C", "F"),
    "class_log_prior_": array("float", "C"),
}


def _check_categories(values: Values, sizes: Sizes) -> None:
    for name in ("category_count_", "feature_log_prob_"):
        found = [one.shape[1] for one in values[name]]
        require(np.array_equal(found, values["n_categories_"]), "a naive Bayes classifier is damaged")


# ---------------------------------------------------------------------------------------------------------- calibration


def _check_calibrated(values: Values, sizes: Sizes) -> None:
    for part in values["calibrated_classifiers_"]:
        require(np.array_equal(part.classes, values["classes_"]), "a calibration has other classes than its model")
        check_features(part.estimator, values.get("n_features_in_"), "a calibrated model has other features")
    require(values["calibrated_classifiers_"], "a calibrated model has no parts")


def _check_calibration(values: Values, sizes: Sizes) -> None:
    classes = values["classes"]
    of_part = get_classes(values["estimator"])
    require(np.all(np.isin(of_part, classes)), "a calibrated classifier has other classes")
    lines = values["calibrators"]
    kind = {"sigmoid": "_SigmoidCalibration", "isotonic": "IsotonicRegression", "temperature": "_TemperatureScaling"}
    require(all(type(one).__name__ == kind[values["method"]] for one in lines), "a calibration is damaged")
    n_scores = 1 if of_part.size <= 2 or values["method"] == "temperature" else of_part.size
    require(len(lines) == n_scores, "a calibration is damaged")
    require(classes.size > 2 or of_part.size == 2, "a calibrated classifier has other classes")
    require(all(hasattr(one, "f_") for one in lines) or values["method"] != "isotonic", "a calibration is damaged")


def _check_isotonic(values: Values, sizes: Sizes) -> None:
    require(values["X_thresholds_"].size >= 1, "an isotonic regression is damaged")


def _check_dummy(values: Values, sizes: Sizes) -> None:
    classes, counts, priors = values["classes_"], values["n_classes_"], values["class_prior_"]
    n_outputs, problem = values["n_outputs_"], "a constant classifier is damaged"
    if n_outputs == 1:
        classes, counts, priors = [classes], [counts], [priors]
    require(all(isinstance(one, list) and len(one) == n_outputs for one in (classes, counts, priors)), problem)
    for labels_of, count, prior in zip(classes, counts, priors, strict=True):
        require(is_label_array(labels_of) and labels_of.size == count == np.size(prior), problem)
        require(np.all(prior >= 0.0) and np.isclose(np.sum(prior), 1.0), problem)
    require(values["_strategy"] == values["strategy"], problem)
    if values["strategy"] == "constant":
        constants = np.atleast_1d(np.asarray(values["constant"])).ravel()
        require(constants.size == n_outputs, problem)
        found = zip(constants.tolist(), classes, strict=True)
        require(all(one in known.tolist() for one, known in found), problem)


def _check_threshold(values: Values, sizes: Sizes) -> None:
    found = get_classes(values["estimator_"])
    require(found.size == 2, "a classifier with a threshold has other than two classes")
    label = values["pos_label"]
    require(label is None or label in found.tolist(), "a classifier with a threshold has no such positive class")


def _any(value: Any, sizes: Sizes) -> bool:
    return True


SCHEMAS: dict[str, Schema] = {
    "sklearn.calibration.CalibratedClassifierCV": Schema(
        {"classes_": labels, "calibrated_classifiers_": listed(of_class("_CalibratedClassifier"))},
        relate=_check_calibrated,
    ),
    HELD_CLASSES["_CalibratedClassifier"]: Schema(
        always={
            "estimator": predictor,
            "calibrators": listed(of_class("_SigmoidCalibration", "IsotonicRegression", "_TemperatureScaling")),
            "classes": labels,
            "method": text("sigmoid", "isotonic", "temperature"),
        },
        relate=_check_calibration,
    ),
    HELD_CLASSES["_SigmoidCalibration"]: Schema(always={"a_": real(), "b_": real()}),
    HELD_CLASSES["_TemperatureScaling"]: Schema(always={"beta_": real(0.0)}),
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": Schema(
        _DISCRIMINANT,
        {
            "xbar_": array("float", "F"),
            "explained_variance_ratio_": array("float", "*"),
            "scalings_": array("float", "F", "*"),
            "_n_features_out": whole(1),
            "covariance_": array("float", "F", "F"),
        },
        relate=_check_discriminant,
    ),
    "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis": Schema(
        {
            **_F,
            "classes_": labels,
            "priors_": array("float", "C"),
            "means_": array("float", "C", "F"),
            "scalings_": listed(array("float", "F"), "C"),
            "rotations_": listed(array("float", "F", "F"), "C"),
        },
        {"covariance_": listed(array("float", "F", "F"), "C")},
        relate=_check_several_classes,
    ),
    "sklearn.dummy.DummyClassifier": Schema(
        {
            "_strategy": any_text,
            "sparse_output_": flag,
            "n_outputs_": whole(1),
            "classes_": one_each(_any),
            "n_classes_": one_each(whole(1)),
            "class_prior_": one_each(array("double", "*")),
        },
        relate=_check_dummy,
    ),
    "sklearn.isotonic.IsotonicRegression": Schema(
        {
            "increasing_": flag,
            "X_min_": real(),
            "X_max_": real(),
            "X_thresholds_": sorted_floats("N"),
            "y_thresholds_": array("float", "N", finite=True),
        },
        relate=_check_isotonic,
        derived=("f_",),
    ),
    "sklearn.linear_model.LogisticRegression": Schema(_LINEAR | {"n_iter_": _COUNT}, relate=_check_several_classes),
    "sklearn.linear_model.LogisticRegressionCV": Schema(
        _LINEAR | {"n_iter_": _COUNT, "Cs_": array("float", "*")},
        {
            "scores_": either(mapped(plain, floats), floats),
            "coefs_paths_": either(mapped(plain, floats), floats),
            "C_": either(real(), array("float", "*")),
            "l1_ratio_": either(real(), items(plain, "*"), array("float", "*")),
            "l1_ratios_": either(items(plain, "*"), array("float", "*"), nothing),
        },
        relate=_check_several_classes,
    ),
    "sklearn.linear_model.Perceptron": Schema(
        _GRADIENT, _GRADIENT_PARTS, _PERCEPTRON, relate=_check_several_classes, derived=("_loss_function_",)
    ),
    "sklearn.linear_model.RidgeClassifier": Schema(
        {
            **_F,
            "classes_": labels,
            "coef_": either(array("float", "*", "F"), array("float", "F")),
            "intercept_": either(array("float", "*"), real()),
            "n_iter_": either(nothing, array("int", "*")),
            "_label_binarizer": of_class("LabelBinarizer"),
        },
        {"solver_": any_text},
        relate=_check_ridge,
    ),
    "sklearn.linear_model.SGDClassifier": Schema(
        _GRADIENT,
        _GRADIENT_PARTS,
        relate=_check_several_classes,
        parameters={"loss": text(*_LOSSES)},
        derived=("_loss_function_",),
    ),
    "sklearn.model_selection.FixedThresholdClassifier": Schema({"estimator_": predictor}, relate=_check_threshold),
    "sklearn.naive_bayes.BernoulliNB": Schema(_COUNTS),
    "sklearn.naive_bayes.CategoricalNB": Schema(
        {
            **_BAYES,
            "class_log_prior_": array("float", "C"),
            "category_count_": listed(array("float", "C", "*"), "F"),
            "feature_log_prob_": listed(array("float", "C", "*"), "F"),
            "n_categories_": array("int", "F"),
        },
        relate=_check_categories,
    ),
    "sklearn.naive_bayes.ComplementNB": Schema(_COUNTS | {"feature_all_": array("float", "F")}),
    "sklearn.naive_bayes.GaussianNB": Schema(
        {
            **_BAYES,
            "epsilon_": real(),
            "theta_": array("float", "C", "F"),
            "var_": array("float", "C", "F"),
            "class_prior_": array("float", "C"),
        }
    ),
    "sklearn.naive_bayes.MultinomialNB": Schema(_COUNTS),
    "sklearn.svm.LinearSVC": Schema(_LINEAR | {"n_iter_": _COUNT}, relate=_check_several_classes),
}
