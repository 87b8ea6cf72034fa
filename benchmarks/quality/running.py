"""Run the trials that are missing. Each is stored when it is done, and a stored trial is not repeated."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.context import ROOT, SkippedError
from benchmarks.quality import comparing
from benchmarks.quality.suites import SUITES
from benchmarks.quality.trials import Record

RESULTS = ROOT / "benchmarks" / "quality" / "results"
# Peers do not depend on metricwise: their trials are stored apart, and stay when those of metricwise are repeated.
SIDES = ("peers", "ours")


def comparison_parts() -> list[str]:
    """Return the parts that compare methods, such as "tables/f1/peers", F1 first."""
    first = [f"{suite}/{comparing.measures_of(suite)[0]}" for suite in SUITES]
    others = [f"{suite}/{measure}" for suite in SUITES for measure in comparing.measures_of(suite)[1:]]
    return [f"{part}/{side}" for part in [*first, *others] for side in SIDES]


def read(path: Path) -> list[Record]:
    """Return the trials of a file, an empty list if it does not exist."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def append(path: Path, records: Sequence[Record]) -> None:
    """Add trials to a file, which is made if it does not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for one in records:
            file.write(json.dumps(one) + "\n")


def drop(path: Path, method: str) -> int:
    """Remove the trials of a method from a file and return their number."""
    trials = read(path)
    kept = [one for one in trials if one["method"] != method]
    if len(kept) < len(trials):
        path.write_text("".join(json.dumps(one) + "\n" for one in kept), encoding="utf-8")
    return len(trials) - len(kept)


def report(text: str) -> None:
    """Write a line that is seen at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def run_comparison(
    part: str, results: Path, repetitions: int | None, wanted: Sequence[str] | None, methods: Sequence[str] | None
) -> None:
    """Run the missing trials of one side of a suite and measure.

    Parameters
    ----------
    part : str
        Suite, measure and side, such as "tables/f1/peers".
    results : Path
        Folder of the trials.
    repetitions : int or None
        Splits per problem; None for those of the suite.
    wanted : sequence of str or None
        Names of problems; None for all.
    methods : sequence of str or None
        Names of methods; None for all.
    """
    suite_name, measure, side = part.split("/")
    suite, path = SUITES[suite_name], results / f"{part}.jsonl"
    chosen = {
        name: method
        for name, method in comparing.methods(suite_name, side).items()
        if methods is None or name in methods
    }
    done = {(one["method"], one["problem"], one["repetition"]) for one in read(path)}
    is_compiled = side == "peers"
    most = max(suite.count_splits(problem) for problem in suite.problems())
    for repetition in range(most if repetitions is None else min(repetitions, most)):
        for problem in suite.problems():
            if repetition >= suite.count_splits(problem):
                continue
            missing = [name for name in chosen if (name, problem, repetition) not in done]
            if not missing or (wanted is not None and problem not in wanted):
                continue
            try:
                split = suite.split(problem, repetition)
            except SkippedError as reason:
                report(f"{part} {problem}: skipped, {reason}")
                continue
            if not is_compiled:
                comparing.compile_functions(split, measure)
                is_compiled = True
            about: dict[str, Any] = {"repetition": repetition}
            if suite_name in comparing.BINARY_SUITES:
                about["positives"] = int(np.sum(split.y_test))
            for name in missing:
                found = comparing.evaluate(chosen[name], name, split, measure, repetition)
                append(path, [found | about])
                report(f"{part} {problem} {repetition}: {name} {found['value']:.4f}, {found['cpu_seconds']:.1f} s")
