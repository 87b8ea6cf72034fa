"""Measure quality: ``python -m benchmarks.quality [--only PART] [--repetitions N] [--samples N] [--problems ...]``.

Every trial is written to a file when it is done, and trials in the file are not repeated.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.context import ROOT, SkippedError
from benchmarks.environment import describe
from benchmarks.quality import page, trials
from benchmarks.quality.class_problems import MULTICLASS, MULTILABEL, split_classes
from benchmarks.quality.problems import MOST_SAMPLES, SIMULATED, Split, names, simulate, split
from metricwise.threads import available_threads

Record = dict[str, Any]

RESULTS = ROOT / "benchmarks" / "quality" / "results"
PAGES = ROOT / "docs" / "benchmarks"
REPETITIONS = 5
REPETITIONS_OF_GUARANTEES = 50
REPETITIONS_OF_CLASSES = 18  # three of each measure
UNSEEN = 2  # the repetition that no rule of the intervals was chosen on, and that tests them
CLASS_PROBLEMS = {"intervals_multiclass": MULTICLASS, "intervals_multilabel": MULTILABEL}
PARTS: dict[str, Callable[[Split, int], list[Record]]] = (
    {"thresholds": trials.thresholds, "guarantees": trials.guarantee}
    | dict.fromkeys(CLASS_PROBLEMS, trials.class_intervals)
    | {
        f"model_selection_{measure}": lambda data, repetition, measure=measure: trials.model_selection(
            data, measure, repetition
        )
        for measure in trials.MEASURES
    }
    | {
        f"intervals_{measure}": lambda data, repetition, measure=measure: [trials.ours(data, measure, repetition)]
        for measure in trials.MEASURES
    }
)


def main(arguments: list[str] | None = None) -> int:
    """Run the trials that are missing and write the page."""
    options = _parser().parse_args(arguments)
    try:
        every = names()
    except SkippedError as reason:
        sys.stdout.write(f"skipped: {reason}\n")
        return 1
    options.results.mkdir(parents=True, exist_ok=True)
    if not options.page_only:
        _run_all(options.problems or every, options)
    sys.stdout.write(f"page: {page.write(options.results, options.output, every)}\n")
    return 0


def _run_all(wanted: list[str], options: argparse.Namespace) -> None:
    environment = describe(available_threads())  # before the trials themselves load the machine
    (options.results / "environment.json").write_text(json.dumps(environment) + "\n")
    for part in options.only or PARTS:
        _run(part, wanted, options)


def _run(part: str, wanted: list[str], options: argparse.Namespace) -> None:
    path: Path = options.results / f"{part}.jsonl"
    done = {(one["problem"], one["repetition"]) for one in page.read(path)}
    for repetition in _repetitions(part, options):
        for name in _problems_of(part, wanted):
            if (name, repetition) in done:
                continue
            data = _load(part, name, repetition, options.samples)
            found = PARTS[part](data, repetition)
            with path.open("a", encoding="utf-8") as file:
                about = {"repetition": repetition}
                if part not in CLASS_PROBLEMS:
                    about |= {"positives": int(data.y_test.sum())}
                for record in found:
                    file.write(json.dumps(record | about) + "\n")
            sys.stdout.write(f"{part} {name} {repetition}: {_short(found)}\n")
            sys.stdout.flush()


def _problems_of(part: str, wanted: list[str]) -> list[str]:
    if part in CLASS_PROBLEMS:
        return list(CLASS_PROBLEMS[part])
    return list(SIMULATED) if part == "guarantees" else wanted


def _load(part: str, name: str, repetition: int, n_samples: int) -> Split:
    if part in CLASS_PROBLEMS:
        return split_classes(name, repetition)
    return simulate(name, repetition) if part == "guarantees" else split(name, repetition, n_samples)


def _repetitions(part: str, options: argparse.Namespace) -> Sequence[int]:
    if part in CLASS_PROBLEMS:
        return range(REPETITIONS_OF_CLASSES)
    if part.startswith("intervals_"):
        return (UNSEEN,)
    return range(REPETITIONS_OF_GUARANTEES if part == "guarantees" else options.repetitions)


def _short(found: list[Record]) -> str:
    return ", ".join(f"{one['method']} {one['value']:.4f}" for one in found if "value" in one)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--only", action="append", choices=tuple(PARTS), help="this part; may be repeated")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, metavar="N", help="splits of every problem")
    parser.add_argument(
        "--samples", type=int, default=MOST_SAMPLES, metavar="N", help="maximum number of training samples"
    )
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="these problems only")
    parser.add_argument("--page-only", action="store_true", help="write the page from stored trials")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="folder of the trials")
    parser.add_argument("--output", type=Path, default=PAGES, metavar="FOLDER", help="folder of the page")
    return parser


if __name__ == "__main__":
    sys.exit(main())
