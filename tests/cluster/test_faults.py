"""Training survives lost workers and schedulers; every case runs once with real processes."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fault_cases import CASES, MOST_SECONDS, make_labels, make_samples, train, wait_for_fewer_workers
from metricwise import AUCSVC, AMPClassifier
from metricwise.designs.cluster import pool
from metricwise.designs.cluster.blocks import persist_blocks
from metricwise.designs.cluster.source import DaskSource


@pytest.fixture(scope="module")
def labels(client):
    return make_labels(client)


@pytest.fixture(scope="module")
def undisturbed(client, labels):
    return train(client, labels)


@pytest.mark.parametrize("case", CASES)
def test_training_survives_every_fault(case, cluster, client, labels, undisturbed):
    outcome = CASES[case](cluster, client, labels, undisturbed, run=1)
    assert outcome.happened
    assert outcome.same_certificate
    if case != "scheduler killed, resumed":
        assert outcome.same_bits


def test_chunks_are_rebalanced_when_workers_join_and_leave(cluster, client, monkeypatch):
    monkeypatch.setattr(pool, "_JOIN_CHECK_INTERVAL", 0.0)
    source = DaskSource(persist_blocks(make_samples(), client))
    w, everything = np.linspace(-1.0, 1.0, source.shape[1]), np.arange(len(source.bounds) - 1)
    expected = source.scores(w, everything)
    assert source.pool.count_chunks() == [4, 4]
    cluster.scale(3)
    client.wait_for_workers(3, timeout=MOST_SECONDS)
    np.testing.assert_array_equal(source.scores(w, everything), expected)
    assert sorted(source.pool.count_chunks()) == [2, 3, 3]
    cluster.scale(2)
    wait_for_fewer_workers(client, 2)
    np.testing.assert_array_equal(source.scores(w, everything), expected)
    assert source.pool.count_chunks() == [4, 4]


@pytest.mark.parametrize("model", [AUCSVC(norm=2), AMPClassifier("f1"), AUCSVC()], ids=["newton", "amp", "pairs"])
def test_interrupted_training_resumes_from_its_checkpoint(model, tmp_path):
    """Any solver, on samples in memory, interrupted by an error of its callback."""
    X, file = make_samples()[:2500].compute(scheduler="sync"), tmp_path / "training.npz"
    y = X[:, 0] + X[:, 1] ** 2 > 1.5
    expected = model.set_params(threshold="train").fit(X, y).result_

    def interrupt(entry):
        raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        model.set_params(checkpoint=file, callback=interrupt).fit(X, y)
    assert file.exists()
    found = model.set_params(callback=None).fit(X, y).result_
    assert not file.exists()
    assert found.certificate.upper == pytest.approx(expected.certificate.upper, rel=1e-3)
    assert [entry.iteration for entry in found.history] == list(range(1, found.n_iter + 1))
    assert found.n_iter > 1


def test_checkpoints_of_another_training_or_damaged_ones_raise(tmp_path):
    X, file = make_samples()[:2500].compute(scheduler="sync"), tmp_path / "training.npz"
    y = X[:, 0] > 1.0

    def interrupt(entry):
        raise KeyError("no more")

    with pytest.raises(KeyError):
        AUCSVC(threshold="train", checkpoint=file, callback=interrupt).fit(X, y)
    with pytest.raises(ValueError, match="belongs to another training"):
        AUCSVC(C=2.0, threshold="train", checkpoint=file).fit(X, y)
    with pytest.raises(ValueError, match="kernel='linear'"):
        AUCSVC(kernel="rbf", threshold="train", checkpoint=file).fit(X[:100], y[:100])
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(ValueError, match="remove the file to start anew"):
        AUCSVC(threshold="train", checkpoint=file).fit(X, y)
