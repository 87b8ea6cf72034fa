"""A real cluster for all tests of this folder: a scheduler and two worker processes, TCP on loopback."""

from __future__ import annotations

import pytest
from distributed import Client, LocalCluster

from benchmarks.cluster_process import SETTINGS


@pytest.fixture(scope="session")
def cluster():
    with LocalCluster(**SETTINGS) as made:
        yield made


@pytest.fixture(scope="session")
def client(cluster):
    with Client(cluster) as made:
        yield made
