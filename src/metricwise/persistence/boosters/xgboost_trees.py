"""The trees of XGBoost, read from its JSON format."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Indices
from metricwise.kernels.tree_nodes import CATEGORICAL, MISSING_LEFT, NODE
from metricwise.persistence.boosters.assembly import NodeTreeAssembly, make_bits
from metricwise.persistence.boosters.links import SIGMOID, SOFTMAX
from metricwise.persistence.boosters.samples import XGBoostSamples
from metricwise.persistence.boosters.stored import BoostedTrees
from metricwise.persistence.boosters.trees import NodeTrees

_LINKS = {"binary:logistic": SIGMOID, "multi:softprob": SOFTMAX, "multi:softmax": SOFTMAX}


def extract_xgboost(model: Any) -> BoostedTrees:
    """Return the trees of a trained XGBClassifier up to its best iteration; ValueError if they are of another kind."""
    learner = json.loads(model.get_booster().save_raw("json"))["learner"]
    objective, settings, booster = (
        learner["objective"]["name"],
        learner["learner_model_param"],
        learner["gradient_booster"],
    )
    if objective not in _LINKS:
        raise ValueError(
            f"its objective is {objective!r}, whose probabilities model files do not hold: use {', '.join(_LINKS)}"
        )
    if booster["name"] == "gblinear":
        raise ValueError("booster='gblinear' has no trees: use booster='gbtree', or LogisticRegression")
    if int(settings.get("num_target", 1)) > 1:
        raise ValueError("it predicts several labels at once: train one classifier per label (MultiOutputClassifier)")
    link, n_columns = _LINKS[objective], max(int(settings["num_class"]), 1)
    forest = booster["gbtree"]["model"] if booster["name"] == "dart" else booster["model"]
    categories = _read_categories(forest)
    if "c" in learner["feature_types"] and not categories and model.feature_types is None:
        raise ValueError(
            "XGBoost before 3.1 does not store the categories of a data frame: use a later one, or encode them as "
            "codes before, for instance by OrdinalEncoder, and name the columns in feature_types"
        )
    base_scores = _read_base_scores(settings, link, n_columns)
    trees = _read_trees(forest, _count_trees(model, forest), base_scores, booster.get("weight_drop"))
    return BoostedTrees(XGBoostSamples(categories, float(model.missing)), trees, base_scores, link)


def _count_trees(model: Any, forest: dict[str, Any]) -> int:
    """Return the number of trees of which predictions are made: those up to the best iteration of early stopping."""
    try:
        n_iterations = model.best_iteration + 1
    except AttributeError:  # trained without early stopping
        return len(forest["trees"])
    if "iteration_indptr" in forest:
        return int(forest["iteration_indptr"][n_iterations])
    per_iteration = max(model.n_classes_, 1) if model.n_classes_ > 2 else 1
    return int(n_iterations * per_iteration * int(forest["gbtree_model_param"]["num_parallel_tree"]))


def _read_base_scores(settings: dict[str, Any], link: str, n_columns: int) -> NDArray[np.float32]:
    """Return the scores without trees: in files they are probabilities where the link is a sigmoid."""
    base = np.array(str(settings["base_score"]).strip("[]").split(","), dtype=np.float32)
    if link == SIGMOID:
        odds_against = (np.float32(1) / base - np.float32(1)).astype(np.float64)
        base = -np.log(odds_against).astype(np.float32)  # rounded once, as by the C library
    return np.ascontiguousarray(np.broadcast_to(base, (n_columns,)))


def _read_categories(forest: dict[str, Any]) -> list[list[Any]]:
    """Return the categories of each categorical column of a data frame, which XGBoost stores from version 3.1 on."""
    categories = []
    for found in forest.get("cats", {}).get("enc", ()):
        if "offsets" in found:
            if min(found["values"], default=0) < 0:  # signed bytes
                raise ValueError(
                    "XGBoost cuts categories with letters beyond ASCII: encode them as codes before, for instance by "
                    "OrdinalEncoder, and name the columns in feature_types"
                )
            text = bytes(found["values"]).decode("ascii")
            values: list[Any] = [text[start:stop] for start, stop in pairwise(found["offsets"])]
        else:
            values = found["values"]
        if values:
            categories.append(values)
    return categories


def _read_trees(
    forest: dict[str, Any], n_trees: int, base_scores: NDArray[np.float32], weights: list[float] | None
) -> NodeTrees:
    assembly = NodeTreeAssembly(np.float32)
    for number, (tree, column) in enumerate(zip(forest["trees"][:n_trees], forest["tree_info"], strict=False)):
        if int(tree["tree_param"]["size_leaf_vector"]) > 1:
            raise ValueError(
                "multi_strategy='multi_output_tree' has several values per leaf, which model files do not hold: set "
                "multi_strategy='one_output_per_tree'"
            )
        nodes, leaf_values = _read_nodes(assembly, tree)
        if (
            weights is not None
        ):  # of dropped trees (dart), rounded as XGBoost does: it adds the base score and takes it off
            base = base_scores[column]
            leaf_values = ((leaf_values + base) - base) * np.float32(weights[number])
        assembly.add_tree(nodes, leaf_values, column)
    return assembly.build()


def _read_nodes(assembly: NodeTreeAssembly, tree: dict[str, Any]) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Return inner nodes, each before its children, and the values of leaves."""
    left, right = (np.array(tree[f"{side}_children"], dtype=np.int64) for side in ("left", "right"))
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    order = _order_nodes(left, right)
    is_leaf = left[order] < 0
    numbers = np.empty(left.size, dtype=np.int64)  # of inner nodes, or ~ of leaves
    numbers[order] = np.where(is_leaf, ~(np.cumsum(is_leaf) - 1), np.cumsum(~is_leaf) - 1)
    inner = order[~is_leaf]
    nodes = np.zeros(inner.size, dtype=NODE)
    nodes["feature"] = np.array(tree["split_indices"], dtype=np.int64)[inner]
    nodes["left"], nodes["right"] = numbers[left[inner]], numbers[right[inner]]
    nodes["flags"] = MISSING_LEFT * np.array(tree["default_left"], dtype=np.int64)[inner]
    # x < t is x <= the number before t, in single precision.
    nodes["threshold"] = np.nextafter(conditions[inner], np.float32(-np.inf))
    _add_sets(assembly, tree, nodes, numbers)
    return nodes, conditions[order[is_leaf]]


def _order_nodes(left: Indices, right: Indices) -> Indices:
    """Return the nodes level by level: pruned trees have nodes that belong to none, and children before parents."""
    level, found = np.zeros(1, dtype=np.int64), []
    while level.size:
        found.append(level)
        inner = level[left[level] >= 0]
        level = np.column_stack([left[inner], right[inner]]).ravel()
    return np.concatenate(found)


def _add_sets(assembly: NodeTreeAssembly, tree: dict[str, Any], nodes: NDArray[Any], numbers: Indices) -> None:
    """Set the nodes that split categories: those of the set go right in XGBoost, so that the children are swapped."""
    places = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    for node, start, size in places:
        at = numbers[node]
        categories = np.array(tree["categories"][start : start + size], dtype=np.int64)
        nodes["threshold"][at] = assembly.add_set(make_bits(categories))
        nodes["flags"][at] = CATEGORICAL | (MISSING_LEFT & ~nodes["flags"][at])
        nodes["left"][at], nodes["right"][at] = nodes["right"][at], nodes["left"][at]
