"""Input that cannot be trained on a cluster raises one error that names the remedy."""

from __future__ import annotations

import sys

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from metricwise import (
    AUCSVC,
    FeatureSelectingSVC,
    MiniBatchSVC,
    MultivariateSVC,
    PlugInClassifier,
    SPADEClassifier,
    certify,
)
from tests.contracts.cases import make_data

X, POSITIVE = make_data(n_samples=40, n_features=4)
DATA = da.from_array(X, chunks=(10, -1))


OTHERS = [FeatureSelectingSVC("f1"), MiniBatchSVC("f1"), PlugInClassifier(LogisticRegression(), "f1")]


def change_chunk(number, change):
    """Return the samples with one chunk changed."""

    def block(samples, block_info=None):
        return change(samples) if block_info[0]["chunk-location"][0] == number else samples

    return DATA.map_blocks(block, meta=np.empty((0, 4)))


def make_samples_with(value):
    samples = X.copy()
    samples[23, 2] = value
    return samples


BAD = {
    "unknown chunk sizes": (DATA[DATA[:, 0] > 0], r"compute_chunk_sizes\(\)"),
    "split columns": (da.from_array(X, chunks=(10, 2)), r"rechunk\(\{1: -1\}\)"),
    "other width": (change_chunk(2, lambda samples: samples[:, :3]), "chunk 2 of X has 3 columns and chunk 0 has 4"),
    "other type": (
        change_chunk(1, lambda samples: samples.astype(np.float32)),
        "chunk 1 of X has entries of type float32",
    ),
    "other kind": (change_chunk(3, sparse.csr_array), "chunk 3 of X is a CSR matrix"),
    "no samples": (change_chunk(3, list), "chunk 3 of X is of type list"),
    "NaN": (da.from_array(make_samples_with(np.nan), chunks=(10, -1)), "NaN in chunk 2, sample 3 of it, column 2"),
    "infinity": (
        da.from_array(make_samples_with(-np.inf), chunks=(10, -1)),
        "infinity in chunk 2, sample 3 of it, column 2",
    ),
    "NaN in CSR": (
        da.from_array(make_samples_with(np.nan), chunks=(10, -1)).map_blocks(sparse.csr_array),
        "NaN in chunk 2, sample 3 of it, column 2",
    ),
    "text": (dd.from_pandas(pd.DataFrame({"a": X[:, 0], "b": "red"}), npartitions=2), "column 'b' of X holds"),
    "one dimension": (DATA[:, 0], "1 dimension"),
    "complex": (DATA + 1j, "complex128"),
    "all empty": (da.from_array(X[:0], chunks=(10, -1)), "X has no samples"),
    "a bag": (dd.from_pandas(pd.DataFrame(X), npartitions=2).to_bag(), "Dask array or a Dask data frame"),
    "a Delayed": (dask.delayed(X), "is a Dask Delayed.*from_delayed"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_samples_raise(name, client):
    data, message = BAD[name]
    model = MultivariateSVC("f1", threshold="train")
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(data, POSITIVE)
    assert not hasattr(model, "n_features_in_")


def test_misaligned_labels_raise(client):
    with pytest.raises(ValueError, match="40 samples and y has 39 labels"):
        MultivariateSVC("f1").fit(DATA, da.from_array(POSITIVE[:-1], chunks=10))
    with pytest.raises(ValueError, match="requires y"):
        MultivariateSVC("f1").fit(DATA)


def test_empty_partitions_are_skipped(client):
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")).sort_values("a", ignore_index=True), npartitions=4)
    selected = frame[frame["a"] > 0.5]
    assert 0 in selected.map_partitions(len).compute().tolist()
    labels = selected["b"] > 0.2
    there = MultivariateSVC("f1", threshold=0.0).fit(selected, labels)
    here = MultivariateSVC("f1", threshold=0.0).fit(selected.compute(), labels.compute())
    assert there.result_.certificate.upper == pytest.approx(here.result_.certificate.upper, rel=1e-3)
    assert len(there.predict(selected).compute()) == len(labels)
    scores = there.decision_function(selected)
    assert {part.dtype for part in dask.compute(*scores.to_delayed())} == {np.dtype(np.float64)}


@pytest.mark.parametrize("model", [MultivariateSVC("f1", kernel="rbf"), AUCSVC(pairs="kmeans")], ids=["rbf", "kmeans"])
def test_settings_that_need_samples_in_memory_raise(model, client):
    with pytest.raises(ValueError, match=r"kernel='linear' and pairs='exact'.*X.compute\(\)"):
        model.fit(DATA, POSITIVE)


@pytest.mark.parametrize("model", OTHERS, ids=[type(other).__name__ for other in OTHERS])
def test_classifiers_that_do_not_train_on_a_cluster_raise(model, client):
    with pytest.raises(ValueError, match=r"needs all samples in memory.*X.compute\(\)"):
        model.fit(DATA, POSITIVE)


def test_a_closed_client_raises(cluster, client):
    closed = Client(cluster, set_as_default=False)
    closed.close()
    with pytest.raises(ValueError, match="client is closed, not running"):
        MultivariateSVC("f1").fit(DATA, POSITIVE, client=closed)


def test_a_client_for_samples_in_memory_raises(client):
    with pytest.raises(ValueError, match=r"dask.array.from_array\(X"):
        MultivariateSVC("f1").fit(X, POSITIVE, client=client)


def test_invalid_samples_in_prediction_raise(client):
    model = MultivariateSVC("f1", threshold=0.0).fit(DATA, POSITIVE)
    with pytest.raises(ValueError, match=r"rechunk\(\{1: -1\}\)"):
        model.predict(da.from_array(X, chunks=(10, 2)))
    with pytest.raises(ValueError, match=r"reshape\(-1, 1\)"):
        model.predict(DATA[:, 0])
    with pytest.raises(TypeError, match=r"is a Dask Delayed.*from_delayed"):
        model.predict(dask.delayed(X))


def test_sequential_learning_on_a_cluster_raises(client):
    model = SPADEClassifier("g_mean")
    for method, arguments in {"partial_fit": (DATA, POSITIVE), "fit_stream": (DATA,)}.items():
        with pytest.raises(
            ValueError, match=rf"{method} learns from sample after sample.*use fit of STAMP.*compute\(\)"
        ):
            getattr(model, method)(*arguments, classes=[False, True])


def test_a_missing_package_raises_with_the_command_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install metricwise\[dask\]"):
        MultivariateSVC("f1").fit(DATA, POSITIVE)


CANNOT_BE_CERTIFIED = {
    "split columns": (da.from_array(X, chunks=(10, 2)), POSITIVE, r"rechunk\(\{1: -1\}\)"),
    "too few labels": (DATA, POSITIVE[:-1], "X has 40 samples but y has 39"),
    "no labels": (DATA, None, "pass y"),
    "fewer columns": (DATA[:, :3], POSITIVE, "X has 3 columns but the model was trained on 4"),
    "a bag": (dd.from_pandas(pd.DataFrame(X), npartitions=2).to_bag(), POSITIVE, "Dask array or a Dask data frame"),
    "unknown chunk sizes": (DATA[DATA[:, 0] > 0], POSITIVE, "compute_chunk_sizes"),
    "other widths": (
        da.from_delayed(dask.delayed(X[:, :3]), (40, 4), float),
        POSITIVE,
        "X has 3 columns but the model was trained on 4",
    ),
}


@pytest.mark.parametrize("name", CANNOT_BE_CERTIFIED)
def test_invalid_samples_in_certify_raise(name, client):
    data, labels, message = CANNOT_BE_CERTIFIED[name]
    model = MultivariateSVC("f1", threshold=0.0).fit(X, POSITIVE)
    with pytest.raises((ValueError, TypeError), match=message):
        certify(model, data, labels)


def test_certify_uses_the_given_client(cluster, client):
    model = MultivariateSVC("f1", threshold=0.0).fit(X, POSITIVE)
    closed = Client(cluster, set_as_default=False)
    closed.close()
    with pytest.raises(ValueError, match="client is closed, not running"):
        certify(model, DATA, POSITIVE, client=closed)
    with pytest.raises(ValueError, match=r"dask.array.from_array\(X"):
        certify(model, X, POSITIVE, client=client)
    curved = MultivariateSVC("f1", kernel="rbf", threshold=0.0).fit(X, POSITIVE)
    with pytest.raises(ValueError, match=r"needs all samples in memory.*X.compute\(\)"):
        certify(curved, DATA, POSITIVE)
