"""``metricwise predict``: predict labels of new samples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import click

from metricwise.cli.console import Console, Outcome, command
from metricwise.cli.disk import disk_options, list_label_files
from metricwise.cli.models import (
    get_table_info,
    load_model,
    read_like_training,
    set_threshold,
    spool_input,
    threshold_option,
)
from metricwise.cli.options import ColumnKey, ColumnList, DataOptions, data_options
from metricwise.cli.outputs import Output, check_outputs, write_text
from metricwise.cli.queries import ranks_queries

_ROWS_PER_PART = 100_000  # text takes more memory than numbers


@click.command(short_help="Predict the labels of new samples.")
@click.argument("model")
@click.argument("data")
@click.option("--out", help="CSV file to write, instead of standard output.")
@click.option(
    "--scores", is_flag=True, help="Add scores; of two classes, above zero means the one that the column names."
)
@click.option("--probabilities", is_flag=True, help="Add the probabilities of the classes, if the model has them.")
@click.option(
    "--keep-columns",
    multiple=True,
    type=ColumnList(),
    help="Columns of DATA to repeat in the result, such as keys or queries: names or positions, separated by commas.",
)
@threshold_option
@disk_options
@data_options
@command
def predict(
    console: Console,
    model: str,
    data: str,
    out: str | None,
    scores: bool,
    probabilities: bool,
    keep_columns: tuple[tuple[ColumnKey, ...], ...],
    threshold: float | None,
    memory_limit: int | str | None,
    data_options: DataOptions,
) -> Outcome:
    """Predict the labels of the samples of DATA by MODEL, or their scores if it ranks the samples of queries.

    Columns are found by name, in any order; others are ignored. In a file without column names, the columns must be in
    the order of training; name the target if there is one.
    """
    written = Output("the file of predictions", out, sequential=True)
    check_outputs([written], [model, data, *list_label_files(data, data_options)])
    trained = load_model(model)
    set_threshold(trained, threshold)
    kept = [which for columns in keep_columns for which in columns]
    with spool_input(data) if kept else nullcontext(data) as path:
        table = read_like_training(console, trained, path, data_options, labelled=False, memory_limit=memory_limit)
        keys = _read_keys(path, kept, data_options) if kept else {}
    columns = _join_columns(keys, _predict_columns(trained, table.X, scores, probabilities))
    if out is not None:
        write_text(out, _format_csv(columns))
        return Outcome(f"{table.n_rows:,} samples; written to {out}", {"rows": table.n_rows, "out": out})
    lists = {name: values.tolist() for name, values in columns.items()}
    return Outcome("".join(_format_csv(columns)).rstrip("\n"), {"rows": table.n_rows, "columns": lists})


def _read_keys(path: str, kept: list[ColumnKey], options: DataOptions) -> dict[str, Any]:
    """Return columns of a file as they are written."""
    import numpy as np

    from metricwise.io.tables import read_texts

    given = {name: value for name, value in options.file_options().items() if name != "zero_based"}
    return {name: np.array(texts, dtype=object) for name, texts in read_texts(path, kept, **given).items()}


def _join_columns(keys: dict[str, Any], predictions: dict[str, Any]) -> dict[str, Any]:
    """Return all columns of the result; raise if a kept column has the name of one of the predictions."""
    both = [name for name in keys if name in predictions]
    if both:
        raise ValueError(
            f"--keep-columns names {both[0]!r}, which is a column of the result, too: rename it in the file"
        )
    return keys | predictions


def _predict_columns(model: Any, X: Any, scores: bool, probabilities: bool) -> dict[str, Any]:
    """Return the columns of the result by name: labels, scores, probabilities."""
    from metricwise.io.columns import restore_integers

    if probabilities and not hasattr(model, "predict_proba"):
        raise ValueError("the model has no probabilities: leave --probabilities out, or ask for --scores")
    if ranks_queries(model):
        return {"score": model.predict(X)}
    labels = model.predict(X)
    labels = labels.toarray() if hasattr(labels, "toarray") else labels
    names = _get_label_names(model, labels)
    found = _split_columns(restore_integers(labels), names)
    classes = [str(label) for label in restore_integers(model.classes_)] if labels.ndim == 1 else names
    if scores:
        if not hasattr(model, "decision_function"):
            raise ValueError("the model has no scores: leave --scores out, or ask for --probabilities")
        values = model.decision_function(X)
        found |= _split_columns(
            values, [f"score of {name}" for name in (classes[-1:] if values.ndim == 1 else classes)]
        )
    if probabilities:
        found |= _split_columns(model.predict_proba(X), [f"probability of {name}" for name in classes])
    return found


def _get_label_names(model: Any, labels: Any) -> list[str]:
    if labels.ndim == 1:
        return ["prediction"]
    count = labels.shape[1]
    named = get_table_info(model).get("target_names")
    return list(named) if named and len(named) == count else [f"label {number}" for number in range(1, count + 1)]


def _split_columns(values: Any, names: list[str]) -> dict[str, Any]:
    columns = values[:, None] if values.ndim == 1 else values
    return {name: columns[:, number] for number, name in enumerate(names)}


def _format_csv(columns: dict[str, Any]) -> Iterator[str]:
    """Yield the text of a CSV file in parts."""
    import csv
    import io

    from metricwise.io.notation import loses_quotes

    n_samples = len(next(iter(columns.values())))
    texts = {text for values in columns.values() if values.dtype.kind in "OU" for text in set(values.tolist())}
    texts |= set(columns)
    # What means another text, or none, without quotes: then all texts have them.
    dialect: Any = {"quoting": csv.QUOTE_NONNUMERIC if any(map(loses_quotes, texts)) else csv.QUOTE_MINIMAL}
    for start in range(0, max(n_samples, 1), _ROWS_PER_PART):
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n", **dialect)
        if start == 0:
            writer.writerow(columns)
        parts = (values[start : start + _ROWS_PER_PART].tolist() for values in columns.values())
        writer.writerows(zip(*parts, strict=True))
        yield buffer.getvalue()
