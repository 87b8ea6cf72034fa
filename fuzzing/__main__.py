"""Run random cases of many kinds, and report crashes, hangs, unclear errors and wrong numbers.

A finding is printed with its seed and repeated alone by ``python -m fuzzing --replay KIND:SEED``; a case of the corpus
by its name instead of the seed. The exit code is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzzing.campaign import Settings, Tally, format_summary, run_campaign, write
from fuzzing.cases import CORPUS, KINDS, load_kind
from fuzzing.failures import list_failures
from fuzzing.state import State
from fuzzing.sweep import list_sweep
from fuzzing.workers import Job, run_jobs

STATE = Path(__file__).parents[1] / ".fuzzing" / "state.json"


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign, or replay one case; return 1 if anything was found."""
    options = _parser().parse_args(arguments)
    if options.replay is not None:
        return _replay(options.replay)
    if options.sweep:
        return _sweep(options.workers)
    kinds = options.kinds or list(KINDS)
    state = State(options.state, options.seed)
    for name in kinds:
        write(f"{name}: seeds from {state.first_seed(name)}, {len(list_failures(name))} stored failures first")
    settings = Settings(60.0 * options.minutes / len(kinds), options.workers, options.keep, options.cases)
    tallies = run_campaign(kinds, state, settings)
    write(format_summary(tallies))
    return int(any(tally.findings for tally in tallies))


def _replay(which: str) -> int:
    """Run cases by their seeds, or one by its name in the corpus, in one process with the limits of a campaign."""
    name, _, key = which.partition(":")
    kind = load_kind(name)
    jobs = [job for job in list_failures(name) if job.name == key] or _list_jobs(key)
    if not jobs:
        raise SystemExit(f"{which}: give a seed, seeds as 10-20, or the name of a file in {CORPUS.name}/{name}")
    kind.prepare()
    tally = Tally(name)
    with TemporaryDirectory(prefix="fuzzing-") as folder:
        for report in run_jobs(kind, name, iter(jobs), float("inf"), 1, Path(folder)):
            tally.add(report)
            write(f"{name}:{report.job.name}  {report.finding or report.outcome}")
    return int(bool(tally.findings))


def _sweep(n_workers: int) -> int:
    """Change every field of the model files of the corpus in turn; print what happened, and every finding once."""
    kind, tally, started = load_kind("model_files"), Tally("sweep"), time.monotonic()
    kind.prepare()
    with TemporaryDirectory(prefix="fuzzing-") as folder:
        for report in run_jobs(kind, "model_files", list_sweep(), float("inf"), n_workers, Path(folder)):
            if tally.add(report):
                write(f"FINDING {report.job.name}  {report.finding}")
    tally.seconds = time.monotonic() - started
    write(format_summary([tally]))
    return int(bool(tally.findings))


def _list_jobs(key: str) -> list[Job]:
    """Return the jobs of a seed, or of a range of seeds."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", key)
    return [Job(str(seed), seed) for seed in range(int(found[1]), int(found[2] or found[1]) + 1)] if found else []


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m fuzzing", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="time for new cases, shared by the kinds (10)")
    parser.add_argument("--cases", type=int, help="most new cases of each kind, if that takes less time")
    parser.add_argument("--seed", type=int, default=0, help="seed of the campaign (0)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, metavar="KIND", help=f"among {', '.join(KINDS)} (all)")
    parser.add_argument("--replay", metavar="KIND:SEED", help="run one case alone")
    parser.add_argument("--sweep", action="store_true", help="change every field of the model files, each in turn")
    parser.add_argument("--keep", action="store_true", help="add the first case of every finding to the corpus")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (all cores)")
    parser.add_argument("--state", type=Path, default=STATE, help="file with the seeds that are done")
    return parser


if __name__ == "__main__":
    sys.exit(main())
