"""Start a solver from the state in which it left the same problem, or a similar one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats, Mask
from metricwise.designs import Design
from metricwise.estimators.svm.kernel import KernelSpace
from metricwise.measures import Measure
from metricwise.solvers.cutting_plane import CuttingPlaneState


class WarmState(NamedTuple):
    """The state of a solver, and the fingerprint of the problem that it belongs to."""

    fingerprint: int
    state: CuttingPlaneState


def fingerprint_problem(
    measure: Measure, kernel: KernelSpace | None, intercept: float, design: Design, positive: Mask, weights: Floats
) -> int:
    """Return a number that differs between problems with different samples, labels, weights, measures or kernels."""
    samples = np.flatnonzero(weights > 0.0)
    content = design.take(samples).fingerprints().tobytes() + positive[samples].tobytes() + weights[samples].tobytes()
    # Weights refer to the functions of a kernel or of a basis: their sums differ if they do.
    functions = b"" if kernel is None else design.combine(np.ones(design.shape[0])).tobytes()
    return hash((content, functions, measure, design.shape, intercept))


def warm_start(
    solver: Any, problem: Any, last: WarmState | None, fingerprint: int, kernel: KernelSpace | None
) -> CuttingPlaneState | None:
    """Return a state that has the cuts of the last fit if the problem is the same, else cuts at the same points.

    None, for a cold start, if there is no last fit, or if its weights mean something else.
    """
    if last is None:
        return None
    state: CuttingPlaneState
    if last.fingerprint == fingerprint:
        state = solver.init(problem, warm=last.state)
        return state
    if kernel is not None or last.state.w.size != problem.design.shape[1]:
        return None
    state = solver.init_at(problem, last.state.cuts.witness().points)
    return state
