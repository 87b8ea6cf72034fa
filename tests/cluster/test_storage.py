"""The same training in four ways: dense, sparse, on disk, and on a cluster with two worker processes.

Estimators that train on chunks and the measures they take come from the registry: one that is added is tested here.
"""

from __future__ import annotations

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold

from metricwise import AUCSVC, MultivariateSVC, certify, measure_names
from metricwise.registry import entries
from tests.contracts.cases import LATER, ON_DISK, OWN, make_data, stored

X, POSITIVE = make_data(n_samples=120, n_features=4, seed=3)
LABELS = np.where(POSITIVE, "yes", "no")
CHUNKS = (40, 1, 32, 47)
SETTINGS = {"threshold": 0.05, "tol": 1e-4}  # folds would train five times as often; two cases have them


def _cases():
    for entry in sorted(entries("svm", trains_on="cluster"), key=lambda entry: entry.name):
        for measure in measure_names(entry.name):
            yield f"{entry.name} {measure}", entry.load()(measure=measure, **SETTINGS)
    yield "MultivariateSVC own", MultivariateSVC(OWN, **SETTINGS)
    yield "MultivariateSVC later area", MultivariateSVC(LATER, **SETTINGS)
    yield "AUCSVC squared", AUCSVC(norm=2, **SETTINGS)
    yield "MultivariateSVC f1 folds", MultivariateSVC("f1")
    yield "MultivariateSVC prbep given folds", MultivariateSVC("prbep", C=0.1, cv=KFold(3))


CASES = dict(_cases())


def _dense_chunks(rows):
    return da.from_array(rows, chunks=(CHUNKS, -1))


ON_CLUSTER = {
    "dense": _dense_chunks,
    "single": lambda rows: _dense_chunks(rows.astype(np.float32)),  # all numbers are exact in single precision
    "CSR": lambda rows: _dense_chunks(rows).map_blocks(sparse.csr_array, meta=sparse.csr_array((0, 0))),
    "frame": lambda rows: dd.from_pandas(pd.DataFrame(rows, columns=[f"x{k}" for k in range(4)]), npartitions=3),
}
LABELS_ON_CLUSTER = (LABELS, da.from_array(LABELS, chunks=60), dd.from_pandas(pd.Series(LABELS), npartitions=2))


def test_every_estimator_that_trains_on_chunks_is_among_the_cases():
    assert {name.split()[0] for name in CASES} == {"AMPClassifier", "AUCSVC", "MultivariateSVC", "SmoothedSVC"}


@pytest.fixture(scope="module")
def in_memory():
    """The model of dense samples, once for each case."""
    kept = {}

    def trained(name):
        if name not in kept:
            kept[name] = clone(CASES[name]).fit(X, LABELS)
        return kept[name]

    return trained


def room_of_scores(found, known):
    """How far scores may be apart: objectives with 1/2 |w|^2 have their optimum within sqrt(2 gap) of weights."""
    if hasattr(found, "levels"):
        return 0.0  # ratios of rates have another objective, and agree to rounding
    distance = sum(np.sqrt(2 * max(result.certificate.gap, 0.0)) for result in (found, known))
    return distance * np.sqrt((X**2).sum(axis=1).max() + 1.0)


def assert_the_same(model, expected, rows, labels, predicted, scores, score):
    """The certificate, the certificate computed anew from the samples where they are, and all answers."""
    found, known = model.result_, expected.result_
    assert found.status == known.status
    bounds, others = found.certificate, known.certificate
    rounding = 1e-9 * abs(others.upper)
    assert bounds.upper == pytest.approx(others.upper, rel=model.tol)
    assert bounds.lower == pytest.approx(others.lower, rel=model.tol)
    # The optimum lies in both intervals.
    assert max(bounds.lower, others.lower) <= min(bounds.upper, others.upper) + rounding
    proved = certify(model, rows, labels)
    assert proved.upper == pytest.approx(bounds.upper, rel=1e-6)
    assert proved.lower <= min(bounds.upper, others.upper) + 1e-6 * abs(others.upper)
    assert proved.relative <= 1.1 * model.tol
    here = certify(model, X, LABELS)
    assert (proved.upper, proved.lower) == pytest.approx((here.upper, here.lower), rel=1e-9)
    np.testing.assert_allclose(scores, expected.decision_function(X), atol=1e-6 + room_of_scores(found, known))
    np.testing.assert_array_equal(predicted, expected.predict(X))
    assert score == pytest.approx(expected.score(X, LABELS))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ["sparse", *ON_DISK])
def test_sparse_and_on_disk(name, kind, in_memory):
    rows = stored(X, kind)
    model = clone(CASES[name]).fit(rows, LABELS)
    answers = model.predict(rows), model.decision_function(rows), model.score(rows, LABELS)
    assert_the_same(model, in_memory(name), rows, LABELS, *answers)


@pytest.mark.parametrize("name", CASES)
def test_on_a_cluster(name, in_memory, client):
    number = list(CASES).index(name)
    rows = list(ON_CLUSTER.values())[number % len(ON_CLUSTER)](X)
    labels = LABELS_ON_CLUSTER[number % len(LABELS_ON_CLUSTER)]
    model = clone(CASES[name]).fit(rows, labels, client=client)
    assert model.result_.bytes_moved > 0
    answers = dask.compute(model.predict(rows), model.decision_function(rows))
    assert_the_same(model, in_memory(name), rows, labels, *answers, model.score(rows, labels))
