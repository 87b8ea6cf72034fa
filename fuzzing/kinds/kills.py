"""Processes killed at random moments while they write: targets are complete, and the work can be done again."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from fuzzing import file_work
from fuzzing.cases import Case, Kind
from fuzzing.file_work import WORK
from fuzzing.judging import Finding, describe

_EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.scandir", "os.listdir", "os.truncate"}
_MOST_EVENTS = 60


def _make_case(random: Random) -> Case:
    """Kill at an event of the file system, or after a time."""
    moment: dict[str, Any] = {"event": random.randint(1, random.choice([8, _MOST_EVENTS]))}
    if random.random() < 0.4:
        moment = {"seconds": random.expovariate(1.0 / random.choice([0.002, 0.02, 0.1]))}
    return {"work": random.choice(sorted(WORK)), **moment}


def _check(case: Case, folder: Path) -> str:
    work = WORK[case["work"]]
    work.start(folder)
    child = os.fork()
    if child == 0:
        _run_child(work, folder, case.get("event"))
    if "seconds" in case:
        time.sleep(case["seconds"])
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, -signal.SIGKILL):
        raise Finding(f"{case['work']}: the process ends with {status} before it is killed")
    try:
        work.verify(folder)
    except Finding:
        raise
    except Exception as error:
        raise Finding(f"{case['work']} cannot be done again after a kill: {describe(error)}") from error
    return "killed" if status else "finished"


def _run_child(work: file_work.Work, folder: Path, event: int | None) -> None:
    """Do the work in a forked process, and kill it at an event; never returns."""
    left = [event or -1]

    def count(name: str, arguments: tuple[Any, ...]) -> None:
        if name in _EVENTS and str(folder) in str(arguments[:2]):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.addaudithook(count)
        work.run(folder)
        os._exit(0)
    finally:
        os._exit(3)


KIND = Kind(file_work.prepare, _make_case, _check)
