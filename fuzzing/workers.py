"""Worker processes, forked from one that is warm: they run case after case, and are replaced when one dies.

A worker has limits of time and memory. What ends it, a signal or a limit, is attributed to the case that it ran.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import psutil

from fuzzing.cases import Case, Kind, make_case
from fuzzing.judging import Finding, describe

MOST_BYTES = 1 << 30  # above those of a worker before its first case
_WAITING = 3.0  # times the limit of processor time, for a case that waits without using any
_LEAST_PROGRESS = 0.02  # seconds of processor time: a case that uses less for so long waits for something
_POLL = 0.25
_SET_DEATH_SIGNAL = 1  # of Linux's prctl
_CASES_PER_WORKER = 200  # damage to memory may show in a later case: so many have to be repeated to find the one
_PROCESSES = get_context("fork")


@dataclass(frozen=True)
class Job:
    """A case to run: that of a seed, or one that was stored under a name."""

    name: str
    seed: int | None = None
    case: Case | None = None


@dataclass(frozen=True)
class Report:
    """What happened to a case: one word, or what was found."""

    job: Job
    outcome: str
    finding: str | None = None


@dataclass
class _Worker:
    process: Any
    connection: Connection
    trace: Path
    job: Job | None = None
    started: float = 0.0
    processor_time: float = 0.0
    last_progress: tuple[float, float] = (0.0, 0.0)  # when processor time had last grown, and the processor time
    n_cases: int = 0
    first: str = ""

    def start(self, job: Job) -> None:
        self.job, self.started, self.processor_time = job, time.monotonic(), self._measure()
        self.last_progress = self.started, self.processor_time
        self.n_cases += 1
        self.first = self.first or job.name
        self.connection.send(job)

    def is_over(self, most_seconds: float) -> bool:
        """Return whether a case has used more processor time than it may, or none for long: others may be busy."""
        now = time.monotonic()
        if self.job is None or now - self.started < most_seconds:
            return False
        used = self._measure()
        if used - self.last_progress[1] > _LEAST_PROGRESS:
            self.last_progress = now, used
        return used - self.processor_time > most_seconds or now - self.last_progress[0] > _WAITING * most_seconds

    def _measure(self) -> float:
        """Return the processor time of the worker and its children."""
        try:
            own = psutil.Process(self.process.pid)
            times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
        except psutil.Error:
            return 0.0
        return float(sum(one.user + one.system for one in times))

    def kill(self) -> None:
        """End the worker and all processes that it has started: they share its session."""
        with contextlib.suppress(ProcessLookupError):  # a worker that has just been forked has no session yet
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.connection.close()


def run_jobs(
    kind: Kind, name: str, jobs: Iterator[Job], until: float, n_workers: int, folder: Path
) -> Iterator[Report]:
    """Yield the reports of jobs until there are none left or, by `time.monotonic`, the time is over."""
    workers: list[_Worker] = []
    try:
        for number in range(n_workers):
            workers.append(_start_worker(kind, name, folder, number))
            _give(workers[-1], jobs, until)
        while any(worker.job is not None for worker in workers):
            ready = wait([worker.connection for worker in workers if worker.job is not None], timeout=_POLL)
            for number, worker in enumerate(workers):
                report = (
                    _receive(worker, kind) if worker.connection in ready or worker.is_over(kind.most_seconds) else None
                )
                if report is None:
                    continue
                yield report
                if worker.n_cases >= _CASES_PER_WORKER:
                    worker.kill()
                if worker.process.exitcode is not None:
                    workers[number] = worker = _start_worker(kind, name, folder, number)
                _give(worker, jobs, until)
    finally:
        for worker in workers:
            worker.kill()


def _give(worker: _Worker, jobs: Iterator[Job], until: float) -> None:
    """Start the next job, if there is one and time for it; stored cases always run."""
    worker.job = None
    job = next(jobs, None)
    if job is not None and (time.monotonic() < until or job.case is not None):
        worker.start(job)


def _receive(worker: _Worker, kind: Kind) -> Report:
    """Return the report of a worker that has answered, died or exceeded its time; the latter two are ended."""
    assert worker.job is not None
    if worker.connection.poll():
        try:
            outcome, finding = worker.connection.recv()
            return Report(worker.job, outcome, finding)
        except EOFError:
            worker.process.join()
            code = worker.process.exitcode
            cause = f"crash by {signal.Signals(-code).name}" if code < 0 else f"exit of the process with code {code}"
            worker.kill()
            since = f"after {worker.n_cases - 1} cases since {worker.first}" if worker.n_cases > 1 else "at once"
            return Report(worker.job, "crash", f"{cause} {since}: {_read_trace(worker.trace)}")
    os.kill(worker.process.pid, signal.SIGUSR1)  # writes the stack of all threads
    time.sleep(0.2)
    worker.kill()
    return Report(worker.job, "hang", f"hang over {kind.most_seconds:g} s: {_read_trace(worker.trace)}")


def _read_trace(path: Path) -> str:
    """Return the innermost line of metricwise in the stack that a dying worker has written."""
    text = path.read_text(errors="replace") if path.exists() else ""
    lines = re.findall(r'File "([^"]*)", line (\d+) in (\S+)', text)
    for package in ("/metricwise/", "/fuzzing/kinds/", ""):
        for name, line, function in lines:
            if package in name:
                return f"in {function} [{name.rpartition(package or '/')[2]}:{line}]"
    return "no stack"


# ---------------------------------------------------------------------------------------------- in the worker's process


def _start_worker(kind: Kind, name: str, folder: Path, number: int) -> _Worker:
    ours, theirs = _PROCESSES.Pipe()
    trace = folder / f"trace-{number}"
    trace.unlink(missing_ok=True)
    process = _PROCESSES.Process(target=_serve, args=(kind, name, theirs, folder, trace))
    sys.stdout.flush()
    process.start()
    theirs.close()
    return _Worker(process, ours, trace)


def _serve(kind: Kind, name: str, connection: Connection, folder: Path, trace: Path) -> None:
    """Run jobs as they come; ends with the process that gives them."""
    os.setsid()
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)  # no worker outlives a killed campaign
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with trace.open("w") as file:
        faulthandler.enable(file)
        faulthandler.register(signal.SIGUSR1, file)
        _silence()
        _limit_memory()
        while True:
            try:
                job = connection.recv()
            except EOFError:
                os._exit(0)
            connection.send(run_job(kind, name, job, folder))


def run_job(kind: Kind, name: str, job: Job, folder: Path) -> tuple[str, str | None]:
    """Return the outcome of a case, and what was found, if anything."""
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case = make_case(kind, name, job.seed) if job.case is None and job.seed is not None else job.case
            assert case is not None
            return kind.check(case, place), None
    except Finding as finding:
        return "finding", " ".join(str(finding).split())
    except BaseException as error:
        return "finding", f"unexpected exception in the check: {describe(error)}"
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _silence() -> None:
    """Send what cases print, from Python or compiled code, to nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)


def _limit_memory() -> None:
    """Limit the address space to what the process has now and `MOST_BYTES` more."""
    now = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (now + MOST_BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
