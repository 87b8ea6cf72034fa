"""Check that a model predicts with the weights whose objective training bounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metricwise._typing import Floats
from metricwise.certifying.fitted import FittedModel
from metricwise.results import Result

_ROUNDING = 1e-9


def check_coefficients(fitted: FittedModel, k: int, sign: float, weights: Floats, n_samples: int) -> None:
    """Raise unless the scores of binary problem k are those of the weights, pointing to ``classes_[1]``.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    k : int
        The binary problem.
    sign : float
        -1 if positives have smaller scores, else 1.
    weights : array
        Weights of the result: with a kernel one coefficient per sample and the constant term, else one weight per
        feature and that of the constant feature if there is one.
    n_samples : int
        Number of training samples.
    """
    if fitted.kernel is not None:
        expected, has_constant, scale = n_samples, True, 1.0
    else:
        expected, has_constant, scale = fitted.n_features, fitted.constant > 0.0, fitted.constant
    if weights.size != expected + has_constant:
        raise ValueError(
            f"training found {weights.size} weights, but the parameters ask for {expected} and "
            f"{'one' if has_constant else 'none'} of a constant: train the model again"
        )
    slopes, intercept = (weights[:-1], scale * weights[-1]) if has_constant else (weights, 0.0)
    if fitted.constant == 0.0 and intercept != 0.0:
        raise ValueError("the model has a constant term, but its parameters ask for none: train the model again")
    stored = fitted.coefficients[k]
    if fitted.kernel is not None:
        stored = np.zeros(n_samples)
        stored[fitted.kernel.support] = fitted.coefficients[k]
    if not _agree(stored, sign * slopes) or not _agree(fitted.intercepts[k], sign * intercept):
        names = "dual_coef_ and intercept_" if fitted.kernel is not None else "coef_ and intercept_"
        raise ValueError(
            f"the model predicts with other weights than those of its certificate: {names} differ from "
            "result_.weights. Train the model again"
        )


def _agree(stored: Floats, expected: Floats | float) -> bool:
    """Return whether values are equal up to rounding."""
    reach = _ROUNDING * float(np.max(np.abs(expected), initial=0.0))
    return bool(np.shape(stored) == np.shape(expected) and np.all(np.abs(stored - expected) <= reach))


def restrict_to_columns(result: Result, columns: tuple[int, ...], n_features: int) -> Result:
    """Return a result with the weights of the selected features and of the constant feature only."""
    kept = np.append(np.array(columns, dtype=np.int64), np.arange(n_features, result.weights.size))
    if np.any(np.delete(result.weights, kept) != 0.0):
        raise ValueError("the model has weights on features that it did not choose: train the model again")
    witness = replace(result.witness, points=result.witness.points[:, kept])
    return replace(result, weights=result.weights[kept], witness=witness)
