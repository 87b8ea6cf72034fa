"""Table 1 and Figure 1, and other settings of what the paper leaves open, with the results as plain data."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.context import SkippedError
from benchmarks.papers.dembczynski2011 import synthetic
from benchmarks.papers.dembczynski2011.methods import (
    CHAIN,
    N_SAMPLES,
    compare,
    count_c_values,
    redraw,
    thresholds,
    train,
)
from benchmarks.papers.dembczynski2011.problems import COMPARABLE, SEED, SUBSAMPLE, Problem, problem
from benchmarks.papers.dembczynski2011.settings import SETTINGS, settings, single_c

Record = dict[str, Any]

NAME = "dembczynski2011"


@dataclass(frozen=True)
class Effort:
    """The extent of the experiments.

    Parameters
    ----------
    problems : tuple of str
        Data sets.
    n_samples : int or None
        Number of training samples of each, None for all.
    settings : tuple of str
        Other settings to try where the paper's numbers can be compared with.
    n_redraws : int
        Number of new draws from a chain.
    n_trials : int
        Trials of the synthetic models.
    sizes : tuple of int
        Numbers of samples in a trial.
    label_counts : tuple of int
        Numbers of labels to time.
    """

    problems: tuple[str, ...] = (*COMPARABLE, SUBSAMPLE)
    n_samples: int | None = None
    settings: tuple[str, ...] = SETTINGS
    n_redraws: int = 10
    n_trials: int = 50
    sizes: tuple[int, ...] = (5, *range(10, 101, 10))
    label_counts: tuple[int, ...] = (*range(10, 51, 5), 100, 200, 400)


QUICK = Effort(
    problems=("scene", "yeast_ml"),
    n_samples=400,
    settings=(single_c(1.0),),
    n_redraws=2,
    n_trials=10,
    sizes=(5, 20, 100),
    label_counts=(10, 30, 50),
)


def run(effort: Effort) -> Record:
    """Train everything on one thread and return the results."""
    started = time.perf_counter()
    found: Record = {"name": NAME, "seed": SEED, "samples": N_SAMPLES, "skipped": [], "problems": [], "settings": []}
    with threadpool_limits(1):
        found["synthetic"] = [synthetic.by_samples(name, effort.sizes, effort.n_trials) for name in synthetic.MODELS]
        found["times"] = synthetic.times(effort.label_counts)
        for name in effort.problems:
            try:
                data = problem(name, effort.n_samples)
            except SkippedError as reason:
                found["skipped"].append(str(reason))
                continue
            found["problems"].append(_run_problem(data, effort))
            if name in COMPARABLE:
                found["settings"] += settings(data, effort.settings)
    return found | {"seconds": time.perf_counter() - started}


def _run_problem(data: Problem, effort: Effort) -> Record:
    models = train(data)
    chain = models[CHAIN][1]
    return {
        "name": data.name,
        "n_samples": [len(data.Y), len(data.Y_test)],
        "features": int(data.X.shape[1]),
        "labels": int(data.Y.shape[1]),
        "labels_per_sample": round(float(data.Y.sum(axis=1).mean()), 3),
        "unseen": [int((Y.sum(axis=0) == 0).sum()) for Y in (data.Y, data.Y_test)],
        "values": compare(data, models) | thresholds(data),
        "redraws": redraw(data, chain, effort.n_redraws),
        "c_values": count_c_values(models),
        "training_seconds": {name: round(seconds, 2) for name, (seconds, _) in models.items()},
    }
