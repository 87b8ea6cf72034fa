"""Thresholds that depend on the batch of samples to be predicted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.decisions.threshold_choice import expected_threshold, mix_log_odds
from metricwise.inference.threshold import Candidates
from metricwise.measures.base import CountsTable

# Weights of the threshold that selects the same share of the batch and of the one expected to be best on it; the rest
# is for the threshold from out-of-fold scores. Chosen on the problems that "auto" was chosen on.
_WEIGHTS = (0.4, 0.2)
_SAMPLES_TO_TRUST = 10.0  # selected samples of a batch that make it count half as much as it can


@stored_fields(version=1)
@dataclass(frozen=True)
class BatchRule:
    """The threshold for a batch: a mixture of the out-of-fold threshold and two that are computed from the batch.

    The final model's scores may be larger or smaller than those of the fold models. The threshold that selects the same
    share of the batch is not affected by that.

    Attributes
    ----------
    measure : CountsTable
        The measure of the predictions.
    threshold : float
        Chosen on out-of-fold log-odds.
    share : float
        Share of the out-of-fold samples above it.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import FBeta
    >>> rule = BatchRule(FBeta(), threshold=0.0, share=0.25)
    >>> round(rule.threshold_for(np.linspace(-4.0, 6.0, 1000)), 2)  # a batch with larger scores than out of fold
    0.53
    """

    measure: CountsTable
    threshold: float
    share: float

    def threshold_for(self, log_odds: Floats) -> float:
        """Return the threshold for a batch with the given log-odds; a batch of few samples hardly moves it."""
        if np.isnan(log_odds).any():
            raise ValueError(
                "the learner gives scores that are NaN, on which no threshold of a batch can be chosen: check its "
                "coefficients, and scale X"
            )
        batch = Candidates.of(np.ones(log_odds.size, dtype=bool), log_odds)
        same_share = batch.threshold_of_share(self.share, batch.shares())
        expected = expected_threshold(self.measure, log_odds)
        selected = self.share * log_odds.size
        trust = selected / (selected + _SAMPLES_TO_TRUST)
        matched, believed = _WEIGHTS
        weights = [1.0 - trust * (matched + believed), trust * matched, trust * believed]
        return mix_log_odds([self.threshold, same_share, expected], weights)
