"""The trees of LightGBM, read from its text format."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats
from metricwise.kernels.tree_nodes import CATEGORICAL, MISSING_LEFT, NODE, ZERO_IS_MISSING
from metricwise.persistence.boosters.assembly import NodeTreeAssembly
from metricwise.persistence.boosters.links import ONE_VS_REST, SIGMOID, SOFTMAX
from metricwise.persistence.boosters.samples import LightGBMSamples
from metricwise.persistence.boosters.stored import BoostedTrees

_LINKS = {"binary": SIGMOID, "cross_entropy": SIGMOID, "multiclass": SOFTMAX, "multiclassova": ONE_VS_REST}
_IS_CATEGORICAL, _DEFAULT_LEFT = 1, 2  # bits of decision_type, above them the kind of missing values
_NO_MISSING, _ZERO_MISSING = 0, 1
_BEFORE_CATEGORIES = "\npandas_categorical:"
_AVERAGED = "average_output"  # the trees of a random forest are averaged


def extract_lightgbm(model: Any) -> BoostedTrees:
    """Return the trees of a trained LGBMClassifier up to its best iteration; ValueError if they are of another kind."""
    if any(model.get_params().get(name) for name in ("pred_early_stop", "pred_early_stopping")):
        raise ValueError("pred_early_stop=True approximates predictions: leave it out")
    text, _, categories = model.booster_.model_to_string().partition(_BEFORE_CATEGORIES)
    header, *trees = text.partition("\nend of trees")[0].split("\nTree=")
    settings = _read_lines(header)
    link, steepness = _read_objective(settings.get("objective", "of a function"))
    n_columns = int(settings["num_tree_per_iteration"])
    factor = steepness * (n_columns / len(trees) if _AVERAGED in header.splitlines() else 1.0)
    assembly = NodeTreeAssembly(np.float64)
    for number, tree in enumerate(trees):
        _add_tree(assembly, _read_lines(tree), factor, number % n_columns)
    built = assembly.build()
    categorical = np.unique(built.nodes["feature"][built.nodes["flags"] & CATEGORICAL != 0]).astype(np.int64)
    samples = LightGBMSamples(json.loads(categories) or [], categorical)
    return BoostedTrees(samples, built, np.zeros(n_columns), link)


def _read_lines(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, _, value in pairs}


def _read_objective(text: str) -> tuple[str, float]:
    """Return the link of an objective and the factor of its scores."""
    name, *settings = text.split()
    if name not in _LINKS:
        raise ValueError(
            f"its objective is {text!r}, whose probabilities model files do not hold: use {', '.join(_LINKS)}"
        )
    values = dict(setting.partition(":")[::2] for setting in settings)
    return _LINKS[name], float(values.get("sigmoid", 1.0))


def _add_tree(assembly: NodeTreeAssembly, tree: dict[str, str], factor: float, column: int) -> None:
    if tree.get("is_linear", "0") != "0":
        raise ValueError(
            "linear_tree=True has models in its leaves, which model files do not hold: set linear_tree=False"
        )
    leaf_values = factor * _read_numbers(tree["leaf_value"])
    nodes = np.zeros(leaf_values.size - 1, dtype=NODE)
    if nodes.size:
        thresholds, decisions = _read_numbers(tree["threshold"]), _read_numbers(tree["decision_type"]).astype(np.int64)
        nodes["feature"] = _read_numbers(tree["split_feature"])
        nodes["left"], nodes["right"] = _read_numbers(tree["left_child"]), _read_numbers(tree["right_child"])
        nodes["flags"] = _make_flags(decisions, thresholds)
        nodes["threshold"] = thresholds
        is_categorical = decisions & _IS_CATEGORICAL != 0
        nodes["threshold"][is_categorical] += _add_sets(assembly, tree) if is_categorical.any() else 0
    assembly.add_tree(nodes, leaf_values, column)


def _make_flags(decisions: NDArray[np.int64], thresholds: Floats) -> NDArray[np.int64]:
    """Return the flags of nodes. Missing values that were not in training are read as zero."""
    kinds, is_categorical = decisions >> 2 & 3, decisions & _IS_CATEGORICAL != 0
    goes_left = np.where(kinds == _NO_MISSING, thresholds >= 0.0, decisions & _DEFAULT_LEFT != 0)
    numeric = MISSING_LEFT * goes_left + ZERO_IS_MISSING * (kinds == _ZERO_MISSING)
    return np.where(is_categorical, CATEGORICAL, numeric)


def _add_sets(assembly: NodeTreeAssembly, tree: dict[str, str]) -> int:
    """Add the sets of categories of a tree; return the number of its first set."""
    bounds = _read_numbers(tree["cat_boundaries"]).astype(np.int64)
    words = _read_numbers(tree["cat_threshold"]).astype(np.uint32)
    numbers = [assembly.add_set(words[start:stop]) for start, stop in pairwise(bounds)]
    return numbers[0]


def _read_numbers(text: str) -> Floats:
    return np.array([float(word) for word in text.split()])
