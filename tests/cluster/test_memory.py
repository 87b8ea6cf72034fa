"""Workers with too little memory: an error that names the worker, its memory and the remedy."""

from __future__ import annotations

import time
from contextlib import contextmanager

import dask.array as da
import numpy as np
import pytest

from benchmarks.cluster_process import SETTINGS
from metricwise import MultivariateSVC
from metricwise.designs.cluster.lost_workers import WorkerMemoryError, WorkerWatch

N_SAMPLES = 2000
LIMIT = "450MB"


def take_memory(block):
    """Return a chunk, after taking more memory than a worker has."""
    taken = np.ones(75_000_000)  # 600 MB
    time.sleep(1.0)
    return block * taken[0]


@contextmanager
def start_workers(limit):
    """Yield the client of two workers with a limit of memory."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(**(SETTINGS | {"memory_limit": limit})) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def small_workers():
    with start_workers(LIMIT) as client:
        yield client


def make_labels(X):
    return np.arange(X.shape[0]) % 3 == 0


def test_samples_larger_than_all_workers_are_refused_at_once(small_workers):
    X = da.ones((1_000_000, 200), chunks=(50_000, 200))
    with pytest.raises(
        WorkerMemoryError, match=r"X takes 1600MB, and the 2 workers .* have 900MB .*: give each worker"
    ):
        MultivariateSVC("f1").fit(X, make_labels(X), client=small_workers)


def test_workers_lost_for_lack_of_memory_are_named(small_workers):
    X = da.random.default_rng(0).normal(size=(N_SAMPLES, 5), chunks=(N_SAMPLES // 4, 5)).map_blocks(take_memory)
    # A busy machine may end a worker before it has reported what it holds.
    message = r"worker tcp://.* was lost .* its limit is 450MB: give each|was lost, the last was tcp://.*: give each"
    with pytest.raises(WorkerMemoryError, match=message):
        MultivariateSVC("f1").fit(X, make_labels(X), client=small_workers)


def hold_memory(bytes_held):
    """Hold memory long enough to be reported."""
    taken = np.ones(bytes_held // 8)
    time.sleep(1.5)
    return float(taken[0])


def test_workers_that_are_retired_are_not_short_of_memory():
    """Workers that leave on purpose are no loss, however much memory they have held."""
    with start_workers("700MB") as client:
        watch = WorkerWatch(client)
        watch.check()
        addresses = list(client.scheduler_info(n_workers=-1)["workers"])
        futures = [client.submit(hold_memory, 300_000_000, workers=[one], pure=False) for one in addresses]
        while not all(future.done() for future in futures):
            time.sleep(0.3)
            watch.check()
        for address in addresses:
            client.retire_workers([address])
            watch.check()
