"""Algorithms that minimise a measure's surrogate: one algorithm per file, one loop for all of them."""

from metricwise.solvers.cutting_plane import CuttingPlane
from metricwise.solvers.loop import Limits, run
from metricwise.solvers.problem import MultivariateProblem, make_problem
from metricwise.solvers.smoothing import Smoothing

__all__ = ["CuttingPlane", "Limits", "MultivariateProblem", "Smoothing", "make_problem", "run"]
