"""Cache of the fits of the peers' learners, which do not depend on the measure.

A cached fit counts with the processor seconds that it took when it was computed, every time it is used.
"""

from __future__ import annotations

import time
from typing import Any, Self

import joblib
import sklearn
from joblib import Memory
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if

from benchmarks.context import ROOT

_MEMORY = Memory(ROOT / "benchmarks" / "results" / "raw" / "quality_fits", verbose=0)


class ClockCorrection:
    """Processor seconds to add to the clock: those of cached fits, minus the time to look them up."""

    seconds = 0.0

    @classmethod
    def reset(cls) -> float:
        """Return the correction and set it to zero."""
        seconds, cls.seconds = cls.seconds, 0.0
        return seconds


@_MEMORY.cache(ignore=["learner", "X", "y"])
def _fit(key: str, learner: Any, X: Any, y: Any) -> tuple[Any, float]:
    started = time.process_time()
    model = clone(learner).fit(X, y)
    return model, time.process_time() - started


def _learner_has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.learner, name))


class CachedFit(ClassifierMixin, BaseEstimator):
    """A learner whose fit is cached by its parameters and data.

    Parameters
    ----------
    learner : classifier
        The learner; its random states must be fixed.
    """

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def fit(self, X: Any, y: Any) -> Self:
        """Fit, or load the fit from the cache."""
        started = time.process_time()
        key = joblib.hash((sklearn.__version__, type(self.learner).__name__, self.learner.get_params(), X, y))
        self.model_, seconds = _fit(key, self.learner, X, y)
        self.classes_ = self.model_.classes_
        ClockCorrection.seconds += seconds - (time.process_time() - started)
        return self

    def predict(self, X: Any) -> Any:
        """Return the predicted labels of the learner."""
        return self.model_.predict(X)

    @_learner_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the learner."""
        return self.model_.predict_proba(X)

    @_learner_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Return the scores of the learner."""
        return self.model_.decision_function(X)
