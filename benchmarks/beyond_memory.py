"""MetricClassifier on samples on disk: time, memory and F1, beside training in memory and beside simpler ways."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.beyond_memory_process import HELD_OUT, N_FEATURES, N_NEW
from benchmarks.context import ROOT, Context, SkippedError
from benchmarks.report import Column, Record, Section, Table

# Samples with their memory limits, and the time budget: the largest file is read several times.
SIZES = (
    (100_000, "1GB", 75.0),
    (1_000_000, "1GB", 75.0),
    (10_000_000, "3GB", 75.0),
    (100_000_000, "8GB", 450.0),
)
QUICK_SIZES = ((5_000, "1GB", 5.0),)
MOST_IN_MEMORY, MOST_FOR_LIGHTGBM = 1_000_000, 10_000_000
LEAST_SECONDS, MOST_SECONDS = 20.0, 300.0  # of LightGBM, from which on its time is a budget, and up to which
ROOM = 1.5  # times the size of a file that must be free on the disk

WAYS = {
    "lightgbm": "LightGBM on what fits",
    "disk": "MetricClassifier on disk",
    "as_long": "MetricClassifier on disk, as long as LightGBM",
    "memory": "MetricClassifier in memory",
    "sgd": "SGDClassifier, one pass",
}
COLUMNS = (
    Column("n_samples", "samples", "{:,}"),
    Column("way", "way"),
    Column("budget", "time budget, s", "{:.0f}"),
    Column("seconds", "seconds", "{:.0f}"),
    Column("cpu_seconds", "processor seconds", "{:.0f}"),
    Column("limit", "memory limit"),
    Column("peak", "peak memory, MB", "{:.0f}"),
    Column("f1", "F1 on new samples", "{:.4f}"),
    Column("low", "expected from", "{:.4f}"),
    Column("high", "to", "{:.4f}"),
)

TEXT = [
    "``MetricClassifier('f1', time_budget=...)`` on ``metricwise.io.open(path, memory_limit=...)`` with all "
    f"candidates, on float32 samples of {N_FEATURES} features in a .npy file, one in eight positive: the label depends "
    "on two features, on the product of two others with noise, and on a fourth's absolute value; whoever knows all but "
    "the noise has an F1 of 0.80. Beside it, on the same files: the same with the time that LightGBM took as its "
    f"budget, where that is {LEAST_SECONDS:.0f} seconds or more, at most {MOST_SECONDS:.0f}; the same in memory, up to "
    f"{MOST_IN_MEMORY:,} samples; LightGBM with its usual settings on the first samples that fit into the same memory "
    f"limit, up to {MOST_FOR_LIGHTGBM:,} samples; and scikit-learn's ``SGDClassifier(loss='log_loss')`` in one pass "
    "over all blocks, the best of three strengths of regularisation. These two choose their threshold on the last "
    f"{HELD_OUT:.0%} of their samples, at most {N_NEW:,}. F1 is that of {N_NEW:,} new samples; the interval is the "
    "one that MetricClassifier expects. Peak memory on disk must stay below the limit.",
    "Each row is one run, a process of its own with one thread (``OMP_NUM_THREADS=1``), one after the other. Seconds "
    "are those of training, from opening the file; processor seconds are those of the whole process, imports "
    "included. Where other programs use the machine, these are fewer, and what a time budget allows depends on it.",
]


def measure(context: Context) -> Section:
    """Measure files of several sizes."""
    section = Section("beyond_memory", "Model selection beyond memory", list(TEXT))
    records: list[Record] = []
    for n_samples, limit, budget in QUICK_SIZES if context.quick else SIZES:
        try:
            with tempfile.TemporaryDirectory() as folder:
                records += measure_size(Path(folder), n_samples, limit, budget)
        except SkippedError as reason:
            section.skip(f"{n_samples:,} samples", reason)
    section.failures += [
        f"{one['n_samples']:,} samples on disk: {one['peak']:.0f} MB of memory, {one['limit']} are allowed"
        for one in records
        if one["limit"] and one["peak"] is not None and one["peak"] >= 1000 * float(one["limit"].removesuffix("GB"))
    ]
    section.tables.append(Table("Time, memory and F1", COLUMNS, records))
    return section


def measure_size(folder: Path, n_samples: int, limit: str, budget: float) -> list[Record]:
    """Return the records of all ways to train on so many samples, in files in a folder."""
    size = 4 * N_FEATURES * n_samples
    if shutil.disk_usage(folder).free < ROOM * size:
        raise SkippedError(f"needs {ROOM * size / 1e9:.1f} GB of free disk space for temporary files")
    job = {"folder": str(folder), "n_samples": n_samples, "memory_limit": limit}
    _run(job | {"what": "write"})
    records: list[Record] = []
    budgets: dict[str, float | None] = {"disk": budget}
    if n_samples <= MOST_FOR_LIGHTGBM:
        budgets = {"lightgbm": None, **budgets}
    if n_samples <= MOST_IN_MEMORY:
        budgets["memory"] = budget
    for way, seconds in (budgets | {"sgd": None}).items():
        records.append(_measure_way(job, way, seconds))
        if way == "lightgbm" and records[0]["seconds"] >= LEAST_SECONDS:
            records.append(_measure_way(job, "as_long", min(records[0]["seconds"], MOST_SECONDS)))
    return records


def _measure_way(job: dict[str, Any], way: str, budget: float | None) -> Record:
    is_on_disk = way in ("disk", "as_long")
    given = {"n_samples": job["n_samples"], "way": WAYS[way], "budget": budget}
    given["limit"] = job["memory_limit"] if is_on_disk else None
    return given | _run(job | {"what": "disk" if is_on_disk else way, "budget": budget})


def _run(job: dict[str, Any]) -> Any:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.beyond_memory_process", json.dumps(job)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{job['what']} on {job['n_samples']} samples failed:\n{done.stderr}")
    return json.loads(done.stdout)
