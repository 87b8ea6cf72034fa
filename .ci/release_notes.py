"""Check that a tag, the version of the package and the changelog agree, and print the changelog's section."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def read_version(root: Path = ROOT) -> str:
    """Return the version of the package without importing it."""
    source = (root / "src" / "metricwise" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    if found is None:
        raise ValueError('src/metricwise/__init__.py has no line __version__ = "..."')
    return found[1]


def extract_notes(changelog: str, version: str) -> str:
    """Return the text below the heading of a version."""
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d{{2}}-\d{{2}}$"
    found = re.search(heading + r"(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise ValueError(
            f"CHANGELOG.md has no entries under '## [{version}] - YYYY-MM-DD': move those of Unreleased there"
        )
    return found[1].strip() + "\n"


def main(tag: str) -> None:
    """Print the notes of a release."""
    version = read_version()
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag!r}, but the package has version {version!r}: tag v{version}, or change it")
    print(extract_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version), end="")


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except ValueError as error:
        sys.exit(f"release_notes: {error}")
