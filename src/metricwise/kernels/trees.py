"""Scores of ensembles of decision trees.

Children, features, sets of categories and leaves were checked when the trees were read: they exist, and a child comes
after its parent, so that every path ends (`metricwise.persistence.boosters.checks`).
"""

import numpy as np

from metricwise.kernels.compiling import kernel
from metricwise.kernels.tree_nodes import CATEGORICAL, MISSING_LEFT, ZERO_IS_MISSING

_LARGEST_ZERO = np.float64(np.float32(1e-35))  # as LightGBM compares
_BLOCK = 64  # samples that pass a tree while its nodes are in the cache


@kernel
def _contains(words, start, stop, value):
    """Return whether a category is in the set of bits ``words[start:stop]``."""
    if not 0.0 <= value < 32.0 * (stop - start):
        return False
    category = np.int64(value)
    return ((words[start + (category >> 5)] >> np.uint32(category & 31)) & np.uint32(1)) != 0


@kernel
def _find_leaf(nodes, words, bounds, sample, root):
    """Return the number of the leaf that a sample reaches."""
    at = root
    while at >= 0:
        node = nodes[at]
        value, flags = sample[node.feature], node.flags
        if np.isnan(value) or (flags & ZERO_IS_MISSING and abs(value) <= _LARGEST_ZERO):
            goes_left = flags & MISSING_LEFT != 0
        elif flags & CATEGORICAL:
            category_set = np.int64(node.threshold)
            goes_left = _contains(words, bounds[category_set], bounds[category_set + 1], value)
        else:
            goes_left = value <= node.threshold
        at = node.left if goes_left else node.right
    return ~at


@kernel
def add_node_trees(nodes, words, bounds, roots, columns, leaf_values, X, scores, start, stop):
    """Add the leaf values of all trees to the scores of the samples ``start`` to ``stop``.

    A sample goes left at a node if its value is at most the threshold, or if it is in the set of categories of number
    ``threshold``, which is ``words[bounds[number]:bounds[number + 1]]``. Tree t starts at ``roots[t]``, a node or
    ~leaf, and adds ``leaf_values[leaf]`` to the columns from ``columns[t]`` on. Sums are in the precision of ``scores``
    and in the order of the trees, so that single precision rounds as in the library that made the trees.
    """
    width = leaf_values.shape[1]
    for first in range(start, stop, _BLOCK):
        for tree in range(roots.size):
            column = columns[tree]
            for i in range(first, min(first + _BLOCK, stop)):
                leaf = _find_leaf(nodes, words, bounds, X[i], roots[tree])
                for k in range(width):
                    scores[i, column + k] += leaf_values[leaf, k]


@kernel
def add_numeric_trees(nodes, roots, columns, leaf_values, X, scores, start, stop):
    """Add the leaf values of trees without flags but ``MISSING_LEFT``, as `add_node_trees` does.

    All samples of a block take a step, then those that have reached no leaf the next one: steps of several samples wait
    for memory at the same time, and there is no branch to mispredict. This is two to three times as fast.
    """
    width = leaf_values.shape[1]
    places, waiting = np.empty(_BLOCK, np.int32), np.empty(_BLOCK, np.uint32)
    for first in range(start, stop, _BLOCK):
        size = min(_BLOCK, stop - first)
        for tree in range(roots.size):
            places[:size] = roots[tree]
            for i in range(size):
                waiting[i] = i
            n_waiting = np.uint32(size) if roots[tree] >= 0 else np.uint32(0)
            while n_waiting > 0:
                n_left = np.uint32(0)
                for k in range(n_waiting):
                    i = waiting[k]  # indices are unsigned: signed ones might count from the end, which costs time
                    node = nodes[np.uint32(places[i])]
                    value = X[np.uint64(first) + i, np.uint32(node.feature)]
                    goes_left = (value <= node.threshold) | (np.isnan(value) & (node.flags != 0))
                    child = node.left if goes_left else node.right
                    places[i] = child
                    waiting[n_left] = i
                    n_left += np.uint32(child >= 0)
                n_waiting = n_left
            for i in range(size):
                for k in range(width):
                    scores[first + i, columns[tree] + k] += leaf_values[~places[i], k]


@kernel
def add_oblivious_trees(features, thresholds, split_bounds, leaf_bounds, leaf_values, X, scores, start, stop):
    """Add the leaf values of trees with one split per level to the scores of the samples ``start`` to ``stop``.

    The splits of tree t are ``split_bounds[t]`` to ``split_bounds[t + 1]``. Split d sets bit d of the number of the
    leaf if the value is above the threshold, which NaN is not. Leaf 0 of tree t is ``leaf_values[leaf_bounds[t]]``.
    """
    width, n_features = leaf_values.shape[1], X.shape[1]
    # By features and in full blocks, so that comparisons become vector code.
    block = np.zeros((n_features, _BLOCK), X.dtype)
    leaves = np.empty(_BLOCK, np.uint32)
    for first in range(start, stop, _BLOCK):
        size = min(_BLOCK, stop - first)
        for i in range(size):
            for j in range(n_features):
                block[j, i] = X[first + i, j]
        for tree in range(split_bounds.size - 1):
            leaves[:] = 0
            bit = np.uint32(1)
            for split in range(split_bounds[tree], split_bounds[tree + 1]):
                feature, threshold = features[split], thresholds[split]
                for i in range(_BLOCK):
                    leaves[i] |= bit if block[feature, i] > threshold else np.uint32(0)
                bit <<= np.uint32(1)
            first_leaf = np.uint64(leaf_bounds[tree])
            for i in range(size):
                leaf = first_leaf + leaves[i]
                scores[first + i, 0] += leaf_values[leaf, 0]
                for k in range(1, width):
                    scores[first + i, k] += leaf_values[leaf, k]
