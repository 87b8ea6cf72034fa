"""Descent on a smoothed slack: L-BFGS or accelerated gradients (MPMS; Zhang, Saha and Vishwanathan 2012).

Objective: that of `metricwise.solvers.cutting_plane`, J(w) = 1/2 |w|^2 + cost * R(X w), approached through

    J_m(w) = 1/2 |w|^2 + cost * R_m(X w),    R_m the slack smoothed by m (`metricwise.oracles.smoothed`)

Order of steps (`step`):

1. one move that lowers J_m: along the direction of L-BFGS to a point where the slope has become flat, or a
   gradient step from a point with momentum; along both lines scores are linear, so trials cost no product with samples;
2. bounds: J at the new point from above; from below the dual value of the labellings' shares q there,

       cost * D(q) - 1/2 |cost * X' c(q)|^2 = J_m(w) - 1/2 |gradient|^2 + cost * m d(q),

   which is the bound of strong convexity for J_m, plus what smoothing has taken off;
3. where the gradient has less part in the gap than the smoothing, smooth less.

The gap is cost * (R - R_m - m d(q)) + 1/2 |gradient|^2, whatever the smoothing, and ends the run as for every solver.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.oracles.smoothed import SmoothedAt, SmoothedSlack, make_smoothed_slack
from metricwise.results import Certificate, HistoryEntry, ProblemDescription, Result, Status, Witness
from metricwise.solvers.loop import UNKNOWN, Bounds, Limits, has_moved, keep_best, make_history
from metricwise.solvers.problem import MultivariateProblem

Method = Literal["lbfgs", "accelerated"]

_NO_BETTER = 1e-6
_FIRST_SMOOTHING = 1.0
_LEAST_SMOOTHING = 1e-11
_LESS = 0.25  # of the smoothing, when the gradient has become small
_MOST_TRIALS = 40
_MOST_IDLE_STEPS = 100
_SUFFICIENT = 1e-4  # of the decrease that the slope predicts
_FLAT = 0.5  # of the slope at the start of a line
_ROUNDING = 1e-14  # of the terms of the objective: a smaller shortfall of the decrease is rounding


@stored_fields(version=2)
@dataclass(frozen=True)
class SmoothedResult(Result):
    """A result whose lower bound is that of the shares at ``witness.points[0]`` with this ``smoothing``."""

    smoothing: float = float("nan")

    @property
    def problem(self) -> ProblemDescription:
        """The problem whose objective the certificate bounds."""
        return ProblemDescription(smoothing=self.smoothing)


class _Point(NamedTuple):
    """Weights with their scores, smoothed slack and gradient of the smoothed objective."""

    w: Floats
    scores: Floats
    at: SmoothedAt
    combined: Floats  # the samples, by the slopes of their scores
    gradient: Floats


@dataclass
class SmoothingState:
    """The current point, the best weights, and the point that proves the lower bound."""

    slack: SmoothedSlack
    point: _Point
    smoothing: float
    best: Floats
    upper: float
    loss_bound: float
    objective_at_zero: float
    proof: _Point
    lower: float = -np.inf
    proof_smoothing: float = _FIRST_SMOOTHING
    smoothing_gap: float = np.inf
    memory: list[tuple[Floats, Floats]] = field(default_factory=list)
    last: tuple[Floats, Floats] | None = None
    momentum: float = 1.0
    lipschitz: float = 1.0
    iteration: int = 0
    seconds: float = 0.0
    stalled: bool = False
    history: list[HistoryEntry] = field(default_factory=list)
    n_cuts: int = 0
    idle_steps: int = 0  # that improved neither bound
    moved_to: Bounds = UNKNOWN  # the best up to the last step that improved one


@dataclass(frozen=True)
class Smoothing:
    """Settings of the descent on smoothed slacks.

    Parameters
    ----------
    method : {"lbfgs", "accelerated"}
        How the smoothed objective is minimised.
    memory : int
        Number of moves from which L-BFGS estimates the curvature.
    share : float
        Share of the gap due to the gradient below which the smoothing is reduced.
    """

    method: Method = "lbfgs"
    memory: int = 20
    share: float = 0.5

    def init(
        self, problem: MultivariateProblem, limits: Limits | None = None, warm: SmoothingState | None = None
    ) -> SmoothingState:
        """Return a state to start from; ``warm`` is one of the same samples and measure at any cost."""
        n_samples, length = problem.design.shape
        slack = make_smoothed_slack(
            problem.measure, problem.n_pos, n_samples - problem.n_pos, problem.weights, threads=problem.design.threads
        )
        w, smoothing = np.zeros(length), _FIRST_SMOOTHING
        exact = problem.oracle.violate(np.zeros(n_samples)).value
        at_zero = problem.cost * exact
        if warm is not None:
            w, smoothing = warm.best, warm.smoothing
        point = _evaluate(problem, slack, w, problem.design.scores(w), smoothing)
        state = SmoothingState(slack, point, smoothing, np.zeros(length), at_zero, exact, at_zero, proof=point)
        if warm is not None:  # the best weights need not be where the bound was proved
            proven_at = warm.proof.w
            proof = _evaluate(problem, slack, proven_at, problem.design.scores(proven_at), warm.proof_smoothing)
            _bound(problem, state, proof, warm.proof_smoothing)
        _update_bounds(problem, state, point)
        return state

    def step(self, problem: MultivariateProblem, state: SmoothingState, limits: Limits) -> None:
        """Improve the state by one move, and smooth less if the gradient has become small."""
        self._move(problem, state)
        bounds, state.idle_steps = (state.upper, state.lower), state.idle_steps + 1
        if has_moved(state.moved_to, bounds):
            state.moved_to, state.idle_steps = keep_best(state.moved_to, bounds), 0
        # With a huge cost, rounding errors of the objective exceed what moves gain, and these lead nowhere.
        state.stalled = state.stalled or state.idle_steps >= _MOST_IDLE_STEPS

    def _move(self, problem: MultivariateProblem, state: SmoothingState) -> None:
        moved = self._descend(problem, state) if self.method == "lbfgs" else _accelerate(problem, state)
        square = 0.5 * float(state.point.gradient @ state.point.gradient)
        if moved and square > self.share * state.smoothing_gap:
            return
        if state.smoothing * _LESS < _LEAST_SMOOTHING:
            state.stalled = True
            return
        state.smoothing *= _LESS
        state.last, state.momentum = None, 1.0
        state.point = _evaluate(problem, state.slack, state.point.w, state.point.scores, state.smoothing)
        _update_bounds(problem, state, state.point)

    def _descend(self, problem: MultivariateProblem, state: SmoothingState) -> bool:
        """Move along the direction of L-BFGS; return False if rounding hides the decrease."""
        here = state.point
        direction = _direction(state.memory, here.gradient)
        if float(direction @ here.gradient) >= 0.0:
            state.memory.clear()
            direction = -here.gradient
        towards = problem.design.scores(direction)
        length = _flat_step(problem, state, direction, towards)
        if length == 0.0:
            state.memory.clear()
            return False
        w = here.w + length * direction
        state.point = _evaluate(problem, state.slack, w, here.scores + length * towards, state.smoothing)
        change, turn = w - here.w, state.point.gradient - here.gradient
        # J_m is strongly convex, so the product is positive but for rounding.
        if float(change @ turn) > 0.0:
            state.memory.append((change, turn))
            del state.memory[: -self.memory]
        _update_bounds(problem, state, state.point)
        return True

    def certificate(self, problem: MultivariateProblem, state: SmoothingState) -> Certificate:
        """Return the bounds known so far."""
        return Certificate(state.upper, min(max(state.lower, 0.0), state.upper), state.loss_bound)

    def check_convergence(self, problem: MultivariateProblem, state: SmoothingState, limits: Limits) -> Status | None:
        """Return the status if the gap is small enough; w = 0 is reported as optimal only if it is proved."""
        gap = state.upper - max(state.lower, 0.0)
        if gap > limits.tol * abs(state.upper) and gap > limits.gap:
            return None
        noise = _NO_BETTER * abs(state.objective_at_zero)
        if state.objective_at_zero - state.upper > noise:
            return Status.OPTIMAL
        return Status.DEGENERATE if state.objective_at_zero - state.lower <= noise or state.stalled else None

    def result(self, problem: MultivariateProblem, state: SmoothingState, status: Status) -> SmoothedResult:
        """Return the best weights with their certificate."""
        return SmoothedResult(
            weights=state.best,
            certificate=_prove(problem, state),
            status=status,
            n_iter=state.iteration,
            seconds=state.seconds,
            history=make_history(state),
            witness=Witness(np.ones(1), state.proof.w[None, :], np.full((1, 2), np.nan)),
            smoothing=state.proof_smoothing,
        )


def _prove(problem: MultivariateProblem, state: SmoothingState) -> Certificate:
    """Return the bounds in exact arithmetic; shares at any scores prove one, however these were computed."""
    if not problem.bounds_rounding:
        return Certificate(state.upper, min(max(state.lower, 0.0), state.upper), state.loss_bound)
    scores = state.proof.scores
    loss, sizes = state.slack.bound_shares(state.proof.at, scores, state.proof_smoothing)
    return problem.prove(state.best, loss, state.proof.combined, 8 * scores.size, sizes)


def _evaluate(
    problem: MultivariateProblem, slack: SmoothedSlack, w: Floats, scores: Floats, smoothing: float
) -> _Point:
    at = slack.at(scores, smoothing)
    combined = problem.design.combine(at.slopes)
    return _Point(w, scores, at, combined, w + problem.cost * combined)


def _update_bounds(problem: MultivariateProblem, state: SmoothingState, point: _Point) -> None:
    """Update the bounds with a point."""
    violation = problem.oracle.violate(point.scores).value
    state.smoothing_gap = problem.cost * max(violation - point.at.value - point.at.prox_term, 0.0)
    _keep_if_better(problem, state, point.w, violation)
    _bound(problem, state, point, state.smoothing)


def _keep_if_better(problem: MultivariateProblem, state: SmoothingState, w: Floats, violation: float) -> None:
    objective = 0.5 * float(w @ w) + problem.cost * violation
    if objective < state.upper:
        state.best, state.upper, state.loss_bound = w, objective, violation


def _bound(problem: MultivariateProblem, state: SmoothingState, point: _Point, smoothing: float) -> None:
    smoothed = 0.5 * float(point.w @ point.w) + problem.cost * point.at.value
    dual = smoothed - 0.5 * float(point.gradient @ point.gradient) + problem.cost * point.at.prox_term
    if dual > state.lower:
        state.lower, state.proof, state.proof_smoothing = dual, point, smoothing


def _direction(memory: list[tuple[Floats, Floats]], gradient: Floats) -> Floats:
    """Return minus the gradient times the inverse curvature estimated from past moves (the two loops of L-BFGS)."""
    direction = -gradient
    used = []
    for change, turn in reversed(memory):
        share = float(change @ direction) / float(change @ turn)
        direction = direction - share * turn
        used.append(share)
    if memory:
        change, turn = memory[-1]
        direction = direction * (float(change @ turn) / float(turn @ turn))
    for (change, turn), share in zip(memory, reversed(used), strict=True):
        direction = direction + (share - float(turn @ direction) / float(change @ turn)) * change
    return direction


def _flat_step(problem: MultivariateProblem, state: SmoothingState, direction: Floats, towards: Floats) -> float:
    """Return a step along a line after which J_m has fallen and its slope is flat; 0 if none is found.

    The objective is convex along the line: a bracket around its minimum is divided where the line through the slopes at
    its ends crosses zero, kept away from the ends.
    """
    here = state.point
    mixed, square = float(here.w @ direction), float(direction @ direction)
    value, first = here.at.value, float(here.gradient @ direction)
    noise = _rounding(problem, here)
    low, low_slope, high, high_slope = 0.0, first, np.inf, 0.0
    step = 1.0 if state.memory else min(1.0, 1.0 / max(float(np.abs(towards).max()), 1e-300))
    for _ in range(_MOST_TRIALS):
        at = state.slack.at(here.scores + step * towards, state.smoothing)
        fall = step * mixed + 0.5 * step**2 * square + problem.cost * (at.value - value)
        slope = mixed + step * square + problem.cost * at.slope(towards)
        fell = fall <= _SUFFICIENT * step * first + noise
        if fell and abs(slope) <= _FLAT * abs(first):
            return step
        if slope < 0.0 and fell:
            low, low_slope = step, slope
        else:
            high, high_slope = step, slope
        if np.isinf(high):
            step *= 4.0
            continue
        width = high - low
        crossing = low + width * low_slope / (low_slope - high_slope) if high_slope > 0.0 else low + 0.5 * width
        step = min(max(crossing, low + 0.1 * width), high - 0.1 * width)
        if not low < step < high:
            break
    return low


def _rounding(problem: MultivariateProblem, point: _Point) -> float:
    """Return the rounding error of J_m: its terms may be much larger than their sum."""
    terms = float(np.abs(point.at.slopes) @ np.abs(point.scores)) + point.at.value
    return _ROUNDING * (0.5 * float(point.w @ point.w) + problem.cost * terms)


def _accelerate(problem: MultivariateProblem, state: SmoothingState) -> bool:
    """Take a gradient step that lowers J_m by as much as its slope predicts, then add momentum.

    Momentum is dropped where it points uphill (O'Donoghue and Candes 2015), which adapts to the unknown curvature.
    """
    here, smoothing = state.point, state.smoothing
    towards = problem.design.scores(here.gradient)
    square = float(here.gradient @ here.gradient)
    mixed = float(here.w @ here.gradient)
    noise = _rounding(problem, here)
    for _ in range(_MOST_TRIALS):
        step = 1.0 / state.lipschitz
        scores = here.scores - step * towards
        value = state.slack.at(scores, smoothing).value
        fall = -step * mixed + 0.5 * step**2 * square + problem.cost * (value - here.at.value)
        if fall <= -0.5 * step * square + noise:
            break
        state.lipschitz *= 2.0
    else:
        return False
    w = here.w - step * here.gradient
    _keep_if_better(problem, state, w, problem.oracle.violate(scores).value)
    before, state.last = state.last, (w, scores)
    state.lipschitz = max(0.9 * state.lipschitz, 1.0)
    if before is None or float(here.gradient @ (w - before[0])) > 0.0:
        state.momentum, carried = 1.0, 0.0
        before = (w, scores)
    else:
        larger = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * state.momentum**2))
        carried = (state.momentum - 1.0) / larger
        state.momentum = larger
    ahead, ahead_scores = w + carried * (w - before[0]), scores + carried * (scores - before[1])
    state.point = _evaluate(problem, state.slack, ahead, ahead_scores, smoothing)
    _update_bounds(problem, state, state.point)
    return True
