"""Figure 1: inference from samples of known distributions, of independent and of dependent labels.

In all of them, the probability of a label depends on its position and on how many labels before it are on, so that
expectations are sums over the numbers of labels that are on, in all and among those predicted: exact, and fast.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.papers.dembczynski2011.methods import N_SAMPLES
from benchmarks.papers.dembczynski2011.problems import SEED
from benchmarks.timing import clock
from metricwise.inference import gfm, gfm_from_samples, meuf, meuf_approx

Floats = NDArray[np.float64]
Labels = NDArray[np.int8]
Record = dict[str, Any]
Step = Callable[[int, Any], Any]  # of the position of a label (from 0) and of how many before it are on

INDEPENDENT, DEPENDENT, SHIFTED = "independent", "dependent", "shifted"
N_LABELS = 25
PROBABILITY = 0.12
SHIFT = 1.0  # of the log-odds of a model that is not in the paper
TIMED_INSTANCES = 100
TIMED_REPEATS = 5


def _independent(position: int, before: Any) -> Any:
    return np.full(np.shape(before), PROBABILITY)


def _dependent(position: int, before: Any) -> Any:
    return expit(before - 0.5 * position)


def _shifted(position: int, before: Any) -> Any:
    return expit(before - 0.5 * position - SHIFT)


MODELS: dict[str, Step] = {INDEPENDENT: _independent, DEPENDENT: _dependent, SHIFTED: _shifted}
RULES: dict[str, Callable[[Labels], Labels]] = {
    "gfm": gfm_from_samples,
    "gfm_t": lambda samples: gfm_from_samples(samples, ordered=True),
    "meuf": lambda samples: meuf(samples.mean(axis=1)),
    "meuf_approx": lambda samples: meuf_approx(samples.mean(axis=1)),
}


def draw(model: str, shape: tuple[int, int], n_labels: int, seed: int) -> Labels:
    """Return label vectors of a model, of shape (instances, samples, n_labels)."""
    random = np.random.default_rng(seed)
    samples = np.zeros((*shape, n_labels), dtype=np.int8)
    before = np.zeros(shape, dtype=np.int64)
    for position in range(n_labels):
        samples[:, :, position] = random.random(shape) < MODELS[model](position, before)
        before += samples[:, :, position]
    return samples


def joint_sizes(model: str, predicted: Labels) -> Floats:
    """Return p(s labels are on, t of them predicted), of shape (m + 1, m + 1), for each of ``predicted``."""
    n_vectors, m = predicted.shape
    mass = np.zeros((n_vectors, m + 1, m + 1))
    mass[:, 0, 0] = 1.0
    for position in range(m):
        on = mass * MODELS[model](position, np.arange(m + 1))[None, :, None]
        mass -= on
        mass[:, 1:, :] += np.where(predicted[:, position] == 1, 0.0, 1.0)[:, None, None] * on[:, :-1, :]
        mass[:, 1:, 1:] += np.where(predicted[:, position] == 1, 1.0, 0.0)[:, None, None] * on[:, :-1, :-1]
    return mass


def expected_f(model: str, predicted: Labels) -> Floats:
    """Return the exact expected F of label vectors; 0/0 counts 1."""
    m = predicted.shape[1]
    mass = joint_sizes(model, predicted)
    on, right = np.arange(m + 1)[:, None], np.arange(m + 1)[None, :]
    both = on + predicted.sum(axis=1)[:, None, None]
    values = np.where(both == 0, 1.0, 2.0 * right / np.maximum(both, 1))
    expected: Floats = (mass * values).sum(axis=(1, 2))
    return expected


def with_all_known(model: str, n_labels: int = N_LABELS) -> tuple[float, float]:
    """Return the largest expected F of any label vector, and that of MEUF's from the exact marginal probabilities."""
    single = joint_sizes(model, np.eye(n_labels, dtype=np.int8))
    joint, none = single[:, 1:, 1], float(single[0, 0, 0])
    of_marginals = expected_f(model, meuf(joint.sum(axis=1)[None]))
    return float(gfm(joint, none, return_expected=True).expected), float(of_marginals[0])


def by_samples(model: str, sizes: tuple[int, ...], n_trials: int) -> Record:
    """Return the mean expected F over trials, and its standard error, of every rule for every number of samples."""
    best, limit = with_all_known(model)
    found: Record = {"model": model, "best": round(best, 6), "meuf_limit": round(limit, 6)}
    found |= {"sizes": list(sizes), "trials": n_trials}
    means: dict[str, list[float]] = {rule: [] for rule in RULES}
    errors: dict[str, list[float]] = {rule: [] for rule in RULES}
    for size in sizes:
        samples = draw(model, (n_trials, size), N_LABELS, SEED + size)
        for rule, choose in RULES.items():
            values = expected_f(model, choose(samples))
            means[rule].append(round(float(values.mean()), 6))
            errors[rule].append(round(float(values.std(ddof=1) / np.sqrt(n_trials)), 6))
    return found | {"means": means, "errors": errors}


def times(label_counts: tuple[int, ...]) -> Record:
    """Return the milliseconds per instance, from its samples in memory to its labels, for numbers of labels."""
    found: dict[str, list[float]] = {rule: [] for rule in RULES}
    for count in label_counts:
        samples = draw(INDEPENDENT, (TIMED_INSTANCES, N_SAMPLES), count, SEED)
        for rule, choose in RULES.items():
            choose(samples[:2])
            seconds = [clock(partial(choose, samples))[0] for _ in range(TIMED_REPEATS)]
            found[rule].append(round(1000.0 * min(seconds) / TIMED_INSTANCES, 6))
    return {"labels": list(label_counts), "samples": N_SAMPLES, "milliseconds": found}
