"""Check the arrays of boosted trees in model files: compiled code follows every index in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._state import Values
from metricwise.kernels.tree_nodes import CATEGORICAL, NODE
from metricwise.persistence.boosters.links import LINKS, SIGMOID
from metricwise.persistence.boosters.samples import CatBoostSamples, LightGBMSamples, XGBoostSamples
from metricwise.persistence.boosters.settings import TRAINING_SETTINGS
from metricwise.persistence.boosters.stored import BoostedTrees
from metricwise.persistence.boosters.trees import NodeTrees, ObliviousTrees
from metricwise.persistence.compiled import are_within
from metricwise.persistence.schemas.parts import require

_WRONG = "boosted trees are damaged"
_DEEPEST = 30  # levels of a tree whose leaves are numbered by bits
_PLAIN = (bool, int, float, str)
_FLOATS = (np.float32, np.float64)


def _require_array(thing: Any, dtypes: tuple[Any, ...], ndim: int = 1) -> None:
    require(isinstance(thing, np.ndarray) and thing.ndim == ndim and thing.dtype in dtypes, _WRONG)


def _require_bounds(bounds: Any, size: int) -> None:
    """Raise unless bounds split an array of so many items into consecutive parts."""
    _require_array(bounds, (np.int64,))
    require(bounds.size >= 1 and bounds[0] == 0 and bounds[-1] == size and np.all(np.diff(bounds) >= 0), _WRONG)


def _require_leaf_values(values: Any, n_trees: int) -> None:
    """Raise unless leaf values are finite and so small that their sum over all trees is."""
    _require_array(values, _FLOATS, ndim=2)
    require(values.shape[1] >= 1 and np.all(np.isfinite(values)), _WRONG)
    largest = float(np.max(np.abs(values), initial=0.0))
    require(largest <= np.finfo(values.dtype).max / (4.0 * (n_trees + 1)), _WRONG)


def _require_once(numbers: NDArray[np.int32], size: int) -> None:
    """Raise unless every number below a size is there once."""
    require(np.array_equal(np.sort(numbers), np.arange(size)), _WRONG)


def check_node_trees(values: Values) -> None:
    """Raise unless every node and leaf has one parent, before it, and every set of categories exists."""
    nodes, words, roots, columns = (values[name] for name in ("nodes", "words", "roots", "columns"))
    _require_array(nodes, (NODE,))
    _require_array(words, (np.uint32,))
    _require_array(roots, (np.int32,))
    _require_array(columns, (np.int32,))
    require(roots.shape == columns.shape and np.all(columns >= 0) and np.all(nodes["feature"] >= 0), _WRONG)
    _require_leaf_values(values["leaf_values"], roots.size)
    _require_bounds(values["bounds"], words.size)
    links = np.concatenate([roots, nodes["left"], nodes["right"]])
    parents = np.concatenate([np.full(roots.size, -1), np.arange(nodes.size), np.arange(nodes.size)])
    inner = links >= 0
    require(np.all(links[inner] > parents[inner]), _WRONG)
    _require_once(links[inner], nodes.size)
    _require_once(~links[~inner], len(values["leaf_values"]))
    sets = nodes["threshold"][nodes["flags"] & CATEGORICAL != 0]
    require(np.all(sets == np.floor(sets)) and are_within(sets, values["bounds"].size - 1), _WRONG)


def check_oblivious_trees(values: Values) -> None:
    """Raise unless every tree has a leaf for every combination of its splits."""
    features, thresholds, leaf_values = (values[name] for name in ("features", "thresholds", "leaf_values"))
    _require_array(features, (np.int32,))
    _require_array(thresholds, (np.float32,))
    require(features.shape == thresholds.shape and np.all(features >= 0), _WRONG)
    _require_bounds(values["split_bounds"], features.size)
    _require_leaf_values(leaf_values, values["split_bounds"].size - 1)
    require(leaf_values.dtype == np.float64, _WRONG)
    _require_bounds(values["leaf_bounds"], len(leaf_values))
    depths = np.diff(values["split_bounds"])
    require(np.all(depths <= _DEEPEST), _WRONG)
    require(np.array_equal(np.diff(values["leaf_bounds"]), 1 << depths), _WRONG)


def check_boosted_trees(values: Values) -> None:
    """Raise unless leaves have values for the columns of the scores, in the same precision."""
    samples, trees, base = values["samples"], values["trees"], values["base_scores"]
    require(isinstance(samples, LightGBMSamples | XGBoostSamples | CatBoostSamples), _WRONG)
    require(isinstance(trees, NodeTrees | ObliviousTrees) and values["link"] in LINKS, _WRONG)
    _require_array(base, (trees.leaf_values.dtype,))
    require(base.size >= 1 and np.all(np.isfinite(base)), _WRONG)
    require(np.all(np.abs(base) <= np.finfo(base.dtype).max / 4.0), _WRONG)
    require((base.size == 1) == (values["link"] == SIGMOID), _WRONG)
    require(trees.n_columns <= base.size, _WRONG)


def check_samples(values: Values) -> None:
    """Raise unless columns are numbers and categories lists of plain values."""
    for name in ("categorical", "missing_above"):
        if name in values:
            _require_array(values[name], (np.int64,))
    require(type(values.get("missing", 0.0)) is float, _WRONG)
    categories = values.get("categories", [])
    require(type(categories) is list and all(type(known) is list for known in categories), _WRONG)
    require(all(type(value) in _PLAIN for known in categories for value in known), _WRONG)


def check_settings(values: Values) -> None:
    """Raise unless the settings of a booster are named and none belongs to the training."""
    settings = values["settings"]
    require(type(settings) in (dict, type(None)), "a booster is damaged")
    for name in settings or ():
        problem = f"a booster sets {str(name)[:50]!r}, which model files do not hold: leave it out"
        require(type(name) is str and name not in TRAINING_SETTINGS, problem)


def check_stored_booster(values: Values) -> None:
    """Raise unless trees, features and classes fit together, and no setting belongs to the training."""
    require(type(values["learner"]) is str, "a booster is damaged")
    check_settings(values)
    if "boosted_trees_" not in values:
        return
    trees, n_features, classes = (values[name] for name in ("boosted_trees_", "n_features_in_", "classes_"))
    require(isinstance(trees, BoostedTrees) and type(n_features) is int, _WRONG)
    require(are_within(trees.trees.used_features, n_features), _WRONG)
    require(are_within(trees.samples.treated_columns, n_features), _WRONG)
    require(isinstance(classes, np.ndarray) and classes.ndim == 1, _WRONG)
    require(classes.size == (2 if trees.link == SIGMOID else trees.base_scores.size), _WRONG)
    for name in ("feature_names_in_", "feature_importances_"):
        require(name not in values or np.shape(values[name]) == (n_features,), _WRONG)


CHECKS: dict[str, Callable[[Values], None]] = {
    "BoostedTrees": check_boosted_trees,
    "BoosterClassifier": check_settings,
    "CatBoostSamples": check_samples,
    "LightGBMSamples": check_samples,
    "NodeTrees": check_node_trees,
    "ObliviousTrees": check_oblivious_trees,
    "StoredBooster": check_stored_booster,
    "XGBoostSamples": check_samples,
}
