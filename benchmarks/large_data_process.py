"""One line of the benchmark of many samples, in a process of its own so that its peak memory is its own.

The job comes as JSON in the only argument; the result goes to the standard output as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm

from benchmarks.growth_process import peak_memory, start_peak
from metricwise import MetricClassifier
from metricwise._typing import Floats, Indices
from metricwise.memory import release_freed_memory

_WARM_UP_SAMPLES = 25_000  # from which on all candidates are tried
_WARM_UP_PRODUCT = 4_000  # rows of a product that fills the buffers of the linear algebra of both libraries
_TEST_SAMPLES = 50_000
_POSITIVES = 0.05


def main(argument: str) -> None:
    """Measure a job and write its results."""
    job = json.loads(argument)
    n_samples, n_features = job["n_samples"], job["n_features"]
    warm_up(n_features, job["budget"])
    X, y = make_samples(n_samples, n_features, seed=2)
    before, started, cpu_started = start_peak(), time.perf_counter(), time.process_time()
    model = MetricClassifier("f1", time_budget=job["budget"]).fit(X, y)
    seconds, cpu_seconds, peak = time.perf_counter() - started, time.process_time() - cpu_started, peak_memory()
    best = model.leaderboard_.iloc[0]
    found: dict[str, Any] = {
        "megabytes": X.nbytes / 10**6,
        "memory": None if before is None or peak is None else 1.0 + (peak - before) / X.nbytes,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "trained_on": int(best["n_samples"]),
        "selected": str(best["candidate"]),
        "score": model.score(*make_samples(_TEST_SAMPLES, n_features, seed=3)),
    }
    sys.stdout.write(json.dumps(found))


def warm_up(n_features: int, budget: float | None) -> None:
    """Load all packages and let them take the buffers that they keep, whose size does not depend on that of X."""
    MetricClassifier("f1", time_budget=budget).fit(*make_samples(_WARM_UP_SAMPLES, n_features, seed=1))
    factor = np.ones((_WARM_UP_PRODUCT, 1_000))
    np.dot(factor, factor.T)
    dgemm(1.0, factor.T, factor.T, trans_a=True)
    release_freed_memory()


def make_samples(n_samples: int, n_features: int, seed: int) -> tuple[Floats, Indices]:
    """Return samples whose classes depend on products, absolute values and squares of a few features, with noise.

    Parameters
    ----------
    n_samples, n_features : int
        The shape; five features at least.
    seed : int
        Seeds the samples; the dependence is the same for all seeds.
    """
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_samples, n_features))
    linear = X[:, :5] @ np.array([0.3, -0.4, 0.2, 0.4, -0.1])
    curved = 0.8 * X[:, 0] * X[:, 1] + 0.6 * np.abs(X[:, 2]) - 0.6 * X[:, 3] ** 2 * (X[:, 4] > 0.0)
    score = linear + curved + random.logistic(scale=0.4, size=n_samples)
    return X, (score > np.quantile(score, 1.0 - _POSITIVES)).astype(np.int64)


if __name__ == "__main__":
    main(sys.argv[1])
