"""Labelled rows of a whole file in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise.io.columns import Content, Field
from metricwise.io.encodings import check_encoding
from metricwise.io.files import FileBytes, as_text, load_file
from metricwise.io.labels import read_groups, read_labels, read_weights, restore_labels
from metricwise.io.notation import Decimal, Notations
from metricwise.io.options import check_columns
from metricwise.io.roles import ColumnFinder, Kind, Roles, Which, assign_roles
from metricwise.io.spec import FileSpec, Format, describe_file

_FORMATS: tuple[Format, ...] = ("csv", "svmlight", "arff", "parquet")


@dataclass(frozen=True)
class Table:
    """Labelled rows.

    Parameters
    ----------
    X : data frame or csr_matrix of shape (n_rows, n_features)
        Numbers, nan where missing, and categories; sparse from svmlight files and sparse rows of numbers.
    y : ndarray of shape (n_rows,) or (n_rows, n_labels), or None
        Numbers or texts; zeros and ones for several targets.
    sample_weight : ndarray of shape (n_rows,) or None
        The weights, if a column of weights was named.
    feature_names : tuple of str or None
        The names of the columns of X; None for svmlight files, which have none.
    target_names : tuple of str
        The names of the targets.
    kinds : dict of str to str
        "number" or "text" for every named feature.
    recognised : str
        One sentence on the format that was recognised.
    groups : ndarray of shape (n_rows,) or None
        The groups, if a column of groups was named, or the queries of an svmlight file.
    decimal : str
        The decimal point of its numbers.

    Examples
    --------
    >>> import numpy as np
    >>> table = Table(np.eye(2), np.array([1, 0]), None, None, ("y",), {}, "two rows")
    >>> table.n_rows
    2
    """

    X: Any
    y: NDArray[Any] | None
    sample_weight: NDArray[np.float64] | None
    feature_names: tuple[str, ...] | None
    target_names: tuple[str, ...]
    kinds: dict[str, Kind]
    recognised: str
    groups: NDArray[Any] | None = None
    decimal: Decimal = "."

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])


def read_table(
    path: str | os.PathLike[str],
    *,
    target: Which | Sequence[Which] | None = None,
    weight: Which | None = None,
    groups: Which | None = None,
    columns: Sequence[str] | Mapping[str, Kind] | None = None,
    drop: Sequence[Which] = (),
    labelled: bool = True,
    format: str | None = None,
    delimiter: str | None = None,
    has_header: bool | None = None,
    decimal: str | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    encoding: str | None = None,
) -> Table:
    r"""Read all rows of a file; its format, delimiter and header are recognised.

    Values may be missing: nothing, ``?``, ``NA``, ``N/A``, ``nan`` or ``null``. A column in which something else is no
    number holds categories, unless nearly all of it are numbers: then what is not is an error. Blanks around a text do
    not belong to it, unless they stand in quotes.

    Parameters
    ----------
    path : str or path-like
        A file in the format of svmlight, CSV (divided by commas, semicolons, tabs, bars or blanks), ARFF or Parquet,
        compressed by gzip or not; "-" is standard input.
    target : str, int or sequence of these, default=None
        The columns of labels, by name or position; the last by default, or those that a file of MEKA declares. Several
        make a matrix of zeros and ones. Svmlight rows start with theirs.
    weight : str or int, default=None
        The column of sample weights.
    groups : str or int, default=None
        The column that shows which rows belong together, such as those of one patient; it is no feature. "qid" for the
        queries of an svmlight file, ``label qid:7 1:0.5 ...``, whose rows must follow each other; without it they are
        ignored.
    columns : sequence of str or dict, default=None
        The features by name, in this order; other columns are ignored. A dictionary also gives the kind of each,
        "number" or "text".
    drop : sequence of str or int, default=()
        Columns to leave out, by name or position.
    labelled : bool, default=True
        Whether labels are read. If not, all columns but the weight are features: samples to predict.
    format : {"csv", "svmlight", "arff", "parquet"}, default=None
        Format of the file; recognised by default.
    delimiter : str, default=None
        Delimiter of a CSV file; recognised by default.
    has_header : bool, default=None
        Whether the first line of a CSV file names the columns; recognised by default.
    decimal : {".", ","}, default=None
        The decimal point of the numbers of a CSV file. By default it is a dot, or a comma where a column shows it: all
        of its values are written as numbers with decimal commas, such as 1,5 or 1.234,5.
    n_features : int, default=None
        The number of features. By default, the largest index of an svmlight file.
    zero_based : bool, default=False
        Whether the first feature of an svmlight file has the index 0, not 1.
    encoding : str, default=None
        How the text of a CSV, ARFF or svmlight file is written, such as "latin-1" or "cp1252". By default UTF-8, or
        UTF-16 or UTF-32 if the file starts with its byte order mark.

    Returns
    -------
    Table
        Samples, labels and names, and one sentence on the format that was recognised.

    Raises
    ------
    MalformedLineError
        At the first line that is no row. Other errors in the content of a file are ValueErrors, too.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from metricwise.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "people.csv")
    ...     _ = path.write_text('age;job;y\n31;"clerk";1\n?;cook;0\n40;;0\n')
    ...     table = read_table(path, target="y")
    >>> table.y
    array([1, 0, 0])
    >>> print(table.X)
        age    job
    0  31.0  clerk
    1   NaN   cook
    2  40.0    NaN
    >>> print(table.recognised.partition("people.csv: ")[2])
    CSV, separated by semicolons, with header; 3 rows; features: 1 of numbers (1 value missing), 1 of
    categories (1 value missing); target 'y'
    """
    content = load_file(path, check_encoding(encoding))
    spec = describe_file(
        path,
        _FORMATS,
        content,
        format=format,
        target=target,
        weight=weight,
        groups=groups,
        columns=columns,
        drop=drop,
        n_features=n_features,
        labelled=labelled,
        zero_based=zero_based,
        delimiter=delimiter,
        has_header=has_header,
        decimal=decimal,
        encoding=encoding,
    )
    return _READERS[spec.format](spec, content)


def read_texts(path: str | os.PathLike[str], columns: Sequence[Which], **options: Any) -> dict[str, list[str]]:
    r"""Read some columns of a file as they are written, such as the keys of its rows; nothing where a value is missing.

    Parameters
    ----------
    path : str or path-like
        A CSV, ARFF or Parquet file; "-" is standard input. What a Parquet file does not store as text is written to
        the last digit: durations in seconds, booleans as 0 and 1. Lists and the like are refused.
    columns : sequence of str or int
        The columns, by name or position.
    **options
        ``format``, ``delimiter``, ``has_header``, ``decimal`` and ``encoding``, as of `read_table`.

    Returns
    -------
    dict of str to list of str
        The texts by the names of the columns; those of a file without names are "column 1", "column 2", ...

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "people.csv")
    ...     _ = path.write_text("id,age\n007,31\n008,40\n")
    ...     read_texts(path, ["id"])
    {'id': ['007', '008']}
    """
    content = load_file(path, check_encoding(options.get("encoding")))
    spec = describe_file(path, ("csv", "arff", "parquet"), content, labelled=False, **options)
    read = {"csv": _read_csv_texts, "arff": _read_arff_texts, "parquet": _read_parquet_texts}[spec.format]
    fields = read(spec, content, check_columns("columns", columns))
    return {name: [text or "" for text in field.objects().tolist()] for name, field in fields.items()}


def _read_csv_texts(spec: FileSpec, content: FileBytes, columns: Sequence[Which]) -> dict[str, Field]:
    from metricwise.io.delimited import Style, read_columns

    found = ColumnFinder(spec.path, spec.names, spec.n_columns).find_all("columns", columns)
    names = spec.names or tuple(f"column {number}" for number in range(1, spec.n_columns + 1))
    kinds: dict[int, Kind | None] = dict.fromkeys(found, "text")
    fields = read_columns(spec.path, as_text(content.data), spec.start, Style(spec.delimiter), names, kinds).fields
    return {names[number]: fields[number] for number in found}


def _read_arff_texts(spec: FileSpec, content: FileBytes, columns: Sequence[Which]) -> dict[str, Field]:
    from metricwise.io.arff import SparseRows, read_header, read_rows

    document = content._replace(data=as_text(content.data))
    header = read_header(document)
    names = [attribute.name for attribute in header.attributes]
    found = ColumnFinder(spec.path, names, len(names)).find_all("columns", columns)
    kinds: dict[int, Kind] = dict.fromkeys(found, "text")
    if header.is_sparse:
        fields = SparseRows(document, header, kinds).content(found).fields
    else:
        fields = read_rows(document, header, kinds).fields
    return {names[number]: fields[number] for number in found}


def _read_parquet_texts(spec: FileSpec, content: FileBytes, columns: Sequence[Which]) -> dict[str, Field]:
    from metricwise.io.parquet import open_parquet

    file = open_parquet(BytesIO(content.data), spec.path)
    names = [column.name for column in file.columns]
    found = ColumnFinder(spec.path, names, len(names)).find_all("columns", columns)
    return dict(zip((names[number] for number in found), file.read(found, as_texts=found), strict=True))


# ------------------------------------------------------------------------------------------------------------- formats


def _read_svmlight(spec: FileSpec, content: FileBytes) -> Table:
    from metricwise.io.svmlight import read_svmlight

    X, y, queries = read_svmlight(spec, BytesIO(content.data))
    density = f"{100.0 * X.nnz / max(X.shape[0] * X.shape[1], 1):.3g} % of them not zero"
    words = f"{spec.description}; {X.shape[0]:,} rows; {X.shape[1]:,} features, {density}"
    if queries is not None:
        words += f"; {np.unique(queries).size:,} queries"
    labels = restore_labels(spec.path, y) if spec.roles.labelled else None
    return Table(X, labels, None, None, ("label",), {}, words, queries)


def _read_csv(spec: FileSpec, content: FileBytes) -> Table:
    from metricwise.io.delimited import Style, guess_commas, guess_kinds, read_columns

    count = spec.n_columns
    roles = assign_roles(spec.path, spec.names, count, spec.roles)
    names = spec.names or tuple(f"column {number}" for number in range(1, count + 1))
    kinds = guess_kinds(spec, roles)
    # Commas that divide fields are decimal points only where that is certain.
    is_certain = spec.decimal is not None or spec.delimiter != ","
    notations = Notations(spec.decimal if is_certain else ".", guess_commas(spec, roles))
    text, style = as_text(content.data), Style(spec.delimiter)
    found = read_columns(spec.path, text, spec.start, style, names, kinds, notations)
    return _assemble(spec, roles, found, replace(spec, decimal=found.decimal).description)


def _read_arff(spec: FileSpec, content: FileBytes) -> Table:
    from metricwise.io.arff import SparseRows, read_header, read_rows

    document = content._replace(data=as_text(content.data))
    header = read_header(document)
    names = [attribute.name for attribute in header.attributes]
    options = spec.roles
    if options.target is None and header.labels:
        labels = header.labels
        declared = range(labels) if labels > 0 else range(len(names) + labels, len(names))
        options = options._replace(target=tuple(declared))
    roles = assign_roles(spec.path, names, len(names), options)
    if not header.is_sparse:
        columns = read_rows(document, header, roles.kinds)
        return _assemble(spec, roles, columns, spec.description.replace(": arff", ": ARFF"))
    words, rows = spec.description.replace(": arff", ": sparse ARFF"), SparseRows(document, header, roles.kinds)
    if not rows.are_numbers(roles.features):
        return _assemble(spec, roles, rows.content(roles.used), words)
    features = set(roles.features)
    others = [number for number in roles.used if number not in features]
    return _assemble(spec, roles, rows.content(others), words, rows.matrix(roles.features))


def _read_parquet(spec: FileSpec, content: FileBytes) -> Table:
    from metricwise.io.parquet import open_parquet, read_columns

    file = open_parquet(BytesIO(content.data), spec.path)
    names = [column.name for column in file.columns]
    roles = assign_roles(spec.path, names, len(names), spec.roles)
    return _assemble(spec, roles, read_columns(spec.path, file, roles), spec.description)


_READERS = {"svmlight": _read_svmlight, "csv": _read_csv, "arff": _read_arff, "parquet": _read_parquet}


# ------------------------------------------------------------------------------------------------------------ assembly


def _assemble(
    spec: FileSpec, roles: Roles, content: Content, words: str, matrix: sparse.csr_matrix | None = None
) -> Table:
    """Return the table of columns in memory; its features are those of a matrix of numbers if there is one."""
    weights = None if roles.weight is None else read_weights(spec.path, content, roles.weight)
    y = read_labels(spec.path, roles, content)
    if matrix is None:
        features = [content.fields[number] for number in roles.features]
        are_texts, counts = [field.is_text for field in features], _count_kinds(features)
    else:
        are_texts, counts = [False] * matrix.shape[1], _count_kind(matrix.shape[1], "numbers", np.isnan(matrix.data))
    kinds: dict[str, Kind] = {
        name: "text" if is_text else "number" for name, is_text in zip(roles.feature_names, are_texts, strict=True)
    }
    description = [f"{words}; {content.n_rows:,} rows", f"features: {counts}"]
    if roles.targets:
        description.append(f"target{'s' * (len(roles.targets) > 1)} {', '.join(map(repr, roles.target_names[:20]))}")
    groups = None if roles.groups is None else read_groups(spec.path, content, roles.groups)
    if groups is not None:
        description.append(f"{np.unique(groups).size:,} groups")
    X = _make_frame(roles, content) if matrix is None else matrix
    names, sentence = (roles.feature_names, roles.target_names), "; ".join(description)
    return Table(X, y, weights, *names, kinds, sentence, groups, content.decimal)


def _count_kinds(features: list[Field]) -> str:
    parts = []
    for is_text, word in ((False, "numbers"), (True, "categories")):
        some = [field for field in features if field.is_text == is_text]
        if some:
            parts.append(_count_kind(len(some), word, *(field.missing for field in some)))
    return ", ".join(parts)


def _count_kind(count: int, word: str, *missing: NDArray[np.bool_]) -> str:
    absent = int(sum(np.count_nonzero(mask) for mask in missing))
    note = f" ({absent:,} value{'s' * (absent != 1)} missing)" if absent else ""
    return f"{count:,} of {word}{note}"


def _make_frame(roles: Roles, content: Content) -> Any:
    import pandas as pd

    names, features = roles.feature_names, [content.fields[number] for number in roles.features]
    if not any(field.is_text for field in features):
        return pd.DataFrame(content.matrix(roles.features), columns=list(names), copy=False)
    data = {
        name: pd.Categorical.from_codes(field.values, field.categories) if field.is_text else field.values
        for name, field in zip(names, features, strict=True)
    }
    return pd.DataFrame(data)
