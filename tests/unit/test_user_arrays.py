"""Lists that are no arrays raise an error that names the argument; reviews stand beside labels of every type."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from metricwise import FBeta, GuaranteeMonitor, PlugInClassifier, TriageClassifier

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
Y = (X[:, 0] + 0.5 * RANDOM.normal(size=60) > 0).astype(int)
RAGGED = [[1], [1, 2]] * 30


def _fit(y=Y, groups=None, **settings):
    return PlugInClassifier(LogisticRegression(), **settings).fit(X, y, groups=groups)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _fit(groups=RAGGED), "groups has entries of different lengths"),
        (lambda: FBeta().score([0, [1, 2]], [0, 1]), "y has entries of different lengths"),
        (lambda: GuaranteeMonitor("precision>=0.9").update([0, 1], [1, [1, 2]]), "has entries of different lengths"),
        (
            lambda: GuaranteeMonitor("precision>=0.9").update({0: 1}, {0: 1}),
            "one label or a column of them",
        ),
        (lambda: _fit(cv=[0.5]), "each split a pair"),
        (lambda: _fit(cv=["ab"]), "each split a pair"),
        (lambda: _fit(cv=[iter([[0], [1], [2]])]), "each split a pair"),
        (lambda: _fit(cv=np.array(0.5)), "each split a pair"),
    ],
)
def test_lists_that_are_no_arrays_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_splits_of_a_generator_are_used():
    splits = ((np.arange(60)[k::2], np.arange(60)[1 - k :: 2]) for k in range(2))
    assert np.mean(_fit(cv=splits).predict(X) == Y) > 0.7


def test_splits_may_be_iterators():
    halves = [np.arange(60)[k::2] for k in range(2)]
    splits = [iter((halves[k], halves[1 - k])) for k in range(2)]
    assert np.array_equal(_fit(cv=splits).predict(X), _fit(cv=list(zip(halves, halves[::-1], strict=True))).predict(X))


def test_dates_may_be_reviewed():
    dates = np.where(Y == 1, np.datetime64("2020-01-01"), np.datetime64("2021-01-01"))
    model = TriageClassifier(LogisticRegression(), capacity=0.3, pos_label=dates[Y == 1][0]).fit(X, dates)
    found = set(model.predict(X).tolist())
    assert model.review_label_ in found
    assert len(found) == 3
