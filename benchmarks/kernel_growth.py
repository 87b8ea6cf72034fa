"""How the time of training with a kernel grows with the samples, beside scikit-learn's SVC and the pair QP."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks import plots
from benchmarks.context import Context, SkippedError
from benchmarks.data import Task, task
from benchmarks.report import Column, Figure, Record, Section, Table
from benchmarks.timing import make_timer, take_turns
from metricwise import AUCSVC, MultivariateSVC

SIZES = (500, 1000, 2000, 4000, 8000)
QP_SIZES = (20, 40, 80, 120)
QUICK_SIZES, QUICK_QP_SIZES = (250, 500, 1000), (20, 40)
REPETITIONS = 3
REFERENCE = 2.0
COMPARED, MOST_TIMES = 4000, 5

COLUMNS = (
    Column("method", "method"),
    Column("n_samples", "samples", "{:,}"),
    Column("seconds", "seconds", "{:.3f}"),
    Column("ratio", "time / time of SVC", "{:.2f}"),
    Column("iterations", "iterations"),
)
EXPONENTS = (Column("method", "method"), Column("exponent", "exponent of time", "{:.2f}"))

TEXT = [
    "Random samples of covtype (class 2 vs the rest, columns scaled to [0, 1]), RBF kernel with gamma = 10 / columns "
    "and C = 1, one thread, the kernel matrix included; metricwise to its default gap of 0.001 with "
    '``approximation="exact"`` and without the search for a threshold, ``SVC`` with its defaults and a cache of 1 GB. '
    f"In turns, best of {REPETITIONS}. *Pair QP* is the problem as Brefeld and Scheffer (2005) pose it, a "
    "box-constrained quadratic programme with one variable per pair, solved by a general solver (L-BFGS-B): its matrix "
    "has (n+ n-)^2 entries, so that only a few dozen samples of each class are affordable.",
    f"Required: exponents of metricwise of at most {REFERENCE:g}, and at most {MOST_TIMES} times the time of ``SVC`` "
    f"with {COMPARED} samples.",
]


def _ours() -> dict[str, Callable[[], Any]]:
    shared: dict[str, Any] = {"kernel": "rbf", "approximation": "exact", "threshold": 0.0, "n_jobs": 1}
    return {
        "AUCSVC, norm 1": lambda: AUCSVC(**shared),
        "AUCSVC, norm 2": lambda: AUCSVC(norm=2, **shared),
        "MultivariateSVC, f1": lambda: MultivariateSVC("f1", **shared),
    }


def measure(context: Context) -> Section:
    """Measure all methods at all sizes."""
    section = Section("kernel_growth", "Kernels: growth with the number of samples", list(TEXT))
    try:
        whole = task("covtype_2")
    except SkippedError as reason:
        section.skip("covtype_2", reason)
        return section
    order = np.random.default_rng(0).permutation(len(whole.y))
    sizes, qp_sizes = (QUICK_SIZES, QUICK_QP_SIZES) if context.quick else (SIZES, QP_SIZES)
    records: list[Record] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in sizes:
            records += _measure_size(whole, order[:size])
        records += [_pair_qp(whole, order, size) for size in qp_sizes]
    methods = list(dict.fromkeys(record["method"] for record in records))
    fits = [_fit([record for record in records if record["method"] == method]) for method in methods]
    section.tables += [Table("Growth", EXPONENTS, fits), Table("All sizes", COLUMNS, records)]
    section.failures += _find_failures(records, fits)
    section.figures.append(_draw(records, context))
    return section


def _measure_size(whole: Task, indices: Any) -> list[Record]:
    X, y = np.ascontiguousarray(whole.X[indices]), whole.y[indices]
    gamma = 10.0 / X.shape[1]
    calls = {"SVC": make_timer(lambda: SVC(gamma=gamma, cache_size=1000).fit(X, y))}
    for name, make in _ours().items():
        calls[name] = make_timer(lambda make=make: make().set_params(gamma=gamma).fit(X, y))  # type: ignore[misc]
    found = take_turns(calls, REPETITIONS)
    return [
        {
            "method": name,
            "n_samples": len(y),
            "seconds": timing.seconds,
            "ratio": timing.seconds / found["SVC"].seconds,
            "iterations": None if name == "SVC" else int(timing.value.n_iter_),
        }
        for name, timing in found.items()
    ]


def _pair_qp(whole: Task, order: Any, size: int) -> Record:
    """Solve the dual over pairs with ``size / 2`` samples of each class."""
    y = whole.y[order]
    indices = np.concatenate([order[y][: size // 2], order[~y][: size // 2]])
    half = size // 2
    started = time.perf_counter()
    K = rbf_kernel(whole.X[indices], gamma=10.0 / whole.X.shape[1])
    i, j = np.divmod(np.arange(half * half), half)
    j = j + half
    pairs = K[np.ix_(i, i)] - K[np.ix_(i, j)] - K[np.ix_(j, i)] + K[np.ix_(j, j)]
    bound = size / (half * half)
    solved = minimize(
        lambda a: (0.5 * a @ (product := pairs @ a) - a.sum(), product - 1.0),
        np.zeros(half * half),
        jac=True,
        bounds=[(0.0, bound)] * (half * half),
        method="L-BFGS-B",
        options={"ftol": 1e-6, "gtol": 1e-4},
    )
    seconds = time.perf_counter() - started
    return {"method": "pair QP", "n_samples": size, "seconds": seconds, "ratio": None, "iterations": int(solved.nit)}


def _fit(records: Sequence[Record]) -> Record:
    n_samples = np.log([record["n_samples"] for record in records])
    exponent, _ = np.polyfit(n_samples, np.log([record["seconds"] for record in records]), 1)
    return {"method": records[0]["method"], "exponent": float(exponent)}


def _find_failures(records: Sequence[Record], fits: Sequence[Record]) -> list[str]:
    ours = _ours()
    slow = [
        f"{fit['method']} grows as n^{fit['exponent']:.2f}"
        for fit in fits
        if fit["method"] in ours and fit["exponent"] > REFERENCE
    ]
    return slow + [
        f"{record['method']} takes {record['ratio']:.1f} times as long as SVC at {COMPARED} samples"
        for record in records
        if record["method"] in ours and record["n_samples"] == COMPARED and record["ratio"] > MOST_TIMES
    ]


def _draw(records: Sequence[Record], context: Context) -> Figure:
    curves: dict[str, tuple[list[int], list[float]]] = {}
    for record in records:
        sizes, seconds = curves.setdefault(record["method"], ([], []))
        sizes.append(record["n_samples"])
        seconds.append(record["seconds"])
    plots.seconds_by_size(context.figures / "kernel_growth.png", curves, REFERENCE)
    return Figure("kernel_growth.png", "Seconds against the number of samples.")
