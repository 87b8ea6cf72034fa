"""Learners that take sample weights, and can continue a training (warm start)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone

from metricwise._typing import Floats
from metricwise.decisions.weighting import last_step, takes_weights, weight_setting


@dataclass(frozen=True)
class WeightedLearner:
    """A classifier that takes sample weights, as such or as the last step of a pipeline.

    Attributes
    ----------
    estimator : classifier
        Never trained itself; copies are.
    prefix : str
        Prefix of the parameter names of the last step of a pipeline.
    """

    estimator: Any
    prefix: str = ""

    @classmethod
    def of(cls, estimator: Any) -> WeightedLearner:
        """Return the learner of a classifier.

        Raises
        ------
        TypeError
            If the classifier does not take sample weights.
        """
        prefix, last = last_step(estimator)
        if takes_weights(estimator):
            return cls(estimator, prefix)
        raise TypeError(
            f"{type(last).__name__} takes no sample_weight, so that classes cannot be given weights: use "
            "PlugInClassifier, which chooses a threshold for any classifier, or a classifier whose fit takes "
            "sample_weight"
        )

    def fit(self, X: Any, y: NDArray[Any], weights: Floats | None, start: Any = None) -> Any:
        """Train a copy, or continue the training of ``start``, and return the model."""
        settings = weight_setting(self.estimator, weights)
        if start is None or not self.can_continue(start):
            return clone(self.estimator).fit(X, y, **settings)
        warm = f"{self.prefix}warm_start"
        own = start.get_params()[warm]
        return start.set_params(**{warm: True}).fit(X, y, **settings).set_params(**{warm: own})

    def can_continue(self, model: Any) -> bool:
        """Return whether training a model again starts from its present weights.

        Linear models and networks do so if they have ``warm_start``. That of forests and boosted trees adds trees and
        leaves the old ones, which were grown for other class weights, unchanged.
        """
        last = last_step(model)[1]
        has_weights = hasattr(last, "coef_") or hasattr(last, "coefs_")
        return has_weights and "warm_start" in last.get_params(deep=False)
