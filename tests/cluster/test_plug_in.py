"""The plug-in on a cluster: folds of whole chunks, learners that train on chunks or chunk by chunk."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from metricwise import MultivariateSVC, PlugInClassifier
from tests.contracts.cases import make_data

CHUNK, N_CHUNKS, N_FOLDS = 100, 6, 3
X, POSITIVE = make_data(n_samples=CHUNK * N_CHUNKS, n_features=4)
FOLD = np.arange(N_CHUNKS).repeat(CHUNK) % N_FOLDS
FOLDS = [(np.flatnonzero(fold != FOLD), np.flatnonzero(fold == FOLD)) for fold in range(N_FOLDS)]
FOLD_OF_TWO = np.arange(N_CHUNKS).repeat(CHUNK) % 2
PROBABILITIES = SGDClassifier(loss="log_loss", random_state=0)


def dense(rows=X):
    return da.from_array(rows, chunks=(CHUNK, -1))


def in_sparse_chunks(rows):
    return dense(rows).map_blocks(sparse.csr_array, meta=sparse.csr_array((0, 0)))


def learner_by_chunks(learner):
    """A classifier in memory that learns as chunks do: by parts of so many samples, in their order."""

    class ByChunks(ClassifierMixin, BaseEstimator):
        def fit(self, rows, y, sample_weight=None):
            self.model_, self.classes_ = clone(learner), np.unique(y)
            for _ in range(2):
                for start in range(0, len(y), CHUNK):
                    part = slice(start, start + CHUNK)
                    weights = {} if sample_weight is None else {"sample_weight": sample_weight[part]}
                    self.model_.partial_fit(rows[part], y[part], classes=self.classes_, **weights)
            return self

        def predict_proba(self, rows):
            return self.model_.predict_proba(rows)

    return ByChunks()


def assert_same(found, expected, rel):
    assert found.threshold_ == pytest.approx(expected.threshold_, rel=rel)
    assert found.threshold_interval_ == pytest.approx(expected.threshold_interval_, rel=rel)
    assert found.expected_score_ == pytest.approx(expected.expected_score_, rel=rel)
    assert found.expected_score_interval_ == pytest.approx(expected.expected_score_interval_, rel=rel)


@pytest.mark.parametrize("kind", ["dense", "CSR"])
def test_partial_fit_is_the_plug_in_in_memory_with_the_same_folds(kind, client):
    weights = np.random.default_rng(1).integers(1, 3, size=len(X)).astype(float)
    data, rows = (dense(), X) if kind == "dense" else (in_sparse_chunks(X), sparse.csr_array(X))
    here = PlugInClassifier(learner_by_chunks(PROBABILITIES), cv=FOLDS).fit(rows, POSITIVE, weights)
    there = PlugInClassifier(PROBABILITIES, cv=N_FOLDS, n_passes=2)
    there.fit(data, da.from_array(POSITIVE, chunks=250), weights, client=client)
    assert_same(there, here, rel=1e-9)
    np.testing.assert_allclose(there.estimator_.coef_, here.estimator_.model_.coef_)
    np.testing.assert_array_equal(there.predict(rows), here.predict(rows))


def test_a_learner_of_metricwise_is_trained_where_the_chunks_are(client):
    learner = MultivariateSVC("f1", threshold=0.0, C=0.1)
    halves = [(np.flatnonzero(fold != FOLD_OF_TWO), np.flatnonzero(fold == FOLD_OF_TWO)) for fold in range(2)]
    here = PlugInClassifier(learner, cv=halves).fit(X, POSITIVE)
    there = PlugInClassifier(learner, cv=2).fit(dense(), POSITIVE)
    assert there.estimator_.result_.bytes_moved > 0
    assert there.expected_score_ == pytest.approx(here.expected_score_, abs=0.01)
    assert there.threshold_ == pytest.approx(here.threshold_, abs=0.05)
    np.testing.assert_allclose(there.estimator_.coef_, here.estimator_.coef_, rtol=0.05, atol=0.02)
    assert np.mean(there.predict(X) == here.predict(X)) > 0.98


def test_several_classes_rows_without_weight_and_areas(client):
    names = np.array(["no", "perhaps", "yes"])[POSITIVE.astype(int) + (X[:, 0] > 0.5)]
    there = PlugInClassifier(GaussianNB(), "f1_macro", cv=N_FOLDS).fit(dense(), names)
    here = PlugInClassifier(GaussianNB(), "f1_macro", cv=FOLDS).fit(X, names)
    np.testing.assert_allclose(there.threshold_, here.threshold_, rtol=1e-6, atol=1e-9)
    assert list(there.predict_proba(dense()).shape) == [len(X), 3]
    kept = np.random.default_rng(2).random(len(X)) < 0.7
    folds = [tuple(np.flatnonzero((FOLD[kept] == fold) == held) for held in (False, True)) for fold in range(N_FOLDS)]
    there = PlugInClassifier(GaussianNB(), "roc_auc", cv=N_FOLDS).fit(dense(), POSITIVE, kept.astype(float))
    here = PlugInClassifier(GaussianNB(), "roc_auc", cv=folds).fit(X[kept], POSITIVE[kept])
    assert there.expected_score_ == pytest.approx(here.expected_score_, rel=1e-9)


def test_predictions_are_lazy_with_the_same_chunks(client):
    columns = list("abcd")
    frame = dd.from_pandas(pd.DataFrame(X, columns=columns), npartitions=4)
    frame = dd.concat([frame, frame[frame["a"] > 1e9]])  # partitions without samples
    model = PlugInClassifier(PROBABILITIES, cv=2).fit(frame, POSITIVE)
    assert list(model.feature_names_in_) == columns
    labels, scores, chances = model.predict(frame), model.decision_function(frame), model.predict_proba(frame)
    assert labels.npartitions == scores.npartitions == chances.npartitions == frame.npartitions
    here = pd.DataFrame(X, columns=columns)
    np.testing.assert_array_equal(labels.compute(), model.predict(here))
    np.testing.assert_allclose(scores.compute(), model.decision_function(here))
    np.testing.assert_allclose(chances.compute(), model.predict_proba(here))
    assert model.score(frame, POSITIVE) == pytest.approx(model.score(here, POSITIVE))
    trained = clone(PROBABILITIES).fit(X, POSITIVE)
    arrays = PlugInClassifier(trained, prefit=True).fit(dense(), POSITIVE)
    assert arrays.predict(dense()).chunks == ((CHUNK,) * N_CHUNKS,)
    assert arrays.predict_proba(dense()).chunks == ((CHUNK,) * N_CHUNKS, (2,))
    np.testing.assert_array_equal(arrays.predict(dense()).compute(), arrays.predict(X))
    expected = PlugInClassifier(trained, prefit=True).fit(X, POSITIVE)
    assert_same(arrays, expected, rel=1e-9)


BAD = {
    "a learner for memory": (LogisticRegression(), {}, dense(), POSITIVE, r"LogisticRegression needs.*SGDClassifier"),
    "a pipeline": (make_pipeline(GaussianNB()), {}, dense(), POSITIVE, r"Pipeline needs all samples.*X.compute\(\)"),
    "a kernel": (MultivariateSVC("f1", kernel="rbf"), {"cv": 2}, dense(), POSITIVE, "kernel='linear'"),
    "few chunks": (GaussianNB(), {}, da.from_array(X, chunks=(300, -1)), POSITIVE, "X has 2.*rechunk.*from 2 to 2"),
    "own folds": (GaussianNB(), {"cv": FOLDS}, dense(), POSITIVE, "whole chunks.*number of folds, not list"),
    "a class in one fold": (GaussianNB(), {"cv": 2}, dense(), np.arange(len(X)) < 50, r"chunks \[0, 2, 4\].*shuffle"),
    "one class": (GaussianNB(), {}, dense(), np.ones(len(X)), "only one class"),
    "labels": (GaussianNB(), {}, dense(), POSITIVE[:-1], "600 samples and y has 599 labels"),
    "several labels": (GaussianNB(), {}, dense(), np.column_stack([POSITIVE] * 2), "2 columns.*X.compute"),
    "unknown sizes": (GaussianNB(), {}, dense()[dense()[:, 0] > 0], POSITIVE, r"compute_chunk_sizes\(\)"),
    "a promise": (GaussianNB(), {"subject_to": [("recall", ">=", 0.5)]}, dense(), POSITIVE, "confidence=None"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name, client):
    learner, settings, data, labels, message = BAD[name]
    model = PlugInClassifier(learner, **settings)
    with pytest.raises(ValueError, match=message):
        model.fit(data, labels)
    assert not hasattr(model, "n_features_in_")


def test_labels_of_a_batch_are_not_lazy(client):
    model = PlugInClassifier(GaussianNB(), threshold="batch").fit(X, POSITIVE)
    with pytest.raises(ValueError, match="chunk by chunk"):
        model.predict(dense())
    with pytest.raises(ValueError, match=r"dask.array.from_array\(X"):
        model.fit(X, POSITIVE, client=client)
