"""SPADE and STAMP on a cluster: how fast averaged shards reach the measure of sequential passes."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.cluster_process import SETTINGS
from benchmarks.context import Context, SkippedError
from benchmarks.data import Task, task
from benchmarks.report import Column, Record, Section, Table
from metricwise import SPADEClassifier, STAMPClassifier

N_SAMPLES, N_FEATURES, N_NEW = 200_000, 50, 50_000
QUICK_SAMPLES = 5000
POSITIVES = 0.1
NOISE = 7.0  # deviations of the noise, where the rule has the root of the number of features
CHUNKS = 8
SHARDS = (1, 2, 4, 8)
SHOWN = (1, 2, 4, 8, 16)
N_PASSES = max(SHOWN)
ALL_PASSES = -1e9  # a tolerance that never stops training early
LARGEST_LOSS = 0.01  # of the measure on new samples, compared with the sequential run
REAL = "w8a"

METHODS: dict[str, tuple[type, str]] = {
    "SPADE, g_mean": (SPADEClassifier, "g_mean"),
    "STAMP, f1": (STAMPClassifier, "f1"),
}

COLUMNS = (
    Column("task", "data"),
    Column("method", "method"),
    Column("mode", "mode"),
    *(Column(f"pass_{number}", f"pass {number}", "{:.4f}") for number in SHOWN),
    Column("new", "new samples", "{:.4f}"),
    Column("lost", "below sequential", "{:+.4f}"),
    Column("megabytes", "moved per pass, MB", "{:.2f}"),
)

TEXT = (
    f"The samples are in {CHUNKS} chunks on two worker processes. *Sequential* is training in memory, with samples "
    "shuffled anew for every pass; *n shards* is ``fit`` on the Dask array with ``n_shards=n``: in every pass, shards "
    "learn from their chunks in parallel, each from the state that the last pass ended with, and their states are "
    "averaged. A pass is one over all samples in either case, so that a column of the table costs the same arithmetic, "
    "shared by as many workers as there are shards. The measure is that of the validation samples of ``fit``, at the "
    f"best threshold for them, the same samples for all runs on a data set; after {N_PASSES} passes, that of new "
    "samples with the threshold of the model (the selected model is the best on the validation samples). The first "
    "data set is "
    f"simulated: {N_SAMPLES:,} samples of {N_FEATURES} normal features, {POSITIVES:.0%} positives by a linear rule "
    "with much noise. The second is w8a, 300 sparse features and 3 % positives, shuffled. At most "
    f"{LARGEST_LOSS} may be lost on new samples. Bytes are those between coordinator and workers.",
    "Where a part of the samples is enough to learn from, as in the first data set, shards lose nothing. Where a "
    "sequential run still improves after many passes, as SPADE does on w8a, every shard makes fewer steps in a pass, "
    "and an average of n shards lags behind: give it more passes, or fewer shards. After 8 passes, 4 and 8 shards were "
    "0.0108 and 0.0140 behind there, more than is allowed; that is why there are 16.",
)


def measure(context: Context) -> Section:
    """Train in memory and in shards."""
    section = Section("shards", "Streaming in shards", list(TEXT))
    records: list[Record] = []
    with LocalCluster(**SETTINGS) as cluster, Client(cluster) as client:
        records += _records(_draw_task(QUICK_SAMPLES if context.quick else N_SAMPLES), client)
        try:
            real = task(REAL)
            records += _records(_shuffle(real.some(QUICK_SAMPLES) if context.quick else real), client)
        except SkippedError as reason:
            section.skip(REAL, reason)
    section.tables.append(Table("The measure after passes, sequential and in shards", COLUMNS, records))
    section.failures += [
        f"{record['task']}, {record['method']}, {record['mode']}: {record['lost']:.4f} below the sequential run"
        for record in records
        if not context.quick and record["lost"] > LARGEST_LOSS
    ]
    return section


def _draw_task(n_samples: int) -> Task:
    random = np.random.default_rng(0)
    X = random.normal(size=(n_samples + N_NEW, N_FEATURES))
    latent = X @ random.normal(size=N_FEATURES) + NOISE * random.normal(size=len(X))
    y = latent > np.quantile(latent, 1.0 - POSITIVES)
    return Task("simulated", X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:])


def _shuffle(chosen: Task) -> Task:
    order = np.random.default_rng(0).permutation(len(chosen.y))
    return Task(chosen.name, chosen.X[order], chosen.y[order], chosen.X_test, chosen.y_test)


def _records(chosen: Task, client: Client) -> list[Record]:
    X = client.persist(_send_in_chunks(chosen.X))
    records = []
    for method, (kind, name) in METHODS.items():
        settings: dict[str, Any] = {"n_passes": N_PASSES, "tol": ALL_PASSES}
        sequential = kind(name, **settings).fit(chosen.X, chosen.y)
        best = sequential.score(chosen.X_test, chosen.y_test)
        models = {"sequential": sequential}
        for n_shards in SHARDS:
            model = kind(name, **settings, n_shards=n_shards).fit(X, chosen.y, client=client)
            models[f"{n_shards} shard{'s' * (n_shards > 1)}"] = model
        for mode, model in models.items():
            new = model.score(chosen.X_test, chosen.y_test)
            moved = model.result_.bytes_moved
            record = {"task": chosen.name, "method": method, "mode": mode, "new": new, "lost": best - new}
            record["megabytes"] = moved / N_PASSES / 1e6 if moved else None
            records.append(record | _by_pass(model))
    return records


def _send_in_chunks(X: Any) -> Any:
    """Return X as a Dask array; each chunk is sent once."""
    parts = [X[indices] for indices in np.array_split(np.arange(X.shape[0]), CHUNKS)]
    meta = X[:0]
    arrays = [da.from_delayed(dask.delayed(part), part.shape, dtype=X.dtype, meta=meta) for part in parts]
    return da.concatenate(arrays)


def _by_pass(model: Any) -> Record:
    """Return the validation measure after the passes that are shown; a long first pass has several entries."""
    history = model.result_.history
    n_samples = history[-1].n_samples // N_PASSES
    values = {entry.n_samples // n_samples: entry.measure for entry in history if entry.n_samples % n_samples == 0}
    return {f"pass_{number}": values[number] for number in SHOWN}
