"""Every method of every estimator refuses sparse matrices with entries outside of their shape, of every format.

Compiled code follows positions: a test that ends the process shows a method that reads a matrix before it is checked.
"""

from __future__ import annotations

import inspect
import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB

import metricwise
from metricwise.inference import gfm_from_samples
from metricwise.registry import entries

RNG = np.random.default_rng(0)
N_SAMPLES = 40
X = np.round(RNG.normal(size=(N_SAMPLES, 4)), 1) * (RNG.random((N_SAMPLES, 4)) < 0.7)
Y = (X[:, 0] + 0.3 * RNG.normal(size=N_SAMPLES) > 0.0).astype(int)
LABELS = np.column_stack([Y, 1 - Y, X[:, 1] > 0.0]).astype(int)
GROUPS = np.repeat(np.arange(4), N_SAMPLES // 4)
FAR = 10**8
DAMAGE = {
    "csr": {"indices": (1, FAR), "indptr": (1, FAR)},
    "csc": {"indices": (1, -FAR), "indptr": (1, -FAR)},
    "bsr": {"indices": (1, FAR), "indptr": (1, -FAR)},
    "coo": {"row": (1, -FAR), "col": (1, FAR)},
    "lil": {"rows": (0, [FAR])},
}
LEARNERS = {"OnlineMetricClassifier": SGDClassifier(loss="log_loss")}
SETTINGS = {
    "MetricClassifier": {"candidates": {"bayes": GaussianNB(), "line": LogisticRegression()}},
    "AdaptedSVC": {"estimators": [("line", LogisticRegression())]},
}


def damage(matrix, form):
    """Yield copies of a matrix in a format, each with one entry outside."""
    for attribute, (position, value) in DAMAGE[form].items():
        damaged = getattr(sparse, f"{form}_matrix")(matrix)
        getattr(damaged, attribute)[position] = value
        if form == "lil":
            damaged.data[position] = [1.0]
        yield damaged


def make_estimator(name):
    kind = getattr(metricwise, name)
    settings = dict(SETTINGS.get(name, {}))
    if "estimator" in inspect.signature(kind).parameters:
        settings["estimator"] = LEARNERS.get(name, LogisticRegression())
    return kind(**settings)


def make_arguments(method, name, samples):
    """Return the arguments of a method by their names."""
    is_multilabel = name in {entry.name for entry in entries("multilabel")}
    given = {"X": samples, "y": LABELS if is_multilabel else Y, "groups": GROUPS, "classes": [0, 1], "n_samples": 3}
    wanted = inspect.signature(method).parameters
    return {key: value for key, value in given.items() if key in wanted}


@cache
def fit(name):
    model = make_estimator(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(**make_arguments(model.fit, name, X))


def list_methods(model):
    """Return the methods that take samples."""
    named = ((name, getattr(model, name, None)) for name in dir(type(model)) if not name.startswith("_"))
    return [method for name, method in named if callable(method) and "X" in inspect.signature(method).parameters]


def expect_refusal(call, *arguments, what="X", **named):
    with pytest.raises(ValueError, match=f"{what} is not a valid [A-Z]+ matrix"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(*arguments, **named)


@pytest.mark.parametrize("form", DAMAGE)
@pytest.mark.parametrize("name", sorted(entry.name for entry in entries()))
def test_every_method_refuses_damaged_samples(name, form):
    methods = list_methods(fit(name))
    assert {"fit", "predict", "score"} <= {method.__name__ for method in methods}
    for damaged in damage(X, form):
        for method in methods:
            arguments = make_arguments(method, name, damaged)
            if method.__name__ in ("fit", "partial_fit"):
                method = getattr(make_estimator(name), method.__name__)
            expect_refusal(method, **arguments)


@pytest.mark.parametrize("form", DAMAGE)
def test_functions_refuse_damaged_samples(form):
    classifier = fit("PlugInClassifier")
    for damaged in damage(X, form):
        for name in (entry.name for entry in entries() if entry.has_certificate):
            expect_refusal(metricwise.certify, fit(name), damaged, Y)
        expect_refusal(metricwise.adapt_prior, classifier, damaged)
        expect_refusal(metricwise.report, classifier, damaged, Y, sample_weight=Y + 1.0)
        expect_refusal(metricwise.MeasureCurveDisplay.from_estimator, classifier, damaged, Y)
        expect_refusal(metricwise.STAMPClassifier().fit_stream, [(damaged, Y)], classes=[0, 1])
    for damaged in damage(LABELS, form):
        expect_refusal(gfm_from_samples, damaged, what="samples")
        expect_refusal(gfm_from_samples, [damaged], what=r"samples\[0\]")


@pytest.mark.parametrize("form", DAMAGE)
@pytest.mark.parametrize("name", ["BinaryRelevance", "ProbabilisticClassifierChain", "PlugInClassifier"])
def test_damaged_labels_are_refused(name, form):
    for damaged in damage(LABELS, form):
        expect_refusal(make_estimator(name).fit, X, damaged, what="y")
        if name != "PlugInClassifier":
            expect_refusal(fit(name).score, X, damaged, what="y")
