"""How much memory there is, asked before much of it is taken, and amounts of it as users write them."""

from __future__ import annotations

import math
import os
import re
from numbers import Integral
from pathlib import Path

_SYSTEM = Path("/proc/meminfo")
_GROUP_LIMIT, _GROUP_USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", re.IGNORECASE)


def bytes_of(limit: int | str) -> int:
    """Return a number of bytes from a number or from text.

    Examples
    --------
    >>> bytes_of("1.5GB"), bytes_of("2 KiB"), bytes_of(10**6)
    (1500000000, 2048, 1000000)
    """
    found = _SIZE.fullmatch(limit) if isinstance(limit, str) else None
    if found is not None:
        return int(float(found[1]) * _UNITS[(found[2] or "").upper()])
    if isinstance(limit, Integral) and not isinstance(limit, bool) and limit > 0:
        return int(limit)
    raise ValueError(f"memory_limit must be a number of bytes or text such as '800MB' or '2GiB', got {limit!r}")


def megabytes(size: float) -> str:
    """Return an amount of memory as text, rounded up to megabytes.

    Examples
    --------
    >>> megabytes(320_000_001)
    '321MB'
    """
    return f"{math.ceil(size / 10**6)}MB"


def available_bytes() -> int | None:
    """Return about how many bytes this process can still take; None where the system does not say."""
    found = [size for size in (_left_in_system(), _left_in_group()) if size is not None]
    return min(found) if found else None


def _left_in_system() -> int | None:
    if _SYSTEM.exists():
        for line in _SYSTEM.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError, AttributeError):
        return None


def _left_in_group() -> int | None:
    """Return what the limit of a container leaves."""
    try:
        limit, used = _GROUP_LIMIT.read_text(encoding="ascii"), _GROUP_USED.read_text(encoding="ascii")
    except OSError:
        return None
    return int(limit) - int(used) if limit.strip().isdigit() else None
