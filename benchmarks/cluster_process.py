"""A Dask cluster in a process of its own: ``python -m benchmarks.cluster_process`` prints its address and stays.

It ends when its standard input is closed, or when it is killed: then scheduler and workers are gone.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.context import ROOT

SETTINGS: dict[str, Any] = {
    "n_workers": 2,
    "threads_per_worker": 1,
    "processes": True,
    "protocol": "tcp",
    "host": "127.0.0.1",
    "dashboard_address": ":0",
    "silence_logs": "CRITICAL",
}


@contextmanager
def cluster_process() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a cluster in a process of its own; yield the process and the address of the scheduler."""
    command = [sys.executable, "-m", "benchmarks.cluster_process"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.stdin.close()


def main() -> None:
    from distributed import LocalCluster

    with LocalCluster(**SETTINGS) as cluster:
        sys.stdout.write(cluster.scheduler_address + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
