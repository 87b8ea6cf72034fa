"""Failures that were found once, stored as cases, and replayed before any other case."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from fuzzing.cases import CORPUS, Case
from fuzzing.workers import Job

_MOST_BYTES = 30_000  # of a stored case: the repository keeps it for ever


def list_failures(kind: str, corpus: Path = CORPUS) -> list[Job]:
    """Return the stored failures of a kind."""
    paths = sorted((corpus / kind).glob("*.json"))
    return [Job(path.stem, case=json.loads(path.read_text(encoding="utf-8"))["case"]) for path in paths]


def add_failure(kind: str, case: Case, finding: str, corpus: Path = CORPUS) -> Path | None:
    """Store a case that failed; return its file, or None if it is too large."""
    text = json.dumps({"finding": strip_numbers(finding), "case": case}, indent=1) + "\n"
    if len(text) > _MOST_BYTES:
        return None
    path = corpus / kind / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def strip_numbers(finding: str) -> str:
    """Return a description without numbers and paths of its case, so that equal findings have equal texts.

    Examples
    --------
    >>> strip_numbers("ValueError: /tmp/fuzz/ab_1/data.csv has 3.5e-7 rows [io/text.py:12]")
    'ValueError: FILE has N rows [io/text.py:12]'
    """
    found = re.fullmatch(r"(.*?)( \[[\w/.]+:\d+\])?", finding)
    text, place = (found[1], found[2] or "") if found else (finding, "")
    text = re.sub(r"(/[\w.-]+)+", "FILE", text)
    text = re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?|\bnan\b|\binf\b", "N", text)
    return text + place
