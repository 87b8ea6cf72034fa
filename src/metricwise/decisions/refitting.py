"""How far a model of all samples moves the scores that models of folds gave.

Thresholds are chosen on scores of samples that their models, those of the folds, have not seen. The model that is kept
has learnt from more samples, and its scores are further apart: where positives are few, so much that a threshold of the
folds is too low for it. How far it moves a score can be told by samples that both kinds of models have seen. Not so for
models that learn samples by heart (deep trees, nearest neighbours): they disagree about such samples by far, and no two
in the same way, so that nothing is to be learnt from them.
"""

from __future__ import annotations

import numpy as np

from metricwise._typing import Floats

_FEWEST_ROWS, _MOST_ROWS = 20.0, 200.0  # near the threshold that are looked at; else two for one of the rarer class
_WIDEST = 1.0  # standard deviation of moves, in log-odds, from which on they say nothing


def refit_shift(threshold: float, by_folds: Floats, by_whole: Floats, weights: Floats, rare: float) -> float:
    """Return by how much to raise a threshold on log-odds for the model of all samples.

    Parameters
    ----------
    threshold : float
        Chosen for the models of the folds.
    by_folds, by_whole : arrays
        Log-odds of samples by models of folds, and by the model of all samples, all of which have seen them.
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
    most = float(np.clip(2.0 * rare, _FEWEST_ROWS, _MOST_ROWS))
    near = np.diff(np.minimum(np.cumsum(weights[order]), most), prepend=0.0)
    moves, near = (by_whole - by_folds)[order][near > 0.0], near[near > 0.0]
    if moves.size == 0:
        return 0.0
    spread = np.sqrt(np.average((moves - np.average(moves, weights=near)) ** 2, weights=near))
    return _weighted_median(moves, near) if spread < _WIDEST else 0.0


def _weighted_median(values: Floats, weights: Floats) -> float:
    """Return the median of values, each counted as often as its weight says."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    last = values.size - 1
    middle = [min(int(np.searchsorted(below, below[-1] / 2.0, side=side)), last) for side in ("left", "right")]
    return float(values[order][middle].mean())
