"""How a measure is optimised: one algorithm a file, one loop for all of them."""

from metricwise.solvers.cutting_plane import CuttingPlane
from metricwise.solvers.loop import Limits, run
from metricwise.solvers.problem import MultivariateProblem, make_problem
from metricwise.solvers.smoothing import Smoothing

SOLVERS = {"cutting-plane": CuttingPlane, "smoothing": Smoothing}

__all__ = ["SOLVERS", "CuttingPlane", "Limits", "MultivariateProblem", "Smoothing", "make_problem", "run"]
