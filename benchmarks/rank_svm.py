"""Time to the same objective: AUCSVC with squared losses, and LIBLINEAR's rank-SVM."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.context import Context, SkippedError
from benchmarks.data import Task, task
from benchmarks.original import named_program, write_data
from benchmarks.report import Column, Record, Section, Table
from benchmarks.timing import Timing, make_timer, take_turns
from metricwise import AUCSVC

Floats = NDArray[np.float64]

TASKS = ("a9a", "covtype_5", "mnist_8")
C_VALUES = (0.01, 1.0)
EPSILON = 1e-3  # the default of the peer: the norm of the gradient relative to that at zero
SLACK = 1e-5
REPETITIONS = 3
QUICK_SAMPLES = 3000
_SECONDS = re.compile(r"Training-time: ([0-9.eE+-]+)")

COLUMNS = (
    Column("task", "data"),
    Column("n_samples", "samples", "{:,}"),
    Column("C", "C", "{:g}"),
    Column("ours", "metricwise, s", "{:.3f}"),
    Column("peer", "rank-SVM, s", "{:.3f}"),
    Column("ratio", "ratio", "{:.1f}"),
    Column("objective", "objective, metricwise", "{:.6g}"),
    Column("peer_objective", "objective, rank-SVM", "{:.6g}"),
    Column("all", "metricwise to its default gap, s", "{:.3f}"),
    Column("gap", "that gap", "{:.1e}"),
)

TEXT = [
    "The squared hinge losses of all pairs of a positive and a negative, one thread each; matrices of mostly zeros are "
    "in compressed rows, as the peer stores all matrices. The peer is LIBLINEAR's rank-SVM (trust-region Newton with "
    "selection trees), where the environment variable RANKSVM names its ``train``; "
    f"it runs with its default accuracy, {EPSILON:g}, and reports its training time without reading the file. "
    f"metricwise is stopped as soon as its objective exceeds the peer's by at most {SLACK:g} of it; the last columns "
    f"are for training to the default gap, which is more accurate. In turns, best of {REPETITIONS}.",
]


def measure(context: Context) -> Section:
    """Measure all tasks."""
    section = Section("rank_svm", "Squared losses of pairs, compared with LIBLINEAR's rank-SVM", list(TEXT))
    try:
        program = named_program("RANKSVM", "LIBLINEAR's rank-SVM train program")
    except SkippedError as reason:
        section.skip("rank-SVM", reason)
        return section
    records: list[Record] = []
    for name in TASKS:
        try:
            chosen = _compress(task(name).some(QUICK_SAMPLES) if context.quick else task(name))
        except SkippedError as reason:
            section.skip(name, reason)
            continue
        records += [_measure_one(program, chosen, C) for C in C_VALUES]
    section.tables.append(Table("Seconds to the same objective", COLUMNS, records))
    return section


def _compress(chosen: Task) -> Task:
    """Return a task whose matrix is CSR if most entries are zero, which is how the peer stores every matrix."""
    stored = sparse.csr_matrix(chosen.X)
    return replace(chosen, X=stored) if stored.nnz < 0.5 * np.prod(chosen.X.shape) else chosen


def _measure_one(program: Path, chosen: Task, C: float) -> Record:
    with tempfile.TemporaryDirectory() as name:
        data, model = Path(name) / "data", Path(name) / "model"
        write_data(chosen.X, chosen.y, data)
        _learn(program, chosen, C, data, model)
        target = objective(chosen, read_weights(model, chosen.X.shape[1]), C)
        calls = {
            "ours": make_timer(lambda: _train_to(chosen, C, target)),
            "all": make_timer(lambda: _train(chosen, C)),
            "peer": lambda: _learn(program, chosen, C, data, model),
        }
        found = take_turns(calls, REPETITIONS)
    ours, peer = found["ours"], found["peer"]
    return {
        "task": chosen.name,
        "n_samples": len(chosen.y),
        "C": C,
        "ours": ours.seconds,
        "peer": peer.seconds,
        "ratio": peer.seconds / ours.seconds,
        "objective": objective(chosen, ours.value.coef_[0], C),
        "peer_objective": target,
        "all": found["all"].seconds,
        "gap": found["all"].value.result_.certificate.relative,
    }


def _train(chosen: Task, C: float, **settings: Any) -> AUCSVC:
    return AUCSVC(C, norm=2, threshold=0.0, n_jobs=1, **settings).fit(chosen.X, chosen.y)


def _train_to(chosen: Task, C: float, target: float) -> AUCSVC:
    """Train until the objective is that of the peer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _train(chosen, C, tol=1e-12, callback=lambda entry: entry.objective <= target * (1.0 + SLACK))


def _learn(program: Path, chosen: Task, C: float, data: Path, model: Path) -> Timing:
    """Train with the peer, whose C multiplies the sum over pairs."""
    n_pos = int(np.count_nonzero(chosen.y))
    c_peer = C * len(chosen.y) / (n_pos * (len(chosen.y) - n_pos))
    command = [str(program), "-t", "1", "-c", repr(c_peer), "-e", f"{EPSILON:g}", str(data), str(model)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = _SECONDS.search(done.stdout)
    if found is None:
        raise RuntimeError("the rank-SVM program did not report its training time:\n" + done.stdout[-500:])
    return Timing(float(found.group(1)), None)


def read_weights(model: Path, n_features: int) -> Floats:
    """Return the weights of a model file; features at the end that never occur are left out there."""
    _, _, numbers = model.read_text(encoding="ascii").partition("\nw\n")
    values = np.array(numbers.split(), dtype=np.float64)[:n_features]
    return np.append(values, np.zeros(n_features - values.size))


def objective(chosen: Task, w: Any, C: float) -> float:
    """Return the objective by sums over sorted scores."""
    from metricwise.certifying.squares import squared_pairs

    positive = np.asarray(chosen.y, dtype=bool)
    loss, _ = squared_pairs(np.asarray(chosen.X @ w), positive, np.ones(len(positive)))
    return float(0.5 * w @ w + C * len(positive) * loss)
