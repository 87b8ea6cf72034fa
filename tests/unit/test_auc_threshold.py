"""The threshold of AUCSVC: from training scores where they are as good as out-of-fold scores."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise import AUCSVC


def make_data(n_samples, n_features=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features))
    return X, X[:, 0] + rng.normal(size=n_samples) > 1.0


def count_trainings(monkeypatch, model, X, y, **arguments):
    from metricwise.estimators.svm import training

    calls, solve = [], training.solve
    monkeypatch.setattr(training, "solve", lambda *args, **kwargs: calls.append(1) or solve(*args, **kwargs))
    model.fit(X, y, **arguments)
    return len(calls)


@pytest.mark.parametrize("norm", [1, 2])
def test_many_samples_per_feature_train_once(monkeypatch, norm):
    X, y = make_data(400)
    model = AUCSVC(norm=norm)
    assert count_trainings(monkeypatch, model, X, y) == 1
    assert model.threshold_ == AUCSVC(norm=norm, threshold="train").fit(X, y).threshold_


def test_few_samples_folds_and_groups_train_out_of_fold(monkeypatch):
    X, y = make_data(400)
    assert count_trainings(monkeypatch, AUCSVC(norm=2, cv=5), X, y) == 6
    assert count_trainings(monkeypatch, AUCSVC(norm=2), X, y, groups=np.arange(400) // 2) == 6
    assert count_trainings(monkeypatch, AUCSVC(norm=2), X[:60], y[:60]) == 6
