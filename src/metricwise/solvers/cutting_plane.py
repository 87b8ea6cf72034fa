"""One-slack cutting planes with a line search, for every measure with a most violated labelling.

Objective (Joachims 2005, in the scaling of `metricwise.solvers.problem`):

    J(w) = 1/2 |w|^2 + cost * R(w),    R(w) = max over labellings of loss + plane . w

Order of steps (`step`):

1. minimise 1/2 |w|^2 + cost * model over the cuts so far: the target, and the lower bound;
2. one product X w for the target's scores;
3. search the line from the best point to the target; along it scores are linear, so trials cost a sort and no
   product (Franc and Sonnenburg 2008);
4. cut at a point a little beyond the minimum of the line: one oracle call, one product X' c;
5. forget cuts that had no share in the dual solution for a while.

Large problems start from the solution of a sample (`init`). By the law of large numbers it is close to that of the full
problem, so that the number of passes over all samples hardly depends on their number. Cuts at further points of the
sample, such as those of its active cuts, save fewer passes than they take.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metricwise._typing import Floats
from metricwise.oracles import Labelling
from metricwise.results import Certificate, HistoryEntry, Result, Status
from metricwise.solvers.cuts import Cuts, cuts_schema
from metricwise.solvers.line_search import Line, minimise_along
from metricwise.solvers.loop import UNKNOWN, Bounds, Limits, has_moved, keep_best, make_history, run
from metricwise.solvers.problem import MultivariateProblem, combine_labellings
from metricwise.solvers.saved import (
    COUNT,
    PROGRESS,
    Arrays,
    pack_fields,
    progress_arrays,
    require_bounds,
    set_progress,
    unpack_fields,
)
from metricwise.solvers.schema import ArrayField, Schema, check_arrays

_NO_BETTER = 1e-6
_MOST_STEPS_AT_ZERO = 200
_MOST_IDLE_STEPS = 50
_LINE_ACCURACY = 0.1  # of the duality gap
_FLAT = 0.1  # of the slope at the start of a line: a descent that has become so slow has ended
_LEAST_BEYOND = 0.02
_SAMPLE_TOL = 1e-3
_KEPT: Schema = {
    "w": ArrayField("float", ("weights",)),
    "lower": ArrayField("float", may_be_infinite=True),
    "objective_at_zero": ArrayField("float"),
    "last_step": ArrayField("float", low=0.0),
    "idle_steps": COUNT,
    "at_zero_steps": COUNT,
}


@dataclass
class CuttingPlaneState:
    """The model, and the best point with its scores and labelling."""

    cuts: Cuts
    w: Floats
    scores: Floats
    labelling: Labelling
    upper: float
    lower: float
    objective_at_zero: float
    last_step: float = 1.0
    iteration: int = 0
    seconds: float = 0.0
    stalled: bool = False
    idle_steps: int = 0
    at_zero_steps: int = 0
    moved_to: Bounds = UNKNOWN  # the best up to the last step that moved one
    history: list[HistoryEntry] = field(default_factory=list)

    @property
    def n_cuts(self) -> int:
        return len(self.cuts)


@dataclass(frozen=True)
class CuttingPlane:
    """Settings of the cutting-plane solver.

    Parameters
    ----------
    beyond : float
        How far past the minimum of the line the next cut is made at most, as a share of the way to the target. Where
        the minimum is near, the cut is as near to it: distant cuts constrain the objective here only little.
    patience : int
        Minimisations after which a cut without a share is forgotten.
    sample_factor : int
        Factor by which the sample that a large problem starts from is smaller; 0 for no sample.
    smallest_sample : int
        Smallest sample that is drawn.
    seed : int
        Seed of the sample.
    """

    beyond: float = 0.1
    patience: int = 30
    sample_factor: int = 8
    smallest_sample: int = 10_000
    seed: int = 0

    def init(
        self, problem: MultivariateProblem, limits: Limits | None = None, warm: CuttingPlaneState | None = None
    ) -> CuttingPlaneState:
        """Return a state to start from.

        ``warm`` is a state of the same samples and measure at any cost: its cuts stay valid. A sample is solved in no
        more than a quarter of the seconds that ``limits`` allow.
        """
        if warm is not None:
            return self._from_state(problem, warm)
        state = self._at_zero(problem)
        n_samples = problem.design.shape[0] // self.sample_factor if self.sample_factor else 0
        n_samples = min(n_samples, problem.design.most_gathered)
        if n_samples >= self.smallest_sample:
            self._learn_from_sample(problem, state, n_samples, limits or Limits())
        return state

    def init_at(self, problem: MultivariateProblem, points: Any) -> CuttingPlaneState:
        """Return a state whose model is cut at given points, such as those where a similar problem was."""
        state = self._at_zero(problem)
        for point in points:
            self._visit(problem, state, _dense(point))
        return state

    def _at_zero(self, problem: MultivariateProblem) -> CuttingPlaneState:
        length = problem.design.shape[1]
        w, scores = np.zeros(length), self._zero_scores(problem)
        labelling = problem.oracle.violate(scores)
        cuts = Cuts(length, problem.design.is_sparse)
        cuts.add_truth(length)
        upper = problem.objective(w, labelling)
        state = CuttingPlaneState(cuts, w, scores, labelling, upper, -np.inf, upper)
        self._cut(problem, state, w, labelling)
        return state

    def _zero_scores(self, problem: MultivariateProblem) -> Floats:
        return np.zeros(problem.design.shape[0])

    def _sample_solver(self) -> CuttingPlane:
        return self

    def _from_state(self, problem: MultivariateProblem, warm: CuttingPlaneState) -> CuttingPlaneState:
        at_zero = problem.cost * problem.oracle.violate(self._zero_scores(problem)).value
        upper = problem.objective(warm.w, warm.labelling)
        return CuttingPlaneState(warm.cuts, warm.w, warm.scores, warm.labelling, upper, -np.inf, at_zero)

    def _learn_from_sample(
        self, problem: MultivariateProblem, state: CuttingPlaneState, n_samples: int, limits: Limits
    ) -> None:
        """Solve a sample, and cut the full problem at its solution."""
        seconds = None if limits.max_seconds is None else 0.25 * limits.max_seconds
        sample = problem.sample(n_samples, np.random.default_rng(self.seed))
        if sample.design.shape[1] != problem.design.shape[1]:
            return  # weights of a kernel matrix are functions of its samples: those of a sample do not fit
        result, sampled = run(
            self._sample_solver(), sample, Limits(tol=max(limits.tol, _SAMPLE_TOL), max_seconds=seconds)
        )
        state.last_step = sampled.last_step
        del sample, sampled  # their memory serves the products that follow
        self._visit(problem, state, result.weights)

    def _visit(self, problem: MultivariateProblem, state: CuttingPlaneState, w: Floats) -> None:
        """Cut at given weights and keep them if they are the best so far."""
        scores = problem.design.scores(w)
        labelling = problem.oracle.violate(scores)
        self._cut(problem, state, w, labelling)
        self._keep_if_better(state, w, scores, labelling, problem.objective(w, labelling))

    def _cut(self, problem: MultivariateProblem, state: CuttingPlaneState, w: Floats, labelling: Labelling) -> None:
        plane = problem.design.combine(labelling.coefficients())
        state.cuts.add(plane, problem.design.covector(plane), w, labelling.loss, labelling.table)

    @staticmethod
    def _keep_if_better(
        state: CuttingPlaneState, w: Floats, scores: Floats, labelling: Labelling, objective: float
    ) -> None:
        if objective < state.upper:
            state.w, state.scores, state.labelling, state.upper = w, scores, labelling, objective

    def step(self, problem: MultivariateProblem, state: CuttingPlaneState, limits: Limits) -> None:
        """Improve the state by one cut."""
        target, lower = state.cuts.minimise(problem.cost)
        state.lower = max(state.lower, lower)
        state.cuts.forget_idle(self.patience)
        line = Line.between(problem.design, (state.w, state.scores), (target, problem.design.scores(target)))
        if line.target_square > 0.0:
            self._search(problem, state, line, target)
        self._note_stall(state)

    def _search(self, problem: MultivariateProblem, state: CuttingPlaneState, line: Line, target: Floats) -> None:
        start = line.trial(problem, 0.0, state.labelling)
        enough = _LINE_ACCURACY * max(state.upper - state.lower, 0.0)
        found = minimise_along(problem, line, start, state.last_step, enough, _FLAT)
        origin = state.w
        if found.step > 0.0:
            state.last_step = found.step
            state.w = origin + found.step * (target - origin)
            state.scores, state.labelling, state.upper = line.scores_at(found.step), found.labelling, found.value
        else:
            state.last_step = max(0.5 * state.last_step, 1e-4)
        beyond = found.step + min(max(found.step, _LEAST_BEYOND), self.beyond) * (1.0 - found.step)
        trial = line.trial(problem, beyond)
        point = origin + beyond * (target - origin)
        self._cut(problem, state, point, trial.labelling)
        self._keep_if_better(state, point, line.scores_at(beyond), trial.labelling, trial.value)

    @staticmethod
    def _note_stall(state: CuttingPlaneState) -> None:
        """Mark the solver as stalled if neither bound has moved for long: floating-point accuracy is exhausted."""
        bounds, state.idle_steps = (state.upper, state.lower), state.idle_steps + 1
        if has_moved(state.moved_to, bounds):
            state.moved_to, state.idle_steps = keep_best(state.moved_to, bounds), 0
        state.stalled = state.idle_steps >= _MOST_IDLE_STEPS

    def certificate(self, problem: MultivariateProblem, state: CuttingPlaneState) -> Certificate:
        """Return the bounds known so far."""
        # Rounding errors must not push the bounds past each other.
        return Certificate(state.upper, min(state.lower, state.upper), state.labelling.value)

    def _prove(self, problem: MultivariateProblem, state: CuttingPlaneState) -> Certificate:
        """Return the bounds in exact arithmetic, where the design knows the rounding errors of its products."""
        if not problem.bounds_rounding:
            return self.certificate(problem, state)
        return problem.prove(state.w, *state.cuts.combination(), len(state.cuts))

    def check_convergence(
        self, problem: MultivariateProblem, state: CuttingPlaneState, limits: Limits
    ) -> Status | None:
        """Return the status if the gap is small enough.

        Where w = 0 is within the tolerance of the optimum, a loose gap does not distinguish a degenerate surrogate from
        strong regularisation, whose small weights are as good as any. So the solver goes on until it has found such
        weights, or the bounds leave no room for them.
        """
        gap = state.upper - state.lower
        if gap > limits.tol * abs(state.upper) and gap > limits.gap:
            return None
        noise = _NO_BETTER * abs(state.objective_at_zero)
        if state.objective_at_zero - state.upper > noise:
            return Status.OPTIMAL
        state.at_zero_steps += 1
        settled = state.objective_at_zero - state.lower <= noise or state.at_zero_steps > _MOST_STEPS_AT_ZERO
        return Status.DEGENERATE if settled else None

    def sample_coefficients(self, problem: MultivariateProblem, state: CuttingPlaneState) -> Floats:
        """Return the coefficients of the samples in the direction of the solution, as far as it is known."""
        return combine_labellings(problem, state.cuts.witness())

    def saved(self, state: CuttingPlaneState) -> Arrays:
        """Return a state as arrays; `restored` makes it again."""
        return {**pack_fields(state, _KEPT), **progress_arrays(state), **state.cuts.to_arrays()}

    def restored(self, problem: MultivariateProblem, arrays: Arrays, limits: Limits) -> CuttingPlaneState:
        """Return the state that was saved for the same problem; raise a `StateError` if it cannot be one."""
        length = problem.design.shape[1]
        check_arrays(arrays, {**_KEPT, **PROGRESS, **cuts_schema(length)}, weights=length)
        w, cuts = arrays["w"], Cuts(length, problem.design.is_sparse)
        cuts.add_arrays(arrays)
        scores = problem.design.scores(w)
        labelling = problem.oracle.violate(scores)
        upper, kept = problem.objective(w, labelling), unpack_fields(arrays, _KEPT)
        require_bounds(upper, kept["lower"])
        state = CuttingPlaneState(cuts=cuts, scores=scores, labelling=labelling, upper=upper, **kept)
        set_progress(state, arrays)
        for entry in state.history[: max(len(state.history) - state.idle_steps, 0)]:
            state.moved_to = keep_best(state.moved_to, (entry.objective, entry.lower))
        return state

    def result(self, problem: MultivariateProblem, state: CuttingPlaneState, status: Status) -> Result:
        """Return the best point with its certificate."""
        return Result(
            weights=state.w,
            certificate=self._prove(problem, state),
            status=status,
            n_iter=state.iteration,
            seconds=state.seconds,
            history=make_history(state),
            witness=state.cuts.witness(),
        )


def _dense(point: object) -> Floats:
    return np.asarray(point.toarray()).ravel() if hasattr(point, "toarray") else np.asarray(point)
