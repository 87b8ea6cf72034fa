"""``metricwise train``: from a data file to a model file."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from metricwise.cli import algorithms
from metricwise.cli.algorithms import AlgorithmName, Settings, describe_algorithms
from metricwise.cli.console import Console, Outcome, Progress, command
from metricwise.cli.disk import disk_options, labels_beside, open_table
from metricwise.cli.models import check_output, note_table, on_disk
from metricwise.cli.options import Constraint, DataOptions, MeasureText, Seconds, data_options

_ROWS_BETWEEN_CHECKPOINTS = 100_000


@click.command(short_help="Train a model for a measure.", epilog=describe_algorithms())
@click.argument("data")
@click.option(
    "--measure", default="f1", show_default=True, type=MeasureText(), help="What to train for, as in f-beta:2."
)
@click.option("--out", required=True, help="The model file to write.")
@click.option("--algorithm", default="auto", show_default=True, type=AlgorithmName(), help="See the list below.")
@click.option(
    "--learner",
    default="logistic",
    show_default=True,
    type=click.Choice(algorithms.LEARNERS),
    help="What plug-in, cost-sensitive and the algorithms of several labels wrap.",
)
@click.option("-C", "C", type=click.FloatRange(min=0.0, min_open=True), help="The price of a mistake.")
@click.option("--n-features", type=click.IntRange(min=1), help="Most features that feature-selecting-svm chooses.")
@click.option(
    "--subject-to", multiple=True, type=Constraint(), help='A promise to keep on new rows, as in "precision>=0.9".'
)
@click.option("--confidence", default=0.95, show_default=True, type=click.FloatRange(0, 1, True, True))
@click.option("--stream", is_flag=True, help="Read the file in chunks, for files larger than memory.")
@click.option("--passes", default=1, show_default=True, type=click.IntRange(min=1), help="Passes over a stream.")
@click.option("--classes", help="All labels of a stream, divided by commas; by default those of its first rows.")
@click.option(
    "--on-error",
    default="raise",
    show_default=True,
    type=click.Choice(["raise", "skip"]),
    help="What becomes of a malformed line with --stream or --disk: an error, or it is left out, with a warning.",
)
@click.option(
    "--checkpoint", help="Where the state of training is kept; OUT.checkpoint by default with --stream and --disk."
)
@click.option("--time-budget", type=Seconds(), help="Most time for training, as in 5m.")
@click.option("--pos-label", help="The positive class of two; the last in order by default.")
@click.option("--seed", default=0, show_default=True)
@disk_options
@data_options
@click.pass_context
@command
def train(
    console: Console,
    ctx: click.Context,
    data: str,
    measure: str,
    out: str,
    algorithm: str,
    stream: bool,
    passes: int,
    classes: str | None,
    on_error: Literal["raise", "skip"],
    memory_limit: int | str | None,
    data_options: DataOptions,
    **options: Any,
) -> Outcome:
    """Train a model on DATA for the measure it will be judged by.

    An interrupted training with a checkpoint goes on where it was when the same command is given again.
    """
    settings = Settings(measure, **options)
    disk = memory_limit is not None
    if disk and algorithm == "auto":
        algorithm = algorithms.ON_DISK
        console.note(f"auto: {algorithm} trains on rows on disk")
    algorithms.check_usage(algorithm, settings, len(data_options.target) > 1, stream, disk)
    _check_options_of_streams(stream, disk, passes, classes, on_error)
    check_output(out, "the model file")
    started = time.perf_counter()
    if stream:
        with on_disk(data) as path:
            job = _Stream(console, path, data_options, passes, classes, on_error)
            model, facts = job.run(algorithm, settings, f"{out}.checkpoint")
            _save(ctx.obj, model, out, path)
    elif memory_limit is not None:
        model, facts = _train_on_disk(console, data, algorithm, settings, data_options, memory_limit, on_error, out)
        _save(ctx.obj, model, out, data)
    else:
        model, facts = _train_in_memory(console, data, algorithm, settings, data_options)
        _save(ctx.obj, model, out, data if data != "-" else None)
    facts |= {"model": out, "measure": measure, "seconds": time.perf_counter() - started}
    facts |= _what_to_expect(model)
    return Outcome(_told(model, facts), facts)


def _check_options_of_streams(stream: bool, disk: bool, passes: int, classes: str | None, on_error: str) -> None:
    """Raise if an option was given that would be without effect."""
    if not stream and (passes != 1 or classes is not None):
        name = "--classes" if passes == 1 else "--passes"
        raise click.UsageError(f"{name} is for --stream: add it, or leave {name} out")
    if on_error == "skip" and not (stream or disk):
        raise click.UsageError("--on-error is for --stream and --disk: add one of them, or correct the file")


def _save(typed: str, model: Any, out: str, data: str | None) -> None:
    import metricwise

    metricwise.save(model, out, command=typed, data=None if data is None else Path(data))


def _train_in_memory(
    console: Console, data: str, algorithm: str, settings: Settings, options: DataOptions
) -> tuple[Any, dict[str, Any]]:
    from metricwise.io import read_table

    with console.progress(f"reading {data}"):
        table = read_table(data, target=options.target or None, weight=options.weight, **options.file_options())
    console.note(table.recognised)
    assert table.y is not None
    several = table.y.ndim == 2
    algorithms.check_usage(algorithm, settings, several, stream=False, disk=False)
    if not several and settings.pos_label is not None:
        settings = replace(settings, pos_label=algorithms.label_of(settings.pos_label, sorted(set(table.y.tolist()))))
    weighted = {} if table.sample_weight is None else {"sample_weight": table.sample_weight}
    if settings.checkpoint is not None:
        if algorithms.entry_of_algorithm(algorithm).family == "streaming":
            settings = replace(settings, every=_ROWS_BETWEEN_CHECKPOINTS)
        console.if_stopped = f"stopped; the same command goes on from {settings.checkpoint}, if it was reached"
    with console.progress(f"training {algorithm} for {settings.measure}") as progress:
        settings = replace(settings, callback=_teller(progress))
        model = algorithms.build(algorithm, settings, table.X).fit(table.X, table.y, **weighted)
    if hasattr(model, "callback"):
        model.callback = None  # no part of the model
    n_features = None if table.kinds else int(table.X.shape[1])
    note_table(model, table, options, settings, n_features)
    facts = {"algorithm": algorithm, "rows": table.n_rows, "features": int(table.X.shape[1]), "data": table.recognised}
    return model, facts


def _train_on_disk(
    console: Console,
    path: str,
    algorithm: str,
    settings: Settings,
    options: DataOptions,
    memory_limit: int | str,
    on_error: Literal["raise", "skip"],
    out: str,
) -> tuple[Any, dict[str, Any]]:
    import numpy as np

    with console.progress(f"opening {path}"):
        table = open_table(path, options, memory_limit, options.target, on_error=on_error)
    console.note(f"{table.recognised}, and numbers are taken as they are: scale the features if their sizes differ")
    if table.y is None:
        raise click.UsageError(f"{path} has no labels: name the .npy file that has them by --target")
    if settings.pos_label is not None:
        settings = replace(settings, pos_label=algorithms.label_of(settings.pos_label, np.unique(table.y).tolist()))
    if algorithms.entry_of_algorithm(algorithm).checkpoints:
        settings = replace(settings, checkpoint=settings.checkpoint or f"{out}.checkpoint")
        console.if_stopped = (
            f"stopped; the same command goes on from {settings.checkpoint}, which is written twice a minute"
        )
        if Path(str(settings.checkpoint)).exists():
            console.note(f"going on from {settings.checkpoint}")
    model = algorithms.trained(algorithm, settings)
    with console.progress(f"training {algorithm} for {settings.measure}") as progress:
        model.callback = _batch_teller(progress)
        model.fit(table.X)
    model.callback = None
    if algorithms.entry_of_algorithm(algorithm).checkpoints:
        model.checkpoint = None
    note_table(model, table, options, settings, None if table.kinds else int(table.X.shape[1]))
    model.table_["on_error"] = on_error
    if labels_beside(path):
        model.table_["target"] = None  # the file of these labels says nothing about other rows
    facts = {"algorithm": algorithm, "rows": table.n_rows, "features": int(table.X.shape[1]), "data": table.recognised}
    return model, facts


def _batch_teller(progress: Progress) -> Any:
    def tell(entry: Any) -> None:
        progress.text = f"iteration {entry.iteration}, bounds {entry.lower:.4g} to {entry.objective:.4g}"

    return tell


def _teller(progress: Progress) -> Any:
    def tell(text: Any) -> None:
        progress.text = str(text)

    return tell


class _Stream:
    """A file that is read in chunks."""

    def __init__(
        self,
        console: Console,
        path: str,
        options: DataOptions,
        passes: int,
        classes: str | None,
        on_error: Literal["raise", "skip"],
    ) -> None:
        self._console, self._path, self._options, self._passes = console, path, options, passes
        self._on_error = on_error
        self._classes = None if classes is None else [_label(text) for text in classes.split(",")]

    def run(self, algorithm: str, settings: Settings, checkpoint: str) -> tuple[Any, dict[str, Any]]:
        """Train; return the model and what to say about it."""
        import numpy as np

        from metricwise.io import stream

        if algorithm == "auto":
            algorithm = algorithms.for_stream(settings.measure)
            self._console.note(f"auto: {algorithm} learns from streams for {settings.measure}")
        options = self._options
        target = options.target[0] if options.target else None
        rows = stream(
            self._path, target=target, weight=options.weight, on_error=self._on_error, **options.file_options()
        )
        words = f"{rows.recognised}, read in chunks"
        self._console.note(words)
        kept = settings.checkpoint or checkpoint
        if Path(kept).exists():
            self._console.note(f"going on from {kept}")
        self._console.if_stopped = (
            f"stopped; the same command goes on from {kept}, which is written every {_ROWS_BETWEEN_CHECKPOINTS:,} rows"
        )
        pos_label = None if settings.pos_label is None else _label(settings.pos_label)
        settings = replace(settings, checkpoint=kept, every=_ROWS_BETWEEN_CHECKPOINTS, pos_label=pos_label)
        model = algorithms.trained(algorithm, settings)
        with self._console.progress(f"training {algorithm} for {settings.measure}") as progress:
            model.callback = _stream_teller(progress, self._passes, _estimated_rows(self._path))
            model.fit_stream(rows, classes=self._classes, n_passes=self._passes)
        model.callback = model.checkpoint = None
        note_table(model, None, options, settings, rows.n_features)
        if rows.format != "svmlight":
            names = rows.feature_names or [f"x{number}" for number in range(1, rows.n_features + 1)]
            model.table_["columns"] = dict.fromkeys(names, "number")
            model.feature_names_in_ = np.array(names, dtype=object)
        facts = {"algorithm": algorithm, "rows": model.result_.n_samples, "features": rows.n_features, "data": words}
        return model, facts


def _label(text: str) -> Any:
    """Return a label as streams have them: a number if it is one."""
    try:
        return float(text)
    except ValueError:
        return text.strip()


def _estimated_rows(path: str) -> float | None:
    """Return about how many rows a file has, by the length of its first lines; None if it is compressed."""
    from metricwise.io.files import load_head

    head = load_head(path)
    if head.is_compressed or head.data.startswith(b"PAR1"):
        return None
    return os.path.getsize(path) * head.data.count(b"\n") / len(head.data)


def _stream_teller(progress: Progress, passes: int, rows: float | None) -> Any:
    def tell(entry: Any) -> None:
        progress.text = f"{entry.n_samples:,} rows, measure {entry.measure:.4f}"
        if entry.seconds_left is not None:
            progress.share = entry.seconds / max(entry.seconds + entry.seconds_left, 1e-9)
        elif rows is not None:
            progress.share = entry.n_samples / (rows * passes)

    return tell


# ------------------------------------------------------------------------------------------------------------- results


def _what_to_expect(model: Any) -> dict[str, Any]:
    """Return the measure on rows that training has not seen, or how close to optimal training is, as far as known."""
    facts: dict[str, Any] = {}
    if hasattr(model, "expected_score_"):
        facts["expected"] = float(model.expected_score_)
        facts["interval"] = [float(end) for end in model.expected_score_interval_]
    result = getattr(getattr(model, "learner_", model), "result_", None)
    certificate = getattr(result, "certificate", None)
    if certificate is not None and certificate.is_bounded:
        facts["certificate"] = {"upper": certificate.upper, "lower": certificate.lower, "gap": certificate.relative}
    history = getattr(result, "history", None)
    if certificate is None and history is not None and len(history) and hasattr(history[-1], "measure"):
        facts["recent"] = float(history[-1].measure)
    return facts


def _told(model: Any, facts: dict[str, Any]) -> str:
    lines = [
        f"{facts['algorithm']} for {facts['measure']}: {facts['rows']:,} rows, {facts['features']:,} features, "
        f"{facts['seconds']:.1f} s; written to {facts['model']}"
    ]
    if "expected" in facts:
        low, high = facts["interval"]
        lines.append(
            f"{facts['measure']} to expect on new rows: {facts['expected']:.4f} (90 %: {low:.4f} to {high:.4f})"
        )
    if "recent" in facts:
        lines.append(f"{facts['measure']} of recent rows, before they were learnt from: {facts['recent']:.4f}")
    if "certificate" in facts:
        lines.append(f"training is within {100 * facts['certificate']['gap']:.2g} % of its optimum, which is certified")
    if hasattr(model, "explain"):
        lines.append(model.explain())
    return "\n".join(lines)
