"""The registry of solvers: the problem each one solves, and the capability it needs of a measure.

Streaming solvers see every sample once and have no problem to minimise; they are not listed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from metricwise.measures import Measure, RocAuc
from metricwise.measures.base import HasViolatedLabelling
from metricwise.measures.rate_capabilities import RatioOfRates
from metricwise.oracles.smoothed import LinearInShares
from metricwise.solvers.amp import AMP
from metricwise.solvers.amp_problem import make_amp_problem
from metricwise.solvers.binned_cutting_plane import BinnedCuttingPlane
from metricwise.solvers.binned_problem import make_binned_problem
from metricwise.solvers.cutting_plane import CuttingPlane
from metricwise.solvers.feature_selection import FeatureSelection
from metricwise.solvers.newton import TruncatedNewton, make_squared_problem
from metricwise.solvers.problem import make_problem
from metricwise.solvers.smoothing import Smoothing
from metricwise.solvers.sparse_coding import SparseCoding
from metricwise.solvers.sparse_problem import make_sparse_problem


@dataclass(frozen=True)
class SolverEntry:
    """One solver of the registry.

    Parameters
    ----------
    solver : type
        The class of its settings, which follows `metricwise.solvers.loop.Solver`.
    make_problem : callable
        Makes the problem that the solver takes, from a design and a measure.
    needs : type
        The capability that a measure must have.
    """

    solver: Callable[..., Any]
    make_problem: Callable[..., Any]
    needs: type


SOLVERS = {
    "cutting-plane": SolverEntry(CuttingPlane, make_problem, HasViolatedLabelling),
    "binned-cutting-plane": SolverEntry(BinnedCuttingPlane, make_binned_problem, HasViolatedLabelling),
    "smoothing": SolverEntry(Smoothing, make_problem, LinearInShares),
    "truncated-newton": SolverEntry(TruncatedNewton, make_squared_problem, RocAuc),
    "amp": SolverEntry(AMP, make_amp_problem, RatioOfRates),
    "feature-selection": SolverEntry(FeatureSelection, make_problem, HasViolatedLabelling),
    "sparse-coding": SolverEntry(SparseCoding, make_sparse_problem, HasViolatedLabelling),
}


def fitting_solvers(measure: Measure) -> tuple[str, ...]:
    """Return the names of the solvers that can train for a measure.

    Examples
    --------
    >>> from metricwise.measures import RocAuc
    >>> fitting_solvers(RocAuc())
    ('cutting-plane', 'binned-cutting-plane', 'smoothing', 'truncated-newton', 'feature-selection', 'sparse-coding')
    """
    return tuple(name for name, entry in SOLVERS.items() if isinstance(measure, entry.needs))


def get_solver(name: str, measure: Measure) -> SolverEntry:
    """Return the entry of a solver; raise an error that names the solvers that fit if this one does not.

    Raises
    ------
    ValueError
        If no solver has the name.
    TypeError
        If the measure lacks the capability that the solver needs.

    Examples
    --------
    >>> from metricwise.measures import FBeta
    >>> get_solver("smoothing", FBeta())
    Traceback (most recent call last):
    ...
    TypeError: solver 'smoothing' needs a measure with the capability LinearInShares, which 'f1' lacks; solvers that...
    """
    if name not in SOLVERS:
        raise ValueError(f"there is no solver {name!r}; choose one of {', '.join(SOLVERS)}")
    entry = SOLVERS[name]
    if not isinstance(measure, entry.needs):
        fitting = ", ".join(fitting_solvers(measure)) or "none of the batch solvers"
        raise TypeError(
            f"solver {name!r} needs a measure with the capability {entry.needs.__name__}, which {measure.name!r} "
            f"lacks; solvers that fit: {fitting}"
        )
    return entry
