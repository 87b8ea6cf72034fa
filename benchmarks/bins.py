"""Training with score bins on a cluster: iterations, bytes, and the part of the gap that is due to the bins."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.cluster import seconds_per_iteration
from benchmarks.cluster_process import SETTINGS
from benchmarks.context import Context
from benchmarks.report import Column, Record, Section, Table
from metricwise import MultivariateSVC

N_SAMPLES, QUICK_SAMPLES = (100_000, 400_000), (4000, 8000)
N_FEATURES, CHUNKS = 20, 8
POSITIVES = 0.1
NOISE = 3.0
MEASURES = ("f1", "prbep", "roc_auc")
BINS = (None, 256, 1024, 4096)
TABLE = "Score bins"

COLUMNS = (
    Column("n_samples", "samples", "{:,}"),
    Column("measure", "measure"),
    Column("bins", "score_bins"),
    Column("iterations", "iterations"),
    Column("milliseconds", "iteration, ms", "{:.0f}"),
    Column("gap", "relative gap", "{:.1e}"),
    Column("error", "score_error / objective", "{:.1e}"),
    Column("kilobytes", "kilobytes per iteration", "{:,.0f}"),
    Column("ratio", "objective / exact", "{:.5f}"),
)


def measure(context: Context) -> Section:
    """Train with exact scores and with score bins."""
    section = Section("bins", "Score bins", [_text()])
    records: list[Record] = []
    with LocalCluster(**SETTINGS) as cluster, Client(cluster) as client:
        for n_samples in QUICK_SAMPLES if context.quick else N_SAMPLES:
            X, labels = _draw_data(n_samples, client)
            for name in MEASURES:
                records += _records(X, labels, name)
    section.tables.append(Table(TABLE, COLUMNS, records))
    section.failures += [
        f"{record['measure']} with {record['bins']} bins on {record['n_samples']:,} samples: the bounds "
        f"{record['lower']} to {record['upper']} do not overlap those of the exact problem"
        for record in records
        if not record["holds"]
    ]
    return section


def _draw_data(n_samples: int, client: Client) -> tuple[Any, Any]:
    X = client.persist(
        da.random.default_rng(0).normal(size=(n_samples, N_FEATURES), chunks=(n_samples // CHUNKS, N_FEATURES))
    )
    random = np.random.default_rng(0)
    latent = client.compute(X @ random.normal(size=N_FEATURES)).result() + NOISE * random.normal(size=n_samples)
    labels = latent > np.quantile(latent, 1.0 - POSITIVES)
    return X, da.from_array(labels, chunks=n_samples // CHUNKS)


def _records(X: Any, labels: Any, name: str) -> list[Record]:
    """Train for one measure without bins first, then with an increasing number of bins."""
    records: list[Record] = []
    for bins in BINS:
        result = MultivariateSVC(name, threshold="train", score_bins=bins).fit(X, labels).result_
        bounds = result.certificate
        exact = records[0] if records else {"lower": bounds.lower, "upper": bounds.upper}
        records.append(
            {
                "n_samples": X.shape[0],
                "measure": name,
                "bins": "all scores" if bins is None else f"{bins:,}",
                "iterations": len(result.history),
                "milliseconds": 1e3 * seconds_per_iteration(result),
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
        "*score_error* is the uncertainty of the objective that the bins cause; it is part of the gap. The bounds of "
        "every run must overlap those of the exact problem, which is trained with all scores."
    )
