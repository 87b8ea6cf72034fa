"""Squared losses of pairs by sums over sorted scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise._typing import Floats, Mask


def squared_pairs(scores: Floats, positive: Mask, weights: Floats) -> tuple[float, Floats]:
    """Return the mean of max(0, 1 - (s_i - s_j))^2 over pairs, and its derivative by every score."""
    total = weights[positive].sum() * weights[~positive].sum()
    slopes = np.zeros(scores.size)
    centre = scores[positive].min()
    pos, neg = scores[positive] - centre, scores[~positive] - centre
    count, first, second = sums_above(neg, weights[~positive], pos - 1.0)
    reach = 1.0 - pos
    loss = float(weights[positive] @ (count * reach**2 + 2.0 * reach * first + second)) / total
    slopes[positive] = -2.0 * weights[positive] * (count * reach + first) / total
    count, first, _ = sums_above(-pos, weights[positive], -neg - 1.0)
    slopes[~positive] = 2.0 * weights[~positive] * (count * (1.0 + neg) + first) / total
    return max(loss, 0.0), slopes


def sums_above(values: Any, weights: Floats, limits: Any) -> tuple[Any, Any, Any]:
    """Return weight, weighted sum and weighted sum of squares of the values above each limit, in their precision."""
    order = np.argsort(-values)
    sorted_values, sorted_weights = values[order], weights[order]
    place = np.searchsorted(-sorted_values, -limits, "left")
    sums = [np.concatenate([[0.0], np.cumsum(sorted_weights * sorted_values**power)])[place] for power in range(3)]
    return sums[0], sums[1], sums[2]
