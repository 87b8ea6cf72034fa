"""Schemas of pipelines, unions and column transformers, whose parts must fit one another, and of splitters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from metricwise._sklearn import HELD_CLASSES
from metricwise._state import Values
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Check, Sizes
from metricwise.persistence.schemas.parts import MOST_COLUMNS, check_features, require
from metricwise.persistence.schemas.schema import Schema

_PASS, _DROP = "passthrough", "drop"


# -------------------------------------------------------------------------------------------------------------- widths


def _count_selected(part: Any) -> int | None:
    return int(np.count_nonzero(part.get_support())) if hasattr(part, "n_features_in_") else None


def _count_imputed(part: Any) -> int:
    kept = ~np.array([isinstance(one, float) and np.isnan(one) for one in part.statistics_.tolist()])
    n_kept = kept.size if part.keep_empty_features else int(kept.sum())
    return n_kept + (part.indicator_.features_.size if part.indicator_ is not None else 0)


# How many columns fitted transformers make, by class; those that are not listed do not state it.
_WIDTHS: dict[str, Callable[[Any], int | None]] = {
    "Binarizer": lambda part: getattr(part, "n_features_in_", None),
    "ColumnTransformer": lambda part: max((one.stop for one in part.output_indices_.values()), default=0),
    "CountVectorizer": lambda part: len(part.vocabulary_),
    "DictVectorizer": lambda part: len(part.vocabulary_),
    "FeatureHasher": lambda part: part.n_features,
    "HashingVectorizer": lambda part: part.n_features,
    "KBinsDiscretizer": lambda part: int(part.n_bins_.sum()) if part.encode != "ordinal" else part.n_features_in_,
    "MaxAbsScaler": lambda part: part.n_features_in_,
    "MinMaxScaler": lambda part: part.n_features_in_,
    "Normalizer": lambda part: getattr(part, "n_features_in_", None),
    "Nystroem": lambda part: part.components_.shape[0],
    "OneHotEncoder": lambda part: sum(part._n_features_outs),
    "OrdinalEncoder": lambda part: part.n_features_in_,
    "PCA": lambda part: part.components_.shape[0],
    "PolynomialFeatures": lambda part: part.n_output_features_,
    "PowerTransformer": lambda part: part.n_features_in_,
    "QuantileTransformer": lambda part: part.n_features_in_,
    "RBFSampler": lambda part: part.random_offset_.size,
    "RobustScaler": lambda part: part.n_features_in_,
    "SelectFromModel": _count_selected,
    "SelectKBest": _count_selected,
    "SelectPercentile": _count_selected,
    "SimpleImputer": _count_imputed,
    "StandardScaler": lambda part: part.n_features_in_,
    "TargetEncoder": lambda part: len(part.encodings_),
    "TfidfTransformer": lambda part: getattr(part, "n_features_in_", None),
    "TfidfVectorizer": lambda part: len(part.vocabulary_),
    "TruncatedSVD": lambda part: part.components_.shape[0],
    "VarianceThreshold": _count_selected,
}


def count_outputs(part: Any, n_features: int | None) -> int | None:
    """Return how many columns a step of a pipeline makes of so many features; None if it is not known."""
    if part is None or isinstance(part, str):
        return n_features
    name = type(part).__name__
    if name == "Pipeline":
        for _, step in part.steps:
            n_features = count_outputs(step, n_features)
        return n_features
    if name == "FeatureUnion":
        found = [count_outputs(one, n_features) for _, one in part.transformer_list if one != _DROP]
        return None if None in found else sum(one for one in found if one is not None)
    if name not in _WIDTHS:
        return None
    try:
        width = _WIDTHS[name](part)
    except AttributeError:  # it is not fitted
        return None
    return None if width is None else int(width)


# ----------------------------------------------------------------------------------------------------------- pipelines


def _is_step(value: Any, check: Check, words: tuple[Any, ...]) -> bool:
    is_pair = type(value) in (tuple, list) and len(value) == 2 and isinstance(value[0], str)
    if not is_pair:
        return False
    return value[1] in words if value[1] is None or isinstance(value[1], str) else check(value[1], {})


def _steps(value: Any, sizes: Sizes) -> bool:
    """Accept steps with different names, of which all but the last transform."""
    if type(value) is not list or not value:
        return False
    words = (_PASS, None)
    names = [step[0] for step in value if type(step) in (tuple, list) and step]
    if len(names) != len(value) or not all(_is_step(step, k.transformer, words) for step in value[:-1]):
        return False
    last = _is_step(value[-1], lambda part, _: k.predictor(part, {}) or k.transformer(part, {}), words)
    return last and len(set(names)) == len(names)


def _check_pipeline(values: Values, sizes: Sizes) -> None:
    n_features: int | None = None
    for _, step in values["steps"]:
        if step is not None and not isinstance(step, str):
            check_features(step, n_features, "a step of a pipeline takes other features than the step before makes")
            is_too_wide = n_features is not None and n_features > MOST_COLUMNS and type(step).__name__ == "Dense"
            require(not is_too_wide, f"a step of a pipeline makes more than {MOST_COLUMNS} dense columns")
            n_features = getattr(step, "n_features_in_", n_features)
        n_features = count_outputs(step, n_features)


def _parts(value: Any, sizes: Sizes) -> bool:
    return (
        type(value) is list
        and len(value) >= 1
        and all(_is_step(one, k.transformer, (_PASS, _DROP)) for one in value)
        and len({one[0] for one in value}) == len(value)
    )


_WEIGHTS = k.either(k.none, k.dict_of(k.any_text, k.real()))


def _check_union(values: Values, sizes: Sizes) -> None:
    found = {getattr(part, "n_features_in_", None) for _, part in values["transformer_list"]} - {None}
    require(len(found) <= 1, "parts of a union take different numbers of features")


# -------------------------------------------------------------------------------------------------- column transformers

_COLUMNS = "a transformer of columns is damaged"


def _resolve(columns: Any, n_features: int, names: Any) -> list[int]:
    """Return the positions of the columns that a transformer takes; ValueError unless they exist."""
    if type(columns).__name__ == "_RemainderColsList":
        columns = columns.data
    if isinstance(columns, slice):
        return _resolve_slice(columns, n_features, names)
    if isinstance(columns, np.ndarray):
        require(columns.ndim == 1, _COLUMNS)
        columns = columns.tolist()
    chosen = [columns] if isinstance(columns, str) or k.is_whole(columns) else columns
    require(type(chosen) in (list, tuple), _COLUMNS)
    if chosen and all(isinstance(one, bool | np.bool_) for one in chosen):
        require(len(chosen) == n_features, _COLUMNS)
        return np.flatnonzero(chosen).tolist()
    if all(isinstance(one, str) for one in chosen):
        known = [] if names is None else names.tolist()
        require(all(one in known for one in chosen), _COLUMNS)
        return [known.index(one) for one in chosen]
    require(all(k.is_whole(one) and -n_features <= one < n_features for one in chosen), _COLUMNS)
    return [int(one) % n_features for one in chosen]


def _resolve_slice(columns: slice, n_features: int, names: Any) -> list[int]:
    known = [] if names is None else names.tolist()
    ends = []
    for is_last, end in ((0, columns.start), (1, columns.stop)):
        require(end is None or k.is_whole(end) or end in known, _COLUMNS)
        ends.append(known.index(end) + is_last if isinstance(end, str) else end)  # names include the last
    require(columns.step is None or (k.is_whole(columns.step) and columns.step >= 1), _COLUMNS)
    start, stop = ends
    return list(range(n_features))[start : stop : columns.step]


def _is_column_part(value: Any) -> bool:
    is_triple = type(value) in (tuple, list) and len(value) == 3 and isinstance(value[0], str)
    return is_triple and (value[1] in (_PASS, _DROP) if isinstance(value[1], str) else k.transformer(value[1], {}))


_COLUMN_PARTS = k.list_of(lambda value, sizes: _is_column_part(value))


def _check_columns(values: Values, sizes: Sizes) -> None:
    n_features, names = sizes["F"], values.get("feature_names_in_")
    found, weights = values["transformers_"], values["transformer_weights"] or {}
    taken = {name: _resolve(columns, n_features, names) for name, _, columns in found}
    require(len(taken) == len(found) and set(weights) <= set(taken), _COLUMNS)
    positions = values["_transformer_to_input_indices"]
    require(all(positions.get(name) == columns for name, columns in taken.items()), _COLUMNS)
    require(all(0 <= one < n_features for columns in positions.values() for one in columns), _COLUMNS)
    require(len(values["_columns"]) == len(values["transformers"]), _COLUMNS)
    end = 0
    for name, part, _ in found:
        if isinstance(part, str):
            width: int | None = len(taken[name]) if part == _PASS else 0
        else:
            check_features(part, len(taken[name]), _COLUMNS)
            width = count_outputs(part, len(taken[name]))
        outputs = values["output_indices_"].get(name)
        if taken[name]:
            require(outputs is not None, _COLUMNS)
        if outputs is None or outputs == slice(0, 0):
            continue
        require(outputs.start == end and outputs.step is None and outputs.stop >= outputs.start, _COLUMNS)
        end = outputs.stop
        require(width is None or outputs.stop - outputs.start == width, _COLUMNS)
    require(values["sparse_output_"] or end <= MOST_COLUMNS, _COLUMNS)
    outputs = values["output_indices_"].values()
    require(max((one.stop for one in outputs), default=0) == end, _COLUMNS)


def _slice(value: Any, sizes: Sizes) -> bool:
    return isinstance(value, slice) and k.is_whole(value.start) and k.is_whole(value.stop) and value.start >= 0


_REMAINDER: Check = lambda value, sizes: _is_column_part(value)  # noqa: E731

# ----------------------------------------------------------------------------------------------------------- splitters

_SEED = k.either(k.none, k.whole(), k.of_class("RandomState"))
_FOLDS: dict[str, Check] = {"n_splits": k.whole(1), "random_state": _SEED}
_SHUFFLED = Schema(always={**_FOLDS, "shuffle": k.boolean})
_SHARES = k.either(k.none, k.real(0.0))
_RANDOM = Schema(always={**_FOLDS, "test_size": _SHARES, "train_size": _SHARES, "_default_test_size": k.real(0.0)})


def _describe_repeated(splitter: type) -> Schema:
    return Schema(
        always={
            "cv": lambda value, sizes: value is splitter,
            "n_repeats": k.whole(1),
            "random_state": _SEED,
            "cvargs": lambda value, sizes: (
                type(value) is dict and list(value) == ["n_splits"] and k.whole(1)(value["n_splits"], sizes)
            ),
        }
    )


SCHEMAS: dict[str, Schema] = {
    "sklearn.compose.ColumnTransformer": Schema(
        {
            "n_features_in_": k.size("F"),
            "_columns": k.list_of(k.anything),
            "_transformer_to_input_indices": k.dict_of(k.any_text, k.list_of(k.whole())),
            "_remainder": _REMAINDER,
            "sparse_output_": k.boolean,
            "transformers_": _COLUMN_PARTS,
            "output_indices_": k.dict_of(k.any_text, _slice),
        },
        {"_transformers_feature_names_out": k.either(k.texts("*"), k.items(k.any_text, "*"))},
        parameters={"transformers": _COLUMN_PARTS, "transformer_weights": _WEIGHTS},
        check_relations=_check_columns,
    ),
    HELD_CLASSES["_RemainderColsList"]: Schema(
        always={
            "data": k.list_of(k.either(k.any_text, k.boolean, k.whole())),
            "future_dtype": k.either(k.none, k.any_text),
            "warning_was_emitted": k.boolean,
            "warning_enabled": k.boolean,
        }
    ),
    "sklearn.frozen.FrozenEstimator": Schema(
        parameters={"estimator": lambda value, sizes: k.predictor(value, sizes) or k.transformer(value, sizes)}
    ),
    "sklearn.model_selection.GroupKFold": _SHUFFLED,
    "sklearn.model_selection.KFold": _SHUFFLED,
    "sklearn.model_selection.RepeatedKFold": _describe_repeated(KFold),
    "sklearn.model_selection.RepeatedStratifiedKFold": _describe_repeated(StratifiedKFold),
    "sklearn.model_selection.ShuffleSplit": _RANDOM,
    "sklearn.model_selection.StratifiedGroupKFold": _SHUFFLED,
    "sklearn.model_selection.StratifiedKFold": _SHUFFLED,
    "sklearn.model_selection.StratifiedShuffleSplit": _RANDOM,
    "sklearn.pipeline.FeatureUnion": Schema(
        parameters={
            "transformer_list": _parts,
            "transformer_weights": _WEIGHTS,
            "n_jobs": k.either(k.none, k.whole(-1000)),
            "verbose": k.boolean,
            "verbose_feature_names_out": k.boolean,
        },
        check_relations=_check_union,
    ),
    "sklearn.pipeline.Pipeline": Schema(
        parameters={"steps": _steps, "transform_input": k.either(k.none, k.list_of(k.any_text)), "memory": k.none},
        check_relations=_check_pipeline,
    ),
}
