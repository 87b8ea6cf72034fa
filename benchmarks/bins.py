"""Scores in bins on a cluster: iterations, bytes, and how much of the gap is the error of the bins."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.cluster import seconds_an_iteration
from benchmarks.cluster_process import SETTINGS
from benchmarks.context import Context
from benchmarks.report import Column, Record, Section, Table
from metricwise import MultivariateSVC

N_ROWS, QUICK_ROWS = (100_000, 400_000), (4000, 8000)
N_FEATURES, CHUNKS = 20, 8
POSITIVES = 0.1
NOISE = 3.0
MEASURES = ("f1", "prbep", "roc_auc")
BINS = (None, 256, 1024, 4096)
TABLE = "Scores in bins"

COLUMNS = (
    Column("rows", "rows", "{:,}"),
    Column("measure", "measure"),
    Column("bins", "score_bins"),
    Column("iterations", "iterations"),
    Column("milliseconds", "iteration, ms", "{:.0f}"),
    Column("gap", "relative gap", "{:.1e}"),
    Column("error", "score_error / objective", "{:.1e}"),
    Column("kilobytes", "kilobytes an iteration", "{:,.0f}"),
    Column("ratio", "objective / exact", "{:.5f}"),
)


def measure(context: Context) -> Section:
    """Train with all scores and with bins of them."""
    section = Section("bins", "Scores in bins", [_text()])
    records: list[Record] = []
    with LocalCluster(**SETTINGS) as cluster, Client(cluster) as client:
        for n_samples in QUICK_ROWS if context.quick else N_ROWS:
            rows, labels = _drawn(n_samples, client)
            for name in MEASURES:
                records += _records(rows, labels, name)
    section.tables.append(Table(TABLE, COLUMNS, records))
    section.failures += [
        f"{record['measure']} with {record['bins']} bins on {record['rows']:,} rows: bounds of {record['lower']} to "
        f"{record['upper']} leave out the exact problem's"
        for record in records
        if not record["holds"]
    ]
    return section


def _drawn(n_samples: int, client: Client) -> tuple[Any, Any]:
    rows = client.persist(
        da.random.default_rng(0).normal(size=(n_samples, N_FEATURES), chunks=(n_samples // CHUNKS, N_FEATURES))
    )
    random = np.random.default_rng(0)
    leaning = client.compute(rows @ random.normal(size=N_FEATURES)).result() + NOISE * random.normal(size=n_samples)
    labels = leaning > np.quantile(leaning, 1.0 - POSITIVES)
    return rows, da.from_array(labels, chunks=n_samples // CHUNKS)


def _records(rows: Any, labels: Any, name: str) -> list[Record]:
    """Train one measure without bins first, then with more and more of them."""
    records: list[Record] = []
    for bins in BINS:
        result = MultivariateSVC(name, threshold="train", score_bins=bins).fit(rows, labels).result_
        bounds = result.certificate
        exact = records[0] if records else {"lower": bounds.lower, "upper": bounds.upper}
        records.append(
            {
                "rows": rows.shape[0],
                "measure": name,
                "bins": "all scores" if bins is None else f"{bins:,}",
                "iterations": len(result.history),
                "milliseconds": 1e3 * seconds_an_iteration(result),
                "gap": bounds.relative,
                "error": result.score_error / bounds.upper,
                "kilobytes": float(np.median(np.diff([entry.bytes_moved for entry in result.history]))) / 1e3,
                "ratio": bounds.upper / exact["upper"],
                "lower": bounds.lower,
                "upper": bounds.upper,
                "holds": bool(bounds.lower <= exact["upper"] and exact["lower"] <= bounds.upper),
            }
        )
    return records


def _text() -> str:
    return (
        f"``MultivariateSVC`` with ``score_bins`` on {N_FEATURES} normal features, {POSITIVES:.0%} positives by a "
        "linear rule with noise, on two worker processes with one thread each, to a relative gap of 0.001. "
        "*score_error* is what bins leave open of the objective, and part of the gap. Bounds of every training must "
        "hold those of the exact problem, which is trained with all scores."
    )
