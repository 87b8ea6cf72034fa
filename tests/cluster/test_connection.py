"""Numbers go to workers directly where these can be reached, through the client that was given."""

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
EVERYTHING = np.arange(3)


def asked(client):
    """Return scores, and the way that the second question has taken."""
    source = DaskSource(persist_blocks(da.from_array(X, chunks=(20, 3)), client))
    source.scores(np.ones(3), EVERYTHING)
    ways, asked = [], source.pool._ask_once

    def noting(*arguments):
        ways.append(client.direct_to_workers)
        return asked(*arguments)

    source.pool._ask_once = noting
    return source.scores(np.array([1.0, -2.0, 0.5]), EVERYTHING), ways


@pytest.mark.parametrize(("wish", "taken"), [(None, True), (False, False), (True, True)])
def test_the_direct_way_is_taken_unless_the_user_has_forbidden_it(cluster, wish, taken):
    with Client(cluster, direct_to_workers=wish, set_as_default=False) as client:
        before = client.direct_to_workers
        found, ways = asked(client)
        assert ways == [taken] and client.direct_to_workers == before
    np.testing.assert_allclose(found, X @ [1.0, -2.0, 0.5])


def test_workers_behind_a_wall_are_asked_by_the_scheduler(client, monkeypatch):
    monkeypatch.setattr(pool, "can_reach", lambda addresses: False)
    found, ways = asked(client)
    assert ways == [False]
    np.testing.assert_allclose(found, X @ [1.0, -2.0, 0.5])


def test_ports_that_nobody_listens_at_and_schemes_of_others_are_not_reached(client):
    workers = list(client.ncores())
    assert can_reach(workers)
    assert not can_reach([*workers, "tcp://127.0.0.1:9"])
    assert not can_reach(["inproc://192.168.0.1/8/1"])


def test_the_way_is_as_before_after_an_error(client):
    with pytest.raises(ValueError, match="wrong"), connect_directly(client, True):
        assert client.direct_to_workers is True
        raise ValueError("wrong")
    assert client.direct_to_workers is None


def test_the_client_that_was_given_is_the_one_that_asks(cluster):
    with Client(cluster, set_as_default=False) as given:
        current = Client(cluster)
        source = DaskSource(persist_blocks(da.from_array(X, chunks=(20, 3)), given))
        source.scores(np.ones(3), EVERYTHING)
        current.close()
        np.testing.assert_allclose(source.scores(np.ones(3), EVERYTHING), X.sum(axis=1))


@pytest.mark.parametrize(
    "model",
    [
        MultivariateSVC(threshold="train", tol=1e-2),
        SPADEClassifier(n_passes=1, n_shards=2),
        PlugInClassifier(SGDClassifier(loss="log_loss", random_state=0), "f1", cv=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_client_that_is_not_the_default_one_trains(cluster, model):
    rows, labels = da.from_array(X, chunks=(20, 3)), da.from_array(X[:, 0] > 0.4, chunks=20)
    with Client(cluster, set_as_default=False) as given:
        trained = clone(model).fit(rows, labels, client=given)
        found = given.compute(trained.predict(rows)).result()
        if isinstance(model, MultivariateSVC):  # as close to the optimum as training says
            assert certify(trained, rows, labels, client=given).relative <= 1.01e-2
    assert np.mean(found == (X[:, 0] > 0.4)) > 0.8
