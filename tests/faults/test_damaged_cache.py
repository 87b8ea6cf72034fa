"""Compiled functions whose files are damaged, as by a full disk or a machine that stopped, are compiled again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CALL = """
import numpy as np
from metricwise.kernels.coding import code_values

codes = np.zeros(2, np.int64)
assert code_values(np.array([1.0, 2.0]), np.array([2.0]), -1, codes) == 1 and codes.tolist() == [-1, 0]
print(sum(code_values.stats.cache_hits.values()), sum(code_values.stats.cache_misses.values()))
"""


def _call(folder: Path, before: str = "") -> tuple[str, str]:
    """Return how often a process found the function compiled and how often not, and its warnings."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder), "NUMBA_OPT": "0"}
    done = subprocess.run(
        [sys.executable, "-c", before + CALL], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compiled")
    assert _call(folder) == ("0 1", "")
    assert _call(folder) == ("1 0", "")
    return folder


@pytest.mark.parametrize(("suffix", "size"), [("nbi", 0), ("nbi", 20), ("nbc", 0), ("nbc", 50)])
def test_a_damaged_function_is_compiled_and_stored_again(compiled: Path, suffix: str, size: int) -> None:
    (file,) = compiled.rglob(f"coding.code_values*.{suffix}")
    os.truncate(file, size)
    counts, warning = _call(compiled)
    assert counts == "0 1" and "the compiled code_values in" in warning and "is compiled again" in warning
    assert _call(compiled) == ("1 0", "")


WITHOUT_ROOM = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of files")
def test_a_function_that_cannot_be_stored_is_used_all_the_same(tmp_path: Path) -> None:
    counts, warning = _call(tmp_path, before=WITHOUT_ROOM)
    assert counts == "0 1" and "the compiled code_values cannot be stored in" in warning
    assert _call(tmp_path) == ("0 1", "")
