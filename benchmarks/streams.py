"""Training from files that need not fit into memory: how time and memory grow with their length."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import plots
from benchmarks.context import ROOT, Context, SkippedError
from benchmarks.report import Column, Figure, Record, Section, Table
from benchmarks.streams_data import N_COLUMNS, POSITIVES, bytes_per_line
from benchmarks.streams_process import FRESH_SAMPLES

SUFFIXES = {"csv": ".csv", "svmlight": ".svm"}
SIZES = (("csv", 200_000), ("csv", 2_000_000), ("csv", 20_000_000), ("svmlight", 200_000), ("svmlight", 2_000_000))
QUICK_SIZES = (("csv", 20_000), ("csv", 200_000), ("svmlight", 20_000), ("svmlight", 200_000))
FEW_SAMPLES = 2000
MOST_MEMORY = 500  # MB
MOST_GROWTH = 30  # MB between the shortest and the longest file
ROOM = 2  # times the size of a file that must be free on the disk

DRAWN = ("n_samples", "seconds", "peak")

COLUMNS = (
    Column("format", "file"),
    Column("n_samples", "samples", "{:,}"),
    Column("megabytes", "size, MB", "{:,.0f}"),
    Column("seconds", "seconds", "{:.2f}"),
    Column("cpu_seconds", "processor seconds", "{:.2f}"),
    Column("rate", "samples per second", "{:,.0f}"),
    Column("peak", "peak memory, MB", "{:.0f}"),
    Column("above", "of it for training, MB", "{:.0f}"),
    Column("f1", "F1, new samples", "{:.4f}"),
    Column("best_f1", "F1 of the true weights", "{:.4f}"),
)

TEXT = [
    '``STAMPClassifier("f1").fit_stream(path)``, one pass, in a process of its own and on one thread. The samples are '
    f"synthetic: {N_COLUMNS} columns of one digit before and one after the point, {POSITIVES:.0%} positives by a "
    "linear rule with noise, written by another process; both kinds of file hold the same samples. Those of svmlight "
    "files are sparse to metricwise, which does not centre sparse features. Seconds are those of one call after a "
    "small file has compiled the kernels; an svmlight file is read twice, first for its largest index. Peak memory "
    "is the "
    "peak resident memory of the process, Python and compiled code included; beside it is the part that training "
    f"added. F1 is on {FRESH_SAMPLES:,} new samples at the threshold chosen in the stream; the true weights, at their "
    "best threshold on the same samples, give an upper limit for a linear model.",
    f"Peak memory must stay below {MOST_MEMORY} MB, and must not grow by more than {MOST_GROWTH} MB from the shortest "
    "file to the longest.",
]


def measure(context: Context) -> Section:
    """Measure all files, one after the other."""
    section = Section("streams", "Training from files", list(TEXT))
    records: list[Record] = []
    for format in SUFFIXES:
        _measure_one(format, FEW_SAMPLES)  # leaves the compiled kernels in their cache: compiling takes memory, too
    for format, n_samples in QUICK_SIZES if context.quick else SIZES:
        try:
            records.append(_measure_one(format, n_samples))
        except SkippedError as reason:
            section.skip(f"{format}, {n_samples:,} samples", reason)
    section.tables.append(Table("Training from files", COLUMNS, records))
    section.figures.append(_draw(records, context))
    section.failures += _find_failures(records)
    return section


def _measure_one(format: str, n_samples: int) -> Record:
    size = n_samples * bytes_per_line(format)
    with tempfile.TemporaryDirectory() as folder:
        if shutil.disk_usage(folder).free < ROOM * size:
            raise SkippedError(f"needs {ROOM * size / 2**20:,.0f} MB of free disk space for temporary files")
        path = Path(folder) / f"rows{SUFFIXES[format]}"
        job = {"path": str(path), "format": format, "n_samples": n_samples}
        _run("benchmarks.streams_data", job)
        found: Record = json.loads(_run("benchmarks.streams_process", job))
        megabytes = path.stat().st_size / 2**20
    peak, before = found.pop("peak"), found.pop("before")
    found |= {"peak": None if peak is None else peak / 2**20}
    found |= {"above": None if peak is None else (peak - before) / 2**20}
    return {"format": format, "megabytes": megabytes, "rate": n_samples / found["seconds"]} | found


def _run(module: str, job: dict[str, Any]) -> str:
    command = [sys.executable, "-m", module, json.dumps(job)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{module} failed on {job['n_samples']} samples:\n{done.stderr}")
    return done.stdout


def _find_failures(records: Sequence[Record]) -> list[str]:
    """Return the memory requirements that are not met, where the system reports memory."""
    broken = []
    for format in SUFFIXES:
        peaks = [record["peak"] for record in records if record["format"] == format and record["peak"] is not None]
        if peaks and max(peaks) >= MOST_MEMORY:
            broken.append(f"{format}: {max(peaks):.0f} MB of memory, {MOST_MEMORY} are allowed")
        if peaks and peaks[-1] - peaks[0] > MOST_GROWTH:
            broken.append(f"{format}: memory grew by {peaks[-1] - peaks[0]:.0f} MB, {MOST_GROWTH} are allowed")
    return broken


def _draw(records: Sequence[Record], context: Context) -> Figure:
    curves = {
        format: {key: [record[key] for record in records if record["format"] == format] for key in DRAWN}
        for format in SUFFIXES
    }
    plots.files(context.figures / "streams.png", curves, MOST_MEMORY)
    return Figure("streams.png", "Seconds and peak memory against the number of samples in the file.")
