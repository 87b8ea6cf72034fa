"""Work that runs out of space, or exceeds the allowed size of files: a clear error, and the old file stays."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from fuzzing import file_work
from fuzzing.cases import Case, Kind
from fuzzing.file_work import WORK, check_leftovers
from fuzzing.judging import Finding, describe, find_problem

_TARGETS = {"save": "model.mw", "conversion": "table.csv", "prediction": "labels.csv"}
_DETACHED = 2


def _make_case(random: Random) -> Case:
    limit = random.choice(["size", "space"])
    return {
        "work": random.choice(sorted(WORK)),
        "limit": limit,
        "bytes": random.randint(0, random.choice([600, 20_000])),
    }


def _check(case: Case, folder: Path) -> str:
    work = WORK[case["work"]]
    if case["limit"] == "space" and os.geteuid() != 0:
        return "not allowed"  # only root mounts file systems
    limited = _limit_space(folder, case["bytes"]) if case["limit"] == "space" else _limit_size(folder, case["bytes"])
    place = folder / "work"
    place.mkdir()
    if case["limit"] == "space" and not _mount(place):
        return "not allowed"
    try:
        work.start(place)
        problem: Exception | None = None
        with limited:
            try:
                work.run(place)
            except Exception as error:
                problem = error
        if problem is not None:
            _require_clear(case["work"], problem)
            check_leftovers(place, case["work"])
        work.verify(place)
    finally:
        if case["limit"] == "space":
            ctypes.CDLL(None).umount2(os.fsencode(place), _DETACHED)
    return "finished" if problem is None else "failed"


def _require_clear(work: str, error: Exception) -> None:
    """An error of the operating system is clear if it names the file or folder that could not be written."""
    target = _TARGETS.get(work, "run")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG):
        problem = None if target in str(error) else "the error does not name the file"
    else:
        problem = find_problem(error) or (None if target in str(error) else "the error does not name the file")
    if problem is not None:
        raise Finding(f"{work} without space: {problem}: {describe(error)}") from error


@contextmanager
def _limit_size(folder: Path, n_bytes: int) -> Iterator[None]:
    """Let no file grow beyond a size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _mount(place: Path) -> bool:
    """Mount a small file system in memory; return whether that is allowed."""
    found = ctypes.CDLL(None).mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, b"size=1m")
    return bool(found == 0)


@contextmanager
def _limit_space(folder: Path, n_bytes: int) -> Iterator[None]:
    """Fill the mounted file system but for some bytes, in whole pages."""
    filler = folder / "work" / "filler"
    space = os.statvfs(folder / "work")
    filler.write_bytes(b"\0" * max(0, space.f_bavail * space.f_bsize - n_bytes))
    try:
        yield
    finally:
        filler.unlink()


KIND = Kind(file_work.prepare, _make_case, _check)
