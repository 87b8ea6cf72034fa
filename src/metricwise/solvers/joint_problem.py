"""The multiclass support vector problem, all weights together.

    J(W) = 1/2 |W|^2 + C u R(W),
    R(W) = max over labellings y' of  D(y') + (1/u) sum_i weight_i (s_{i, y'_i} - s_{i, y_i}),    s = X W'

with one vector of weights per class. One over u is the loss of the costliest single mistake. For the accuracy this is
the machine of Crammer and Singer (2001). For two classes, it has its optimum at w_1 = -w_2, and is half the objective
of the binary problem of w_2 - w_1 with twice the cost C.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metricwise._typing import Floats, Indices, Integers
from metricwise.designs import Design
from metricwise.designs.joint import JointDesign
from metricwise.measures.joint import LargestOfLinearLosses
from metricwise.oracles.joint import JointOracle
from metricwise.solvers.problem import MultivariateProblem


@dataclass(frozen=True)
class JointProblem(MultivariateProblem):
    """Minimise 1/2 |W|^2 + cost * R(W). The design has a score for every sample and class."""

    oracle: Any  # a JointOracle, which has more than two classes

    @property
    def _n_copies(self) -> int:
        return int(self.design.shape[0])

    @property
    def _loss_size(self) -> float:
        return 1.0  # losses are shares of the largest one

    @property
    def _largest_coefficients(self) -> Floats:
        return np.repeat(self.oracle.weights / self.oracle.mistakes, self.oracle.n_classes)

    def sample(self, n_samples: int, random: np.random.Generator) -> JointProblem:
        """Return the problem on a random subset of each class, with so many scores and the same cost.

        The losses of mistakes are those of all samples, times the factor by which these weigh more.
        """
        oracle = self.oracle
        share = n_samples / self.design.shape[0]
        chosen = _draw_classes(oracle.codes, share, random)
        weights = oracle.weights[chosen]
        factor = float(oracle.weights.sum() / weights.sum())
        design: Any = self.design
        few = JointOracle(factor * oracle.losses, oracle.codes[chosen], weights)
        return replace(self, design=design.gather(chosen), oracle=few)


def _draw_classes(codes: Integers, share: float, random: np.random.Generator) -> Indices:
    """Return a share of the samples of every class, at least one of each, ascending."""
    chosen = []
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        chosen.append(random.choice(own, max(1, round(share * own.size)), replace=False))
    return np.sort(np.concatenate(chosen))


def make_joint_problem(
    design: Design,
    codes: Integers,
    measure: LargestOfLinearLosses,
    C: float,
    weights: Floats,
    classes: ArrayLike,
) -> JointProblem:
    """Return the multiclass problem.

    Parameters
    ----------
    design : Design
        Samples, whose weights are plain vectors.
    codes : array of int of shape (n_samples,)
        The true classes, numbered from 0; every class must have samples.
    measure : LargestOfLinearLosses
        What is trained for.
    C : float
        The cost of the costliest mistake.
    weights : array of shape (n_samples,)
        Weights of the samples, above zero.
    classes : array of shape (n_classes,)
        The labels of the classes.
    """
    n_classes = np.asarray(classes).size
    losses = measure.mistake_losses(np.bincount(codes, weights, n_classes).astype(np.float64), classes)
    oracle = JointOracle(losses, codes, weights)
    joint: Any = JointDesign(design, n_classes)
    trained_for: Any = measure
    return JointProblem(joint, oracle, trained_for, 0, C * oracle.mistakes)
