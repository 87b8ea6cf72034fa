"""Constraints on the confusion matrix: Frank-Wolfe on an augmented Lagrangian, with steps of its multipliers.

A share of the confusion matrix that is bounded, such as the recall of a class or how often it is predicted, is a linear
constraint <A, C> >= 0. Narasimhan et al. (2024, SplitFW) alternate Frank-Wolfe steps on an augmented Lagrangian with
steps of its multipliers. The constraints are linear here, so the variables need not be split:

    L(C) = f(C) - rho/2 sum_k max(0, lambda_k / rho - <A_k, C>)^2,    lambda_k <- max(0, lambda_k - rho <A_k, C>).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from metricwise._typing import Floats
from metricwise.decisions.class_constraints import ClassConstraints
from metricwise.decisions.frank_wolfe import (
    Mixture,
    Objective,
    SmoothMinimum,
    frank_wolfe,
    objectives_of,
    start_mixture,
)
from metricwise.decisions.gain_rules import KnownSamples
from metricwise.measures.confusion import chain_tables
from metricwise.measures.multiclass_capabilities import CountsConfusion

_RHO = 20.0
_DUAL_STEPS = 15
_STEPS = 40  # of Frank-Wolfe, per step of the multipliers
_KEPT = 1e-3  # of shares: within which constraints count as kept
_GAP = 1e-4


class LinearConstraints(NamedTuple):
    """Matrices A, stacked: <A, C> >= 0 for confusion matrices of shares that keep the constraints."""

    matrices: Floats

    def slacks(self, matrix: Floats) -> Floats:
        """Return by how much each constraint holds, in units of the shares that are bounded."""
        return np.asarray(np.tensordot(self.matrices, matrix, axes=2))


def linear_constraints(constraints: ClassConstraints, shares: Floats, tighter: float = 0.0) -> LinearConstraints:
    """Return constraints on shares of the table of a class, or on the accuracy, as linear ones.

    Parameters
    ----------
    constraints : ClassConstraints
        The constraints.
    shares : array of shape (n_classes,)
        Shares of the true classes, which scale the constraints.
    tighter : float
        By how much bounds are tightened.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.decisions.guarantees import Constraint
    >>> wanted = ClassConstraints.locate([Constraint.of("recall>=0.8 of b")], ["a", "b"])
    >>> linear_constraints(wanted, np.array([0.5, 0.5])).slacks(np.array([[0.4, 0.1], [0.05, 0.45]])).round(6)
    array([0.1])
    """
    n_classes, found = shares.size, []
    for one, column in zip(constraints.wanted, constraints.columns, strict=True):
        sign = 1.0 if one.is_lower_bound else -1.0
        bound = min(max(one.bound + sign * tighter, 0.0), 1.0)
        of_kind, among = one.share.counts(*np.eye(4))
        tp, fp, fn, tn = sign * (of_kind - bound * among)
        if column is None:  # right and wrong predictions of all classes, as `ClassTables.of` counts them
            found.append(np.full((n_classes, n_classes), fp) + (tp - fp) * np.eye(n_classes))
            continue
        own = np.arange(n_classes) == column
        unit = _unit(one.share.name, float(shares[column]))
        found.append(chain_tables(*(np.where(own, cell, 0.0) for cell in (tp, fp, fn, tn))) / max(unit, 1e-9))
    return LinearConstraints(np.array(found))


def _unit(name: str, share: float) -> float:
    """Return the share of the samples among which a share counts; for precision and npv, its order of magnitude."""
    if name in ("accuracy", "positive_rate"):
        return 1.0
    return share if name in ("precision", "recall") else 1.0 - share


class _Lagrangian(NamedTuple):
    objective: Objective
    constraints: LinearConstraints
    multipliers: Floats

    def value(self, matrix: Floats) -> float:
        short = np.maximum(self.multipliers / _RHO - self.constraints.slacks(matrix), 0.0)
        return self.objective.value(matrix) - 0.5 * _RHO * float(short @ short)

    def gradient(self, matrix: Floats) -> Floats:
        short = np.maximum(self.multipliers / _RHO - self.constraints.slacks(matrix), 0.0)
        return self.objective.gradient(matrix) + _RHO * np.tensordot(short, self.constraints.matrices, axes=1)


class ConstrainedMixture(NamedTuple):
    """A mixture, the gains at which its rules are as good as one another, and whether it keeps the constraints."""

    mixture: Mixture
    gains: Floats
    is_kept: bool


def maximise_constrained(
    measure: CountsConfusion, constraints: LinearConstraints, samples: KnownSamples
) -> ConstrainedMixture:
    """Return the mixture of greatest measure among those that keep linear constraints.

    Parameters
    ----------
    measure : CountsConfusion
        The measure; if it is not concave, what is found is a mixture that no step improves.
    constraints : LinearConstraints
        The constraints.
    samples : KnownSamples
        Samples.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise import Accuracy
    >>> chances = np.random.default_rng(0).dirichlet([4.0, 2.0, 1.0], 500)
    >>> samples = KnownSamples.of(chances, chances, np.ones(500))
    >>> recall_of_last = np.zeros((1, 3, 3))
    >>> recall_of_last[0, 2] = np.array([-0.6, -0.6, 0.4]) / samples.shares[2]  # at least 0.6
    >>> found = maximise_constrained(Accuracy(), LinearConstraints(recall_of_last), samples)
    >>> matrix = found.mixture.matrix
    >>> found.is_kept, bool(abs(matrix[2, 2] / matrix[2].sum() - 0.6) < 1e-3)
    (True, True)
    """
    mixture, multipliers = start_mixture(samples), np.zeros(len(constraints.matrices))
    objective = objectives_of(measure)[-1]
    if isinstance(objective, SmoothMinimum):
        objective = objective._replace(sharpness=300.0)  # sharper ones take many steps under constraints
    for _ in range(_DUAL_STEPS):
        lagrangian = _Lagrangian(objective, constraints, multipliers)
        mixture = frank_wolfe(lagrangian, samples.respond, mixture, _STEPS, _GAP)
        moved = np.maximum(multipliers - _RHO * constraints.slacks(mixture.matrix), 0.0)
        has_converged = np.abs(moved - multipliers).max() <= _RHO * 0.1 * _KEPT
        multipliers = moved
        if has_converged:
            break
    gains = _Lagrangian(objective, constraints, multipliers).gradient(mixture.matrix)
    return ConstrainedMixture(mixture, gains, bool(constraints.slacks(mixture.matrix).min() >= -_KEPT))
