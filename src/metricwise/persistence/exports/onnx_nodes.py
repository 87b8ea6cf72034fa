"""Ensembles of trees as an operator of ONNX, in double precision."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats, Indices, Mask


class CategoricalSplitError(TypeError):
    """Boosted trees split categories, for which ONNX has no operator."""

    def __init__(self) -> None:
        super().__init__(
            "boosted trees that split categories have no operator in ONNX: encode the categories, for instance by "
            "OneHotEncoder, and train without categorical features"
        )


class OnnxNodes(NamedTuple):
    """The nodes of all trees, tree by tree, each from its root on.

    Parameters
    ----------
    tree_ids, node_ids : array of int64 of shape (n_nodes,)
        The tree of each node, and its number in the tree.
    is_leaf : array of bool of shape (n_nodes,)
        Whether it is a leaf.
    features, thresholds : array of shape (n_nodes,)
        Samples whose feature is at most the threshold go left.
    left, right : array of int64 of shape (n_nodes,)
        The numbers of its children in the tree.
    is_missing_left : array of bool of shape (n_nodes,)
        Whether samples without the feature go left.
    columns : array of int64 of shape (n_leaves,)
        The first column of the scores that each leaf adds to, in the order of the nodes.
    leaf_values : array of shape (n_leaves, n_values)
        What each leaf adds.
    base_scores : array of shape (n_columns,)
        The scores without trees.
    """

    tree_ids: Indices
    node_ids: Indices
    is_leaf: Mask
    features: Indices
    thresholds: Floats
    left: Indices
    right: Indices
    is_missing_left: Mask
    columns: Indices
    leaf_values: Floats
    base_scores: Floats

    def make_graph(self, samples: Any, version: int) -> Any:
        """Return the graph of the raw scores of samples in double precision: one column, or one per class."""
        from onnx.numpy_helper import from_array
        from skl2onnx.algebra.onnx_ops import OnnxTreeEnsembleRegressor_3

        leaf, inner, n_values = self.is_leaf, np.where(self.is_leaf, 0, 1), self.leaf_values.shape[1]
        return OnnxTreeEnsembleRegressor_3(
            samples,
            aggregate_function="SUM",
            n_targets=self.base_scores.size,
            base_values_as_tensor=from_array(self.base_scores),
            nodes_treeids=self.tree_ids.tolist(),
            nodes_nodeids=self.node_ids.tolist(),
            nodes_modes=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
            nodes_featureids=(inner * self.features).tolist(),
            nodes_values_as_tensor=from_array(np.where(leaf, 0.0, self.thresholds)),
            nodes_truenodeids=(inner * self.left).tolist(),
            nodes_falsenodeids=(inner * self.right).tolist(),
            nodes_missing_value_tracks_true=(inner * self.is_missing_left).tolist(),
            target_treeids=np.repeat(self.tree_ids[leaf], n_values).tolist(),
            target_nodeids=np.repeat(self.node_ids[leaf], n_values).tolist(),
            target_ids=(self.columns[:, None] + np.arange(n_values)).ravel().tolist(),
            target_weights_as_tensor=from_array(_flatten(self.leaf_values)),
            op_version=version,
        )


def _flatten(values: NDArray[Any]) -> Floats:
    return np.ascontiguousarray(values, dtype=np.float64).ravel()
