"""F-measures of label matrices, averaged over samples or labels, or of all labels together."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from metricwise._typing import Floats, LabelMatrix

Average = Literal["instance", "macro", "micro"]


def f_measure(
    truth: LabelMatrix, found: LabelMatrix, average: Average, beta: float = 1.0, weights: Any = None
) -> float:
    """Return the F-measure of predicted labels; without any label on either side it is 1.

    Parameters
    ----------
    truth, found : arrays of shape (n_samples, n_labels)
        Zeros and ones.
    average : {"instance", "macro", "micro"}
        The mean over samples, the mean over labels, or the measure of all labels of all samples.
    beta : float
        How many times recall counts as much as precision.
    weights : array of shape (n_samples,), optional
        Weights of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> f_measure(np.array([[1, 1], [0, 0]]), np.array([[1, 0], [0, 0]]), "instance")
    0.8333333333333333
    """
    weight = np.ones(len(truth)) if weights is None else np.asarray(weights, dtype=np.float64)
    both, true, called = (truth & found).astype(float), truth.astype(float), found.astype(float)
    if average == "instance":
        return float(np.average(_ratio(both.sum(1), true.sum(1), called.sum(1), beta), weights=weight))
    both, true, called = weight @ both, weight @ true, weight @ called
    if average == "micro":
        both, true, called = (np.atleast_1d(part.sum()) for part in (both, true, called))
    return float(_ratio(both, true, called, beta).mean())


def _ratio(both: Floats, true: Floats, called: Floats, beta: float) -> Floats:
    divisor = beta**2 * true + called
    return np.divide((1.0 + beta**2) * both, divisor, out=np.ones_like(both), where=divisor > 0.0)
