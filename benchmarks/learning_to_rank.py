"""Learning to rank: RankingSVC beside LightGBM's lambdarank and linear baselines."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.context import Context, SkippedError
from benchmarks.report import Column, Record, Section, Table
from metricwise import NDCG, AveragePrecision, RankingSVC, score_queries
from metricwise.measures import Measure

Floats = NDArray[np.float64]
Queries = NDArray[np.int64]
Scorer = Callable[[Floats], Floats]
Trainer = Callable[["Ranked", Any], Scorer]

FOLDER = "RANKING_DATA"  # names a folder with rank.train, rank.test and the sizes of their queries
SEEDS, QUICK_SEEDS = (0, 1, 2), (0,)
N_QUERIES, QUICK_QUERIES = 300, 40
N_FEATURES = 20
FOLDS = 3
MEASURES: dict[str, Measure] = {"NDCG@10": NDCG(10, gain="exponential"), "MAP": AveragePrecision()}
COSTS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Trees, leaves, smallest leaf and learning rate.
BOOSTING = tuple(product((100, 300), (7, 31), (20, 50), (0.05,)))

COLUMNS = (
    Column("data", "data"),
    Column("method", "method"),
    Column("ndcg", "NDCG@10", "{:.4f}"),
    Column("map", "MAP", "{:.4f}"),
    Column("better", "queries better : worse than RankingSVC, NDCG@10"),
    Column("p", "p", "{:.2g}"),
    Column("seconds", "processor seconds", "{:.2f}"),
)

TEXT = [
    "Rankings of the samples of queries. NDCG@10 has the gains 2^grade - 1; for the mean average precision (MAP) all "
    "grades above 0 are relevant. Methods: ``RankingSVC`` for NDCG with these gains and for average precision; "
    "LightGBM's lambdarank; a linear SVM of differences of samples of one query (the classical ranking SVM, one pair "
    "per sample and query drawn at random for every grade below); ridge regression on the grades. Linear methods see "
    "standardised features. Every method has its settings chosen by NDCG@10 (MAP for average precision) in "
    f"{FOLDS}-fold cross-validation over training queries: C of {len(COSTS)} values from {COSTS[0]:g} to {COSTS[-1]:g} "
    "(alpha of ridge regression likewise, times the samples), and for lambdarank all combinations of 100 or 300 "
    "trees of learning rate .05, 7 or 31 leaves, 20 or 50 samples in a leaf. Seconds are those of the last "
    "training. p is of Wilcoxon's test over test queries.",
    f"Two kinds of data of our own making, {N_QUERIES} training and as many test queries of 10 to 60 samples, "
    f"{N_FEATURES} features, grades 0 to 4, means of {len(SEEDS)} seeds: the grade depends on a linear score with "
    "noise, or on products and absolute values as well; queries differ by an offset that no feature shows. Where the "
    f"environment variable {FOLDER} names a folder with the example data of LightGBM's lambdarank (201 training and 50 "
    "test queries, 300 features), they are measured, too; they are not part of this repository.",
]


@dataclass(frozen=True)
class Ranked:
    """Samples with grades and queries."""

    X: Any
    grades: Floats
    queries: Queries

    def take(self, samples: Any) -> Ranked:
        """Return some of the samples."""
        return Ranked(self.X[samples], self.grades[samples], self.queries[samples])


@dataclass(frozen=True)
class Method:
    """A way to train a ranker, with the settings to choose from and the measure they are chosen by."""

    name: str
    train: Trainer
    grid: Sequence[Any]
    chosen_by: str = "NDCG@10"


def measure(context: Context) -> Section:
    """Measure all methods on all data."""
    section = Section("learning_to_rank", "Learning to rank", list(TEXT))
    records: list[Record] = []
    for name, pairs in _list_data(context):
        try:
            records += _compare(name, list(pairs))
        except SkippedError as reason:
            section.skip(name, reason)
    section.tables.append(Table("Rankings of new queries", COLUMNS, records))
    return section


def _list_data(context: Context) -> Iterator[tuple[str, Iterator[tuple[Ranked, Ranked]]]]:
    """Yield names of data with pairs of training and test queries."""
    seeds, n_queries = (QUICK_SEEDS, QUICK_QUERIES) if context.quick else (SEEDS, N_QUERIES)
    for name, is_linear in (("linear", True), ("not linear", False)):
        yield name, (_make_pair(n_queries, is_linear, seed) for seed in seeds)
    yield "LightGBM's example", (read_example() for _ in range(1))


def _make_pair(n_queries: int, is_linear: bool, seed: int) -> tuple[Ranked, Ranked]:
    return make_queries(n_queries, is_linear, 2 * seed), make_queries(n_queries, is_linear, 2 * seed + 1)


def make_queries(n_queries: int, is_linear: bool, seed: int) -> Ranked:
    """Return queries whose samples have grades 0 to 4, most of them low.

    Parameters
    ----------
    n_queries : int
        Number of queries, of 10 to 60 samples each.
    is_linear : bool
        Whether the grade depends on a linear score alone, apart from noise.
    seed : int
        Seeds the samples; the dependence is the same for all seeds.
    """
    random = np.random.default_rng(seed)
    sizes = random.integers(10, 61, n_queries)
    queries = np.repeat(np.arange(n_queries), sizes)
    X = random.standard_normal((queries.size, N_FEATURES))
    score = X[:, :8] @ np.array([1.0, -0.8, 0.6, 0.5, -0.4, 0.3, 0.2, -0.2])
    if not is_linear:
        score = 0.5 * score + X[:, 8] * X[:, 9] + np.abs(X[:, 10]) - 0.8 * X[:, 11] ** 2 * (X[:, 12] > 0.0)
    score += random.standard_normal(queries.size) + random.standard_normal(n_queries)[queries]
    grades = np.digitize(score, [1.0, 2.0, 3.0, 4.0]).astype(np.float64)
    return Ranked(X, grades, queries)


def read_example() -> tuple[Ranked, Ranked]:
    """Return the training and the test queries of LightGBM's example."""
    if FOLDER not in os.environ:
        raise SkippedError(f"set {FOLDER} to a folder with rank.train, rank.train.query, rank.test and rank.test.query")
    folder = Path(os.environ[FOLDER])
    parts = []
    for name in ("rank.train", "rank.test"):
        X, grades = load_svmlight_file(str(folder / name), n_features=301, zero_based=True)
        sizes = np.loadtxt(folder / f"{name}.query", dtype=np.int64)
        parts.append(Ranked(X.toarray(), grades, np.repeat(np.arange(sizes.size), sizes)))
    return parts[0], parts[1]


def _compare(name: str, pairs: Sequence[tuple[Ranked, Ranked]]) -> list[Record]:
    """Return a record of every method, with means over pairs of training and test queries."""
    found = {method.name: [_measure_method(method, *pair) for pair in pairs] for method in METHODS}
    records: list[Record] = []
    own = _of_queries(found[METHODS[0].name], "NDCG@10")
    for method, runs in found.items():
        values = _of_queries(runs, "NDCG@10")
        difference = values - own
        record = {
            "data": name,
            "method": method,
            "ndcg": float(np.mean([run["NDCG@10"].mean() for run in runs])),
            "map": float(np.mean([run["MAP"].mean() for run in runs])),
            "seconds": float(np.mean([run["seconds"] for run in runs])),
        }
        if difference.any():
            record["better"] = f"{np.sum(difference > 0.0)} : {np.sum(difference < 0.0)}"
            record["p"] = float(wilcoxon(difference).pvalue)
        records.append(record)
    return records


def _of_queries(runs: Sequence[dict[str, Any]], measure_name: str) -> Floats:
    return np.concatenate([run[measure_name] for run in runs])


def _measure_method(method: Method, train: Ranked, test: Ranked) -> dict[str, Any]:
    """Choose settings by cross-validation, train, and return the values of all test queries."""
    best = max(method.grid, key=lambda setting: _cross_validate(method, setting, train))
    started = time.process_time()
    ranker = method.train(train, best)
    seconds = time.process_time() - started
    scores = ranker(test.X)
    return {"seconds": seconds} | {name: _query_values(name, test, scores) for name in MEASURES}


def _cross_validate(method: Method, setting: Any, train: Ranked) -> float:
    values = []
    for own, other in GroupKFold(FOLDS).split(train.X, groups=train.queries):
        part = train.take(other)
        values.append(_query_values(method.chosen_by, part, method.train(train.take(own), setting)(part.X)))
    return float(np.concatenate(values).mean())


def _query_values(name: str, samples: Ranked, scores: Floats) -> Floats:
    """Return the values of all queries with relevant samples."""
    relevance = samples.grades if name == "NDCG@10" else (samples.grades > 0.0).astype(np.float64)
    found = score_queries(MEASURES[name], relevance, scores, samples.queries, no_relevant="skip", per_query=True)
    return np.fromiter(found.values(), dtype=np.float64)


def _train_linear(make: Callable[[Any, Ranked], Any]) -> Trainer:
    """Return a trainer on standardised features; ``make`` returns a fitted model with ``coef_``."""

    def train(samples: Ranked, setting: Any) -> Scorer:
        scaler = StandardScaler().fit(samples.X)
        weights = make(setting, Ranked(scaler.transform(samples.X), samples.grades, samples.queries)).coef_.ravel()
        return lambda X: np.asarray(scaler.transform(X) @ weights, dtype=np.float64)

    return train


def _fit_ndcg(C: float, samples: Ranked) -> RankingSVC:
    return RankingSVC(NDCG(gain="exponential"), C=C, tol=1e-2).fit(samples.X, samples.grades, groups=samples.queries)


def _fit_average_precision(C: float, samples: Ranked) -> RankingSVC:
    return RankingSVC("average_precision", C=C, tol=1e-2).fit(samples.X, samples.grades > 0.0, groups=samples.queries)


def _fit_pairs(C: float, samples: Ranked) -> LinearSVC:
    """Train on differences of samples of one query with different grades."""
    random, better, worse = np.random.default_rng(0), [], []
    for query in np.unique(samples.queries):
        own = np.flatnonzero(samples.queries == query)
        grades = samples.grades[own]
        for i in own:
            for grade in np.unique(grades[grades < samples.grades[i]]):
                better.append(i)
                worse.append(random.choice(own[grades == grade]))
    differences = samples.X[better] - samples.X[worse]
    sign = np.where(np.arange(len(better)) % 2, 1.0, -1.0)  # two classes of pairs
    return LinearSVC(C=C, fit_intercept=False, loss="hinge", max_iter=10_000).fit(sign[:, None] * differences, sign)


def _fit_ridge(share: float, samples: Ranked) -> Ridge:
    return Ridge(alpha=len(samples.grades) * share).fit(samples.X, samples.grades)


def _train_lambdarank(samples: Ranked, setting: tuple[int, int, int, float]) -> Scorer:
    try:
        from lightgbm import LGBMRanker
    except ImportError as error:
        raise SkippedError("LightGBM is not installed") from error
    n_trees, n_leaves, least, rate = setting
    ranker = LGBMRanker(
        n_estimators=n_trees, num_leaves=n_leaves, min_child_samples=least, learning_rate=rate, n_jobs=1, verbose=-1
    )
    sizes = np.bincount(samples.queries)
    ranker.fit(samples.X, samples.grades.astype(np.int64), group=sizes[sizes > 0])
    return lambda X: np.asarray(ranker.predict(X), dtype=np.float64)


METHODS = (
    Method("RankingSVC, NDCG", _train_linear(_fit_ndcg), COSTS),
    Method("RankingSVC, average precision", _train_linear(_fit_average_precision), COSTS, "MAP"),
    Method("LightGBM, lambdarank", _train_lambdarank, BOOSTING),
    Method("ranking SVM of pairs", _train_linear(_fit_pairs), COSTS),
    Method("ridge regression", _train_linear(_fit_ridge), COSTS),
)
