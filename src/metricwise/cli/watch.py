"""``metricwise watch``: watch whether the guarantees of a model are kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from metricwise.cli.console import Console, Outcome, command, format_table
from metricwise.cli.models import (
    get_table_info,
    is_read_once,
    load_model,
    read_like_training,
    spool_input,
)
from metricwise.cli.options import Column, ColumnKey, DataOptions, Number, data_options
from metricwise.cli.outputs import Output, check_outputs, write_text
from metricwise.cli.reviews import sends_to_review

if TYPE_CHECKING:
    from metricwise import GuaranteeMonitor

ALARM = 3  # exit code


class _Columns(NamedTuple):
    """The columns that the options name."""

    prediction: ColumnKey | None
    score: ColumnKey | None
    order: ColumnKey | None


class _Outcomes(NamedTuple):
    """True and predicted labels of samples, and their scores; None if there are none."""

    truth: Any
    predicted: Any
    scores: Any = None


@click.command(short_help="Watch whether the guarantees of a model are kept.")
@click.argument("model")
@click.argument("outcomes")
@click.option(
    "--prediction", type=Column(), help="Column of predicted labels; by default MODEL predicts from the features."
)
@click.option("--score", type=Column(), help="Column of scores, those of predict --scores; only with --prediction.")
@click.option(
    "--order", type=Column(), help="Column of times or ascending numbers: outcomes out of order, or seen, are refused."
)
@click.option(
    "--alpha",
    default=0.05,
    show_default=True,
    type=Number(0, 1, min_open=True, max_open=True),
    help="Probability of a false alarm, however long the watch lasts.",
)
@click.option("--state", help="File that keeps the watch: it is continued if the file exists, and then written.")
@click.option("--html", help="Page to write, with the course of each guarantee.")
@data_options
@command
def watch(
    console: Console,
    model: str,
    outcomes: str,
    prediction: ColumnKey | None,
    score: ColumnKey | None,
    order: ColumnKey | None,
    alpha: float,
    state: str | None,
    html: str | None,
    data_options: DataOptions,
) -> Outcome:
    """Test whether the guarantees of MODEL are kept on OUTCOMES, samples in the order in which their labels came.

    MODEL was trained with --subject-to. Labels are in the column of training, or in that of --target. With --state,
    later outcomes continue the watch; the file given last is not counted twice. Exit code 3 means an alarm.
    """
    import metricwise
    from metricwise.reporting.watching import watch_page

    check_outputs([Output("the state", state), Output("the page", html, sequential=True)], [model, outcomes])
    if score is not None and prediction is None:
        raise click.UsageError(
            "--score is for predictions of a column: name that by --prediction, or leave --score out"
        )
    trained = load_model(model)
    fresh = metricwise.GuaranteeMonitor(trained, alpha)
    has_reference = fresh.score_warning is not None
    if score is not None and not has_reference:
        raise ValueError(f"{model} has no scores to compare with, only models with a guarantee have: leave --score out")
    if score is not None and len(trained.classes_) > 2:
        raise ValueError(
            f"{model} has a score for each of {len(trained.classes_)} classes, and no column has them: leave "
            "--score out, and --prediction, too, for the model to predict and score the samples"
        )
    with spool_input(outcomes) as path:
        monitor = fresh if state is None else _resume(state, fresh, path, outcomes)
        n_before = monitor.n_seen
        columns = _Columns(prediction, score, order)
        found = _read_outcomes(console, trained, path, data_options, columns)
        positions = None if order is None else _read_positions(path, order, data_options)
        monitor.update(found.truth, found.predicted, found.scores if has_reference else None, order=positions)
        if state is not None:
            metricwise.save(monitor, state, command=click.get_current_context().find_root().obj, data=Path(path))
    source = "standard input" if is_read_once(outcomes) else outcomes
    if html is not None:
        write_text(html, [watch_page(monitor, f"The guarantees of {model} on {source}")])
    return _describe(monitor, n_before, source)


def _resume(state: str, fresh: GuaranteeMonitor, path: str, outcomes: str) -> GuaranteeMonitor:
    """Return the watch of a state file, or a fresh one if there is no file; refuse other watches and the same file."""
    import metricwise
    from metricwise.persistence import describe, fingerprint

    if not os.path.exists(state):
        return fresh
    monitor = metricwise.load(state)
    if not isinstance(monitor, metricwise.GuaranteeMonitor):
        raise ValueError(f"{state} is a model and no state of a watch: name another file by --state")
    if not monitor.is_like(fresh):
        raise ValueError(
            f"{state} is the state of another watch, of {monitor!r} at --alpha {monitor.alpha:g}: give its model and "
            "its --alpha, or name another file by --state to start anew"
        )
    last = describe(state).data
    if last is not None and last.get("sha256") == fingerprint(Path(path)).get("sha256"):
        raise ValueError(f"{outcomes} has been counted already: it is the file that {state} was written for")
    return monitor


def _read_outcomes(console: Console, model: Any, path: str, options: DataOptions, columns: _Columns) -> _Outcomes:
    import numpy as np

    if columns.prediction is None:
        table = read_like_training(console, model, path, options, labelled=True)
        truth: Any = np.asarray(table.y)
        if truth.dtype.kind in "UO":
            truth = _convert_labels(list(map(str, truth.tolist())), model, path, "the labels")
        elif truth.ndim == 1 and truth.size:
            _refuse_unknown(truth, model, path)
        with console.progress("predicting"):
            return _Outcomes(truth, model.predict(table.X), model.decision_function(table.X))
    targets = list(options.target) or get_table_info(model).get("target") or []
    if len(targets) > 1:
        raise click.UsageError("the model predicts several targets from the features: leave --prediction out")
    if not targets:
        raise click.UsageError("name the column of the true labels by --target")
    named = [targets[0], columns.prediction, *([] if columns.score is None else [columns.score])]
    texts = [_read_column(path, which, options) for which in named]
    truth = _convert_labels(texts[0], model, path, f"column {named[0]!r}")
    predicted = _convert_labels(texts[1], model, path, f"column {named[1]!r}", _list_review_label(model))
    return _Outcomes(truth, predicted, None if columns.score is None else _read_scores(texts[2], path))


def _read_column(path: str, which: ColumnKey, options: DataOptions) -> list[str]:
    """Return a column as it is written."""
    from metricwise.io.tables import read_texts

    given = {name: value for name, value in options.file_options().items() if name != "zero_based"}
    (column,) = read_texts(path, [which], **given).values()
    return column


def _convert_labels(texts: list[str], model: Any, path: str, where: str, review: tuple[Any, ...] = ()) -> list[Any]:
    """Return the labels that texts stand for, also that of reviews; raise if one is missing or unknown."""
    from metricwise.io.columns import restore_integers

    known = {str(label): label for label in model.classes_.tolist()}
    known |= {str(shown): label for shown, label in zip(restore_integers(model.classes_), known.values(), strict=True)}
    known |= {str(label): label for label in review}
    # The same number may be written in another way, as the decimals of databases are: 1.00.
    numbers = {float(label): label for label in model.classes_.tolist()} if model.classes_.dtype.kind in "iuf" else {}
    labels = [known.get(text, numbers.get(float(text)) if _is_number(text) else None) for text in texts]
    for row, (text, label) in enumerate(zip(texts, labels, strict=True), start=1):
        if label is None:
            problem = f"has the unknown label {text!r}" if text else "has no label"
            raise ValueError(
                f"{path}: {where} {problem} in row {row}; labels of the model are {', '.join(dict.fromkeys(known))}. "
                "Give outcomes when both labels are known"
            )
    return labels


def _refuse_unknown(truth: Any, model: Any, path: str) -> None:
    """Raise if a label is none of the model, with its row."""
    known = model.classes_.tolist()
    unknown = next((row for row, label in enumerate(truth.tolist(), start=1) if label not in known), None)
    if unknown is not None:
        label = truth.tolist()[unknown - 1]
        raise ValueError(
            f"{path}: the label of row {unknown} is {label!r}, and labels of the model are "
            f"{', '.join(map(repr, known))}. Give outcomes when they are known"
        )


def _list_review_label(model: Any) -> tuple[Any, ...]:
    return (model.review_label_,) if sends_to_review(model) else ()


def _read_scores(texts: list[str], path: str) -> list[float]:
    for row, value in enumerate(texts, start=1):
        if not _is_number(value):
            raise ValueError(f"{path}: the score in row {row} is no number: {value!r}")
    return [float(value) for value in texts]


def _read_positions(path: str, order: ColumnKey, options: DataOptions) -> list[Any]:
    """Return times or numbers of the outcomes: numbers if all of them are, else texts."""
    texts = _read_column(path, order, options)
    if not all(texts):
        raise ValueError(f"{path}: column {order!r} of --order has no value in row {texts.index('') + 1}")
    return [float(value) for value in texts] if all(map(_is_number, texts)) else texts


def _is_number(value: str) -> bool:
    import math

    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def _describe(monitor: GuaranteeMonitor, n_before: int, source: str) -> Outcome:
    from metricwise.reporting.markup import count_of
    from metricwise.reporting.watching import describe_alarm, describe_scores, short_limit

    records = [
        {
            **one._asdict(),
            "alarm": one.alarm_at is not None,
            "alarm_row": None if one.alarm_at is None or one.alarm_at <= n_before else one.alarm_at - n_before,
        }
        for one in monitor.status
    ]
    total = f"{count_of(monitor.n_seen, 'outcome')}, {monitor.n_seen - n_before:,} of them from {source}"
    heading = f"{100.0 * (1.0 - monitor.alpha):g} % interval"
    head = ["guarantee", "counted", "share", heading, f"evidence (alarm: {short_limit(monitor)})", "alarm"]
    rows = [
        [
            one["guarantee"],
            f"{one['n_counted']:,}",
            f"{one['share']:.4f}" if one["n_counted"] else "",
            "{:.4f} to {:.4f}".format(*one["interval"]),
            f"{one['wealth']:.3g}",
            _describe_place(one),
        ]
        for one in records
    ]
    lines = [total, format_table(head, rows), describe_alarm(monitor), describe_scores(monitor)]
    facts = {
        "outcomes": monitor.n_seen,
        "new": monitor.n_seen - n_before,
        "alarm": monitor.alarm,
        "guarantees": records,
        "score_warning": monitor.score_warning,
        "score_warning_at": monitor.score_warning_at,
        "alpha": monitor.alpha,
    }
    return Outcome("\n".join(line for line in lines if line), facts, ALARM if monitor.alarm else 0)


def _describe_place(record: dict[str, Any]) -> str:
    if record["alarm_at"] is None:
        return "no"
    row = record["alarm_row"]
    return f"outcome {record['alarm_at']:,}" + ("" if row is None else f", row {row:,}")
