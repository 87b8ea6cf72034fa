"""A real cluster, shared by all tests: a scheduler and two worker processes, TCP on loopback."""

from __future__ import annotations

import pytest

from benchmarks.cluster_process import SETTINGS


@pytest.fixture(scope="session")
def cluster():
    from distributed import LocalCluster  # slow to import, and most tests do without

    with LocalCluster(**SETTINGS) as made:
        yield made


@pytest.fixture(scope="session")
def client(cluster):
    from distributed import Client

    with Client(cluster) as made:
        yield made
