"""Messages go to workers by direct connections where these can be reached, through the given client."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from distributed import Client
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

from metricwise import MultivariateSVC, PlugInClassifier, SPADEClassifier, certify
from metricwise.designs.cluster import pool
from metricwise.designs.cluster.blocks import persist_blocks
from metricwise.designs.cluster.connection import can_reach, connect_directly
from metricwise.designs.cluster.source import DaskSource

X = np.random.default_rng(0).normal(size=(60, 3))
ALL_CHUNKS = np.arange(3)


def request_scores(client):
    """Return scores, and whether the second request used direct connections."""
    source = DaskSource(persist_blocks(da.from_array(X, chunks=(20, 3)), client))
    source.scores(np.ones(3), ALL_CHUNKS)
    connections, ask_once = [], source.pool._ask_once

    def record(*arguments):
        connections.append(client.direct_to_workers)
        return ask_once(*arguments)

    source.pool._ask_once = record
    return source.scores(np.array([1.0, -2.0, 0.5]), ALL_CHUNKS), connections


@pytest.mark.parametrize(("setting", "expected"), [(None, True), (False, False), (True, True)])
def test_direct_connections_are_used_unless_the_client_forbids_them(cluster, setting, expected):
    with Client(cluster, direct_to_workers=setting, set_as_default=False) as client:
        before = client.direct_to_workers
        found, connections = request_scores(client)
        assert connections == [expected] and client.direct_to_workers == before
    np.testing.assert_allclose(found, X @ [1.0, -2.0, 0.5])


def test_unreachable_workers_are_reached_through_the_scheduler(client, monkeypatch):
    monkeypatch.setattr(pool, "can_reach", lambda addresses: False)
    found, connections = request_scores(client)
    assert connections == [False]
    np.testing.assert_allclose(found, X @ [1.0, -2.0, 0.5])


def test_closed_ports_and_foreign_schemes_are_unreachable(client):
    workers = list(client.ncores())
    assert can_reach(workers)
    assert not can_reach([*workers, "tcp://127.0.0.1:9"])
    assert not can_reach(["inproc://192.168.0.1/8/1"])


def test_the_connection_setting_is_restored_after_an_error(client):
    with pytest.raises(ValueError, match="wrong"), connect_directly(client, True):
        assert client.direct_to_workers is True
        raise ValueError("wrong")
    assert client.direct_to_workers is None


def test_requests_go_through_the_given_client(cluster):
    with Client(cluster, set_as_default=False) as given:
        current = Client(cluster)
        source = DaskSource(persist_blocks(da.from_array(X, chunks=(20, 3)), given))
        source.scores(np.ones(3), ALL_CHUNKS)
        current.close()
        np.testing.assert_allclose(source.scores(np.ones(3), ALL_CHUNKS), X.sum(axis=1))


@pytest.mark.parametrize(
    "model",
    [
        MultivariateSVC(threshold="train", tol=1e-2),
        SPADEClassifier(n_passes=1, n_shards=2),
        PlugInClassifier(SGDClassifier(loss="log_loss", random_state=0), "f1", cv=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_training_works_with_a_client_that_is_not_the_default(cluster, model):
    samples, labels = da.from_array(X, chunks=(20, 3)), da.from_array(X[:, 0] > 0.4, chunks=20)
    with Client(cluster, set_as_default=False) as given:
        trained = clone(model).fit(samples, labels, client=given)
        found = given.compute(trained.predict(samples)).result()
        if isinstance(model, MultivariateSVC):  # as close to the optimum as training reports
            assert certify(trained, samples, labels, client=given).relative <= 1.01e-2
    assert np.mean(found == (X[:, 0] > 0.4)) > 0.8
