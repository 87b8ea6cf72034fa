"""Training on a cluster of two single-threaded workers: overhead beside the products, and time beside memory."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.cluster_process import SETTINGS
from benchmarks.context import Context
from benchmarks.report import Column, Record, Section, Table
from metricwise.designs import make_design
from metricwise.designs.cluster.blocks import persist_blocks
from metricwise.designs.cluster.source import DaskSource
from metricwise.measures import FBeta
from metricwise.results import Result
from metricwise.solvers import CuttingPlane, Limits, make_problem, run

SIZES, QUICK_SIZES = (250_000, 500_000, 1_000_000, 2_000_000), (10_000, 20_000)
JUDGED, QUICK_JUDGED = 1_000_000, 20_000  # samples
N_FEATURES, CHUNKS = 100, 8
N_ITERATIONS, QUICK_ITERATIONS = 30, 5
NEVER = 1e-14  # a tolerance that is not reached
MOST_OVERHEAD = 30.0  # milliseconds per iteration, beside the products

COLUMNS = (
    Column("n_samples", "samples", "{:,}"),
    Column("dtype", "type"),
    Column("connection", "connection"),
    Column("iteration", "iteration, ms", "{:.0f}"),
    Column("products", "products on workers, ms", "{:.0f}"),
    Column("overhead", "overhead, ms", "{:.1f}"),
    Column("least", "least overhead, ms", "{:.1f}"),
    Column("megabytes", "moved, MB", "{:.1f}"),
    Column("in_memory", "iteration in memory, ms", "{:.0f}"),
    Column("ratio", "ratio", "{:.2f}"),
)


class TimedSource(DaskSource):
    """A source that records for every product the time of the workers and the overhead."""

    def __init__(self, X: Any, client: Client) -> None:
        super().__init__(persist_blocks(X, client))
        self.overheads: dict[str, list[float]] = {"scores": [], "combine": []}
        self.works: dict[str, list[float]] = {"scores": [], "combine": []}

    def scores(self, w: np.ndarray, chunks: np.ndarray) -> np.ndarray:
        return self._timed("scores", lambda: super(TimedSource, self).scores(w, chunks))

    def combine(self, c: np.ndarray, chunks: np.ndarray) -> np.ndarray:
        return self._timed("combine", lambda: super(TimedSource, self).combine(c, chunks))

    def _timed(self, name: str, product: Callable[[], np.ndarray]) -> np.ndarray:
        started, before = time.perf_counter(), self.pool.worker_seconds
        found = product()
        work = self.pool.worker_seconds - before
        self.works[name].append(work)
        self.overheads[name].append(time.perf_counter() - started - work)
        return found


def measure(context: Context) -> Section:
    """Train on a cluster and in memory, on increasing numbers of samples."""
    section = Section("cluster", "Two workers of one thread", [_text()])
    sizes, judged = (QUICK_SIZES, QUICK_JUDGED) if context.quick else (SIZES, JUDGED)
    with LocalCluster(**SETTINGS) as cluster:
        records = []
        for direct in (True, False):
            with Client(cluster, direct_to_workers=direct) as client:
                _record(client, QUICK_SIZES[0], np.float32, direct, context)  # compiles the kernels
                wanted = [(n, np.float32) for n in sizes] if direct else [(judged, np.float32)]
                wanted.append((judged, np.float64))
                records += [_record(client, n, dtype, direct, context) for n, dtype in wanted]
    section.tables.append(Table(f"Iterations on {N_FEATURES} features", COLUMNS, records))
    section.text.append(_growth([r for r in records if r["dtype"] == "float32" and r["connection"] == "direct"]))
    worst = max(
        record["overhead"] for record in records if record["connection"] == "direct" and record["n_samples"] == judged
    )
    if not context.quick and worst > MOST_OVERHEAD:
        section.failures.append(
            f"{worst:.0f} ms of overhead per iteration on {judged:,} samples with a direct connection"
        )
    return section


def _growth(records: list[Record]) -> str:
    """Describe the line fitted to the times of an iteration, and the largest deviation from it."""
    n_samples, times = (
        np.array([record[key] for record in records], dtype=float) for key in ("n_samples", "iteration")
    )
    slope, constant = np.polyfit(n_samples / 1e6, times, 1, w=1.0 / times)
    off = np.max(np.abs(constant + slope * n_samples / 1e6 - times) / times)
    return (
        f"From {records[0]['n_samples']:,} to {records[-1]['n_samples']:,} float32 samples with a direct connection, "
        f"an iteration takes {constant:.0f} ms plus {slope:.0f} ms per million samples; no measured time deviates from "
        f"this line by more than {100 * off:.0f} %."
    )


def _record(client: Client, n_samples: int, dtype: Any, direct: bool, context: Context) -> Record:
    n_iterations = QUICK_ITERATIONS if context.quick else N_ITERATIONS
    X = da.random.default_rng(1).normal(size=(n_samples, N_FEATURES), chunks=(n_samples // CHUNKS, N_FEATURES))
    X = X.astype(dtype)
    random = np.random.default_rng(0)
    latent = client.compute(X @ random.normal(size=N_FEATURES)).result() + 5 * random.normal(size=n_samples)
    labels = latent > np.quantile(latent, 0.8)
    source = TimedSource(X, client)
    on_cluster = train_iterations(source, labels, context.threads, n_iterations)
    in_memory = train_iterations(client.compute(X).result(), labels, context.threads, n_iterations)
    moved = np.diff([entry.bytes_moved for entry in on_cluster.history])
    return {
        "n_samples": n_samples,
        "dtype": np.dtype(dtype).name,
        "connection": "direct" if direct else "scheduler",
        "iteration": 1e3 * seconds_per_iteration(on_cluster),
        "products": 1e3 * sum(statistics.median(values) for values in source.works.values()),
        "overhead": 1e3 * sum(statistics.median(values) for values in source.overheads.values()),
        "least": 1e3 * sum(min(values) for values in source.overheads.values()),
        "megabytes": float(np.median(moved)) / 1e6 if moved.size else None,
        "in_memory": 1e3 * seconds_per_iteration(in_memory),
        "ratio": seconds_per_iteration(on_cluster) / seconds_per_iteration(in_memory),
    }


def train_iterations(data: Any, labels: np.ndarray, threads: int, n_iterations: int, C: float = 1.0) -> Result:
    """Train for F1 from a cold start for ``n_iterations`` iterations."""
    problem = make_problem(make_design(data, intercept=1.0, threads=threads), labels, FBeta(), C=C)
    return run(CuttingPlane(sample_factor=0), problem, Limits(tol=NEVER, max_iter=n_iterations))[0]


def seconds_per_iteration(result: Result) -> float:
    """Return the median over all iterations except the first, which includes the start."""
    seconds = np.diff([entry.seconds for entry in result.history])
    return float(np.median(seconds)) if seconds.size else result.seconds


def _text() -> str:
    return (
        f"Two worker processes with one thread each, beside the coordinator on the same machine; {N_ITERATIONS} "
        "iterations of training for F1 from a cold start (no sample is gathered). An iteration is one product X w, "
        "one product X' c, and the sorting and searching between them. *Overhead* is the time that the coordinator "
        "waits for the two products minus the time that the slower worker computes: serialisation, transfer of scores "
        "and coefficients, and Dask; the median over all products, and the minimum, which other work on the machine "
        "disturbs less. The connection is direct, as it is by default where workers can be reached, or through the "
        "scheduler (``Client(..., direct_to_workers=False)``). *In memory* is the same training in one process with "
        "all its threads, and the ratio compares the times of an iteration."
    )
