"""The same model from dense and sparse samples, samples on disk, and a cluster with two worker processes.

Estimators that train on chunks and the measures they take come from the registry: one that is added is tested here.
"""

from __future__ import annotations

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from metricwise import AUCSVC, MultivariateSVC, certify, measure_names
from metricwise.registry import entries
from tests.cluster.chunked import make_csr_chunks, make_dense_chunks
from tests.contracts.cases import LATER, ON_DISK, OWN, make_data, store

X, POSITIVE = make_data(n_samples=120, n_features=4, seed=3)
LABELS = np.where(POSITIVE, "yes", "no")
CHUNKS = (40, 1, 32, 47)
SETTINGS = {
    "threshold": 0.05,
    "tol": 1e-4,
    "pos_label": "yes",
}  # without folds, which need five more fits; two cases have them


def list_cases():
    for entry in sorted(entries("svm", trains_on="cluster"), key=lambda entry: entry.name):
        for measure in measure_names(entry.name):
            yield f"{entry.name} {measure}", entry.load()(measure=measure, **SETTINGS)
    yield "MultivariateSVC own", MultivariateSVC(OWN, **SETTINGS)
    yield "MultivariateSVC later area", MultivariateSVC(LATER, **SETTINGS)
    yield "AUCSVC squared", AUCSVC(norm=2, **SETTINGS)
    yield "MultivariateSVC f1 folds", MultivariateSVC("f1", pos_label="yes")
    yield "MultivariateSVC prbep given folds", MultivariateSVC("prbep", C=0.1, cv=KFold(3), pos_label="yes")


CASES = dict(list_cases())


ON_CLUSTER = {
    "dense": lambda samples: make_dense_chunks(samples, CHUNKS),
    "single": lambda samples: make_dense_chunks(samples.astype(np.float32), CHUNKS),  # exact in single precision
    "CSR": lambda samples: make_csr_chunks(samples, CHUNKS),
    "frame": lambda samples: dd.from_pandas(pd.DataFrame(samples, columns=[f"x{k}" for k in range(4)]), npartitions=3),
}
LABELS_ON_CLUSTER = (LABELS, da.from_array(LABELS, chunks=60), dd.from_pandas(pd.Series(LABELS), npartitions=2))


def test_every_estimator_that_trains_on_a_cluster_is_among_the_cases():
    assert {name.split()[0] for name in CASES} == {"AMPClassifier", "AUCSVC", "MultivariateSVC", "SmoothedSVC"}


@pytest.fixture(scope="module")
def in_memory():
    """Return a function that trains the model of a case on dense samples once."""
    models = {}

    def train(name):
        if name not in models:
            models[name] = clone(CASES[name]).fit(X, LABELS)
        return models[name]

    return train


def compute_score_tolerance(model, expected):
    """Return how far scores may differ: an objective of 1/2 |w|^2 + ... is minimal within sqrt(2 gap) of the weights.

    The levels of ratios of rates have the regulariser 1/2 ridge |w|^2 / B, with a denominator B of at most two.
    """
    scale = 1.0
    if hasattr(model.result_, "levels"):
        scale = 2.0 * model.C * model.measure_.mistakes_per_loss(POSITIVE.sum(), (~POSITIVE).sum())
    gaps = [max(one.result_.certificate.gap, 0.0) for one in (model, expected)]
    return sum(np.sqrt(2.0 * scale * gap) for gap in gaps) * np.sqrt((X**2).sum(axis=1).max() + 1.0)


def assert_same_model(model, expected, samples, labels, predicted, scores, score):
    """Check the certificate, the recomputed certificate and all predictions."""
    found, known = model.result_, expected.result_
    assert found.status == known.status
    bounds, others = found.certificate, known.certificate
    rounding = 1e-9 * abs(others.upper)
    assert bounds.upper == pytest.approx(others.upper, rel=model.tol)
    assert bounds.lower == pytest.approx(others.lower, rel=model.tol)
    # The optimum lies in both intervals.
    assert max(bounds.lower, others.lower) <= min(bounds.upper, others.upper) + rounding
    recomputed = certify(model, samples, labels)
    assert recomputed.upper == pytest.approx(bounds.upper, rel=1e-6)
    assert recomputed.lower <= min(bounds.upper, others.upper) + 1e-6 * abs(others.upper)
    assert recomputed.relative <= 1.1 * model.tol
    local = certify(model, X, LABELS)
    assert (recomputed.upper, recomputed.lower) == pytest.approx((local.upper, local.lower), rel=1e-9)
    known_scores, tolerance = expected.decision_function(X), 1e-6 + compute_score_tolerance(model, expected)
    np.testing.assert_allclose(scores, known_scores, atol=tolerance)
    np.testing.assert_array_equal(predicted, np.where(scores > 0.0, "yes", "no"))
    if np.array_equal(predicted, expected.predict(X)):
        assert score == pytest.approx(expected.score(X, LABELS))
    else:
        assert np.abs(known_scores[predicted != expected.predict(X)]).max() <= tolerance


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ["sparse", *ON_DISK])
def test_sparse_samples_and_samples_on_disk_give_the_same_model(name, kind, in_memory):
    samples = store(X, kind)
    model = clone(CASES[name]).fit(samples, LABELS)
    predictions = model.predict(samples), model.decision_function(samples), model.score(samples, LABELS)
    assert_same_model(model, in_memory(name), samples, LABELS, *predictions)


@pytest.mark.parametrize("name", CASES)
def test_a_cluster_gives_the_same_model(name, in_memory, client):
    number = list(CASES).index(name)
    samples = list(ON_CLUSTER.values())[number % len(ON_CLUSTER)](X)
    labels = LABELS_ON_CLUSTER[number % len(LABELS_ON_CLUSTER)]
    model = clone(CASES[name]).fit(samples, labels, client=client)
    assert model.result_.bytes_moved > 0
    predictions = dask.compute(model.predict(samples), model.decision_function(samples))
    assert_same_model(model, in_memory(name), samples, labels, *predictions, model.score(samples, labels))
