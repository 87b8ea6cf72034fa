"""SPADE: the stochastic primal-dual method for concave measures (Narasimhan, Kar, Jain 2015, Algorithm 1).

Objective: the largest Psi(P, N), Psi concave, with the hinge-based rates

    P = mean over positives of min(1, s),    N = mean over negatives of min(1, -s).

As Psi(P, N) is the least of alpha P + beta N - Psi*(alpha, beta) over a region of slopes, this is a saddle point, and
each sample moves both sides of it:

1. ascent in w with the cost alpha / p for a positive and beta / (1 - p) for a negative, p the share of positives;
2. descent in (alpha, beta) against the sample's reward over the share of its class, minus the gradient of Psi* (the
   paper has the opposite sign; a Q-mean of one then needs slopes of minus infinity);
3. projection onto the region, exact (`metricwise.kernels.dual_regions`).

For the G-mean, whose slopes are not bounded, rewards are raised by t^(-1/4) (Theorem 5). The averaged model counts.
"""

from __future__ import annotations

from metricwise._typing import Indices
from metricwise.kernels import dual_regions, streaming
from metricwise.measures.rate_capabilities import DualRegion, HasDualRegion
from metricwise.solvers.point_updates import PointLearner, PointSettings
from metricwise.solvers.stream_data import StreamData
from metricwise.solvers.stream_state import StreamState

_REGIONS = {
    DualRegion.POINT: dual_regions.POINT,
    DualRegion.SIMPLEX: dual_regions.SIMPLEX,
    DualRegion.ROOTS: dual_regions.ROOTS,
    DualRegion.DISC: dual_regions.DISC,
    DualRegion.HYPERBOLA: dual_regions.HYPERBOLA,
}


class Spade(PointLearner):
    """SPADE for a measure with a dual region."""

    def __init__(self, measure: HasDualRegion, settings: PointSettings) -> None:
        super().__init__(settings)
        self._region = _REGIONS[measure.dual_region]

    def _train(self, state: StreamState, data: StreamData, samples: Indices) -> None:
        self._update(state, data, samples, self._region)

    def duals(self, state: StreamState) -> tuple[float, float]:
        """Return alpha and beta."""
        return float(state.numbers[streaming.ALPHA]), float(state.numbers[streaming.BETA])
