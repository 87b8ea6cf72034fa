"""Measure quality: ``python -m benchmarks.quality [--only PART] [--repetitions N] [--rows N] [--problems NAME ...]``.

Every trial is kept in a file when it is done, and trials that are there already are not repeated.
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
from benchmarks.quality.problems import MADE, MOST_ROWS, Split, made, names, split
from metricwise.threads import available_threads

Record = dict[str, Any]

RESULTS = ROOT / "benchmarks" / "quality" / "results"
PAGES = ROOT / "docs" / "benchmarks"
REPETITIONS = 5
REPETITIONS_OF_PROMISES = 50
UNSEEN = 2  # the number of the split on which no rule of intervals was chosen, and on which they are proved
PARTS: dict[str, Callable[[Split, int], list[Record]]] = (
    {"thresholds": trials.thresholds, "promises": trials.promise}
    | {
        f"front_door_{measure}": lambda rows, repetition, measure=measure: trials.front_door(rows, measure, repetition)
        for measure in trials.MEASURES
    }
    | {
        f"intervals_{measure}": lambda rows, repetition, measure=measure: [trials.ours(rows, measure, repetition)]
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
    circumstances = describe(available_threads())  # before trials make the machine busy themselves
    (options.results / "environment.json").write_text(json.dumps(circumstances) + "\n")
    for part in options.only or PARTS:
        _run(part, wanted, options)


def _run(part: str, wanted: list[str], options: argparse.Namespace) -> None:
    path: Path = options.results / f"{part}.jsonl"
    done = {(one["problem"], one["repetition"]) for one in page.read(path)}
    promises = part == "promises"
    for repetition in _repetitions(part, options):
        for name in MADE if promises else wanted:
            if (name, repetition) in done:
                continue
            rows = made(name, repetition) if promises else split(name, repetition, options.rows)
            found = PARTS[part](rows, repetition)
            with path.open("a", encoding="utf-8") as file:
                about = {"repetition": repetition, "positives": int(rows.y_test.sum())}
                for record in found:
                    file.write(json.dumps(record | about) + "\n")
            sys.stdout.write(f"{part} {name} {repetition}: {_short(found)}\n")
            sys.stdout.flush()


def _repetitions(part: str, options: argparse.Namespace) -> Sequence[int]:
    if part.startswith("intervals_"):
        return (UNSEEN,)
    return range(REPETITIONS_OF_PROMISES if part == "promises" else options.repetitions)


def _short(found: list[Record]) -> str:
    return ", ".join(f"{one['method']} {one['value']:.4f}" for one in found if "value" in one)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--only", action="append", choices=tuple(PARTS), help="this part; may be repeated")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, metavar="N", help="splits of every problem")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, metavar="N", help="most rows for training")
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="these problems only")
    parser.add_argument("--page-only", action="store_true", help="write the page from what was kept")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="where trials are kept")
    parser.add_argument("--output", type=Path, default=PAGES, metavar="FOLDER", help="folder of the page")
    return parser


if __name__ == "__main__":
    sys.exit(main())
