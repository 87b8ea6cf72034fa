"""The functions among which one call of `fit` with a kernel looks for the best: all there are, or those of a basis."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from metricwise._typing import Floats, Indices, Mask
from metricwise.designs import Design
from metricwise.designs.kernel import KernelDesign
from metricwise.designs.kernel_function import (
    PRECOMPUTED,
    KernelFunction,
    KernelMatrix,
    check_kernel_matrix,
    check_positive,
)
from metricwise.designs.subspace import Subspace, SubspaceDesign
from metricwise.solvers import Limits
from metricwise.solvers.subspace_pursuit import draw_first_basis, pursue

if TYPE_CHECKING:
    from metricwise.estimators.svm.kernel import KernelClassifier
    from metricwise.estimators.svm.training import Training


_LOG = logging.getLogger("metricwise")
_MOST_ROWS_FOR_EXACT = 5000
_LEAST_BASIS, _MOST_BASIS, _ROWS_A_BASIS_ROW = 100, 1000, 10
_TOO_LARGE = "set approximation='cpsp' or 'nystroem', which need n_basis columns of it, or use fewer samples"
_REMEDY = "Choose another kernel, or other values of gamma and coef0"
_REMEDY_PRECOMPUTED = "Add a multiple of the identity to it, or mend what made it"


class KernelSpace:
    """A kernel, the samples it is used on, and how.

    Parameters
    ----------
    model : KernelClassifier
        Whose parameters count.
    X : array or CSR matrix
        Samples, or their kernel matrix.
    content : Design
        The samples as they are, by which equal ones are known.
    """

    def __init__(self, model: KernelClassifier, X: Any, content: Design) -> None:
        if model.kernel == PRECOMPUTED:
            check_kernel_matrix(X)
        self.model, self.content = model, content
        self.function = KernelFunction(model.kernel, gamma_of(model, X), model.degree, model.coef0)
        self.source = KernelMatrix(X, self.function)
        self.approximation = self._chosen_approximation()
        # With an approximation, the design of a problem is known once its basis is.
        self.design: Design = self._exact_design(X) if self.approximation == "exact" else content

    @property
    def choose_design(self) -> Callable[..., Design] | None:
        """What chooses a design for each binary problem; None if there is one for all."""
        return None if self.approximation == "exact" else self._subspace_design

    def _chosen_approximation(self) -> str:
        if self.model.approximation != "auto":
            return self.model.approximation
        chosen = "exact" if self.source.n_samples <= _MOST_ROWS_FOR_EXACT else "cpsp"
        _LOG.info("approximation='auto': %r for %d samples", chosen, self.source.n_samples)
        return chosen

    def _exact_design(self, X: Any) -> KernelDesign:
        matrix = self.source.matrix(_TOO_LARGE)
        if not self.function.is_safe:
            check_positive(matrix, X.dtype, _REMEDY_PRECOMPUTED if self.source.precomputed else _REMEDY)
        rows = np.arange(self.source.n_samples)
        return KernelDesign(matrix, self.content, rows, self.model.intercept_value, self.content.threads)

    def _subspace_design(
        self, training: Training, rows: Indices, positive: Mask, weights: Floats, limits: Limits
    ) -> SubspaceDesign:
        """Choose a basis for one binary problem."""
        size = self._basis_size(rows.size)
        subspace = Subspace(self.source, size)
        if self.approximation == "nystroem":
            subspace.extend(draw_first_basis(rows, positive, size, np.random.default_rng(training.seed)))
            return self._features(subspace)

        def restricted(grown: Subspace) -> Any:
            design = self._features(grown).take(rows)
            return training.make_problem(design, positive[rows], training.measure, self.model.C, weights[rows])

        pursue(subspace, rows, positive, size, training.solver, restricted, limits, training.seed)
        return self._features(subspace)

    def _basis_size(self, n_samples: int) -> int:
        wanted = self.model.n_basis
        if wanted is None:
            wanted = min(max(n_samples // _ROWS_A_BASIS_ROW, _LEAST_BASIS), _MOST_BASIS)
        return min(int(wanted), n_samples)

    def _features(self, subspace: Subspace) -> SubspaceDesign:
        everything, constant = np.arange(self.source.n_samples), self.model.intercept_value
        return SubspaceDesign(
            subspace.features, everything, constant, self.content.threads, subspace=subspace, content=self.content
        )


def gamma_of(model: KernelClassifier, X: Any) -> float:
    """Return gamma as a number; words mean what they mean in scikit-learn's SVC."""
    if not isinstance(model.gamma, str):
        return float(model.gamma)
    if model.kernel == PRECOMPUTED or model.gamma == "auto":
        return 1.0 / int(X.shape[1])
    variance = float(X.multiply(X).mean() - X.mean() ** 2) if sparse.issparse(X) else float(X.var())
    return 1.0 / (int(X.shape[1]) * variance) if variance > 0.0 else 1.0
