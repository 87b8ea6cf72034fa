"""Measure the available memory, release freed memory, and convert amounts of memory from and to text."""

from __future__ import annotations

import ctypes
import math
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from numbers import Integral
from pathlib import Path, PurePosixPath

import psutil

_MEMBERSHIP, _MOUNT = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")  # of Linux; absent elsewhere
_SURELY_AVAILABLE = 50 * 10**6  # bytes, for which asking the system is not worth its time
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_LARGEST = "8000000TB"
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*+([KMGT]I?)?B?\s*", re.IGNORECASE)


def parse_bytes(limit: int | str) -> int:
    """Return a number of bytes from a number or from text.

    Examples
    --------
    >>> parse_bytes("1.5GB"), parse_bytes("2 KiB"), parse_bytes(10**6)
    (1500000000, 2048, 1000000)
    """
    found = _SIZE.fullmatch(limit) if isinstance(limit, str) else None
    size: Decimal | int = 0
    if found is not None:
        size = Decimal(found[1]) * _UNITS[(found[2] or "").upper()]
    elif isinstance(limit, Integral) and not isinstance(limit, bool):
        size = int(limit)
    if 1 <= size <= sys.maxsize:
        return int(size)
    if size > sys.maxsize:
        raise ValueError(f"memory_limit={limit!r} is more than any machine has: give at most {_LARGEST}")
    raise ValueError(f"memory_limit must be a number of bytes or text such as '800MB' or '2GiB', got {limit!r}")


def format_megabytes(size: float) -> str:
    """Return an amount of memory as text, rounded up to megabytes.

    Examples
    --------
    >>> format_megabytes(320_000_001)
    '321MB'
    """
    return f"{math.ceil(size / 10**6)}MB"


def release_freed_memory() -> None:
    """Give freed memory back to the system where the C library keeps it for later, as that of Linux does.

    Arrays of up to 32 megabytes come from a heap whose pages stay with the process. Those of one learner are of little
    use to the next, which asks for other sizes.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def available_bytes() -> int:
    """Return about how many bytes this process can still take, on any system and within the limits of a container."""
    left = bytes_left_in_cgroups()
    system = int(psutil.virtual_memory().available)
    return system if left is None else min(system, left)


def check_feature_memory(n_features: int, bytes_per_feature: int) -> None:
    """Raise a MemoryError if vectors over all features do not fit into the available memory.

    Parameters
    ----------
    n_features : int
        The length of the vectors.
    bytes_per_feature : int
        Bytes of all vectors together, per feature.
    """
    needed = n_features * bytes_per_feature
    if needed > _SURELY_AVAILABLE and needed > (available := available_bytes()):
        raise MemoryError(
            f"the vectors of training take {format_megabytes(needed)} for {n_features} features, but about "
            f"{format_megabytes(available)} of memory is free: drop or hash features; in an svmlight file "
            "their number is the largest index, which may be a mistake"
        )


def bytes_left_in_cgroups(membership: Path = _MEMBERSHIP, mount: Path = _MOUNT) -> int | None:
    """Return the memory that the control groups of this process leave unused.

    Parameters
    ----------
    membership : Path
        The file that lists the control groups of the process, one ``number:controllers:group`` per line.
    mount : Path
        Where the control groups are mounted: those of version 2 directly or, beside version 1, in ``unified``, those
        of version 1 in ``memory``.

    Returns
    -------
    int or None
        The least that a group or one above it leaves; None without a limit, and on systems without control groups.
    """
    try:
        lines = membership.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    left: list[int] = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            for root in (mount, mount / "unified"):
                left += _left_in_groups(root, group, "memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            left += _left_in_groups(mount / "memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes")
    return min(left, default=None)


def _left_in_groups(root: Path, group: str, limit_name: str, used_name: str) -> Iterator[int]:
    # Inside a container the group's own folder may be out of sight, and its limit is that of the mounted root.
    inner = PurePosixPath(group.lstrip("/"))
    for folder in (root / inner, *(root / parent for parent in inner.parents)):
        try:
            limit, used = ((folder / name).read_text(encoding="ascii").strip() for name in (limit_name, used_name))
        except OSError:
            continue
        if limit.isdecimal():  # "max" stands for no limit
            yield max(int(limit) - int(used), 0)
