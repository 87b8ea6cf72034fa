"""Files as a whole or their first lines, and what can be recognised: compression, format, separator, header."""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from metricwise.io.errors import MalformedLineError

STANDARD_INPUT = "-"

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".arff": "arff",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
FORMATS = ("csv", "svmlight", "arff", "parquet")
_GZIP, _PARQUET, _MARK = b"\x1f\x8b", b"PAR1", b"\xef\xbb\xbf"
_HEAD_BYTES = 1 << 16
_SAMPLE_ROWS = 50
_SEPARATORS = "\t;,| "  # in this order where several fit equally well
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MISSING = re.compile(r"|\?|na|n/a|nan|null", re.IGNORECASE)
_SVMLIGHT_LINE = re.compile(rb"\s*[^\s:,;]+(\s+qid:\S+)?(\s+\d+:[^\s:]+)+\s*(#.*)?")
_ARFF_LINE = re.compile(rb"\s*@(relation|attribute)\b", re.IGNORECASE)


class Document(NamedTuple):
    """A file in memory: what to call it, its content, decompressed and ended by a line feed, and its format."""

    name: str
    data: bytes
    compressed: bool
    format: str


def load_document(path: str | os.PathLike[str], format: str | None = None) -> Document:
    """Read a file, or standard input if it is called "-", and recognise its format unless that is given."""
    given = os.fsdecode(path)
    name = "standard input" if given == STANDARD_INPUT else given
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    data = _content(given)
    compressed = data.startswith(_GZIP)
    if compressed:
        data = _decompressed(name, data)
    if not data.strip(b" \t\r\n") or data == _MARK:
        raise ValueError(f"{name} has no rows: the file is empty")
    found = format or _format_of(given, data)
    if found != "parquet":
        data = data.removeprefix(_MARK)
        if not data.endswith(b"\n"):
            data += b"\n"
    return Document(name, data, compressed, found)


def load_head(path: str | os.PathLike[str], format: str | None = None) -> Document:
    """Read the first lines of a file, which are enough to recognise how it is written."""
    from metricwise.io.text import guarded, open_bytes

    name = os.fsdecode(path)
    with open_bytes(name) as file:
        data = guarded(name, file.read, _HEAD_BYTES)
    with open(name, "rb") as file:
        compressed = file.read(len(_GZIP)) == _GZIP
    found = format or _format_of(name, data)
    data = data.removeprefix(_MARK)
    return Document(name, data[: data.rfind(b"\n") + 1] or data + b"\n", compressed, found)


def _content(path: str) -> bytes:
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    return Path(existing_file(path)).read_bytes()


def existing_file(path: str | os.PathLike[str]) -> str:
    """Return the name of a file, once it is known to be there."""
    name = os.fsdecode(path)
    if os.path.isdir(name):
        raise IsADirectoryError(f"{name} is a directory: give the path of a file")
    if not os.path.exists(name):
        raise FileNotFoundError(f"{name} does not exist")
    return name


def suffix_of(path: str) -> str:
    """Return the suffix that tells the format, without that of a compressed file.

    Examples
    --------
    >>> suffix_of("Rows.CSV.gz")
    '.csv'
    """
    plain = Path(path.lower())
    return (plain.with_suffix("") if plain.suffix == ".gz" else plain).suffix


def _decompressed(name: str, data: bytes) -> bytes:
    import gzip

    from metricwise.io.text import guarded

    return guarded(name, gzip.decompress, data)


def _format_of(path: str, data: bytes) -> str:
    """Tell the format: by what only one format can start with, by the suffix, by the first line that holds anything."""
    if data.startswith(_PARQUET):
        return "parquet"
    if suffix_of(path) in _SUFFIXES:
        return _SUFFIXES[suffix_of(path)]
    for line in data[:_HEAD_BYTES].removeprefix(_MARK).splitlines():
        if line.strip() and not line.lstrip().startswith((b"#", b"%")):
            if _ARFF_LINE.match(line):
                return "arff"
            return "svmlight" if _SVMLIGHT_LINE.fullmatch(line) else "csv"
    return "csv"


# ------------------------------------------------------------------------------------------------------ delimited text


class Layout(NamedTuple):
    """How a table is written: separator, names of the columns if there are any, first rows, and where rows start."""

    separator: str
    names: tuple[str, ...] | None
    sample: list[list[str]]
    start: int

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.sample[0]) if self.names is None else len(self.names)


def recognise_layout(
    document: Document, separator: str | None, has_header: bool | None, named: Sequence[str]
) -> Layout:
    r"""Look at the first lines of a table; columns that are spoken of by name (``named``) tell a header.

    Examples
    --------
    >>> text = Document("data.csv", b"age;job\n31;clerk\n40;\n", False, "csv")
    >>> layout = recognise_layout(text, None, None, named=())
    >>> layout.separator, layout.names
    (';', ('age', 'job'))
    """
    head = document.data[:_HEAD_BYTES]
    if len(head) < len(document.data):
        head = head[: head.rfind(b"\n") + 1] or head
    text = head.decode(errors="replace")
    chosen = separator or _separator(text, document.name)
    rows = _divided(text, chosen)
    if has_header is None:
        has_header = _is_header(rows, named)
    if not has_header:
        return Layout(chosen, None, rows, 0)
    start = _second_row(document, chosen)
    names = tuple(name.strip() or f"column {number}" for number, name in enumerate(rows[0], 1))
    return Layout(chosen, names, rows[1:], start)


def _divided(text: str, separator: str) -> list[list[str]]:
    """Return the first rows as fields."""
    rows: list[list[str]] = []
    lines = (line for line in text.splitlines(keepends=True))
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    try:
        for row in reader:
            if separator == " ":
                row = [field for field in row if field.strip()]
            if any(field.strip() for field in row):
                rows.append([field.strip() for field in row])
            if len(rows) > _SAMPLE_ROWS:
                break
    except csv.Error:
        return rows or [[text]]  # what is wrong is for the parser to say, with its place
    return rows or [[text]]


def _separator(text: str, name: str) -> str:
    """Return what divides most lines into the same number of fields, more than one."""
    if suffix_of(name) in (".tsv", ".tab"):
        return "\t"
    best, choice = 0.0, ","
    for separator in _SEPARATORS:
        counts = [len(row) for row in _divided(text, separator)]
        usual = max(set(counts), key=counts.count)
        share = counts.count(usual) / len(counts) if usual > 1 else 0.0
        if share > best:
            best, choice = share, separator
    return choice


def is_number(field: str) -> bool:
    """Whether a field is written as a number."""
    return _NUMBER.fullmatch(field) is not None


def is_missing(field: str) -> bool:
    """Whether a field stands for a value that is missing."""
    return _MISSING.fullmatch(field) is not None


def _is_header(rows: list[list[str]], named: Sequence[str]) -> bool:
    """Whether the first row names columns: one that is asked for, or text above numbers, or nothing but names."""
    first = rows[0]
    if any(name in first for name in named):
        return True
    if any(_is_header_of(column) for column in zip(*rows, strict=False)):
        return True
    plain = [field for field in first if not is_number(field) and not is_missing(field)]
    return len(plain) == len(first) == len(set(first))


def _is_header_of(column: tuple[str, ...]) -> bool:
    below = [field for field in column[1:] if not is_missing(field)]
    heading = column[0]
    return bool(below) and all(map(is_number, below)) and not is_number(heading) and not is_missing(heading)


def _second_row(document: Document, separator: str) -> int:
    """Return where the row after the header starts; names may be quoted and hold line feeds."""
    data, at, quoted = document.data, 0, False
    while at < len(data) and data[at : at + 1] in b" \r\n\t" and data[at : at + 1] != separator.encode():
        at += 1
    while True:
        end = data.find(b"\n", at)
        if end < 0:
            problem = "a quote is opened in the header that is never closed: close it"
            raise MalformedLineError(document.name, 1, 1, problem)
        quoted ^= data.count(b'"', at, end) % 2 == 1
        at = end + 1
        if not quoted:
            return at
