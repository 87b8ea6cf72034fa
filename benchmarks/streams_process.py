"""One line of the benchmark of streams, in a process of its own so that its peak memory is its own.

The job comes as JSON in the only argument; the result goes to the standard output as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.growth_process import peak_memory
from benchmarks.streams_data import FRESH, direction, make_samples, write
from benchmarks.timing import make_timer
from metricwise import STAMPClassifier
from metricwise.inference import best_threshold
from metricwise.measures import FBeta

WARM_UP_SAMPLES = 2000
FRESH_SAMPLES = 400_000


def main(argument: str) -> None:
    """Train on a file and write the results."""
    job = json.loads(argument)
    path = Path(job["path"])
    _warm_up(path, job["format"])
    before = peak_memory()
    timing = make_timer(lambda: STAMPClassifier("f1", n_jobs=1).fit_stream(path))()
    peak = peak_memory()
    X, positive = make_samples(FRESH_SAMPLES, FRESH)
    measure = FBeta()
    found = {
        "seconds": timing.seconds,
        "cpu_seconds": timing.cpu_seconds,
        "n_samples": timing.value.result_.n_samples,
        "before": before,
        "peak": peak,
        "f1": measure.score(positive, (timing.value.predict(X) == timing.value.classes_[1]).astype(np.int64)),
        "best_f1": best_threshold(measure, positive, X @ direction()).value,
    }
    sys.stdout.write(json.dumps(found))


def _warm_up(path: Path, format: str) -> None:
    """Compile the kernels on a small file of the same kind."""
    small = path.with_name(f"small{path.suffix}")
    write(small, format, WARM_UP_SAMPLES)
    STAMPClassifier("f1", n_jobs=1).fit_stream(small)
    small.unlink()


if __name__ == "__main__":
    main(sys.argv[1])
