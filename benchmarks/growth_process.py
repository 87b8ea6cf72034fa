"""One line of the growth benchmark, in a process of its own so that its peak memory is its own.

The job comes as JSON in the only argument; the result goes to the standard output as JSON.
"""

from __future__ import annotations

import ctypes
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import LONG, make_timer
from benchmarks.training import Trained, train
from metricwise.solvers import MultivariateProblem

ORACLE_CALLS = 10

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def main(argument: str) -> None:
    """Measure a job and write its results."""
    job = json.loads(argument)
    folder, n_samples, n_columns = Path(job["folder"]), job["n_samples"], job["n_columns"]
    X = np.fromfile(folder / "X", count=n_samples * n_columns).reshape(n_samples, n_columns)
    y = np.fromfile(folder / "y", dtype=np.bool_, count=n_samples)
    _warm_up(n_columns, job["measure"], job["threads"])

    def run() -> Trained:
        return train(X, y, job["measure"], threads=job["threads"])

    before = start_peak()
    first = make_timer(run)()
    peak = peak_memory()
    again = 0 if first.seconds > LONG else job["repetitions"] - 1
    runs = [first, *(make_timer(run)() for _ in range(again))]
    seconds = min(one.seconds for one in runs)
    above = None if before is None or peak is None else max(peak - before, 0)
    found = _describe(first.value, seconds)
    found |= {"memory": None if above is None else above / (X.nbytes + y.nbytes)}
    found |= {"megabytes": None if above is None else above / 2**20}
    found |= {"cpu_seconds": min(one.cpu_seconds for one in runs if one.cpu_seconds is not None)}
    found |= {"oracle_cpu_seconds": _time_oracle(first.value, ORACLE_CALLS)}
    sys.stdout.write(json.dumps(found))


def _warm_up(n_columns: int, measure: str, threads: int) -> None:
    """Compile the kernels and start the threads, on noise just large enough for both."""
    random = np.random.default_rng(0)
    X = random.random((5000, n_columns))
    train(X, X[:, 0] + random.random(5000) > 1.0, measure, tol=0.1, threads=threads)


def _time_oracle(trained: Trained, repetitions: int) -> float | None:
    """Return the processor seconds of the most violated labelling at the solution, None where there is none."""
    problem = trained.problem
    if not isinstance(problem, MultivariateProblem):
        return None
    scores = problem.design.scores(trained.result.weights)
    found = (make_timer(lambda: problem.oracle.violate(scores))().cpu_seconds for _ in range(repetitions))
    return min(seconds for seconds in found if seconds is not None)


def _describe(trained: Trained, seconds: float) -> dict[str, Any]:
    result = trained.result
    return {
        "seconds": seconds,
        "iterations": result.n_iter,
        "relative_gap": result.certificate.relative,
        "status": result.status.value,
    }


def start_peak() -> int | None:
    """Reset the peak memory and return the memory in use, in bytes; None where the system cannot."""
    if not _CLEAR.exists():
        return None
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)  # give freed memory back, or the run would use it again unnoticed
    _CLEAR.write_text("5", encoding="ascii")
    return _field("VmRSS")


def peak_memory() -> int | None:
    """Return the peak resident memory since `start_peak`, in bytes."""
    return _field("VmHWM") if _STATUS.exists() else None


def _field(name: str) -> int | None:
    found = re.search(rf"^{name}:\s*(\d+) kB", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
    return None if found is None else 1024 * int(found.group(1))


if __name__ == "__main__":
    main(sys.argv[1])
