"""Run the speed benchmarks: ``python -m benchmarks [--only NAME] [--quick] [--peer-cache FILE]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from benchmarks import overview, report
from benchmarks.context import ROOT, Context
from benchmarks.environment import describe
from metricwise.threads import available_threads

# Pages: title, and the modules with a measure(context) in the order in which the page shows them.
PAGES = {
    "multivariate_svm": (
        "Multivariate support vector machine",
        ("agreement", "svmperf", "tuned_threshold", "growth", "products"),
    ),
    "auc_and_kernels": ("AUC and kernels", ("rank_svm", "kernel_growth", "subspaces")),
    "average_precision": (
        "Average precision and learning to rank",
        ("rank_quality", "rank_growth", "rank_streams", "learning_to_rank"),
    ),
    "smoothed_and_selecting": ("Smoothed objectives and feature selection", ("smoothing", "selecting")),
    "multiclass": ("Measures of several classes", ("multiclass", "consistency")),
    "multilabel": ("Multilabel classification", ("f_measure",)),
    "streaming": ("Streaming and alternate maximisation", ("passes", "first_calls", "streams", "online", "amp")),
    "sparse_coding": ("Sparse coding", ("sparse_coding",)),
    "files": ("Files", ("reading",)),
    "disk": ("Larger than memory", ("disk", "beyond_memory", "selection_faults")),
    "cluster": ("On a cluster", ("cluster", "bins", "faults", "shards")),
    "model_selection": (
        "Model selection: time budgets and guarantees",
        (
            "time_budgets",
            "busy_machine",
            "large_data",
            "guarantees",
            "label_guarantees",
            "groups",
            "parity",
            "triage",
            "watching",
            "profit",
        ),
    ),
    "prior_shift": ("Prior shift", ("prior_shift",)),
    "data_location": ("Memory, disk or cluster", ("data_location",)),
    "start_up": ("Start-up", ("cold_start",)),
}
NAMES = tuple(name for _, names in PAGES.values() for name in names)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write the report; 1 if a measured requirement fails."""
    options = _parser().parse_args(arguments)
    results = ROOT / "benchmarks" / "results"
    output = options.output or ROOT / "docs" / "benchmarks"
    if options.quick:
        results = results / "raw" / "quick"
        output = options.output or results
    context = Context(options.quick, output, available_threads(), options.peer_cache)
    failed = False
    for name in options.only or NAMES:
        section = _measure(name, context)
        report.save(section, results)
        write_pages(results, output)
        if not options.quick:
            _fill_guide(results, ROOT / "docs" / "guide")
            overview.update()
        sys.stdout.write(report.plain(section) + "\n")
        sys.stdout.flush()
        failed = failed or bool(section.failures)
    sys.stdout.write(f"report: {output}\n")
    return int(failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=NAMES, metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument(
        "--quick", action="store_true", help="few small problems; the report goes beside the raw results"
    )
    parser.add_argument("--peer-cache", type=Path, metavar="FILE", help="file that caches the results of slow peers")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="folder of the report (docs/benchmarks)")
    return parser


def _measure(name: str, context: Context) -> report.Section:
    environment = describe(context.threads)
    measure: Callable[[Context], report.Section] = import_module(f"benchmarks.{name}").measure
    section = measure(context)
    section.environment = environment
    return section


def write_pages(results: Path, output: Path) -> None:
    """Write the pages from all stored sections, of this run or an earlier one."""
    output.mkdir(parents=True, exist_ok=True)
    for page, (title, names) in PAGES.items():
        sections = [report.load(results / f"{name}.json") for name in names if (results / f"{name}.json").is_file()]
        if sections:
            (output / f"{page}.rst").write_text(report.page(title, sections), encoding="utf-8")


def _fill_guide(results: Path, guide: Path) -> None:
    """Write the measured tables into the pages of the guide that show them."""
    for page in sorted(guide.glob("*.rst")):
        text = page.read_text(encoding="utf-8")
        filled = report.fill(text, results)
        if filled != text:
            page.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
