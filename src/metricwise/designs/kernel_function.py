"""Kernels: inner products of samples in a space of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky
from scipy.sparse.linalg import ArpackError, eigsh
from sklearn import config_context
from sklearn.metrics.pairwise import pairwise_kernels

from metricwise._typing import Floats, Indices
from metricwise.memory import available_bytes
from metricwise.rounding import ValueErrors, kernel_errors

BLOCK_SAMPLES = 2048
PRECOMPUTED = "precomputed"
_PARAMETERS = {"rbf": ("gamma",), "poly": ("gamma", "degree", "coef0"), "sigmoid": ("gamma", "coef0")}
# Positive semi-definite for all parameters and samples.
_SAFE = ("rbf",)
_MOST_SAMPLES_FOR_ALL_EIGENVALUES = 500
_MOST_SAMPLES_FOR_A_FACTOR = 3000
_ROUNDING = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-4}
_ROOM = 0.9


@dataclass(frozen=True)
class KernelFunction:
    """A kernel with its parameters.

    Parameters
    ----------
    kernel : {"rbf", "poly", "sigmoid", "precomputed"} or callable
        A callable takes two arrays of samples and returns the matrix of their kernel values.
    gamma : float
        Factor of the squared distance ("rbf") or of the inner product ("poly", "sigmoid").
    degree : float
        Exponent of "poly".
    coef0 : float
        Constant added to the inner product by "poly" and "sigmoid".

    Examples
    --------
    >>> import numpy as np
    >>> KernelFunction("poly", gamma=1.0, degree=2).between(np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]]))
    array([[25.]])
    """

    kernel: str | Callable[[Any, Any], Any]
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0

    @property
    def is_safe(self) -> bool:
        """Whether every kernel matrix is positive semi-definite."""
        return self.kernel in _SAFE or (self.kernel == "poly" and self.coef0 >= 0.0 and float(self.degree).is_integer())

    @property
    def settings(self) -> dict[str, float]:
        """The parameters that the kernel has, as numbers that NumPy can compute with: fractions.Fraction is none."""
        known = {"gamma": float(self.gamma), "degree": self.degree, "coef0": float(self.coef0)}
        return {name: known[name] for name in _PARAMETERS[str(self.kernel)]}

    def between(self, A: Any, B: Any) -> Floats:
        """Return the kernel values of the samples of A (rows) with those of B (columns)."""
        if callable(self.kernel):
            found = self.kernel(A, B)
            values = np.asarray(found.toarray() if sparse.issparse(found) else found, dtype=np.float64)
            if values.shape != (A.shape[0], B.shape[0]):
                raise ValueError(
                    f"the kernel returned an array of shape {values.shape} for {A.shape[0]} and {B.shape[0]} samples: "
                    f"it must return one of shape {(A.shape[0], B.shape[0])}"
                )
        else:
            settings = self.settings
            # In double precision: a subspace separates nearly dependent samples by small differences of kernel values.
            A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
            if self.kernel == "rbf" and not (sparse.issparse(A) or sparse.issparse(B)):
                # Distances do not depend on the origin, but far from it their squares are lost to rounding.
                centre = B.mean(axis=0)
                A, B = A - centre, B - centre
            with config_context(assume_finite=True):  # the estimator has checked the samples
                values = np.asarray(pairwise_kernels(A, B, metric=self.kernel, **settings), dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError("the kernel has values that are NaN or infinite: scale the features, or lower gamma")
        return np.ascontiguousarray(values)


class KernelMatrix:
    """Training samples seen through a kernel; with "precomputed", X is the kernel matrix itself."""

    def __init__(self, X: Any, function: KernelFunction) -> None:
        self.X, self.function = X, function
        self.is_precomputed = function.kernel == PRECOMPUTED

    @property
    def n_samples(self) -> int:
        return int(self.X.shape[0])

    def block(self, down: Indices, across: Indices) -> Floats:
        """Return the kernel values between two lists of samples."""
        if self.is_precomputed:
            return np.asarray(self.X[np.ix_(down, across)], dtype=np.float64)
        return self.function.between(self.X[down], self.X[across])

    def columns(self, across: Indices) -> Floats:
        """Return the kernel values of all samples with those in ``across``."""
        out = np.empty((self.n_samples, across.size))
        for samples in iterate_indices(self.n_samples):
            out[samples] = self.block(samples, across)
        return out

    def columns_among(self, samples: Indices) -> Callable[[int], Floats]:
        """Return a function of k: the kernel values of the given samples with the k-th of them."""
        if self.is_precomputed:
            return lambda k: np.asarray(self.X[samples, samples[k]], dtype=np.float64)
        selected = self.X[samples]
        return lambda k: self.function.between(selected, selected[[k]])[:, 0]

    def products(self, down: Indices, across: Indices, coefficients: Floats) -> Floats:
        """Return the values at samples ``down`` of the function with coefficients at ``across``, block by block."""
        parts = [self.block(down[part], across) @ coefficients for part in iterate_indices(down.size)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def diagonal(self) -> Floats:
        """Return the kernel value of every sample with itself."""
        if self.is_precomputed:
            return np.asarray(self.X.diagonal(), dtype=np.float64).copy()
        if self.function.kernel == "rbf":
            return np.ones(self.n_samples)
        parts = [np.diagonal(self.block(samples, samples)) for samples in iterate_indices(self.n_samples, 256)]
        return np.concatenate(parts)

    def value_errors(self) -> ValueErrors:
        """Return by how much the kernel values in `matrix` may differ from the exact ones."""
        function = self.function
        if self.is_precomputed or callable(function.kernel):
            return ValueErrors(())
        settings = function.settings
        return kernel_errors(function.kernel, settings, self._squares(), int(self.X.shape[1]))

    def _squares(self) -> Floats:
        """Return bounds of the squared norms of the samples that kernel values are computed of."""
        if sparse.issparse(self.X):
            return np.asarray(self.X.astype(np.float64).power(2).sum(axis=1), dtype=np.float64).ravel()
        is_centred = self.function.kernel == "rbf"
        centre = self.X.mean(axis=0, dtype=np.float64) if is_centred else 0.0
        blocks = (self.X[samples].astype(np.float64) - centre for samples in iterate_indices(self.n_samples))
        parts = [(block**2).sum(axis=1) for block in blocks]
        squares: Floats = np.concatenate(parts)
        if is_centred and len(parts) > 1:  # each part has a centre of its own, the mean of some samples
            squares = 2.0 * (squares + squares.max())
        return squares

    def matrix(self, hint: str) -> Floats:
        """Return the whole kernel matrix; raise a MemoryError that ends with ``hint`` if it does not fit."""
        size = 8 * self.n_samples**2
        room = available_bytes()
        if not self.is_precomputed and size > _ROOM * room:
            raise MemoryError(
                f"the kernel matrix of {self.n_samples} samples takes {size / 1e9:.1f} GB, but about {room / 1e9:.1f} "
                f"GB of memory is free: {hint}"
            )
        if self.is_precomputed:
            return np.ascontiguousarray(self.X, dtype=np.float64)
        out = np.empty((self.n_samples, self.n_samples))
        for samples in iterate_indices(self.n_samples):
            # The lower triangle only; the upper one is the same.
            before = np.arange(samples[-1] + 1)
            out[samples, : before.size] = self.block(samples, before)
            out[: samples[0], samples] = out[samples, : samples[0]].T
        return out


def iterate_indices(n_samples: int, size: int | None = None) -> Iterator[Indices]:
    """Yield the indices of consecutive samples, at most ``size`` (by default `BLOCK_SAMPLES`) at a time."""
    size = BLOCK_SAMPLES if size is None else size
    for start in range(0, n_samples, size):
        yield np.arange(start, min(start + size, n_samples))


def check_dense_matrix(X: Any) -> None:
    """Raise a ValueError if a precomputed kernel matrix is sparse."""
    if sparse.issparse(X):
        raise ValueError("kernel='precomputed' takes a dense matrix, got a sparse one: convert it with toarray()")


def check_kernel_matrix(X: Any) -> Any:
    """Return a precomputed kernel matrix of training samples; raise a ValueError unless it can be one."""
    check_dense_matrix(X)
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            "kernel='precomputed' needs a square matrix, kernel values between all training samples, got shape "
            f"{X.shape}"
        )
    scale = float(np.abs(X).max()) if X.size else 0.0
    lean = np.abs(X - X.T)
    if lean.max() > _ROUNDING[X.dtype] * max(scale, 1e-300) * 10:
        row, column = np.unravel_index(int(np.argmax(lean)), X.shape)
        raise ValueError(
            f"kernel='precomputed' needs a symmetric matrix, but X[{row}, {column}] is {X[row, column]:g} and "
            f"X[{column}, {row}] is {X[column, row]:g}"
        )
    return X


def check_positive(K: Floats, dtype: Any, remedy: str, errors: ValueErrors | None = None) -> None:
    """Raise a ValueError that ends with ``remedy`` unless a symmetric matrix is positive semi-definite.

    Of a matrix that was given, rounding errors are unknown, and those that are usual in its type are allowed for. If
    they are known, nothing else is: bounds of the objective hold for kernels without negative eigenvalues alone.

    Parameters
    ----------
    K : array of shape (n_samples, n_samples)
        The matrix.
    dtype : dtype
        The type that it was given in.
    remedy : str
        What the user can do.
    errors : ValueErrors, optional
        The errors of the values.
    """
    rounding = _ROUNDING[np.dtype(dtype)] if errors is None else _relative_errors(K, errors)
    least, largest = _extreme_eigenvalues(K, rounding)
    if least < -rounding * max(largest, -least):
        raise ValueError(
            f"the kernel matrix is not positive semi-definite: it has the eigenvalue {least:.3g}, the largest being "
            f"{largest:.3g}. {remedy}"
        )


def _relative_errors(K: Floats, errors: ValueErrors) -> float:
    """Return by how much of the largest one, by size, eigenvalues may differ from those of the exact matrix."""
    n_samples, largest = len(K), max(float(K.max()), -float(K.min()))  # at most the largest eigenvalue
    of_values = float(errors.of_function(np.ones(n_samples)).max()) / largest if largest else 0.0
    return 8.0 * n_samples * 2.0**-52 + of_values


def _extreme_eigenvalues(K: Floats, rounding: float) -> tuple[float, float]:
    """Return the least and the largest eigenvalue; the least is 0 if it is so up to rounding."""
    if K.shape[0] <= _MOST_SAMPLES_FOR_ALL_EIGENVALUES:
        values = np.linalg.eigvalsh(K)
        return float(values[0]), float(values[-1])
    if not K.any():
        return 0.0, 0.0
    start = np.random.default_rng(0).standard_normal(K.shape[0])
    largest = float(eigsh(K, k=1, which="LA", v0=start, tol=1e-2, return_eigenvectors=False)[0])
    below = -rounding * max(largest, 0.0)
    # A Cholesky factor is the proof: eigenvalues clustered at zero hide a small negative one from the iteration below.
    # With many samples it would take longer than the training.
    fits = K.shape[0] <= _MOST_SAMPLES_FOR_A_FACTOR
    if fits and _has_factor(K, -below):
        return 0.0, largest
    try:
        least = float(eigsh(K, k=1, which="SA", v0=start, tol=1e-2, maxiter=50, return_eigenvectors=False)[0])
    except ArpackError:  # no convergence
        least = 0.0
    return (min(least, 2.0 * below) if fits else least), largest


def _has_factor(K: Floats, ridge: float) -> bool:
    shifted = K.copy()
    shifted.flat[:: K.shape[0] + 1] += ridge
    try:
        # The transpose of a symmetric matrix is the same matrix, in the memory order that LAPACK can overwrite.
        cholesky(shifted.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True
