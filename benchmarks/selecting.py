"""Feature selection: the time it takes, and the measure with the selected features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks.context import Context, SkippedError
from benchmarks.data import Task, task
from benchmarks.report import Column, Record, Section, Table
from benchmarks.timing import make_timer
from metricwise import FeatureSelectingSVC, MultivariateSVC

TOPICS = ("earn", "acq", "corn")
QUICK_TOPICS = ("corn",)
MEASURE, MOST = "f1", 50
WANTED_SECONDS = 10.0
WIDE_SAMPLES, QUICK_WIDE_SAMPLES, WIDE_FEATURES, WIDE_PER_SAMPLE, WIDE_TRUE = 10_000, 1000, 100_000, 100, 20

COLUMNS = (
    Column("task", "data"),
    Column("n_samples", "samples", "{:,}"),
    Column("features", "features", "{:,}"),
    Column("cpu", "seconds", "{:.2f}"),
    Column("iterations", "iterations"),
    Column("objective", "objective", "{:.4g}"),
    Column("bound", "lower bound of all selections", "{:.4g}"),
    Column("few", f"F1, {MOST} features", "{:.4f}"),
    Column("filtered", f"F1, {MOST} by chi2", "{:.4f}"),
    Column("all", "F1, all features", "{:.4f}"),
)
WIDE_COLUMNS = (
    Column("n_samples", "samples", "{:,}"),
    Column("features", "features", "{:,}"),
    Column("cpu", "seconds", "{:.2f}"),
    Column("iterations", "iterations"),
    Column("found", "true features found"),
    Column("few", "F1, new samples", "{:.4f}"),
    Column("filtered", f"F1, {WIDE_TRUE} by chi2", "{:.4f}"),
)

TEXT = [
    f"``FeatureSelectingSVC({MEASURE!r}, n_features={MOST})`` on topics of Reuters-21578, tf-idf, C = 1, one thread: "
    "the whole of ``fit``, which selects features and weights on all samples and again in each of five folds for the "
    f"threshold. Seconds are processor seconds of one run; fewer than {WANTED_SECONDS:g} are required. Beside the "
    "objective on the selected features is a lower bound of the objective over all selections of as many features. F1 "
    "is that of the test part: with the selected features, with as many that the chi-squared statistic selects for "
    "``MultivariateSVC``, and of ``MultivariateSVC`` with all features.",
    f"The second table is for {WIDE_FEATURES:,} simulated features: {WIDE_PER_SAMPLE} of them, drawn at random, occur "
    f"in every sample, and {WIDE_TRUE} determine the label, half of them for and half against it, with noise; those "
    f"occur in a tenth of the samples. ``n_features={WIDE_TRUE}``; *true features found* counts the selected ones "
    "among them.",
]


def measure(context: Context) -> Section:
    """Measure the topics, and the wide matrix."""
    section = Section("selecting", "Feature selection", list(TEXT))
    records: list[Record] = []
    with threadpool_limits(1):
        _compile()
        for topic in QUICK_TOPICS if context.quick else TOPICS:
            try:
                records.append(_measure_topic(task(f"reuters_{topic}")))
            except SkippedError as reason:
                section.skip(f"reuters_{topic}", reason)
        chosen, informative = _wide(QUICK_WIDE_SAMPLES if context.quick else WIDE_SAMPLES)
        wide, few = _measure_one(chosen, WIDE_TRUE)
        wide["found"] = int(few.get_support()[informative].sum())
    section.tables += [
        Table(f"Reuters-21578, {MOST} features", COLUMNS, records),
        Table(f"{WIDE_FEATURES:,} features", WIDE_COLUMNS, [wide]),
    ]
    section.failures += [
        f"{record['task']}: {record['cpu']:.1f} s; required are fewer than {WANTED_SECONDS:g} s"
        for record in records
        if record["cpu"] >= WANTED_SECONDS
    ]
    return section


def _measure_topic(chosen: Task) -> Record:
    record, _ = _measure_one(chosen, MOST)
    whole = MultivariateSVC(MEASURE, n_jobs=1).fit(chosen.X, chosen.y)
    return record | {"all": float(whole.score(chosen.X_test, chosen.y_test))}


def _measure_one(chosen: Task, most: int) -> tuple[Record, FeatureSelectingSVC]:
    trained = make_timer(lambda: FeatureSelectingSVC(MEASURE, most, n_jobs=1).fit(chosen.X, chosen.y))()
    few: FeatureSelectingSVC = trained.value
    filtering = make_pipeline(SelectKBest(chi2, k=most), MultivariateSVC(MEASURE, n_jobs=1))
    filtered = filtering.fit(chosen.X, chosen.y)
    record = {
        "task": chosen.name,
        "n_samples": chosen.X.shape[0],
        "features": chosen.X.shape[1],
        "seconds": trained.seconds,
        "cpu": trained.cpu_seconds,
        "iterations": few.n_iter_,
        "objective": few.result_.certificate.upper,
        "bound": few.result_.selection.lower,
        "few": float(few.score(chosen.X_test, chosen.y_test)),
        "filtered": float(filtered.score(chosen.X_test, chosen.y_test)),
    }
    return record, few


def _compile() -> None:
    chosen, informative = _wide(200)
    FeatureSelectingSVC(MEASURE, 2, n_jobs=1).fit(chosen.X[:, informative], chosen.y)


def _wide(n_samples: int) -> tuple[Task, Any]:
    """Return simulated samples of many features, half of them for training, and the informative features."""
    rng = np.random.default_rng(0)
    informative = np.sort(rng.permutation(WIDE_FEATURES)[:WIDE_TRUE])
    total = 2 * n_samples
    columns = rng.integers(WIDE_FEATURES, size=(total, WIDE_PER_SAMPLE))
    occurs = rng.random((total, WIDE_TRUE)) < 0.1
    row_indices, which = np.nonzero(occurs)
    row_indices = np.concatenate([np.repeat(np.arange(total), WIDE_PER_SAMPLE), row_indices])
    column_indices = np.concatenate([columns.ravel(), informative[which]])
    X = sparse.coo_array(
        (np.ones(row_indices.size), (row_indices, column_indices)), shape=(total, WIDE_FEATURES)
    ).tocsr()
    signs = np.where(np.arange(WIDE_TRUE) % 2 == 0, 1.0, -1.0)
    y = occurs @ signs + 0.5 * rng.normal(size=total) > 0.7
    return Task("simulated", X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]), informative
