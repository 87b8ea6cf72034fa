"""The benchmark of decisions of streams: same batches for all learners, river's probabilities, values and words."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import SGDClassifier

from benchmarks.online import BATCH, compare
from benchmarks.online_cost import MOST_COST, find_failures
from benchmarks.online_data import SHARES, Part, _drift, evaluate
from benchmarks.online_methods import FIXED, OURS, Chances, list_batches
from metricwise import OnlineMetricClassifier, get_measure

RNG = np.random.default_rng(0)


class Replay(ClassifierMixin, BaseEstimator):
    """A learner whose probabilities are its features, and that learns nothing."""

    def fit(self, X, y):
        return self

    def partial_fit(self, X, y, classes=None):
        return self

    def predict_proba(self, X):
        return np.column_stack([1.0 - X[:, 0], X[:, 0]]) if X.shape[1] == 1 else X


@pytest.mark.parametrize("measure", ["f1", "f1_macro"])
def test_probabilities_of_river_are_decided_as_by_the_classifier(measure):
    chances = RNG.beta(0.5, 2.0, size=(600, 1)) if measure == "f1" else RNG.dirichlet([3.0, 1.0, 0.5], size=600)
    if measure == "f1":
        y = (RNG.random(600) < chances[:, 0]).astype(np.int64)
    else:
        y = (chances.cumsum(axis=1) < RNG.random((600, 1))).sum(axis=1)
    seen = []
    model = OnlineMetricClassifier(
        Replay(), measure=measure, batch_size=1, listener=lambda _, predicted: seen.append(predicted)
    )
    model.partial_fit(chances, y, classes=np.unique(y))
    found = Chances(chances, chances[:50], 0.0).decide_online(y, measure)
    np.testing.assert_array_equal(found.predicted[1:], np.concatenate(seen))
    np.testing.assert_array_equal(found.tested, model.predict(chances[:50]))


def test_all_learners_learn_from_the_same_batches(monkeypatch):
    sizes = []
    original = SGDClassifier.partial_fit

    def partial_fit(self, X, y, **given):
        sizes.append(len(y))
        return original(self, X, y, **given)

    monkeypatch.setattr(SGDClassifier, "partial_fit", partial_fit)
    X = RNG.normal(size=(3000, 3))
    OnlineMetricClassifier().partial_fit(X, (X[:, 0] > 1.0).astype(int), classes=[0, 1])
    assert [own.stop - own.start for own in list_batches(3000)] == sizes


@pytest.mark.parametrize("measure", ["f1_macro", "f1_micro", "f1", "g_mean"])
def test_values_are_those_of_the_measures(measure):
    shape = (200, 4) if measure == "f1_micro" else 200
    y, predicted = RNG.integers(0, 2, size=(2, *np.atleast_1d(shape)))
    assert evaluate(measure, y, predicted) == pytest.approx(get_measure(measure).score(y, predicted))


def test_the_drifting_stream_has_its_shares_and_no_sample_twice():
    numbers, y = np.arange(4000.0)[:, None], np.arange(4000) % 2
    drifting = _drift(Part(numbers, numbers, y), 500, 0)
    assert np.unique(drifting.X).size == len(drifting.y) == 500 * len(SHARES)
    assert drifting.y.reshape(-1, 500).mean(axis=1).tolist() == list(SHARES)
    np.testing.assert_array_equal(drifting.y, drifting.X[:, 0] % 2)


def test_the_words_compare_at_the_same_number_of_samples():
    about = {"stream": "s", "measure": "f1"}
    records = [
        about | {"method": OURS, "at_1000": 0.3, "at_2000": 0.5, "n_samples": 2000, "end": 0.5, "test": 0.51},
        about | {"method": FIXED, "at_2000": 0.2, "n_samples": 2000, "end": 0.2, "test": 0.21},
        about | {"method": "short", "at_1000": 0.4, "n_samples": 1000, "end": 0.4, "test": 0.41},
        about | {"method": BATCH, "test": 0.6},
    ]
    text = compare(records)
    assert "0.500 against 0.200" in text and "0.400 after 1,000 samples (short)" in text and "has 0.300" in text


def test_costs_above_the_limit_are_failures():
    costs = [{"task": "t", "data": "dense", "batch": 10, "ratio": MOST_COST + excess} for excess in (-0.1, 0.1)]
    assert find_failures(costs) == ["t, dense, batches of 10: 1.60 times the learner's own cost, 1.5 are allowed"]
