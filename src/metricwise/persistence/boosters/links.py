"""Turn the scores of boosted trees into probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SIGMOID, SOFTMAX, ONE_VS_REST = "sigmoid", "softmax", "one_vs_rest"
LINKS = (SIGMOID, SOFTMAX, ONE_VS_REST)


def compute_probabilities(scores: NDArray[Any], link: str) -> NDArray[Any]:
    """Return one column of probabilities per class, in the precision of the scores.

    Single precision rounds as XGBoost does: a probability that differed in its last bit would be far off as one minus
    itself.

    Parameters
    ----------
    scores : array of shape (n_samples, n_columns)
        One column for the sigmoid of two classes, else one per class.
    link : {"sigmoid", "softmax", "one_vs_rest"}
        Of two classes; of several that add up to one; of several, each one vs the rest.

    Examples
    --------
    >>> compute_probabilities(np.array([[0.0]]), "sigmoid")
    array([[0.5, 0.5]])
    """
    if link == SOFTMAX:
        exponentials = _exponentiate(scores - scores.max(axis=1, keepdims=True))
        totals = exponentials.sum(axis=1, keepdims=True, dtype=np.float64).astype(scores.dtype)
        return np.asarray(exponentials / totals)
    positive = (1.0 / (_exponentiate(-scores) + scores.dtype.type(1)).astype(np.float64)).astype(scores.dtype)
    return positive if link == ONE_VS_REST else np.hstack([scores.dtype.type(1) - positive, positive])


def _exponentiate(scores: NDArray[Any]) -> NDArray[Any]:
    """Return exponentials, rounded to the precision of the scores only at the end."""
    with np.errstate(over="ignore"):
        return np.exp(scores.astype(np.float64)).astype(scores.dtype)
