"""One measurement with rows on disk in a process of its own; writes what it found as JSON."""

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


class Counted:
    """Rows on disk that count the blocks they give."""

    def __init__(self, rows: DiskData) -> None:
        self._rows = rows
        self.blocks_read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)

    def blocks(self, which: Iterable[int] | None = None) -> Iterator[tuple[int, Any]]:
        for first, block in self._rows.blocks(which):
            self.blocks_read += 1
            yield first, block

    @property
    def passes(self) -> float:
        return self.blocks_read / (len(self._rows.bounds) - 1)


def forget(path: str) -> None:
    """Drop a file from the system's memory, where the system can."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read(rows: DiskData) -> float:
    """Return the seconds that reading all blocks takes, nothing else being done."""
    started = time.perf_counter()
    for _ in rows.blocks():
        pass
    return time.perf_counter() - started


def passes(rows: DiskData, cold: bool) -> dict[str, float]:
    """Return the seconds of reading alone and of the two products, each from the disk or each from memory."""
    design = make_design(rows, threads=available_threads())
    design.take(np.array([0])).combine(np.ones(1))  # compiles or loads the kernels
    design.take(np.array([0])).scores(np.ones(rows.shape[1]))
    w, c = np.ones(rows.shape[1]), np.ones(rows.shape[0])
    found = {}
    for name, work in {
        "reading": lambda: read(rows),
        "scores": lambda: design.scores(w),
        "combining": lambda: design.combine(c),
    }.items():
        if cold:
            forget(rows.path)
        started = time.perf_counter()
        work()
        found[name] = time.perf_counter() - started
    return found


def train(rows: DiskData, C: float) -> dict[str, Any]:
    """Train for F1, and tell how long it took for how many passes over the file."""
    counted = Counted(rows)
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
        "f1": model.score(rows, np.asarray(rows.y)),
    }


def main(job: dict[str, Any]) -> dict[str, Any]:
    """Do what a job says."""
    folder = Path(job["folder"])
    rows = metricwise.io.open(folder / "X.npy", target=folder / "y.npy", memory_limit=job["memory_limit"])
    if job["what"] == "train":
        forget(rows.path)
        found = train(rows, job["C"])
    else:
        found = passes(rows, cold=job["what"] == "cold passes")
    peak = peak_memory()
    return found | {"rows": rows.shape[0], "peak": None if peak is None else peak / 1e6}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(json.loads(sys.argv[1]))))
