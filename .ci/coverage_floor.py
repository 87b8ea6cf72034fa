"""Compare the line coverage of the last test run with the floor; silent unless it is below.

pytest's closing line stays the last line of a run that passes. ``--list`` prints the files with uncovered lines.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def list_files(coverage: dict[str, Any]) -> None:
    """Print coverage by file, the least covered first."""
    files = sorted(coverage["files"].items(), key=lambda item: item[1]["summary"]["percent_covered"])
    for name, found in files:
        if found["missing_lines"]:
            print(f"{found['summary']['percent_covered']:6.1f} %  {len(found['missing_lines']):4d} lines  {name}")
    print(f"{coverage['summary']['percent_covered']:6.2f} %  in total")


def main(path: str, floor: str) -> int | str:
    """Return what to exit with: 0, or a message that says by how much coverage is too low."""
    coverage = json.loads(Path(path).read_text(encoding="utf-8"))
    if floor == "--list":
        list_files(coverage)
        return 0
    percent = coverage["summary"]["percent_covered"]
    if percent >= float(floor):
        return 0
    return (
        f"Tests run {percent:.2f} % of the lines of src/metricwise, less than the floor of {floor} % in the Makefile: "
        "test what you have added; `make coverage` lists the files."
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
