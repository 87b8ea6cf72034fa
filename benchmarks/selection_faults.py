"""Faults of a cluster while MetricClassifier trains on a Dask collection, with real processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.cluster_process import SETTINGS, cluster_process
from benchmarks.context import Context
from benchmarks.report import Column, Record, Section, Table
from metricwise import MetricClassifier

N_SAMPLES, N_FEATURES, N_CHUNKS = 20_000, 10, 8

COLUMNS = (
    Column("case", "fault"),
    Column("outcome", "outcome"),
    Column("seconds", "seconds", "{:.1f}"),
)
TEXT = [
    f"``MetricClassifier(candidates=['linear_svm'])`` on a Dask array of {N_SAMPLES:,} samples in {N_CHUNKS} chunks, "
    "on a cluster of two worker processes. The fault happens when the first candidate has been compared, before the "
    "workers score held-out samples. *Same bits* means that the scores of all samples and the expected measure are "
    "those of the undisturbed training. There is no checkpoint of a selection: without its scheduler, ``fit`` raises "
    "an error that says what to do, here after the 30 seconds for which the client tries to reconnect."
]


def measure(context: Context) -> Section:
    """Measure each fault once."""
    section = Section("selection_faults", "Faults during model selection on a cluster", list(TEXT))
    random = np.random.default_rng(0)
    X = random.normal(size=(N_SAMPLES, N_FEATURES))
    y = X[:, 0] + X[:, 1] + 0.7 * random.normal(size=N_SAMPLES) > 1.5
    with LocalCluster(**SETTINGS) as cluster, Client(cluster, set_as_default=False) as client:
        undisturbed, seconds = _train(client, X, y)
        records: list[Record] = [{"case": "none", "outcome": "trained", "seconds": seconds}]
        victim = min(client.run(os.getpid).values())
        model, seconds = _train(client, X, y, lambda: os.kill(victim, signal.SIGKILL))
    same = np.array_equal(model.decision_function(X), undisturbed.decision_function(X))
    same = same and model.expected_score_ == undisturbed.expected_score_
    outcome = "trained, same bits" if same else "trained, another model"
    records.append({"case": "worker killed (SIGKILL)", "outcome": outcome, "seconds": seconds})
    with cluster_process() as (process, address), Client(address, set_as_default=False) as doomed:
        started = time.perf_counter()
        try:
            _train(doomed, X, y, process.kill)
            outcome = "no error"
        except ConnectionError as error:
            outcome = type(error).__name__
        records.append({"case": "scheduler killed", "outcome": outcome, "seconds": time.perf_counter() - started})
    if not same or outcome != "SchedulerLostError":
        section.failures.append(f"a fault changed the model, or gave no error: {records}")
    section.tables.append(Table("Faults", COLUMNS, records))
    return section


def _train(client: Client, X: Any, y: Any, disturb: Callable[[], None] | None = None) -> tuple[Any, float]:
    """Return a model and its seconds; ``disturb`` is called after the first candidate."""
    pending = [] if disturb is None else [disturb]

    def callback(_: str) -> None:
        if pending:
            pending.pop()()

    started = time.perf_counter()
    samples = da.from_array(X, chunks=(N_SAMPLES // N_CHUNKS, -1))
    model = MetricClassifier(candidates=["linear_svm"], callback=callback, verbose=0)
    return model.fit(samples, y, client=client), time.perf_counter() - started
