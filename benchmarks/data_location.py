"""Memory, disk or cluster: the same training on increasing numbers of samples, and a projection to many more."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

import metricwise.io
from benchmarks.cluster import NEVER, TimedSource, seconds_per_iteration, train_iterations
from benchmarks.cluster_process import SETTINGS
from benchmarks.context import Context
from benchmarks.disk_data import SHARE, write_samples
from benchmarks.disk_process import drop_from_cache
from benchmarks.growth_process import peak_memory, start_peak
from benchmarks.projection import NETWORK, Fitted, crossing, fit, most_workers, project
from benchmarks.report import Column, Record, Section, Table
from benchmarks.timing import LONG, Timing, make_timer, take_turns
from metricwise import MultivariateSVC
from metricwise.designs import make_design
from metricwise.designs.cluster.blocks import persist_blocks
from metricwise.designs.cluster.labelled import ClusterData
from metricwise.designs.cluster.messages import AnswerT, ComputeScores, DataActor, Request, keep_blocks
from metricwise.designs.labelled import LabelledSamples
from metricwise.designs.remote_design import RemoteDesign
from metricwise.io import DiskData
from metricwise.measures import FBeta
from metricwise.results import HistoryEntry
from metricwise.solvers import Limits, run
from metricwise.solvers.binned_cutting_plane import BinnedCuttingPlane
from metricwise.solvers.binned_problem import make_binned_problem

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000)
QUICK_SIZES = (2_000, 4_000, 8_000)
N_FEATURES, CHUNKS = 100, 8
N_ITERATIONS, QUICK_ITERATIONS = 12, 4
TOTAL_C = 40.0  # C times samples: the same problem at every size
TOL = 1e-2
REPETITIONS = 2
LOCATIONS = ("memory", "disk", "cluster")
LIMITS = {"less than 50 % slower": 1.5, "less than 10 % slower": 1.1, "faster": 1.0}
CALLS, CALL_REPETITIONS = 24, 15

PLANNED_SAMPLES = 10**9
PLANNED_WORKERS = (10, 100, 1000)
BINS = 256
PLANNED_BINS = (2**8, 2**12)
COORDINATORS = (64, 256, 1024)  # GB

LOCATIONS_TABLE, BREAK_EVEN_TABLE = "Memory, disk and cluster", "Break-even points"
FITTED_TABLE, PROJECTED_TABLE, LIMITS_TABLE = "Fitted constants", "Projected iterations", "Limits of the coordinator"

LOCATIONS_COLUMNS = (
    Column("n_samples", "samples", "{:,}"),
    *(Column(f"{location}_iteration", f"{location}, ms per iteration", "{:.1f}") for location in LOCATIONS),
    Column("binned_iteration", f"cluster with {BINS} bins, ms", "{:.1f}"),
    Column("uncached", "disk not cached, ms", "{:.0f}"),
    *(Column(f"{location}_total", f"{location}, s in total", "{:.2f}") for location in LOCATIONS),
    Column("iterations", "iterations"),
)
BREAK_EVEN_COLUMNS = (
    Column("location", "location"),
    Column("limit", "compared with memory"),
    Column("iteration", "per iteration, samples"),
)
BREAK_EVEN_COLUMNS += (Column("total", "in total, samples"),)
FITTED_COLUMNS = (Column("what", "constant"), Column("value", "value", "{:.3g}"), Column("unit", "unit"))
PROJECTED_COLUMNS = (
    Column("n_samples", "samples", "{:.0e}"),
    Column("workers", "workers", "{:,}"),
    Column("mode", "mode"),
    Column("gigabytes", "moved per iteration, GB", "{:.3g}"),
    Column("products", "products, s", "{:.3g}"),
    Column("transfer", "transfer, s", "{:.3g}"),
    Column("calls", "calls, s", "{:.3g}"),
    Column("coordinator", "sorting, s", "{:.3g}"),
    Column("iteration", "per iteration, s", "{:.3g}"),
    Column("held", "coordinator holds, GB", "{:.3g}"),
    Column("worker_gigabytes", "data per worker, GB", "{:.3g}"),
)
LIMITS_COLUMNS = (Column("what", "limit of exact mode"), Column("value", "at", "{:,.0f}"), Column("unit", "unit"))

TEXT = [
    f"Training for F1 on float32 samples of {N_FEATURES} features, of which {SHARE:.0%} are positive, from three "
    "data locations with one thread each: memory, a .npy file on disk, and a Dask cluster of "
    f"{SETTINGS['n_workers']} worker processes with one thread each on the same machine, with a direct connection to "
    "the coordinator. An iteration "
    f"is the median of {N_ITERATIONS} from a cold start. In total: ``MultivariateSVC('f1', tol={TOL:g}, "
    f"threshold=0.0)`` starting from the file, loading included, the best of {REPETITIONS} runs (one, if it takes "
    f"longer than {LONG:g} seconds), with C = {TOTAL_C:g} / samples. The file is in the page cache, except for the "
    "column *not cached*: there, both products of an iteration read it from the disk.",
    "*Break-even* is the number of samples from which a location is slower than memory by at most the stated share, "
    "log-linear between the measured sizes; a dash means that it was not reached.",
    "The constants are fitted to these measurements (``benchmarks/projection.py`` has the model), and the projection "
    "is computed from them: nothing in it was measured at its size. The network is assumed to carry "
    f"{NETWORK / 1e9:g} GB/s, and the slower of it and the loopback counts.",
]


def measure(context: Context) -> Section:
    """Train from all locations, fit the model and project."""
    section = Section("data_location", "Memory, disk or cluster", list(TEXT))
    sizes = QUICK_SIZES if context.quick else SIZES
    n_iterations = QUICK_ITERATIONS if context.quick else N_ITERATIONS
    with (
        tempfile.TemporaryDirectory() as name,
        LocalCluster(**SETTINGS) as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        folder = Path(name)
        write_samples(folder, max(sizes), N_FEATURES)
        _measure_size(folder, sizes[0], QUICK_ITERATIONS, client)  # compiles the kernels
        records = [_measure_size(folder, n_samples, n_iterations, client) for n_samples in sizes]
        call = _seconds_per_call(client)
    fitted = fit(records, N_FEATURES, SETTINGS["n_workers"], CHUNKS, BINS, call)
    section.tables += [
        Table(LOCATIONS_TABLE, LOCATIONS_COLUMNS, records),
        Table(BREAK_EVEN_TABLE, BREAK_EVEN_COLUMNS, _break_even(records)),
        Table(FITTED_TABLE, FITTED_COLUMNS, _constants(fitted)),
        Table(PROJECTED_TABLE, PROJECTED_COLUMNS, _project(fitted)),
        Table(LIMITS_TABLE, LIMITS_COLUMNS, _limits(fitted)),
    ]
    return section


# ------------------------------------------------------------------------------------------------------------ measuring


def _measure_size(folder: Path, n_samples: int, n_iterations: int, client: Client) -> Record:
    """Return the times of all locations on the first samples of the file."""
    labels = np.load(folder / "y.npy")[:n_samples]
    path = folder / "part.npy"
    np.save(path, np.load(folder / "X.npy", mmap_mode="r")[:n_samples])
    record: Record = {"n_samples": n_samples}
    record |= _iterations(path, labels, n_iterations, client)
    record |= _binned_iterations(path, labels, n_iterations, client)
    record["uncached"] = 1e3 * _time_uncached(metricwise.io.open(path))
    calls = {
        location: _make_fit(lambda location=location: _open(location, path, client), labels) for location in LOCATIONS
    }
    for location, found in take_turns(calls, REPETITIONS).items():
        record[f"{location}_total"] = found.seconds
        record["iterations"] = found.value.n_iter_
    return record


def _open(location: str, path: Path, client: Client) -> Any:
    """Open a file as the data of a location."""
    if location == "memory":
        return np.load(path)
    return metricwise.io.open(path) if location == "disk" else _chunks(path, client)


def _chunks(path: Path, client: Client) -> da.Array:
    """Return the samples of a file as a Dask array whose chunks the workers read."""
    n_samples = np.load(path, mmap_mode="r").shape[0]
    edges = np.linspace(0, n_samples, CHUNKS + 1).astype(int).tolist()
    read = delayed(_read_samples, pure=False)
    parts = [
        da.from_delayed(read(str(path), start, stop), (stop - start, N_FEATURES), np.float32)
        for start, stop in pairwise(edges)
    ]
    return da.concatenate(parts)


def _read_samples(path: str, start: int, stop: int) -> np.ndarray:
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def _iterations(path: Path, labels: np.ndarray, n_iterations: int, client: Client) -> Record:
    """Return milliseconds per iteration of every location, and the parts of those of the cluster."""
    found: Record = {}
    for location in LOCATIONS:
        X = _open(location, path, client)
        data = TimedSource(X, client) if location == "cluster" else X
        before = start_peak()
        result = train_iterations(data, labels, 1, n_iterations, C=TOTAL_C / len(labels))
        peak = peak_memory()
        found[f"{location}_iteration"] = 1e3 * seconds_per_iteration(result)
    work, overhead = (
        sum(statistics.median(values) for values in kind.values()) for kind in (data.works, data.overheads)
    )
    moved = np.diff([entry.bytes_moved for entry in result.history])
    later = len(result.history) - 1  # the first iteration includes the start
    waited = sum(sum(values[-later:]) for kind in (data.works, data.overheads) for values in kind.values())
    return found | {
        "work": work,
        "overhead": overhead,
        "sorting": (result.history[-1].seconds - result.history[0].seconds - waited) / later,
        "moved": float(np.median(moved)),
        "held": 0.0 if peak is None or before is None else max(peak - before, 0),
    }


class CountedSource(ClusterData):
    """A source that counts the calls of its workers, and the seconds waited for answers."""

    questions = 0
    waited = 0.0

    def ask(self, request: Request[LabelledSamples, AnswerT]) -> list[AnswerT]:
        started = time.perf_counter()
        found = super().ask(request)
        self.questions += 1
        self.waited += time.perf_counter() - started
        return found


def _binned_iterations(path: Path, labels: np.ndarray, n_iterations: int, client: Client) -> Record:
    """Return the time of an iteration with score bins on the cluster, and its parts."""
    X = _chunks(path, client)
    source = CountedSource(persist_blocks(X, client), X, labels, intercept=1.0, threads=1)
    problem = make_binned_problem(RemoteDesign(source, positive=1), FBeta(), BINS, C=TOTAL_C / len(labels), tol=TOL)
    notes: list[tuple[float, ...]] = []

    def note(entry: HistoryEntry) -> None:
        notes.append((entry.seconds, source.pool.worker_seconds, entry.bytes_moved, source.questions, source.waited))

    run(BinnedCuttingPlane(sample_factor=0), problem, Limits(tol=NEVER, max_iter=n_iterations), callback=note)
    seconds, work, moved, questions, waited = np.median(np.diff(notes, axis=0), axis=0)
    return {
        "binned_iteration": 1e3 * seconds,
        "binned_work": work,
        "binned_moved": moved,
        "binned_questions": questions,
        "binned_own": seconds - waited,
    }


def _time_uncached(data: DiskData) -> float:
    """Return the seconds of both products when the file is read from the disk."""
    design = make_design(data, threads=1)
    seconds = 0.0
    for product, vector in ((design.scores, np.ones(data.shape[1])), (design.combine, np.ones(data.shape[0]))):
        drop_from_cache(data.path)
        started = time.perf_counter()
        product(vector)
        seconds += time.perf_counter() - started
    return seconds


def _make_fit(read: Callable[[], Any], labels: np.ndarray) -> Callable[[], Timing]:
    model = MultivariateSVC("f1", C=TOTAL_C / len(labels), tol=TOL, threshold=0.0, n_jobs=1)
    return make_timer(lambda: model.fit(read(), labels))


def _seconds_per_call(client: Client) -> float:
    """Return the seconds that one more call of a worker takes among many concurrent calls."""
    block, w = np.zeros((1, 1)), np.zeros(1)
    futures = [client.submit(DataActor, keep_blocks, [k], 0.0, block, actor=True, pure=False) for k in range(CALLS)]
    actors = [future.result() for future in futures]

    def seconds(count: int) -> float:
        started = time.perf_counter()
        for answer in [actor.reply(ComputeScores([k], w)) for k, actor in enumerate(actors[:count])]:
            answer.result()
        return time.perf_counter() - started

    few, many = (statistics.median(seconds(count) for _ in range(CALL_REPETITIONS)) for count in (2, CALLS))
    return max(many - few, 0.0) / (CALLS - 2)


# -------------------------------------------------------------------------------------------------------------- results


def _break_even(records: Sequence[Record]) -> list[Record]:
    sizes = [record["n_samples"] for record in records]
    found = []
    for location in LOCATIONS[1:]:
        for name, limit in LIMITS.items():
            line: Record = {"location": location, "limit": name}
            for kind in ("iteration", "total"):
                ratios = [record[f"{location}_{kind}"] / record[f"memory_{kind}"] for record in records]
                at = crossing(sizes, ratios, limit)
                line[kind] = None if at is None else f"{_round(at):,}" if at > sizes[0] else f"{sizes[0]:,} or fewer"
            found.append(line)
    return found


def _round(value: float) -> int:
    """Round a number to two significant digits."""
    return int(float(f"{value:.1e}"))


def _constants(fitted: Fitted) -> list[Record]:
    units = {
        "product": ("both products of an iteration, on one thread", "s per sample and feature"),
        "speed": ("transfer between coordinator and workers, over loopback", "bytes per second"),
        "call": ("one call of a worker", "s"),
        "bytes_per_sample": ("transferred", "bytes per sample and iteration"),
        "sorting": ("coordinator: sorting, labelling, line search", "s per sample, times log2 of samples"),
        "held": ("coordinator: memory", "bytes per sample"),
        "counting": ("with bins: counting scores, on one thread", "s per sample and iteration"),
        "entry": ("with bins: transferred", "bytes per bin, class, worker and iteration"),
        "questions": ("with bins: calls", "per worker and iteration"),
        "binning": ("with bins: coordinator", "s per bin and iteration"),
    }
    return [{"what": units[name][0], "value": value, "unit": units[name][1]} for name, value in asdict(fitted).items()]


def _project(fitted: Fitted) -> list[Record]:
    plans = [(workers, bins) for bins in (None, *PLANNED_BINS) for workers in PLANNED_WORKERS]
    return [project(fitted, PLANNED_SAMPLES, N_FEATURES, workers, bins) for workers, bins in plans]


def _limits(fitted: Fitted) -> list[Record]:
    workers = most_workers(fitted, PLANNED_SAMPLES, N_FEATURES)
    shown: Any = workers if workers >= 1.0 else "fewer than 1"
    found = [{"what": "coordinator takes as long as all workers", "value": shown, "unit": "workers"}]
    if fitted.held > 0.0:
        found += [
            {
                "what": f"coordinator of {size:,} GB is full",
                "value": _round(1e9 * size / fitted.held),
                "unit": "samples",
            }
            for size in COORDINATORS
        ]
    return found
