"""Few features: how long choosing them takes, and what the measure is with them."""

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
from benchmarks.timing import timed
from metricwise import FeatureSelectingSVC, MultivariateSVC

TOPICS = ("earn", "acq", "corn")
QUICK_TOPICS = ("corn",)
MEASURE, MOST = "f1", 50
WANTED_SECONDS = 10.0
WIDE_ROWS, QUICK_WIDE_ROWS, WIDE_FEATURES, WIDE_IN_ROW, WIDE_TRUE = 10_000, 1000, 100_000, 100, 20

COLUMNS = (
    Column("task", "data"),
    Column("rows", "rows", "{:,}"),
    Column("features", "features", "{:,}"),
    Column("cpu", "seconds", "{:.2f}"),
    Column("rounds", "rounds"),
    Column("objective", "objective", "{:.4g}"),
    Column("bound", "bound of all choices", "{:.4g}"),
    Column("few", f"F1, {MOST} features", "{:.4f}"),
    Column("filtered", f"F1, {MOST} by chi2", "{:.4f}"),
    Column("all", "F1, all features", "{:.4f}"),
)
WIDE_COLUMNS = (
    Column("rows", "rows", "{:,}"),
    Column("features", "features", "{:,}"),
    Column("cpu", "seconds", "{:.2f}"),
    Column("rounds", "rounds"),
    Column("found", "found"),
    Column("few", "F1, new rows", "{:.4f}"),
    Column("filtered", f"F1, {WIDE_TRUE} by chi2", "{:.4f}"),
)

TEXT = [
    f"``FeatureSelectingSVC({MEASURE!r}, n_features={MOST})`` on topics of Reuters-21578, tf-idf, C = 1, one thread: "
    "the whole of ``fit``, which chooses features and weights on all rows and again in each of five folds for the "
    f"threshold. Seconds are those of the processor in one run; wanted are fewer than {WANTED_SECONDS:g}. Beside the "
    "objective on the chosen features is the bound that no other choice of as many features can fall below. F1 is that "
    "of the test part: of the chosen features, of as many that the chi-squared statistic chooses for "
    "``MultivariateSVC``, and of ``MultivariateSVC`` with all of them.",
    f"The second table is for {WIDE_FEATURES:,} features, simulated: {WIDE_IN_ROW} of them, drawn at random, occur in "
    f"every row, and {WIDE_TRUE} decide about the label, half of them for and half against it, with noise; those "
    f"occur in a tenth of the rows. ``n_features={WIDE_TRUE}``; *found* is how many of the chosen ones decide.",
]


def measure(context: Context) -> Section:
    """Measure the topics, and the wide matrix."""
    section = Section("selecting", "Few features", list(TEXT))
    records: list[Record] = []
    with threadpool_limits(1):
        _compile()
        for topic in QUICK_TOPICS if context.quick else TOPICS:
            try:
                records.append(_measure_topic(task(f"reuters_{topic}")))
            except SkippedError as reason:
                section.skip(f"reuters_{topic}", reason)
        chosen, deciding = _wide(QUICK_WIDE_ROWS if context.quick else WIDE_ROWS)
        wide, few = _measure_one(chosen, WIDE_TRUE)
        wide["found"] = int(few.get_support()[deciding].sum())
    section.tables += [
        Table(f"Reuters-21578, {MOST} features", COLUMNS, records),
        Table(f"{WIDE_FEATURES:,} features", WIDE_COLUMNS, [wide]),
    ]
    section.failures += [
        f"{record['task']}: {record['cpu']:.1f} s, where under {WANTED_SECONDS:g} s are wanted"
        for record in records
        if record["cpu"] >= WANTED_SECONDS
    ]
    return section


def _measure_topic(chosen: Task) -> Record:
    record, _ = _measure_one(chosen, MOST)
    whole = MultivariateSVC(MEASURE, n_jobs=1).fit(chosen.X, chosen.y)
    return record | {"all": float(whole.score(chosen.X_test, chosen.y_test))}


def _measure_one(chosen: Task, most: int) -> tuple[Record, FeatureSelectingSVC]:
    trained = timed(lambda: FeatureSelectingSVC(MEASURE, most, n_jobs=1).fit(chosen.X, chosen.y))()
    few: FeatureSelectingSVC = trained.value
    filtering = make_pipeline(SelectKBest(chi2, k=most), MultivariateSVC(MEASURE, n_jobs=1))
    filtered = filtering.fit(chosen.X, chosen.y)
    record = {
        "task": chosen.name,
        "rows": chosen.X.shape[0],
        "features": chosen.X.shape[1],
        "seconds": trained.seconds,
        "cpu": trained.cpu_seconds,
        "rounds": few.n_iter_,
        "objective": few.result_.certificate.upper,
        "bound": few.result_.selection.lower,
        "few": float(few.score(chosen.X_test, chosen.y_test)),
        "filtered": float(filtered.score(chosen.X_test, chosen.y_test)),
    }
    return record, few


def _compile() -> None:
    chosen, deciding = _wide(200)
    FeatureSelectingSVC(MEASURE, 2, n_jobs=1).fit(chosen.X[:, deciding], chosen.y)


def _wide(n_samples: int) -> tuple[Task, Any]:
    """Return simulated rows of many features, a half of them for training, and which features decide."""
    rng = np.random.default_rng(0)
    deciding = np.sort(rng.permutation(WIDE_FEATURES)[:WIDE_TRUE])
    total = 2 * n_samples
    columns = rng.integers(WIDE_FEATURES, size=(total, WIDE_IN_ROW))
    occurs = rng.random((total, WIDE_TRUE)) < 0.1
    row, which = np.nonzero(occurs)
    rows = np.concatenate([np.repeat(np.arange(total), WIDE_IN_ROW), row])
    places = np.concatenate([columns.ravel(), deciding[which]])
    X = sparse.coo_array((np.ones(rows.size), (rows, places)), shape=(total, WIDE_FEATURES)).tocsr()
    signs = np.where(np.arange(WIDE_TRUE) % 2 == 0, 1.0, -1.0)
    y = occurs @ signs + 0.5 * rng.normal(size=total) > 0.7
    return Task("simulated", X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]), deciding
