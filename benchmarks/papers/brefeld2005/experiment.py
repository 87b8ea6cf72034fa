"""All methods on all problems, with the results as plain data."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.context import SkippedError
from benchmarks.papers.brefeld2005 import costs
from benchmarks.papers.brefeld2005.methods import KERNEL, LINEAR
from benchmarks.papers.brefeld2005.problems import DIGITS, SEED, Digits, Text
from benchmarks.papers.brefeld2005.protocol import EXPONENTS, compare

Record = dict[str, Any]

NAME = "brefeld2005"


@dataclass(frozen=True)
class Effort:
    """The extent of the experiments.

    Parameters
    ----------
    text_sizes, digit_sizes : tuple of int
        Numbers of training samples.
    n_search, n_draws : int
        Draws on which C is chosen, and on which methods are compared.
    n_clustered : int
        Draws of the comparison that include the approximation by clusters.
    most_clustered : int
        Number of training samples up to which they do.
    clustered_samples : int
        Number of training samples when the number of clusters is varied.
    cluster_counts : tuple of int
        Numbers of clusters.
    time_sizes : tuple of int
        Numbers of training samples to time.
    n_timed : int
        Draws to time, and on which the number of clusters is varied.
    """

    text_sizes: tuple[int, ...] = (200, 500, 1000, 2000)
    digit_sizes: tuple[int, ...] = (100, 200, 400)
    n_search: int = 6
    n_draws: int = 30
    n_clustered: int = 8
    most_clustered: int = 500
    clustered_samples: int = 400
    cluster_counts: tuple[int, ...] = (10, 30, 100, 300)
    time_sizes: tuple[int, ...] = (100, 200, 400, 800, 1600)
    n_timed: int = 3


QUICK = Effort(
    text_sizes=(200, 500),
    digit_sizes=(100,),
    n_search=1,
    n_draws=3,
    n_clustered=2,
    most_clustered=200,
    clustered_samples=200,
    cluster_counts=(10, 100),
    time_sizes=(100, 200, 400),
    n_timed=1,
)


def run(effort: Effort) -> Record:
    """Train everything on one thread and return the results."""
    started = time.perf_counter()
    found: Record = {"name": NAME, "seed": SEED, "exponents": list(EXPONENTS), "skipped": []}
    found |= {"draws": {"search": effort.n_search, "compared": effort.n_draws}}
    found |= {"text": [], "digits": [], "clusters": [], "times": {}}
    with threadpool_limits(1):
        for part in (partial(_run_text, effort), partial(_run_digits, effort)):
            _try(part, found)
    return found | {"seconds": time.perf_counter() - started}


def _try(part: Callable[[Record], None], found: Record) -> None:
    try:
        part(found)
    except SkippedError as reason:
        found["skipped"].append(str(reason))


def _run_text(effort: Effort, found: Record) -> None:
    text = Text()
    costs.warm_up(text)
    found["clusters"] = costs.clusters(text, effort.clustered_samples, effort.cluster_counts, effort.n_timed)
    found["times"] = costs.times(text, effort.time_sizes, effort.n_timed)
    for n_samples in effort.text_sizes:
        n_clustered = effort.n_clustered if n_samples <= effort.most_clustered else 0
        records = compare(partial(text.cases, n_samples), LINEAR, effort.n_search, effort.n_draws, n_clustered)
        found["text"] += [{"n_samples": n_samples} | record for record in records]


def _run_digits(effort: Effort, found: Record) -> None:
    for pair in DIGITS:
        digits = Digits(pair)
        for n_samples in effort.digit_sizes:
            records = compare(partial(digits.cases, n_samples), KERNEL, effort.n_search, effort.n_draws, 0)
            found["digits"] += [{"pair": digits.title, "n_samples": n_samples} | record for record in records]
