"""Ensembles of decision trees as arrays, and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._state import stored_fields
from metricwise.kernels.tree_nodes import MISSING_LEFT
from metricwise.threads import available_threads, block_bounds, run_blocks


@stored_fields(version=1)
@dataclass(frozen=True)
class NodeTrees:
    """Binary trees with a split of their own in every node.

    Parameters
    ----------
    nodes : array of `metricwise.kernels.tree_nodes.NODE`
        The inner nodes of all trees, each before its children. A child below zero is the leaf of number ~child.
    words : array of uint32
        Sets of categories as bits, one after another.
    bounds : array of int64 of shape (n_sets + 1,)
        Where each set begins in ``words``.
    roots : array of int32 of shape (n_trees,)
        The first node of each tree; ~leaf if it has none.
    columns : array of int32 of shape (n_trees,)
        The column of the scores that the first value of its leaves is added to.
    leaf_values : array of float32 or float64 of shape (n_leaves, n_values)
        What a leaf adds to the scores, in the precision of the sums.
    """

    nodes: NDArray[Any]
    words: NDArray[np.uint32]
    bounds: NDArray[np.int64]
    roots: NDArray[np.int32]
    columns: NDArray[np.int32]
    leaf_values: NDArray[Any]

    @property
    def used_features(self) -> NDArray[np.int32]:
        """The features of all splits."""
        return np.asarray(self.nodes["feature"])

    @property
    def n_columns(self) -> int:
        """The least number of columns of scores."""
        return int(self.columns.max(initial=0)) + int(self.leaf_values.shape[1])  # beyond int32

    def to_node_trees(self) -> NodeTrees:
        """Return itself."""
        return self

    def add_scores(self, X: NDArray[Any], scores: NDArray[Any]) -> None:
        """Add the values of the leaves that samples reach to their scores."""
        from metricwise.kernels.trees import add_node_trees, add_numeric_trees

        sets, trees = (self.words, self.bounds), (self.roots, self.columns, self.leaf_values)
        is_numeric = bool(np.all((self.nodes["flags"] & ~MISSING_LEFT) == 0))

        def add_block(_: int, start: int, stop: int) -> None:
            if is_numeric:
                add_numeric_trees(self.nodes, *trees, X, scores, start, stop)
            else:
                add_node_trees(self.nodes, *sets, *trees, X, scores, start, stop)

        run_blocks(add_block, block_bounds(len(X), 8.0 * len(X) * self.roots.size), available_threads())


@stored_fields(version=1)
@dataclass(frozen=True)
class ObliviousTrees:
    """Trees with the same split in all nodes of a level, as CatBoost grows them.

    Parameters
    ----------
    features : array of int32 of shape (n_splits,)
        The feature of each split.
    thresholds : array of float32 of shape (n_splits,)
        A split is passed by values above its threshold.
    split_bounds : array of int64 of shape (n_trees + 1,)
        Where the splits of each tree begin. Split d sets bit d of the number of the leaf.
    leaf_bounds : array of int64 of shape (n_trees + 1,)
        Where the leaves of each tree begin.
    leaf_values : array of float64 of shape (n_leaves, n_columns)
        What a leaf adds to the scores.
    """

    features: NDArray[np.int32]
    thresholds: NDArray[np.float32]
    split_bounds: NDArray[np.int64]
    leaf_bounds: NDArray[np.int64]
    leaf_values: NDArray[np.float64]

    @property
    def used_features(self) -> NDArray[np.int32]:
        """The features of all splits."""
        return self.features

    @property
    def n_columns(self) -> int:
        """The number of columns of scores."""
        return int(self.leaf_values.shape[1])

    def to_node_trees(self) -> NodeTrees:
        """Return the same trees with a split of their own in every node."""
        from metricwise.persistence.boosters.assembly import expand_oblivious_trees

        return expand_oblivious_trees(self)

    def add_scores(self, X: NDArray[Any], scores: NDArray[Any]) -> None:
        """Add the values of the leaves that samples reach to their scores."""
        from metricwise.kernels.trees import add_oblivious_trees

        run_blocks(
            lambda _, start, stop: add_oblivious_trees(
                self.features,
                self.thresholds,
                self.split_bounds,
                self.leaf_bounds,
                self.leaf_values,
                X,
                scores,
                start,
                stop,
            ),
            block_bounds(len(X), 8.0 * len(X) * (self.split_bounds.size - 1)),
            available_threads(),
        )
