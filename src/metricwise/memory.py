"""How much memory there is, asked before much of it is taken."""

from __future__ import annotations

import os
from pathlib import Path

_SYSTEM = Path("/proc/meminfo")
_GROUP_LIMIT, _GROUP_USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


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
