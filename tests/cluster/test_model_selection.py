"""Trials of the front door run on a cluster by joblib's Dask backend."""

from __future__ import annotations

import joblib
import pytest
from distributed import get_task_stream
from sklearn.datasets import make_classification

from metricwise import MetricClassifier


def test_trials_run_on_the_workers_and_choose_the_same(client):
    X, y = make_classification(n_samples=120, n_features=5, weights=[0.7], class_sep=1.5, random_state=0)
    here = MetricClassifier("f1", candidates=["logistic"], cv=3).fit(X, y)
    with joblib.parallel_config(backend="dask"), get_task_stream(client) as stream:
        there = MetricClassifier("f1", candidates=["logistic"], cv=3, n_jobs=2).fit(X, y)
    assert len(stream.data) > 0
    assert there.expected_score_ == pytest.approx(here.expected_score_)
    assert (there.predict(X) == here.predict(X)).all()
