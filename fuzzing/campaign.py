"""A campaign: the stored failures of every kind, then new cases of every kind for equal times, and a summary."""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, count, islice
from pathlib import Path

from fuzzing.cases import CORPUS, Kind, load_kind, make_case
from fuzzing.failures import add_failure, list_failures, strip_numbers
from fuzzing.state import State
from fuzzing.workers import Job, Report, run_jobs

_BETWEEN_SAVES = 5.0  # seconds


@dataclass
class Tally:
    """The cases of a kind: how many, in what time, with what outcomes, and the first case of every finding."""

    kind: str
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        return sum(self.outcomes.values())

    def add(self, report: Report) -> bool:
        """Record a case; return whether it shows something that no case before has shown."""
        self.outcomes["finding" if report.finding else report.outcome] += 1
        if report.finding is None:
            return False
        is_new = strip_numbers(report.finding) not in self.findings
        self.findings.setdefault(strip_numbers(report.finding), (report.job.name, report.finding))
        return is_new


@dataclass(frozen=True)
class Settings:
    """How a campaign runs.

    Parameters
    ----------
    seconds : float
        Time for new cases of each kind; stored failures all run, however long that takes.
    n_workers : int
        Processes that run cases at the same time.
    keeps_failures : bool
        Whether the first case of every finding is added to the corpus.
    most_cases : int, optional
        New cases of each kind, if that takes less time.
    corpus : Path
        Folder of the stored failures.
    """

    seconds: float
    n_workers: int
    keeps_failures: bool = False
    most_cases: int | None = None
    corpus: Path = CORPUS


def run_campaign(kinds: list[str], state: State, settings: Settings) -> list[Tally]:
    """Run cases of the given kinds and print findings as they come; return what happened, by kind."""
    tallies = []
    for name in kinds:
        kind = load_kind(name)
        with tempfile.TemporaryDirectory(prefix="fuzzing-", ignore_cleanup_errors=True) as folder:
            kind.prepare()
            gc.freeze()  # pages that the workers share stay shared
            tally = Tally(name)
            tallies.append(tally)
            _run_kind(kind, tally, state, settings, Path(folder))
    return tallies


def _run_kind(kind: Kind, tally: Tally, state: State, settings: Settings, folder: Path) -> None:
    first = state.first_seed(tally.kind)
    jobs: Iterator[Job] = chain(
        list_failures(tally.kind, settings.corpus),
        islice((Job(str(seed), seed) for seed in count(first)), settings.most_cases),
    )
    started = saved = time.monotonic()
    n_unsaved = 0
    for report in run_jobs(kind, tally.kind, jobs, started + settings.seconds, settings.n_workers, folder):
        n_unsaved += report.job.seed is not None
        if tally.add(report):
            _show_finding(kind, tally.kind, report, settings)
        if time.monotonic() - saved > _BETWEEN_SAVES:
            state.add(tally.kind, n_unsaved)
            saved, n_unsaved = time.monotonic(), 0
    state.add(tally.kind, n_unsaved)
    tally.seconds = time.monotonic() - started


def _show_finding(kind: Kind, name: str, report: Report, settings: Settings) -> None:
    """Print a finding, and add its case to the corpus if that is asked for."""
    write(f"FINDING {name}:{report.job.name}  {report.finding}")
    if settings.keeps_failures and report.job.seed is not None and report.finding is not None:
        stored = add_failure(name, make_case(kind, name, report.job.seed), report.finding, settings.corpus)
        write(f"  stored as {stored.name}" if stored else "  too large for the corpus: make the case smaller by hand")


def format_summary(tallies: list[Tally]) -> str:
    """Return a table of the cases by kind."""
    lines = [f"{'kind':<12} {'cases':>7} {'per minute':>11} {'findings':>9}  outcomes"]
    for tally in tallies:
        rate = 60.0 * tally.n_cases / tally.seconds if tally.seconds else 0.0
        outcomes = ", ".join(f"{number} {word}" for word, number in tally.outcomes.most_common())
        lines.append(f"{tally.kind:<12} {tally.n_cases:>7} {rate:>11.0f} {len(tally.findings):>9}  {outcomes}")
    return "\n".join(lines)


def write(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
