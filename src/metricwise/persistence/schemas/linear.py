"""Schemas of linear models, discriminants, naive Bayes and calibration."""

from __future__ import annotations

import numpy as np

from metricwise._sklearn import HELD_CLASSES
from metricwise._state import Values
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Check, Sizes
from metricwise.persistence.schemas.parts import check_features, check_several_classes, get_classes, require
from metricwise.persistence.schemas.schema import Schema

_LINEAR: dict[str, Check] = {
    **k.FEATURES,
    "classes_": k.labels,
    "coef_": k.matrix("R", "F"),
    "intercept_": k.either(k.array("float", "R"), k.real()),
}
_COUNT = k.either(k.whole(), *(k.array("int", *["*"] * n_dimensions) for n_dimensions in (1, 3, 4)))
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


def _check_ridge(values: Values, sizes: Sizes) -> None:
    found, coefficients = values["_label_binarizer"], values["coef_"]
    classes = get_classes(found)
    own = values.get("classes_", classes)
    require(np.array_equal(classes, own), "a linear model has other classes than its labels")
    n_outputs = len(classes) if found.y_type_ == "multilabel-indicator" or len(classes) > 2 else 1
    require(coefficients.ndim == 2 or n_outputs == 1, "a linear model is damaged")
    require(coefficients.ndim == 1 or len(coefficients) == n_outputs, "a linear model is damaged")
    require(np.shape(values["intercept_"]) in ((n_outputs,), ()), "a linear model is damaged")
    require(found.neg_label == -1 and found.pos_label == 1, "a linear model is damaged")


_GRADIENT: dict[str, Check] = {
    **_LINEAR,
    "t_": k.real(0.0),
    "_expanded_class_weight": k.array("double", "C"),
    "n_iter_": k.whole(),
}
_GRADIENT_PARTS: dict[str, Check] = {
    "_standard_coef": k.either(k.array("float", "F"), k.array("float", "R", "F")),
    "_standard_intercept": k.array("float", "R"),
    "_average_coef": k.either(k.array("float", "F"), k.array("float", "R", "F")),
    "_average_intercept": k.array("float", "R"),
    "loss_": k.real(),
    "C": k.real(0.0),  # before scikit-learn 1.8, of every learner by gradient steps
}
_AVERAGES = ("_standard_coef", "_standard_intercept", "_average_coef", "_average_intercept")
_PERCEPTRON: dict[str, Check] = {
    "loss": k.text("perceptron"),
    "learning_rate": k.text("constant", "pa1", "pa2"),
    "epsilon": k.real(),
    "power_t": k.real(),
    "average": k.boolean,
}

# -------------------------------------------------------------------------------------------------------- discriminants

_DISCRIMINANT: dict[str, Check] = {
    **_LINEAR,
    "priors_": k.array("float", "C"),
    "means_": k.array("float", "C", "F"),
    "_max_components": k.whole(1),
}


def _check_discriminant(values: Values, sizes: Sizes) -> None:
    require(values["_max_components"] <= max(sizes["C"], sizes["F"]), "a discriminant is damaged")
    require(sizes["C"] >= 2 and values["coef_"].dtype.kind == "f", "a discriminant is damaged")


# ---------------------------------------------------------------------------------------------------------- naive Bayes

_BAYES: dict[str, Check] = {**k.FEATURES, "classes_": k.labels, "class_count_": k.array("float", "C")}
_COUNTS: dict[str, Check] = {
    **_BAYES,
    "feature_count_": k.array("float", "C", "F"),
    "feature_log_prob_": k.array("float", "C", "F"),
    "class_log_prior_": k.array("float", "C"),
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
        require(k.is_label_array(labels_of) and labels_of.size == count == np.size(prior), problem)
        require(np.all(prior >= 0.0) and np.isclose(np.sum(prior), 1.0), problem)
    require(values["_strategy"] == values["strategy"], problem)
    if values["strategy"] == "constant":
        constants = np.atleast_1d(np.asarray(values["constant"])).ravel()
        require(constants.size == n_outputs, problem)
        found = zip(constants.tolist(), classes, strict=True)
        require(all(one in known.tolist() for one, known in found), problem)


def _check_steps(values: Values, sizes: Sizes) -> None:
    """Raise unless the weights of a learner by gradient steps lie in memory as compiled code reads and writes them."""
    check_several_classes(values, sizes)
    weights = [values[key] for key in ("coef_", "_standard_coef", "_average_coef") if key in values]
    require(all(one.flags.c_contiguous for one in weights), "a linear model is damaged: its weights are transposed")
    require(len({one.dtype for one in weights}) <= 1, "a linear model is damaged: its weights have several precisions")


def _check_gradient(values: Values, sizes: Sizes) -> None:
    _check_steps(values, sizes)
    has_averages = all(key in values for key in _AVERAGES)
    require(has_averages or not values["average"], "a linear model that averages its weights lacks the averages")


def _check_threshold(values: Values, sizes: Sizes) -> None:
    found = get_classes(values["estimator_"])
    require(found.size == 2, "a classifier with a threshold has other than two classes")
    label = values["pos_label"]
    require(label is None or label in found.tolist(), "a classifier with a threshold has no such positive class")


SCHEMAS: dict[str, Schema] = {
    "sklearn.calibration.CalibratedClassifierCV": Schema(
        {"classes_": k.labels, "calibrated_classifiers_": k.list_of(k.of_class("_CalibratedClassifier"))},
        check_relations=_check_calibrated,
    ),
    HELD_CLASSES["_CalibratedClassifier"]: Schema(
        always={
            "estimator": k.predictor,
            "calibrators": k.list_of(k.of_class("_SigmoidCalibration", "IsotonicRegression", "_TemperatureScaling")),
            "classes": k.labels,
            "method": k.text("sigmoid", "isotonic", "temperature"),
        },
        check_relations=_check_calibration,
    ),
    HELD_CLASSES["_SigmoidCalibration"]: Schema(always={"a_": k.real(), "b_": k.real()}),
    HELD_CLASSES["_TemperatureScaling"]: Schema(always={"beta_": k.real(0.0)}),
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": Schema(
        _DISCRIMINANT,
        {
            "xbar_": k.array("float", "F"),
            "explained_variance_ratio_": k.array("float", "*"),
            "scalings_": k.array("float", "F", "*"),
            "_n_features_out": k.whole(1),
            "covariance_": k.array("float", "F", "F"),
        },
        check_relations=_check_discriminant,
    ),
    "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis": Schema(
        {
            **k.FEATURES,
            "classes_": k.labels,
            "priors_": k.array("float", "C"),
            "means_": k.array("float", "C", "F"),
            "scalings_": k.list_of(k.array("float", "F"), "C"),
            "rotations_": k.list_of(k.array("float", "F", "F"), "C"),
        },
        {"covariance_": k.list_of(k.array("float", "F", "F"), "C")},
        check_relations=check_several_classes,
    ),
    "sklearn.dummy.DummyClassifier": Schema(
        {
            "_strategy": k.any_text,
            "sparse_output_": k.boolean,
            "n_outputs_": k.whole(1),
            "classes_": k.one_each(k.anything),
            "n_classes_": k.one_each(k.whole(1)),
            "class_prior_": k.one_each(k.array("double", "*")),
        },
        check_relations=_check_dummy,
    ),
    "sklearn.isotonic.IsotonicRegression": Schema(
        {
            "increasing_": k.boolean,
            "X_min_": k.real(),
            "X_max_": k.real(),
            "X_thresholds_": k.sorted_floats("N"),
            "y_thresholds_": k.array("float", "N", finite=True),
        },
        check_relations=_check_isotonic,
        derived=("f_",),
    ),
    "sklearn.linear_model.LogisticRegression": Schema(
        _LINEAR | {"n_iter_": _COUNT}, check_relations=check_several_classes
    ),
    "sklearn.linear_model.LogisticRegressionCV": Schema(
        _LINEAR | {"n_iter_": _COUNT, "Cs_": k.array("float", "*")},
        {
            "scores_": k.either(k.dict_of(k.plain, k.floats), k.floats),
            "coefs_paths_": k.either(k.dict_of(k.plain, k.floats), k.floats),
            "C_": k.either(k.real(), k.array("float", "*")),
            "l1_ratio_": k.either(k.real(), k.items(k.plain, "*"), k.array("float", "*")),
            "l1_ratios_": k.either(k.items(k.plain, "*"), k.array("float", "*"), k.none),
        },
        check_relations=check_several_classes,
    ),
    "sklearn.linear_model.Perceptron": Schema(
        _GRADIENT, _GRADIENT_PARTS, _PERCEPTRON, check_relations=_check_steps, derived=("_loss_function_",)
    ),
    "sklearn.linear_model.RidgeClassifier": Schema(
        {
            **k.FEATURES,
            "coef_": k.either(k.array("float", "*", "F"), k.array("float", "F")),
            "intercept_": k.either(k.array("float", "*"), k.real()),
            "n_iter_": k.either(k.none, k.array("int", "*")),
            "_label_binarizer": k.of_class("LabelBinarizer"),
        },
        {"solver_": k.any_text, "classes_": k.labels},  # before scikit-learn 1.8, the classes are a property
        check_relations=_check_ridge,
    ),
    "sklearn.linear_model.SGDClassifier": Schema(
        _GRADIENT,
        _GRADIENT_PARTS,
        check_relations=_check_gradient,
        parameters={"loss": k.text(*_LOSSES)},
        derived=("_loss_function_",),
    ),
    "sklearn.model_selection.FixedThresholdClassifier": Schema(
        {"estimator_": k.predictor}, check_relations=_check_threshold
    ),
    "sklearn.naive_bayes.BernoulliNB": Schema(_COUNTS),
    "sklearn.naive_bayes.CategoricalNB": Schema(
        {
            **_BAYES,
            "class_log_prior_": k.array("float", "C"),
            "category_count_": k.list_of(k.array("float", "C", "*"), "F"),
            "feature_log_prob_": k.list_of(k.array("float", "C", "*"), "F"),
            "n_categories_": k.array("int", "F"),
        },
        check_relations=_check_categories,
    ),
    "sklearn.naive_bayes.ComplementNB": Schema(_COUNTS | {"feature_all_": k.array("float", "F")}),
    "sklearn.naive_bayes.GaussianNB": Schema(
        {
            **_BAYES,
            "epsilon_": k.real(),
            "theta_": k.array("float", "C", "F"),
            "var_": k.array("float", "C", "F"),
            "class_prior_": k.array("float", "C"),
        }
    ),
    "sklearn.naive_bayes.MultinomialNB": Schema(_COUNTS),
    "sklearn.svm.LinearSVC": Schema(_LINEAR | {"n_iter_": _COUNT}, check_relations=check_several_classes),
}
