"""Reading whole files, beside other readers; and training by the command on a file larger than its memory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy.io import arff as scipy_arff
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from benchmarks.context import ROOT, Context, SkippedError
from benchmarks.report import Column, Record, Section, Table
from benchmarks.streams_data import N_COLUMNS, bytes_per_line
from benchmarks.timing import Timing, make_timer, take_turns
from metricwise.io import read_table

N_ROWS, QUICK_ROWS = 600_000, 20_000
SPARSE_ROWS, QUICK_SPARSE_ROWS = 700_000, 20_000
SPARSE_FEATURES, SPARSE_ENTRIES = 300, 12
N_NUMBERS = 10
REPETITIONS = 5
STREAM_BYTES, QUICK_STREAM_BYTES = 10**9, 10**7
MOST_MEMORY = 600  # MB, for training on a file of a gigabyte
LEAST_RATIO = 3.0  # times as fast as scikit-learn's reader of svmlight files
ROOM = 2  # times the size of a file that must be free on the disk

COLUMNS = (
    Column("file", "file"),
    Column("megabytes", "size, MB", "{:,.0f}"),
    Column("seconds", "metricwise, s", "{:.3f}"),
    Column("rate", "MB/s", "{:,.0f}"),
    Column("pandas", "pandas, s", "{:.3f}"),
    Column("polars", "polars, s", "{:.3f}"),
    Column("scikit-learn", "scikit-learn, s", "{:.3f}"),
    Column("scipy", "scipy, s", "{:.3f}"),
)
STREAM_COLUMNS = (
    Column("megabytes", "size, MB", "{:,.0f}"),
    Column("rows", "rows", "{:,}"),
    Column("seconds", "seconds", "{:.1f}"),
    Column("peak", "peak memory, MB", "{:.0f}"),
)

TEXT = [
    "``metricwise.io.read_table``, which detects format, delimiter, header and column types, beside readers "
    "that are given the format: ``pandas.read_csv`` and ``read_parquet``, ``polars.read_csv`` and ``read_parquet`` (on "
    "as many threads as polars takes), ``sklearn.datasets.load_svmlight_file`` and ``scipy.io.arff.loadarff``. Tables "
    f"have {N_NUMBERS} numeric columns with four decimals, one column of three categories (not in the first file), and "
    f"a label; svmlight rows have {SPARSE_ENTRIES} of {SPARSE_FEATURES} features. Seconds are the best of "
    f"{REPETITIONS} runs in turns, with the files in the page cache.",
    "Below, ``metricwise train rows.csv --stream`` as a process of its own: one pass of STAMP, including the start of "
    f"Python and its imports. Peak memory must stay below {MOST_MEMORY} MB, and svmlight files must be read at least "
    f"{LEAST_RATIO:g} times as fast as by scikit-learn.",
]


def measure(context: Context) -> Section:
    """Measure all formats, then the command."""
    section = Section("reading", "Reading files", list(TEXT))
    with tempfile.TemporaryDirectory() as folder:
        records = _records(Path(folder), context.quick)
    section.tables.append(Table("Reading files", COLUMNS, records))
    sparse = records[-1]
    if sparse["scikit-learn"] < LEAST_RATIO * sparse["seconds"]:
        section.failures.append(f"svmlight: only {sparse['scikit-learn'] / sparse['seconds']:.1f} times as fast")
    try:
        streamed = _train(QUICK_STREAM_BYTES if context.quick else STREAM_BYTES)
        section.tables.append(Table("Training by the command in chunks", STREAM_COLUMNS, [streamed]))
        if streamed["peak"] >= MOST_MEMORY:
            section.failures.append(f"{streamed['peak']:.0f} MB of memory, {MOST_MEMORY} are allowed")
    except SkippedError as reason:
        section.skip("training by the command", reason)
    return section


def _records(folder: Path, quick: bool) -> list[Record]:
    frame = _frame(QUICK_ROWS if quick else N_ROWS)
    numbers = frame.drop(columns="job")
    numbers.to_csv(folder / "numbers.csv", index=False)
    frame.to_csv(folder / "mixed.csv", index=False)
    frame.to_csv(folder / "mixed.csv.gz", index=False)
    frame.to_parquet(folder / "mixed.parquet")
    _write_arff(folder / "mixed.arff", frame)
    _write_svmlight(folder / "rows.svm", QUICK_SPARSE_ROWS if quick else SPARSE_ROWS)
    by_csv: dict[str, Callable[[Path], Any]] = {"pandas": pd.read_csv, "polars": pl.read_csv}
    peers: dict[str, dict[str, Callable[[Path], Any]]] = {
        "numbers.csv": by_csv,
        "mixed.csv": by_csv,
        "mixed.csv.gz": by_csv,
        "mixed.parquet": {"pandas": pd.read_parquet, "polars": pl.read_parquet},
        "mixed.arff": {"scipy": scipy_arff.loadarff},
        "rows.svm": {"scikit-learn": lambda path: load_svmlight_file(str(path))},
    }
    return [_time_readers(folder / name, readers) for name, readers in peers.items()]


def _time_readers(path: Path, peers: dict[str, Callable[[Path], Any]]) -> Record:
    read_table(path)  # compiles the parser
    calls: dict[str, Callable[[], Timing]] = {"metricwise": make_timer(lambda: read_table(path).n_rows)}
    for name, read in peers.items():
        calls[name] = make_timer(lambda read=read: read(path) is None)  # type: ignore[misc]
    timings = take_turns(calls, REPETITIONS)
    seconds = timings.pop("metricwise").seconds
    megabytes = path.stat().st_size / 2**20
    found = {name: timing.seconds for name, timing in timings.items()}
    return {"file": path.name, "megabytes": megabytes, "seconds": seconds, "rate": megabytes / seconds} | found


def _frame(n_rows: int) -> pd.DataFrame:
    random = np.random.default_rng(0)
    numbers = {f"x{column}": random.normal(size=n_rows).round(4) for column in range(N_NUMBERS)}
    jobs = random.choice(["clerk", "cook", "pilot"], n_rows)
    return pd.DataFrame(numbers | {"job": jobs, "y": random.integers(0, 2, n_rows)})


def _write_arff(path: Path, frame: pd.DataFrame) -> None:
    head = "".join(f"@attribute x{column} numeric\n" for column in range(N_NUMBERS))
    head += "@attribute job {clerk,cook,pilot}\n@attribute y {0,1}\n@data\n"
    path.write_text("@relation mixed\n" + head + frame.to_csv(index=False, header=False))


def _write_svmlight(path: Path, n_rows: int) -> None:
    from scipy import sparse

    random = np.random.default_rng(0)
    picked = np.sort(np.argpartition(random.random((n_rows, SPARSE_FEATURES)), SPARSE_ENTRIES)[:, :SPARSE_ENTRIES])
    values = random.normal(size=picked.size).round(3)
    starts = np.arange(0, picked.size + 1, SPARSE_ENTRIES)
    X = sparse.csr_matrix((values, picked.ravel(), starts), shape=(n_rows, SPARSE_FEATURES))
    dump_svmlight_file(X, random.integers(0, 2, n_rows), str(path), zero_based=False)


# --------------------------------------------------------------------------------------------------------- the command


def _train(size: int) -> Record:
    """Train by the command on a file of ``size`` bytes, and return its facts with the peak memory of the process."""
    with tempfile.TemporaryDirectory() as folder:
        if shutil.disk_usage(folder).free < ROOM * size:
            raise SkippedError(f"needs {ROOM * size / 2**20:,.0f} MB of free disk space for temporary files")
        path = Path(folder) / "rows.csv"
        job = {"path": str(path), "format": "csv", "n_samples": size // bytes_per_line("csv") + 1}
        _run([sys.executable, "-m", "benchmarks.streams_data", json.dumps(job)])
        arguments = ["train", str(path), "--target", str(N_COLUMNS + 1), "--stream", "--out", f"{folder}/model.mw"]
        outcome = json.loads(
            _run([sys.executable, "-m", "benchmarks.reading_process", *arguments, "--json", "--quiet"])
        )
        # Paths of temporary files are no result.
        facts = {name: outcome[name] for name in ("rows", "seconds", "peak")}
        return {"megabytes": path.stat().st_size / 2**20} | facts


def _run(command: list[str]) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[1:4])} failed:\n{done.stderr}")
    return done.stdout
