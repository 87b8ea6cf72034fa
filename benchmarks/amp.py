"""How fast the challenge levels of AMP converge, against the rates of Table 2 of Narasimhan, Kar and Jain 2015."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import plots
from benchmarks.context import Context, SkippedError
from benchmarks.data import Task, task
from benchmarks.report import Column, Figure, Record, Section, Table
from metricwise.designs import make_design
from metricwise.measures import get_measure
from metricwise.solvers import Limits, run
from metricwise.solvers.amp import AMP, table_rate
from metricwise.solvers.amp_problem import AmpProblem, make_amp_problem

TASKS = ("w8a", "covtype_5")
MEASURES = ("f1", "jaccard")
QUICK_SAMPLES = 3000
TOL = 1e-3
TIGHT = 1e-5
EXACT = AMP(share=1e-3)
FIGURE = "amp.png"

COLUMNS = (
    Column("task", "data"),
    Column("measure", "measure"),
    Column("n_samples", "samples", "{:,}"),
    Column("theta", "theta", "{:.1f}"),
    Column("seconds", "seconds", "{:.2f}"),
    Column("iterations", "challenges"),
    Column("inner", "inner steps"),
    Column("level", "level", "{:.4f}"),
    Column("exact_iterations", "exact challenges"),
    Column("first_rate", "first rate", "{:.3f}"),
    Column("worst_rate", "worst later rate", "{:.3f}"),
    Column("table_rate", "rate of Table 2", "{:.3f}"),
    Column("least_reward", "least reward", "{:.2f}"),
)

TEXT = [
    f"Seconds, challenges and steps of the inner solver until the level is certified to {TOL:g} (C = 1, threshold 0, "
    "all cores), and the convergence of the exact procedure, whose inner problems are solved to a thousandth of the "
    f"remaining gap, until {TIGHT:g}. A rate is the excess over the best level after a challenge divided by the excess "
    "before it. Table 2 bounds it from above for rewards in [0, 1]. Hinge rewards may be negative: the first "
    "challenge, at level 0, rewards true positives only, and the reward of the negatives is then the least one.",
]


def measure(context: Context) -> Section:
    """Measure all tasks with all measures."""
    section = Section("amp", "Challenge levels of AMP", list(TEXT))
    records: list[Record] = []
    curves: dict[str, dict[str, Any]] = {}
    for name in TASKS:
        try:
            chosen = task(name)
        except SkippedError as reason:
            section.skip(name, reason)
            continue
        chosen = chosen.some(QUICK_SAMPLES) if context.quick else chosen
        for one in MEASURES:
            record, curve = _converge(chosen, one, context.threads)
            records.append(record)
            curves[f"{name}, {one}"] = curve
    section.tables.append(Table("Challenges and rates", COLUMNS, records))
    if curves:
        draw(context.figures / FIGURE, curves)
        section.figures.append(
            Figure(FIGURE, "Challenge levels, and their excess with the bound of Table 2, against the challenges.")
        )
    return section


def draw(path: Path, curves: dict[str, dict[str, Any]]) -> None:
    """Draw level and excess against iteration, with the bound of Table 2."""
    plots.levels(path, curves)


def _converge(chosen: Task, name: str, threads: int) -> tuple[Record, dict[str, Any]]:
    problem = _pose(chosen, name, threads)
    run(AMP(), _pose(chosen.tiny(), name, threads), Limits(tol=TOL))  # compiles the kernels
    started = time.perf_counter()
    result, _ = run(AMP(), problem, Limits(tol=TOL))
    seconds = time.perf_counter() - started
    levels, least = _exact_levels(problem)
    excess = levels[-1] - levels[:-1]
    rates = excess[1:] / excess[:-1]
    record = {
        "task": chosen.name,
        "measure": name,
        "n_samples": len(chosen.y),
        "theta": np.count_nonzero(~chosen.y) / np.count_nonzero(chosen.y),
        "seconds": seconds,
        "iterations": result.n_iter,
        "inner": sum(result.inner_iterations),
        "level": result.levels[-1],
        "exact_iterations": levels.size - 1,
        "first_rate": float(rates[0]),
        "worst_rate": float(rates[1:].max()),
        "table_rate": table_rate(problem.ratio),
        "least_reward": least,
    }
    return record, {"levels": levels.tolist(), "rate": record["table_rate"]}


def _pose(chosen: Task, name: str, threads: int) -> AmpProblem:
    design = make_design(chosen.X, intercept=1.0, threads=threads)
    return make_amp_problem(design, chosen.y, get_measure(name), 1.0)


def _exact_levels(problem: AmpProblem) -> tuple[Any, float]:
    """Return the levels of the exact procedure and the least reward of all its steps."""
    limits, state, least = Limits(tol=TIGHT, max_iter=1), None, np.inf
    while True:
        result, state = run(EXACT, problem, limits, state)
        least = min(least, *problem.rates(state.scores))
        if result.status.reached_tolerance or state.stalled:
            return np.array(result.levels), float(least)
