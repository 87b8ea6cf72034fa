"""What the first fit after installation costs: every function is compiled, nothing is cached."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from tempfile import TemporaryDirectory

from benchmarks.context import Context
from benchmarks.report import Column, Record, Section, Table

SETTINGS = {
    "MultivariateSVC": {},
    "AUCSVC": {},
    "AUCSVC, norm=2": {"norm": 2},
    "AMPClassifier": {},
    "SparseCodingClassifier": {},
    "STAMPClassifier": {},
}
QUICK = ("STAMPClassifier",)

COLUMNS = (
    Column("estimator", "estimator"),
    Column("imports", "imports, s", "{:.1f}"),
    Column("first", "first fit, s", "{:.1f}"),
    Column("second", "second fit, s", "{:.2f}"),
    Column("functions", "compiled functions", "{:d}"),
)

TEXT = [
    "A fit with default parameters on 1,000 samples of 20 features, in a new process with an empty cache of compiled "
    "functions, and the same fit again. Imports of the estimator and its functions are counted apart. Processor time, "
    "one thread. Functions are those that numba compiles, its own for arrays included.",
]

PROCESS = """
import json, sys, time
started = time.process_time()
import metricwise
from numba.core import event
from sklearn.datasets import make_classification
name, settings = json.loads(sys.argv[1])
estimator = getattr(metricwise, name)(**settings)
X, y = make_classification(1000, 20, random_state=0)
imports = time.process_time() - started
with event.install_recorder("numba:compile") as recorder:
    started = time.process_time()
    estimator.fit(X, y)
    first = time.process_time() - started
started = time.process_time()
estimator.fit(X, y)
second = time.process_time() - started
found = {"imports": imports, "first": first, "second": second, "functions": len(recorder.buffer) // 2}
print(json.dumps(found))
"""


def measure(context: Context) -> Section:
    """Measure the first fit of every estimator in a process of its own."""
    section = Section("cold_start", "First fit after installation", list(TEXT))
    names = QUICK if context.quick else SETTINGS
    section.tables.append(Table("Processor seconds", COLUMNS, [_measure_first_fit(name) for name in names]))
    return section


def _measure_first_fit(name: str) -> Record:
    with TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        request = json.dumps([name.split(",")[0], SETTINGS[name]])
        command = [sys.executable, "-W", "ignore", "-c", PROCESS, request]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: Record = json.loads(done.stdout)
    return {"estimator": name} | found
