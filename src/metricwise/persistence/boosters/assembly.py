"""Assemble the arrays of an ensemble from trees, one at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Indices
from metricwise.kernels.tree_nodes import MISSING_LEFT, NODE
from metricwise.persistence.boosters.trees import NodeTrees, ObliviousTrees

_BITS = 32


@dataclass
class NodeTreeAssembly:
    """Trees of nodes collected so far.

    Parameters
    ----------
    dtype : type
        Precision of the leaf values.
    n_values : int
        Values per leaf.
    """

    dtype: type[np.floating[Any]]
    n_values: int = 1
    _nodes: list[NDArray[Any]] = field(default_factory=list)
    _leaf_values: list[NDArray[Any]] = field(default_factory=list)
    _sets: list[NDArray[np.uint32]] = field(default_factory=list)
    _roots: list[int] = field(default_factory=list)
    _columns: list[int] = field(default_factory=list)
    _n_nodes: int = 0
    _n_leaves: int = 0

    def add_set(self, words: NDArray[np.uint32]) -> int:
        """Return the number of a new set of categories, given as bits."""
        self._sets.append(words)
        return len(self._sets) - 1

    def add_tree(self, nodes: NDArray[Any], leaf_values: NDArray[Any], column: int) -> None:
        """Add a tree.

        Parameters
        ----------
        nodes : array of `metricwise.kernels.tree_nodes.NODE`
            Inner nodes, each before its children, numbered within the tree as leaves are; none if there is one leaf.
        leaf_values : array of shape (n_leaves, n_values)
            The values of its leaves.
        column : int
            The column of the scores that they are added to.
        """
        moved = nodes.copy()
        for side in ("left", "right"):
            child = nodes[side]
            moved[side] = np.where(child >= 0, child + self._n_nodes, child - self._n_leaves)
        self._roots.append(self._n_nodes if nodes.size else ~self._n_leaves)
        self._columns.append(column)
        self._nodes.append(moved)
        self._leaf_values.append(leaf_values.reshape(-1, self.n_values).astype(self.dtype))
        self._n_nodes += nodes.size
        self._n_leaves += len(self._leaf_values[-1])

    def build(self) -> NodeTrees:
        """Return all trees."""
        return NodeTrees(
            nodes=np.concatenate([np.empty(0, NODE), *self._nodes]),
            words=np.concatenate([np.empty(0, np.uint32), *self._sets]),
            bounds=np.cumsum([0, *(words.size for words in self._sets)], dtype=np.int64),
            roots=np.array(self._roots, dtype=np.int32),
            columns=np.array(self._columns, dtype=np.int32),
            leaf_values=np.concatenate([np.empty((0, self.n_values), self.dtype), *self._leaf_values]),
        )


def make_bits(categories: Indices) -> NDArray[np.uint32]:
    """Return a set of categories as bits.

    Examples
    --------
    >>> make_bits(np.array([0, 2, 33]))
    array([5, 2], dtype=uint32)
    """
    words = np.zeros(int(categories.max(initial=0)) // _BITS + 1, dtype=np.uint32)
    np.bitwise_or.at(words, categories // _BITS, np.uint32(1) << (categories % _BITS).astype(np.uint32))
    return words


def expand_oblivious_trees(trees: ObliviousTrees) -> NodeTrees:
    """Return oblivious trees with a split of their own in every node; missing values are below all thresholds."""
    assembly = NodeTreeAssembly(np.float64, trees.leaf_values.shape[1])
    splits, leaves = pairwise(trees.split_bounds.tolist()), pairwise(trees.leaf_bounds.tolist())
    for (start, stop), (first_leaf, last_leaf) in zip(splits, leaves, strict=True):
        # Node 2^d - 1 + p of level d is reached by samples that pass the splits whose bits are set in p.
        numbers = np.arange(1, 1 << (stop - start))
        levels = np.frexp(numbers)[1].astype(np.int64) - 1
        passed = numbers - (1 << levels)
        nodes = np.zeros(numbers.size, dtype=NODE)
        nodes["feature"], nodes["threshold"] = trees.features[start + levels], trees.thresholds[start + levels]
        nodes["flags"] = MISSING_LEFT
        for side, child in (("left", passed), ("right", passed + (1 << levels))):
            is_last = levels == stop - start - 1
            nodes[side] = np.where(is_last, ~child, (2 << levels) - 1 + child)
        assembly.add_tree(nodes, trees.leaf_values[first_leaf:last_leaf], 0)
    return assembly.build()
