"""What the classifiers with kernels share: parameters, support vectors, prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from metricwise._sklearn import Interval, StrOptions
from metricwise._typing import Floats
from metricwise.designs import Design
from metricwise.designs.kernel_function import PRECOMPUTED, KernelFunction, check_dense_matrix, row_blocks
from metricwise.estimators.inputs import is_chunked, refuse_chunks, validate_samples
from metricwise.estimators.svm.base import BatchClassifier
from metricwise.estimators.svm.kernel_space import KernelSpace
from metricwise.estimators.svm.training import Training
from metricwise.results import Result

_OF_KERNELS = ("dual_coef_", "support_", "support_vectors_", "approximation_", "gamma_")


class KernelClassifier(BatchClassifier):
    """A classifier that is linear in the features, or in those of a kernel.

    Subclasses have the parameters below beside those of `BatchClassifier`.
    """

    kernel: str | Callable[[Any, Any], Any]
    gamma: str | float
    degree: int
    coef0: float
    approximation: str
    n_basis: int | None

    _parameter_constraints: ClassVar[dict[str, Any]] = BatchClassifier._parameter_constraints | {
        "kernel": [StrOptions({"linear", "rbf", "poly", "sigmoid", PRECOMPUTED}), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="neither")],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "approximation": [StrOptions({"auto", "exact", "nystroem", "cpsp"})],
        "n_basis": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == PRECOMPUTED
        tags.input_tags.sparse = self.kernel != PRECOMPUTED
        return tags

    def _space(self, X: Any, content: Design) -> KernelSpace | None:
        """Return the space of the kernel on the training samples; None if there is none but the features."""
        if self.kernel == "linear":
            return None
        if is_chunked(X):
            refuse_chunks(f"kernel={self.kernel!r}")
        return KernelSpace(self, X, content)

    def _store(self, training: Training, fits: Sequence[tuple[Result, float]]) -> None:
        for name in ("coef_", *_OF_KERNELS):
            self.__dict__.pop(name, None)
        space = training.space
        if space is None:
            super()._store(training, fits)
            return
        self._store_results(fits)
        weights = self._sign * np.array([result.weights for result, _ in fits])
        self.support_ = np.flatnonzero(np.any(weights[:, :-1] != 0.0, axis=0))
        self.dual_coef_ = weights[:, self.support_]
        self.intercept_ = weights[:, -1]
        self.support_vectors_ = None if space.source.precomputed else training.X[self.support_]
        self.approximation_, self.gamma_ = space.approximation, space.function.gamma

    @property
    def kernel_function(self) -> KernelFunction:
        """The kernel of a fitted model with its parameters."""
        return KernelFunction(self.kernel, self.gamma_, self.degree, self.coef0)

    def _raw_scores(self, X: Any) -> Floats:
        if self.kernel == "linear":
            return super()._raw_scores(X)
        X = validate_samples(self, X, reset=False)
        parts = [self._kernel_values(X[rows]) @ self.dual_coef_.T for rows in row_blocks(X.shape[0])]
        scores: Floats = np.concatenate(parts) + self.intercept_
        return scores

    def _kernel_values(self, X: Any) -> Floats:
        if self.kernel == PRECOMPUTED:
            check_dense_matrix(X)
            return np.asarray(X[:, self.support_], dtype=np.float64)
        if self.support_.size == 0:  # no weights were better than zero
            return np.zeros((X.shape[0], 0))
        return self.kernel_function.between(X, self.support_vectors_)
