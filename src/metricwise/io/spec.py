"""The description of a file: what the caller stated, and what was recognised by its suffix and its first lines."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

from metricwise.io.encodings import UTF8, check_encoding
from metricwise.io.files import BINARY_STARTS, FileBytes, as_text, check_file, is_cut_off, load_head
from metricwise.io.notation import Decimal, check_decimal, is_missing, reads_as_number, recognise_decimal
from metricwise.io.options import check_column, check_columns, check_features, check_flag, check_targets
from metricwise.io.roles import Kind, RoleOptions, Which

Format = Literal["npy", "npz", "svmlight", "csv", "parquet", "arff"]

_SUFFIXES: dict[Format, tuple[str, ...]] = {
    "npy": (".npy",),
    "npz": (".npz",),
    "svmlight": (".svm", ".svmlight", ".libsvm"),
    "csv": (".csv", ".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arff": (".arff",),
}
_MAGIC: dict[bytes, Format] = dict(zip(BINARY_STARTS, ("parquet", "npy", "npz"), strict=True))
_COMPRESSIONS = {  # of files that are not decompressed, by their first bytes
    re.compile(rb"BZh[1-9]1AY&SY"): "bzip2",
    re.compile(rb"\xfd7zXZ\0"): "xz",
    re.compile(rb"\x28\xb5\x2f\xfd"): "zstd",
    re.compile(rb"\x1f\x8b"): "gzip twice",
}
_ROLES = ("target", "weight", "groups", "columns", "drop", "n_features", "labelled")
_OPTIONS: dict[Format, tuple[str, ...]] = {
    "npy": ("target",),  # labels are in a file of their own
    "npz": ("target",),
    "svmlight": ("n_features", "zero_based", "labelled", "encoding", "groups"),
    "csv": (*_ROLES, "delimiter", "has_header", "encoding", "decimal"),
    "parquet": (*_ROLES, "decimal"),  # numbers are not text, whatever the point of those in other files
    "arff": (*_ROLES, "encoding"),
}
QUERIES = "qid"  # the groups of an svmlight file
_SAMPLE_ROWS = 50
_DELIMITERS = "\t;,| "  # in this order where several fit equally well
_DELIMITER_NAMES = {"\t": "tabs", " ": "blanks", ",": "commas", ";": "semicolons"}
_LABEL_ALONE = re.compile(rb"\s*[^\s:,;]+\s*")
_SVMLIGHT_LINE = re.compile(rb"\s*[^\s:,;]+(\s+qid:\S+)?(\s+\d+:[^\s:]+)+\s*(#.*)?")
_ARFF_LINE = re.compile(rb"\s*@(relation|attribute)\b", re.IGNORECASE)


@dataclass(frozen=True)
class FileSpec:
    """How a file is written and what its columns are for.

    Attributes
    ----------
    path : str
        The file.
    format : str
        "npy", "npz", "svmlight", "csv", "parquet" or "arff".
    is_compressed : bool
        Whether it is compressed with gzip.
    roles : RoleOptions
        Which columns are features, targets and weights, as far as that was given.
    encoding : str
        How its text is written, by the name that Python has for it.
    zero_based : bool
        Whether the first feature of an svmlight file has the index 0.
    delimiter : str
        What divides the fields of a CSV file.
    decimal : {".", ","} or None
        The decimal point of a CSV file; None if it was not given and the first rows do not show a comma.
    names : tuple of str or None
        The columns of a CSV file, if it has a header.
    sample : tuple of tuples of str
        The first rows of a CSV file.
    start, first_line : int
        Where the rows of a CSV file start: the byte of its text in UTF-8, behind a byte order mark, and the number of
        the line.
    """

    path: str
    format: Format
    is_compressed: bool
    roles: RoleOptions
    encoding: str = UTF8
    zero_based: bool = False
    delimiter: str = ""
    decimal: Decimal | None = None
    names: tuple[str, ...] | None = None
    sample: tuple[tuple[str, ...], ...] = ()
    start: int = 0
    first_line: int = 1

    @property
    def n_columns(self) -> int:
        """The number of columns of a CSV or Parquet file, labels and weights included."""
        if self.format == "parquet":
            from metricwise.io.parquet import open_parquet

            return len(open_parquet(self.path, self.path).columns)
        return len(self.sample[0]) if self.names is None else len(self.names)

    @property
    def description(self) -> str:
        """What the file was recognised as."""
        words: str = "Parquet" if self.format == "parquet" else self.format
        if self.format == "csv":
            delimiters = _DELIMITER_NAMES.get(self.delimiter, repr(self.delimiter))
            words = f"CSV, separated by {delimiters}, {'without' if self.names is None else 'with'} header"
        if self.decimal == ",":
            words += ", with decimal commas"
        encoded = "" if self.encoding == UTF8 else f", encoded as {self.encoding}"
        return f"{self.path}: {words}{encoded}{', compressed by gzip' if self.is_compressed else ''}"


def describe_file(
    path: str | os.PathLike[str],
    formats: Sequence[Format],
    content: FileBytes | None = None,
    *,
    format: str | None = None,
    target: Which | Sequence[Which] | None = None,
    weight: Which | None = None,
    groups: Which | None = None,
    columns: Sequence[str] | Mapping[str, Kind] | None = None,
    drop: Sequence[Which] = (),
    n_features: int | None = None,
    labelled: bool = True,
    zero_based: bool = False,
    delimiter: str | None = None,
    has_header: bool | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> FileSpec:
    r"""Describe a file by what is given, and recognise the rest by its suffix and its first lines.

    Parameters
    ----------
    path : str or path-like
        The file.
    formats : sequence of str
        The formats that the caller reads.
    content : FileBytes, default=None
        All of the file, where it is in memory already, with its text in UTF-8.
    format, target, weight, groups, columns, drop, n_features, labelled
        As :func:`metricwise.io.read_table` explains them.
    zero_based, delimiter, has_header, decimal, encoding
        As :func:`metricwise.io.read_table` explains them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rows")
    ...     _ = path.write_text("age;height;label\n31;1.7;yes\n40;1.8;no\n")
    ...     spec = describe_file(path, ["csv", "svmlight"], target="label")
    >>> spec.format, spec.delimiter, spec.names
    ('csv', ';', ('age', 'height', 'label'))
    """
    choices = ", ".join(map(repr, formats))
    if format is not None and format not in formats:
        raise ValueError(f"format must be one of {choices}, got {format!r}")
    if n_features is not None:
        check_count("n_features", n_features, least=1)
    targets, (selected, kinds), dropped = check_targets(target), check_features(columns), check_columns("drop", drop)
    weight = None if weight is None else check_column("weight", weight)
    groups = None if groups is None else check_column("groups", groups)
    check_flag("labelled", labelled)
    check_flag("zero_based", zero_based)
    if has_header is not None:
        check_flag("has_header", has_header)
    known = check_encoding(encoding)
    head = content or load_head(check_file(path, repeatedly=True), known)
    _refuse_compressed(head)
    written = head.encoding
    found = next(iter(one for one in _SUFFIXES if one == format), None)
    found = found or _recognise_format(os.fsdecode(path), head.data, choices)
    if found not in formats:
        raise ValueError(f"{head.name} has the format {found!r}, which cannot be read here: convert it to {choices}")
    given = {
        "target": target,
        "weight": weight,
        "groups": groups,
        "columns": columns,
        "drop": dropped or None,
        "n_features": n_features,
        "labelled": None if labelled else False,
        "zero_based": zero_based or None,
        "delimiter": delimiter,
        "has_header": has_header,
        "decimal": decimal,
        "encoding": encoding,
    }
    if found == "svmlight" and selected is not None:
        raise ValueError(
            f"{head.name} names no columns, but {len(selected)} named columns are needed: convert it to CSV or Parquet "
            "with these names"
        )
    _refuse_options(head.name, found, given)
    if found == "svmlight" and groups not in (None, QUERIES):
        raise ValueError(
            f"{head.name}: the rows of an svmlight file have no groups but their queries, qid:number: pass "
            f"groups={QUERIES!r}, got {groups!r}"
        )
    point = check_decimal(decimal)
    if not labelled and target is not None:
        raise ValueError(f"labelled=False declares no labels, but target={target!r} names some: leave one out")
    is_labelled = labelled and targets != ()
    roles = RoleOptions(targets, weight, selected, dropped, kinds, n_features, is_labelled, groups)
    if found != "csv":
        return FileSpec(head.name, found, head.is_compressed, roles, written, zero_based)
    if content is None and is_cut_off(head):
        head = load_head(head.name, written, n_lines=2)
    return _recognise_layout(head, roles, written, delimiter, has_header, point)


def check_count(name: str, value: object, least: int) -> None:
    """Raise if an option is no whole number, or too small."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more, got {value!r}")


def _refuse_options(path: str, format: Any, given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value is None or name in _OPTIONS[format] or (name == "target" and isinstance(value, tuple) and not value):
            continue
        why = ", whose rows start with their label" if (name, format) == ("target", "svmlight") else ""
        raise ValueError(f"{path}: {name}={value!r} has no meaning for the format {format!r}{why}: leave it out")


# -------------------------------------------------------------------------------------------------------------- format


def _refuse_compressed(head: FileBytes) -> None:
    """Raise if the content, decompressed if it was compressed with gzip, is compressed still."""
    for start, name in _COMPRESSIONS.items():
        if start.match(head.data):
            raise ValueError(
                f"{head.name} is compressed by {name}, and plain files and those compressed by gzip can be read: "
                "decompress it"
            )


def suffix_of(path: str) -> str:
    """Return the suffix that shows the format, without that of a compressed file.

    Examples
    --------
    >>> suffix_of("Rows.CSV.gz")
    '.csv'
    """
    plain = Path(path.lower())
    return (plain.with_suffix("") if plain.suffix == ".gz" else plain).suffix


def _recognise_format(path: str, data: bytes, choices: str) -> Format:
    """Return the format: by what only one format starts with, by the suffix, by the first line of several fields."""
    if data.startswith(b"PAR1"):
        return "parquet"
    for format, suffixes in _SUFFIXES.items():
        if suffix_of(path) in suffixes:
            return format
    for magic, format in _MAGIC.items():
        if data.startswith(magic):
            return format
    head = as_text(data[: 1 << 16])
    if b"\0" in head:
        raise ValueError(
            f"{path}: the suffix {suffix_of(path)!r} does not tell the format, nor do its first bytes, which are no "
            f"text: pass format=, one of {choices}"
        )
    for line in head.splitlines():
        if line.strip() and not line.lstrip().startswith((b"#", b"%")) and not _LABEL_ALONE.fullmatch(line):
            if _ARFF_LINE.match(line):
                return "arff"
            return "svmlight" if _SVMLIGHT_LINE.fullmatch(line) else "csv"
    return "csv"


# ------------------------------------------------------------------------------------------------------ delimited text


def _recognise_layout(
    content: FileBytes,
    roles: RoleOptions,
    encoding: str,
    delimiter: str | None,
    has_header: bool | None,
    decimal: Decimal | None,
) -> FileSpec:
    """Look at the first lines of a table; columns that are asked for by name show that there is a header."""
    from metricwise.io.first_rows import divide_rows, read_first_row

    is_character = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    if delimiter is not None and (not is_character or delimiter in '"\r\n'):
        raise ValueError(f"delimiter must be a single ASCII character, not a quote or line end, got {delimiter!r}")
    name, data = content.name, as_text(content.data)
    if data.isspace():  # without a copy
        raise ValueError(f"{name} has no rows: the file is empty")
    head = data[: _end_of_lines(data)]
    chosen = delimiter or _recognise_delimiter(head, name)
    rows = divide_rows(head, chosen, _SAMPLE_ROWS + 1)
    first, problem = read_first_row(name, data, chosen)
    sample = tuple(row.fields for row in rows if row.start >= first.end)
    if has_header is None:
        if problem is None:
            has_header = _is_header([first.fields, *sample], roles.names)
        else:  # with numbers it is a row, above others: the parser reports or skips it, as it does everywhere else
            has_header = not sample or not any(map(reads_as_number, first.fields))
    if problem is not None and (has_header or not rows):
        raise problem
    everything = sample if has_header else tuple(row.fields for row in rows) or (first.fields,)
    point = decimal or recognise_decimal(everything, chosen)
    spec = FileSpec(
        name, "csv", content.is_compressed, roles, encoding, delimiter=chosen, decimal=point, sample=everything
    )
    if not has_header:
        return spec
    names = tuple(field or f"column {number}" for number, field in enumerate(first.fields, 1))
    first_line = data.count(b"\n", 0, first.end) + 1
    return replace(spec, names=names, start=first.end, first_line=first_line)


def _end_of_lines(data: bytes) -> int:
    """Return where the lines end that are looked at: some, and two at least."""
    end = data.rfind(b"\n", 0, 1 << 16) + 1
    if data.count(b"\n", 0, end) >= 2:
        return end
    second = data.find(b"\n", data.find(b"\n") + 1)
    return len(data) if second < 0 else second + 1


def _recognise_delimiter(head: bytes, name: str) -> str:
    """Return what divides most lines into the same number of fields, more than one."""
    if suffix_of(name) in (".tsv", ".tab"):
        return "\t"
    from metricwise.io.first_rows import count_fields

    best, choice = 0.0, ","
    for delimiter in _DELIMITERS:
        counts = count_fields(head, delimiter, _SAMPLE_ROWS + 1)
        usual = max(set(counts), key=counts.count, default=0)
        share = counts.count(usual) / len(counts) if usual > 1 else 0.0
        if share > best:
            best, choice = share, delimiter
    return choice


def _is_header(rows: list[tuple[str, ...]], named: Sequence[str]) -> bool:
    """Whether the first row names columns: one that is asked for, or text above numbers, or nothing but names."""
    first = rows[0]
    if any(name in first for name in named):
        return True
    if any(_is_header_of(column) for column in zip(*rows, strict=False)):
        return True
    plain = [field for field in first if not reads_as_number(field) and not is_missing(field)]
    return len(plain) == len(first) == len(set(first))


def _is_header_of(column: tuple[str, ...]) -> bool:
    below = [field for field in column[1:] if not is_missing(field)]
    heading = column[0]
    return bool(below) and all(map(reads_as_number, below)) and not reads_as_number(heading) and not is_missing(heading)
