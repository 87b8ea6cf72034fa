"""A model of the time of an iteration on a cluster, fitted to measurements, and what it says of larger ones.

An iteration of exact training waits for two products of the workers, for the numbers on their way, for the calls that
carry them, and for the coordinator, which sorts all scores:

    products    = product * rows * features / workers
    transfer    = bytes / speed,  bytes = row_bytes * rows + 8 * features * (workers + chunks)
    calls       = call * 2 * workers
    coordinator = sorting * rows * log2(rows)

With score bins no number a row travels or is sorted, but workers count their scores in bins, and are asked more often:

    products    = (product * features + counting) * rows / workers
    transfer    = bytes / speed,  bytes = 2 * entry * bins * workers + 8 * features * (workers + chunks)
    calls       = call * questions * workers
    coordinator = binning * bins
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.report import Record

NETWORK = 10e9 / 8  # bytes a second: an assumption, 10 Gbit/s
CHUNK_BYTES = 100e6
CLASSES = 2
ITEM_BYTES = 4  # of a number of a row
_BINNED = ("work", "moved", "questions", "own")


@dataclass(frozen=True)
class Fitted:
    """Constants of the model.

    Parameters
    ----------
    product : float
        Seconds a row and feature, of both products of an iteration on one thread.
    speed : float
        Bytes a second between coordinator and workers over TCP on loopback, serialisation included.
    call : float
        Seconds of one call of a worker.
    row_bytes : float
        Bytes a row and iteration that travel.
    sorting : float
        Seconds of the coordinator, by row and binary logarithm of the rows.
    held : float
        Bytes a row that the coordinator holds at most.
    counting : float
        Seconds a row of an iteration with bins, beside the products.
    entry : float
        Bytes a bin, class, worker and iteration.
    questions : float
        Calls of a worker in an iteration with bins.
    binning : float
        Seconds of the coordinator a bin and iteration.
    """

    product: float
    speed: float
    call: float
    row_bytes: float
    sorting: float
    held: float
    counting: float
    entry: float
    questions: float
    binning: float


def fit(records: Sequence[Record], n_features: int, n_workers: int, n_chunks: int, n_bins: int, call: float) -> Fitted:
    """Return the constants for measurements of several sizes, each of which counts alike.

    Parameters
    ----------
    records : sequence of dict
        ``rows``, ``work`` (seconds of an iteration's products on the slower worker), ``overhead`` (seconds waited
        beside them), ``moved`` (bytes), ``sorting`` (other seconds of an iteration) and ``held`` (bytes); of training
        with bins ``binned_work``, ``binned_moved``, ``binned_questions`` and ``binned_own`` (other seconds).
    n_features, n_workers, n_chunks, n_bins : int
        Of the measurements.
    call : float
        Seconds of a call.
    """
    rows = np.array([record["rows"] for record in records], dtype=np.float64)
    work, overhead, moved, sorting, held = (
        np.array([record[key] for record in records], dtype=np.float64)
        for key in ("work", "overhead", "moved", "sorting", "held")
    )
    _, seconds_a_byte = _line(moved, overhead)
    fixed = 8.0 * n_features * n_workers
    product = _slope(rows * n_features / n_workers, work)
    binned = {name: np.array([record[f"binned_{name}"] for record in records]) for name in _BINNED}
    vectors = 8.0 * n_features * (n_workers + n_chunks)
    return Fitted(
        product=product,
        speed=1.0 / seconds_a_byte if seconds_a_byte > 0.0 else np.inf,
        call=call,
        row_bytes=float(np.median((moved - fixed) / rows)),
        sorting=_slope(rows * np.log2(rows), sorting),
        held=_line(rows, held)[1],
        counting=max(_line(rows / n_workers, binned["work"])[1] - product * n_features, 0.0),
        entry=float(np.median(binned["moved"] - vectors)) / (CLASSES * n_bins * n_workers),
        questions=float(np.median(binned["questions"])),
        binning=float(np.median(binned["own"])) / n_bins,
    )


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    """Return the slope of a line through the origin, by least squares of relative errors."""
    ratios = x / y
    return float(ratios.sum() / (ratios**2).sum())


def _line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return start and slope of a line, neither negative, by least squares of relative errors."""
    scale = np.where(y > 0.0, y, 1.0)
    (start, slope), _ = nnls(np.column_stack([1.0 / scale, x / scale]), y / scale)
    return float(start), float(slope)


def project(fitted: Fitted, rows: float, features: int, workers: int, bins: int | None = None) -> Record:
    """Return what an iteration takes: exact, or with so many score bins."""
    chunks = max(workers, rows * features * ITEM_BYTES / CHUNK_BYTES)
    vectors = 8.0 * features * (workers + chunks)
    if bins is None:
        numbers, per_row, questions = fitted.row_bytes * rows, fitted.product * features, 2.0
        coordinator = fitted.sorting * rows * float(np.log2(rows))
    else:
        numbers, per_row = CLASSES * fitted.entry * bins * workers, fitted.product * features + fitted.counting
        questions, coordinator = fitted.questions, fitted.binning * bins
    products = per_row * rows / workers
    transfer = (numbers + vectors) / min(fitted.speed, NETWORK)
    calls = fitted.call * questions * workers
    return {
        "rows": rows,
        "workers": workers,
        "mode": "exact" if bins is None else f"{bins:,} bins",
        "gigabytes": (numbers + vectors) / 1e9,
        "products": products,
        "transfer": transfer,
        "calls": calls,
        "coordinator": coordinator,
        "iteration": float(products + transfer + calls + coordinator),
        "held": fitted.held * rows / 1e9 if bins is None else None,  # of bins: not measured
        "of_a_worker": rows * features * ITEM_BYTES / workers / 1e9,
    }


def most_workers(fitted: Fitted, rows: float, features: int) -> float:
    """Return the number of workers beyond which the coordinator takes longer than they do, in exact mode."""
    of_coordinator = fitted.row_bytes / min(fitted.speed, NETWORK) + fitted.sorting * np.log2(rows)
    return float(fitted.product * features / of_coordinator)


def crossing(rows: Sequence[float], ratios: Sequence[float], limit: float) -> float | None:
    """Return from how many rows on a ratio stays at a limit or below, between sizes on a line of logarithms.

    Examples
    --------
    >>> round(crossing([100, 10_000], [3.0, 1.0], 2.0))
    1000
    >>> crossing([100, 10_000], [3.0, 2.5], 2.0) is None
    True
    """
    above = [k for k, ratio in enumerate(ratios) if ratio > limit]
    if not above:
        return float(rows[0])
    k = above[-1]
    if k + 1 == len(rows):
        return None
    share = (ratios[k] - limit) / (ratios[k] - ratios[k + 1])
    return float(np.exp(np.log(rows[k]) + share * np.log(rows[k + 1] / rows[k])))
