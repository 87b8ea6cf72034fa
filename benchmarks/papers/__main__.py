"""Repeat the experiments of the papers: ``python -m benchmarks.papers [--only NAME] [--topics N] [--quick]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from benchmarks import overview
from benchmarks.context import ROOT, SkippedError
from benchmarks.environment import describe
from benchmarks.papers import page, records, running
from benchmarks.papers.brefeld2005 import experiment as auc_svm
from benchmarks.papers.brefeld2005 import page as auc_svm_page
from benchmarks.papers.datasets import COLLECTIONS
from benchmarks.papers.dembczynski2011 import experiment as exact_f
from benchmarks.papers.dembczynski2011 import page as exact_f_page
from benchmarks.papers.narasimhan2015 import experiment as streaming
from benchmarks.papers.narasimhan2015 import page as streaming_page
from benchmarks.papers.protocol import Plan
from benchmarks.papers.wang2015 import experiment as joint_coding
from benchmarks.papers.wang2015 import page as joint_coding_page

# The choices of --only: experiments of Joachims (2005) with their collections, and other papers.
EXPERIMENTS = {
    "reuters": ("reuters",),
    "optdigits": ("optdigits",),
    "covertype": ("covertype", "covertype_balanced"),
}
PAPERS: dict[str, tuple[Any, Any]] = {
    experiment.NAME: (experiment, its_page)
    for experiment, its_page in (
        (streaming, streaming_page),
        (auc_svm, auc_svm_page),
        (exact_f, exact_f_page),
        (joint_coding, joint_coding_page),
    )
}
NAMES = (*EXPERIMENTS, *PAPERS)
QUICK_TOPICS = 5
QUICK_PLAN = Plan(step=3, n_widenings=0)
RESULTS = ROOT / "benchmarks" / "papers" / "results"
PAGES = ROOT / "docs" / "papers"
RAW = ROOT / "benchmarks" / "results" / "raw" / "papers"


def main(arguments: list[str] | None = None) -> int:
    """Run the experiments, store their results, and write the pages."""
    options = _parser().parse_args(arguments)
    partial = options.quick or options.topics is not None
    results, pages = (RAW, RAW) if partial else (RESULTS, PAGES)
    if not options.page_only:
        for name in options.only or NAMES:
            if name in PAPERS:
                _measure_paper(name, options, results)
            else:
                _measure(name, options, results)
    written = _write(results, options.output or pages)
    if pages == PAGES and options.output is None:
        overview.update()
    for path in written:
        _print(f"page: {path}")
    if not written:
        _print("nothing was measured: no page written")
    return int(not written)


def _write(results: Path, pages: Path) -> list[Path]:
    """Write the pages of all papers with results, of this run or an earlier one."""
    written = []
    stored = [found for found in (records.load(name, results) for name in COLLECTIONS) if found is not None]
    if stored:
        written.append(page.write(stored, pages))
    for experiment, its_page in PAPERS.values():
        found = records.load(experiment.NAME, results)
        if found is not None and any(found[key] for key in its_page.NEEDED):
            written.append(its_page.write(found, pages))
    return written


def _measure(experiment: str, options: argparse.Namespace, results: Path) -> None:
    plan = QUICK_PLAN if options.quick else Plan()
    topics = options.topics or (QUICK_TOPICS if options.quick else None)
    for name in EXPERIMENTS[experiment]:
        environment = describe(options.processes)
        try:
            found = running.run(name, plan, topics, options.processes)
        except SkippedError as reason:
            _print(f"skipped: {reason}")
            continue
        records.save(found | {"environment": environment}, results, running.LISTS)
        _print(page.plain(found))


def _measure_paper(name: str, options: argparse.Namespace, results: Path) -> None:
    experiment, its_page = PAPERS[name]
    environment = describe(threads=1)
    found = experiment.run(experiment.QUICK if options.quick else experiment.Effort())
    records.save(found | {"environment": environment}, results, its_page.LISTS)
    _print(its_page.plain(found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("--only", action="append", choices=NAMES, help="this experiment; may be repeated")
    parser.add_argument(
        "--topics", type=int, metavar="N", help="number of classes of each collection, spread over all frequencies"
    )
    parser.add_argument("--quick", action="store_true", help=f"a coarse grid and {QUICK_TOPICS} classes, to try it out")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="number of processes (2)")
    parser.add_argument("--page-only", action="store_true", help="write the page from the results of an earlier run")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="folder of the page (docs/papers)")
    return parser


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
