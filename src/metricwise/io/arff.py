"""Files of Weka, MULAN and MEKA: declared attributes, then rows, dense or sparse."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from scipy import sparse

from metricwise.io.columns import Content, Field
from metricwise.io.delimited import Style, read_columns
from metricwise.io.encodings import explain_undecodable
from metricwise.io.errors import MalformedLineError
from metricwise.io.files import FileBytes
from metricwise.io.roles import Kind
from metricwise.io.text import show

_STYLE = Style(",", (ord("'"), ord('"')), ord("%"))
_TOKEN = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"|[^\s,{}'"]+"""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_TOKEN})\s+(.+)", re.IGNORECASE)
_VALUE = re.compile(rf"\s*({_TOKEN})\s*(?:,|$)")
_ENTRY = re.compile(rf"\s*(\d+)\s+({_TOKEN})\s*(?:,|$)")
_LABELS_FIRST = re.compile(r"-C\s+(-?\d{1,9})\b")
_FIRST_OF_ROWS = re.compile(rb"(?:%[^\n]*\n|\s)*+(.)?")  # behind comments and empty lines
_NUMERIC = ("numeric", "real", "integer")


class Attribute(NamedTuple):
    """The name of a column, its kind, and its declared values, if any."""

    name: str
    kind: Kind
    values: tuple[str, ...] | None


class Header(NamedTuple):
    """The declarations, the start of the rows, and the number of labels by MEKA, first columns if positive."""

    attributes: list[Attribute]
    labels: int | None
    start: int
    is_sparse: bool


def _unquote(token: str) -> str:
    if token[:1] in ("'", '"') and len(token) > 1:
        return re.sub(r"\\(.)", r"\1", token[1:-1])
    return token


def read_header(document: FileBytes) -> Header:
    r"""Read the declarations of a file.

    Examples
    --------
    >>> text = b"@relation r\n@attribute 'the age' real\n@attribute y {no,yes}\n@data\n3,yes\n"
    >>> header = read_header(FileBytes("data.arff", text, False))
    >>> [(attribute.name, attribute.kind) for attribute in header.attributes]
    [('the age', 'number'), ('y', 'text')]
    """
    attributes: list[Attribute] = []
    labels, at, number = None, 0, 0
    while at < len(document.data):
        end = document.data.index(b"\n", at)
        raw = document.data[at:end]
        line = raw.decode(errors="replace").strip()
        at, number = end + 1, number + 1
        word = line.split(maxsplit=1)[0].lower() if line else ""
        if word == "@data":
            if not attributes:
                raise MalformedLineError(document.name, number, 1, "the rows start, but no @attribute was declared")
            if abs(labels or 0) > len(attributes):
                raise ValueError(
                    f"{document.name}: @relation declares {abs(labels or 0)} labels (-C), but there are "
                    f"{len(attributes)} attributes: correct it"
                )
            first = _FIRST_OF_ROWS.match(document.data, at)
            return Header(attributes, labels, at, first is not None and first.group(1) == b"{")
        if word == "@attribute":
            attributes.append(_parse_attribute(document.name, number, _decode(document.name, number, raw).strip()))
        elif word == "@relation":
            found = _LABELS_FIRST.search(line)
            labels = int(found.group(1)) if found else None
        elif word and not word.startswith("%"):
            problem = f"found {show(word.encode())} where @relation, @attribute or @data belongs"
            raise MalformedLineError(document.name, number, 1, problem)
    raise ValueError(f"{document.name} has no line @data, after which rows would follow")


def _decode(path: str, number: int, line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise MalformedLineError(path, number, error.start + 1, explain_undecodable(line)) from None


def _parse_attribute(path: str, number: int, line: str) -> Attribute:
    found = _ATTRIBUTE.fullmatch(line)
    if found is None:
        raise MalformedLineError(path, number, 1, "an attribute needs a name and a type: @attribute age numeric")
    name, type_ = _unquote(found.group(1)), found.group(2).strip()
    if type_.startswith("{") and type_.endswith("}"):
        inside = type_[1:-1].strip()
        values, at = [], 0
        while at < len(inside):
            value = _VALUE.match(inside, at)
            if value is None:
                problem = f"found {show(inside[at:].encode())} where a value of {name!r} belongs: quote values"
                raise MalformedLineError(path, number, 1 + line.index(inside) + at, problem)
            values.append(_unquote(value.group(1)))
            at = value.end()
        # Zeros and ones are numbers, as MULAN declares labels and the presence of words.
        return Attribute(name, "number" if set(values) <= {"0", "1"} else "text", tuple(values))
    word = type_.split(maxsplit=1)[0].lower()
    if word in _NUMERIC:
        return Attribute(name, "number", None)
    if word == "string":
        return Attribute(name, "text", None)
    problem = f"the attribute {name!r} is of type {show(type_.encode())}: numbers, texts and {{values}} can be read"
    raise MalformedLineError(path, number, 1 + line.rindex(type_), problem)


def read_rows(document: FileBytes, header: Header, kinds: dict[int, Kind]) -> Content:
    """Read dense rows, or sparse ones into columns."""
    names = [attribute.name for attribute in header.attributes]
    declared = [kinds.get(number, attribute.kind) for number, attribute in enumerate(header.attributes)]
    if header.is_sparse:
        content = _sparse_content(document, header, declared)
    else:
        content = read_columns(document.name, document.data, header.start, _STYLE, names, dict(enumerate(declared)))
    for number, attribute in enumerate(header.attributes):
        if attribute.values is not None:
            _check_values(document, attribute, content, number)
    return content


def _check_values(document: FileBytes, attribute: Attribute, content: Content, number: int) -> None:
    assert attribute.values is not None
    field = content.fields[number]
    if field.categories is None:
        allowed = np.isin(field.values, [float(value) for value in attribute.values])
    else:
        allowed = np.array([*(text in attribute.values for text in field.categories), True])[field.values]
    wrong = np.flatnonzero(~(allowed | field.missing))
    if wrong.size:
        found = field.objects()[wrong[0]]
        text = found if isinstance(found, str) else f"{found:g}"
        problem = f"found {text!r} for {attribute.name!r}, which is none of its declared values: correct it"
        raise MalformedLineError(document.name, *content.locate(int(wrong[0]), number), problem)


# --------------------------------------------------------------------------------------------------------- sparse rows


class SparseEntries(NamedTuple):
    """The entries of sparse rows: row, attribute and text of each, and the lines of the rows."""

    rows: list[int]
    attributes: list[int]
    texts: list[str]
    lines: list[int]


def _read_entries(document: FileBytes, header: Header) -> SparseEntries:
    found = SparseEntries([], [], [], [])
    first = document.data.count(b"\n", 0, header.start) + 1
    count = len(header.attributes)
    for number, raw in enumerate(document.data[header.start :].split(b"\n"), first):
        line = _decode(document.name, number, raw).strip()
        if not line or line.startswith("%"):
            continue
        if not (line.startswith("{") and line.endswith("}")):
            problem = "a sparse row stands in braces: {2 0.5, 7 yes}"
            raise MalformedLineError(document.name, number, 1, problem)
        row, at, previous, inside = len(found.lines), 0, -1, line[1:-1].rstrip()
        while at < len(inside):
            entry = _ENTRY.match(inside, at)
            attribute = int(entry.group(1)) if entry is not None and len(entry.group(1)) < 10 else count
            if entry is None or not previous < attribute < count:
                problem = (
                    f"found {show(inside[at:].encode())} where the number of an attribute, larger than the one before "
                    f"and below {count}, and its value belong"
                )
                raise MalformedLineError(document.name, number, at + 2, problem)
            found.rows.append(row)
            found.attributes.append(attribute)
            found.texts.append(entry.group(2))
            at, previous = entry.end(), attribute
        found.lines.append(number)
    if not found.lines:
        raise ValueError(f"{document.name} has no rows")
    return found


def _sparse_content(document: FileBytes, header: Header, kinds: list[Kind]) -> Content:
    """Return sparse rows as columns; missing entries are zero or the first declared value."""
    entries = _read_entries(document, header)
    rows, attributes = np.array(entries.rows, dtype=np.int64), np.array(entries.attributes, dtype=np.int64)
    order = np.argsort(attributes, kind="stable")
    bounds = np.searchsorted(attributes[order], np.arange(len(kinds) + 1))

    def locate(row: int, number: int) -> tuple[int, int]:
        return entries.lines[row], 1

    fields: dict[int, Field] = {}
    for number, kind in enumerate(kinds):
        at = order[bounds[number] : bounds[number + 1]]
        texts = [entries.texts[entry] for entry in at.tolist()]
        name = header.attributes[number].name
        if kind == "text":
            fields[number] = _text_field(header.attributes[number], rows[at], texts, len(entries.lines))
            continue
        values = np.zeros(len(entries.lines))
        for row, text in zip(rows[at].tolist(), texts, strict=True):
            try:
                values[row] = np.nan if text == "?" else float(_unquote(text))
            except ValueError:
                values[row] = np.inf
            if np.isinf(values[row]):
                problem = f"found {show(text.encode())} for {name!r} where a finite number belongs: correct it"
                raise MalformedLineError(document.name, *locate(row, number), problem)
        fields[number] = Field(values)
    return Content(fields, len(entries.lines), locate)


def _text_field(attribute: Attribute, rows: np.ndarray, texts: list[str], n_rows: int) -> Field:
    plain = ["" if text == "?" else _unquote(text) for text in texts]
    first = (attribute.values or ("0",))[0]
    categories = sorted({first, *plain} - {""})
    position = {text: number for number, text in enumerate(categories)} | {"": -1}
    codes = np.full(n_rows, position[first], dtype=np.int64)
    codes[rows] = [position[text] for text in plain]
    return Field(codes, categories)


def to_sparse(fields: list[Field]) -> sparse.csr_matrix:
    """Return columns of numbers as a sparse matrix."""
    return sparse.csr_matrix(sparse.hstack([sparse.csc_matrix(field.values[:, None]) for field in fields]))
