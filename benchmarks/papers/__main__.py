"""Repeat the experiments of the papers: ``python -m benchmarks.papers [--only NAME] [--topics N] [--quick]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.context import ROOT, SkippedError
from benchmarks.environment import describe
from benchmarks.papers import page, running
from benchmarks.papers.datasets import COLLECTIONS
from benchmarks.papers.protocol import Plan

# What --only may name, and the collections that stand for it.
EXPERIMENTS = {
    "reuters": ("reuters",),
    "optdigits": ("optdigits",),
    "covertype": ("covertype", "covertype_balanced"),
}
QUICK_TOPICS = 5
QUICK_PLAN = Plan(step=3, rounds=0)
RESULTS = ROOT / "benchmarks" / "papers" / "results"
PAGES = ROOT / "docs" / "papers"
TRIALS = ROOT / "benchmarks" / "results" / "raw" / "papers"


def main(arguments: list[str] | None = None) -> int:
    """Run the experiments, keep what they found, and write the page."""
    options = _parser().parse_args(arguments)
    partial = options.quick or options.topics is not None
    results, pages = (TRIALS, TRIALS) if partial else (RESULTS, PAGES)
    if not options.page_only:
        _measure(options, results)
    records = [found for found in (running.saved(name, results) for name in COLLECTIONS) if found is not None]
    if not records:
        _say("nothing was measured: no page written")
        return 1
    _say(f"page: {page.write(records, options.output or pages)}")
    return 0


def _measure(options: argparse.Namespace, results: Path) -> None:
    plan = QUICK_PLAN if options.quick else Plan()
    topics = options.topics or (QUICK_TOPICS if options.quick else None)
    for experiment in options.only or EXPERIMENTS:
        for name in EXPERIMENTS[experiment]:
            environment = describe(options.processes)
            try:
                found = running.run(name, plan, topics, options.processes)
            except SkippedError as reason:
                _say(f"skipped: {reason}")
                continue
            running.save(found | {"environment": environment}, results)
            _say(page.plain(found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("--only", action="append", choices=tuple(EXPERIMENTS), help="this experiment; may be repeated")
    parser.add_argument(
        "--topics", type=int, metavar="N", help="so many classes of each collection, from all frequencies"
    )
    parser.add_argument("--quick", action="store_true", help=f"a coarse grid and {QUICK_TOPICS} classes, to try it out")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="how many processes to use (2)")
    parser.add_argument("--page-only", action="store_true", help="write the page from the results of an earlier run")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="folder of the page (docs/papers)")
    return parser


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
