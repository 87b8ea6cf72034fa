"""Training on a file larger than the memory limit, beside only reading the file."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.context import ROOT, Context, SkippedError
from benchmarks.disk_data import N_FEATURES, SHARE, bytes_per_sample
from benchmarks.report import Column, Record, Section, Table

GIGABYTES, QUICK_GIGABYTES = (1.5, 3.0, 6.0), (0.02, 0.04, 0.08)
MEMORY_LIMIT = "1GB"
MOST_MEMORY = 1000  # MB
LEAST_SHARE = 0.5  # of the speed of reading alone
C = 1e-4
ROOM = 1.5  # times the size of a file that must be free on the disk

COLUMNS = (
    Column("gigabytes", "size, GB", "{:g}"),
    Column("n_samples", "samples", "{:,}"),
    Column("iterations", "iterations"),
    Column("passes", "passes", "{:.1f}"),
    Column("seconds", "seconds", "{:.1f}"),
    Column("seconds_per_pass", "seconds per pass", "{:.2f}"),
    Column("reading", "reading alone, s", "{:.2f}"),
    Column("share", "share of its speed", "{:.2f}"),
    Column("gap", "relative gap", "{:.4f}"),
    Column("f1", "F1", "{:.3f}"),
    Column("peak", "peak memory, MB", "{:.0f}"),
)
COLD_COLUMNS = (
    Column("gigabytes", "size, GB", "{:g}"),
    Column("cache", "file"),
    Column("reading", "reading alone, s", "{:.2f}"),
    Column("scores", "X w, s", "{:.2f}"),
    Column("combining", "X' c, s", "{:.2f}"),
)

TEXT = [
    f"``MultivariateSVC('f1', C={C:g}, tol=1e-2, threshold=0.0)`` on ``metricwise.io.open(path, "
    f"memory_limit={MEMORY_LIMIT!r})`` as a process of its own, on float32 samples of {N_FEATURES} features in a .npy "
    f"file: noise, and {SHARE:.0%} positives that differ a little in 40 of the features. Seconds include everything: "
    "the sample that training starts from, and loading the kernels. An iteration makes two passes, one for X w and one "
    "for X' c, and the start makes two for every point of the sample's solution; seconds per pass are all seconds "
    "divided by all passes. The file is dropped from the system's page cache before training and is read from the "
    "disk the first time; it fits into the memory of the machine, so that later passes read the page cache. "
    "Reading alone is such a later pass with the same blocks and buffers and no computation, the strictest "
    f"comparison. On the largest file peak memory must stay below {MOST_MEMORY} MB, and training must reach at least "
    f"{LEAST_SHARE:g} of the speed of reading alone.",
    "Below, single passes over the largest file: from the disk (it is dropped from the page cache before each), "
    "and from the page cache.",
]


def measure(context: Context) -> Section:
    """Measure files of several sizes."""
    section = Section("disk", "Data on disk", list(TEXT))
    records: list[Record] = []
    for gigabytes in QUICK_GIGABYTES if context.quick else GIGABYTES:
        try:
            with tempfile.TemporaryDirectory() as folder:
                record, passes = _measure_size(Path(folder), gigabytes)
        except SkippedError as reason:
            section.skip(f"{gigabytes:g} GB", reason)
            continue
        records.append(record)
        section.failures += _failures(record) if gigabytes == GIGABYTES[-1] else []
    section.tables.append(Table("Training on data on disk", COLUMNS, records))
    if records:
        section.tables.append(Table("Single passes", COLD_COLUMNS, passes))
    return section


def _failures(record: Record) -> list[str]:
    """Return the requirements that the largest file does not meet."""
    found = []
    if record["share"] < LEAST_SHARE:
        found.append(f"only {record['share']:.2f} of the speed of reading alone")
    if record["peak"] is not None and record["peak"] >= MOST_MEMORY:
        found.append(f"{record['peak']:.0f} MB of memory, {MOST_MEMORY} are allowed")
    if record["status"] != "optimal":
        found.append(f"training ended as {record['status']!r}")
    return found


def _measure_size(folder: Path, gigabytes: float) -> tuple[Record, list[Record]]:
    size = gigabytes * 1e9
    if shutil.disk_usage(folder).free < ROOM * size:
        raise SkippedError(f"needs {ROOM * gigabytes:g} GB of free disk space for temporary files")
    _run("disk_data", {"folder": str(folder), "n_samples": int(size // bytes_per_sample())})
    job = {"folder": str(folder), "memory_limit": MEMORY_LIMIT, "C": C}
    cold = _run("disk_process", job | {"what": "cold passes"})
    trained = _run("disk_process", job | {"what": "train"})
    warm = _run("disk_process", job | {"what": "warm passes"})
    per_pass = trained["seconds"] / trained["passes"]
    shares = {"seconds_per_pass": per_pass, "reading": warm["reading"], "share": warm["reading"] / per_pass}
    passes = [
        {"gigabytes": gigabytes, "cache": cache} | found
        for cache, found in {"on disk": cold, "in memory": warm}.items()
    ]
    return {"gigabytes": gigabytes} | trained | shares, passes


def _run(module: str, job: dict[str, Any]) -> Any:
    command = [sys.executable, "-m", f"benchmarks.{module}", json.dumps(job)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{module} failed:\n{done.stderr}")
    return json.loads(done.stdout) if done.stdout else None
