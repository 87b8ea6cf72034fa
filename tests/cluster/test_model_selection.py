"""Candidates of MetricClassifier are trained on a cluster by joblib's Dask backend."""

from __future__ import annotations

import joblib
import pytest
from distributed import get_task_stream
from sklearn.datasets import make_classification

from metricwise import MetricClassifier


def test_candidates_are_trained_on_the_workers_with_the_same_result(client):
    X, y = make_classification(n_samples=120, n_features=5, weights=[0.7], class_sep=1.5, random_state=0)
    local = MetricClassifier("f1", candidates=["logistic"], cv=3).fit(X, y)
    with joblib.parallel_config(backend="dask"), get_task_stream(client) as stream:
        remote = MetricClassifier("f1", candidates=["logistic"], cv=3, n_jobs=2).fit(X, y)
    assert len(stream.data) > 0
    assert remote.expected_score_ == pytest.approx(local.expected_score_)
    assert (remote.predict(X) == local.predict(X)).all()
