"""Schemas of scalers, projections and selections of features."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import Any

import numpy as np

from metricwise._state import Values
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Check, Sizes
from metricwise.persistence.schemas.parts import (
    MOST_COLUMNS,
    array_function,
    check_features,
    no_settings,
    require,
    score_function,
)
from metricwise.persistence.schemas.schema import Schema

_PER_FEATURE = k.array("float", "F")
_SEEN = k.either(k.real(0.0), k.array("number", "F"))
_VARIANCES: dict[str, Check] = {
    "explained_variance_": k.array("float", "K"),
    "explained_variance_ratio_": k.array("float", "K"),
    "singular_values_": k.array("float", "K"),
}


def _check_standard(values: Values, sizes: Sizes) -> None:
    for parameter, name in (("with_mean", "mean_"), ("with_std", "scale_")):
        require(not values[parameter] or values[name] is not None, "a scaler is damaged")


def _check_robust(values: Values, sizes: Sizes) -> None:
    for parameter, name in (("with_centering", "center_"), ("with_scaling", "scale_")):
        require(bool(values[parameter]) == (values[name] is not None), "a scaler is damaged")


def _check_power(values: Values, sizes: Sizes) -> None:
    scaler = values.get("_scaler")
    require((scaler is not None) == bool(values["standardize"]), "a power transformer is damaged")
    if scaler is not None:
        require(hasattr(scaler, "scale_"), "a power transformer is damaged")
        check_features(scaler, sizes["F"], "a power transformer is damaged")


def _check_quantiles(values: Values, sizes: Sizes) -> None:
    require(values["n_quantiles_"] == sizes["Q"] >= 1, "a quantile transformer is damaged")
    known = values["quantiles_"][:, ~np.isnan(values["quantiles_"]).any(axis=0)]
    require(np.all(np.diff(known, axis=0) >= 0.0), "a quantile transformer is damaged")


_HIGHEST_DEGREE = 30


def _degree(value: Any, sizes: Sizes) -> bool:
    return k.whole(0, _HIGHEST_DEGREE)(value, sizes) or k.tuple_of(k.whole(0, _HIGHEST_DEGREE), 2)(value, sizes)


def _check_polynomial(values: Values, sizes: Sizes) -> None:
    """Raise unless a polynomial makes as many features as one with these settings does."""
    from sklearn.preprocessing import PolynomialFeatures

    problem = f"polynomial features are damaged, or more than {MOST_COLUMNS}: choose a smaller degree"
    names = ("n_output_features_", "_n_out_full")
    require(sizes["F"] <= MOST_COLUMNS and all(values[name] <= MOST_COLUMNS for name in names), problem)
    settings = {name: values[name] for name in PolynomialFeatures._get_param_names()}
    again = PolynomialFeatures(**settings).fit(np.zeros((1, sizes["F"])))
    require(all(getattr(again, name) == values[name] for name in (*names, "_min_degree", "_max_degree")), problem)


def _check_components(values: Values, sizes: Sizes) -> None:
    require(values.get("n_components_", sizes["K"]) == sizes["K"] >= 1, "a projection is damaged")
    require(values.get("_n_features_out", sizes["K"]) == sizes["K"], "a projection is damaged")


def _kernel_settings(value: Any, sizes: Sizes) -> bool:
    return value is None or (
        type(value) is dict and set(value) <= {"gamma", "coef0", "degree"} and all(map(k.is_real, value.values()))
    )


_KERNELS = ("linear", "rbf", "poly", "polynomial", "sigmoid", "cosine", "laplacian", "chi2", "additive_chi2")


def _check_selected(values: Values, sizes: Sizes) -> None:
    part, problem = values["estimator_"], "a selection of features is damaged"
    check_features(part, values.get("n_features_in_"), problem)
    path = values["importance_getter"]
    names = _WEIGHTS if path == "auto" else (path,)
    require(any(_has_path(part, name) for name in names), problem)


_WEIGHTS = ("coef_", "feature_importances_")
# Of models inside the model, by attributes that compute nothing when they are read.
_WEIGHTS_INSIDE = re.compile(
    r"(?:named_(?:steps|estimators_)\.[A-Za-z]\w*\.|(?:final_|best_)?estimator_\.){0,6}(?:coef_|feature_importances_)",
    re.ASCII,
)


def _has_path(part: Any, path: str) -> bool:
    try:
        attrgetter(path)(part)
    except (AttributeError, KeyError):
        return False
    return True


def _importance_getter(value: Any, sizes: Sizes) -> bool:
    return isinstance(value, str) and (value == "auto" or _WEIGHTS_INSIDE.fullmatch(value) is not None)


def _function(value: Any, sizes: Sizes) -> bool:
    return value is None or array_function(value, sizes)


_SELECTED = Schema(
    {"scores_": _PER_FEATURE, "pvalues_": k.either(k.none, _PER_FEATURE)},
    k.FEATURES,
    parameters={"score_func": score_function},
)

SCHEMAS: dict[str, Schema] = {
    "sklearn.decomposition.PCA": Schema(
        {
            **k.FEATURES,
            "mean_": _PER_FEATURE,
            "components_": k.array("float", "K", "F"),
            **_VARIANCES,
            "n_components_": k.whole(1),
            "noise_variance_": k.real(),
        },
        {"_fit_svd_solver": k.any_text, "n_samples_": k.whole(1)},
        check_relations=_check_components,
    ),
    "sklearn.decomposition.TruncatedSVD": Schema(
        {**k.FEATURES, "components_": k.array("float", "K", "F"), **_VARIANCES}, check_relations=_check_components
    ),
    "sklearn.feature_selection.SelectFromModel": Schema(
        {"estimator_": k.predictor},
        {"max_features_": k.whole()},
        parameters={
            "importance_getter": _importance_getter,
            "max_features": k.either(k.none, k.whole()),
        },
        check_relations=_check_selected,
    ),
    "sklearn.feature_selection.SelectKBest": _SELECTED,
    "sklearn.feature_selection.SelectPercentile": _SELECTED,
    "sklearn.feature_selection.VarianceThreshold": Schema({**k.FEATURES, "variances_": _PER_FEATURE}),
    "sklearn.kernel_approximation.Nystroem": Schema(
        {
            **k.FEATURES,
            "components_": k.matrix("K", "F", kind="number"),
            "normalization_": k.array("float", "K", "K"),
            "component_indices_": k.array("int", "K"),
        },
        {"_n_features_out": k.whole(1)},
        parameters={"kernel": k.text(*_KERNELS), "kernel_params": _kernel_settings},
        check_relations=_check_components,
    ),
    "sklearn.kernel_approximation.RBFSampler": Schema(
        {**k.FEATURES, "random_weights_": k.array("float", "F", "K"), "random_offset_": k.array("float", "K")},
        {"_gamma": k.real(0.0), "_n_features_out": k.whole(1)},
        parameters={"n_components": k.size("K", low=1)},
        check_relations=_check_components,
    ),
    "sklearn.preprocessing.Binarizer": Schema(),
    "sklearn.preprocessing.FunctionTransformer": Schema(
        parameters={
            "func": _function,
            "inverse_func": _function,
            "kw_args": no_settings,
            "inv_kw_args": no_settings,
            "feature_names_out": k.either(k.none, k.text("one-to-one")),
        }
    ),
    "sklearn.preprocessing.MaxAbsScaler": Schema(
        {**k.FEATURES, "n_samples_seen_": k.whole(), "max_abs_": _PER_FEATURE, "scale_": _PER_FEATURE}
    ),
    "sklearn.preprocessing.MinMaxScaler": Schema(
        {
            **k.FEATURES,
            "n_samples_seen_": k.whole(),
            **{name: _PER_FEATURE for name in ("scale_", "min_", "data_min_", "data_max_", "data_range_")},
        },
        parameters={"feature_range": k.each(k.real(), k.real())},
    ),
    "sklearn.preprocessing.Normalizer": Schema(),
    "sklearn.preprocessing.PolynomialFeatures": Schema(
        {
            **k.FEATURES,
            "_min_degree": k.whole(),
            "_max_degree": k.whole(),
            "n_output_features_": k.whole(),
            "_n_out_full": k.whole(),
        },
        parameters={"degree": _degree},
        check_relations=_check_polynomial,
    ),
    "sklearn.preprocessing.PowerTransformer": Schema(
        {**k.FEATURES, "lambdas_": _PER_FEATURE},
        {"_scaler": k.of_class("StandardScaler")},
        check_relations=_check_power,
    ),
    "sklearn.preprocessing.QuantileTransformer": Schema(
        {
            **k.FEATURES,
            "n_quantiles_": k.whole(1),
            "references_": k.sorted_floats("Q"),
            "quantiles_": k.array("float", "Q", "F"),
        },
        check_relations=_check_quantiles,
    ),
    "sklearn.preprocessing.RobustScaler": Schema(
        {**k.FEATURES, "center_": k.either(k.none, _PER_FEATURE), "scale_": k.either(k.none, _PER_FEATURE)},
        parameters={"quantile_range": k.each(k.real(0, 100), k.real(0, 100))},
        check_relations=_check_robust,
    ),
    "sklearn.preprocessing.StandardScaler": Schema(
        {
            **k.FEATURES,
            "n_samples_seen_": _SEEN,
            "mean_": k.either(k.none, _PER_FEATURE),
            "var_": k.either(k.none, _PER_FEATURE),
            "scale_": k.either(k.none, _PER_FEATURE),
        },
        check_relations=_check_standard,
    ),
}
