"""Guarantees of MetricClassifier hold with their confidence, whatever was selected.

`python -m benchmarks.guarantees` does the same with 200 fits and more candidates.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from metricwise import MetricClassifier, RecallAtPrecision, UnreachableGuaranteeError


def draw_samples(random, n):
    y = random.random(n) < 0.3
    X = random.normal(size=(n, 3)) + 2.0 * y[:, None] * np.array([1.0, 0.7, 0.0])
    return X, y


def test_guarantees_of_the_selected_model_hold():
    """Of 40 fits, each on its own samples, at most five break a guarantee with confidence 0.95, and some are given."""
    learners = {"linear": LogisticRegression(), "bayes": GaussianNB()}
    X_new, y_new = draw_samples(np.random.default_rng(1000), 20_000)
    kept, broken = 0, 0
    for seed in range(40):
        model = MetricClassifier(RecallAtPrecision(0.8), candidates=learners, cv=2, random_state=seed)
        try:
            model.fit(*draw_samples(np.random.default_rng(seed), 600))
        except UnreachableGuaranteeError:
            continue
        is_kept = np.mean(y_new[model.predict(X_new)]) >= 0.8
        kept, broken = kept + is_kept, broken + (not is_kept)
    # At a probability of 0.05 each, six or more of 40 break once in 70 times; it is at most that for the fixed seeds.
    assert broken <= 5 and kept >= 20
