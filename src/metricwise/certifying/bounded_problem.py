"""A binary problem with everything its objective depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metricwise._typing import Floats, Mask
from metricwise.certifying.data import TrainingData


@dataclass(frozen=True)
class BoundedProblem:
    """The binary problem whose objective is bounded.

    Parameters
    ----------
    data : TrainingData
        The samples with weight.
    positive : array of bool of shape (n_samples,)
        Whether each of them is positive.
    weights : array of shape (n_samples,)
        Their weights, above zero.
    measure : Measure
        The measure that the model was trained for.
    C : float
        Cost of a mistake.
    """

    data: TrainingData
    positive: Mask
    weights: Floats
    measure: Any
    C: float

    @property
    def n_pos(self) -> float:
        """Weight of the positives."""
        return float(self.weights[self.positive].sum())

    @property
    def n_neg(self) -> float:
        """Weight of the negatives."""
        return float(self.weights[~self.positive].sum())
