"""What deciding online costs beside the learner: processor time of the same batches, in turns, batch by batch."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.online_data import Stream
from benchmarks.online_methods import make_sgd
from benchmarks.report import Column, Record
from metricwise import OnlineMetricClassifier

MOST_COST = 1.5  # times the learner's own
REPETITIONS = 2
FIRST = 2000
N_LABELS = 20  # the most frequent ones: each has a learner of its own
# Samples of a batch, and how many samples are measured at most: of classes, of labels.
SIZES = {1: (300, 20), 10: (2000, 200), 100: (20_000, 2000), 1000: (50_000, 10_000)}

COLUMNS = (
    Column("task", "task"),
    Column("data", "samples"),
    Column("batch", "batch", "{:,}"),
    Column("n_samples", "samples seen", "{:,}"),
    Column("fit", "partial_fit alone, µs", "{:,.1f}"),
    Column("own", "learner, µs", "{:,.1f}"),
    Column("ours", "OnlineMetricClassifier, µs", "{:,.1f}"),
    Column("ratio", "ratio to the learner", "{:.2f}"),
    Column("fit_ratio", "ratio to partial_fit", "{:.2f}"),
    Column("first_ratio", f"ratio to the learner, first {FIRST:,} samples", "{:.2f}"),
)


@dataclass(frozen=True)
class Case:
    """Samples in their order, and the measure they are decided for."""

    task: str
    X: Any
    y: Any
    measure: str
    half_life: float | None = None


def list_cases(streams: dict[str, Stream]) -> list[Case]:
    """Return two classes, more classes and labels, dense and sparse, of those data sets that are there."""
    cases = []
    if "covtype" in streams:
        part = streams["covtype"].ordered(0)
        binary = (part.y == 1).astype(np.int64)
        cases += [Case("2 classes, F1", part.scaled, binary, "f1")]
        cases += [Case("2 classes, F1, half-life of 10,000", part.scaled, binary, "f1", 10_000.0)]
        cases += [Case("7 classes, macro F1", part.scaled, part.y, "f1_macro")]
    if "texts" in streams:
        part = streams["texts"].ordered(0)
        X, y = part.X, part.y[:, :N_LABELS]
        cases += [Case("2 classes, F1", X, np.ascontiguousarray(y[:, 0]), "f1")]
        cases += [Case(f"{y.shape[1]} labels, macro F1", X, np.ascontiguousarray(y), "f1_macro")]
    return cases


def measure_cost(case: Case, batch: int, most: int) -> Record:
    """Return microseconds per sample: of a learner that predicts and learns, and of the same one decided online.

    The fastest of some runs counts for each batch, so that a machine that is busy for a while slows no side.
    """
    times = np.array([_time_batches(case, batch, most) for _ in range(REPETITIONS)]).min(axis=0)
    fit, own, ours = times.sum(axis=0) / most * 1e6
    _, own_first, ours_first = times[: FIRST // batch].sum(axis=0)
    return {
        "task": case.task,
        "data": "dense" if isinstance(case.X, np.ndarray) else "sparse",
        "batch": batch,
        "n_samples": most,
        "fit": fit,
        "own": own,
        "ours": ours,
        "ratio": ours / own,
        "fit_ratio": ours / fit,
        "first_ratio": ours_first / own_first if most >= FIRST else None,
    }


def _time_batches(case: Case, batch: int, n_samples: int) -> list[tuple[float, float, float]]:
    """Return seconds of the learner's partial_fit, of this and predict_proba, and of `OnlineMetricClassifier`."""
    starts = np.arange(0, len(case.y) - batch + 1, batch)
    several = case.y.ndim == 2
    learners = [clone(make_sgd({})) for _ in range(case.y.shape[1] if several else 1)]
    model = OnlineMetricClassifier(
        make_sgd({}), measure=case.measure, batch_size=batch, half_life=case.half_life, pos_label=None
    )
    classes: Any = [0, 1] if several else np.unique(case.y)
    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(n_samples // batch):
            own = slice(starts[number % starts.size], starts[number % starts.size] + batch)
            X, y = case.X[own], case.y[own]
            first = {} if number else {"classes": classes}

            def learn(X: Any = X, y: Any = y, first: Any = first) -> None:
                for k, learner in enumerate(learners):
                    learner.partial_fit(X, y[:, k] if several else y, **first)

            def predict(X: Any = X, first: Any = first) -> None:
                for learner in learners if not first else ():
                    learner.predict_proba(X)

            predicting, learning = _time(predict), _time(learn)
            ours = _time(lambda X=X, y=y, first=first: model.partial_fit(X, y, **({} if several else first)))
            times.append((learning, predicting + learning, ours))
    return times


def _time(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def find_failures(records: list[Record]) -> list[str]:
    """Return the cases that cost more than is allowed."""
    return [
        f"{one['task']}, {one['data']}, batches of {one['batch']}: {one['ratio']:.2f} times the learner's own cost, "
        f"{MOST_COST} are allowed"
        for one in records
        if one["ratio"] > MOST_COST
    ]
