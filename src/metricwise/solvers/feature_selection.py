"""At most B features: two layers of cutting planes (FSMPM; Mao and Tsang 2013).

Objective, over choices of at most B features and weights of these:

    min over d in {0, 1}^m, sum d <= B, of F(d),    F(d) = min over w of 1/2 sum_j w_j^2 / d_j + cost * R(X w)

With d anywhere in 0 <= d_j <= 1 this is a convex problem, whose dual has one share a for every labelling:

    max over a of  cost * loss . a - 1/2 cost^2 * (sum of the B largest g_j^2),    g = X' c, c the labellings' sum.

Any shares bound all choices of B features from below. Order of steps (`step`):

1. inner layer: F(d) by cutting planes over labellings, on the features that have a part so far, times sqrt(d);
2. outer layer: the B features with the largest g_j^2 are the choice that this dual solution fits worst; they join
   those that have a part. This takes one product with all features, and gives the lower bound;
3. the B features of largest weight are a choice: their own problem gives an upper bound, and the best one is kept;
4. the best d for the weights, min(1, |w_j| / level), and a step from there to the choice of 2, which shrinks with the
   rounds.

When choices stop improving, the best choice is trained to the tolerance. The constant feature is never counted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from metricwise._state import stored_fields
from metricwise._typing import Floats, Indices
from metricwise.designs import make_design
from metricwise.results import Certificate, HistoryEntry, ProblemDescription, Result, Status, Witness
from metricwise.solvers.cutting_plane import CuttingPlane
from metricwise.solvers.loop import Limits, make_history, run
from metricwise.solvers.problem import MultivariateProblem

_ROUND_TOL = 1e-2  # of the intermediate problems
_MOST_ROUNDS = 30
_PATIENCE = 3  # rounds without a better choice
_BETTER = 2e-3  # of the objective: a smaller decrease is no better choice
_NO_PART = 1e-6  # of the largest d: features with less are dropped until they are selected again


@stored_fields(version=2)
@dataclass(frozen=True)
class SelectionResult(Result):
    """A result on selected features: the certificate is that of their problem.

    Parameters
    ----------
    columns : array of int
        The selected features, ascending.
    selection : Certificate
        Bounds over all choices of as many features: ``upper`` is the objective of this one, and no other one, with any
        weights, has less than ``lower``.
    """

    columns: Indices = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    selection: Certificate = field(default_factory=lambda: Certificate(np.inf, -np.inf))

    @property
    def problem(self) -> ProblemDescription:
        """The problem whose objective the certificate bounds."""
        return ProblemDescription(columns=tuple(self.columns.tolist()), positive_weight=self.positive_weight)


class _Dual(NamedTuple):
    """A combination of labellings: its loss, and the sum of the samples times their coefficients, for all features."""

    loss: float
    direction: Floats
    slopes: Floats
    constant: float


@dataclass
class SelectionState:
    """The parts of the features, the best choice with its result, and the bound of all choices."""

    columns: Indices
    parts: Floats
    best: Result | None = None
    chosen: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    lower: float = -np.inf
    idle_rounds: int = 0
    trained: bool = False
    iteration: int = 0
    seconds: float = 0.0
    stalled: bool = False
    history: list[HistoryEntry] = field(default_factory=list)

    @property
    def n_cuts(self) -> int:
        """Features that have a part."""
        return self.columns.size

    @property
    def upper(self) -> float:
        return np.inf if self.best is None else self.best.certificate.upper


@dataclass(frozen=True)
class FeatureSelection:
    """Settings of the two layers.

    Parameters
    ----------
    n_features : int
        B, the largest number of features.
    inner : CuttingPlane
        Solves the problems of given features.
    """

    n_features: int
    inner: CuttingPlane = field(default_factory=CuttingPlane)

    def init(
        self, problem: MultivariateProblem, limits: Limits | None = None, warm: SelectionState | None = None
    ) -> SelectionState:
        """Return a state whose features are those selected at w = 0, or those of ``warm``."""
        if warm is not None:
            return SelectionState(warm.columns, warm.parts)
        dual = _combine_labellings(problem, np.ones(1), np.zeros((1, problem.design.shape[0])))
        columns = _find_largest(np.abs(dual.slopes), self.n_features)
        return SelectionState(columns, np.ones(columns.size))

    def step(self, problem: MultivariateProblem, state: SelectionState, limits: Limits) -> None:
        """Improve the choice of features by one round, or train the best choice to the tolerance."""
        started, before = time.perf_counter(), state.upper
        state.trained = False  # a state that is resumed was trained to the limits of another run
        weights, dual = self._inner_layer(problem, state, limits)
        self._choose(problem, state, weights, limits.since(started))
        self._outer_layer(problem, state, weights, dual)
        better = state.upper < before * (1.0 - _BETTER) or np.isinf(before)
        state.idle_rounds = 0 if better else state.idle_rounds + 1
        no_room = state.upper - state.lower <= limits.tol * state.upper
        everything = state.chosen.size == problem.design.shape[1] - _count_constants(problem.design)
        if no_room or everything or state.idle_rounds >= _PATIENCE or state.iteration + 1 >= _MOST_ROUNDS:
            self._train(problem, state, limits.since(started))

    def _inner_layer(self, problem: MultivariateProblem, state: SelectionState, limits: Limits) -> tuple[Floats, _Dual]:
        """Solve F(d); return the weights of the features with a part, and the dual solution."""
        scale = np.sqrt(state.parts)
        restricted = _restrict(problem, state.columns, scale)
        result = self._solve(restricted, limits, _ROUND_TOL)
        points = _dense(result.witness.points)  # none, if the bound of labellings that are right is the largest
        shape = len(points), problem.design.shape[0]
        scores = np.array([restricted.design.scores(point) for point in points]).reshape(shape)
        dual = _combine_labellings(problem, result.witness.shares, scores)
        largest = float(np.sort(dual.slopes**2)[-self.n_features :].sum()) + dual.constant**2
        state.lower = max(state.lower, problem.bound_choices(dual.loss, dual.direction, largest, len(points)))
        return scale * result.weights[: state.columns.size], dual

    def _choose(self, problem: MultivariateProblem, state: SelectionState, weights: Floats, limits: Limits) -> None:
        """Train the features of largest weight, and keep them if they are the best choice so far."""
        chosen = state.columns[_find_largest(np.abs(weights), self.n_features)]
        if np.array_equal(chosen, state.chosen):
            return
        result = self._solve(_restrict(problem, chosen), limits, max(limits.tol, _ROUND_TOL))
        if result.certificate.upper < state.upper:
            state.best, state.chosen = result, chosen

    def _outer_layer(self, problem: MultivariateProblem, state: SelectionState, weights: Floats, dual: _Dual) -> None:
        """Add the features that the dual solution selects."""
        selected = _find_largest(np.abs(dual.slopes), self.n_features)
        parts = np.zeros(dual.slopes.size)
        parts[state.columns] = best_parts(weights, self.n_features)
        step = 2.0 / (state.iteration + 3.0)
        parts *= 1.0 - step
        parts[selected] += step
        state.columns = np.flatnonzero(parts > _NO_PART)
        state.parts = parts[state.columns]

    def _train(self, problem: MultivariateProblem, state: SelectionState, limits: Limits) -> None:
        """Train the best choice to the tolerance."""
        assert state.best is not None
        if state.best.certificate.relative > limits.tol or not state.best.status.reached_tolerance:
            result = self._solve(_restrict(problem, state.chosen), limits, limits.tol)
            if result.certificate.upper <= state.upper or result.status.reached_tolerance:
                state.best = result
        state.trained = True

    def _solve(self, problem: MultivariateProblem, limits: Limits, tol: float) -> Result:
        return run(self.inner, problem, Limits(tol, max_iter=limits.max_iter, max_seconds=limits.max_seconds))[0]

    def certificate(self, problem: MultivariateProblem, state: SelectionState) -> Certificate:
        """Return the bounds of all choices known so far."""
        assert state.best is not None
        lower = min(max(state.lower, 0.0), state.upper)
        return Certificate(state.upper, lower, state.best.certificate.loss_bound)

    def check_convergence(self, problem: MultivariateProblem, state: SelectionState, limits: Limits) -> Status | None:
        """Return how the training of the best choice ended, once it has."""
        return state.best.status if state.trained and state.best is not None else None

    def result(self, problem: MultivariateProblem, state: SelectionState, status: Status) -> SelectionResult:
        """Return the best choice with weights for all features."""
        assert state.best is not None
        best, length = state.best, problem.design.shape[1]
        places = state.chosen
        if _count_constants(problem.design):
            places = np.append(places, length - 1)
        weights = np.zeros(length)
        weights[places] = best.weights
        points = sparse.csr_array(_dense(best.witness.points))
        spread = sparse.csr_array((points.data, places[points.indices], points.indptr), (points.shape[0], length))
        return SelectionResult(
            weights=weights,
            certificate=best.certificate,
            status=status,
            n_iter=state.iteration,
            seconds=state.seconds,
            history=make_history(state),
            witness=Witness(best.witness.shares, spread, best.witness.tables),
            columns=places[: state.chosen.size],
            selection=self.certificate(problem, state),
        )


def best_parts(weights: Floats, most: int) -> Floats:
    """Return the d in [0, 1] with sum at most ``most`` for which sum w_j^2 / d_j is least: min(1, |w_j| / level).

    Examples
    --------
    >>> import numpy as np
    >>> best_parts(np.array([3.0, -0.5, 0.25, 0.25]), most=2)
    array([1.  , 0.5 , 0.25, 0.25])
    """
    sizes = np.abs(weights)
    if np.count_nonzero(sizes) <= most:
        return np.where(sizes > 0.0, 1.0, 0.0)
    falling = -np.sort(-sizes)
    rests = np.cumsum(falling[::-1])[::-1]
    for whole in range(most):
        level = rests[whole] / (most - whole)
        if falling[whole] <= level:
            break
    parts: Floats = np.minimum(1.0, sizes / level)
    return parts


def _count_constants(design: Any) -> int:
    """Return how many constant columns a design has: one or none."""
    return int(design.shape[1] - design.X.shape[1])


def _restrict(problem: MultivariateProblem, columns: Indices, scale: Floats | None = None) -> MultivariateProblem:
    """Return the problem of some features, each times a number if ``scale`` is given."""
    design: Any = problem.design
    X = design.X[:, columns]
    if scale is not None:
        X = X @ sparse.diags_array(scale) if sparse.issparse(X) else X * scale
    # Sample by sample, so that sums depend on the samples that are listed and not on others in between.
    X = X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(X)
    made = make_design(X, intercept=design.intercept, threads=design.threads)
    return replace(problem, design=made.take(design.samples))


def _combine_labellings(problem: MultivariateProblem, shares: Floats, scores: Floats) -> _Dual:
    """Combine the most violated labellings at given scores, one per row of ``scores``."""
    loss, combined = 0.0, np.zeros(problem.design.shape[0])
    for share, at in zip(shares, scores, strict=True):
        labelling = problem.oracle.violate(at)
        loss += float(share) * labelling.loss
        combined += share * labelling.coefficients()
    direction = problem.design.combine(combined)
    if _count_constants(problem.design):
        return _Dual(loss, direction, direction[:-1], float(direction[-1]))
    return _Dual(loss, direction, direction, 0.0)


def _find_largest(sizes: Floats, count: int) -> Indices:
    """Return the indices of the largest numbers, ascending; of equal ones the first."""
    return np.sort(np.argsort(-sizes, kind="stable")[:count])


def _dense(points: Any) -> Floats:
    return np.asarray(points.toarray() if sparse.issparse(points) else points, dtype=np.float64)
