"""A cluster without workers is waited for, but not for ever."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from metricwise import MultivariateSVC
from metricwise.designs.cluster.lost_workers import WorkerWatch

SETTING = "distributed.scheduler.no-workers-timeout"
X = da.from_array(np.random.default_rng(0).normal(size=(40, 2)), chunks=(20, 2))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def empty_cluster() -> Iterator[Any]:
    with (
        LocalCluster(n_workers=0, processes=False, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield cluster, client


def test_an_empty_cluster_is_an_error_that_says_what_to_do(
    empty_cluster: Any, caplog: pytest.LogCaptureFixture
) -> None:
    _, client = empty_cluster
    started = time.monotonic()
    with (
        dask.config.set({SETTING: "300ms"}),
        pytest.raises(
            ValueError, match=r"has 0 workers, and none joined within 0.3 s: start some, as by cluster.scale\(2\)"
        ),
    ):
        MultivariateSVC("f1").fit(X, Y, client=client)
    assert time.monotonic() - started < 30.0
    assert [one.message for one in caplog.records if "waiting up to" in one.message] == [
        "the Dask cluster has no workers; waiting up to 0.3 s for the first"
    ]


def test_an_adaptive_cluster_starts_its_first_worker(empty_cluster: Any) -> None:
    cluster, client = empty_cluster
    cluster.adapt(minimum=0, maximum=1, interval="100ms")
    assert MultivariateSVC("f1").fit(X, Y, client=client).classes_.tolist() == [0, 1]


def test_tasks_whose_workers_are_all_lost_are_not_waited_for(empty_cluster: Any) -> None:
    cluster, client = empty_cluster
    cluster.scale(1)
    client.wait_for_workers(1)
    tasks = [client.submit(time.sleep, 1.5)]
    cluster.scale(0)
    with dask.config.set({SETTING: "300ms"}), pytest.raises(ValueError, match="has 0 workers"):
        WorkerWatch(client).wait(tasks)
