"""Results of an experiment, stored in a file between the run and the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def save(found: Record, folder: Path, lists: Sequence[str]) -> None:
    """Write a record under its name, with one line per entry and per element of the named lists."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [f" {json.dumps(key)}: {json.dumps(content)}" for key, content in found.items() if key not in lists]
    for key in lists:
        elements = ",\n".join("  " + json.dumps(element) for element in found[key])
        parts.append(f" {json.dumps(key)}: [\n{elements}\n ]")
    (folder / f"{found['name']}.json").write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def load(name: str, folder: Path) -> Record | None:
    """Return the stored record of a run, None if there is none."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    found: Record = json.loads(path.read_text(encoding="utf-8"))
    return found
