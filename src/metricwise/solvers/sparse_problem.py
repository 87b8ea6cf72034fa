"""Samples coded by a dictionary, and the problem of learning both together with a predictor (Yang et al. 2015).

Over a dictionary D (one atom per row, none longer than 1), codes S (one row per sample) and weights w of the atoms:

    J = sum_i omega_i (|x_i - D' s_i|^2 + C1 |s_i|_1) + C2 (1/2 |w|^2 + C3 / C2 u R(S w))

with omega_i the weights of the samples. The last bracket is the multivariate support vector problem
(`metricwise.solvers.problem`) on the codes at the cost C3 / C2, so that C3 is the cost of one mistake. The paper adds
up (y' - y) w.s without the factor 1 / (2u); its C2 is 4 u^2 times the one here, and its C3 is u times the one here.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from metricwise._typing import Floats, Mask
from metricwise.designs import Design, make_design
from metricwise.measures.base import Measure
from metricwise.oracles import Oracle, make_oracle
from metricwise.solvers.problem import MultivariateProblem, order_positives_first
from metricwise.threads import block_bounds, run_blocks

_MOST_ROUNDS = 1000


def squared_norms(X: Any) -> Floats:
    """Return the squared norm of every sample."""
    if sparse.issparse(X):
        return np.asarray(X.astype(np.float64).multiply(X).sum(axis=1), dtype=np.float64).ravel()
    squares: Floats = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return squares


def lasso_codes(gram: Floats, targets: Floats, penalty: float, codes: Floats, tol: float, threads: int) -> None:
    """Improve codes until s' gram s - 2 targets[i] . s + penalty |s|_1 is least for every sample.

    Examples
    --------
    >>> codes = np.zeros((1, 2))
    >>> lasso_codes(np.eye(2), np.array([[2.0, 0.3]]), 1.0, codes, tol=1e-9, threads=1)
    >>> codes
    array([[1.5, 0. ]])
    """
    from metricwise.kernels.lasso import encode_samples

    bounds = block_bounds(len(codes), float(codes.size) * len(gram))
    unfinished = [0] * len(bounds)

    def task(block: int, start: int, stop: int) -> None:
        unfinished[block] = encode_samples(gram, targets, penalty, codes, tol, _MOST_ROUNDS, start, stop)

    run_blocks(task, bounds, threads)
    if any(unfinished):
        warnings.warn(
            f"the codes of {sum(unfinished)} samples were still changing after {_MOST_ROUNDS} rounds, as C1 is small "
            "for atoms so alike: raise C1, or lower n_atoms",
            ConvergenceWarning,
            stacklevel=2,
        )


@dataclass(frozen=True)
class SampleEncoder:
    """An encoder of the samples of a design by a dictionary.

    Attributes
    ----------
    gram : array of shape (n_atoms, n_atoms)
        Inner products of the atoms.
    products : array of shape (n_samples, n_atoms)
        Inner products of the samples with the atoms.
    """

    gram: Floats
    products: Floats
    threads: int

    @classmethod
    def from_design(cls, design: Design, dictionary: Floats) -> SampleEncoder:
        """Return the encoder of a design and a dictionary; every atom costs one product."""
        products = np.empty((design.shape[0], len(dictionary)))
        for j, atom in enumerate(dictionary):
            products[:, j] = design.scores(atom)
        return cls(dictionary @ dictionary.T, products, design.threads)

    def residuals(self, squares: Floats, codes: Floats) -> Floats:
        """Return |x - D' s|^2 of every sample, given |x|^2."""
        per_sample: Floats = squares + np.einsum("ij,ij->i", codes, codes @ self.gram - 2.0 * self.products)
        return per_sample

    def encode(
        self,
        penalty: float,
        tol: float,
        start: Floats | None = None,
        pull: Floats | None = None,
        nearness: float = 0.0,
    ) -> Floats:
        """Return the codes with the least |x - D' s|^2 + penalty |s|_1 + pull . s + nearness |s - start|^2."""
        codes = np.zeros_like(self.products) if start is None else start.copy()
        targets, gram = self.products, self.gram
        if pull is not None:
            targets = targets - 0.5 * pull
        if nearness > 0.0:
            targets, gram = targets + nearness * codes, gram + nearness * np.eye(len(gram))
        lasso_codes(gram, targets, penalty, codes, tol, self.threads)
        return codes


@dataclass(frozen=True)
class SparseCodingProblem:
    """The data of J. The design has the positives first and no constant column; the codes get one (``intercept``)."""

    design: Design
    squares: Floats
    weights: Floats
    oracle: Oracle
    measure: Measure
    n_pos: int
    C1: float
    C2: float
    C3: float
    intercept: float

    @property
    def cost(self) -> float:
        """The cost of a full loss."""
        return self.C3 * self.oracle.mistakes

    def make_encoder(self, dictionary: Floats) -> SampleEncoder:
        """Return the encoder of the samples by a dictionary."""
        return SampleEncoder.from_design(self.design, dictionary)

    def predictor(self, codes: Floats) -> MultivariateProblem:
        """Return the problem of the weights w, given the codes."""
        design = make_design(codes, intercept=self.intercept, threads=self.design.threads)
        cost = self.cost / self.C2
        return MultivariateProblem(design, self.oracle, self.measure, self.n_pos, cost, self.weights)

    def scores(self, codes: Floats, w: Floats) -> Floats:
        """Return the scores of coded samples."""
        return make_design(codes, intercept=self.intercept, threads=self.design.threads).scores(w)

    def coding_cost(self, encoder: SampleEncoder, codes: Floats) -> float:
        """Return the part of J that does not depend on the labels."""
        return float(self.weights @ (encoder.residuals(self.squares, codes) + self.C1 * np.abs(codes).sum(axis=1)))

    def slack(self, codes: Floats, w: Floats) -> float:
        """Return the loss of the most violated labelling, and by how much it is violated."""
        return self.oracle.violate(self.scores(codes, w)).value

    def objective(self, encoder: SampleEncoder, codes: Floats, w: Floats, slack: float) -> float:
        """Return J, given the slack."""
        return self.coding_cost(encoder, codes) + 0.5 * self.C2 * float(w @ w) + self.cost * slack


def make_sparse_problem(
    design: Design,
    squares: Floats,
    positive: Mask,
    measure: Measure,
    penalties: tuple[float, float, float],
    weights: Floats,
    intercept: float,
) -> SparseCodingProblem:
    """Return the problem of a design, positives first; ``penalties`` are C1, C2 and C3."""
    indices, ordered = order_positives_first(positive, weights)
    n_pos = int(np.count_nonzero(positive))
    oracle = make_oracle(measure, n_pos, indices.size - n_pos, ordered, threads=design.threads)
    omega = np.ones(indices.size) if ordered is None else ordered
    return SparseCodingProblem(
        design.take(indices), squares[indices], omega, oracle, measure, n_pos, *penalties, intercept=intercept
    )
