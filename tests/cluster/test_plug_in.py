"""PlugInClassifier on a cluster: folds of whole chunks, learners that train on all chunks or chunk by chunk."""

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
from tests.cluster.chunked import make_csr_chunks, make_dense_chunks
from tests.contracts.cases import make_data

CHUNK, N_CHUNKS, N_FOLDS = 100, 6, 3
X, POSITIVE = make_data(n_samples=CHUNK * N_CHUNKS, n_features=4)
FOLD = np.arange(N_CHUNKS).repeat(CHUNK) % N_FOLDS
FOLDS = [(np.flatnonzero(fold != FOLD), np.flatnonzero(fold == FOLD)) for fold in range(N_FOLDS)]
FOLD_OF_TWO = np.arange(N_CHUNKS).repeat(CHUNK) % 2
PROBABILITIES = SGDClassifier(loss="log_loss", random_state=0)


DENSE = make_dense_chunks(X, CHUNK)


def make_chunk_learner(learner):
    """Return a classifier in memory that learns chunk by chunk, in order."""

    class ByChunks(ClassifierMixin, BaseEstimator):
        def fit(self, samples, y, sample_weight=None):
            self.model_, self.classes_ = clone(learner), np.unique(y)
            for _ in range(2):
                for start in range(0, len(y), CHUNK):
                    part = slice(start, start + CHUNK)
                    weights = {} if sample_weight is None else {"sample_weight": sample_weight[part]}
                    self.model_.partial_fit(samples[part], y[part], classes=self.classes_, **weights)
            return self

        def predict_proba(self, samples):
            return self.model_.predict_proba(samples)

    return ByChunks()


def assert_same(found, expected, rel):
    assert found.threshold_ == pytest.approx(expected.threshold_, rel=rel)
    assert found.threshold_interval_ == pytest.approx(expected.threshold_interval_, rel=rel)
    assert found.expected_score_ == pytest.approx(expected.expected_score_, rel=rel)
    assert found.expected_score_interval_ == pytest.approx(expected.expected_score_interval_, rel=rel)


@pytest.mark.parametrize("kind", ["dense", "CSR"])
def test_partial_fit_learners_give_the_plug_in_in_memory(kind, client):
    weights = np.random.default_rng(1).integers(1, 3, size=len(X)).astype(float)
    data, samples = (DENSE, X) if kind == "dense" else (make_csr_chunks(X, CHUNK), sparse.csr_array(X))
    here = PlugInClassifier(make_chunk_learner(PROBABILITIES), cv=FOLDS).fit(samples, POSITIVE, weights)
    there = PlugInClassifier(PROBABILITIES, cv=N_FOLDS, n_passes=2)
    there.fit(data, da.from_array(POSITIVE, chunks=250), weights, client=client)
    assert_same(there, here, rel=1e-9)
    np.testing.assert_allclose(there.estimator_.coef_, here.estimator_.model_.coef_)
    np.testing.assert_array_equal(there.predict(samples), here.predict(samples))


def test_learners_of_metricwise_are_trained_on_the_cluster(client):
    learner = MultivariateSVC("f1", threshold=0.0, C=0.1)
    halves = [(np.flatnonzero(fold != FOLD_OF_TWO), np.flatnonzero(fold == FOLD_OF_TWO)) for fold in range(2)]
    here = PlugInClassifier(learner, cv=halves).fit(X, POSITIVE)
    there = PlugInClassifier(learner, cv=2).fit(DENSE, POSITIVE)
    assert there.estimator_.result_.bytes_moved > 0
    assert there.expected_score_ == pytest.approx(here.expected_score_, abs=0.01)
    assert there.threshold_ == pytest.approx(here.threshold_, abs=0.05)
    np.testing.assert_allclose(there.estimator_.coef_, here.estimator_.coef_, rtol=0.05, atol=0.02)
    assert np.mean(there.predict(X) == here.predict(X)) > 0.98


def test_multiclass_zero_weights_and_ranking_measures_agree_with_memory(client):
    names = np.array(["no", "perhaps", "yes"])[POSITIVE.astype(int) + (X[:, 0] > 0.5)]
    there = PlugInClassifier(GaussianNB(), "f1_macro", cv=N_FOLDS).fit(DENSE, names)
    here = PlugInClassifier(GaussianNB(), "f1_macro", cv=FOLDS).fit(X, names)
    np.testing.assert_allclose(there.threshold_, here.threshold_, rtol=1e-6, atol=1e-9)
    assert list(there.predict_proba(DENSE).shape) == [len(X), 3]
    is_selected = np.random.default_rng(2).random(len(X)) < 0.7
    folds = [
        tuple(np.flatnonzero((FOLD[is_selected] == fold) == is_test) for is_test in (False, True))
        for fold in range(N_FOLDS)
    ]
    there = PlugInClassifier(GaussianNB(), "roc_auc", cv=N_FOLDS).fit(DENSE, POSITIVE, is_selected.astype(float))
    here = PlugInClassifier(GaussianNB(), "roc_auc", cv=folds).fit(X[is_selected], POSITIVE[is_selected])
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
    arrays = PlugInClassifier(trained, prefit=True).fit(DENSE, POSITIVE)
    assert arrays.predict(DENSE).chunks == ((CHUNK,) * N_CHUNKS,)
    assert arrays.predict_proba(DENSE).chunks == ((CHUNK,) * N_CHUNKS, (2,))
    np.testing.assert_array_equal(arrays.predict(DENSE).compute(), arrays.predict(X))
    expected = PlugInClassifier(trained, prefit=True).fit(X, POSITIVE)
    assert_same(arrays, expected, rel=1e-9)


INVALID = {
    "a learner for memory": (LogisticRegression(), {}, DENSE, POSITIVE, r"LogisticRegression needs.*SGDClassifier"),
    "a pipeline": (make_pipeline(GaussianNB()), {}, DENSE, POSITIVE, r"Pipeline needs all samples.*X.compute\(\)"),
    "a kernel": (MultivariateSVC("f1", kernel="rbf"), {"cv": 2}, DENSE, POSITIVE, "kernel='linear'"),
    "few chunks": (GaussianNB(), {}, da.from_array(X, chunks=(300, -1)), POSITIVE, "X has 2.*rechunk.*from 2 to 2"),
    "own folds": (GaussianNB(), {"cv": FOLDS}, DENSE, POSITIVE, "whole chunks.*number of folds, not list"),
    "a class in one fold": (GaussianNB(), {"cv": 2}, DENSE, np.arange(len(X)) < 50, r"chunks \[0, 2, 4\].*shuffle"),
    "one class": (GaussianNB(), {}, DENSE, np.ones(len(X)), "only one class"),
    "labels": (GaussianNB(), {}, DENSE, POSITIVE[:-1], "600 samples and y has 599 labels"),
    "multilabel": (GaussianNB(), {}, DENSE, np.column_stack([POSITIVE] * 2), "2 columns.*X.compute"),
    "unknown sizes": (GaussianNB(), {}, DENSE[DENSE[:, 0] > 0], POSITIVE, r"compute_chunk_sizes\(\)"),
    "a guarantee": (GaussianNB(), {"subject_to": [("recall", ">=", 0.5)]}, DENSE, POSITIVE, "confidence=None"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_input_raises(name, client):
    learner, settings, data, labels, message = INVALID[name]
    model = PlugInClassifier(learner, **settings)
    with pytest.raises(ValueError, match=message):
        model.fit(data, labels)
    assert not hasattr(model, "n_features_in_")


def test_batch_thresholds_raise_on_a_cluster(client):
    model = PlugInClassifier(GaussianNB(), threshold="batch").fit(X, POSITIVE)
    with pytest.raises(ValueError, match="chunk by chunk"):
        model.predict(DENSE)
    with pytest.raises(ValueError, match=r"dask.array.from_array\(X"):
        model.fit(X, POSITIVE, client=client)
