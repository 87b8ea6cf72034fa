"""Inference for the F-measure: speed beside straightforward NumPy and another package, and growth with the labels."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from benchmarks import plots
from benchmarks.context import ROOT, Context, SkippedError
from benchmarks.report import Column, Figure, Record, Section, Table
from benchmarks.timing import Timing, make_timer, take_turns
from metricwise.estimators.multilabel.chain import Chain
from metricwise.inference import gfm, gfm_from_samples, meuf

Floats = NDArray[np.float64]

INSTANCES, LABELS, SAMPLES = 10_000, 100, 200
LOOPED = 40  # instances that the loops are timed on: they are too slow for all
QUICK_INSTANCES = 500
GROWTH_LABELS = (10, 30, 100, 300, 1000)
QUICK_GROWTH = (10, 30, 100)
GROWTH_INSTANCES = 100
REPETITIONS = 3
WANTED_RATIO = 20
FEATURES = 20
ON = 4.0  # labels of an instance, about
CHAIN, HALF_ON = "sampling of a chain", "sampling of a chain, half of the labels on"
MOST_SECONDS = {"gfm_from_samples": 3.0, "meuf": 5.0, CHAIN: 30.0, HALF_ON: None}

COLUMNS = (
    Column("task", "task"),
    Column("size", "size"),
    Column("seconds", "metricwise, s", "{:.2f}"),
    Column("most", "wanted, s", "{:g}"),
    Column("loop", "NumPy loop, s", "{:.0f}"),
    Column("ratio", "ratio", "{:.0f}"),
    Column("vectorised", "NumPy over samples, s", "{:.0f}"),
    Column("vectorised_ratio", "ratio", "{:.0f}"),
    Column("package", "other package, s", "{:.0f}"),
    Column("package_ratio", "ratio", "{:.0f}"),
)
GROWTH = (
    Column("task", "task"),
    Column("labels", "labels", "{:,}"),
    Column("milliseconds", "ms per instance", "{:.4f}"),
)
EXPONENTS = (
    Column("task", "task"),
    Column("exponent", "exponent of time", "{:.2f}"),
    Column("derived", "derived growth"),
)

TEXT = [
    f"{INSTANCES:,} instances of {LABELS} labels, about {ON:g} of them on: labels by GFM from {SAMPLES} sampled label "
    "vectors per instance, labels by exact MEUF from probabilities, and sampling from a chain of logistic regressions; "
    f"the latter also with half of the labels on, as only labels that are on cost much. All cores, best of "
    f"{REPETITIONS}. The loops are the formulas written down in NumPy, one instance after the other: GFM as the matrix "
    "P W with a sort of every column, MEUF by the recursion of Ye et al. (2012) for every k, the chain sample after "
    "sample and label after label, with one product of weights with features and preceding labels for each. A second "
    "loop draws one label for all samples of an instance at once, by products of matrices. All loops run on the first "
    f"{LOOPED} instances, and their times are scaled up. The other package is example-wise-f1-maximizer of PyPI, in an "
    "environment of its own whose Python the environment variable F1MAXIMIZER names, timed in the same manner; it is "
    "given the probabilities that NumPy counts in the samples.",
]


def measure(context: Context) -> Section:
    """Measure speed, then growth."""
    section = Section("f_measure", "Labels for the F-measure", list(TEXT))
    n = QUICK_INSTANCES if context.quick else INSTANCES
    records = [_speed(task, n, section) for task in MOST_SECONDS]
    section.tables.append(Table("Seconds", COLUMNS, records))
    growth = _growth(QUICK_GROWTH if context.quick else GROWTH_LABELS)
    fits = [_fit(task, [one for one in growth if one["task"] == task]) for task in _GROWING]
    section.tables += [Table("Growth with the number of labels", EXPONENTS, fits), Table("All sizes", GROWTH, growth)]
    section.figures.append(_draw(growth, fits, context))
    if not context.quick:
        section.failures += [failure for record in records if record["most"] for failure in _failures(record)]
    return section


def _failures(record: Record) -> list[str]:
    failures = []
    if record["seconds"] > record["most"]:
        failures.append(f"{record['task']}: {record['seconds']:.1f} s instead of {record['most']:g}")
    ratios = {"the loop": record["ratio"], "NumPy over samples": record["vectorised_ratio"]}
    return failures + [
        f"{record['task']}: {ratio:.0f} times faster than {name} instead of {WANTED_RATIO}"
        for name, ratio in ratios.items()
        if ratio is not None and ratio < WANTED_RATIO
    ]


# -------------------------------------------------------------------------------------------------------- the problems


def probabilities(n: int, m: int, seed: int = 0) -> Floats:
    """Return probabilities of labels of which about ``ON`` are on."""
    random = np.random.default_rng(seed)
    return random.beta(0.1, 0.1 * max(m / ON - 1.0, 1.0), size=(n, m))


def _samples(n: int, m: int) -> NDArray[np.int8]:
    random = np.random.default_rng(1)
    p = probabilities(n, m)
    return (random.random((n, SAMPLES, m), dtype=np.float32) < p[:, None, :]).astype(np.int8)


def make_chain(m: int, on: float = ON) -> tuple[Chain, Floats]:
    """Return a chain with random weights, and features for which about ``on`` labels are on."""
    random = np.random.default_rng(2)
    chain = Chain(np.arange(m), [None] * m, FEATURES)
    feature_weights, label_weights = random.normal(0.0, 0.5, (m, FEATURES)), np.triu(random.normal(0.0, 0.5, (m, m)), 1)
    X = random.normal(size=(INSTANCES, FEATURES))
    # The contribution of the features and the preceding labels to a score, halfway along the chain.
    added = random.normal(0.0, 0.5 * np.sqrt(FEATURES + on / 2.0), INSTANCES)
    constant = brentq(lambda value: expit(added + value).mean() - on / m, -50.0, 50.0)
    chain._linear = feature_weights, label_weights, np.full(m, constant)
    return chain, X


# -------------------------------------------------------------------------------------------------- straightforward


def loop_gfm(samples: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return GFM's labels of one instance by the definition."""
    count, m = samples.shape
    sizes = samples.sum(axis=1)
    P = np.array([[(samples[sizes == s, i]).sum() / count for s in range(1, m + 1)] for i in range(m)])
    values = 2.0 * P @ (1.0 / (np.arange(1, m + 1)[:, None] + np.arange(1, m + 1)[None, :]))
    best, chosen = float((sizes == 0).mean()), np.zeros(m, dtype=np.int8)
    for k in range(1, m + 1):
        top = np.argsort(-values[:, k - 1])[:k]
        expected = values[top, k - 1].sum()
        if expected > best:
            best, chosen = expected, np.zeros(m, dtype=np.int8)
            chosen[top] = 1
    return chosen


def loop_meuf(p: Floats) -> NDArray[np.int8]:
    """Return MEUF's labels of one instance by the recursion of Ye et al. (2012)."""
    m = p.size
    order = np.argsort(-p)
    p = p[order]
    best, size = float(np.prod(1.0 - p)), 0
    inside = np.zeros(m + 1)
    inside[0] = 1.0
    distributions = []
    for k in range(m):
        inside[1 : k + 2] = p[k] * inside[: k + 1] + (1.0 - p[k]) * inside[1 : k + 2]
        inside[0] *= 1.0 - p[k]
        distributions.append(inside[: k + 2].copy())
    u = 1.0 / np.arange(1, 2 * m + 2)
    for k in range(m, 0, -1):
        t = np.arange(1, k + 1)
        expected = float((2.0 * t * distributions[k - 1][1:] * u[k + t - 1]).sum())
        if expected > best:
            best, size = expected, k
        u = p[k - 1] * np.append(u[1:], u[-1]) + (1.0 - p[k - 1]) * u
    chosen = np.zeros(m, dtype=np.int8)
    chosen[order[:size]] = 1
    return chosen


def loop_chain(chain: Chain, x: Floats, random: np.random.Generator) -> Floats:
    """Draw the samples of one instance, one after the other and label by label."""
    assert chain._linear is not None
    feature_weights, label_weights, constants = chain._linear
    m, weights = len(constants), np.hstack([feature_weights, label_weights.T])
    drawn = np.zeros((SAMPLES, m))
    for sample in drawn:
        seen = np.concatenate([x, sample])
        for k in range(m):
            probability = 1.0 / (1.0 + np.exp(-(weights[k] @ seen + constants[k])))
            seen[FEATURES + k] = random.random() < probability
        sample[:] = seen[FEATURES:]
    return drawn


def loop_chain_labels(chain: Chain, x: Floats, random: np.random.Generator) -> Floats:
    """Draw the samples of one instance label by label, each for all samples at once."""
    assert chain._linear is not None
    feature_weights, label_weights, constants = chain._linear
    scores = feature_weights @ x + constants
    drawn = np.zeros((SAMPLES, len(constants)))
    for k in range(len(constants)):
        logits = scores[k] + drawn[:, :k] @ label_weights[:k, k]
        drawn[:, k] = random.random(SAMPLES) < 1.0 / (1.0 + np.exp(-logits))
    return drawn


# --------------------------------------------------------------------------------------------------------- measuring


def _speed(task: str, n: int, section: Section) -> Record:
    calls = _make_calls(task, n)
    calls["seconds"]()
    times = {name: timing.seconds for name, timing in take_turns(_make_timers(calls), REPETITIONS).items()}
    package = None
    if task == "gfm_from_samples":
        try:
            package = _other_package()
        except SkippedError as reason:
            section.skip("example-wise-f1-maximizer", reason)
    record: Record = {
        "task": task,
        "size": f"{n:,} x {LABELS}" + ("" if task == "meuf" else f" x {SAMPLES}"),
        "seconds": times["seconds"],
        "most": MOST_SECONDS[task],
    }
    looped = {"loop": times["loop"], "vectorised": times.get("vectorised"), "package": package}
    ratios = {"loop": "ratio", "vectorised": "vectorised_ratio", "package": "package_ratio"}
    for name, of_some in looped.items():
        record[name] = None if of_some is None else of_some * n / LOOPED
        record[ratios[name]] = None if of_some is None else record[name] / times["seconds"]
    return record


def _make_timers(calls: dict[str, Callable[[], Any]]) -> dict[str, Callable[[], Timing]]:
    return {name: make_timer(call) for name, call in calls.items()}


def _make_calls(task: str, n: int) -> dict[str, Callable[[], Any]]:
    """Return the calls to time: ours on n instances, loops on few."""
    if task == "meuf":
        p = probabilities(n, LABELS)
        return {"seconds": lambda: meuf(p), "loop": lambda: [loop_meuf(one) for one in p[:LOOPED]]}
    if task == "gfm_from_samples":
        samples = _samples(n, LABELS)
        return {
            "seconds": lambda: gfm_from_samples(samples),
            "loop": lambda: [loop_gfm(one) for one in samples[:LOOPED]],
        }
    chain, X = make_chain(LABELS, LABELS / 2.0 if task == HALF_ON else ON)
    random = np.random.default_rng(0)
    return {
        "seconds": lambda: chain.sample(X[:n], SAMPLES, 0, 0),
        "loop": lambda: [loop_chain(chain, x, random) for x in X[:LOOPED]],
        "vectorised": lambda: [loop_chain_labels(chain, x, random) for x in X[:LOOPED]],
    }


def _other_package() -> float:
    """Return the seconds of the other package for the instances of the loops."""
    python = os.environ.get("F1MAXIMIZER", "")
    if not python:
        raise SkippedError("the environment variable F1MAXIMIZER names no Python with example-wise-f1-maximizer")
    command = [python, str(ROOT / "benchmarks" / "f_measure_package.py"), json.dumps([LOOPED, LABELS, SAMPLES])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise SkippedError(f"example-wise-f1-maximizer could not be run: {done.stderr.strip().splitlines()[-1:]}")
    return float(done.stdout)


# The derived growth of time with the number of labels m.
_GROWING = {
    "meuf": "m log m",
    "gfm_from_samples": "m",
    "gfm": "m^2, and m times the sizes that occur",
    CHAIN: "m, and m times the labels that are on",
}


def _call(task: str, m: int) -> Callable[[], Any]:
    if task == "meuf":
        p = probabilities(GROWTH_INSTANCES, m)
        return lambda: meuf(p)
    if task == "gfm":
        P, p_zero = _joint(m)
        return lambda: gfm(P, p_zero)
    if task == CHAIN:
        chain, X = make_chain(m)
        return lambda: chain.sample(X[:GROWTH_INSTANCES], SAMPLES, 0, 0)
    samples = _samples(GROWTH_INSTANCES, m)
    return lambda: gfm_from_samples(samples)


def _joint(m: int) -> tuple[Floats, Floats]:
    """Return the summary of samples of few instances: labels by sizes, and the share of empty ones."""
    samples = _samples(4, m)
    sizes = samples.sum(axis=2)
    P = np.zeros((4, m, m))
    for size in range(1, m + 1):
        P[:, :, size - 1] = np.einsum("nsm,ns->nm", samples.astype(float), sizes == size) / SAMPLES
    return P, (sizes == 0).mean(axis=1)


def _growth(labels: Sequence[int]) -> list[Record]:
    records = []
    for task in _GROWING:
        count = 4 if task == "gfm" else GROWTH_INSTANCES
        for m in labels:
            call = _call(task, m)
            call()
            seconds = take_turns({task: make_timer(call)}, REPETITIONS)[task].seconds
            records.append({"task": task, "labels": m, "milliseconds": 1e3 * seconds / count})
    return records


def _fit(task: str, records: Sequence[Record]) -> Record:
    large = [record for record in records if record["labels"] >= 30]
    times = np.log([record["milliseconds"] for record in large])
    exponent, _ = np.polyfit(np.log([record["labels"] for record in large]), times, 1)
    return {"task": task, "exponent": float(exponent), "derived": _GROWING[task]}


def _draw(records: Sequence[Record], fits: Sequence[Record], context: Context) -> Figure:
    names = {fit["task"]: f"{fit['task']}: exponent {fit['exponent']:.2f}" for fit in fits}
    curves: dict[str, tuple[list[int], list[float]]] = {}
    for record in records:
        labels, times = curves.setdefault(names[record["task"]], ([], []))
        labels.append(record["labels"])
        times.append(record["milliseconds"] / 1e3)
    plots.seconds_by_size(context.figures / "f_measure.png", curves, 1.0, "labels")
    return Figure("f_measure.png", "Seconds per instance against the number of labels; exponents from 30 labels on.")
