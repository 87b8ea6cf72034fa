"""A model of the time of an iteration on a cluster, fitted to measurements, and its projection to larger problems.

An iteration of exact training waits for two products of the workers, for the transfer of vectors, for the calls that
carry them, and for the coordinator, which sorts all scores:

    products    = product * samples * features / workers
    transfer    = bytes / speed,  bytes = bytes_per_sample * samples + 8 * features * (workers + chunks)
    calls       = call * 2 * workers
    coordinator = sorting * samples * log2(samples)

With score bins the scores are neither sent nor sorted; workers count them in bins instead, and are called more often:

    products    = (product * features + counting) * samples / workers
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

NETWORK = 10e9 / 8  # bytes per second: an assumption, 10 Gbit/s
CHUNK_BYTES = 100e6
CLASSES = 2
ITEM_BYTES = 4  # of one feature value
_BINNED = ("work", "moved", "questions", "own")


@dataclass(frozen=True)
class Fitted:
    """Constants of the model.

    Parameters
    ----------
    product : float
        Seconds per sample and feature, of both products of an iteration on one thread.
    speed : float
        Bytes per second between coordinator and workers over TCP on loopback, serialisation included.
    call : float
        Seconds of one call of a worker.
    bytes_per_sample : float
        Bytes sent per sample and iteration.
    sorting : float
        Seconds of the coordinator per sample and binary logarithm of the number of samples.
    held : float
        Peak bytes per sample that the coordinator holds.
    counting : float
        Seconds per sample of an iteration with bins, beside the products.
    entry : float
        Bytes per bin, class, worker and iteration.
    questions : float
        Calls per worker in an iteration with bins.
    binning : float
        Seconds of the coordinator per bin and iteration.
    """

    product: float
    speed: float
    call: float
    bytes_per_sample: float
    sorting: float
    held: float
    counting: float
    entry: float
    questions: float
    binning: float


def fit(records: Sequence[Record], n_features: int, n_workers: int, n_chunks: int, n_bins: int, call: float) -> Fitted:
    """Fit the constants to measurements of several sizes, weighted equally.

    Parameters
    ----------
    records : sequence of dict
        ``n_samples``, ``work`` (seconds of an iteration's products on the slower worker), ``overhead`` (seconds waited
        beside them), ``moved`` (bytes), ``sorting`` (other seconds of an iteration) and ``held`` (bytes); of training
        with bins ``binned_work``, ``binned_moved``, ``binned_questions`` and ``binned_own`` (other seconds).
    n_features, n_workers, n_chunks, n_bins : int
        Of the measurements.
    call : float
        Seconds of a call.
    """
    n_samples = np.array([record["n_samples"] for record in records], dtype=np.float64)
    work, overhead, moved, sorting, held = (
        np.array([record[key] for record in records], dtype=np.float64)
        for key in ("work", "overhead", "moved", "sorting", "held")
    )
    _, seconds_per_byte = _line(moved, overhead)
    fixed = 8.0 * n_features * n_workers
    product = _slope(n_samples * n_features / n_workers, work)
    binned = {name: np.array([record[f"binned_{name}"] for record in records]) for name in _BINNED}
    vectors = 8.0 * n_features * (n_workers + n_chunks)
    return Fitted(
        product=product,
        speed=1.0 / seconds_per_byte if seconds_per_byte > 0.0 else np.inf,
        call=call,
        bytes_per_sample=float(np.median((moved - fixed) / n_samples)),
        sorting=_slope(n_samples * np.log2(n_samples), sorting),
        held=_line(n_samples, held)[1],
        counting=max(_line(n_samples / n_workers, binned["work"])[1] - product * n_features, 0.0),
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


def project(fitted: Fitted, n_samples: float, features: int, workers: int, bins: int | None = None) -> Record:
    """Return the projected time of an iteration: exact, or with ``bins`` score bins."""
    chunks = max(workers, n_samples * features * ITEM_BYTES / CHUNK_BYTES)
    vectors = 8.0 * features * (workers + chunks)
    if bins is None:
        numbers, per_sample, questions = fitted.bytes_per_sample * n_samples, fitted.product * features, 2.0
        coordinator = fitted.sorting * n_samples * float(np.log2(n_samples))
    else:
        numbers, per_sample = CLASSES * fitted.entry * bins * workers, fitted.product * features + fitted.counting
        questions, coordinator = fitted.questions, fitted.binning * bins
    products = per_sample * n_samples / workers
    transfer = (numbers + vectors) / min(fitted.speed, NETWORK)
    calls = fitted.call * questions * workers
    return {
        "n_samples": n_samples,
        "workers": workers,
        "mode": "exact" if bins is None else f"{bins:,} bins",
        "gigabytes": (numbers + vectors) / 1e9,
        "products": products,
        "transfer": transfer,
        "calls": calls,
        "coordinator": coordinator,
        "iteration": float(products + transfer + calls + coordinator),
        "held": fitted.held * n_samples / 1e9 if bins is None else None,  # of bins: not measured
        "worker_gigabytes": n_samples * features * ITEM_BYTES / workers / 1e9,
    }


def most_workers(fitted: Fitted, n_samples: float, features: int) -> float:
    """Return the number of workers beyond which the coordinator takes longer than they do, in exact mode."""
    per_sample = fitted.bytes_per_sample / min(fitted.speed, NETWORK) + fitted.sorting * np.log2(n_samples)
    return float(fitted.product * features / per_sample)


def crossing(n_samples: Sequence[float], ratios: Sequence[float], limit: float) -> float | None:
    """Return the number of samples from which a ratio stays at a limit or below, log-linear between sizes.

    Examples
    --------
    >>> round(crossing([100, 10_000], [3.0, 1.0], 2.0))
    1000
    >>> crossing([100, 10_000], [3.0, 2.5], 2.0) is None
    True
    """
    above = [k for k, ratio in enumerate(ratios) if ratio > limit]
    if not above:
        return float(n_samples[0])
    k = above[-1]
    if k + 1 == len(n_samples):
        return None
    share = (ratios[k] - limit) / (ratios[k] - ratios[k + 1])
    return float(np.exp(np.log(n_samples[k]) + share * np.log(n_samples[k + 1] / n_samples[k])))
