"""Kernels: the functions among which training looks for the best, and the scores of the one it found."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from metricwise._typing import Floats, Indices, Mask
from metricwise.designs import Design
from metricwise.designs.kernel import KernelDesign
from metricwise.designs.kernel_function import (
    PRECOMPUTED,
    KernelFunction,
    KernelMatrix,
    check_dense_matrix,
    check_kernel_matrix,
    check_positive,
    iterate_indices,
)
from metricwise.designs.subspace import Subspace, SubspaceDesign
from metricwise.solvers import Limits
from metricwise.solvers.loop import Solver
from metricwise.solvers.subspace_pursuit import draw_first_basis, pursue

Kernel = str | Callable[[Any, Any], Any]

_LOG = logging.getLogger("metricwise")
_MOST_SAMPLES_FOR_EXACT = 5000
_LEAST_BASIS, _MOST_BASIS, _SAMPLES_PER_BASIS_SAMPLE = 100, 1000, 10
_TOO_LARGE = "set approximation='cpsp' or 'nystroem', which need n_basis columns of it, or use fewer samples"
_REMEDY = "Choose another kernel, or other values of gamma and coef0"
_REMEDY_PRECOMPUTED = "Add a multiple of the identity to it, or mend what made it"


@dataclass(frozen=True)
class KernelSettings:
    """The parameters of an estimator that describe its kernel and how to use it."""

    kernel: Kernel
    gamma: str | float
    degree: int
    coef0: float
    approximation: str
    n_basis: int | None


@dataclass(frozen=True)
class KernelSpace:
    """A kernel on the training samples.

    Parameters
    ----------
    source : KernelMatrix
        The samples seen through the kernel.
    content : Design
        The samples themselves, by which equal ones are recognised.
    approximation : {"exact", "cpsp", "nystroem"}
        How the kernel is used.
    n_basis : int, optional
        Basis samples of an approximation.
    intercept : float
        Size of the constant feature.
    exact_design : KernelDesign, optional
        With the whole kernel matrix; None for an approximation, whose design depends on the binary problem.
    """

    source: KernelMatrix
    content: Design
    approximation: str
    n_basis: int | None
    intercept: float
    exact_design: KernelDesign | None


def make_kernel_space(settings: KernelSettings, X: Any, content: Design, intercept: float) -> KernelSpace:
    """Return a kernel on checked training samples, or on their kernel matrix, with the matrix if it is used exactly."""
    if settings.kernel == PRECOMPUTED:
        check_kernel_matrix(X)
    gamma = resolve_gamma(settings.gamma, settings.kernel, X)
    source = KernelMatrix(X, KernelFunction(settings.kernel, gamma, settings.degree, settings.coef0))
    approximation = _select_approximation(settings.approximation, source.n_samples)
    exact = _make_exact_design(source, content, intercept) if approximation == "exact" else None
    return KernelSpace(source, content, approximation, settings.n_basis, intercept, exact)


def resolve_gamma(gamma: str | float, kernel: Kernel, X: Any) -> float:
    """Return gamma as a number; "scale" and "auto" mean what they mean in `sklearn.svm.SVC`.

    Raises
    ------
    ValueError
        If "scale" is zero, infinite or NaN: such a kernel would not depend on the samples.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if kernel == PRECOMPUTED or gamma == "auto":
        return 1.0 / int(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        variance = _compute_variance(X)
        scale = 1.0 / (int(X.shape[1]) * variance) if variance != 0.0 else np.float64(1.0)
    if 0.0 < scale < np.inf:
        return float(scale)
    if callable(kernel):
        return 1.0  # is not used
    raise ValueError(
        f"gamma='scale' is {scale:g}, since the variance of X is {variance:g}: scale the features, or pass gamma as a "
        "number"
    )


def _compute_variance(X: Any) -> np.float64:
    """Return the variance of all entries in double precision: squares of single precision overflow early."""
    if not sparse.issparse(X):
        return np.float64(X.var(dtype=np.float64))
    X = X.astype(np.float64, copy=False)
    return np.float64(np.maximum(X.multiply(X).mean() - X.mean() ** 2, 0.0))  # rounding may leave less than zero


def _select_approximation(approximation: str, n_samples: int) -> str:
    if approximation != "auto":
        return approximation
    selected = "exact" if n_samples <= _MOST_SAMPLES_FOR_EXACT else "cpsp"
    _LOG.info("approximation='auto': %r for %d samples", selected, n_samples)
    return selected


def _make_exact_design(source: KernelMatrix, content: Design, intercept: float) -> KernelDesign:
    matrix, errors = source.matrix(_TOO_LARGE), source.value_errors()
    if not source.function.is_safe:
        remedy = _REMEDY_PRECOMPUTED if source.is_precomputed else _REMEDY
        check_positive(matrix, source.X.dtype, remedy, errors if errors.factors else None)
    everything = np.arange(source.n_samples)
    return KernelDesign(matrix, content, everything, intercept, content.threads, errors)


def select_kernel_design(
    space: KernelSpace,
    samples: Indices,
    positive: Mask,
    solver: Solver[Any, Any],
    restrict: Callable[[Design], Any],
    limits: Limits,
    seed: int,
) -> Design:
    """Return the exact design, or that of a basis selected for one binary problem.

    Parameters
    ----------
    space : KernelSpace
        The kernel on the training samples.
    samples, positive : arrays
        The samples of the binary problem, and which of all samples are positive.
    solver, limits
        Solve the problems that ``restrict`` makes of the design of a basis.
    seed : int
        Of the first basis samples.
    """
    if space.exact_design is not None:
        return space.exact_design
    size = _basis_size(space.n_basis, samples.size)
    subspace = Subspace(space.source, size)
    if space.approximation == "nystroem":
        subspace.extend(draw_first_basis(samples, positive, size, np.random.default_rng(seed)))
    else:
        pursue(
            subspace,
            samples,
            positive,
            size,
            solver,
            lambda grown: restrict(_make_subspace_design(space, grown)),
            limits,
            seed,
        )
    return _make_subspace_design(space, subspace)


def _basis_size(n_basis: int | None, n_samples: int) -> int:
    if n_basis is None:
        n_basis = min(max(n_samples // _SAMPLES_PER_BASIS_SAMPLE, _LEAST_BASIS), _MOST_BASIS)
    return min(int(n_basis), n_samples)


def _make_subspace_design(space: KernelSpace, subspace: Subspace) -> SubspaceDesign:
    everything = np.arange(space.source.n_samples)
    return SubspaceDesign(
        subspace.features,
        everything,
        space.intercept,
        space.content.threads,
        subspace=subspace,
        content=space.content,
    )


def score_by_kernel(
    function: KernelFunction, X: Any, support: Indices, support_vectors: Any, dual_coef: Floats
) -> Floats:
    """Return the scores of new samples, or of the rows of their kernel matrix; one column per binary problem."""
    parts = []
    for block in iterate_indices(X.shape[0]):
        if function.kernel == PRECOMPUTED:
            check_dense_matrix(X[block])
            values = np.asarray(X[block][:, support], dtype=np.float64)
        elif support.size == 0:  # no weights were better than zero
            values = np.zeros((block.size, 0))
        else:
            values = function.between(X[block], support_vectors)
        parts.append(values @ dual_coef.T)
    return np.concatenate(parts)
