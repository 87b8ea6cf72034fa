"""Training on a cluster gives the model of training in memory, and transfers vectors instead of samples."""

from __future__ import annotations

import subprocess
import sys

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import metricwise
from metricwise import AUCSVC, MultivariateSVC, certify
from metricwise.designs import make_design
from metricwise.designs.cluster.blocks import persist_blocks
from metricwise.designs.cluster.source import DaskSource
from tests.cluster.chunked import make_csr_chunks, make_dense_chunks
from tests.contracts.cases import TOL, make_data

X, POSITIVE = make_data()
NAMES = [f"feature {k}" for k in range(X.shape[1])]
CHUNKS = (20, 31, 1, 38)


def to_dense_chunks(samples):
    return make_dense_chunks(samples, CHUNKS)


def to_csr_chunks(samples):
    return make_csr_chunks(samples, CHUNKS)


def to_frame(samples):
    return dd.from_pandas(pd.DataFrame(samples, columns=NAMES), npartitions=3)


KINDS = {
    "dense": to_dense_chunks,
    "dense float32": lambda samples: to_dense_chunks(samples.astype(np.float32)),
    "CSR": to_csr_chunks,
    "CSR float32": lambda samples: to_csr_chunks(samples.astype(np.float32)),
    "frame": to_frame,
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def assert_same_optimum(found, expected):
    assert found.status.reached_tolerance
    assert found.certificate.upper == pytest.approx(expected.certificate.upper, rel=TOL)
    highest = max(found.certificate.lower, expected.certificate.lower)
    assert highest <= min(found.certificate.upper, expected.certificate.upper) * (1 + 1e-9)


@pytest.fixture(scope="module")
def sources(client):
    return {kind: DaskSource(persist_blocks(make(X), client)) for kind, make in KINDS.items()}


@each_kind
def test_products_equal_those_in_memory(kind, sources):
    rng = np.random.default_rng(0)
    samples = rng.integers(0, X.shape[0], size=70)
    here, there = (make_design(data, intercept=2.0).take(samples) for data in (X, sources[kind]))
    w, c = rng.normal(size=X.shape[1] + 1), rng.normal(size=samples.size)
    np.testing.assert_allclose(there.scores(w), here.scores(w), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(there.combine(c), here.combine(c), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(there.fingerprints(3), here.fingerprints(3))
    gathered = there.gather(np.array([5, 3, 3, 60]))
    np.testing.assert_allclose(gathered.scores(w), here.take(np.array([5, 3, 3, 60])).scores(w), rtol=1e-12, atol=1e-12)


def test_multiclass_weights_and_feature_names_of_a_frame(client):
    names = np.array(["no", "perhaps", "yes"])[POSITIVE.astype(int) + (X[:, 0] > 0.5)]
    weights = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    settings = {"threshold": 0.0, "class_weight": "balanced"}
    here = MultivariateSVC("f1", **settings).fit(X, names, weights)
    there = MultivariateSVC("f1", **settings)
    labels, counts = dd.from_pandas(pd.Series(names), npartitions=2), dd.from_pandas(pd.Series(weights), 2)
    there.fit(to_frame(X), labels, counts)
    for found, expected in zip(there.result_, here.result_, strict=True):
        assert_same_optimum(found, expected)
    proved = certify(there, to_frame(X), labels, counts, client=client)
    for found, expected in zip(proved, certify(there, X, names, weights), strict=True):
        assert (found.upper, found.lower) == pytest.approx((expected.upper, expected.lower), rel=1e-9)
        assert found.relative <= 1.1 * TOL
    assert list(there.feature_names_in_) == NAMES
    scores = there.decision_function(to_frame(X))
    assert list(scores.columns) == list(here.classes_)
    np.testing.assert_allclose(scores.compute(), there.decision_function(pd.DataFrame(X, columns=NAMES)))


def test_predictions_are_lazy_with_the_same_chunks(client):
    model = MultivariateSVC("f1", threshold=0.0).fit(to_dense_chunks(X), POSITIVE)
    for data in (to_dense_chunks(X), to_csr_chunks(X)):
        scores, labels = model.decision_function(data), model.predict(data)
        assert scores.chunks == labels.chunks == (CHUNKS,)
        assert labels.dtype == bool
        np.testing.assert_allclose(scores.compute(), model.decision_function(X), atol=1e-12)
        np.testing.assert_array_equal(labels.compute(), model.predict(X))
    samples = to_frame(X)
    labels = model.fit(samples, POSITIVE).predict(samples)
    assert labels.npartitions == samples.npartitions
    assert labels.compute().index.equals(samples.index.compute())


def test_one_vs_one_models_predict_chunk_by_chunk(client):
    classes = POSITIVE.astype(int) + (X[:, 0] > 0.5)
    model = AUCSVC(multi_class="ovo", threshold="train").fit(to_dense_chunks(X), classes)
    np.testing.assert_allclose(model.decision_function(to_dense_chunks(X)).compute(), model.decision_function(X))


def test_vectors_are_transferred_and_samples_are_not(client):
    many, positive = make_data(n_samples=4000, n_features=60)
    model = MultivariateSVC("f1", threshold="train", max_iter=6, tol=1e-9)
    with pytest.warns(UserWarning, match="max_iter"):
        model.fit(da.from_array(many, chunks=(1000, -1)), positive)
    moved = np.diff([entry.bytes_moved for entry in model.result_.history])
    # Eight bytes per score, weights to two workers and one vector per chunk; one byte for most coefficients.
    vectors = 8 * (4000 + 2 * 60 + 4 * 60) + 4000
    assert np.all(moved > 0)
    assert moved.max() <= 1.1 * vectors
    assert model.result_.bytes_moved == model.result_.history[-1].bytes_moved
    assert MultivariateSVC("f1", threshold="train").fit(X, POSITIVE).result_.bytes_moved == 0


def test_the_model_does_not_depend_on_the_placement_of_chunks(cluster, client):
    data = to_dense_chunks(X)
    models = [MultivariateSVC("f1", threshold="train").fit(data, POSITIVE) for _ in range(2)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert models[0].result_.certificate == models[1].result_.certificate


def test_a_model_trained_on_a_cluster_can_be_saved(client, tmp_path):
    model = MultivariateSVC("f1", threshold="train").fit(to_dense_chunks(X), POSITIVE)
    metricwise.save(model, tmp_path / "model.mw")
    again = metricwise.load(tmp_path / "model.mw")
    assert again.result_.bytes_moved == model.result_.bytes_moved > 0
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_dask_is_not_imported_before_it_is_needed():
    code = (
        "import sys, metricwise; metricwise.MultivariateSVC('f1').fit([[0.0], [1.0], [0.1], [0.9]], [0, 1, 0, 1]);"
        "sys.exit(any(name.split('.')[0] in ('dask', 'distributed') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False).returncode == 0
