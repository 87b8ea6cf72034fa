"""Cutting planes for remote samples, whose scores are known by histograms only.

Objective: that of `metricwise.solvers.cutting_plane`, whose steps these are, on a problem of remote samples:

1. minimise the model: the target, and the lower bound, which is exact since planes are those of labellings of the
   samples;
2. one product X w, where the samples are; only the largest score comes back;
3. search the line to the target; along it scores are mixtures of two vectors that are with the samples, so that a trial
   costs one histogram per class, and no product;
4. cut a little beyond the minimum: one coefficient per bin is sent, one vector of weights per chunk comes back;
5. store the scores of the best point as one vector, and drop all others.

The upper bound includes the error of the bins. If it alone keeps the gap above the tolerance, training stops, since
more steps cannot help (`Status.COARSE`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from metricwise._typing import Floats
from metricwise.results import Certificate, Status
from metricwise.solvers.cutting_plane import CuttingPlane, CuttingPlaneState
from metricwise.solvers.loop import Limits

_NEARLY_THERE = 0.5  # of the tolerance: the largest gap without the error of the bins
_PATIENCE = 10  # steps that move neither bound
_NOTICEABLE = 0.1  # of the gap: an error that can keep both bounds from moving


@dataclass(frozen=True)
class BinnedCuttingPlane(CuttingPlane):
    """Settings of the solver: those of `CuttingPlane`; problems are those of `make_binned_problem`."""

    def _zero_scores(self, problem: Any) -> Any:
        return problem.design.scores(np.zeros(problem.design.shape[1]))

    def _sample_solver(self) -> CuttingPlane:
        return CuttingPlane(**{setting.name: getattr(self, setting.name) for setting in fields(CuttingPlane)})

    def _visit(self, problem: Any, state: CuttingPlaneState, w: Floats) -> None:
        super()._visit(problem, state, w)
        self._settle(problem, state)

    def step(self, problem: Any, state: CuttingPlaneState, limits: Limits) -> None:
        """Improve the state by one cut."""
        super().step(problem, state, limits)
        self._settle(problem, state)

    @staticmethod
    def _settle(problem: Any, state: Any) -> None:
        state.scores = problem.design.store_combination(state.scores)
        state.labelling = state.labelling.replace_scores(state.scores)

    def certificate(self, problem: Any, state: CuttingPlaneState) -> Certificate:
        """Return the bounds known so far."""
        lower = min(state.lower, state.upper)
        return Certificate(state.upper, lower, state.labelling.value, _error(problem, state))

    def check_convergence(self, problem: Any, state: CuttingPlaneState, limits: Limits) -> Status | None:
        """Return the status if the gap is small enough, or if only finer bins could close it."""
        status = super().check_convergence(problem, state, limits)
        allowed, gap = max(limits.tol * abs(state.upper), limits.gap), state.upper - state.lower
        if status is not None or gap <= allowed:
            return status
        bins_limit = gap - _error(problem, state) <= _NEARLY_THERE * allowed
        # Better points may seem worse than the best one because of their errors.
        stuck = state.idle_steps >= _PATIENCE and problem.cost * problem.oracle.last_error > _NOTICEABLE * gap
        return Status.COARSE if bins_limit or stuck else None


def _error(problem: Any, state: Any) -> float:
    """Return by how much the objective may be smaller than its upper bound."""
    return float(problem.cost * state.labelling.error)
