"""The two products a solver makes with the data, against numpy's and scipy's."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.context import Context, SkippedError
from benchmarks.data import Task, task
from benchmarks.report import Column, Record, Section, Table
from benchmarks.timing import Timing, make_timer, take_turns
from metricwise.designs import make_design

REPETITIONS = 9
SPINNING = 0.05  # seconds that threads of BLAS may wait for more work before they sleep

COLUMNS = (
    Column("task", "data"),
    Column("kind", "matrix"),
    Column("product", "product"),
    Column("threads", "threads"),
    Column("ours", "metricwise, ms", "{:.2f}"),
    Column("peer", "numpy or scipy, ms", "{:.2f}"),
    Column("ratio", "ratio", "{:.2f}"),
)

TEXT = [
    "Nearly all the time of a large problem goes into two products: the scores Xw, and the combination of samples X'c. "
    "metricwise computes them with the samples in the order of its solvers, positives first, without copying the "
    "matrix, and sums in double precision whatever the type of the matrix. The peers are ``X @ w`` and ``X.T @ c`` on "
    "the matrix as it is: numpy's BLAS with as many threads (single precision throughout where the matrix is), and "
    "scipy's, which is single-threaded.",
    f"Best of {REPETITIONS} runs.",
]

Kind = tuple[str, Callable[[Any], Any]]
Product = tuple[str, Callable[[], Any], Callable[[], Any]]

DENSE_KINDS: tuple[Kind, ...] = (
    ("float64, rows contiguous", np.ascontiguousarray),
    ("float64, columns contiguous", np.asfortranarray),
    ("float32, rows contiguous", lambda X: np.ascontiguousarray(X, dtype=np.float32)),
)
SPARSE_KINDS: tuple[Kind, ...] = (("float64, CSR", lambda X: X),)


def measure(context: Context) -> Section:
    """Measure both products on every kind of matrix."""
    section = Section("products", "Products with the data", list(TEXT))
    records: list[Record] = []
    for name in ("mnist_8", "a9a"):
        try:
            chosen = task(name)
        except SkippedError as reason:
            section.skip(name, reason)
            continue
        chosen = chosen.some(3000) if context.quick else chosen
        for kind, convert in SPARSE_KINDS if sparse.issparse(chosen.X) else DENSE_KINDS:
            records += _measure_kind(chosen, kind, convert(chosen.X), context)
    section.tables.append(Table("Milliseconds per product", COLUMNS, records))
    return section


def _measure_kind(chosen: Task, kind: str, X: Any, context: Context) -> list[Record]:
    records = []
    for threads in context.thread_counts:
        for product, ours, peer in _products(chosen.y, X, threads):
            with threadpool_limits(threads, user_api="blas"):
                found = take_turns({"ours": _make_settled_timer(ours), "peer": _make_settled_timer(peer)}, REPETITIONS)
            record: Record = {"task": chosen.name, "kind": kind, "product": product, "threads": threads}
            record |= {name: 1e3 * timing.seconds for name, timing in found.items()}
            records.append(record | {"ratio": record["peer"] / record["ours"]})
    return records


def _make_settled_timer(call: Callable[[], Any]) -> Callable[[], Timing]:
    """Return a timer of a call that first waits until the spinning threads of the other program sleep."""

    def run() -> Timing:
        ready = time.perf_counter() + SPINNING
        while time.perf_counter() < ready:
            call()
        return make_timer(call)()

    return run


def _products(y: NDArray[np.bool_], X: Any, threads: int) -> list[Product]:
    """Return name, our call and the peer's of the two products; ours have the positives first."""
    order = np.concatenate([np.flatnonzero(y), np.flatnonzero(~y)])
    design = make_design(X, threads=threads).take(order)
    random = np.random.default_rng(0)
    w, c = random.standard_normal(X.shape[1]), random.standard_normal(X.shape[0])
    peer_w, peer_c, ordered = w.astype(X.dtype), c.astype(X.dtype), c[order]
    _check_close(design.scores(w), (X @ peer_w)[order])
    _check_close(design.combine(ordered), X.T @ peer_c)
    return [
        ("Xw", lambda: design.scores(w), lambda: X @ peer_w),
        ("X'c", lambda: design.combine(ordered), lambda: X.T @ peer_c),
    ]


def _check_close(ours: Any, peer: Any) -> None:
    """Make sure that the same product is compared, up to the rounding of single precision."""
    np.testing.assert_allclose(ours, peer, rtol=0.0, atol=1e-4 * float(np.abs(ours).max()))
