"""PlugInClassifier around classifiers that other packages provide for Dask."""

from __future__ import annotations

from importlib import import_module

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from metricwise import PlugInClassifier
from tests.cluster.chunked import make_csr_chunks, make_dense_chunks
from tests.contracts.cases import make_data

CHUNK, N_CHUNKS = 200, 6
X, POSITIVE = make_data(n_samples=CHUNK * N_CHUNKS, n_features=4)
FOLD = np.arange(N_CHUNKS).repeat(CHUNK) % 2
HALVES = [(np.flatnonzero(fold != FOLD), np.flatnonzero(fold == FOLD)) for fold in range(2)]
Y = POSITIVE.astype(int)
DENSE = make_dense_chunks(X, CHUNK)
CSR = make_csr_chunks(X, CHUNK)


class DaskLeastSquares(ClassifierMixin, BaseEstimator):
    """Least squares by sums over chunks, which do not depend on the workers that hold them."""

    __module__ = "dask_of_tests"  # like the modules of packages made for Dask

    def fit(self, samples, y, sample_weight=None):
        assert isinstance(samples, da.Array) and isinstance(y, da.Array) and samples.chunks[0] == y.chunks[0]
        if sparse.issparse(samples._meta):
            samples = samples.map_blocks(lambda block: block.toarray(), meta=np.empty((0, 0)))
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        by_weight = samples * weights[:, None]
        left, right = da.compute(samples.T @ by_weight, by_weight.T @ (2.0 * y - 1.0))
        return self._solve(left, right, y.max().compute() + 1)

    def _solve(self, left, right, n_classes):
        self.coef_, self.classes_ = np.linalg.solve(left + np.eye(len(left)), right), np.arange(n_classes)
        return self

    def decision_function(self, samples):
        assert not isinstance(samples, da.Array)
        return samples @ self.coef_


class LocalLeastSquares(DaskLeastSquares):
    __module__ = "tests"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, samples, y, sample_weight=None):
        samples = samples.toarray() if sparse.issparse(samples) else samples
        by_weight = samples * (np.ones(len(y)) if sample_weight is None else sample_weight)[:, None]
        return self._solve(samples.T @ by_weight, by_weight.T @ (2.0 * y - 1.0), y.max() + 1)


def assert_same(there, here):
    for name in ("threshold_", "threshold_interval_", "expected_score_", "expected_score_interval_"):
        assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-9), name
    np.testing.assert_allclose(there.estimator_.coef_, here.estimator_.coef_, rtol=1e-9)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


@pytest.mark.parametrize("kind", ["dense", "CSR", "data frame"])
def test_dask_learners_give_the_plug_in_in_memory(kind, client):
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=N_CHUNKS)
    samples = {"dense": DENSE, "CSR": CSR, "data frame": frame}[kind]
    there = PlugInClassifier(DaskLeastSquares(), cv=2).fit(samples, Y, client=client)
    assert_same(there, PlugInClassifier(LocalLeastSquares(), cv=HALVES).fit(X, Y))
    np.testing.assert_array_equal(there.predict(samples).compute(), there.predict(X))
    assert there.n_features_in_ == X.shape[1]
    assert list(getattr(there, "feature_names_in_", [])) == (list("abcd") if kind == "data frame" else [])


def test_samples_of_weight_zero_are_dropped(client):
    """They are a whole chunk and part of another, with labels that would change the model."""
    weights = np.random.default_rng(1).integers(1, 3, size=len(X)).astype(float)
    weights[:CHUNK] = weights[CHUNK : 2 * CHUNK : 2] = 0.0
    labels, selected = np.where(weights > 0.0, Y, 1 - Y), np.flatnonzero(weights)
    there = PlugInClassifier(DaskLeastSquares(), cv=2).fit(DENSE, labels, weights)
    halves = [(np.flatnonzero(FOLD[selected] != fold), np.flatnonzero(FOLD[selected] == fold)) for fold in range(2)]
    assert_same(
        there, PlugInClassifier(LocalLeastSquares(), cv=halves).fit(X[selected], Y[selected], weights[selected])
    )


def test_a_prefitted_learner_gets_a_threshold(client):
    trained = DaskLeastSquares().fit(DENSE, da.from_array(Y, chunks=CHUNK))
    there = PlugInClassifier(trained, prefit=True).fit(DENSE, Y)
    assert_same(there, PlugInClassifier(LocalLeastSquares().fit(X, Y), prefit=True).fit(X, Y))


def test_text_labels_raise(client):
    with pytest.raises(ValueError, match=r"labels 0 to 1.*\['no', 'yes'\].*LabelEncoder"):
        PlugInClassifier(DaskLeastSquares(), cv=2, pos_label="yes").fit(DENSE, np.where(POSITIVE, "yes", "no"))


def import_package(name):
    try:
        return import_module(name)
    except (ImportError, OSError) as error:  # LightGBM's library needs the system's libgomp
        pytest.skip(f"{name} cannot be imported: {error}")


def make_lightgbm():
    settings = {"n_estimators": 10, "random_state": 0, "verbose": -1}
    package = import_package("lightgbm")
    return package.DaskLGBMClassifier(**settings), package.LGBMClassifier(**settings)


def make_xgboost():
    settings = {"n_estimators": 10, "max_depth": 3, "random_state": 0}
    package, dask_package = import_package("xgboost"), import_package("xgboost.dask")
    return dask_package.DaskXGBClassifier(**settings), package.XGBClassifier(**settings)


def make_dask_ml():
    return import_package("dask_ml.linear_model").LogisticRegression(solver="lbfgs"), LogisticRegression()


LEARNERS = {"LightGBM": make_lightgbm, "XGBoost": make_xgboost, "dask-ml": make_dask_ml}


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_of_packages_agree_with_those_in_memory(name, client):
    """They agree approximately, as histogram bins depend on the workers' data. CSR chunks are used where supported."""
    of_dask, of_memory = LEARNERS[name]()
    there = PlugInClassifier(of_dask, cv=2).fit(DENSE if name == "dask-ml" else CSR, Y)
    here = PlugInClassifier(of_memory, cv=HALVES).fit(X, Y)
    assert type(there.estimator_).__name__ == type(of_memory).__name__
    assert there.expected_score_ == pytest.approx(here.expected_score_, abs=0.05)
    assert there.score(X, Y) == pytest.approx(here.score(X, Y), abs=0.05)
    np.testing.assert_array_equal(there.predict(DENSE).compute(), there.predict(X))
    if name != "dask-ml":
        with pytest.raises(ValueError, match=f"{type(of_dask).__name__} trains on Dask.*X is ndarray.*from_array"):
            PlugInClassifier(of_dask).fit(X, Y)
