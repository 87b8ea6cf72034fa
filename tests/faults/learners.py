"""Learners that estimators must reject."""

from __future__ import annotations

from sklearn.linear_model import LogisticRegression


class OnlyLabels(LogisticRegression):
    """A learner without scores."""

    predict_proba = decision_function = property()
