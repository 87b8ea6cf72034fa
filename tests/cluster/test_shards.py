"""SPADE and STAMP in shards on a cluster: one shard is the sequential run, more of them are averaged as documented."""

from __future__ import annotations

import os
import signal
from copy import deepcopy

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from scipy import sparse

from benchmarks.cluster_process import SETTINGS
from metricwise import SPADEClassifier, STAMPClassifier, load, save
from metricwise.kernels import streaming
from metricwise.kernels.random_numbers import shuffle
from metricwise.solvers.shards import ChunkLabels, average_states, pass_over_chunk
from metricwise.solvers.stream_data import StreamData
from tests.cluster.chunked import make_csr_chunks, make_dense_chunks
from tests.contracts.cases import make_data

X, POSITIVE = make_data(n_samples=3000, n_features=6)
CHUNKS = (700, 400, 1, 599, 800, 500)
METHODS = {"spade": SPADEClassifier("g_mean", n_passes=3), "stamp": STAMPClassifier("f1", n_passes=3)}
each_method = pytest.mark.parametrize("method", METHODS)


DENSE = make_dense_chunks(X, CHUNKS)


def make_model(method, **settings):
    return type(METHODS[method])(**METHODS[method].get_params() | settings)


def assert_same_model(found, expected):
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.intercept_, expected.intercept_)
    assert found.threshold_ == pytest.approx(expected.threshold_, rel=1e-9)
    assert [entry.n_samples for entry in found.result_.history] == [
        entry.n_samples for entry in expected.result_.history
    ]
    np.testing.assert_allclose(*([e.measure for e in one.result_.history] for one in (found, expected)), rtol=1e-9)


@each_method
@pytest.mark.parametrize("kind", ["dense", "CSR"])
def test_one_chunk_gives_the_model_in_memory(method, kind, client):
    here, there = (X, make_dense_chunks) if kind == "dense" else (sparse.csr_array(X), make_csr_chunks)
    weights = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    expected = make_model(method).fit(here, POSITIVE, weights)
    found = make_model(method).fit(there(X, (len(X),)), POSITIVE, weights, client=client)
    assert_same_model(found, expected)
    assert found.result_.n_samples == expected.result_.n_samples
    assert found.result_.bytes_moved > 0 == expected.result_.bytes_moved


@each_method
def test_one_shard_of_many_chunks_equals_a_sequential_run(method, client):
    """A pass over chunks, with the state sent along, equals a pass over the samples in that order, bit by bit."""
    learner = make_model(method)._make_learner(make_model(method)._check_measure())
    bounds = np.cumsum([0, *CHUNKS])
    whole = learner.start(X.shape[1], False)
    learner.prepare(whole, StreamData(X, POSITIVE, np.ones(len(X))), np.arange(500))
    travelling, order = deepcopy(whole), []
    for k in (3, 0, 5, 2, 1, 4):
        own = slice(bounds[k], bounds[k + 1])
        labels = ChunkLabels(POSITIVE[own], None, np.ones(CHUNKS[k], dtype=bool))
        travelling = client.submit(pass_over_chunk, X[own], learner, travelling, labels, k, pure=False)
        samples = np.arange(CHUNKS[k])
        shuffle(samples, np.uint64(k))
        order.append(samples + bounds[k])
    learner.learn(whole, StreamData(X, POSITIVE, np.ones(len(X))), np.concatenate(order), remember=False)
    for name, value in travelling.result().to_arrays().items():
        np.testing.assert_array_equal(value, whole.to_arrays()[name], err_msg=name)


@each_method
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "CSR"])
def test_states_average_models_running_averages_and_duals(method, is_sparse):
    """Compare what the states represent before and after, not how they are stored."""
    samples = sparse.csr_array(X) if is_sparse else X
    learner = make_model(method)._make_learner(make_model(method)._check_measure())
    before = learner.start(X.shape[1], is_sparse)
    learner.prepare(before, StreamData(samples, POSITIVE, np.ones(len(X))), np.arange(300))
    parts = [np.arange(0, 900), np.arange(900, 2500), np.arange(2500, 3000)]
    after = []
    for number, part in enumerate(parts):
        labels = ChunkLabels(POSITIVE, None, np.isin(np.arange(len(X)), part))
        after.append(pass_over_chunk(samples, learner, before, labels, number))
    counts = [part.size for part in parts]
    found = average_states(before, after, counts, scaling=True)
    shares = np.array(counts) / len(X)

    def scores(state):  # scores of the model by its definition
        numbers = state.numbers
        return numbers[streaming.SCALE] * (X @ state.v - numbers[streaming.OFFSET]) + numbers[streaming.BIAS]

    np.testing.assert_allclose(
        scores(found), sum(share * scores(one) for share, one in zip(shares, after, strict=True))
    )
    weights = np.array([one.numbers[streaming.SUM_SHARES] for one in after]) * shares
    averages = [X @ w + b for w, b in (one.average() for one in after)]
    expected = np.average(averages, axis=0, weights=weights)
    w, b = found.average()
    np.testing.assert_allclose(X @ w + b, expected)
    duals = [learner.duals(one) for one in after]
    np.testing.assert_allclose(learner.duals(found), np.average(duals, axis=0, weights=shares))
    assert found.position == after[1].position
    assert found.observed - before.observed == sum(one.observed - before.observed for one in after)
    if not is_sparse:
        assert found.numbers[streaming.OFFSET] == pytest.approx(found.v @ found.mean)


def test_the_model_depends_on_shards_but_not_on_the_placement_of_chunks(client):
    expected = make_model("stamp", n_shards=3).fit(DENSE, POSITIVE, client=client)
    on_one_worker = client.persist(DENSE, workers=[min(client.ncores())])
    assert_same_model(make_model("stamp", n_shards=3).fit(on_one_worker, POSITIVE), expected)
    assert not np.array_equal(make_model("stamp", n_shards=2).fit(DENSE, POSITIVE).coef_, expected.coef_)


def test_a_killed_worker_does_not_change_the_model(client):
    expected = make_model("spade", n_shards=3).fit(DENSE, POSITIVE, client=client)
    with LocalCluster(**SETTINGS) as cluster, Client(cluster, set_as_default=False) as other:
        killed = []

        def kill(entry):
            if not killed:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)

        found = make_model("spade", n_shards=3, callback=kill).fit(DENSE, POSITIVE, client=other)
    assert killed
    assert_same_model(found, expected)


@each_method
def test_averaged_shards_are_close_to_the_sequential_run(method, client):
    samples, positive = make_data(n_samples=12_000, n_features=10)
    train, new = slice(9000), slice(9000, None)
    here = make_model(method, n_passes=5).fit(samples[train], positive[train])
    data = da.from_array(samples[train], chunks=(1800, -1))
    there = make_model(method, n_passes=5, n_shards=5).fit(data, positive[train])
    scores = [model.score(samples[new], positive[new]) for model in (here, there)]
    assert scores[1] > scores[0] - 0.02
    assert there.result_.n_samples % there.n_iter_ == 0
    assert there.result_.n_samples == pytest.approx(there.n_iter_ * 9000, rel=0.11)


def test_frames_multiclass_weights_and_model_files_work(client, tmp_path):
    names = np.array(["no", "perhaps", "yes"])[POSITIVE.astype(int) + (X[:, 0] > 0.5)]
    columns = [f"feature {k}" for k in range(X.shape[1])]
    frame = dd.from_pandas(pd.DataFrame(X, columns=columns), npartitions=4)
    frame = dd.concat([frame, frame[frame["feature 0"] > 1e9]])  # partitions without samples
    labels = dd.from_pandas(pd.Series(names), npartitions=2)
    model = make_model("stamp", n_shards=2, n_passes=1).fit(frame, labels)
    assert list(model.feature_names_in_) == columns
    assert list(model.classes_) == ["no", "perhaps", "yes"]
    scores, found = model.decision_function(frame), model.predict(frame)
    assert found.npartitions == frame.npartitions
    here = pd.DataFrame(X, columns=columns)
    np.testing.assert_allclose(scores.compute(), model.decision_function(here))
    np.testing.assert_array_equal(found.compute(), model.predict(here))
    assert model.score(frame, labels) == pytest.approx(model.score(here, names))
    save(model, tmp_path / "model.mw")
    again = load(tmp_path / "model.mw")
    assert again.result_.bytes_moved == model.result_.bytes_moved > 0
    assert again.result_.n_samples == model.result_.n_samples


def test_interrupted_training_resumes_from_its_checkpoint(client, tmp_path):
    settings = {"n_shards": 2, "checkpoint": tmp_path / "run.npz"}
    expected = make_model("spade", n_shards=2).fit(DENSE, POSITIVE)

    def interrupt(entry):
        if entry.n_samples > len(X):
            raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        make_model("spade", **settings, callback=interrupt).fit(DENSE, POSITIVE)
    with pytest.raises(ValueError, match="belongs to another training"):
        make_model("spade", **settings).fit(make_dense_chunks(X, (1500, 1500)), POSITIVE)
    assert_same_model(make_model("spade", **settings).fit(DENSE, POSITIVE), expected)


def test_only_a_few_vectors_are_transferred(client):
    many, positive = make_data(n_samples=4000, n_features=60)
    data = da.from_array(many, chunks=(1000, -1))
    moved = []
    for n_passes in (2, 3):
        model = SPADEClassifier("g_mean", n_passes=n_passes, tol=-1.0, threshold=0.0, n_shards=4)
        moved.append(model.fit(data, positive).result_.bytes_moved)
    state = sum(array.nbytes for array in model._model.states[0].to_arrays().values())
    scores = 8 * 4000 // 10 + 8 * 60
    assert 4 * state < moved[1] - moved[0] < 1.05 * ((1 + 4) * state + scores)


INVALID = {
    "unknown chunk sizes": (lambda data: data[data[:, 0] > 0], {}, r"compute_chunk_sizes\(\)"),
    "split columns": (lambda data: data.rechunk({1: 2}), {}, r"rechunk\(\{1: -1\}\)"),
    "one class in a shard": (lambda data: data, {"n_shards": 6}, r"shard 2, .*chunks \[2\].*lower n_shards=6"),
    "no shards": (lambda data: data, {"n_shards": 0}, "n_shards"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_input_raises(name, client):
    change, settings, message = INVALID[name]
    model = make_model("spade", **settings)
    with pytest.raises(ValueError, match=message):
        model.fit(change(DENSE), POSITIVE)
    assert not hasattr(model, "n_features_in_")


def test_invalid_labels_and_clients_raise(client):
    with pytest.raises(ValueError, match="3000 samples and y has 2999 labels"):
        make_model("stamp").fit(DENSE, POSITIVE[:-1])
    with pytest.raises(ValueError, match="only one class"):
        make_model("stamp").fit(DENSE, np.ones(len(X)))
    with pytest.raises(ValueError, match=r"dask.array.from_array\(X"):
        make_model("stamp").fit(X, POSITIVE, client=client)
