"""Samples seen through their kernel matrix."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.linalg.blas import dsymv

from metricwise._typing import Floats, Hashes, Indices
from metricwise.designs.base import Design
from metricwise.designs.matrix import DenseDesign
from metricwise.rounding import STEPS, RoundingErrors, ValueErrors, gamma

_FEW = 0.25  # of all samples: up to this share, reading single columns is faster
_BLOCK = 512  # samples whose kernel values are copied at once
_EXACT = ValueErrors(())
_EPSILON = float(np.finfo(np.float64).eps)


class KernelDesign:
    """Samples of a kernel matrix.

    Weights are functions f = sum of c_i k(x_i, .) over these samples, written as the coefficients c followed by the
    values f(x_i). Sums and multiples of such vectors are vectors of sums and multiples of the functions, scores are the
    second half, and the inner product of two functions is the product of one's coefficients with the other's values. So
    a solver multiplies with the matrix once per function that it forms from coefficients, and at no other time.

    Parameters
    ----------
    matrix : array of shape (n, n)
        Kernel values between all samples, symmetric, rows contiguous.
    content : Design
        The samples themselves, by which equal ones are recognised.
    samples : array of int
        Positions of the samples within the matrix, in their order.
    intercept : float
        Size of the constant feature; its square is added to all kernel values.
    threads : int
        How many threads may compute products.
    errors : ValueErrors, optional
        By how much the kernel values may differ from the exact ones; by default they do not.
    """

    is_sparse = False
    bytes_moved = 0

    def __init__(
        self,
        matrix: Floats,
        content: Design,
        samples: Indices,
        intercept: float,
        threads: int,
        errors: ValueErrors = _EXACT,
    ) -> None:
        self.matrix, self.content, self.samples, self.errors = matrix, content, samples, errors
        self.intercept, self.threads = float(intercept), threads

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.samples), 2 * len(self.samples)

    def scores(self, w: Floats) -> Floats:
        return w[len(self.samples) :]

    def combine(self, c: Floats) -> Floats:
        coefficients: Floats = np.bincount(self.samples, weights=c, minlength=len(self.matrix))  # type: ignore[assignment]
        values = self._values(coefficients)
        return np.concatenate([c, values + self.intercept**2 * c.sum()])

    def _values(self, coefficients: Floats) -> Floats:
        """Return the values at these samples of the function with one coefficient per sample of the matrix."""
        used = np.flatnonzero(coefficients)
        if used.size < _FEW * len(self.matrix):
            return DenseDesign(self.matrix, used, 0.0, self.threads).combine(coefficients[used])[self.samples]
        # One half of a symmetric matrix determines the other, and reading is what takes time.
        values: Floats = dsymv(1.0, self.matrix.T, coefficients, lower=1)[self.samples]
        return values

    def covector(self, w: Floats) -> Floats:
        n_samples = len(self.samples)
        return np.concatenate([w[n_samples:], np.zeros(n_samples)])

    def portable(self, w: Floats) -> Floats:
        """Return one coefficient per sample of the matrix, followed by the constant term."""
        coefficients = np.bincount(self.samples, weights=w[: len(self.samples)], minlength=len(self.matrix))
        return np.append(coefficients, self.intercept**2 * coefficients.sum())

    def scores_by(self, model: Floats) -> Floats:
        scores: Floats = self._values(model[:-1]) + model[-1]
        return scores

    def recompute_values(self, w: Floats) -> Floats:
        """Return the same function with values that are computed anew: those of sums of functions gather rounding."""
        return np.concatenate([w[: len(self.samples)], self.scores_by(self.portable(w))])

    def estimate_error(self, w: Floats) -> float:
        """Return about how large the rounding error of the square of a function may be, at little cost.

        No kernel value is larger than the geometric mean of those of its two samples with themselves.
        """
        mass, _ = self._masses(self.portable(w))
        return _EPSILON * mass**2

    def estimate_score_error(self, model: Floats) -> float:
        """Return how large the rounding error of the value of a function may be at most, at little cost."""
        mass, largest = self._masses(model)
        return gamma(len(self.matrix) + STEPS) * mass * largest

    def _masses(self, model: Floats) -> tuple[float, float]:
        """Return the sum of the norms of the terms of a function, and the largest norm of a sample."""
        norms = np.sqrt(np.maximum(self.matrix.diagonal() + self.intercept**2, 0.0))
        return float(np.abs(model[:-1]) @ norms), float(norms.max())

    def rounding_errors(self, w: Floats, g: Floats, mass: Floats, n_terms: int) -> RoundingErrors:
        """Return the errors of the values and the square of the function ``w``, and of the square of ``g``.

        Every coefficient of g is a sum of ``n_terms`` terms, whose absolute values add up to ``mass`` at most. Kernel
        values have errors of their own. One pass over the matrix.
        """
        n_samples, length = len(self.samples), len(self.matrix)
        coefficients, combined = np.abs(w[:n_samples]), np.abs(g[:n_samples])
        own = gamma(n_terms + STEPS) * mass  # of the coefficients of g
        sizes = self._sizes(np.column_stack([coefficients, combined, own]))
        sizes[:, 1:] += self.intercept**2 * np.array([combined.sum(), own.sum()])
        # The constant of the weights is the number that `portable` gives, whatever sum it was rounded from.
        total, constant = float(coefficients.sum()), self.intercept**2 * abs(float(w[:n_samples].sum()))
        scores = gamma(length + STEPS) * sizes[:, 0] + gamma(STEPS) * constant + self._value_errors(coefficients)
        own_square = 2.0 * float(coefficients @ scores) + 2.0 * gamma(length + STEPS) * constant * total
        values = gamma(2 * length + STEPS) * sizes[:, 1] + self._value_errors(combined + own)
        square = combined @ values + own @ (2.0 * sizes[:, 1] + sizes[:, 2] + 2.0 * values)
        return RoundingErrors(scores, own_square, float(square))

    def _value_errors(self, coefficients: Floats) -> Floats:
        """Return what errors of kernel values add to every value of a function, given its absolute coefficients."""
        sizes = np.bincount(self.samples, weights=coefficients, minlength=len(self.matrix))
        return self.errors.of_function(sizes.astype(np.float64))[self.samples]

    def _sizes(self, coefficients: Floats) -> Floats:
        """Return the sums of the absolute terms of the values of functions, one column each, without the constant."""
        columns = [np.bincount(self.samples, weights=part, minlength=len(self.matrix)) for part in coefficients.T]
        spread = np.column_stack(columns)
        blocks = np.array_split(self.samples, 1 + len(self.samples) // _BLOCK)
        return np.concatenate([np.abs(self.matrix[block]) @ spread for block in blocks])

    def take(self, samples: Indices) -> Self:
        return type(self)(self.matrix, self.content, self.samples[samples], self.intercept, self.threads, self.errors)

    @property
    def most_gathered(self) -> int:
        return len(self.samples)

    def gather(self, samples: Indices) -> Self:
        return self.take(samples)

    def fingerprints(self, seed: int = 0) -> Hashes:
        return self.content.take(self.samples).fingerprints(seed)
