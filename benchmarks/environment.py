"""The environment of a measurement: processor, threads and versions."""

from __future__ import annotations

import os
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

import metricwise


def processor() -> str:
    """Return the model of the processor where the system reports it."""
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def describe(threads: int) -> dict[str, str]:
    """Return the environment of a run as it is now."""
    found = {"date": date.today().isoformat(), "processor": processor(), "cores used": str(threads)}
    if hasattr(os, "getloadavg"):
        found["load before the run"] = f"{os.getloadavg()[0]:.1f}"
    found["Python"] = platform.python_version()
    found["metricwise"] = metricwise.__version__
    return found | {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
