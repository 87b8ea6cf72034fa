"""What `metricwise warm-up` compiles is not compiled again by a later process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# Every kind of matrix that training accepts, and predictions for columns that are contiguous.
FIT = """
import json, warnings
import numpy as np
from numba.core import event
from scipy import sparse
import metricwise

warnings.simplefilter("ignore")
X = np.random.default_rng(1).standard_normal((120, 3))
y = X[:, 0] > 0.5
large = sparse.csr_matrix(X)
large.indices, large.indptr = large.indices.astype(np.int64), large.indptr.astype(np.int64)
with event.install_recorder("numba:compile") as recorder:
    for samples in (X, X.astype(np.float32), sparse.csr_matrix(X), sparse.csr_matrix(X.astype(np.float32)), large):
        model = metricwise.STAMPClassifier().fit(samples, y)
        model.partial_fit(samples, y).predict(samples)
    model.fit(X, y).predict(np.asfortranarray(X))
print(json.dumps([entry.data["dispatcher"].py_func.__qualname__ for _, entry in recorder.buffer if entry.is_start]))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    # Little optimisation, as only what is compiled counts here. Without any, numba does not store functions that call
    # others that are not stored.
    return os.environ | {"NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("compiled")), "NUMBA_OPT": "1"}


def run(environment, *arguments):
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=True)


@pytest.mark.slow
def test_fits_after_warm_up_compile_nothing(environment):
    outcome = json.loads(run(environment, "-m", "metricwise", "warm-up", "--json", "stamp").stdout)
    assert outcome["functions"] > 5
    assert outcome["folder"].startswith(environment["NUMBA_CACHE_DIR"])
    assert json.loads(run(environment, "-c", FIT).stdout) == []


def test_nothing_is_trained_without_a_compiler(environment):
    command = [sys.executable, "-m", "metricwise", "warm-up", "spade"]
    variables = environment | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert (
        done.stderr.strip() == "Error: compiled functions are not stored, as numba is disabled: unset NUMBA_DISABLE_JIT"
    )
