"""Workers with too little memory: an error that names the worker, its memory and the remedy."""

from __future__ import annotations

import time

import dask.array as da
import numpy as np
import pytest

from benchmarks.cluster_process import SETTINGS
from metricwise import MultivariateSVC
from metricwise.designs.cluster.lost_workers import WorkerMemoryError

N_SAMPLES = 2000
LIMIT = "450MB"


def take_memory(block):
    """Return a chunk, after taking more memory than a worker has."""
    taken = np.ones(75_000_000)  # 600 MB
    time.sleep(1.0)
    return block * taken[0]


@pytest.fixture(scope="module")
def small_workers():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(**(SETTINGS | {"memory_limit": LIMIT})) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
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
    with pytest.raises(WorkerMemoryError, match=r"worker tcp://.* was lost .* of 450MB that it may take: give each"):
        MultivariateSVC("f1").fit(X, make_labels(X), client=small_workers)
