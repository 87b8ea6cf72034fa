"""One measurement with data on disk in a process of its own; writes its results as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import metricwise.io
from benchmarks.growth_process import peak_memory
from metricwise import MultivariateSVC
from metricwise.designs import make_design
from metricwise.io import DiskData
from metricwise.threads import available_threads

TOL = 1e-2


class CountedData:
    """Data on disk that count the blocks they yield."""

    def __init__(self, data: DiskData) -> None:
        self._data = data
        self.blocks_read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._data, name)

    def blocks(self, which: Iterable[int] | None = None) -> Iterator[tuple[int, Any]]:
        for first, block in self._data.blocks(which):
            self.blocks_read += 1
            yield first, block

    @property
    def passes(self) -> float:
        return self.blocks_read / (len(self._data.bounds) - 1)


def drop_from_cache(path: str) -> None:
    """Drop a file from the system's page cache, where the system can."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def time_reading(data: DiskData) -> float:
    """Return the seconds that reading all blocks takes without any computation."""
    started = time.perf_counter()
    for _ in data.blocks():
        pass
    return time.perf_counter() - started


def time_passes(data: DiskData, cold: bool) -> dict[str, float]:
    """Return the seconds of reading alone and of the two products, all from the disk or all from the page cache."""
    design = make_design(data, threads=available_threads())
    design.take(np.array([0])).combine(np.ones(1))  # compiles or loads the kernels
    design.take(np.array([0])).scores(np.ones(data.shape[1]))
    w, c = np.ones(data.shape[1]), np.ones(data.shape[0])
    found = {}
    for name, work in {
        "reading": lambda: time_reading(data),
        "scores": lambda: design.scores(w),
        "combining": lambda: design.combine(c),
    }.items():
        if cold:
            drop_from_cache(data.path)
        started = time.perf_counter()
        work()
        found[name] = time.perf_counter() - started
    return found


def train(data: DiskData, C: float) -> dict[str, Any]:
    """Train for F1, and return the seconds and the passes over the file."""
    counted = CountedData(data)
    started = time.perf_counter()
    model = MultivariateSVC("f1", C=C, tol=TOL, threshold=0.0).fit(counted)
    seconds = time.perf_counter() - started
    certificate = model.result_.certificate
    return {
        "seconds": seconds,
        "passes": counted.passes,
        "iterations": model.n_iter_,
        "gap": certificate.relative,
        "status": model.result_.status.value,
        "f1": model.score(data, np.asarray(data.y)),
    }


def main(job: dict[str, Any]) -> dict[str, Any]:
    """Run a job and return its results."""
    folder = Path(job["folder"])
    data = metricwise.io.open(folder / "X.npy", target=folder / "y.npy", memory_limit=job["memory_limit"])
    if job["what"] == "train":
        drop_from_cache(data.path)
        found = train(data, job["C"])
    else:
        found = time_passes(data, cold=job["what"] == "cold passes")
    peak = peak_memory()
    return found | {"n_samples": data.shape[0], "peak": None if peak is None else peak / 1e6}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(json.loads(sys.argv[1]))))
