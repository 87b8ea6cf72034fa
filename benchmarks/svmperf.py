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
from benchmarks.timing import Timing, make_timer, take_turns
from benchmarks.training import pose, train_to_loss_gap, warm_up
from metricwise.results import Result
from metricwise.solvers import MultivariateProblem

GAP = 1e-3  # of the cost of a full loss: the default precision of the original, 0.1 percent
REPETITIONS = 3


@dataclass(frozen=True)
class Case:
    """A measure on a task, with a C in the scale of the original program."""

    measure: str
    task: str
    c_perf: float
    n_samples: int | None = None

    @property
    def label(self) -> str:
        return f"{self.measure} {self.task}"


TOPICS = ("earn", "acq", "crude", "wheat", "gold")
CASES = (
    Case("f1", "a9a", 424),
    Case("f1", "mnist_8", 60),
    *(Case("f1", f"reuters_{topic}", 36_900) for topic in TOPICS),
    Case("prbep", "a9a", 424),
    Case("prbep", "mnist_8", 60),
    Case("roc_auc", "a9a", 424),
    Case("roc_auc", "mnist_8", 60),
    Case("roc_auc", "covtype_5", 500),
)
QUICK_CASES = (Case("f1", "reuters_gold", 36_900), Case("roc_auc", "covtype_5", 50, n_samples=5000))

TEXT = [
    "SVM-perf 3.00 (``svm_perf_learn -w 3``, the algorithm it requires for these measures) and metricwise minimise "
    "the same objective and stop at the same duality gap: one thousandth of the cost of a full loss, the original's "
    "default. Its time is the training time that it reports, without reading its input; the time of metricwise starts "
    "with the matrix in memory and includes everything from there. SVM-perf uses one core; metricwise is given one and "
    "all of them.",
    "The last columns show that equal work is compared: the objective of either solution, above the lower bound that "
    "metricwise certifies, as a share of the cost of a full loss. ``C`` is the cost of one mistake, as everywhere in "
    f"metricwise. Best of {REPETITIONS} runs.",
]


def measure(context: Context) -> Section:
    """Measure every case."""
    section = Section("svmperf", "Compared with the original program", list(TEXT))
    cache = RunCache(context.peer_cache, processor())
    records: list[Record] = []
    for case in QUICK_CASES if context.quick else CASES:
        try:
            records.append(_measure_case(case, context, cache))
        except SkippedError as reason:
            section.skip(case.label, reason)
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
        Column("n_samples", "samples"),
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


def _measure_case(case: Case, context: Context, cache: RunCache) -> Record:
    key = f"{case.label} n_samples={case.n_samples or 'all'} c={case.c_perf:g}"
    known = cache.get(key)
    program = original.binary() if known is None else None
    chosen = task(case.task)
    chosen = chosen if case.n_samples is None else chosen.some(case.n_samples)
    warm_up(chosen, case.measure, context.threads)
    calls = {str(k): make_timer(_ours(case, chosen, k)) for k in context.thread_counts}
    with tempfile.TemporaryDirectory() as folder:
        if program is not None:
            calls["peer"] = _peer(case, chosen, program, Path(folder))
        found = take_turns(calls, REPETITIONS)
    peer = known or _run_of(found["peer"])
    cache.put(key, peer)
    record = _record(case, chosen, context, found, peer) | {"cached": known is not None}
    if record["cached"]:
        record["peer_text"] += " *"
    return record


def _ours(case: Case, chosen: Task, threads: int) -> Callable[[], tuple[MultivariateProblem, Result]]:
    def run() -> tuple[MultivariateProblem, Result]:
        problem = _problem(case, chosen, threads)
        return problem, train_to_loss_gap(problem, GAP)

    return run


def _problem(case: Case, chosen: Task, threads: int = 1) -> MultivariateProblem:
    problem = pose(chosen.X, chosen.y, case.measure, threads=threads)
    mistakes = problem.oracle.mistakes
    return problem.with_cost(original.our_c(case.measure, case.c_perf, len(chosen.y), mistakes) * mistakes)


def _peer(case: Case, chosen: Task, program: Path, folder: Path) -> Callable[[], Timing]:
    data, model = folder / "data", folder / "model"
    original.write_data(chosen.X, chosen.y, data)
    problem = _problem(case, chosen)

    def run() -> Timing:
        done = original.learn(program, case.measure, case.c_perf, data, model)
        if not done.timed_out:
            done = replace(done, objective=_objective(problem, model, case.measure))
        return Timing(done.cpu_seconds, done)

    return run


def _run_of(timing: Timing) -> OriginalRun:
    run: OriginalRun = timing.value
    return run


def _objective(problem: MultivariateProblem, model: Path, measure: str) -> float:
    """Return the objective of the original's weights by the oracle of metricwise."""
    n_samples, length = problem.design.shape
    n_features = length if measure == "roc_auc" else length - 1
    weights = original.our_weights(model, measure, n_features, n_samples, problem.oracle.mistakes)
    return problem.objective(weights, problem.oracle.violate(problem.design.scores(weights)))


def _record(case: Case, chosen: Task, context: Context, found: dict[str, Timing], peer: OriginalRun) -> Record:
    problem, result = found[str(context.threads)].value
    more = "> " if peer.timed_out else ""
    lower = result.certificate.lower
    record: Record = {
        "label": case.label,
        "measure": case.measure,
        "task": case.task,
        "n_samples": len(chosen.y),
        "C": problem.cost / problem.oracle.mistakes,
        "c_perf": case.c_perf,
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
        f"{middle:.1f} times on the geometric mean of {len(ratios)} cases."
    )


def _draw(records: list[Record], context: Context) -> Figure:
    series = {f"metricwise, {_threads(k)}": [r[f"seconds_{k}"] for r in records] for k in context.thread_counts}
    series["SVM-perf"] = [record["peer"] for record in records]
    plots.bars(context.figures / "svmperf.png", [record["label"] for record in records], series, "seconds")
    return Figure("svmperf.png", "Seconds to the same duality gap, on a logarithmic axis.")
