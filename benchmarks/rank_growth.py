"""Training for average precision: growth with the samples, and time to the same gap, beside the ROC area."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.context import Context, SkippedError
from benchmarks.data import Task, task
from benchmarks.growth import QUICK_SIZES, REFERENCE, REPETITIONS, SIZES, fit_exponent, measure_one, write_data
from benchmarks.report import Column, Record, Section, Table
from benchmarks.timing import make_timer, take_turns
from benchmarks.training import train, warm_up

AVERAGE_PRECISION, ROC_AREA = "average_precision", "roc_auc"
MEASURES = (AVERAGE_PRECISION, ROC_AREA)
TASKS = ("a9a", "mnist_8", "w8a")
TOL = 1e-3
QUICK_SAMPLES = 3000

EXPONENTS = (
    Column("measure", "measure"),
    Column("exponent", "exponent of training", "{:.2f}"),
    Column("oracle", "exponent of one labelling", "{:.2f}"),
    Column("fewest", "fewest iterations"),
    Column("most", "most iterations"),
    Column("bytes", "most bytes of memory per sample", "{:.0f}"),
)
ALL_SIZES = (
    Column("measure", "measure"),
    Column("n_samples", "samples", "{:,}"),
    Column("cpu_seconds", "training, s", "{:.3f}"),
    Column("iterations", "iterations"),
    Column("oracle_cpu_seconds", "one labelling, s", "{:.4f}"),
    Column("bytes", "bytes per sample", "{:.0f}"),
    Column("relative_gap", "relative gap", "{:.1e}"),
)
TIMES = (
    Column("task", "data"),
    Column("n_samples", "samples", "{:,}"),
    Column("positives", "positives", "{:.1%}"),
    *(Column(name, f"{name}, s", "{:.3f}") for name in MEASURES),
    *(Column(f"{name} iterations", f"{name}, iterations") for name in MEASURES),
    Column("ratio", "average_precision / roc_auc", "{:.2f}"),
)

TEXT = [
    "The first tables are for random subsets of covtype (class 2, about half of the samples, vs the rest; 54 dense "
    f"columns scaled to [0, 1]), C = 1, to a relative gap of {TOL:g}, each line in a process of its own, warmed up "
    f"first, best of {REPETITIONS}. Seconds are processor seconds of one thread, since other work may have run on the "
    "machine. One labelling is the search for the most violated ranking at the solution, its sorts included. Memory is "
    "the peak during training minus the memory in use before it with the data loaded.",
    f"The last table has the processor seconds to a relative gap of {TOL:g} on one thread with C = 1, in turns, best "
    f"of {REPETITIONS}.",
]


def measure(context: Context) -> Section:
    """Measure growth and times."""
    section = Section("rank_growth", "Average precision: growth and time, beside the ROC area", list(TEXT))
    try:
        records = _measure_growth(context)
    except SkippedError as reason:
        section.skip("covtype_2", reason)
    else:
        fits = [_fit_both([record for record in records if record["measure"] == one]) for one in MEASURES]
        section.tables += [Table("Growth of training", EXPONENTS, fits), Table("All sizes", ALL_SIZES, records)]
        section.failures += [
            f"training for {fit['measure']} grows with the power {fit['exponent']:.2f}, more than {REFERENCE}"
            for fit in fits
            if fit["exponent"] > REFERENCE and not context.quick
        ]
    times: list[Record] = []
    for name in TASKS:
        try:
            chosen = task(name).some(QUICK_SAMPLES) if context.quick else task(name)
        except SkippedError as reason:
            section.skip(name, reason)
            continue
        times.append(_time_both(chosen))
    section.tables.append(Table(f"Seconds to a gap of {TOL:g}", TIMES, times))
    return section


def _measure_growth(context: Context) -> list[Record]:
    sizes = QUICK_SIZES if context.quick else SIZES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_columns = write_data(folder, max(sizes))
        records = [measure_one(folder, n_columns, size, one, threads=1) for size in sizes for one in MEASURES]
    for record in records:
        megabytes = record["megabytes"]
        record["bytes"] = None if megabytes is None else megabytes * 2**20 / record["n_samples"]
    return sorted(records, key=lambda record: MEASURES.index(record["measure"]))


def _fit_both(records: list[Record]) -> Record:
    used = [record["bytes"] for record in records if record["bytes"] is not None]
    oracle = fit_exponent(records, "oracle_cpu_seconds")["exponent"]
    return fit_exponent(records, "cpu_seconds") | {"oracle": oracle, "bytes": max(used, default=None)}


def _time_both(chosen: Task) -> Record:
    for one in MEASURES:
        warm_up(chosen, one, 1)
    calls = {one: make_timer(lambda one=one: train(chosen.X, chosen.y, one, tol=TOL)) for one in MEASURES}
    found = take_turns(calls, REPETITIONS)
    record: Record = {"task": chosen.name, "n_samples": len(chosen.y), "positives": float(chosen.y.mean())}
    for one, timing in found.items():
        record |= {one: timing.cpu_seconds, f"{one} iterations": timing.value.result.n_iter}
    return record | {"ratio": record[AVERAGE_PRECISION] / record[ROC_AREA]}
