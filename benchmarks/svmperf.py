"""Time to the same duality gap: metricwise and the original program, SVM-perf."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import original, plots
from benchmarks.context import Context, SkippedError
from benchmarks.data import Task, task
from benchmarks.environment import processor
from benchmarks.original import OriginalRun, RunCache
from benchmarks.report import Column, Figure, Record, Section, Table
from benchmarks.timing import Timing, take_turns, timed
from benchmarks.training import pose, train_to_loss_gap, warm_up
from metricwise.results import Result
from metricwise.solvers import MultivariateProblem

GAP = 1e-3  # of the price of a full loss: the default precision of the original, 0.1 percent
REPETITIONS = 3


@dataclass(frozen=True)
class Row:
    """A measure on a task, at a C in the scale of the original program."""

    measure: str
    task: str
    c_perf: float
    rows: int | None = None

    @property
    def label(self) -> str:
        return f"{self.measure} {self.task}"


TOPICS = ("earn", "acq", "crude", "wheat", "gold")
ROWS = (
    Row("f1", "a9a", 424),
    Row("f1", "mnist_8", 60),
    *(Row("f1", f"reuters_{topic}", 36_900) for topic in TOPICS),
    Row("prbep", "a9a", 424),
    Row("prbep", "mnist_8", 60),
    Row("roc_auc", "a9a", 424),
    Row("roc_auc", "mnist_8", 60),
    Row("roc_auc", "covtype_5", 500),
)
QUICK_ROWS = (Row("f1", "reuters_gold", 36_900), Row("roc_auc", "covtype_5", 50, rows=5000))

TEXT = [
    "SVM-perf 3.00 (``svm_perf_learn -w 3``, the algorithm it asks for with these measures) and metricwise minimise "
    "the same objective and stop at the same duality gap: one thousandth of the price of a full loss, the original's "
    "default. Its time is the training time it tells itself, without reading its input; the time of metricwise starts "
    "with the matrix in memory and takes in everything from there. SVM-perf uses one core; metricwise is given one and "
    "all of them.",
    "The last columns prove that equal work is compared: the objective of either solution, above the lower bound that "
    "metricwise certifies, as a share of the price of a full loss. ``C`` is the price of one mistake, as everywhere in "
    f"metricwise. Best of {REPETITIONS} runs.",
]


def measure(context: Context) -> Section:
    """Measure every row."""
    section = Section("svmperf", "Against the original program", list(TEXT))
    cache = RunCache(context.peer_cache, processor())
    records: list[Record] = []
    for row in QUICK_ROWS if context.quick else ROWS:
        try:
            records.append(_measure_row(row, context, cache))
        except SkippedError as reason:
            section.skip(row.label, reason)
    if any(record["cached"] for record in records):
        section.text.append(
            "The original's results marked * were measured in an earlier run on the same model of processor."
        )
    section.tables.append(Table("Seconds to the same gap", _columns(context), records))
    if records:
        section.text.append(_summary(records, context.threads))
        section.figures.append(_draw(records, context))
    section.failures += [f"{r['label']}: gap {r['our_gap']:.1e}" for r in records if r["our_gap"] > GAP * (1 + 1e-9)]
    return section


def _columns(context: Context) -> tuple[Column, ...]:
    ours = [Column(f"seconds_{k}", f"metricwise, {_threads(k)}", "{:.3f}") for k in context.thread_counts]
    ratios = [Column(f"ratio_text_{k}", f"ratio, {_threads(k)}") for k in context.thread_counts]
    return (
        Column("measure", "measure"),
        Column("task", "data"),
        Column("rows", "rows"),
        Column("C", "C", "{:.3g}"),
        *ours,
        Column("peer_text", "SVM-perf"),
        *ratios,
        Column("iterations", "iterations"),
        Column("our_gap", "gap", "{:.1e}"),
        Column("peer_gap", "gap, SVM-perf", "{:.1e}"),
    )


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _measure_row(row: Row, context: Context, cache: RunCache) -> Record:
    key = f"{row.label} rows={row.rows or 'all'} c={row.c_perf:g}"
    known = cache.get(key)
    program = original.binary() if known is None else None
    chosen = task(row.task)
    chosen = chosen if row.rows is None else chosen.some(row.rows)
    warm_up(chosen, row.measure, context.threads)
    runners = {str(k): timed(_ours(row, chosen, k)) for k in context.thread_counts}
    with tempfile.TemporaryDirectory() as folder:
        if program is not None:
            runners["peer"] = _peer(row, chosen, program, Path(folder))
        found = take_turns(runners, REPETITIONS)
    peer = known or _scored(found["peer"])
    cache.put(key, peer)
    record = _record(row, chosen, context, found, peer) | {"cached": known is not None}
    if record["cached"]:
        record["peer_text"] += " *"
    return record


def _ours(row: Row, chosen: Task, threads: int) -> Callable[[], tuple[MultivariateProblem, Result]]:
    def run() -> tuple[MultivariateProblem, Result]:
        problem = _problem(row, chosen, threads)
        return problem, train_to_loss_gap(problem, GAP)

    return run


def _problem(row: Row, chosen: Task, threads: int = 1) -> MultivariateProblem:
    problem = pose(chosen.X, chosen.y, row.measure, threads=threads)
    mistakes = problem.oracle.mistakes
    return problem.with_cost(original.our_price(row.measure, row.c_perf, len(chosen.y), mistakes) * mistakes)


def _peer(row: Row, chosen: Task, program: Path, folder: Path) -> Callable[[], Timing]:
    data, model = folder / "data", folder / "model"
    original.write_data(chosen.X, chosen.y, data)
    problem = _problem(row, chosen)

    def run() -> Timing:
        done = original.learn(program, row.measure, row.c_perf, data, model)
        if not done.timed_out:
            done = replace(done, objective=_objective(problem, model, row.measure))
        return Timing(done.cpu_seconds, done)

    return run


def _scored(timing: Timing) -> OriginalRun:
    run: OriginalRun = timing.value
    return run


def _objective(problem: MultivariateProblem, model: Path, measure: str) -> float:
    """Return what the original's weights are worth, by the oracle of metricwise."""
    n_samples, length = problem.design.shape
    n_features = length if measure == "roc_auc" else length - 1
    weights = original.our_weights(model, measure, n_features, n_samples, problem.oracle.mistakes)
    return problem.objective(weights, problem.oracle.violate(problem.design.scores(weights)))


def _record(row: Row, chosen: Task, context: Context, found: dict[str, Timing], peer: OriginalRun) -> Record:
    problem, result = found[str(context.threads)].value
    more = "> " if peer.timed_out else ""
    lower = result.certificate.lower
    record: Record = {
        "label": row.label,
        "measure": row.measure,
        "task": row.task,
        "rows": len(chosen.y),
        "C": problem.cost / problem.oracle.mistakes,
        "c_perf": row.c_perf,
        "peer": peer.cpu_seconds,
        "peer_wall": peer.wall_seconds,
        "peer_timed_out": peer.timed_out,
        "iterations": result.n_iter,
        "status": result.status.value,
        "our_gap": result.certificate.gap / problem.cost,
        "peer_gap": None if peer.objective is None else (peer.objective - lower) / problem.cost,
    }
    record["peer_text"] = f"{more}{peer.cpu_seconds:.2f}"
    for threads in context.thread_counts:
        timing = found[str(threads)]
        ratio = peer.cpu_seconds / timing.seconds
        record |= {f"seconds_{threads}": timing.seconds, f"cpu_{threads}": timing.cpu_seconds}
        record |= {f"repetitions_{threads}": timing.repetitions}
        record |= {f"ratio_{threads}": ratio, f"ratio_text_{threads}": f"{more}{ratio:.1f}"}
    return record


def _summary(records: list[Record], threads: int) -> str:
    ratios = np.array([record[f"ratio_{threads}"] for record in records])
    middle = float(np.exp(np.log(ratios).mean()))
    return (
        f"With {_threads(threads)}, metricwise is {ratios.min():.1f} to {ratios.max():.1f} times as fast as SVM-perf, "
        f"{middle:.1f} times on the geometric mean of {len(ratios)} rows."
    )


def _draw(records: list[Record], context: Context) -> Figure:
    series = {f"metricwise, {_threads(k)}": [r[f"seconds_{k}"] for r in records] for k in context.thread_counts}
    series["SVM-perf"] = [record["peer"] for record in records]
    plots.bars(context.figures / "svmperf.png", [record["label"] for record in records], series, "seconds")
    return Figure("svmperf.png", "Seconds to the same duality gap, on a logarithmic axis.")
