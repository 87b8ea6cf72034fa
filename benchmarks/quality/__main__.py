"""Measure quality: ``python -m benchmarks.quality [--only PART] [--repetitions N] [--problems ...] [--again METHOD]``.

Every trial is written to a file when it is done, and trials in the file are not repeated.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import overview
from benchmarks.context import ROOT, SkippedError
from benchmarks.environment import describe
from benchmarks.quality import page, trials
from benchmarks.quality.class_problems import MULTICLASS, MULTILABEL, split_classes
from benchmarks.quality.problems import SIMULATED, Split, names, simulate, split
from benchmarks.quality.running import RESULTS, append, comparison_parts, drop, read, report, run_comparison
from benchmarks.quality.trials import Record

PAGES = ROOT / "docs" / "benchmarks"
REPETITIONS = 2
REPETITIONS_OF_GUARANTEES = 50
REPETITIONS_OF_CLASSES = 18  # three of each measure
UNSEEN = 2  # the repetition that no rule of the intervals was chosen on, and that tests them
CLASS_PROBLEMS = {"intervals_multiclass": MULTICLASS, "intervals_multilabel": MULTILABEL}
SINGLE_PARTS: dict[str, Callable[[Split, int], list[Record]]] = (
    {"thresholds": trials.thresholds, "guarantees": trials.guarantee}
    | dict.fromkeys(CLASS_PROBLEMS, trials.class_intervals)
    | {
        f"intervals_{measure}": lambda data, repetition, measure=measure: [trials.ours(data, measure, repetition)]
        for measure in trials.MEASURES
    }
)
PARTS = (*comparison_parts(), *SINGLE_PARTS)


def main(arguments: list[str] | None = None) -> int:
    """Run the trials that are missing, write the page, and the overview of all results."""
    options = _parser().parse_args(arguments)
    if not options.page_only:
        try:
            every = names()
        except SkippedError as reason:
            report(f"skipped: {reason}")
            return 1
        options.results.mkdir(parents=True, exist_ok=True)
        with threadpool_limits(1):  # processor seconds of threads that wait for each other mean nothing
            _run_all(every, options)
    report(f"page: {page.write(options.results, options.output)}")
    if options.output == PAGES:
        overview.update()
    return 0


def _run_all(every: list[str], options: argparse.Namespace) -> None:
    environment = describe(1)  # before the trials themselves load the machine
    (options.results / "environment.json").write_text(json.dumps(environment) + "\n")
    for part in options.only or PARTS:
        for method in options.again or ():
            drop(options.results / f"{part}.jsonl", method)
        if part in SINGLE_PARTS:
            _run(part, options.problems or every, options)
        else:
            run_comparison(part, options.results, options.repetitions, options.problems, options.methods)


def _run(part: str, wanted: list[str], options: argparse.Namespace) -> None:
    path: Path = options.results / f"{part}.jsonl"
    done = {(one["problem"], one["repetition"]) for one in read(path)}
    for repetition in _repetitions(part, options):
        for name in _problems_of(part, wanted):
            if (name, repetition) in done:
                continue
            data = _load(part, name, repetition)
            about = {"repetition": repetition}
            if part not in CLASS_PROBLEMS:
                about |= {"positives": int(data.y_test.sum())}
            found = [one | about for one in SINGLE_PARTS[part](data, repetition)]
            append(path, found)
            report(f"{part} {name} {repetition}: {_short(found)}")


def _problems_of(part: str, wanted: list[str]) -> list[str]:
    if part in CLASS_PROBLEMS:
        return list(CLASS_PROBLEMS[part])
    return list(SIMULATED) if part == "guarantees" else wanted


def _load(part: str, name: str, repetition: int) -> Split:
    if part in CLASS_PROBLEMS:
        return split_classes(name, repetition)
    return simulate(name, repetition) if part == "guarantees" else split(name, repetition)


def _repetitions(part: str, options: argparse.Namespace) -> Sequence[int]:
    if part in CLASS_PROBLEMS:
        return range(REPETITIONS_OF_CLASSES)
    if part.startswith("intervals_"):
        return (UNSEEN,)
    return range(REPETITIONS_OF_GUARANTEES if part == "guarantees" else options.repetitions or REPETITIONS)


def _short(found: list[Record]) -> str:
    return ", ".join(f"{one['method']} {one['value']:.4f}" for one in found if "value" in one)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=PARTS, metavar="PART", help=f"one of {', '.join(PARTS)}; may be repeated"
    )
    parser.add_argument("--repetitions", type=int, metavar="N", help="splits of every problem, at most")
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="these problems only")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="these methods only, of parts that compare")
    parser.add_argument("--again", action="append", metavar="METHOD", help="drop the stored trials of this method")
    parser.add_argument("--page-only", action="store_true", help="write the page from stored trials")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="folder of the trials")
    parser.add_argument("--output", type=Path, default=PAGES, metavar="FOLDER", help="folder of the page")
    return parser


if __name__ == "__main__":
    sys.exit(main())
