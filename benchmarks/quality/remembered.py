"""Fits of the peers' learners, which do not depend on the measure, made once for all measures.

The processor seconds of a fit that is remembered are those it took when it was made: they are counted every time.
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

_KEPT = Memory(ROOT / "benchmarks" / "results" / "raw" / "quality_fits", verbose=0)


class Ledger:
    """Seconds by which the clock is wrong, because fits were remembered or looked up."""

    owed = 0.0

    @classmethod
    def settle(cls) -> float:
        """Return what is owed, and owe nothing."""
        owed, cls.owed = cls.owed, 0.0
        return owed


@_KEPT.cache(ignore=["learner", "X", "y"])
def _fitted(key: str, learner: Any, X: Any, y: Any) -> tuple[Any, float]:
    started = time.process_time()
    model = clone(learner).fit(X, y)
    return model, time.process_time() - started


def _learner_has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.learner, name))


class Remembered(ClassifierMixin, BaseEstimator):
    """A learner that does not learn twice from the same rows.

    Parameters
    ----------
    learner : classifier
        What learns, with every random state given.
    """

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def fit(self, X: Any, y: Any) -> Self:
        """Fit, or look up what was fitted."""
        started = time.process_time()
        key = joblib.hash((sklearn.__version__, type(self.learner).__name__, self.learner.get_params(), X, y))
        self.model_, seconds = _fitted(key, self.learner, X, y)
        self.classes_ = self.model_.classes_
        Ledger.owed += seconds - (time.process_time() - started)
        return self

    def predict(self, X: Any) -> Any:
        """Return the learner's labels."""
        return self.model_.predict(X)

    @_learner_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Return the learner's probabilities."""
        return self.model_.predict_proba(X)

    @_learner_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Return the learner's scores."""
        return self.model_.decision_function(X)
