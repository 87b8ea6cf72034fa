"""Repeat the experiments of the papers: ``python -m benchmarks.papers [--only NAME] [--topics N] [--quick]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.context import ROOT, SkippedError
from benchmarks.environment import describe
from benchmarks.papers import page, running
from benchmarks.papers.brefeld2005 import experiment as auc_svm
from benchmarks.papers.brefeld2005 import page as auc_svm_page
from benchmarks.papers.datasets import COLLECTIONS
from benchmarks.papers.dembczynski2011 import experiment as exact_f
from benchmarks.papers.dembczynski2011 import page as exact_f_page
from benchmarks.papers.narasimhan2015 import experiment as two_classes
from benchmarks.papers.narasimhan2015 import page as two_classes_page
from benchmarks.papers.protocol import Plan

# What --only may name: experiments of Joachims (2005) with the collections that stand for them, and other papers.
EXPERIMENTS = {
    "reuters": ("reuters",),
    "optdigits": ("optdigits",),
    "covertype": ("covertype", "covertype_balanced"),
}
NAMES = (*EXPERIMENTS, two_classes.NAME, auc_svm.NAME, exact_f.NAME)
QUICK_TOPICS = 5
QUICK_PLAN = Plan(step=3, rounds=0)
RESULTS = ROOT / "benchmarks" / "papers" / "results"
PAGES = ROOT / "docs" / "papers"
TRIALS = ROOT / "benchmarks" / "results" / "raw" / "papers"


def main(arguments: list[str] | None = None) -> int:
    """Run the experiments, keep what they found, and write the pages."""
    options = _parser().parse_args(arguments)
    partial = options.quick or options.topics is not None
    results, pages = (TRIALS, TRIALS) if partial else (RESULTS, PAGES)
    if not options.page_only:
        for name in options.only or NAMES:
            if name == two_classes.NAME:
                _measure_two_classes(options, results)
            elif name == auc_svm.NAME:
                _measure_auc_svm(options, results)
            elif name == exact_f.NAME:
                _measure_exact_f(options, results)
            else:
                _measure(name, options, results)
    written = _write(results, options.output or pages)
    for path in written:
        _say(f"page: {path}")
    if not written:
        _say("nothing was measured: no page written")
    return int(not written)


def _write(results: Path, pages: Path) -> list[Path]:
    """Write the pages of all papers with results, of this run or an earlier one."""
    written = []
    records = [found for found in (running.saved(name, results) for name in COLLECTIONS) if found is not None]
    if records:
        written.append(page.write(records, pages))
    found = two_classes_page.saved(results)
    if found is not None and found["problems"]:
        written.append(two_classes_page.write(found, pages))
    found = auc_svm_page.saved(results)
    if found is not None and (found["text"] or found["digits"]):
        written.append(auc_svm_page.write(found, pages))
    found = exact_f_page.saved(results)
    if found is not None and found["problems"]:
        written.append(exact_f_page.write(found, pages))
    return written


def _measure(experiment: str, options: argparse.Namespace, results: Path) -> None:
    plan = QUICK_PLAN if options.quick else Plan()
    topics = options.topics or (QUICK_TOPICS if options.quick else None)
    for name in EXPERIMENTS[experiment]:
        environment = describe(options.processes)
        try:
            found = running.run(name, plan, topics, options.processes)
        except SkippedError as reason:
            _say(f"skipped: {reason}")
            continue
        running.save(found | {"environment": environment}, results)
        _say(page.plain(found))


def _measure_two_classes(options: argparse.Namespace, results: Path) -> None:
    environment = describe(threads=1)
    found = two_classes.run(two_classes.QUICK if options.quick else two_classes.Effort())
    two_classes_page.save(found | {"environment": environment}, results)
    _say(two_classes_page.plain(found))


def _measure_auc_svm(options: argparse.Namespace, results: Path) -> None:
    environment = describe(threads=1)
    found = auc_svm.run(auc_svm.QUICK if options.quick else auc_svm.Effort())
    auc_svm_page.save(found | {"environment": environment}, results)
    _say(auc_svm_page.plain(found))


def _measure_exact_f(options: argparse.Namespace, results: Path) -> None:
    environment = describe(threads=1)
    found = exact_f.run(exact_f.QUICK if options.quick else exact_f.Effort())
    exact_f_page.save(found | {"environment": environment}, results)
    _say(exact_f_page.plain(found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("--only", action="append", choices=NAMES, help="this experiment; may be repeated")
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
