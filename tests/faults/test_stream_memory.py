"""Training on a long file takes no more memory than training on a short one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

# The process reports its peak after training: in kilobytes on Linux, in bytes on macOS.
SCRIPT = """
import resource, sys
from metricwise import STAMPClassifier
model = STAMPClassifier("f1").fit_stream(sys.argv[1], chunk_rows=2000, n_passes=int(sys.argv[2]))
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


def measure_peak_memory(path, n_passes, expected_samples):
    # The C library raises the size from which freed blocks are returned to the system. With a fixed size, the peak
    # is what the program holds at one time.
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MALLOC_MMAP_THRESHOLD_": "131072"}
    command = [sys.executable, "-c", SCRIPT, str(path), str(n_passes)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    n_samples, peak = map(int, run.stdout.split())
    assert n_samples == expected_samples
    return peak


@pytest.mark.skipif(sys.platform == "win32", reason="the resource module is part of POSIX only")
@pytest.mark.parametrize(("kind", "n_passes"), [("csv", 1), ("svm", 2)])
def test_peak_memory_does_not_grow_with_the_file(tmp_path, kind, n_passes):
    peaks, sizes = [], []
    for n_samples in (60_000, 240_000):  # each file has more than one block
        path = tmp_path / f"{n_samples}.{kind}"
        write_samples(path, n_samples)
        sizes.append(path.stat().st_size)
        expected_samples = n_samples if n_passes == 1 else n_passes * (n_samples - n_samples // 10)
        peaks.append(measure_peak_memory(path, n_passes, expected_samples))
    assert sizes[1] - sizes[0] > 21e6
    assert peaks[1] - peaks[0] < 10e6
