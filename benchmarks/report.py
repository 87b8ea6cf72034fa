"""The report: sections with tables and figures, stored as JSON and written as pages of the documentation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, Any]

# A part of a page that shows a table of a section, by its caption, or the environment of its run.
ENVIRONMENT = "environment"
_PART = re.compile(
    r"(?P<begin>^\.\. measured: (?P<section>\w+): (?P<what>[^\n]+)$).*?(?P<end>^\.\. end of measurement$)", re.M | re.S
)

INTRODUCTION = """\
``make bench`` measures everything on this page and writes it. All programs of a table row run on the same machine
in the same run, in turns. Unless a section states otherwise, a small problem has compiled the kernels before. A time is
the best of the stated number of runs; a program that takes longer than 20 seconds runs once. A ratio is the time of the
peer divided by the time of metricwise: above one, metricwise is faster. The numbers behind the tables are in
``benchmarks/results``."""


@dataclass(frozen=True)
class Column:
    """One column of a table: the key of the records, the header, and the format of numbers."""

    key: str
    header: str
    format: str = "{}"

    def cell(self, record: Record) -> str:
        """Return the text of a cell; strings are not formatted, and a missing value is a dash."""
        value = record.get(self.key)
        if value is None:
            return "–"
        return value if isinstance(value, str) else self.format.format(value)


@dataclass(frozen=True)
class Table:
    """Records, and the columns that are shown; records may have more keys."""

    caption: str
    columns: Sequence[Column]
    records: Sequence[Record]

    def cells(self) -> list[list[str]]:
        """Return the header and the rows as strings."""
        return [[column.header for column in self.columns]] + [
            [column.cell(record) for column in self.columns] for record in self.records
        ]


@dataclass(frozen=True)
class Figure:
    """A plot in the folder of the report."""

    file: str
    caption: str


@dataclass
class Section:
    """The results of one benchmark."""

    name: str
    title: str
    text: list[str]
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def skip(self, row: str, reason: object) -> None:
        """Record that a row was not measured, and why."""
        self.skipped.append((row, str(reason)))


def save(section: Section, folder: Path) -> None:
    """Store a section as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(section), indent=1, ensure_ascii=False, default=float)
    (folder / f"{section.name}.json").write_text(text + "\n", encoding="utf-8")


def load(path: Path) -> Section:
    """Read a stored section."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    tables = [
        Table(table["caption"], [Column(**column) for column in table["columns"]], table["records"])
        for table in stored.pop("tables")
    ]
    figures = [Figure(**figure) for figure in stored.pop("figures")]
    skipped = [(row, reason) for row, reason in stored.pop("skipped")]
    return Section(tables=tables, figures=figures, skipped=skipped, **stored)


def plain(section: Section) -> str:
    """Return a section as text for a terminal."""
    parts = [f"== {section.title}"]
    parts += [_plain_table(table) for table in section.tables if table.records]
    parts += [f"skipped {row}: {reason}" for row, reason in section.skipped]
    parts += [f"FAILED {failure}" for failure in section.failures]
    return "\n\n".join(parts) + "\n"


def _plain_table(table: Table) -> str:
    cells = table.cells()
    widths = [max(len(row[k]) for row in cells) for k in range(len(table.columns))]
    lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in cells]
    return "\n".join([table.caption, *lines])


def page(title: str, sections: Iterable[Section]) -> str:
    """Return a page of the documentation."""
    parts = [_heading(title, "="), INTRODUCTION]
    for section in sections:
        parts += _section(section)
    return "\n\n".join(parts) + "\n"


def fill(text: str, results: Path) -> str:
    """Return a page with the measured tables between its markers; parts of unmeasured sections are not changed."""

    def part(found: re.Match[str]) -> str:
        path = results / f"{found['section']}.json"
        if not path.is_file():
            return found[0]
        section = load(path)
        shown = {table.caption: _list_table(table) for table in section.tables} | {ENVIRONMENT: _environment(section)}
        if found["what"] not in shown:
            raise ValueError(f"the section {found['section']!r} has no {found['what']!r}, only {', '.join(shown)}")
        return f"{found['begin']}\n\n{shown[found['what']]}\n\n{found['end']}"

    return _PART.sub(part, text)


def _environment(section: Section) -> str:
    known = "; ".join(f"{key} {value}" for key, value in section.environment.items())
    return f"*Measured with: {known}.*"


def _heading(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}"


def _section(section: Section) -> list[str]:
    parts = [f".. _benchmark_{section.name}:", _heading(section.title, "-"), *section.text]
    parts += [_list_table(table) for table in section.tables if table.records]
    parts += [_figure(figure) for figure in section.figures]
    if section.failures:
        parts += ["**Failed:**", "\n".join(f"* {failure}" for failure in section.failures)]
    if section.skipped:
        parts += ["Not measured:", "\n".join(f"* {row}: {reason}" for row, reason in section.skipped)]
    return [*parts, _environment(section)]


def _list_table(table: Table) -> str:
    lines = [f".. list-table:: {table.caption}", "   :header-rows: 1", ""]
    for row in table.cells():
        lines += [f"   {'* -' if k == 0 else '  -'} {text}" for k, text in enumerate(row)]
    return "\n".join(lines)


def _figure(figure: Figure) -> str:
    return f".. figure:: {figure.file}\n   :alt: {figure.caption}\n   :width: 100%\n\n   {figure.caption}"
