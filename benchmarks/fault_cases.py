"""Faults of a cluster during training, with real processes: one function per case."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.cluster_process import SETTINGS, cluster_process
from metricwise import MultivariateSVC

N_SAMPLES, N_FEATURES, N_CHUNKS = 20_000, 30, 8
TOL = 1e-4
AT_ITERATION = 3
STOPPED_SECONDS = 4.0
MOST_SECONDS = 60  # for workers to come and go

Disturb = Callable[[], None]


@dataclass(frozen=True)
class Outcome:
    """The result of a disturbed training run compared with the undisturbed one.

    ``happened`` is whether the disturbance took place before training ended; ``gap`` is the relative difference of the
    two objectives.
    """

    happened: bool
    same_bits: bool
    gap: float
    seconds: float

    @property
    def same_certificate(self) -> bool:
        """Whether both runs ended with the same objective within the tolerance."""
        return self.gap <= TOL


def make_samples() -> Any:
    """Return samples that workers compute, and compute again if they are lost."""
    return da.random.default_rng(7).normal(size=(N_SAMPLES, N_FEATURES), chunks=(N_SAMPLES // N_CHUNKS, N_FEATURES))


def make_labels(client: Client) -> np.ndarray:
    """Return noisy labels of the samples, one in five positive."""
    random = np.random.default_rng(0)
    latent = client.compute(make_samples() @ random.normal(size=N_FEATURES)).result() + 2 * random.normal(
        size=N_SAMPLES
    )
    return latent > np.quantile(latent, 0.8)


def train(
    client: Client, labels: np.ndarray, disturb: Disturb | None = None, checkpoint: Path | None = None
) -> MultivariateSVC:
    """Train, and call ``disturb`` after some iterations."""

    def callback(entry: Any) -> None:
        if disturb is not None and entry.iteration == AT_ITERATION:
            disturb()

    model = MultivariateSVC("f1", tol=TOL, threshold="train", callback=callback, checkpoint=checkpoint)
    return model.fit(make_samples(), labels, client=client)


def compare(model: MultivariateSVC, undisturbed: MultivariateSVC, happened: bool, seconds: float) -> Outcome:
    found, expected = model.result_.certificate, undisturbed.result_.certificate
    same_bits = bool(np.array_equal(model.coef_, undisturbed.coef_)) and found == expected
    return Outcome(happened, same_bits, abs(found.upper - expected.upper) / expected.upper, seconds)


def worker_killed(_: Any, __: Client, labels: np.ndarray, undisturbed: MultivariateSVC, run: int) -> Outcome:
    """A worker process gets SIGKILL in the middle of an iteration; Dask computes its chunks again.

    On a cluster of its own, as Dask may not start a replacement.
    """
    with LocalCluster(**SETTINGS) as cluster, Client(cluster, set_as_default=False) as client:
        processes = client.run(os.getpid)
        victim = sorted(processes)[run % len(processes)]

        def kill() -> None:
            time.sleep(0.005 * run)
            os.kill(processes[victim], signal.SIGKILL)

        started = time.perf_counter()
        model = train(client, labels, disturb=Thread(target=kill).start)
        seconds = time.perf_counter() - started
        happened = processes[victim] not in client.run(os.getpid, on_error="ignore").values()
    return compare(model, undisturbed, happened, seconds)


def wait_for_fewer_workers(client: Client, count: int) -> None:
    """Wait until at most ``count`` workers are left."""
    started = time.monotonic()
    while len(client.ncores()) > count:
        if time.monotonic() - started > MOST_SECONDS:
            raise TimeoutError(f"more than {count} workers are left after {MOST_SECONDS} s")
        time.sleep(0.1)


def worker_joins(cluster: Any, client: Client, labels: np.ndarray, undisturbed: MultivariateSVC, run: int) -> Outcome:
    """A third worker joins between two iterations, and leaves after training."""
    before = len(client.run(os.getpid))
    seen: list[int] = []

    def join() -> None:
        cluster.scale(before + 1)
        client.wait_for_workers(before + 1, timeout=MOST_SECONDS)
        seen.append(len(client.run(os.getpid)))

    started = time.perf_counter()
    model = train(client, labels, disturb=join)
    seconds = time.perf_counter() - started
    cluster.scale(before)
    wait_for_fewer_workers(client, before)  # the next case must not meet a worker that is about to leave
    return compare(model, undisturbed, seen == [before + 1], seconds)


def worker_slow(cluster: Any, client: Client, labels: np.ndarray, undisturbed: MultivariateSVC, run: int) -> Outcome:
    """A worker process is suspended for some seconds (SIGSTOP, SIGCONT)."""
    processes = client.run(os.getpid)
    victim = processes[sorted(processes)[run % len(processes)]]

    def stop() -> None:
        os.kill(victim, signal.SIGSTOP)
        time.sleep(STOPPED_SECONDS)
        os.kill(victim, signal.SIGCONT)

    started = time.perf_counter()
    model = train(client, labels, disturb=Thread(target=stop).start)
    seconds = time.perf_counter() - started
    return compare(model, undisturbed, seconds > 0.9 * STOPPED_SECONDS, seconds)


def scheduler_lost(cluster: Any, client: Client, labels: np.ndarray, undisturbed: MultivariateSVC, run: int) -> Outcome:
    """The scheduler's process gets SIGKILL; training fails, and resumes from its checkpoint on another cluster."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "training.npz"
        message = _lose_scheduler(labels, file)
        happened = str(file) in message and file.exists()
        started = time.perf_counter()
        model = train(client, labels, checkpoint=file)
        seconds = time.perf_counter() - started
        happened = happened and not file.exists() and _has_resumed(model)
    return compare(model, undisturbed, happened, seconds)


def _lose_scheduler(labels: np.ndarray, file: Path) -> str:
    """Return the message of the error."""
    with cluster_process() as (process, address), Client(address, set_as_default=False) as doomed:
        try:
            train(doomed, labels, disturb=Thread(target=process.kill).start, checkpoint=file)
        except ConnectionError as error:
            return str(error)
    return "no error"


def _has_resumed(model: MultivariateSVC) -> bool:
    """Whether the history has the iterations before the loss, once each."""
    numbers = [entry.iteration for entry in model.result_.history]
    return numbers == list(range(1, len(numbers) + 1)) and len(numbers) > AT_ITERATION


CASES = {
    "worker killed (SIGKILL)": worker_killed,
    "worker joins late": worker_joins,
    "worker suspended": worker_slow,
    "scheduler killed, resumed": scheduler_lost,
}
