"""MetricClassifier on Dask collections: selection on a sample, training where the chunks are, lost processes."""

from __future__ import annotations

import os
import re
import signal

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.tree import DecisionTreeClassifier

import metricwise
from benchmarks.cluster_process import SETTINGS, cluster_process
from metricwise import MetricClassifier, MultivariateSVC
from metricwise.designs.cluster.blocks import persist_blocks
from metricwise.designs.cluster.connection import SchedulerLostError
from metricwise.designs.cluster.source import DaskSource
from metricwise.estimators.selection.beyond_memory.learners import FullTraining
from metricwise.estimators.selection.beyond_memory.stored import ClusterSamples, Targets
from metricwise.estimators.selection.booster import BoosterClassifier

RNG = np.random.default_rng(5)
X = RNG.normal(size=(2000, 5))
Y = (X[:, 0] + X[:, 1] + 0.7 * RNG.normal(size=2000) > 1.5).astype(int)
NEW = RNG.normal(size=(10_000, 5))
NEW_Y = (NEW[:, 0] + NEW[:, 1] + 0.7 * RNG.normal(size=10_000) > 1.5).astype(int)
CHUNKS = (300, -1)


def train(samples, **options):
    return MetricClassifier(**({"candidates": ["linear_svm"], "cv": 2} | options)).fit(samples, Y)


@pytest.fixture
def little_memory(monkeypatch):
    """Let 900 samples fit into the memory of this process."""
    monkeypatch.setattr("metricwise.estimators.selection.beyond_memory.limits.MANY_SAMPLES", 900)


def test_the_model_on_dask_is_that_in_memory_within_its_interval(client, little_memory, tmp_path):
    samples = da.from_array(X, chunks=CHUNKS)
    there, here = train(samples), train(X)
    low, high = there.expected_score_interval_
    assert low < here.score(NEW, NEW_Y) < high
    assert there.score(NEW, NEW_Y) == pytest.approx(here.score(NEW, NEW_Y), abs=0.02)
    assert "The 2,000 samples are on a cluster: candidates are compared on 899" in there.explain()
    assert re.search("trained on 1,598 samples|models are those of the 899 samples in memory", there.explain())
    lazy = there.predict(samples)
    assert lazy.chunks == (samples.chunks[0],)
    np.testing.assert_array_equal(lazy.compute(), there.predict(X))
    np.testing.assert_allclose(there.predict_proba(samples).compute(), there.predict_proba(X))
    assert there.score(samples, Y) == there.score(X, Y)
    metricwise.save(there, tmp_path / "model.mw")
    np.testing.assert_array_equal(metricwise.load(tmp_path / "model.mw").predict(NEW), there.predict(NEW))


def test_data_frames_learners_with_partial_fit_and_guarantees(client, little_memory):
    frame = pd.DataFrame(X, columns=list("abcde"))
    own = {"sgd": SGDClassifier(loss="log_loss", random_state=0), "svm": MultivariateSVC("f1", threshold="train")}
    samples = dd.from_pandas(frame, npartitions=5)
    model = train(samples, candidates=own, subject_to="recall>=0.6")
    assert list(model.feature_names_in_) == list("abcde")
    assert "Guaranteed on new samples with confidence 0.95: recall >= 0.6" in model.explain()
    np.testing.assert_array_equal(model.predict(samples).compute(), model.predict(frame))


@pytest.mark.parametrize(
    "learner",
    [BoosterClassifier("lightgbm", {"n_estimators": 5}), BoosterClassifier("xgboost", {"n_estimators": 5})],
    ids=["lightgbm", "xgboost"],
)
def test_boosters_are_trained_by_their_counterparts_for_dask(client, learner):
    pytest.importorskip(learner.package)
    labels, trained = np.where(Y == 1, "yes", "no"), np.flatnonzero(np.arange(2000) % 5)
    source = ClusterSamples(DaskSource(persist_blocks(da.from_array(X, chunks=(1000, -1)), client)))
    stored, targets = source.select(trained, Targets(labels, None))
    training = FullTraining(stored, targets, np.unique(labels), trained.size, 0.0, 0)
    assert training.can_train(learner)
    model, n_samples = training.fit(learner, None)
    assert n_samples == trained.size
    assert model.classes_.tolist() == ["no", "yes"]
    assert np.mean(model.predict(NEW) == np.where(NEW_Y == 1, "yes", "no")) > 0.85


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "dask_ml"])
def test_own_learners_of_packages_are_trained_where_the_chunks_are(client, little_memory, name):
    """Their scores choose the threshold and the interval; labels that packages refuse are refused before training."""
    learner = make_own(name)
    model = train(da.from_array(X, chunks=CHUNKS), candidates={"own": learner}, random_state=1)
    assert "own trained on 1,598 samples" in model.explain()
    low, high = model.expected_score_interval_
    assert low < model.score(NEW, NEW_Y) < high
    started = []
    refusing = MetricClassifier(candidates={"own": learner}, pos_label="yes", callback=started.append)
    with pytest.raises(ValueError, match=r"labels 0 to 1, and those of y are \['no', 'yes'\]: encode them"):
        refusing.fit(da.from_array(X, chunks=CHUNKS), np.where(Y == 1, "yes", "no"))
    assert not started


def make_own(name):
    if name == "dask_ml":
        return pytest.importorskip("dask_ml.linear_model").LogisticRegression(solver="lbfgs")
    package = pytest.importorskip(name)
    made = package.LGBMClassifier if name == "lightgbm" else package.XGBClassifier
    return made(n_estimators=10, verbosity=0 if name == "xgboost" else -1, random_state=0)


def test_what_cannot_go_to_a_cluster_raises(client):
    samples = da.from_array(X, chunks=CHUNKS)
    with pytest.raises(ValueError, match=r"on a cluster, and 'tree' of candidates cannot be trained there"):
        train(samples, candidates={"tree": DecisionTreeClassifier(), "linear": LogisticRegression()})
    with pytest.raises(ValueError, match="groups is for samples in memory"):
        MetricClassifier().fit(samples, Y, groups=np.arange(2000))
    with pytest.raises(ValueError, match="client was given, but X is ndarray"):
        MetricClassifier().fit(X, Y, client=client)


def test_a_lost_worker_changes_nothing(little_memory):
    with LocalCluster(**SETTINGS) as cluster, Client(cluster, set_as_default=False) as client:
        # Chunks that workers can compute again: those of an array in memory are part of the graph.
        samples, processes = da.from_array(X, chunks=CHUNKS), client.run(os.getpid)
        undisturbed = MetricClassifier(candidates=["linear_svm"], cv=2).fit(samples, Y, client=client)
        killed = []

        def kill(text):
            if not killed:
                killed.append(min(processes.values()))
                os.kill(killed[0], signal.SIGKILL)

        model = MetricClassifier(candidates=["linear_svm"], cv=2, callback=kill).fit(samples, Y, client=client)
        assert killed
    np.testing.assert_array_equal(model.decision_function(NEW), undisturbed.decision_function(NEW))
    assert model.expected_score_ == undisturbed.expected_score_


def test_a_lost_scheduler_raises(little_memory):
    with cluster_process() as (process, address), Client(address, set_as_default=False) as client:

        def kill(text):
            process.kill()
            process.wait()

        model = MetricClassifier(candidates=["linear_svm"], cv=2, callback=kill)
        with pytest.raises(SchedulerLostError, match="Connect a new client"):
            model.fit(da.from_array(X, chunks=CHUNKS), Y, client=client)
        assert not hasattr(model, "measure_")
