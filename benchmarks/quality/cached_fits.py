"""Cache of what the peers' learners predict, since their fits do not depend on the measure.

Predictions are stored rather than models, which would need gigabytes. A cached fit counts with the processor seconds
that it took when it was computed, every time it is used.
"""

from __future__ import annotations

import time
from typing import Any, Self

import joblib
import numpy as np
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


@_MEMORY.cache(ignore=["fit"])
def _training_seconds(key: str, fit: CachedFit) -> float:
    return fit.train()[1]


@_MEMORY.cache(ignore=["fit", "X"])
def _predict(key: str, method: str, fit: CachedFit, X: Any) -> tuple[Any, float]:
    """Return the predictions of a fit, and the processor seconds of predicting."""
    model, _ = fit.train()
    started = time.process_time()
    return getattr(model, method)(X), time.process_time() - started


def _learner_has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.learner, name))


class CachedFit(ClassifierMixin, BaseEstimator):
    """A learner whose predictions are cached by its parameters, its training samples and the samples to predict.

    It is trained again if predictions are asked for that are not in the cache; that time does not count twice.

    Parameters
    ----------
    learner : classifier
        The learner; its random states must be fixed.
    """

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def fit(self, X: Any, y: Any) -> Self:
        """Fit, or find in the cache how long that took."""
        started = time.process_time()
        self.classes_ = np.unique(y)
        self._samples, self._trained = (X, y), None
        names = sklearn.__version__, type(self.learner).__name__, str(self.learner.get_params())
        self._key = joblib.hash((names, X, y))
        seconds = _training_seconds(self._key, self)
        ClockCorrection.seconds += seconds - (time.process_time() - started)
        return self

    def train(self) -> tuple[Any, float]:
        """Return the trained learner and the processor seconds of its training."""
        if self._trained is None:
            started = time.process_time()
            model = clone(self.learner).fit(*self._samples)
            self._trained = model, time.process_time() - started
        return self._trained

    def predict(self, X: Any) -> Any:
        """Return the predicted labels of the learner."""
        return self._look_up("predict", X)

    @_learner_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the learner."""
        return self._look_up("predict_proba", X)

    @_learner_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Return the scores of the learner."""
        return self._look_up("decision_function", X)

    def _look_up(self, method: str, X: Any) -> Any:
        started = time.process_time()
        response, seconds = _predict(joblib.hash((self._key, X)), method, self, X)
        ClockCorrection.seconds += seconds - (time.process_time() - started)
        return response
