"""Samples seen through their kernel matrix."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.linalg.blas import dsymv

from metricwise._typing import Floats, Hashes, Indices
from metricwise.designs.base import Design
from metricwise.designs.matrix import DenseDesign
from metricwise.rounding import STEPS, gamma

_FEW = 0.25  # of all samples: up to this share, reading single columns is faster


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
    """

    is_sparse = False
    bytes_moved = 0

    def __init__(self, matrix: Floats, content: Design, samples: Indices, intercept: float, threads: int) -> None:
        self.matrix, self.content, self.samples = matrix, content, samples
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

    def refreshed(self, w: Floats) -> Floats:
        """Return the same function with values that are computed anew: those of sums of functions gather rounding."""
        return np.concatenate([w[: len(self.samples)], self.scores_by(self.portable(w))])

    def score_errors(self, w: Floats) -> Floats:
        return gamma(len(self.matrix) + STEPS) * self._value_sizes(w[: len(self.samples)])

    def square_error(self, w: Floats) -> float:
        n_samples = len(self.samples)
        return 2.0 * float(np.abs(w[:n_samples]) @ self.score_errors(w))

    def combination_error(self, g: Floats, mass: Floats, n_terms: int) -> float:
        relative = gamma(2 * (len(self.matrix) + n_terms) + STEPS)
        return relative * float(mass @ self._value_sizes(mass))

    def _value_sizes(self, coefficients: Floats) -> Floats:
        """Return the sum of the absolute terms of every value of a function."""
        sizes = np.bincount(self.samples, weights=np.abs(coefficients), minlength=len(self.matrix))
        used = np.flatnonzero(sizes)
        found = np.concatenate(
            [
                np.abs(self.matrix[rows][:, used]) @ sizes[used]
                for rows in np.array_split(self.samples, 1 + used.size // 512)
            ]
        )
        total: Floats = found + self.intercept**2 * sizes.sum()
        return total

    def take(self, samples: Indices) -> Self:
        return type(self)(self.matrix, self.content, self.samples[samples], self.intercept, self.threads)

    @property
    def most_gathered(self) -> int:
        return len(self.samples)

    def gather(self, samples: Indices) -> Self:
        return self.take(samples)

    def fingerprints(self, seed: int = 0) -> Hashes:
        return self.content.take(self.samples).fingerprints(seed)
