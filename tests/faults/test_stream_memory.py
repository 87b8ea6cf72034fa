"""Training on a long file takes no more memory than training on a short one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

# The process reports its peak so far after each training: in kilobytes on Linux, in bytes on macOS.
SCRIPT = """
import resource, sys
from metricwise import STAMPClassifier
for path in sys.argv[2:]:
    model = STAMPClassifier("f1").fit_stream(path, chunk_rows=2000, n_passes=int(sys.argv[1]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(model.result_.n_samples, peak * (1 if sys.platform == "darwin" else 1024))
"""


def write_samples(path, n_samples):
    rng = np.random.default_rng(0)
    block = []
    for _ in range(2000):
        x = np.round(rng.normal(size=20), 3)
        label = int(x[0] > 0.8)
        text = (
            map(str, [*x, label]) if path.suffix == ".csv" else [f"{label}", *(f"{j + 1}:{v}" for j, v in enumerate(x))]
        )
        block.append(("," if path.suffix == ".csv" else " ").join(text))
    with path.open("w") as file:
        for _ in range(n_samples // 2000):
            file.write("\n".join(block) + "\n")


def measure_peak_memory(paths, n_passes):
    """Train on one file after the other; return the numbers of samples and the peaks of the process after each."""
    # The C library raises the size from which freed blocks are returned to the system. With a fixed size, the peak
    # is what the program holds at one time.
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MALLOC_MMAP_THRESHOLD_": "131072"}
    command = [sys.executable, "-c", SCRIPT, str(n_passes), *map(str, paths)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return np.array(run.stdout.split(), dtype=int).reshape(-1, 2).T


@pytest.mark.skipif(sys.platform == "win32", reason="the resource module is part of POSIX only")
@pytest.mark.parametrize(("kind", "n_passes"), [("csv", 1), ("svm", 2)])
def test_peak_memory_does_not_grow_with_the_file(tmp_path, kind, n_passes):
    sizes = np.array([60_000, 240_000])  # each file has more than one block
    paths = [tmp_path / f"{n_samples}.{kind}" for n_samples in sizes]
    for path, n_samples in zip(paths, sizes, strict=True):
        write_samples(path, n_samples)
    n_samples, peaks = measure_peak_memory(paths, n_passes)
    np.testing.assert_array_equal(n_samples, sizes if n_passes == 1 else n_passes * (sizes - sizes // 10))
    assert paths[1].stat().st_size - paths[0].stat().st_size > 21e6
    assert peaks[1] - peaks[0] < 10e6
