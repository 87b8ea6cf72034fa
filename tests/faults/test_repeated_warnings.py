"""Every estimator warns once per cause, however many models it trains."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import metricwise
from metricwise.estimators.guarded_fit import warn_once_per_cause

RNG = np.random.default_rng(0)
N = 90
X = RNG.normal(size=(N, 4))
SCORE = X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * RNG.normal(size=N)
Y = (SCORE > 0.5).astype(int)
FEW = (np.sort(SCORE)[-3] <= SCORE).astype(int)

DATA = {
    "plain": (X, Y),
    "constant columns": (np.column_stack([X, np.ones(N), np.zeros(N)]), Y),
    "nothing but constants": (np.ones((N, 3)), Y),
    "duplicates": (np.repeat(X[:9], 10, axis=0), np.repeat(Y[:9], 10)),
    "separable": (1e3 * X, (X[:, 0] > 0).astype(int)),
    "noise": (X, RNG.permutation(Y)),
    "few positives": (X, FEW),
    "one positive": (X, (np.arange(N) == np.argmax(SCORE)).astype(int)),
    "three classes": (X, np.digitize(SCORE, [-0.5, 0.8])),
    "scales": (X * [1e-8, 1.0, 1e8, 1e12], Y),
}


def stopped():
    return LogisticRegression(max_iter=1)


MODELS = {
    "MultivariateSVC": lambda: metricwise.MultivariateSVC("f1", max_iter=1),
    "AUCSVC": lambda: metricwise.AUCSVC(max_iter=1),
    "SmoothedSVC": lambda: metricwise.SmoothedSVC("roc_auc", max_iter=1),
    "FeatureSelectingSVC": lambda: metricwise.FeatureSelectingSVC("f1", max_iter=1),
    "SparseCodingClassifier": lambda: metricwise.SparseCodingClassifier("f1", max_iter=1),
    "AMPClassifier": lambda: metricwise.AMPClassifier("f1", max_iter=1),
    "STAMPClassifier": lambda: metricwise.STAMPClassifier("f1"),
    "PlugInClassifier": lambda: metricwise.PlugInClassifier(stopped(), "f1"),
    "PlugInClassifier of ours": lambda: metricwise.PlugInClassifier(metricwise.MultivariateSVC(max_iter=1), "f1"),
    "TriageClassifier": lambda: metricwise.TriageClassifier(stopped(), "f1"),
    "CostSensitiveClassifier": lambda: metricwise.CostSensitiveClassifier(stopped(), "f1"),
    "AdaptedSVC": lambda: metricwise.AdaptedSVC("f1", [("a", stopped()), ("b", LogisticRegression(C=0.1, max_iter=1))]),
    "MetricClassifier": lambda: metricwise.MetricClassifier("f1", candidates={"line": stopped()}),
    "BinaryRelevance": lambda: metricwise.BinaryRelevance(stopped()),
    "ProbabilisticClassifierChain": lambda: metricwise.ProbabilisticClassifierChain(stopped()),
}


def record_warnings(model, samples, y):
    """Return the warnings of a fit; data that the estimator refuses give none."""
    if isinstance(model, metricwise.BinaryRelevance | metricwise.ProbabilisticClassifierChain):
        y = np.column_stack([y > 0, X[:, 0] > 0.0, y > 1]).astype(int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(samples, y)
        except ValueError:
            return []
    return caught


@pytest.mark.parametrize("name", list(MODELS))
def test_every_cause_gives_one_warning(name):
    total = 0
    for samples, y in DATA.values():
        caught = record_warnings(MODELS[name](), samples, y)
        causes = [(one.category, str(one.message)[:30]) for one in caught]
        assert len(set(causes)) == len(causes) <= 3, causes
        total += len(causes)
    assert total > 0


def test_errors_instead_of_warnings_leave_the_model_unfitted():
    model = metricwise.PlugInClassifier(stopped(), "f1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            model.fit(X, Y)
    assert not hasattr(model, "classes_")


def test_other_threads_leave_the_filters_of_warnings_alone():
    before, during = list(warnings.filters), []

    def run():
        with warn_once_per_cause():
            during.append(list(warnings.filters) == before)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert during == [True]


@pytest.mark.parametrize("module", ["sklearn", "sklearn.linear_model"])
def test_filters_that_name_a_module_hold(module):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=ConvergenceWarning, module=module)
        metricwise.PlugInClassifier(stopped(), "f1").fit(X, Y)
    assert not [one for one in caught if one.category is ConvergenceWarning]
