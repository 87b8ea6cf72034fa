"""Faults of a cluster while MetricClassifier trains on a Dask collection, with real processes, each five times."""

from __future__ import annotations

import os
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any, NamedTuple
from unittest.mock import patch

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.cluster_process import SETTINGS, cluster_process
from benchmarks.context import Context
from benchmarks.report import Column, Record, Section, Table
from metricwise import MetricClassifier
from metricwise.designs.cluster.connection import SchedulerLostError
from metricwise.estimators.selection.beyond_memory import limits
from metricwise.estimators.selection.beyond_memory.choosing import HeldOutSamples
from metricwise.estimators.selection.beyond_memory.learners import FullTraining

RUNS, QUICK_RUNS = 5, 1
N_SAMPLES, N_FEATURES, N_CHUNKS = 40_000, 10, 8
N_COMPARED = 5000  # samples that candidates are compared on, so that finalists are trained on more
DELAY = 0.01  # seconds after the start of a stage, times the number of the run
RECONNECTING = "5s"  # that clients try to reach a lost scheduler, 30 seconds by default

# What fit does on the cluster, by the method that starts it; the sample is compared in the process of fit.
STAGES: dict[str, tuple[Any, str]] = {
    "while candidates are compared": (MetricClassifier, "_report_progress"),
    "while a finalist is trained on all samples": (FullTraining, "fit"),
    "while held-out samples are scored": (HeldOutSamples, "score"),
}
COLUMNS = (
    Column("case", "fault"),
    Column("runs", "runs", "{:d}"),
    Column("happened", "it happened", "{:d}"),
    Column("same_bits", "same bits", "{:d}"),
    Column("errors", "SchedulerLostError", "{:d}"),
    Column("seconds", "median, s", "{:.1f}"),
    Column("slowest", "slowest, s", "{:.1f}"),
    Column("undisturbed", "undisturbed, s", "{:.1f}"),
)
TEXT = [
    f"``MetricClassifier(candidates=['linear_svm'], cv=2)`` on a Dask array of {N_SAMPLES:,} samples and {N_FEATURES} "
    f"features in {N_CHUNKS} chunks, on a cluster of two worker processes with one thread each. Candidates are "
    f"compared on {N_COMPARED:,} samples (usually 100,000), and those selected are trained on all. A process gets "
    f"SIGKILL when one of three stages has started, {1000 * DELAY:.0f} milliseconds later in every further run. *It "
    "happened* counts the runs in which the process was killed before ``fit`` ended. *Same bits* counts those in which "
    "the scores of as many new samples and the expected measure equal those of the undisturbed training. There is no "
    "checkpoint of a selection: without its scheduler, ``fit`` raises an error that says what to do, here after the "
    f"{RECONNECTING.removesuffix('s')} seconds for which the client tries to reconnect (30 by default), later while "
    "held-out samples are scored."
]


class Outcome(NamedTuple):
    """Whether a fault happened during `fit`, what came of it, and the seconds of `fit`."""

    happened: bool
    same_bits: bool
    is_error: bool
    seconds: float


class Problem(NamedTuple):
    """Samples with labels, and the model of undisturbed training with its seconds."""

    y: Any
    new: Any
    model: Any = None
    seconds: float = 0.0


def measure(context: Context) -> Section:
    """Measure each fault several times."""
    section = Section("selection_faults", "Faults during model selection on a cluster", list(TEXT))
    random, n_runs = np.random.default_rng(0), QUICK_RUNS if context.quick else RUNS
    new = random.normal(size=(N_SAMPLES, N_FEATURES))
    with LocalCluster(**SETTINGS) as cluster, Client(cluster, set_as_default=False) as client:
        latent = client.compute(make_samples()[:, :2].sum(axis=1)).result() + 0.7 * random.normal(size=N_SAMPLES)
        problem = Problem(latent > 1.5, new)
        train(client, problem)
        started = time.perf_counter()
        model = train(client, problem)
        problem = problem._replace(model=model, seconds=time.perf_counter() - started)
    found = {
        f"worker killed {words}": [_lose_worker(problem, stage, DELAY * run) for run in range(n_runs)]
        for words, stage in STAGES.items()
    }
    if not all(one.happened and one.same_bits for outcomes in found.values() for one in outcomes):
        section.failures.append(f"a lost worker changed the model, or none was lost: {found}")
    lost = {
        f"scheduler killed {words}": [_lose_scheduler(problem, stage, DELAY * run) for run in range(n_runs)]
        for words, stage in STAGES.items()
    }
    if not all(one.happened and one.is_error for outcomes in lost.values() for one in outcomes):
        section.failures.append(f"a lost scheduler gave no error, or was not lost: {lost}")
    records = [_record(case, outcomes, problem.seconds) for case, outcomes in (found | lost).items()]
    section.tables.append(Table("Faults", COLUMNS, records))
    return section


def make_samples() -> Any:
    """Return samples that workers compute, and compute again if they are lost."""
    return da.random.default_rng(7).normal(size=(N_SAMPLES, N_FEATURES), chunks=(N_SAMPLES // N_CHUNKS, N_FEATURES))


def train(client: Client, problem: Problem) -> Any:
    """Return the trained model."""
    with patch.object(limits, "MANY_SAMPLES", N_COMPARED):
        model = MetricClassifier(candidates=["linear_svm"], cv=2, verbose=0)
        return model.fit(make_samples(), problem.y, client=client)


def _lose_worker(problem: Problem, stage: tuple[Any, str], delay: float) -> Outcome:
    """Kill a worker; Dask computes its chunks again. On a cluster of its own, as Dask may start no replacement."""
    with LocalCluster(**SETTINGS) as cluster, Client(cluster, set_as_default=False) as client:
        processes = client.run(os.getpid)
        victim = processes[min(processes)]
        started = time.perf_counter()
        with _disturbed(stage, delay, lambda: os.kill(victim, signal.SIGKILL)) as killed:
            model = train(client, problem)
            happened = bool(killed)
        seconds = time.perf_counter() - started
    same = np.array_equal(model.decision_function(problem.new), problem.model.decision_function(problem.new))
    return Outcome(happened, same and model.expected_score_ == problem.model.expected_score_, False, seconds)


def _lose_scheduler(problem: Problem, stage: tuple[Any, str], delay: float) -> Outcome:
    """Kill the scheduler; training fails."""
    waiting = dask.config.set({"distributed.comm.timeouts.connect": RECONNECTING})
    with waiting, cluster_process() as (process, address), Client(address, set_as_default=False) as client:
        started = time.perf_counter()
        with _disturbed(stage, delay, process.kill) as killed:
            try:
                train(client, problem)
                is_error = False
            except SchedulerLostError:
                is_error = True
            return Outcome(bool(killed), False, is_error, time.perf_counter() - started)


@contextmanager
def _disturbed(stage: tuple[Any, str], delay: float, disturb: Callable[[], None]) -> Iterator[list[bool]]:
    """Call ``disturb`` once when the stage has started; the list is not empty as soon as that has happened."""
    happened: list[bool] = []
    threads: list[Thread] = []
    owner, name = stage
    method = getattr(owner, name)

    def wait_and_disturb() -> None:
        time.sleep(delay)
        disturb()
        happened.append(True)

    def start(*given: Any, **options: Any) -> Any:
        if not threads:
            threads.append(Thread(target=wait_and_disturb))
            threads[0].start()
        return method(*given, **options)

    with patch.object(owner, name, start):
        yield happened
    for thread in threads:
        thread.join()


def _record(case: str, outcomes: list[Outcome], undisturbed: float) -> Record:
    seconds = [one.seconds for one in outcomes]
    return {
        "case": case,
        "runs": len(outcomes),
        "happened": sum(one.happened for one in outcomes),
        "same_bits": sum(one.same_bits for one in outcomes),
        "errors": sum(one.is_error for one in outcomes),
        "seconds": statistics.median(seconds),
        "slowest": max(seconds),
        "undisturbed": undisturbed,
    }
