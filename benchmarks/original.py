"""Run SVM-perf, the original program, where the environment variable SVMPERF names its ``svm_perf_learn``.

Its slack is in percent and its features are unscaled, so C and the weights are converted (u as in metricwise):

    contingency tables and restricted labellings:  C_perf = C n^2 / (100 u),  w = w_perf u / n
    area under the ROC curve:                      C_perf = C n / 100,        w = w_perf
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from benchmarks.context import SkippedError

Floats = NDArray[np.float64]

LOSSES = {"f1": 1, "prbep": 3, "roc_auc": 10}
TIMEOUT = 900.0
_RUNTIME = re.compile(r"Runtime in cpu-seconds:\s*([0-9.]+)")


@dataclass(frozen=True)
class OriginalRun:
    """One run: the training time that it reports, the wall-clock time, and the objective in the scale of metricwise.

    ``cpu_seconds`` excludes reading the file. A run that timed out has no objective.
    """

    cpu_seconds: float
    wall_seconds: float
    timed_out: bool
    objective: float | None = None


def binary() -> Path:
    """Return the program.

    Raises
    ------
    SkippedError
        Where SVMPERF does not name it.
    """
    return named_program("SVMPERF", "svm_perf_learn")


def named_program(variable: str, what: str) -> Path:
    """Return the program that an environment variable names, or raise a SkippedError that names what is missing."""
    named = os.environ.get(variable, "")
    if not named:
        raise SkippedError(f"the environment variable {variable} does not name {what}")
    if not os.access(named, os.X_OK):
        raise SkippedError(f"{variable} names no program that can be run")
    return Path(named)


def our_c(measure: str, c_perf: float, n_samples: int, mistakes: float) -> float:
    """Return the C of metricwise for a C of SVM-perf."""
    if measure == "roc_auc":
        return 100.0 * c_perf / n_samples
    return 100.0 * c_perf * mistakes / n_samples**2


def write_data(X: Any, y: NDArray[np.bool_], path: Path) -> None:
    """Write a matrix in the format of SVM-light, features counted from one."""
    dump_svmlight_file(sparse.csr_matrix(X), np.where(y, 1, -1), str(path), zero_based=False)


def learn(program: Path, measure: str, c_perf: float, data: Path, model: Path) -> OriginalRun:
    """Train once with the one-slack algorithm in the dual; the caller computes the objective."""
    command = [str(program), "-w", "3", "-l", str(LOSSES[measure]), "-c", f"{c_perf:g}", str(data), str(model)]
    started = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=True, errors="replace")
    except subprocess.TimeoutExpired:
        return OriginalRun(TIMEOUT, TIMEOUT, timed_out=True)
    wall = time.perf_counter() - started
    found = _RUNTIME.search(done.stdout)
    if found is None:
        raise RuntimeError("svm_perf_learn did not report its run time:\n" + done.stdout[-500:])
    return OriginalRun(float(found.group(1)), wall, timed_out=False)


def read_weights(model: Path, n_features: int) -> tuple[Floats, float]:
    """Return the weights of a linear model and its threshold b; a sample has the score w.x - b."""
    lines = model.read_text(encoding="latin-1").splitlines()
    position = next(k for k, line in enumerate(lines) if "threshold b" in line)
    threshold = float(lines[position].split("#", 1)[0])
    weights = np.zeros(n_features)
    for line in lines[position + 1 :]:
        factor, *entries = line.split("#", 1)[0].split()
        for entry in entries:
            feature, value = entry.split(":")
            weights[int(feature) - 1] += float(factor) * float(value)
    return weights, threshold


def our_weights(model: Path, measure: str, n_features: int, n_samples: int, mistakes: float) -> Floats:
    """Return the weights of a model in the scale of metricwise, the intercept last where there is one."""
    weights, threshold = read_weights(model, n_features)
    if measure == "roc_auc":
        return weights
    return np.append(weights, -threshold) * (mistakes / n_samples)


class RunCache:
    """Cache of runs of the original program in a file, since they take most of the time of the benchmark.

    Parameters
    ----------
    path : Path, optional
        The file; None disables the cache.
    machine : str
        Part of every key: times on other machines cannot be compared.
    """

    def __init__(self, path: Path | None, machine: str) -> None:
        self._path = path
        self._machine = machine
        stored = path is not None and path.is_file()
        self._runs: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if stored and path else {}

    def get(self, key: str) -> OriginalRun | None:
        """Return a run of this machine, if there is one."""
        found = self._runs.get(f"{self._machine} / {key}")
        return None if found is None else OriginalRun(**found)

    def put(self, key: str, run: OriginalRun) -> None:
        """Store a run."""
        if self._path is None:
            return
        self._runs[f"{self._machine} / {key}"] = asdict(run)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._runs, indent=1) + "\n", encoding="utf-8")
