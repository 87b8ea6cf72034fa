"""The shift of scores from the fold models to the final model.

The final model is trained on more samples than the fold models, so its scores are more spread out. With few positives
and many features, a threshold chosen on the fold models' scores is then too low, and is corrected here. The correction
is estimated from samples that both kinds of models were trained with. Models that memorise their samples (deep trees,
nearest neighbours) disagree widely about such samples, each in its own way, and get no correction.
"""

from __future__ import annotations

import numpy as np

from metricwise._typing import Floats

_FEWEST_SAMPLES, _MOST_SAMPLES = 20.0, 200.0  # near the threshold that are used; between them, two per minority sample
_WIDEST = 1.0  # standard deviation of moves, in log-odds, from which on there is no correction


def refit_shift(threshold: float, by_folds: Floats, by_final: Floats, weights: Floats, rare: float) -> float:
    """Return by how much to raise a threshold on log-odds for the final model.

    Parameters
    ----------
    threshold : float
        Chosen for the fold models.
    by_folds, by_final : arrays
        Log-odds of samples by fold models and by the final model, all trained with them.
    weights : array
        Weights of the samples.
    rare : float
        Weight of the rarer class among them.

    Examples
    --------
    >>> import numpy as np
    >>> by_folds = np.linspace(-3.0, 3.0, 100)
    >>> round(refit_shift(1.0, by_folds, 1.2 * by_folds, np.ones(100), 10.0), 1)
    0.2
    """
    order = np.argsort(np.abs(by_folds - threshold), kind="stable")
    most = float(np.clip(2.0 * rare, _FEWEST_SAMPLES, _MOST_SAMPLES))
    near = np.diff(np.minimum(np.cumsum(weights[order]), most), prepend=0.0)
    moves, near = (by_final - by_folds)[order][near > 0.0], near[near > 0.0]
    if moves.size == 0:
        return 0.0
    spread = np.sqrt(np.average((moves - np.average(moves, weights=near)) ** 2, weights=near))
    return weighted_median(moves, near) if spread < _WIDEST else 0.0


def weighted_median(values: Floats, weights: Floats) -> float:
    """Return the weighted median of values: that of as many copies of each as its weight, if weights are whole.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_median(np.array([1.0, 2.0, 5.0]), np.array([1.0, 1.0, 2.0]))
    3.5
    """
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    last = values.size - 1
    middle = [min(int(np.searchsorted(below, below[-1] / 2.0, side=side)), last) for side in ("left", "right")]
    return float(values[order][middle].mean())
