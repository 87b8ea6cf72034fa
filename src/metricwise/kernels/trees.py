"""Scores of ensembles of decision trees."""

import numba as nb
import numpy as np

# One record per inner node. A child below zero is the leaf of number ~child.
NODE = np.dtype([("threshold", "<f8"), ("feature", "<i4"), ("left", "<i4"), ("right", "<i4"), ("flags", "<i4")])
MISSING_LEFT, ZERO_IS_MISSING, CATEGORICAL = 1, 2, 4  # flags

_LARGEST_ZERO = np.float64(np.float32(1e-35))  # as LightGBM compares
_BLOCK = 64  # samples that pass a tree while its nodes are in the cache


@nb.njit(cache=True, nogil=True)
def _contains(words, start, stop, value):
    """Return whether a category is in the set of bits ``words[start:stop]``."""
    if not 0.0 <= value < 32.0 * (stop - start):
        return False
    category = np.int64(value)
    return ((words[start + (category >> 5)] >> np.uint32(category & 31)) & np.uint32(1)) != 0


@nb.njit(cache=True, nogil=True)
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


@nb.njit(cache=True, nogil=True)
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


@nb.njit(cache=True, nogil=True)
def add_oblivious_trees(features, thresholds, split_bounds, leaf_bounds, leaf_values, X, scores, start, stop):
    """Add the leaf values of trees with one split per level to the scores of the samples ``start`` to ``stop``.

    The splits of tree t are ``split_bounds[t]`` to ``split_bounds[t + 1]``. Split d sets bit d of the number of the
    leaf if the value is above the threshold, which NaN is not. Leaf 0 of tree t is ``leaf_values[leaf_bounds[t]]``.
    """
    width, n_features = leaf_values.shape[1], X.shape[1]
    columns = np.empty((n_features, _BLOCK), X.dtype)  # by features, so that comparisons become vector code
    leaves = np.empty(_BLOCK, np.int32)
    for first in range(start, stop, _BLOCK):
        size = min(_BLOCK, stop - first)
        for i in range(size):
            for j in range(n_features):
                columns[j, i] = X[first + i, j]
        for tree in range(split_bounds.size - 1):
            leaves[:] = 0
            for split in range(split_bounds[tree], split_bounds[tree + 1]):
                bit = np.int32(1 << (split - split_bounds[tree]))
                column, threshold = columns[features[split]], thresholds[split]
                for i in range(size):
                    leaves[i] |= bit if column[i] > threshold else np.int32(0)
            for i in range(size):
                leaf = leaf_bounds[tree] + leaves[i]
                for k in range(width):
                    scores[first + i, k] += leaf_values[leaf, k]
