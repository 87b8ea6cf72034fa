"""The moves of Yang et al. (2015), Algorithm 1, on the same objective J as `metricwise.solvers.sparse_coding`.

1. dictionary, eq. (28): the closed form given Lagrange multipliers of the atoms' lengths, which rise by gradient steps;
2. codes, eq. (29): one gradient step, |s| being replaced by s^2 / (2 |s_old|);
3. weights, eq. (30): one gradient step.

Differences from the paper, and why:

- the gradient of the reconstruction is -2 D (x - D' s); the paper prints a plus, which ascends;
- the paper replaces |s| by s^2 / |s_old|, which has twice the slope of |s|, and so counts C1 twice;
- a code of zero stays zero, where the paper divides by zero: the cost of leaving zero grows without bound there;
- the paper has one fixed learning rate and no rule for it. Codes take steps of one over their curvature, weights take
steps of a
  length that falls with the root of the number of steps, from a fiftieth of the longest that the best weights can be;
- atoms are scaled into their ball, which multipliers that are still rising do not guarantee.

Ties among the most violated labellings are averaged, as in the paper, by the oracles. Slopes of J, which has kinks, do
not always lead down: J may rise from step to step. The history and the result are those of the best point so far.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from metricwise._typing import Floats
from metricwise.results import Status
from metricwise.solvers.dictionary_learning import moments, project_atoms
from metricwise.solvers.loop import Limits
from metricwise.solvers.sparse_coding import SparseCoding, SparseCodingState
from metricwise.solvers.sparse_problem import SampleEncoder, SparseCodingProblem

_PATIENCE = 20  # steps without a better point
_FIRST_LENGTH = 0.02
_SMALLEST = 1e-12


@dataclass
class PaperState(SparseCodingState):
    """The best point (the fields of `SparseCodingState`), and the current one."""

    moving: tuple[Floats, Floats, Floats] = field(default_factory=lambda: (np.empty(0), np.empty(0), np.empty(0)))
    multipliers: Floats = field(default_factory=lambda: np.empty(0))
    idle_steps: int = 0


@dataclass(frozen=True)
class PaperSparseCoding(SparseCoding):
    """Settings are those of `SparseCoding`; there is no inner solver."""

    def init(
        self, problem: SparseCodingProblem, limits: Limits | None = None, warm: SparseCodingState | None = None
    ) -> PaperState:
        """Return plain codes and w = 0."""
        start = self._state(problem, warm)
        moving = start.dictionary, start.codes, start.w
        return PaperState(**vars(start), moving=moving, multipliers=np.zeros(len(start.dictionary)))

    def step(self, problem: SparseCodingProblem, state: SparseCodingState, limits: Limits) -> None:
        """Move the three parts once."""
        assert isinstance(state, PaperState)
        atoms, codes, w = state.moving
        atoms = closed_form_atoms(problem, state, atoms, codes)
        encoder = problem.make_encoder(atoms)
        curvature = 2.0 * float(np.linalg.eigvalsh(encoder.gram)[-1])
        codes = codes - gradient_of_codes(problem, encoder, codes, w) / problem.weights[:, None] / curvature
        slope = gradient_of_weights(problem, codes, w)
        at_zero = problem.cost * problem.slack(codes, np.zeros_like(w))
        length = _FIRST_LENGTH * np.sqrt(2.0 * at_zero / problem.C2 / (state.iteration + 1.0))
        w = w - length * slope / max(float(np.linalg.norm(slope)), _SMALLEST)
        state.moving = atoms, codes, w
        self._keep_if_better(problem, state, encoder, limits.tol)

    @staticmethod
    def _keep_if_better(problem: SparseCodingProblem, state: PaperState, encoder: SampleEncoder, tol: float) -> None:
        atoms, codes, w = state.moving
        slack = problem.slack(codes, w)
        objective = problem.objective(encoder, codes, w, slack)
        enough = tol * abs(state.objective)
        state.idle_steps = 0 if state.objective - objective > enough else state.idle_steps + 1
        if objective < state.objective:
            state.dictionary, state.encoder, state.codes, state.w = atoms, encoder, codes, w
            state.slack, state.objective = slack, objective

    def check_convergence(
        self, problem: SparseCodingProblem, state: SparseCodingState, limits: Limits
    ) -> Status | None:
        """Return the status once several consecutive steps have gained no more than the tolerance."""
        assert isinstance(state, PaperState)
        return Status.STATIONARY if state.idle_steps >= _PATIENCE else None


def closed_form_atoms(problem: SparseCodingProblem, state: PaperState, atoms: Floats, codes: Floats) -> Floats:
    """Return the atoms of eq. (28), and let the multipliers rise; atoms that no sample uses are unchanged."""
    square, mixed = moments(problem.design, codes, problem.weights)
    used = np.diag(square) > 0.0
    if not used.any():
        return atoms
    free = np.linalg.pinv(square + np.diag(state.multipliers), hermitian=True) @ mixed
    rate = float(np.diag(square)[used].mean())
    state.multipliers = np.maximum(state.multipliers + rate * ((free**2).sum(axis=1) - 1.0), 0.0)
    return np.where(used[:, None], project_atoms(free), atoms)


def gradient_of_codes(problem: SparseCodingProblem, encoder: SampleEncoder, codes: Floats, w: Floats) -> Floats:
    """Return the slope of J in every code that is not zero, and 0 for the others."""
    coefficients = problem.oracle.violate(problem.scores(codes, w)).coefficients()
    slope = 2.0 * (codes @ encoder.gram - encoder.products) + problem.C1 * np.sign(codes)
    gradient = problem.weights[:, None] * slope + problem.cost * np.outer(coefficients, w[: codes.shape[1]])
    return np.where(codes == 0.0, 0.0, gradient)


def gradient_of_weights(problem: SparseCodingProblem, codes: Floats, w: Floats) -> Floats:
    """Return the slope of J in the weights of the atoms and of the constant."""
    design = problem.predictor(codes).design
    coefficients = problem.oracle.violate(design.scores(w)).coefficients()
    return problem.C2 * w + problem.cost * design.combine(coefficients)
