"""Check that the kernel of a model is that of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from metricwise.certifying.fitted import FittedKernel

_ROUNDING = 1e-3  # of gamma: the variance of samples far from the origin depends on the order of its sum


def check_support(kernel: FittedKernel, X: Any) -> None:
    """Raise unless the support vectors are the same samples of X as in training."""
    if kernel.support_vectors is None or kernel.support.size == 0:
        return
    found = X[kernel.support] if X.shape[0] > kernel.support.max() else X[:0]
    if found.shape != kernel.support_vectors.shape or (abs(found - kernel.support_vectors) > 0.0).sum() > 0:
        raise ValueError("the samples of X are not those the model was trained on, in the same order: pass these")


def check_gamma(kernel: FittedKernel, X: Any) -> None:
    """Raise unless the gamma of the scores is the value of the parameter on these samples."""
    if "gamma" not in kernel.parameters:
        return
    expected, used = _derive_gamma(kernel.gamma, X), kernel.parameters["gamma"]
    if not np.isclose(used, expected, rtol=_ROUNDING, atol=0.0):
        raise ValueError(
            f"gamma_={used:g}, but gamma={kernel.gamma!r} is {expected:g} on these samples: pass the data the model "
            "was trained on"
        )


def _derive_gamma(gamma: str | float, X: Any) -> float:
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / int(X.shape[1])
    if sparse.issparse(X):
        X = X.astype(np.float64, copy=False)  # squares of single precision overflow early
        variance = float(X.multiply(X).mean() - X.mean() ** 2)
    else:
        variance = float(X.var(dtype=np.float64))
    return 1.0 / (int(X.shape[1]) * variance) if variance > 0.0 else 1.0
