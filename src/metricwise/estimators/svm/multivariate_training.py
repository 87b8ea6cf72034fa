"""The binary trainings of a multivariate support vector machine, which may go on from the last ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metricwise._typing import Floats, Indices, Mask
from metricwise.designs import Design
from metricwise.designs.kernel import KernelDesign
from metricwise.designs.subspace import SubspaceDesign
from metricwise.estimators.svm.training import Training, portable
from metricwise.measures import Measure
from metricwise.results import Result
from metricwise.solvers import CuttingPlane, Limits, make_problem
from metricwise.solvers.cutting_plane import CuttingPlaneState

if TYPE_CHECKING:
    from metricwise.estimators.svm.multivariate_svc import MultivariateSVC


class MultivariateTraining(Training):
    """Trainings by cutting planes; with ``warm_start`` their states are kept, each with a mark of its data."""

    def __init__(
        self, model: MultivariateSVC, measure: Measure, X: Any, design: Design, *, seed: int, n_problems: int
    ) -> None:
        self.cutting_plane = CuttingPlane(seed=seed)
        settings: dict[str, Any] = {"solver": self.cutting_plane, "make_problem": make_problem}
        settings["space"] = model._space(X, design)
        super().__init__(model, measure, X, design, seed=seed, n_problems=n_problems, **settings)
        self.warm_start = model.warm_start
        states = getattr(model, "_warm_states", None) if model.warm_start else None
        self.states: dict[int, tuple[int, CuttingPlaneState]] = dict(states or {})

    def _solve(self, k: int, rows: Indices, positive: Mask, weights: Floats, limits: Limits) -> Result:
        problem = self._problem(rows, positive, weights, self.measure)
        start = self._start(k, rows, positive, weights, problem)
        result, state = self._run(problem, limits, start, self.model.callback)
        if self.warm_start:
            self.states[k] = (self._fingerprint(rows, positive, weights), state)
        return portable(result, problem.design)

    def _fingerprint(self, rows: Indices, positive: Mask, weights: Floats) -> int:
        content = self.design.take(rows).fingerprints().tobytes() + positive[rows].tobytes() + weights[rows].tobytes()
        return hash((content, self._functions(), self.measure, self.design.shape, self.model.intercept_value))

    def _functions(self) -> bytes:
        """Return numbers that are others for another kernel or another basis: those that its weights refer to."""
        if isinstance(self.design, KernelDesign):
            return bytes(self.design.matrix.sum(axis=0))
        if isinstance(self.design, SubspaceDesign):
            return bytes(self.design.subspace.basis) + bytes(self.design.X.sum(axis=0))
        return b""

    def _start(self, k: int, rows: Indices, positive: Mask, weights: Floats, problem: Any) -> CuttingPlaneState | None:
        if k not in self.states:
            return None
        fingerprint, state = self.states[k]
        if fingerprint == self._fingerprint(rows, positive, weights):
            return self.cutting_plane.init(problem, warm=state)
        if state.w.size != problem.design.shape[1] or isinstance(problem.design, KernelDesign | SubspaceDesign):
            return None  # functions of other samples are of no use
        return self.cutting_plane.init_at(problem, state.cuts.witness().points)
