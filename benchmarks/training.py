"""Training as the benchmarks time it: from a matrix in memory to certified weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Task
from metricwise.designs import make_design
from metricwise.measures import get_measure
from metricwise.measures.ranking_capabilities import Ranks
from metricwise.results import Result
from metricwise.solvers import CuttingPlane, Limits, MultivariateProblem, make_problem, run
from metricwise.solvers.newton import SmoothProblem, TruncatedNewton, make_squared_problem

Floats = NDArray[np.float64]

SQUARED_PAIRS = "roc_auc, norm 2"  # the objective of AUCSVC(norm=2)


class Trained(NamedTuple):
    """A solution and the problem it solves."""

    result: Result
    problem: MultivariateProblem | SmoothProblem


def pose(X: Any, y: NDArray[np.bool_], measure: str, C: float = 1.0, threads: int = 1) -> MultivariateProblem:
    """Return the training problem of a measure; ranking measures need no intercept."""
    wanted = get_measure(measure)
    design = make_design(X, intercept=0.0 if isinstance(wanted, Ranks) else 1.0, threads=threads)
    return make_problem(design, y, wanted, C)


def train(X: Any, y: NDArray[np.bool_], measure: str, C: float = 1.0, tol: float = 1e-3, threads: int = 1) -> Trained:
    """Train to the relative duality gap ``tol``."""
    if measure == SQUARED_PAIRS:
        squared = make_squared_problem(make_design(X, threads=threads), y, get_measure("roc_auc"), C)
        return Trained(run(TruncatedNewton(), squared, Limits(tol=tol))[0], squared)
    problem = pose(X, y, measure, C, threads)
    result, _ = run(CuttingPlane(), problem, Limits(tol=tol))
    return Trained(result, problem)


def train_to_loss_gap(problem: MultivariateProblem, share: float) -> Result:
    """Train until the duality gap is ``share`` of the cost of a full loss."""
    result, _ = run(CuttingPlane(), problem, Limits(tol=0.0, gap=problem.cost * share))
    return result


def warm_up(task: Task, measure: str, threads: int) -> None:
    """Compile the kernels for the kind of matrix of a task."""
    tiny = task.tiny()
    train(tiny.X, tiny.y, measure, threads=threads)
