"""Schemas of encoders of categories and labels, and of imputers."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise._state import Values
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Sizes
from metricwise.persistence.schemas.parts import data_type, number_type, require
from metricwise.persistence.schemas.schema import Schema

_DAMAGED = "an encoder of categories is damaged"


def categories(value: Any, sizes: Sizes) -> bool:
    """Accept one or more different categories: numbers in ascending order, NaN last, or text and other plain values."""
    if type(value) is not np.ndarray or value.ndim != 1 or not value.size:
        return False
    if value.dtype == object:
        found = value.tolist()
        return all(k.plain(item, sizes) for item in found) and len({repr(item) for item in found}) == len(found)
    if value.dtype.kind in "US":
        return np.unique(value).size == value.size
    if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
        return False
    numbers = value[:-1] if value.dtype.kind == "f" and np.isnan(value[-1]) else value
    return bool(np.all(numbers[:-1] < numbers[1:]))


def _check_infrequent(values: Values) -> list[int]:
    """Return how many categories each feature has once infrequent ones are grouped; ValueError if they do not fit."""
    counts = [known.size for known in values["categories_"]]
    require(all(count >= 1 for count in counts), _DAMAGED)
    if not values["_infrequent_enabled"]:
        return counts
    groups, mappings = (values.get(name) for name in ("_infrequent_indices", "_default_to_infrequent_mappings"))
    require(groups is not None and mappings is not None and len(groups) == len(mappings) == len(counts), _DAMAGED)
    grouped = []
    for count, group, mapping in zip(counts, groups or [], mappings or [], strict=True):
        require((group is None) == (mapping is None), _DAMAGED)
        if group is None:
            grouped.append(count)
            continue
        require(group.size >= 1 and np.unique(group).size == group.size, _DAMAGED)
        require(np.all(group >= 0) and np.all(group < count), _DAMAGED)
        n_frequent = count - group.size
        require(mapping.shape == (count,) and np.all(mapping >= 0) and np.all(mapping <= n_frequent), _DAMAGED)
        grouped.append(n_frequent + 1)
    return grouped


def _check_one_hot(values: Values, sizes: Sizes) -> None:
    counts = _check_infrequent(values)
    for name, limits in (
        ("_drop_idx_after_grouping", counts),
        ("drop_idx_", [known.size for known in values["categories_"]]),
    ):
        dropped = values[name]
        if dropped is not None:
            pairs = zip(dropped.tolist(), limits, strict=True)
            require(all(one is None or (k.is_whole(one) and 0 <= one < limit) for one, limit in pairs), _DAMAGED)
    dropped = values["_drop_idx_after_grouping"]
    require((values["drop"] is None) == (dropped is None), _DAMAGED)
    expected = [count - (dropped is not None and dropped[feature] is not None) for feature, count in enumerate(counts)]
    require(values["_n_features_outs"] == expected, _DAMAGED)


def _check_ordinal(values: Values, sizes: Sizes) -> None:
    counts = [known.size for known in values["categories_"]]
    if values["_infrequent_enabled"]:
        _check_infrequent(values)
    for feature, index in values["_missing_indices"].items():
        require(0 <= feature < len(counts) and 0 <= index < counts[feature], _DAMAGED)
    replaced = [values["encoded_missing_value"]] if values["_missing_indices"] else []
    if values["handle_unknown"] == "use_encoded_value":
        replaced.append(values["unknown_value"])
    is_integer = np.dtype(values["dtype"]).kind != "f"
    require(all(k.is_whole(one) if is_integer else k.is_real(one) for one in replaced), _DAMAGED)


def _check_target(values: Values, sizes: Sizes) -> None:
    n_classes = len(values["classes_"]) if values["target_type_"] == "multiclass" else 1
    means, codes = values["target_mean_"], values["encodings_"]
    require(np.shape(means) == ((n_classes,) if n_classes > 1 else ()), _DAMAGED)
    known = [one for one in values["categories_"] for _ in range(n_classes)]
    require([one.size for one in codes] == [one.size for one in known], _DAMAGED)
    _check_infrequent(values)


def _check_bins(values: Values, sizes: Sizes) -> None:
    problem = "a discretizer is damaged"
    for edges, count in zip(values["bin_edges_"], values["n_bins_"].tolist(), strict=True):
        require(count == edges.size - 1 and count >= 1, problem)
        require(not np.any(np.isnan(edges)) and np.all(np.diff(edges) >= 0.0), problem)
    if values["encode"] != "ordinal":
        known = getattr(values.get("_encoder"), "categories_", None)
        require(known is not None, problem)
        for one, count in zip(known or [], values["n_bins_"].tolist(), strict=True):
            require(np.array_equal(one, np.arange(count)), problem)


def _check_label_binarizer(values: Values, sizes: Sizes) -> None:
    require(values["neg_label"] < values["pos_label"], "a binarizer of labels is damaged")


def _check_imputer(values: Values, sizes: Sizes) -> None:
    indicator, problem = values["indicator_"], "an imputer is damaged"
    require((indicator is not None) == bool(values["add_indicator"]), problem)
    if indicator is not None:
        require(getattr(indicator, "_n_features", None) == sizes["F"] and indicator.sparse == "auto", problem)
    require(values["statistics_"].dtype == object or values["_fit_dtype"].kind != "O", problem)


def _check_indicator(values: Values, sizes: Sizes) -> None:
    found, size_ = values["features_"], values["_n_features"]
    require(np.all(found >= 0) and np.all(found < size_), "an indicator of missing values is damaged")


_CATEGORIES = k.list_of(categories, "F")
_GROUPS = k.list_of(k.either(k.none, k.array("int", "*")), "F")
_INFREQUENT = {"_infrequent_indices": _GROUPS, "_default_to_infrequent_mappings": _GROUPS}
_GIVEN = k.either(k.text("auto"), k.list_of(k.either(categories, k.list_of(k.plain))))
_INDEX = k.either(k.none, k.items(k.either(k.none, k.whole()), "F"))

SCHEMAS: dict[str, Schema] = {
    "sklearn.impute.MissingIndicator": Schema(
        {"_precomputed": k.boolean, "_n_features": k.whole(1), "features_": k.array("int", "*")},
        check_relations=_check_indicator,
    ),
    "sklearn.impute.SimpleImputer": Schema(
        {
            **k.FEATURES,
            "_fit_dtype": data_type,
            "indicator_": k.either(k.none, k.of_class("MissingIndicator")),
            "statistics_": k.either(k.array("number", "F"), k.items(k.plain, "F")),
        },
        {"_fill_dtype": data_type},
        parameters={
            "fill_value": k.plain,
            "missing_values": k.plain,
            "strategy": k.text("mean", "median", "most_frequent", "constant"),
        },
        check_relations=_check_imputer,
    ),
    "sklearn.preprocessing.KBinsDiscretizer": Schema(
        {**k.FEATURES, "bin_edges_": k.items(k.array("float", "*"), "F"), "n_bins_": k.array("int", "F")},
        {"_encoder": k.of_class("OneHotEncoder")},
        check_relations=_check_bins,
    ),
    "sklearn.preprocessing.LabelBinarizer": Schema(
        {
            "y_type_": k.text("binary", "multiclass", "multilabel-indicator"),
            "sparse_input_": k.boolean,
            "classes_": k.labels,
        },
        check_relations=_check_label_binarizer,
    ),
    "sklearn.preprocessing.LabelEncoder": Schema({"classes_": k.labels}),
    "sklearn.preprocessing.OneHotEncoder": Schema(
        {
            **k.FEATURES,
            "_infrequent_enabled": k.boolean,
            "categories_": _CATEGORIES,
            "_drop_idx_after_grouping": _INDEX,
            "drop_idx_": _INDEX,
            "_n_features_outs": k.list_of(k.whole(), "F"),
        },
        _INFREQUENT,
        parameters={
            "categories": _GIVEN,
            "dtype": number_type,
            "feature_name_combiner": k.text("concat"),
            "drop": k.either(
                k.none,
                k.text("first", "if_binary"),
                k.items(k.plain, "*"),
                k.array("number", "*"),
                k.texts("*"),
                k.list_of(k.plain),
            ),
        },
        check_relations=_check_one_hot,
    ),
    "sklearn.preprocessing.OrdinalEncoder": Schema(
        {
            **k.FEATURES,
            "_infrequent_enabled": k.boolean,
            "categories_": _CATEGORIES,
            "_missing_indices": k.dict_of(k.whole(), k.whole()),
        },
        _INFREQUENT,
        parameters={"categories": _GIVEN, "dtype": number_type},
        check_relations=_check_ordinal,
    ),
    "sklearn.preprocessing.TargetEncoder": Schema(
        {
            **k.FEATURES,
            "_infrequent_enabled": k.boolean,
            "categories_": _CATEGORIES,
            "target_type_": k.text("binary", "multiclass"),
            "classes_": k.labels,
            "target_mean_": k.either(k.real(), k.array("double", "C")),
            "encodings_": k.list_of(k.array("double", "*")),
        },
        parameters={"categories": _GIVEN},
        check_relations=_check_target,
    ),
}
