"""Files of Weka, MULAN and MEKA: declared attributes, then rows, dense or sparse."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise.io.columns import Content, Field
from metricwise.io.delimited import Style, read_columns
from metricwise.io.encodings import explain_undecodable
from metricwise.io.errors import MalformedLineError
from metricwise.io.files import FileBytes
from metricwise.io.notation import is_missing, is_number
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
_BLANKS = " \t\r"  # that may surround a number in quotes


class Attribute(NamedTuple):
    """The name of a column, its kind, its declared values, if any, and the value that sparse rows omit.

    That value is zero or the first declared value, None if that one stands for a missing value.
    """

    name: str
    kind: Kind
    values: tuple[str, ...] | None
    omitted: str | None = "0"


class Header(NamedTuple):
    """The declarations, the start of the rows, and the number of labels by MEKA, first columns if positive."""

    attributes: list[Attribute]
    labels: int | None
    start: int
    is_sparse: bool


def _is_quoted(token: str) -> bool:
    return token[:1] in ("'", '"') and len(token) > 1


def _unquote(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1]) if _is_quoted(token) else token


def _read_text(token: str) -> str | None:
    """Return a text, None if it is missing; what stands in quotes is a text, even NA."""
    text = _unquote(token)
    return None if not text or (is_missing(text) and not _is_quoted(token)) else text


def _parse_number(text: str) -> float | None:
    """Return a finite number, nan if it is missing, None for anything else."""
    if is_missing(text):
        return np.nan
    value = float(text) if is_number(text := text.strip(_BLANKS)) else np.inf
    return value if np.isfinite(value) else None


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
        tokens, at = list[str](), 0
        while at < len(inside):
            value = _VALUE.match(inside, at)
            if value is None:
                problem = f"found {show(inside[at:].encode())} where a value of {name!r} belongs: quote values"
                raise MalformedLineError(path, number, 1 + line.index(inside) + at, problem)
            tokens.append(value.group(1))
            at = value.end()
        values = tuple(map(_unquote, tokens))
        # Zeros and ones are numbers, as MULAN declares labels and the presence of words.
        kind: Kind = "number" if set(values) <= {"0", "1"} else "text"
        return Attribute(name, kind, values, _read_text(tokens[0]) if tokens else "0")
    word = type_.split(maxsplit=1)[0].lower()
    if word in _NUMERIC:
        return Attribute(name, "number", None)
    if word == "string":
        return Attribute(name, "text", None)
    problem = f"the attribute {name!r} is of type {show(type_.encode())}: numbers, texts and {{values}} can be read"
    raise MalformedLineError(path, number, 1 + line.rindex(type_), problem)


def read_rows(document: FileBytes, header: Header, kinds: dict[int, Kind]) -> Content:
    """Read dense rows; columns without a requested kind have the declared one."""
    names = [attribute.name for attribute in header.attributes]
    declared: dict[int, Kind | None] = dict(enumerate(_select_kinds(document, header, kinds)))
    content = read_columns(document.name, document.data, header.start, _STYLE, names, declared)
    for number, attribute in enumerate(header.attributes):
        if attribute.values is not None:
            _check_values(document, attribute, content, number)
    return content


def _select_kinds(document: FileBytes, header: Header, kinds: dict[int, Kind]) -> list[Kind]:
    """Return the kinds of all columns; raise if a column of numbers declares values that are none."""
    found = [kinds.get(number, attribute.kind) for number, attribute in enumerate(header.attributes)]
    for attribute, kind in zip(header.attributes, found, strict=True):
        declared = (attribute.values or ()) if kind == "number" else ()
        if wrong := [value for value in declared if _parse_number(value) is None]:
            raise ValueError(
                f"{document.name}: the attribute {attribute.name!r} declares the value {wrong[0]!r}, so it cannot be "
                "read as numbers: read it as text, or correct its declaration"
            )
    return found


def _list_allowed(attribute: Attribute, kind: Kind) -> frozenset[Any] | None:
    """Return the declared values, as numbers or texts; None if any value may occur."""
    if attribute.values is None:
        return None
    return frozenset(attribute.values if kind == "text" else map(_parse_number, attribute.values))


def _check_values(document: FileBytes, attribute: Attribute, content: Content, number: int) -> None:
    field = content.fields[number]
    values = _list_allowed(attribute, "text" if field.is_text else "number") or frozenset()
    if field.categories is None:
        allowed = np.isin(field.values, np.array(list(values), dtype=np.float64))
    else:
        allowed = np.array([*(text in values for text in field.categories), True])[field.values]
    wrong = np.flatnonzero(~(allowed | field.missing))
    if wrong.size:
        problem = _explain_undeclared(attribute, field.objects()[wrong[0]])
        raise MalformedLineError(document.name, *content.locate(int(wrong[0]), number), problem)


def _explain_undeclared(attribute: Attribute, value: str | float) -> str:
    found = value if isinstance(value, str) else f"{value:g}"
    return f"found {found!r} for {attribute.name!r}, which is none of its declared values: correct it"


# --------------------------------------------------------------------------------------------------------- sparse rows


class _Entries(NamedTuple):
    """The entries of sparse rows: row, attribute and value of each, and the lines of the rows."""

    rows: list[int]
    attributes: list[int]
    values: list[float | str | None]
    lines: list[int]


def _read_entries(document: FileBytes, header: Header, kinds: list[Kind]) -> _Entries:
    found = _Entries([], [], [], [])
    allowed = [_list_allowed(attribute, kind) for attribute, kind in zip(header.attributes, kinds, strict=True)]
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
            token, declared = entry.group(2), allowed[attribute]
            value = _parse_number(_unquote(token)) if kinds[attribute] == "number" else _read_text(token)
            mistake = _find_mistake(header.attributes[attribute], kinds[attribute], token, value, declared)
            if mistake is not None:
                raise MalformedLineError(document.name, number, entry.start(2) + 2, mistake)
            found.rows.append(row)
            found.attributes.append(attribute)
            found.values.append(value)
            at, previous = entry.end(), attribute
        found.lines.append(number)
    if not found.lines:
        raise ValueError(f"{document.name} has no rows")
    return found


def _find_mistake(
    attribute: Attribute, kind: Kind, token: str, value: float | str | None, declared: frozenset[Any] | None
) -> str | None:
    """Return what is wrong with the value of an entry, None if nothing is."""
    if value is None and kind == "number":
        return f"found {show(token.encode())} for {attribute.name!r} where a finite number belongs: correct it"
    if declared is None or value is None or value != value or value in declared:
        return None
    return _explain_undeclared(attribute, value)


class SparseRows:
    """Sparse rows in memory, by their entries: columns are made of them when they are asked for.

    Parameters
    ----------
    document : FileBytes
        The file.
    header : Header
        Its declarations.
    kinds : dict of int to {"number", "text"}
        The requested kinds of columns; the others have the declared ones.
    """

    def __init__(self, document: FileBytes, header: Header, kinds: dict[int, Kind]) -> None:
        self._attributes = header.attributes
        self._kinds = _select_kinds(document, header, kinds)
        entries = _read_entries(document, header, self._kinds)
        self._lines = entries.lines
        columns = np.array(entries.attributes, dtype=np.int64)
        order = np.argsort(columns, kind="stable")
        self._rows, self._columns = np.array(entries.rows, dtype=np.int64)[order], columns[order]
        self._values = [entries.values[at] for at in order.tolist()]
        self._bounds = np.searchsorted(self._columns, np.arange(len(header.attributes) + 1))

    def are_numbers(self, columns: list[int]) -> bool:
        """Return whether some columns all hold numbers."""
        return all(self._kinds[number] == "number" for number in columns)

    def content(self, columns: list[int]) -> Content:
        """Return some columns with all of their rows."""
        fields = {number: self._field(number) for number in columns}
        return Content(fields, len(self._lines), lambda row, number: (self._lines[row], 1))

    def matrix(self, columns: list[int]) -> sparse.csr_matrix:
        """Return columns of numbers as a sparse matrix, without its zeros."""
        parts = [self._nonzeros(number) for number in columns]
        values = np.concatenate([values for _, values in parts])
        rows = np.concatenate([rows for rows, _ in parts])
        bounds = np.cumsum([0, *(len(rows) for rows, _ in parts)])
        return sparse.csr_matrix(sparse.csc_matrix((values, rows, bounds), (len(self._lines), len(columns))))

    def _nonzeros(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows of a column of numbers that are not zero, and their values."""
        rows, values = self._entries_of(number)
        if self._omitted_number(number) != 0.0:
            values = self._field(number).values
            rows = np.arange(len(values))
        return rows[values != 0.0], values[values != 0.0]

    def _omitted_number(self, number: int) -> float:
        value = _parse_number(self._attributes[number].omitted or "")
        assert value is not None  # as no kind is selected for which it is
        return value

    def _entries_of(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows of the entries of a column of numbers, and their values."""
        first, last = self._bounds[number : number + 2].tolist()
        return self._rows[first:last], np.array(self._values[first:last], dtype=np.float64)

    def _field(self, number: int) -> Field:
        if self._kinds[number] == "text":
            return self._text_field(number)
        rows, found = self._entries_of(number)
        values = np.full(len(self._lines), self._omitted_number(number))
        values[rows] = found
        return Field(values)

    def _text_field(self, number: int) -> Field:
        first, last = self._bounds[number : number + 2].tolist()
        texts, omitted = self._values[first:last], self._attributes[number].omitted
        categories = sorted({str(text) for text in (omitted, *texts) if text is not None})
        position = {None: -1} | {text: code for code, text in enumerate(categories)}
        codes = np.full(len(self._lines), position[omitted], dtype=np.int64)
        codes[self._rows[first:last]] = [position[text] for text in texts]
        return Field(codes, categories)
