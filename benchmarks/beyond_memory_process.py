"""One classifier on many samples on disk, in a process of its own; writes its results as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score

import metricwise.io
from benchmarks.growth_process import peak_memory
from metricwise import MetricClassifier, PlugInClassifier
from metricwise.io import DiskData
from metricwise.memory import parse_bytes
from metricwise.threads import available_threads

N_FEATURES, N_NEW, PART = 20, 200_000, 1_000_000
LIBRARIES, BYTES_PER_SAMPLE = 4e8, 5 * N_FEATURES + 60  # of LightGBM on an array: values, bins and vectors
SEED_OF_TRAINING, SEED_OF_NEW = 2, 3
HELD_OUT = 0.1  # of the samples, on which peers choose their threshold


def draw(random: np.random.Generator, n_samples: int) -> tuple[Any, Any]:
    """Return samples and labels, one in eight positive; four features matter, two of them by their product."""
    X = random.standard_normal((n_samples, N_FEATURES), dtype=np.float32)
    latent = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) - 2.6 + 0.5 * random.standard_normal(n_samples)
    return X, latent > 0.0


def write(folder: Path, n_samples: int) -> None:
    """Write X.npy and y.npy in parts."""
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(n_samples, N_FEATURES))
    y, random = np.empty(n_samples, dtype=bool), np.random.default_rng(SEED_OF_TRAINING)
    for start in range(0, n_samples, PART):
        own = slice(start, min(start + PART, n_samples))
        X[own], y[own] = draw(random, own.stop - own.start)
    X.flush()
    np.save(folder / "y.npy", y)


def blocks_to_learn(data: DiskData, last: int) -> Iterator[tuple[Any, Any]]:
    """Yield the samples before the last ones with their labels."""
    for first, block in data.blocks():
        own = block[: max(0, last - first)]
        if len(own):
            yield own, data.y[first : first + len(own)]


def choose_threshold(model: Any, X: Any, y: Any) -> Any:
    """Return a trained classifier with the threshold that is best on held-out samples."""
    return PlugInClassifier(model, "f1", prefit=True, threshold="max").fit(X, y)


def stream_sgd(data: DiskData) -> Any:
    """Train SGDClassifier in one pass; its regularisation is chosen on the samples that choose the threshold."""
    last = round((1.0 - HELD_OUT) * data.shape[0])
    start = max(last, data.shape[0] - N_NEW)
    models = [SGDClassifier(loss="log_loss", alpha=alpha, random_state=0) for alpha in (1e-6, 1e-5, 1e-4)]
    for X, y in blocks_to_learn(data, last):
        for model in models:
            model.partial_fit(X, y, classes=[False, True])
    held_out = np.concatenate(
        [block[max(0, start - first) :] for first, block in data.blocks() if first + len(block) > start]
    )
    found = [choose_threshold(model, held_out, data.y[start:]) for model in models]
    return max(found, key=lambda one: one.expected_score_)


def train_lightgbm(data: DiskData, limit: int) -> tuple[Any, int]:
    """Train LightGBM with its usual settings on the first samples that fit into memory."""
    from lightgbm import LGBMClassifier

    n_samples = min(data.shape[0], int((limit - LIBRARIES) / BYTES_PER_SAMPLE))
    X, last = np.load(data.path, mmap_mode="r")[:n_samples], round((1.0 - HELD_OUT) * n_samples)
    learner = LGBMClassifier(verbosity=-1, random_state=0, n_jobs=available_threads())
    learner.fit(np.array(X[:last]), data.y[:last])
    start = max(last, n_samples - N_NEW)
    return choose_threshold(learner, np.array(X[start:]), data.y[start:n_samples]), n_samples


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Train and return time, memory, F1 and what was trained on how many samples."""
    folder, limit = Path(job["folder"]), job["memory_limit"]
    if job["what"] == "write":
        write(folder, job["n_samples"])
        return {}
    started, n_trained, expected = time.perf_counter(), job["n_samples"], None
    if job["what"] == "memory":
        model: Any = MetricClassifier("f1", time_budget=job["budget"], verbose=0)
        model.fit(np.load(folder / "X.npy"), np.load(folder / "y.npy"))
    else:
        data = metricwise.io.open(folder / "X.npy", target=folder / "y.npy", memory_limit=limit)
        if job["what"] == "disk":
            model = MetricClassifier("f1", time_budget=job["budget"], verbose=0).fit(data)
        elif job["what"] == "sgd":
            model = stream_sgd(data)
        else:
            model, n_trained = train_lightgbm(data, parse_bytes(limit))
    seconds, peak = time.perf_counter() - started, (peak_memory() or 0) / 1e6
    if isinstance(model, MetricClassifier):
        expected = list(model.expected_score_interval_)
        n_trained = None
    cpu_seconds = time.process_time()
    X, y = draw(np.random.default_rng(SEED_OF_NEW), N_NEW)
    found = {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak": peak, "n_trained": n_trained}
    found["f1"] = f1_score(y, model.predict(X))
    return found | {"low": expected and expected[0], "high": expected and expected[1]} | _describe(model)


def _describe(model: Any) -> dict[str, Any]:
    """Return the lines of the explanation on training, for the raw results."""
    if not isinstance(model, MetricClassifier):
        return {}
    return {"lines": [line for line in model.explain().splitlines() if "trained on" in line or "no time" in line]}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(json.loads(sys.argv[1]))))
