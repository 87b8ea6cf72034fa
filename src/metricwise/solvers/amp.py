"""AMP, the alternate maximisation procedure for ratios of rates (Narasimhan, Kar and Jain 2015, Algorithm 2).

Objective (in the notation of `metricwise.solvers.amp_problem`, where the regulariser is part of the numerator A):

    maximise M(w) = A(w) / B(w)

It is Dinkelbach's method. With F(v) = max over w of A(w) - v B(w), no weights reach a level v unless F(v) >= 0.

Order of steps (`step`), from v = M(0):

1. solve the cost-sensitive problem of the challenge level v by cutting planes, from the points where the last one was
   cut, to a share of the gap that is still open, or half of the tolerance; its dual value bounds F(v) from above;
2. bound the best level: M(w) <= v + F(v) / B(w) for any w, and B is at least `LevelRatio.least_denominator` for those
   that reach v;
3. take the new weights; their level M(w) is the next challenge.

Levels never fall: the last weights, for which A - v B = 0, are among the points where the next problem starts, so the
best point found has A - v B >= 0. An exact step takes off at least the share B(w*) / B(w) of what is missing to the
best level. Where the rewards P and N are in [0, 1], that gives the rates of Table 2 of the paper (`table_rate`), with
m = 1; hinge rewards can be negative, as N is after the first challenge of F1, which asks for true positives only.

As every solver here minimises, bounds are those of the loss 1 - M.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.designs.base import BoundsRounding
from metricwise.results import Certificate, HistoryEntry, Objective, ProblemDescription, Result, Status
from metricwise.solvers.amp_problem import AmpProblem, LevelRatio
from metricwise.solvers.cutting_plane import CuttingPlane, CuttingPlaneState
from metricwise.solvers.loop import Limits, make_history, run
from metricwise.solvers.problem import MultivariateProblem
from metricwise.solvers.saved import PROGRESS, Arrays, progress_arrays, set_progress
from metricwise.solvers.schema import MOST, ArrayField, Schema, check_arrays, require_state

_ROUNDING = 1e-9  # of levels
_NO_BETTER = 1e-6
_SHARE_OF_TOLERANCE = 0.5


@stored_fields(version=2)
@dataclass(frozen=True)
class AmpResult(Result):
    """A solution with its certificate and levels.

    The certificate bounds 1 - M: ``upper`` is that of the returned weights, and no weights have less than ``lower``.
    ``loss_bound`` is 1 minus the ratio of the rewards without the regulariser, an upper bound of the training loss at
    the threshold 0. The witness is that of the last inner problem, at the level ``levels[-2]``.

    Parameters
    ----------
    levels : tuple of float
        The challenge levels: that of w = 0, then one after every iteration.
    inner_iterations : tuple of int
        Cutting-plane steps of each iteration.
    """

    levels: tuple[float, ...] = ()
    inner_iterations: tuple[int, ...] = ()

    @property
    def problem(self) -> ProblemDescription:
        """The problem whose objective the certificate bounds."""
        return ProblemDescription(Objective.RATIO_LEVEL, level=self.levels[-2])


@dataclass
class AmpState:
    """The best weights with their scores, the levels so far, and the last inner problem's model.

    ``highest`` bounds the best level from above.
    """

    w: Floats
    scores: Floats
    levels: list[float]
    highest: float
    inner: CuttingPlaneState | None = None
    inner_iterations: list[int] = field(default_factory=list)
    iteration: int = 0
    seconds: float = 0.0
    stalled: bool = False
    history: list[HistoryEntry] = field(default_factory=list)

    @property
    def level(self) -> float:
        """The level reached."""
        return self.levels[-1]

    @property
    def n_cuts(self) -> int:
        return 0 if self.inner is None else self.inner.n_cuts


@dataclass(frozen=True)
class AMP:
    """Settings of the alternate maximisation procedure.

    Parameters
    ----------
    share : float
        Accuracy of an inner solution, as a share of the gap that is open before it. Smaller values come closer to the
        exact procedure and take more inner steps.
    inner : CuttingPlane
        Settings of the solver of the inner problems.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.designs import make_design
    >>> from metricwise.measures import FBeta
    >>> from metricwise.solvers.amp_problem import make_amp_problem
    >>> design = make_design(np.array([[2.0], [1.0], [0.5], [-1.0], [-2.0]]), intercept=1.0)
    >>> problem = make_amp_problem(design, np.array([True, True, False, False, False]), FBeta(), C=1.0)
    >>> result, _ = run(AMP(), problem, Limits(tol=1e-3))
    >>> [round(level, 3) for level in result.levels]
    [0.0, 0.506, 0.606, 0.606, 0.606]
    """

    share: float = 0.05
    inner: CuttingPlane = field(default_factory=CuttingPlane)

    def init(self, problem: AmpProblem, limits: Limits | None = None, warm: AmpState | None = None) -> AmpState:
        """Return a state to start from: w = 0, or the weights of ``warm``, a state of a similar problem, if better."""
        n_samples, length = problem.design.shape
        ratio = problem.ratio
        state = AmpState(np.zeros(length), np.zeros(n_samples), [ratio.first], ratio.best)
        if warm is not None and warm.w.size == length:
            scores = problem.design.scores(warm.w)
            state.inner = warm.inner
            self._adopt(problem, state, warm.w, scores)
        return state

    @staticmethod
    def _adopt(problem: AmpProblem, state: AmpState, w: Floats, scores: Floats) -> None:
        """Adopt weights if they reach the level of the state, and set the level to theirs."""
        reaches = problem.ratio.denominator(*problem.rates(scores)) > 0.0
        level = problem.level(w, scores) if reaches else -np.inf
        if level > state.level:
            state.w, state.scores = w, scores
        state.levels.append(max(level, state.level))

    def step(self, problem: AmpProblem, state: AmpState, limits: Limits) -> None:
        """Solve the problem of one challenge level and set the next."""
        before = state.level, state.highest
        level, least = state.level, problem.ratio.least_denominator(state.level)
        challenge = problem.cost_sensitive(level)
        enough = max(self.share * (state.highest - level), _SHARE_OF_TOLERANCE * _tolerance(state, limits))
        quick = Limits(tol=0.0, gap=enough * least / problem.ridge, max_seconds=limits.max_seconds)
        result, state.inner = run(self.inner, challenge, quick, self._start(challenge, state, quick))
        state.inner_iterations.append(result.n_iter)
        self._adopt(problem, state, state.inner.w, state.inner.scores)
        # The value of the inner problem, F(v), is not negative: the last weights are worth 0.
        lower = result.certificate.lower * (1.0 - problem.ratio.cost_error(level))
        value = max(problem.ratio.best - level - problem.ridge * lower, 0.0)
        state.highest = max(min(state.highest, problem.ratio.bound_level(level, value)), state.level)
        moved = state.level > before[0] or state.highest < before[1]
        state.stalled = not moved and result.status in (Status.STALLED, Status.MAX_ITER)

    def _start(self, challenge: MultivariateProblem, state: AmpState, limits: Limits) -> CuttingPlaneState:
        if state.inner is not None:
            points: Iterable[Any] = chain([state.w], state.inner.cuts.witness().points)
            return self.inner.init_at(challenge, points)
        if challenge.weights is not None and challenge.weights.min() > 0.0:
            return self.inner.init(challenge, limits)
        return self.inner.init_at(challenge, [])  # a class has no cost: easy, and no subsample of it can be posed

    def certificate(self, problem: AmpProblem, state: AmpState) -> Certificate:
        """Return the bounds of 1 - M known so far."""
        rates = problem.rates(state.scores)
        reward = problem.ratio.numerator(*rates) / problem.ratio.denominator(*rates)
        return Certificate(1.0 - problem.level(state.w, state.scores), 1.0 - state.highest, 1.0 - reward)

    def _prove(self, problem: AmpProblem, state: AmpState) -> Certificate:
        """Return the bounds in exact arithmetic, where the design knows the rounding errors of its products."""
        if not isinstance(problem.design, BoundsRounding):
            return self.certificate(problem, state)
        return problem.prove(state.w, state.highest)

    def check_convergence(self, problem: AmpProblem, state: AmpState, limits: Limits) -> Status | None:
        """Return the status if the gap is small enough, or leaves no room for weights that are better than w = 0."""
        if state.highest - problem.ratio.first <= _NO_BETTER * (problem.ratio.best - problem.ratio.first):
            return Status.DEGENERATE
        return Status.OPTIMAL if state.highest - state.level <= _tolerance(state, limits) else None

    def saved(self, state: AmpState) -> Arrays:
        """Return a state as arrays; `restored` makes it again, without the model of the last inner problem."""
        progress = progress_arrays(state)
        levels, inner = np.array(state.levels, dtype=np.float64), np.array(state.inner_iterations, dtype=np.int64)
        return {"w": state.w, "levels": levels, "highest": np.array(state.highest), "inner": inner, **progress}

    def restored(self, problem: AmpProblem, arrays: Arrays, limits: Limits) -> AmpState:
        """Return the state that was saved for the same problem; raise a `StateError` if it cannot be one."""
        check_arrays(arrays, _make_schema(problem), weights=problem.design.shape[1])
        w, levels, highest = arrays["w"], arrays["levels"].tolist(), float(arrays["highest"])
        require_state(levels and levels[0] == problem.ratio.first, "'levels' does not begin with the level of w = 0")
        require_state(levels[-1] <= highest + _ROUNDING, "'highest' is below the level reached")
        state = AmpState(w, problem.design.scores(w), levels, highest)
        require_state(np.isfinite(problem.level(w, state.scores)), "'w' has no finite level")
        state.inner_iterations = [int(number) for number in arrays["inner"]]
        set_progress(state, arrays)
        return state

    def result(self, problem: AmpProblem, state: AmpState, status: Status) -> AmpResult:
        """Return the best weights with their certificate; w = 0 where it is as good as any."""
        assert state.inner is not None
        if status is Status.DEGENERATE:  # labels must not depend on meaningless weights
            state.w, state.scores = np.zeros_like(state.w), np.zeros_like(state.scores)
        return AmpResult(
            weights=state.w,
            certificate=self._prove(problem, state),
            status=status,
            n_iter=state.iteration,
            seconds=state.seconds,
            history=make_history(state),
            witness=state.inner.cuts.witness(),
            levels=tuple(state.levels),
            inner_iterations=tuple(state.inner_iterations),
        )


def _make_schema(problem: AmpProblem) -> Schema:
    """Return what the arrays of a saved state are; levels are those between w = 0 and perfect labels."""
    first, best = problem.ratio.first, problem.ratio.best + _ROUNDING
    return {
        "w": ArrayField("float", ("weights",)),
        "levels": ArrayField("float", ("levels",), low=first, high=best, is_rising=True),
        "highest": ArrayField("float", low=first, high=best),
        "inner": ArrayField("count", ("inner problems",), low=0, high=MOST),
        **PROGRESS,
    }


def _tolerance(state: AmpState, limits: Limits) -> float:
    """Return the gap between levels at which the limits let the solver stop.

    A share of the loss is not enough: where positives are rare, all levels are low, and w = 0 would do.
    """
    lost, gained = abs(1.0 - state.level), state.level - state.levels[0]
    return max(limits.tol * min(lost, gained), limits.gap)


def table_rate(ratio: LevelRatio) -> float:
    """Return the rate of Theorem 8: the share of the missing level that an exact step leaves at most.

    It is 1 - least / greatest denominator over rewards in [0, 1], which gives every entry of Table 2 at m = 1, and
    holds for weights with such rewards.

    Examples
    --------
    >>> from metricwise.measures import FBeta, Jaccard
    >>> from metricwise.solvers.amp_problem import make_level_ratio
    >>> table_rate(make_level_ratio(FBeta(), theta=3.0))  # (1 + theta) / (1 + beta^2 + theta)
    0.8
    >>> table_rate(make_level_ratio(Jaccard(), theta=3.0))  # theta / (1 + theta)
    0.75
    """
    corners = [ratio.denominator(tpr, tnr) for tpr in (0.0, 1.0) for tnr in (0.0, 1.0)]
    return 1.0 - min(corners) / max(corners)
