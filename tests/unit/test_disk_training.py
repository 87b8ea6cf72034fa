"""Classifiers on samples on disk: the same models as in memory, within the memory limit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import metricwise
import metricwise.io
from metricwise import (
    AUCSVC,
    AdaptedSVC,
    CostSensitiveClassifier,
    FeatureSelectingSVC,
    MiniBatchSVC,
    MultivariateSVC,
    PlugInClassifier,
    SPADEClassifier,
    SparseCodingClassifier,
    STAMPClassifier,
)
from tests.unit.disk_files import NAMES, X, Y, write_npy, write_samples, write_wide_samples

RNG = np.random.default_rng(2)


@pytest.fixture
def npy(tmp_path):
    return write_npy(tmp_path)


def test_labels_are_read_with_the_samples(npy):
    samples = metricwise.io.open(npy, target=npy.parent / "y.npy", block_rows=700)
    model = MultivariateSVC("f1").fit(samples)
    assert model.score(samples) == model.score(samples, Y)
    assert metricwise.certify(model, samples) == metricwise.certify(model, samples, Y)
    np.testing.assert_allclose(model.decision_function(samples), MultivariateSVC("f1").fit(X, Y).decision_function(X))


def test_sample_weights_and_multiclass_give_the_model_in_memory(npy):
    labels = np.where(Y, 2, np.where(X[:, 2] > 0.5, 1, 0))
    weights = RNG.integers(0, 3, size=3000).astype(float)
    samples = metricwise.io.open(npy, block_rows=700)
    there = MultivariateSVC("f1", threshold="train").fit(samples, labels, sample_weight=weights)
    here = MultivariateSVC("f1", threshold="train").fit(X, labels, sample_weight=weights)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-6)
    for one, other in zip(
        metricwise.certify(there, samples, labels, weights), metricwise.certify(here, X, labels, weights), strict=True
    ):
        assert one.upper == pytest.approx(other.upper, rel=1e-9)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_weights_are_read_with_the_samples(tmp_path, suffix):
    weights = np.arange(len(X)) % 4 * 0.5
    frame = pd.DataFrame(X, columns=list(NAMES)).assign(w=weights, label=Y.astype(int))
    path = tmp_path / f"rows.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    samples = metricwise.io.open(path, weight="w", block_rows=700)
    whole = metricwise.io.read_table(path, weight="w")
    np.testing.assert_array_equal(samples.sample_weight, weights)
    np.testing.assert_array_equal(samples.sample_weight, whole.sample_weight)
    assert samples.feature_names == whole.feature_names == NAMES
    model = MultivariateSVC("f1", threshold="train").fit(samples)
    given = MultivariateSVC("f1", threshold="train").fit(samples, sample_weight=weights)
    np.testing.assert_array_equal(model.coef_, given.coef_)
    assert not np.array_equal(
        model.coef_, MultivariateSVC("f1", threshold="train").fit(samples, None, np.ones(3000)).coef_
    )
    assert metricwise.certify(model, samples) == metricwise.certify(model, samples, Y, weights)
    assert metricwise.io.open(path, target="label").sample_weight is None


def test_an_array_has_no_column_of_weights(npy):
    with pytest.raises(ValueError, match="weight='w' has no meaning for the format 'npy': leave it out"):
        metricwise.io.open(npy, weight="w")


def test_feature_names_are_read_and_checked(tmp_path):
    path, options = write_samples(tmp_path, "parquet")
    samples = metricwise.io.open(path, **options)
    model = MultivariateSVC("f1", threshold="train").fit(samples)
    assert tuple(model.feature_names_in_) == NAMES
    frame = pd.DataFrame(X, columns=list(NAMES))
    np.testing.assert_array_equal(model.predict(samples), model.predict(frame))
    frame.rename(columns={"a": "z"}).assign(label=0).to_parquet(tmp_path / "others.parquet")
    with pytest.raises(ValueError, match="'z' stands where 'a' did"):
        model.predict(metricwise.io.open(tmp_path / "others.parquet"))
    np.save(tmp_path / "X.npy", X)
    assert not hasattr(model.fit(metricwise.io.open(tmp_path / "X.npy"), Y), "feature_names_in_")


def test_missing_or_too_few_labels_raise(npy):
    samples = metricwise.io.open(npy)
    with pytest.raises(ValueError, match=r"opened without one: name it with metricwise\.io\.open\(path, target="):
        MultivariateSVC("f1").fit(samples)
    with pytest.raises(ValueError, match="X has 3000 samples and y has 2999 labels"):
        MultivariateSVC("f1").fit(samples, Y[:-1])
    model = MultivariateSVC("f1", threshold=0.0).fit(samples, Y)
    with pytest.raises(ValueError, match="score requires the labels"):
        model.score(samples)
    with pytest.raises(ValueError, match="certify needs the labels"):
        metricwise.certify(model, samples)
    narrow = npy.parent / "narrow.npy"
    np.save(narrow, X[:, :5])
    with pytest.raises(ValueError, match="X has 5 features, but MultivariateSVC is expecting 6"):
        model.predict(metricwise.io.open(narrow))


IN_MEMORY = [
    MultivariateSVC("f1", kernel="rbf"),
    AUCSVC(kernel="rbf"),
    AUCSVC(pairs="kmeans"),
    FeatureSelectingSVC("f1"),
    SparseCodingClassifier("f1"),
    SPADEClassifier("g_mean"),
    STAMPClassifier("f1"),
    MiniBatchSVC("f1"),
    PlugInClassifier(LogisticRegression(), "f1"),
    CostSensitiveClassifier(LogisticRegression(), "f1"),
    AdaptedSVC("f1"),
]


@pytest.mark.parametrize("model", IN_MEMORY, ids=[f"{type(model).__name__}{k}" for k, model in enumerate(IN_MEMORY)])
def test_models_that_need_samples_in_memory_raise(model, npy):
    samples = metricwise.io.open(npy, target=Y)
    with pytest.raises(
        (ValueError, TypeError), match=r"in memory.*train MetricClassifier, MultivariateSVC.*fit_stream"
    ):
        model.fit(samples, Y)


def test_linear_models_trained_in_memory_predict_on_disk(npy):
    samples = metricwise.io.open(npy, target=Y)
    stamp = STAMPClassifier("f1").fit(X, Y)
    np.testing.assert_array_equal(stamp.predict(samples), stamp.predict(X))
    curved = MultivariateSVC("f1", kernel="rbf", threshold=0.0, n_basis=20, max_iter=5, tol=0.5).fit(X[:200], Y[:200])
    with pytest.raises(ValueError, match="needs all samples in memory"):
        curved.predict(samples)
    with pytest.raises(TypeError, match="needs them in memory"):
        metricwise.certify(curved, samples)


# --------------------------------------------------------------------------------------------------------------- memory


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="peak memory is read from /proc")
def test_training_stays_within_the_memory_limit(tmp_path):
    """Train on 128 MB of samples with at most 100 MB beside the libraries."""
    write_wide_samples(tmp_path, 40_000, 800)
    script = r"""
import re, sys
import metricwise, metricwise.io
samples = metricwise.io.open(sys.argv[1] + "/X.npy", target=sys.argv[1] + "/y.npy", memory_limit="420MB")
model = metricwise.MultivariateSVC("f1", C=1e-4, tol=0.1, threshold=0.0).fit(samples)
peak = re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1]
print(float(peak) * 1024 / 1e6, model.result_.certificate.relative)
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    shutil.rmtree(tmp_path)
    peak, gap = map(float, done.stdout.split())
    assert gap <= 0.1
    assert peak < 420
