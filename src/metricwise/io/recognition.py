"""Files that need not be described: their first lines tell how they are written."""

from __future__ import annotations

from typing import Any

from metricwise.io.documents import load_head, recognise_layout
from metricwise.io.streaming import checked_path
from metricwise.io.tables import described_layout


def recognised_options(
    path: str,
    *,
    target: str | int | None = None,
    weight: str | int | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    has_header: bool | None = None,
    zero_based: bool = False,
) -> tuple[dict[str, Any], str]:
    r"""Return what a file has to be opened with, and words for what was recognised.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rows")
    ...     _ = path.write_text("age;height;label\n31;1.7;yes\n40;1.8;no\n")
    ...     options, words = recognised_options(str(path), target="label")
    >>> options["format"], options["delimiter"], words.partition("rows: ")[2]
    ('csv', ';', 'CSV, separated by semicolons, with header')
    """
    name = checked_path(path)
    head = load_head(name, format)
    if head.format == "arff":
        raise ValueError(f"{name} is an ARFF file, which is not read in chunks: read it as a whole, or write it as CSV")
    words: str = head.format
    options: dict[str, Any] = {"format": head.format, "target": target, "zero_based": zero_based}
    options |= {} if weight is None else {"weight": weight}
    if head.format == "csv":
        named = [which for which in (target, weight) if isinstance(which, str)]
        layout = recognise_layout(head, delimiter, has_header, named)
        options |= {"delimiter": layout.separator, "has_header": layout.names is not None}
        words = described_layout(layout)
    packed = ", compressed by gzip" if head.compressed else ""
    return options, f"{name}: {words}{packed}"


def n_columns(path: str, format: str, delimiter: str | None = None) -> int:
    r"""Return the number of columns of a CSV or Parquet file, labels and weights included.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rows.csv")
    ...     _ = path.write_text("age;height;label\n31;1.7;yes\n")
    ...     n_columns(str(path), "csv", ";")
    3
    """
    if format == "parquet":
        from metricwise.io.parquet import open_table

        return len(open_table(path).columns)
    return recognise_layout(load_head(path, format), delimiter, True, ()).n_columns
