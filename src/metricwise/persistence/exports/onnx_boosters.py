"""The trees of LightGBM, XGBoost and CatBoost as nodes of ONNX's tree ensembles."""

from __future__ import annotations

import numpy as np

from metricwise._typing import Indices
from metricwise.kernels.tree_nodes import CATEGORICAL, MISSING_LEFT, ZERO_IS_MISSING
from metricwise.persistence.boosters.stored import BoostedTrees
from metricwise.persistence.boosters.trees import NodeTrees
from metricwise.persistence.exports.onnx_nodes import CategoricalSplitError, OnnxNodes


def list_booster_nodes(boosted: BoostedTrees) -> OnnxNodes:
    """Return the nodes of all trees; TypeError if they split categories or take other numbers than NaN for missing."""
    trees = boosted.trees.to_node_trees()
    nodes, n_nodes, n_leaves = trees.nodes, trees.nodes.size, len(trees.leaf_values)
    if np.any(nodes["flags"] & CATEGORICAL):
        raise CategoricalSplitError
    if np.any(nodes["flags"] & ZERO_IS_MISSING) or not np.isnan(boosted.samples.missing):
        raise TypeError("trees of ONNX know no missing values but NaN: replace others by NaN before the training")
    # Inner nodes, then leaves; sorted by trees, the root of each is its first node, as nodes precede their children.
    tree_ids = _find_trees(trees)
    order = np.argsort(tree_ids, kind="stable")
    places = np.empty(order.size, dtype=np.int64)
    places[order] = np.arange(order.size) - np.searchsorted(tree_ids[order], tree_ids[order])
    is_leaf = order >= n_nodes
    inner, leaves = np.where(is_leaf, 0, order), order[is_leaf] - n_nodes
    padded = nodes if n_nodes else np.zeros(1, dtype=nodes.dtype)
    goes_left = (padded["flags"] & MISSING_LEFT != 0) & ~np.isin(padded["feature"], boosted.samples.missing_above)
    left, right = (
        places[np.where(padded[side] < 0, n_nodes + ~padded[side].astype(np.int64), padded[side])[inner]]
        for side in ("left", "right")
    )
    return OnnxNodes(
        tree_ids=tree_ids[order],
        node_ids=places[order],
        is_leaf=is_leaf,
        features=padded["feature"][inner].astype(np.int64),
        thresholds=padded["threshold"][inner],
        left=left,
        right=right,
        is_missing_left=goes_left[inner],
        columns=trees.columns[tree_ids[n_nodes + leaves]].astype(np.int64),
        leaf_values=trees.leaf_values[leaves].astype(np.float64).reshape(n_leaves, -1),
        base_scores=boosted.base_scores.astype(np.float64),
    )


def _find_trees(trees: NodeTrees) -> Indices:
    """Return the tree of each inner node, and of each leaf after them."""
    n_nodes = trees.nodes.size
    found = np.zeros(n_nodes + len(trees.leaf_values), dtype=np.int64)
    level, owners = trees.roots.astype(np.int64), np.arange(trees.roots.size)
    while level.size:
        is_inner = level >= 0
        found[np.where(is_inner, level, n_nodes + ~level)] = owners
        inner, owners = level[is_inner], np.tile(owners[is_inner], 2)
        level = np.concatenate([trees.nodes["left"][inner], trees.nodes["right"][inner]]).astype(np.int64)
    return found
