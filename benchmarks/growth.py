"""How time, iterations and memory grow with the number of samples."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import plots
from benchmarks.context import ROOT, Context, SkippedError
from benchmarks.data import task
from benchmarks.report import Column, Figure, Record, Section, Table
from benchmarks.training import SQUARED_PAIRS

MEASURES = ("f1", "g_mean", "prbep", "roc_auc", SQUARED_PAIRS)
SIZES = (10_000, 20_000, 50_000, 100_000, 200_000, 500_000)
QUICK_MEASURES = ("f1", "roc_auc")
QUICK_SIZES = (5_000, 10_000, 20_000)
REPETITIONS = 3
REFERENCE = 1.15

COLUMNS = (
    Column("measure", "measure"),
    Column("n_samples", "samples", "{:,}"),
    Column("seconds", "seconds", "{:.3f}"),
    Column("iterations", "iterations"),
    Column("memory", "memory", "{:.2f}"),
    Column("megabytes", "MB", "{:.1f}"),
    Column("relative_gap", "relative gap", "{:.1e}"),
    Column("status", "status"),
)
EXPONENTS = (
    Column("measure", "measure"),
    Column("exponent", "exponent of time", "{:.2f}"),
    Column("fewest", "fewest iterations"),
    Column("most", "most iterations"),
    Column("memory", "most memory", "{:.2f}"),
)

TEXT = [
    "Random subsets of covtype (class 2 vs the rest, 54 columns scaled to [0, 1], a dense matrix with contiguous "
    "rows), trained with C = 1 to a relative gap of 0.001 on all cores. Every line is a process of its own, warmed up "
    f"first; seconds are the best of {REPETITIONS} runs. Memory is the peak resident memory of the first run "
    "minus the memory in use before it with the data loaded, in multiples of the size of the data. The exponent is the "
    "slope of a line fitted by least squares to the logarithms of samples and seconds.",
]


def measure(context: Context) -> Section:
    """Measure all measures at all sizes."""
    section = Section("growth", "Growth with the number of samples", list(TEXT))
    sizes, measures = (QUICK_SIZES, QUICK_MEASURES) if context.quick else (SIZES, MEASURES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            n_columns = write_data(folder, max(sizes))
        except SkippedError as reason:
            section.skip("covtype_2", reason)
            return section
        records = [
            measure_one(folder, n_columns, n_samples, one, context.threads) for one in measures for n_samples in sizes
        ]
    fits = [fit_exponent([record for record in records if record["measure"] == one]) for one in measures]
    section.tables += [Table("Growth", EXPONENTS, fits), Table("All sizes", COLUMNS, records)]
    section.figures.append(_draw(records, fits, context))
    return section


def write_data(folder: Path, n_samples: int) -> int:
    """Write samples in random order as raw numbers, so that reading a part of them uses no other memory."""
    whole = task("covtype_2")
    indices = np.random.default_rng(0).permutation(len(whole.y))[:n_samples]
    whole.X[indices].tofile(folder / "X")
    whole.y[indices].tofile(folder / "y")
    return int(whole.X.shape[1])


def measure_one(folder: Path, n_columns: int, n_samples: int, measure: str, threads: int) -> Record:
    """Train on the first samples of a written file, in a process of its own, and return what it took."""
    job = {"folder": str(folder), "n_columns": n_columns, "n_samples": n_samples, "measure": measure}
    job |= {"threads": threads, "repetitions": REPETITIONS}
    command = [sys.executable, "-m", "benchmarks.growth_process", json.dumps(job)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"measuring {measure} on {n_samples} samples failed:\n{done.stderr}")
    record: Record = json.loads(done.stdout)
    return {"measure": measure, "n_samples": n_samples} | record


def fit_exponent(records: Sequence[Record], key: str = "seconds") -> Record:
    """Return the exponent of the growth of an entry with the samples, with the range of iterations and memory."""
    n_samples = np.log([record["n_samples"] for record in records])
    exponent, height = np.polyfit(n_samples, np.log([record[key] for record in records]), 1)
    iterations = [record["iterations"] for record in records]
    memory = [record["memory"] for record in records if record["memory"] is not None]
    return {
        "measure": records[0]["measure"],
        "exponent": float(exponent),
        "factor": float(np.exp(height)),
        "fewest": min(iterations),
        "most": max(iterations),
        "memory": max(memory, default=None),
    }


def _draw(records: Sequence[Record], fits: Sequence[Record], context: Context) -> Figure:
    curves: dict[str, dict[str, Any]] = {}
    for fit in fits:
        own = [record for record in records if record["measure"] == fit["measure"]]
        curves[fit["measure"]] = {
            key: [record[key] for record in own] for key in ("n_samples", "seconds", "iterations")
        }
        curves[fit["measure"]]["fit"] = (fit["exponent"], fit["factor"])
    plots.growth(context.figures / "growth.png", curves, REFERENCE)
    return Figure("growth.png", "Seconds with the fitted line, and iterations, against the number of samples.")
