"""Load models, and read tables in the layout that a model was trained on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from metricwise.cli.algorithms import Settings, parse_label
from metricwise.cli.console import Console
from metricwise.cli.disk import has_separate_labels, open_table
from metricwise.cli.options import ColumnKey, DataOptions, Number
from metricwise.cli.reviews import sends_to_review

if TYPE_CHECKING:
    from metricwise.io import Table


def store_table_info(
    model: Any,
    table: Table | None,
    options: DataOptions,
    settings: Settings,
    n_features: int | None,
    drop: Sequence[ColumnKey] = (),
    queries: ColumnKey | None = None,
) -> None:
    """Store with a model how its table was read and what it was trained for, for later tables.

    ``queries`` is the column of the queries of a ranker.
    """
    model.table_ = {
        "columns": dict(table.kinds) if table is not None and table.kinds else None,
        "n_features": n_features,
        "target": list(options.target) or None,
        "target_names": None if table is None else list(table.target_names),
        "weight": options.weight,
        "drop": list(drop),
        "decimal": options.decimal if table is None else table.decimal,
        "measure": settings.measure,
        "pos_label": settings.pos_label,
    } | ({} if queries is None else {"queries": queries})


def load_model(path: str) -> Any:
    """Load a model file."""
    import metricwise

    model = metricwise.load(path)
    if isinstance(model, metricwise.GuaranteeMonitor):
        raise ValueError(f"{path} is the state of a watch and no model: give the model file")
    return model


def threshold_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option --threshold to a command that predicts."""
    text = "Predict by another threshold than the model's: a probability where it has probabilities, else a score."
    return click.option("--threshold", type=Number(), help=text)(function)


def set_threshold(model: Any, threshold: float | None) -> None:
    """Set the threshold of a loaded model, whose file stays as it is; None leaves it.

    Raises
    ------
    ValueError
        If the model has no threshold, or one that this number does not fit.
    """
    if threshold is None:
        return
    from metricwise.reporting.models import layers

    if sends_to_review(model):
        raise ValueError("the model has two thresholds, between which samples are reviewed: leave --threshold out")
    last = next((one for one in layers(model) if getattr(one, "threshold_", None) is not None), None)
    if last is None:
        raise ValueError(f"a {type(model).__name__} predicts without a threshold: leave --threshold out")
    last.threshold_ = threshold


def find_missing_measure(model: Any) -> str | None:
    """Return the name of a model's measure if that is a function of the user's, which no model file holds."""
    from metricwise.measures.function_measures import find_function_measure
    from metricwise.reporting.models import measure_of

    own = find_function_measure(measure_of(model, several=False)[0])
    return None if own is None else own.name


def get_table_info(model: Any) -> dict[str, Any]:
    """Return what `store_table_info` stored with a model; empty if nothing was."""
    found = getattr(model, "table_", None)
    return found if isinstance(found, dict) else {}


def read_pos_label(model: Any, text: str | None) -> Any:
    """Return the positive class that the option names or, without it, the training did; None if neither."""
    if text is None:
        return get_table_info(model).get("pos_label")
    return parse_label(text, model.classes_.tolist())


def read_like_training(
    console: Console,
    model: Any,
    path: str,
    options: DataOptions,
    *,
    labelled: bool,
    weighted: bool = False,
    groups: ColumnKey | None = None,
    memory_limit: int | str | None = None,
) -> Table:
    """Return a table with the columns of a model, by name and in the model's order.

    Parameters
    ----------
    console : Console
        Notes how the file was read.
    model : fitted classifier
        The model.
    path : str
        The file.
    options : DataOptions
        How to read it.
    labelled : bool
        Whether the file has labels, by default in the column of training.
    weighted : bool
        Whether weights are by default in the column of training, as samples of that training have to have them.
    groups : column, optional
        Column of the groups of the samples.
    memory_limit : int or str, optional
        The samples stay on disk, in blocks of so much memory; the columns must then be in the order of training.
    """
    if memory_limit is not None:
        if groups is not None:
            raise click.UsageError("--groups is for samples in memory: leave --disk out, or --groups")
        table = _open_like_training(console, model, path, options, labelled, weighted, memory_limit)
    else:
        table = _read_like_training(console, model, path, options, labelled, weighted, groups)
    console.note(table.recognised)
    return table


def _read_like_training(
    console: Console,
    model: Any,
    path: str,
    options: DataOptions,
    labelled: bool,
    weighted: bool,
    groups: ColumnKey | None,
) -> Table:
    from metricwise.io import read_table

    notes = get_table_info(model)
    columns: Any = notes.get("columns") or _feature_names(model)
    target: Any = list(options.target) or (notes.get("target") if labelled else [])
    weight = options.weight if options.weight is not None or not weighted else notes.get("weight")
    with console.progress(f"reading {path}"):
        return read_table(
            path,
            target=None if target is None else tuple(target),
            weight=weight,
            groups=groups,
            columns=columns,
            # Columns with names are found by these; those of a file without names are at the places of training.
            drop=[which for which in notes.get("drop", ()) if isinstance(which, int) and which != groups],
            n_features=None if columns else notes.get("n_features", getattr(model, "n_features_in_", None)),
            **_like_training(options, notes).file_options(),
        )


def _like_training(options: DataOptions, notes: dict[str, Any]) -> DataOptions:
    """Return options with the decimal comma of the file of training, unless a decimal point is given."""
    has_comma = options.decimal is None and notes.get("decimal") == ","
    return replace(options, decimal=",") if has_comma else options


def _scores_blocks(model: Any) -> bool:
    """Return whether a model scores samples on disk: it is linear, or selected for samples of numbers alone."""
    from metricwise.estimators.linear import LinearClassifier
    from metricwise.registry import trains_on

    if isinstance(model, LinearClassifier):
        return True
    return trains_on(model, "disk") and set(get_table_info(model).get("columns", {}).values()) <= {"number"}


def _open_like_training(
    console: Console,
    model: Any,
    path: str,
    options: DataOptions,
    labelled: bool,
    weighted: bool,
    memory_limit: int | str,
) -> Table:
    if not _scores_blocks(model):
        raise ValueError(
            f"the model is a {type(model).__name__}, which preprocesses its samples in memory: leave --disk "
            "out, or train with --disk or --stream"
        )
    if hasattr(model, "hashed_columns_"):
        raise ValueError("the model hashes words and categories of samples in memory: leave --disk out")
    # The labels of an array are always in a file of their own, wherever those of training were.
    notes = {} if has_separate_labels(path) else get_table_info(model)
    target = options.target or tuple(notes.get("target") or ())
    weight = options.weight if options.weight is not None or not weighted else notes.get("weight")
    with console.progress(f"opening {path}"):
        table = open_table(
            path,
            _like_training(options, notes),
            memory_limit,
            target,
            weight,
            drop=get_table_info(model).get("drop", ()),
            n_features=getattr(model, "n_features_in_", None),
            may_lack_labels=not labelled and not options.target,
            # Certify the samples of training; predictions need one line per row of the file.
            on_error=get_table_info(model).get("on_error", "raise") if labelled else "raise",
        )
    if labelled and table.y is None:
        raise click.UsageError(f"{path} has no labels: name the .npy file that has them by --target")
    return table


def _feature_names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def estimate_n_rows(path: str) -> float | None:
    """Return the number of rows estimated from the length of the first lines; None if the file is compressed."""
    from metricwise.io.files import load_head

    head = load_head(path)
    if head.is_compressed or head.data.startswith(b"PAR1"):
        return None
    return os.path.getsize(path) * head.data.count(b"\n") / len(head.data)


def is_read_once(path: str) -> bool:
    """Return whether data are standard input, a pipe or a device, which have nothing left after they are read."""
    return path == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))


@contextmanager
def spool_input(path: str) -> Iterator[str]:
    """Yield a path that can be read repeatedly: standard input and pipes are copied to a temporary file."""
    if not is_read_once(path):
        yield path
        return
    import shutil

    from metricwise.io.files import get_standard_input

    handle, name = tempfile.mkstemp(prefix="metricwise-", suffix=".input")
    try:
        with ExitStack() as stack:
            file = stack.enter_context(os.fdopen(handle, "wb"))
            source = get_standard_input() if path == "-" else stack.enter_context(open(path, "rb"))
            shutil.copyfileobj(source, file)
        yield name
    finally:
        os.unlink(name)
