"""Without its compiler (``NUMBA_DISABLE_JIT=1``), as people debug, every estimator fits and predicts the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from metricwise.registry import entries
from tests.faults.pure_python import FITS


def run(**settings):
    command = [sys.executable, str(Path(__file__).with_name("pure_python.py"))]
    environment = os.environ | settings
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_estimator_is_fitted():
    assert {entry.name for entry in entries()} == FITS.keys()


def test_kernels_without_a_compiler_predict_the_same():
    assert run(NUMBA_DISABLE_JIT="1") == run(NUMBA_DISABLE_JIT="0")
