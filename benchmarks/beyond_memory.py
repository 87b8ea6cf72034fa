"""MetricClassifier on samples on disk: time, memory and F1, beside training in memory and beside simpler ways."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.beyond_memory_process import HELD_OUT, N_FEATURES, N_NEW
from benchmarks.context import ROOT, Context, SkippedError
from benchmarks.report import Column, Record, Section, Table

# Samples with their memory limits: 220 bytes per sample are for vectors, so that many samples need a larger one.
SIZES = ((100_000, "1GB"), (1_000_000, "1GB"), (10_000_000, "3GB"))
QUICK_SIZES = ((5_000, "1GB"),)
BUDGET, QUICK_BUDGET = 75.0, 5.0
MOST_IN_MEMORY = 1_000_000
ROOM = 1.5  # times the size of a file that must be free on the disk

WAYS = {
    "disk": "MetricClassifier on disk",
    "memory": "MetricClassifier in memory",
    "lightgbm": "LightGBM on what fits",
    "sgd": "SGDClassifier, one pass",
}
COLUMNS = (
    Column("n_samples", "samples", "{:,}"),
    Column("way", "way"),
    Column("seconds", "seconds", "{:.0f}"),
    Column("limit", "memory limit"),
    Column("peak", "peak memory, MB", "{:.0f}"),
    Column("f1", "F1 on new samples", "{:.4f}"),
    Column("low", "expected from", "{:.4f}"),
    Column("high", "to", "{:.4f}"),
)

TEXT = [
    f"``MetricClassifier('f1', time_budget={BUDGET:g})`` on ``metricwise.io.open(path, memory_limit=...)`` with all "
    f"candidates, as a process of its own, on float32 samples of {N_FEATURES} features in a .npy file, one in eight "
    "positive: the label depends on two features, on the product of two others with noise, and on a fourth's absolute "
    "value. Beside it, on the same files: the same in memory, where it is asked for; LightGBM with its usual settings "
    "on the first samples that fit into the same memory limit; and scikit-learn's ``SGDClassifier(loss='log_loss')`` "
    "in one pass over all blocks, the best of three strengths of regularisation. Both choose their threshold on "
    f"the last {HELD_OUT:.0%} of their samples. F1 is that of {N_NEW:,} new samples; the interval is the one that "
    "MetricClassifier expects. Peak memory on disk must stay below the limit."
]


def measure(context: Context) -> Section:
    """Measure files of several sizes."""
    section = Section("beyond_memory", "Model selection beyond memory", list(TEXT))
    records: list[Record] = []
    for n_samples, limit in QUICK_SIZES if context.quick else SIZES:
        try:
            with tempfile.TemporaryDirectory() as folder:
                records += _measure_size(Path(folder), n_samples, limit, QUICK_BUDGET if context.quick else BUDGET)
        except SkippedError as reason:
            section.skip(f"{n_samples:,} samples", reason)
    section.failures += [
        f"{one['n_samples']:,} samples on disk: {one['peak']:.0f} MB of memory, {one['limit']} are allowed"
        for one in records
        if one["limit"] and one["peak"] is not None and one["peak"] >= 1000 * float(one["limit"].removesuffix("GB"))
    ]
    section.tables.append(Table("Time, memory and F1", COLUMNS, records))
    return section


def _measure_size(folder: Path, n_samples: int, limit: str, budget: float) -> list[Record]:
    size = 4 * N_FEATURES * n_samples
    if shutil.disk_usage(folder).free < ROOM * size:
        raise SkippedError(f"needs {ROOM * size / 1e9:.1f} GB of free disk space for temporary files")
    job = {"folder": str(folder), "n_samples": n_samples, "memory_limit": limit, "budget": budget}
    _run(job | {"what": "write"})
    ways = [way for way in WAYS if way != "memory" or n_samples <= MOST_IN_MEMORY]
    return [
        {"n_samples": n_samples, "way": WAYS[way], "limit": limit if way == "disk" else None}
        | _run(job | {"what": way})
        for way in ways
    ]


def _run(job: dict[str, Any]) -> Any:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.beyond_memory_process", json.dumps(job)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{job['what']} on {job['n_samples']} samples failed:\n{done.stderr}")
    return json.loads(done.stdout)
