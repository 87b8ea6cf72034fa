"""Run the protocol on several processes, each on one thread."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.papers.datasets import Collection, collection
from benchmarks.papers.protocol import Apply, Job, Outcome, Plan, Study, Work, study

Record = dict[str, Any]

LISTS = ("classes",)  # of a record

# The collection of a worker process, loaded once when the process starts.
_collections: dict[str, Collection] = {}


def _open(name: str) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    threadpool_limits(limits=1)
    _collections[name] = collection(name)


def _perform(work: Work, name: str, job: Job) -> Outcome:
    return work(_collections[name], job)


@contextmanager
def processes(name: str, count: int) -> Iterator[Apply]:
    """Yield a function that runs the jobs of a collection on several processes, in no particular order."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context, initializer=_open, initargs=(name,)) as pool:

        def apply(work: Work, jobs: list[Job]) -> Iterable[Outcome]:
            waiting = [pool.submit(_perform, work, name, job) for job in jobs]
            return (future.result() for future in as_completed(waiting))

        yield apply


def run_serially(data: Collection) -> Apply:
    """Return a function that runs the jobs in this process."""
    return lambda work, jobs: (work(data, job) for job in jobs)


def frequent_first(data: Collection, n_topics: int | None = None) -> list[int]:
    """Return the classes by falling number of training positives, or ``n_topics`` of them spread over that order."""
    order = np.argsort(-data.labels.sum(axis=0), kind="stable")
    if n_topics is not None and n_topics < order.size:
        order = order[np.linspace(0, order.size - 1, n_topics).round().astype(int)]
    return [int(topic) for topic in order]


def run(name: str, plan: Plan, n_topics: int | None, count: int) -> Record:
    """Run the protocol on a collection and return the results as plain data."""
    data = collection(name)
    topics = frequent_first(data, n_topics)
    started = time.perf_counter()
    with processes(name, count) as apply:
        found = study(data, topics, plan, apply)
    return record(data, found, time.perf_counter() - started, count)


def record(data: Collection, found: Study, seconds: float, count: int) -> Record:
    """Return a study as plain data: the classes with their results, and the search behind them."""
    return {
        "name": data.name,
        "title": data.title,
        "n_samples": [len(data.labels), len(data.test_labels)],
        "features": int(data.X.shape[1]),
        "seconds": seconds,
        "processes": count,
        "efforts": {method: vars(effort) for method, effort in found.efforts.items()},
        "grids": _by_method({cell: {"c": grid.c, "j": grid.j} for cell, grid in found.grids.items()}),
        "frequent": _by_method(found.frequent),
        "classes": [_class_record(data, found, topic) for topic in found.topics],
    }


def _class_record(data: Collection, found: Study, topic: int) -> Record:
    return {
        "name": data.classes[topic],
        "positives": int(data.labels[:, topic].sum()),
        "test_positives": int(data.test_labels[:, topic].sum()),
        "has_holdout": bool(found.searched[topic]),
        "values": _by_method({cell: round(judged.value, 6) for cell, judged in found.tested[topic].items()}),
        "settings": _by_method(found.chosen[topic]),
    }


def _by_method(cells: dict[tuple[str, str], Any]) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for (method, column), content in cells.items():
        nested.setdefault(method, {})[column] = content
    return nested
