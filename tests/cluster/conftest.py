"""A real cluster for all tests of this folder: a scheduler and two worker processes, TCP on loopback."""

from __future__ import annotations

import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="session")
def cluster():
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**settings, protocol="tcp", host="127.0.0.1", silence_logs="ERROR") as made:
        yield made


@pytest.fixture(scope="session")
def client(cluster):
    with Client(cluster) as made:
        yield made
