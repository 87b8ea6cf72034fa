"""The training loop of all solvers: steps until a limit is met."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Protocol, TypeVar

from metricwise.memory import check_feature_memory
from metricwise.progress import Stage, add_stage, share_of_gap
from metricwise.results import Certificate, History, HistoryEntry, Result, Status
from metricwise.threads import blas_on_one_thread

_ROUNDED = 1.01  # of the tolerance: what rounding may leave of the gap
_NEGLIGIBLE = 1e-6  # of a bound and of the gap: 10,000 steps that need 50 for so much close 0.02 % of the gap
_VECTOR_BYTES = 50  # per weight, measured: of the weights, combinations of samples and cuts of the first iterations
_CHECKED = 100  # iterations after which rounding errors are compared with the gap

Callback = Callable[[HistoryEntry], Any]
Bounds = tuple[float, float]  # upper, lower
UNKNOWN: Bounds = (inf, -inf)
Problem = TypeVar("Problem", contravariant=True)


@dataclass(frozen=True)
class Limits:
    """When to stop.

    Parameters
    ----------
    tol : float
        Largest relative duality gap (gap over upper bound).
    gap : float, optional
        Largest duality gap in units of the objective; stops training as soon as either is met.
    max_iter : int
        Largest number of iterations in this run.
    max_seconds : float, optional
        Time limit of this run; checked after each iteration.
    """

    tol: float = 1e-3
    gap: float = 0.0
    max_iter: int = 10_000
    max_seconds: float | None = None

    def since(self, started: float) -> Limits:
        """Return the limits with the seconds that are left; ``started`` is a time of `time.perf_counter`."""
        if self.max_seconds is None:
            return self
        return replace(self, max_seconds=max(self.max_seconds - (time.perf_counter() - started), 0.0))


class State(Protocol):
    """Everything a solver needs to resume."""

    iteration: int
    seconds: float
    history: list[HistoryEntry]
    stalled: bool

    @property
    def n_cuts(self) -> int: ...


S = TypeVar("S", bound=State)


class Solver(Protocol[Problem, S]):
    """An algorithm: settings in its fields, progress in its state, the data in the problem."""

    def init(self, problem: Problem, limits: Limits, warm: S | None = None) -> S: ...

    def step(self, problem: Problem, state: S, limits: Limits) -> None:
        """Improve the state; inner problems need no more accuracy and get no more time than ``limits`` leave."""
        ...

    def certificate(self, problem: Problem, state: S) -> Certificate: ...

    def check_convergence(self, problem: Problem, state: S, limits: Limits) -> Status | None:
        """Return the final status if the solver has converged, else None."""
        ...

    def result(self, problem: Problem, state: S, status: Status) -> Result: ...


def run(
    solver: Solver[Any, S],
    problem: Any,
    limits: Limits,
    state: S | None = None,
    callback: Callback | None = None,
    watch: Callable[[S], None] | None = None,
) -> tuple[Result, S]:
    """Run a solver until a limit is met or the callback returns a true value; resume from ``state`` if given.

    ``watch`` is called with the state before the first iteration and after each.

    BLAS stays on this thread meanwhile: the vectors it gets are too short to share, and its waiting threads would
    take the cores from the products with the data, which use them on their own.
    """
    with blas_on_one_thread(), add_stage() as stage:
        return _run(solver, problem, limits, state, callback, watch, stage)


def _run(
    solver: Solver[Any, S],
    problem: Any,
    limits: Limits,
    state: S | None,
    callback: Callback | None,
    watch: Callable[[S], None] | None,
    stage: Stage,
) -> tuple[Result, S]:
    started, moved_at_start = time.perf_counter(), problem.design.bytes_moved
    check_feature_memory(problem.design.shape[1], _VECTOR_BYTES)
    if state is None:
        state = solver.init(problem, limits)
    before, first = state.seconds, state.iteration
    moved_before = state.history[-1].bytes_moved if state.history else 0
    if watch is not None:
        watch(state)
    while True:
        solver.step(problem, state, limits.since(started))
        state.iteration += 1
        state.seconds = before + time.perf_counter() - started
        certificate = solver.certificate(problem, state)
        bounds = certificate.upper, certificate.lower
        moved = moved_before + problem.design.bytes_moved - moved_at_start
        entry = HistoryEntry(state.iteration, state.seconds, *bounds, state.n_cuts, moved)
        state.history.append(entry)
        gap = certificate.relative
        stage.update(f"iteration {state.iteration}, gap {gap:.2g}", share_of_gap(gap, limits.tol))
        if watch is not None:
            watch(state)
        stop = callback is not None and bool(callback(entry))
        if state.iteration % _CHECKED == 0 and not state.stalled:
            state.stalled = _has_lost_accuracy(solver, problem, state, certificate)
        status = solver.check_convergence(problem, state, limits)
        if status is None and stop:
            status = Status.STOPPED
        if status is None:
            status = _limit_met(state, limits, state.iteration - first, state.seconds - before)
        if status is not None:
            return _confirm(solver.result(problem, state, status), limits), state


def _has_lost_accuracy(solver: Solver[Any, S], problem: Any, state: S, certificate: Certificate) -> bool:
    """Return whether the upper bound that allows for rounding exceeds the solver's own by more than the gap.

    Solvers update scores along lines, and rounding errors add up. With huge features these may separate the classes
    where the weights do not: the descent then goes on, step by step, towards an objective that no weights have. A
    result that is to be optimal is not at risk: its errors are within the tolerance, which is below the gap till then.
    """
    proven = solver.result(problem, state, Status.STALLED).certificate
    return proven.upper - certificate.upper > certificate.gap


def _confirm(result: Result, limits: Limits) -> Result:
    """Return a result that is not called optimal unless its certificate, which allows for rounding, shows it."""
    allowed = max(limits.tol, limits.gap / abs(result.certificate.upper) if result.certificate.upper else 0.0)
    if result.status is not Status.OPTIMAL or result.certificate.relative <= _ROUNDED * allowed:
        return result
    return replace(result, status=Status.STALLED)


def _limit_met(state: State, limits: Limits, iterations: int, seconds: float) -> Status | None:
    if state.stalled:
        return Status.STALLED
    if limits.max_seconds is not None and seconds >= limits.max_seconds:
        return Status.MAX_SECONDS
    return Status.MAX_ITER if iterations >= limits.max_iter else None


def has_moved(since: Bounds, now: Bounds) -> bool:
    """Return whether the upper or the lower bound has moved by more than rounding moves it.

    Where rounding has exhausted the accuracy, bounds may creep on by one unit in the last place per step, or swing back
    and forth, for as many steps as are allowed. So solvers compare with the best bounds up to the last step that
    counted, and a move counts unless it is negligible both beside its bound and beside the gap. Either alone would stop
    honest progress: the first cuts of many features raise a small lower bound by little of a huge gap, and the last
    steps close a gap that is itself small beside the bounds.

    Parameters
    ----------
    since, now : tuple of float
        Upper and lower bound, the best up to the last step that counted, and now.

    Examples
    --------
    >>> has_moved((100.0, 1e-9), (100.0, 2e-9)), has_moved((100.0, 50.0), (100.0 - 1e-6, 50.0))
    (True, False)
    """
    upper, lower = now
    gap = max(upper - lower, 0.0)  # rounding may push the bounds past each other
    moves = (since[0] - upper, upper), (lower - since[1], lower)
    return any(move > _NEGLIGIBLE * min(gap, abs(bound)) for move, bound in moves)


def keep_best(before: Bounds, now: Bounds) -> Bounds:
    """Return the smaller upper and the larger lower bound."""
    return min(before[0], now[0]), max(before[1], now[1])


def make_history(state: State) -> History[HistoryEntry]:
    """Return the history kept in a state."""
    return History(tuple(state.history))
