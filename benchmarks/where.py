"""Memory, disk or cluster: the same training in three ways on more and more rows, and what follows for many more."""

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
from benchmarks.cluster import NEVER, TimedSource, seconds_an_iteration, trained
from benchmarks.cluster_process import SETTINGS
from benchmarks.context import Context
from benchmarks.disk_data import SHARE, write_rows
from benchmarks.disk_process import forget
from benchmarks.growth_process import peak_memory, start_peak
from benchmarks.projection import NETWORK, Fitted, crossing, fit, most_workers, project
from benchmarks.report import Column, Record, Section, Table
from benchmarks.timing import LONG, Timing, take_turns, timed
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
PRICE = 40.0  # C times rows: the same problem, with more rows
TOL = 1e-2
REPETITIONS = 2
WAYS = ("memory", "disk", "cluster")
LIMITS = {"less than 50 % slower": 1.5, "less than 10 % slower": 1.1, "faster": 1.0}
CALLS, CALL_REPETITIONS = 24, 15

PLANNED_ROWS = 10**9
PLANNED_WORKERS = (10, 100, 1000)
BINS = 256
PLANNED_BINS = (2**8, 2**12)
COORDINATORS = (64, 256, 1024)  # GB

WAYS_TABLE, BREAK_EVEN_TABLE = "Three ways", "Break-even points"
FITTED_TABLE, PROJECTED_TABLE, LIMITS_TABLE = "What was fitted", "Projected iterations", "Limits of the coordinator"

WAYS_COLUMNS = (
    Column("rows", "rows", "{:,}"),
    *(Column(f"{way}_iteration", f"{way}, ms an iteration", "{:.1f}") for way in WAYS),
    Column("binned_iteration", f"cluster with {BINS} bins, ms", "{:.1f}"),
    Column("uncached", "disk not cached, ms", "{:.0f}"),
    *(Column(f"{way}_total", f"{way}, s in all", "{:.2f}") for way in WAYS),
    Column("iterations", "iterations"),
)
BREAK_EVEN_COLUMNS = (Column("way", "way"), Column("promise", "than memory"), Column("iteration", "an iteration, rows"))
BREAK_EVEN_COLUMNS += (Column("total", "in all, rows"),)
FITTED_COLUMNS = (Column("what", "constant"), Column("value", "value", "{:.3g}"), Column("unit", "unit"))
PROJECTED_COLUMNS = (
    Column("rows", "rows", "{:.0e}"),
    Column("workers", "workers", "{:,}"),
    Column("mode", "mode"),
    Column("gigabytes", "moved an iteration, GB", "{:.3g}"),
    Column("products", "products, s", "{:.3g}"),
    Column("transfer", "transfer, s", "{:.3g}"),
    Column("calls", "calls, s", "{:.3g}"),
    Column("coordinator", "sorting, s", "{:.3g}"),
    Column("iteration", "an iteration, s", "{:.3g}"),
    Column("held", "coordinator holds, GB", "{:.3g}"),
    Column("of_a_worker", "rows of a worker, GB", "{:.3g}"),
)
LIMITS_COLUMNS = (Column("what", "limit of exact mode"), Column("value", "at", "{:,.0f}"), Column("unit", "unit"))

TEXT = [
    f"Training for F1 on float32 rows of {N_FEATURES} features, of which {SHARE:.0%} are positive, in three ways with "
    f"one thread each: from memory, from a .npy file on disk, and on a Dask cluster of {SETTINGS['n_workers']} worker "
    "processes with one thread each on the same machine, whose numbers go directly to the coordinator. An iteration "
    f"is the median of {N_ITERATIONS} from nothing. In all: ``MultivariateSVC('f1', tol={TOL:g}, threshold=0.0)`` "
    f"from the file on, loading included, the best of {REPETITIONS} runs (one, if it takes longer than {LONG:g} "
    f"seconds), with C = {PRICE:g} / rows. The file is in the memory of the system, but for the column *not cached*: "
    "there, both products of an iteration read it from the disk.",
    "*Break-even* is from how many rows on a way costs no more than the stated share beside memory, between the sizes "
    "that were measured on a line of logarithms; a dash means that it was not reached.",
    "The constants are fitted to these measurements (``benchmarks/projection.py`` has the model), and the projection "
    "is computed from them: nothing in it was measured at its size. The network is assumed to carry "
    f"{NETWORK / 1e9:g} GB/s, and the slower of it and the loopback counts.",
]


def measure(context: Context) -> Section:
    """Train in three ways, fit the model and project."""
    section = Section("where", "Memory, disk or cluster", list(TEXT))
    sizes = QUICK_SIZES if context.quick else SIZES
    n_iterations = QUICK_ITERATIONS if context.quick else N_ITERATIONS
    with (
        tempfile.TemporaryDirectory() as name,
        LocalCluster(**SETTINGS) as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        folder = Path(name)
        write_rows(folder, max(sizes), N_FEATURES)
        _measured(folder, sizes[0], QUICK_ITERATIONS, client)  # compiles the kernels
        records = [_measured(folder, n_samples, n_iterations, client) for n_samples in sizes]
        call = _seconds_a_call(client)
    fitted = fit(records, N_FEATURES, SETTINGS["n_workers"], CHUNKS, BINS, call)
    section.tables += [
        Table(WAYS_TABLE, WAYS_COLUMNS, records),
        Table(BREAK_EVEN_TABLE, BREAK_EVEN_COLUMNS, _break_even(records)),
        Table(FITTED_TABLE, FITTED_COLUMNS, _constants(fitted)),
        Table(PROJECTED_TABLE, PROJECTED_COLUMNS, _projected(fitted)),
        Table(LIMITS_TABLE, LIMITS_COLUMNS, _limits(fitted)),
    ]
    return section


# ------------------------------------------------------------------------------------------------------------ measuring


def _measured(folder: Path, n_samples: int, n_iterations: int, client: Client) -> Record:
    """Return the times of all ways on the first rows of the file."""
    labels = np.load(folder / "y.npy")[:n_samples]
    path = folder / "part.npy"
    np.save(path, np.load(folder / "X.npy", mmap_mode="r")[:n_samples])
    record: Record = {"rows": n_samples}
    record |= _iterations(path, labels, n_iterations, client)
    record |= _binned_iterations(path, labels, n_iterations, client)
    record["uncached"] = 1e3 * _uncached(metricwise.io.open(path))
    runners = {way: _whole(lambda way=way: _opened(way, path, client), labels) for way in WAYS}
    for way, found in take_turns(runners, REPETITIONS).items():
        record[f"{way}_total"] = found.seconds
        record["iterations"] = found.value.n_iter_
    return record


def _opened(way: str, path: Path, client: Client) -> Any:
    """Return the rows of a file as a way takes them."""
    if way == "memory":
        return np.load(path)
    return metricwise.io.open(path) if way == "disk" else _chunks(path, client)


def _chunks(path: Path, client: Client) -> da.Array:
    """Return the rows of a file as a Dask array whose chunks the workers read."""
    n_samples = np.load(path, mmap_mode="r").shape[0]
    edges = np.linspace(0, n_samples, CHUNKS + 1).astype(int).tolist()
    read = delayed(_read_rows, pure=False)
    parts = [
        da.from_delayed(read(str(path), start, stop), (stop - start, N_FEATURES), np.float32)
        for start, stop in pairwise(edges)
    ]
    return da.concatenate(parts)


def _read_rows(path: str, start: int, stop: int) -> np.ndarray:
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def _iterations(path: Path, labels: np.ndarray, n_iterations: int, client: Client) -> Record:
    """Return milliseconds an iteration of every way, and the parts of those of the cluster."""
    found: Record = {}
    for way in WAYS:
        rows = _opened(way, path, client)
        data = TimedSource(rows, client) if way == "cluster" else rows
        before = start_peak()
        result = trained(data, labels, 1, n_iterations, C=PRICE / len(labels))
        peak = peak_memory()
        found[f"{way}_iteration"] = 1e3 * seconds_an_iteration(result)
    work, overhead = (
        sum(statistics.median(values) for values in kind.values()) for kind in (data.works, data.overheads)
    )
    moved = np.diff([entry.bytes_moved for entry in result.history])
    later = len(result.history) - 1  # the first iteration has the start in it
    waited = sum(sum(values[-later:]) for kind in (data.works, data.overheads) for values in kind.values())
    return found | {
        "work": work,
        "overhead": overhead,
        "sorting": (result.history[-1].seconds - result.history[0].seconds - waited) / later,
        "moved": float(np.median(moved)),
        "held": 0.0 if peak is None or before is None else max(peak - before, 0),
    }


class CountedSource(ClusterData):
    """A source that counts the questions that its workers are asked, and the seconds waited for answers."""

    questions = 0
    waited = 0.0

    def ask(self, request: Request[LabelledSamples, AnswerT]) -> list[AnswerT]:
        started = time.perf_counter()
        found = super().ask(request)
        self.questions += 1
        self.waited += time.perf_counter() - started
        return found


def _binned_iterations(path: Path, labels: np.ndarray, n_iterations: int, client: Client) -> Record:
    """Return what an iteration of training with bins takes on the cluster."""
    X = _chunks(path, client)
    source = CountedSource(persist_blocks(X, client), X, labels, intercept=1.0, threads=1)
    problem = make_binned_problem(RemoteDesign(source, positive=1), FBeta(), BINS, C=PRICE / len(labels), tol=TOL)
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


def _uncached(rows: DiskData) -> float:
    """Return the seconds of both products when the file is read from the disk."""
    design = make_design(rows, threads=1)
    seconds = 0.0
    for product, vector in ((design.scores, np.ones(rows.shape[1])), (design.combine, np.ones(rows.shape[0]))):
        forget(rows.path)
        started = time.perf_counter()
        product(vector)
        seconds += time.perf_counter() - started
    return seconds


def _whole(rows: Callable[[], Any], labels: np.ndarray) -> Callable[[], Timing]:
    model = MultivariateSVC("f1", C=PRICE / len(labels), tol=TOL, threshold=0.0, n_jobs=1)
    return timed(lambda: model.fit(rows(), labels))


def _seconds_a_call(client: Client) -> float:
    """Return the seconds that one more call of a worker takes, among many at the same time."""
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
    rows = [record["rows"] for record in records]
    found = []
    for way in WAYS[1:]:
        for promise, limit in LIMITS.items():
            line: Record = {"way": way, "promise": promise}
            for kind in ("iteration", "total"):
                ratios = [record[f"{way}_{kind}"] / record[f"memory_{kind}"] for record in records]
                at = crossing(rows, ratios, limit)
                line[kind] = None if at is None else f"{_rounded(at):,}" if at > rows[0] else f"{rows[0]:,} or fewer"
            found.append(line)
    return found


def _rounded(rows: float) -> int:
    """Return a number with two digits that count."""
    return int(float(f"{rows:.1e}"))


def _constants(fitted: Fitted) -> list[Record]:
    units = {
        "product": ("both products of an iteration, on one thread", "s a row and feature"),
        "speed": ("numbers between coordinator and workers, over loopback", "bytes a second"),
        "call": ("one call of a worker", "s"),
        "row_bytes": ("numbers that travel", "bytes a row and iteration"),
        "sorting": ("coordinator: sorting, labelling, line search", "s a row, times log2 of rows"),
        "held": ("coordinator: memory", "bytes a row"),
        "counting": ("with bins: counting of scores, on one thread", "s a row and iteration"),
        "entry": ("with bins: numbers that travel", "bytes a bin, class, worker and iteration"),
        "questions": ("with bins: calls", "a worker and iteration"),
        "binning": ("with bins: coordinator", "s a bin and iteration"),
    }
    return [{"what": units[name][0], "value": value, "unit": units[name][1]} for name, value in asdict(fitted).items()]


def _projected(fitted: Fitted) -> list[Record]:
    plans = [(workers, bins) for bins in (None, *PLANNED_BINS) for workers in PLANNED_WORKERS]
    return [project(fitted, PLANNED_ROWS, N_FEATURES, workers, bins) for workers, bins in plans]


def _limits(fitted: Fitted) -> list[Record]:
    workers = most_workers(fitted, PLANNED_ROWS, N_FEATURES)
    shown: Any = workers if workers >= 1.0 else "fewer than 1"
    found = [{"what": "coordinator takes as long as all workers", "value": shown, "unit": "workers"}]
    if fitted.held > 0.0:
        found += [
            {"what": f"coordinator of {size:,} GB is full", "value": _rounded(1e9 * size / fitted.held), "unit": "rows"}
            for size in COORDINATORS
        ]
    return found
