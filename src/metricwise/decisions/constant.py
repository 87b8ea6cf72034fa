"""The model of a label that all training samples have, or that none has."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from metricwise._state import StoredState
from metricwise._typing import Floats


class Constant:
    """Predicts the one value that a label has in training."""

    __stored_state__: ClassVar[StoredState] = StoredState(1, ("probability", "classes_"))

    def __init__(self, probability: float) -> None:
        self.probability = probability
        self.classes_ = np.array([0, 1])

    def set_params(self, **parameters: Any) -> Constant:
        """Ignore the parameters of the learner that this model stands for."""
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the same probabilities for every sample."""
        return np.tile([1.0 - self.probability, self.probability], (X.shape[0], 1))
