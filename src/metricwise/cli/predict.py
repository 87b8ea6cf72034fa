"""``metricwise predict``: labels for new rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from metricwise.cli.console import Console, Outcome, command
from metricwise.cli.disk import disk_options
from metricwise.cli.models import check_output, load_model, notes_of, read_like_training, write_text
from metricwise.cli.options import DataOptions, data_options

_ROWS_AT_ONCE = 100_000  # as text, which is larger than numbers


@click.command(short_help="Predict the labels of new rows.")
@click.argument("model")
@click.argument("data")
@click.option("--out", help="Write a CSV file, instead of to standard output.")
@click.option("--scores", is_flag=True, help="Add scores: above zero means positive.")
@click.option("--probabilities", is_flag=True, help="Add the probabilities of the classes, if the model has them.")
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
    memory_limit: int | str | None,
    data_options: DataOptions,
) -> Outcome:
    """Predict the labels of the rows of DATA by MODEL.

    Columns are found by their names, in any order; others are left alone. In a file without names, the columns must be
    those of training; name the target if there is one.
    """
    if out is not None:
        check_output(out, "the file of predictions")
    trained = load_model(model)
    table = read_like_training(console, trained, data, data_options, labelled=False, memory_limit=memory_limit)
    columns = _columns(trained, table.X, scores, probabilities)
    if out is not None:
        write_text(out, _csv(columns))
        return Outcome(f"{table.n_rows:,} rows; written to {out}", {"rows": table.n_rows, "out": out})
    data_of = {name: values.tolist() for name, values in columns.items()}
    return Outcome("".join(_csv(columns)).rstrip("\n"), {"rows": table.n_rows, "columns": data_of})


def _columns(model: Any, X: Any, scores: bool, probabilities: bool) -> dict[str, Any]:
    """Return what is predicted, by the names of the columns of the result."""
    from metricwise.io.tables import whole_numbers

    labels = model.predict(X)
    labels = labels.toarray() if hasattr(labels, "toarray") else labels
    names = _label_names(model, labels)
    found = _spread(whole_numbers(labels), names)
    classes = [str(label) for label in whole_numbers(model.classes_)] if labels.ndim == 1 else names
    if scores:
        if not hasattr(model, "decision_function"):
            raise ValueError("the model has no scores: leave --scores out, or ask for --probabilities")
        values = model.decision_function(X)
        found |= _spread(values, [f"score of {name}" for name in (classes[-1:] if values.ndim == 1 else classes)])
    if probabilities:
        if not hasattr(model, "predict_proba"):
            raise ValueError("the model has no probabilities: leave --probabilities out, or ask for --scores")
        found |= _spread(model.predict_proba(X), [f"probability of {name}" for name in classes])
    return found


def _label_names(model: Any, labels: Any) -> list[str]:
    if labels.ndim == 1:
        return ["prediction"]
    count = labels.shape[1]
    named = notes_of(model).get("target_names")
    return list(named) if named and len(named) == count else [f"label {number}" for number in range(1, count + 1)]


def _spread(values: Any, names: list[str]) -> dict[str, Any]:
    columns = values[:, None] if values.ndim == 1 else values
    return {name: columns[:, number] for number, name in enumerate(names)}


def _csv(columns: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a CSV file, many at a time."""
    import csv
    import io

    n_samples = len(next(iter(columns.values())))
    for start in range(0, max(n_samples, 1), _ROWS_AT_ONCE):
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        if start == 0:
            writer.writerow(columns)
        parts = (values[start : start + _ROWS_AT_ONCE].tolist() for values in columns.values())
        writer.writerows(zip(*parts, strict=True))
        yield buffer.getvalue()
