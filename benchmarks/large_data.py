"""Time and memory of MetricClassifier on many samples in memory."""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.context import ROOT, Context
from benchmarks.report import Column, Record, Section, Table

SHAPES = ((200_000, 20), (200_000, 50), (1_000_000, 20))
BUDGETS = (None, 120.0)
QUICK_SHAPES, QUICK_BUDGETS = ((120_000, 20),), (10.0,)
MOST_MEMORY = 3.0

COLUMNS = (
    Column("n_samples", "samples", "{:,}"),
    Column("n_features", "features"),
    Column("budget", "time budget", "{:.0f}"),
    Column("megabytes", "MB of X", "{:.0f}"),
    Column("memory", "memory", "{:.2f}"),
    Column("seconds", "seconds", "{:.0f}"),
    Column("cpu_seconds", "processor seconds", "{:.0f}"),
    Column("trained_on", "samples of the last rung", "{:,}"),
    Column("selected", "selected"),
    Column("score", "F1 on new samples", "{:.3f}"),
)

TEXT = [
    '``MetricClassifier("f1")`` with all of its candidates, without and with a time budget in seconds, on dense '
    "samples in double precision with 5 % of positives. Every line is a process of its own, in which a training on "
    "25,000 samples with the same budget and a product of large matrices have loaded all packages and filled their "
    "buffers before. Memory is X and all that the training adds to "
    f"it at its peak, in multiples of the size of X; at most {MOST_MEMORY:.0f} are allowed."
]


def measure(context: Context) -> Section:
    """Measure a fit for every shape and budget."""
    section = Section("large_data", "Many samples in memory", list(TEXT))
    shapes, budgets = (QUICK_SHAPES, QUICK_BUDGETS) if context.quick else (SHAPES, BUDGETS)
    records = [_measure_one(*shape, budget) for shape in shapes for budget in budgets]
    section.failures += [
        f"{one['n_samples']} samples of {one['n_features']} features, budget {one['budget']}: "
        f"{one['memory']:.2f} times the memory of X"
        for one in records
        if one["memory"] is not None and one["memory"] > MOST_MEMORY
    ]
    section.tables.append(Table("Time and memory", COLUMNS, records))
    return section


def _measure_one(n_samples: int, n_features: int, budget: float | None) -> Record:
    job = {"n_samples": n_samples, "n_features": n_features, "budget": budget}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.large_data_process", json.dumps(job)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"training on {n_samples} samples of {n_features} features failed:\n{done.stderr}")
    record: Record = json.loads(done.stdout)
    return job | record
