"""Checkpoints with missing, exchanged or wrong arrays are refused with the remedy, or do no harm."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="limits of memory are those of Unix")

MUTATIONS_PER_CASE = 60


def test_mutated_checkpoints_are_refused_or_harmless():
    """A wrong index may end the process, a wrong count take all memory or never end: it has limits of both."""
    script = Path(__file__).with_name("mutated_checkpoints.py")
    command = [sys.executable, str(script), str(MUTATIONS_PER_CASE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 8
    for case, outcomes in found.items():
        assert outcomes.keys() <= {"refused", "trained"}, (case, outcomes)
        assert outcomes["refused"] > MUTATIONS_PER_CASE // 2, (case, outcomes)
