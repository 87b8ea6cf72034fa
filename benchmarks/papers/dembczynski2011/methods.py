"""The methods of Table 1: two models, each trained once, and the inference rules that choose labels with them."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers.dembczynski2011.judging import judge
from benchmarks.papers.dembczynski2011.problems import SEED, Problem
from benchmarks.timing import clock
from metricwise import BinaryRelevance, ProbabilisticClassifierChain
from metricwise.inference import gfm_from_samples, meuf

Record = dict[str, Any]

CHAIN, RELEVANCE = "pcc", "br"
N_SAMPLES = 200
REPEATS = 3  # of each inference; the fastest counts
WARM_UP_SAMPLES = 40


class Method(NamedTuple):
    """Which model, and which rule."""

    model: str
    rule: str


METHODS = {
    "pcc_h": Method(CHAIN, "hamming"),
    "pcc_gfm": Method(CHAIN, "gfm"),
    "pcc_gfm_t": Method(CHAIN, "gfm_threshold"),
    "pcc_meuf_approx": Method(CHAIN, "meuf_approx"),
    "pcc_meuf": Method(CHAIN, "meuf"),
    "br": Method(RELEVANCE, "hamming"),
    "br_meuf_approx": Method(RELEVANCE, "meuf_approx"),
    "br_meuf": Method(RELEVANCE, "meuf"),
}

# Beyond the paper: thresholds chosen on out-of-fold scores, one per label or one for all.
THRESHOLDS = {"br_macro_f": "macro_f", "br_micro_f": "micro_f"}


def train(data: Problem, estimator: Any = None, order: Any = "given") -> dict[str, tuple[float, Any]]:
    """Return both models with the seconds of their training."""
    chain: Any = ProbabilisticClassifierChain(estimator, order, n_samples=N_SAMPLES, n_jobs=1, random_state=SEED)
    relevance: Any = BinaryRelevance(estimator, n_jobs=1, random_state=SEED)
    return {name: clock(partial(model.fit, data.X, data.Y)) for name, model in ((CHAIN, chain), (RELEVANCE, relevance))}


def compare(data: Problem, models: dict[str, tuple[float, Any]], repeats: int = REPEATS) -> dict[str, Record]:
    """Return the measures on the test samples and the seconds of inference of every method."""
    return {
        name: _measure(data, models[method.model][1].set_params(inference=method.rule), repeats)
        for name, method in METHODS.items()
    }


def thresholds(data: Problem) -> dict[str, Record]:
    """Return the same for binary relevance with thresholds, which are part of its training."""
    _, model = clock(partial(BinaryRelevance(inference="macro_f", n_jobs=1, random_state=SEED).fit, data.X, data.Y))
    return {name: _measure(data, model.set_params(inference=rule), REPEATS) for name, rule in THRESHOLDS.items()}


def _measure(data: Problem, model: Any, repeats: int) -> Record:
    clock(partial(model.predict, data.X_test[:WARM_UP_SAMPLES]))
    runs = [clock(partial(model.predict, data.X_test)) for _ in range(repeats)]
    return judge(data.Y_test, runs[0][1]) | {"seconds": round(min(run[0] for run in runs), 5)}


def redraw(data: Problem, chain: Any, n_draws: int) -> dict[str, list[float]]:
    """Return the mean F over samples with other draws from the chain, for GFM and MEUF."""
    found: dict[str, list[float]] = {"pcc_gfm": [], "pcc_meuf": []}
    for number in range(n_draws):
        samples = chain.sample(data.X_test, random_state=SEED + 1 + number)
        found["pcc_gfm"].append(judge(data.Y_test, gfm_from_samples(samples))["f"])
        found["pcc_meuf"].append(judge(data.Y_test, meuf(np.mean(samples, axis=1)))["f"])
    return found


def count_c_values(models: dict[str, tuple[float, Any]]) -> dict[str, int]:
    """Return how many labels of binary relevance have each C, excluding labels without a model."""
    used = [float(one.C) for one in models[RELEVANCE][1].estimators_ if hasattr(one, "C")]
    return {f"{C:g}": used.count(C) for C in sorted(set(used))}
