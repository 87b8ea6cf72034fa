"""Truncated Newton steps for smooth losses of the scores, in the primal.

Objective:

    J(w) = 1/2 |w|^2 + cost * L(X w),    L convex with a derivative (`metricwise.oracles.smooth`)

Order of steps (`step`):

1. solve (I + cost X' L'' X) p = -g approximately by conjugate gradients, g the gradient of J: two products with the
   data and one walk over the sorted samples per iteration, no sort;
2. take the full step along p, or halve it until the objective falls; along the line a trial costs a sort and no
product.

Bound: J - 1/2 |w|^2 is convex, so J has at least the curvature of its regulariser and no weights have an objective
below J(w) - 1/2 |g|^2. This is also the dual value of the multipliers 2 cost loss_ij of the pairs.

Large problems start from the solution of a sample.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.designs import Design
from metricwise.designs.base import BoundsRounding
from metricwise.oracles.base import Classes
from metricwise.oracles.smooth import LossAt, SmoothLoss, SquaredPairHinge
from metricwise.results import Certificate, HistoryEntry, Objective, ProblemDescription, Result, Status, Witness
from metricwise.rounding import replace_nan_bounds, squared_pairs_dual, squared_pairs_sizes, widen_squared_pairs
from metricwise.solvers.loop import Limits, make_history, run
from metricwise.solvers.problem import draw_sample, order_positives_first
from metricwise.solvers.saved import PROGRESS, Arrays, progress_arrays, require_bounds, set_progress
from metricwise.solvers.schema import ArrayField, Schema, check_arrays

_MOST_PRODUCTS = 100
_MOST_TRIALS = 30
_SUFFICIENT = 1e-4  # of the decrease that the slope predicts
_NO_BETTER = 1e-6
_SAMPLE_TOL = 1e-2
_SCHEMA: Schema = {
    "w": ArrayField("float", ("weights",)),
    "lower": ArrayField("float", may_be_infinite=True),
    **PROGRESS,
}
_SAMPLES_PER_WEIGHT = 20  # fewer are overfitted by weights that do not generalise to all samples


@dataclass(frozen=True)
class SmoothProblem:
    """Minimise J(w) = 1/2 |w|^2 + cost * loss(X w); the design has the positives first."""

    design: Design
    loss: SmoothLoss
    cost: float
    n_pos: int

    def sample(self, n_samples: int, random: np.random.Generator) -> SmoothProblem:
        """Return the problem on a random subset with the same share of positives and the same cost."""
        indices, n_pos = draw_sample(self.n_pos, self.design.shape[0], n_samples, random)
        return replace(self, design=self.design.gather(indices), loss=self.loss.sample(indices), n_pos=n_pos)


def make_squared_problem(
    design: Design, positive: NDArray[np.bool_], measure: Any, C: float, weights: Floats | None = None
) -> SmoothProblem:
    """Return the problem of the mean squared pair loss of a design, positives first."""
    indices, ordered = order_positives_first(positive, weights)
    n_pos = int(np.count_nonzero(positive))
    classes = Classes(n_pos, indices.size - n_pos, ordered, design.threads)
    total = classes.pos_weight + classes.neg_weight
    return SmoothProblem(design.take(indices), SquaredPairHinge(classes), C * total, n_pos)


@stored_fields(version=2)
@dataclass(frozen=True)
class SquaredPairsResult(Result):
    """A result for the mean squared loss of pairs, whose gradient proves the lower bound without a witness."""

    @property
    def problem(self) -> ProblemDescription:
        """The problem whose objective the certificate bounds."""
        return ProblemDescription(Objective.SQUARED_PAIRS)


@dataclass
class NewtonState:
    """The weights with their scores, loss and gradient."""

    w: Floats
    scores: Floats
    loss: LossAt
    upper: float
    objective_at_zero: float
    gradient: Floats = field(default_factory=lambda: np.zeros(0))
    lower: float = -np.inf
    iteration: int = 0
    seconds: float = 0.0
    stalled: bool = False
    history: list[HistoryEntry] = field(default_factory=list)
    n_cuts: int = 0


@dataclass(frozen=True)
class TruncatedNewton:
    """Settings of the Newton solver.

    Parameters
    ----------
    accuracy : float
        Share of the gradient that the conjugate gradients may leave.
    sample_factor : int
        Factor by which the sample that a large problem starts from is smaller; 0 for no sample.
    smallest_sample : int
        Smallest sample that is drawn.
    seed : int
        Seed of the sample.
    """

    accuracy: float = 0.3
    sample_factor: int = 8
    smallest_sample: int = 5000
    seed: int = 0

    def init(
        self, problem: SmoothProblem, limits: Limits | None = None, warm: NewtonState | None = None
    ) -> NewtonState:
        """Return a state to start from: the solution of a sample, or w = 0."""
        n_samples, length = problem.design.shape
        loss = problem.loss.at(np.zeros(n_samples))
        upper = problem.cost * loss.value
        state = NewtonState(np.zeros(length), np.zeros(n_samples), loss, upper, upper)
        self._update_bounds(problem, state)
        sampled = n_samples // self.sample_factor if self.sample_factor else 0
        sampled = min(sampled, problem.design.most_gathered)
        if warm is not None:
            self._start_at(problem, state, warm.w)
        elif sampled >= max(self.smallest_sample, _SAMPLES_PER_WEIGHT * length):
            seconds = None if limits is None or limits.max_seconds is None else 0.5 * limits.max_seconds
            sample = problem.sample(sampled, np.random.default_rng(self.seed))
            if sample.design.shape[1] != length:
                return state  # weights of a kernel matrix are functions of its samples: those of a sample do not fit
            weights = run(self, sample, Limits(tol=_SAMPLE_TOL, max_seconds=seconds))[0].weights
            del sample  # its memory serves the products that follow
            self._start_at(problem, state, weights)
        return state

    def _start_at(self, problem: SmoothProblem, state: NewtonState, w: Floats) -> None:
        """Start from given weights, if they are better than zero."""
        scores = problem.design.scores(w)
        loss = problem.loss.at(scores)
        upper = self._objective(problem, w, loss)
        if upper < state.upper:
            state.w, state.scores, state.loss, state.upper = w, scores, loss, upper
            self._update_bounds(problem, state)

    @staticmethod
    def _update_bounds(problem: SmoothProblem, state: NewtonState) -> None:
        """Update the gradient and the lower bound."""
        state.gradient = state.w + problem.cost * problem.design.combine(state.loss.slopes)
        square = float(state.gradient @ problem.design.covector(state.gradient))
        state.lower = max(state.lower, state.upper - 0.5 * square)

    def step(self, problem: SmoothProblem, state: NewtonState, limits: Limits) -> None:
        """Improve the state by one Newton step."""
        direction = self._direction(problem, state)
        design = problem.design
        towards = design.scores(direction)
        covector = design.covector(direction)
        mixed, square = float(state.w @ covector), float(direction @ covector)
        slope = float(state.gradient @ covector)
        half_norm = state.upper - problem.cost * state.loss.value
        length = 1.0
        for _ in range(_MOST_TRIALS):
            scores = state.scores + length * towards
            loss = problem.loss.at(scores)
            upper = half_norm + length * mixed + 0.5 * length**2 * square + problem.cost * loss.value
            if upper <= state.upper + _SUFFICIENT * length * slope:
                break
            length *= 0.5
        else:
            state.stalled = True
            return
        w = state.w + length * direction
        if isinstance(design, BoundsRounding) and (recomputed := design.recompute_values(w)) is not w:
            # Where samples are dependent, large coefficients may cancel out, and all that they change is rounding.
            w, scores = recomputed, design.scores(recomputed)
            loss = problem.loss.at(scores)
            less = state.upper - self._objective(problem, w, loss)
            if not less > design.estimate_error(w) - design.estimate_error(state.w):
                state.stalled = True
                return
        state.stalled = not upper < state.upper
        # The norm is computed anew: updated along the line, it would accumulate rounding errors.
        state.w, state.scores, state.loss, state.upper = w, scores, loss, self._objective(problem, w, loss)
        self._update_bounds(problem, state)

    @staticmethod
    def _objective(problem: SmoothProblem, w: Floats, loss: LossAt) -> float:
        return 0.5 * float(w @ problem.design.covector(w)) + problem.cost * loss.value

    def _direction(self, problem: SmoothProblem, state: NewtonState) -> Floats:
        """Return the Newton direction, as far as conjugate gradients take it."""
        design = problem.design
        direction = np.zeros_like(state.w)
        rest = -state.gradient
        square = float(rest @ design.covector(rest))
        enough = self.accuracy**2 * square
        towards = rest.copy()
        for _ in range(_MOST_PRODUCTS):
            if square <= enough:
                break
            bent = towards + problem.cost * design.combine(state.loss.hessian_product(design.scores(towards)))
            curvature = float(towards @ design.covector(bent))
            if curvature <= 0.0:
                break
            length = square / curvature
            direction += length * towards
            rest -= length * bent
            before, square = square, float(rest @ design.covector(rest))
            towards = rest + (square / before) * towards
        return direction

    def certificate(self, problem: SmoothProblem, state: NewtonState) -> Certificate:
        """Return the bounds known so far."""
        return Certificate(state.upper, min(max(state.lower, 0.0), state.upper), state.loss.value)

    def _prove(self, problem: SmoothProblem, state: NewtonState) -> Certificate:
        """Return the bounds in exact arithmetic, where the design knows the rounding errors of its products."""
        if not isinstance(problem.design, BoundsRounding) or not isinstance(problem.loss, SquaredPairHinge):
            return self.certificate(problem, state)
        design: Any = problem.design
        w = design.recompute_values(state.w)
        scores, weights = design.scores(w), problem.loss.classes.weights
        weights = np.ones(scores.size) if weights is None else weights
        loss, positive = problem.loss.at(scores), np.arange(scores.size) < problem.n_pos
        size, slope_sizes = squared_pairs_sizes(positive, weights, scores)
        g = problem.cost * design.combine(loss.slopes)
        errors = design.rounding_errors(w, g, problem.cost * slope_sizes, 8 * scores.size)
        above = widen_squared_pairs(loss.value, positive, weights, errors.scores, size)
        upper = 0.5 * (float(w @ design.covector(w)) + errors.square) + problem.cost * above
        square = float(g @ design.covector(g)) + errors.combination
        lower = squared_pairs_dual(problem.cost, loss.value, loss.slopes, scores, (size, slope_sizes), square)
        return Certificate(*replace_nan_bounds(upper, lower, above))

    def check_convergence(self, problem: SmoothProblem, state: NewtonState, limits: Limits) -> Status | None:
        """Return the status if the gap is small enough."""
        gap = state.upper - max(state.lower, 0.0)
        if gap > limits.tol * state.upper and gap > limits.gap:
            return None
        better = state.objective_at_zero - state.upper > _NO_BETTER * state.objective_at_zero
        return Status.OPTIMAL if better else Status.DEGENERATE

    def sample_coefficients(self, problem: SmoothProblem, state: NewtonState) -> Floats:
        """Return the coefficients of the samples in the direction of the solution, as far as it is known."""
        return state.loss.slopes

    def saved(self, state: NewtonState) -> Arrays:
        """Return a state as arrays; `restored` makes it again."""
        progress = progress_arrays(state)
        return {"w": state.w, "lower": np.array(state.lower), **progress}

    def restored(self, problem: SmoothProblem, arrays: Arrays, limits: Limits) -> NewtonState:
        """Return the state that was saved for the same problem; raise a `StateError` if it cannot be one."""
        check_arrays(arrays, _SCHEMA, weights=problem.design.shape[1])
        w = arrays["w"]
        at_zero = problem.cost * problem.loss.at(np.zeros(problem.design.shape[0])).value
        scores = problem.design.scores(w)
        loss = problem.loss.at(scores)
        upper = self._objective(problem, w, loss)
        lower = float(arrays["lower"])
        require_bounds(upper, lower)
        state = NewtonState(w, scores, loss, upper, at_zero, lower=lower)
        self._update_bounds(problem, state)
        set_progress(state, arrays)
        return state

    def result(self, problem: SmoothProblem, state: NewtonState, status: Status) -> SquaredPairsResult:
        """Return the weights with their certificate, which their gradient proves."""
        empty = Witness(np.zeros(0), np.zeros((0, state.w.size)), np.zeros((0, 2)))
        return SquaredPairsResult(
            weights=state.w,
            certificate=self._prove(problem, state),
            status=status,
            n_iter=state.iteration,
            seconds=state.seconds,
            history=make_history(state),
            witness=empty,
        )
