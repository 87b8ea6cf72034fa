"""``metricwise train``: train a model from a data file."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from metricwise.cli import algorithms
from metricwise.cli.algorithms import AlgorithmName, Settings, describe_algorithms
from metricwise.cli.console import Console, Outcome, command, show_passes
from metricwise.cli.disk import disk_options, has_separate_labels, list_label_files, open_labelled_table
from metricwise.cli.hashing import check_hash_options, hash_options
from metricwise.cli.models import estimate_n_rows, is_read_once, spool_input, store_table_info
from metricwise.cli.options import (
    GROUPS_OF_FOLDS,
    Column,
    ColumnKey,
    Constraint,
    DataOptions,
    MeasureText,
    Number,
    Seconds,
    data_options,
    groups_option,
    on_error_option,
    pos_label_option,
)
from metricwise.cli.outputs import Output, check_outputs
from metricwise.cli.profit import ProfitText, check_profit, choose_measure, collect_savings, format_savings
from metricwise.cli.queries import find_query_column
from metricwise.cli.reviews import collect_facts, describe, review_options, sends_to_review

_SAMPLES_BETWEEN_CHECKPOINTS = 100_000


@click.command(short_help="Train a model for a measure.", epilog=describe_algorithms())
@click.argument("data")
@click.option(
    "--measure",
    show_default="f1; ndcg for ranking-svm",
    type=MeasureText(),
    help="Measure to train for, such as f-beta:2.",
)
@click.option(
    "--profit",
    type=ProfitText(),
    help='Train for profit, with amounts over columns of the file: "tp=0.1*amount - 5, fp=-5, fn=-amount".',
)
@click.option("--out", required=True, help="The model file to write.")
@click.option("--algorithm", default="auto", show_default=True, type=AlgorithmName(), help="See the list below.")
@click.option(
    "--learner",
    default="logistic",
    show_default=True,
    type=click.Choice(algorithms.LEARNERS),
    help="Base classifier of plug-in, cost-sensitive and the multilabel algorithms.",
)
@click.option(
    "-C",
    "C",
    type=Number(min=0.0, min_open=True),
    help="Cost of a mistake: the inverse strength of regularisation.",
)
@click.option("--n-features", type=click.IntRange(min=1), help="Most features that feature-selecting-svm selects.")
@click.option(
    "--subject-to",
    multiple=True,
    type=Constraint(),
    help='A guarantee for new samples: "precision>=0.9", "recall>=0.8 of fraud", or "recall>=0.8 by region" per group.',
)
@click.option(
    "--group-thresholds",
    is_flag=True,
    help="One threshold per group, for guarantees by group; otherwise all share one.",
)
@click.option(
    "--confidence",
    type=Number(0, 1, min_open=True, max_open=True),
    help="Probability that guarantees, also those of measures such as recall@precision:0.9, hold; 0.95 by default.",
)
@review_options
@click.option("--stream", is_flag=True, help="Read the file in chunks, for files larger than memory.")
@click.option("--passes", default=1, show_default=True, type=click.IntRange(min=1), help="Passes over a stream.")
@click.option("--classes", help="All labels of a stream, separated by commas; by default those of its first chunk.")
@on_error_option("with --stream or --disk")
@click.option(
    "--checkpoint", help="File for the state of training; OUT.checkpoint by default with --stream and --disk."
)
@click.option(
    "--time-budget",
    type=Seconds(),
    help="Time limit of reading and training, such as 5m.",
)
@pos_label_option("1 of 0 and 1 or of -1 and 1, or true; others must be named, unless the measure treats both alike")
@click.option("--seed", default=0, show_default=True, help="Seeds folds and learners.")
@groups_option(GROUPS_OF_FOLDS)
@click.option(
    "--drop", multiple=True, type=Column(), help="Column to leave out: a name or a position; may be repeated."
)
@hash_options
@disk_options
@data_options
@click.pass_context
@command
def train(
    console: Console,
    ctx: click.Context,
    data: str,
    measure: str | None,
    profit: str | None,
    out: str,
    algorithm: str,
    stream: bool,
    passes: int,
    classes: str | None,
    on_error: Literal["raise", "skip"],
    groups: str | int | None,
    drop: tuple[ColumnKey, ...],
    hashing: dict[str, Any],
    memory_limit: int | str | None,
    data_options: DataOptions,
    **options: Any,
) -> Outcome:
    """Train a model on DATA for the measure it will be judged by.

    Training that was interrupted resumes from its checkpoint when the same command is given again.
    """
    measure = choose_measure(measure, profit) or algorithms.default_measure(algorithm)
    check_profit(measure, algorithm, in_memory=not stream and memory_limit is None)
    settings = Settings(measure, **options, is_grouped=groups is not None)
    disk = memory_limit is not None
    algorithms.check_usage(algorithm, settings, len(data_options.target) > 1, stream, disk)
    algorithms.check_stream_options(stream, disk, passes, classes, on_error, groups)
    check_hash_options(hashing, stream)
    written = [Output("the model file", out), Output("the checkpoint", settings.checkpoint)]
    check_outputs(written, [data, *list_label_files(data, data_options)])
    started = time.perf_counter()
    if stream:
        with spool_input(data) as path:
            job = _Stream(console, path, data_options, drop, passes, classes, on_error, hashing)
            model, facts = job.run(algorithm, settings, f"{out}.checkpoint")
            _save(ctx.obj, model, out, path)
    elif memory_limit is not None:
        model, facts = _train_on_disk(
            console, data, algorithm, settings, data_options, drop, memory_limit, on_error, out, started
        )
        _save(ctx.obj, model, out, data)
    else:
        model, facts = _train_in_memory(console, data, algorithm, settings, data_options, groups, drop, started)
        _save(ctx.obj, model, out, None if is_read_once(data) else data)
    facts |= {"model": out, "measure": measure, "seconds": time.perf_counter() - started}
    facts |= _collect_quality(model) | collect_facts(model)
    return Outcome(_format_summary(model, facts), facts)


def _save(command_line: str, model: Any, out: str, data: str | None) -> None:
    import metricwise

    metricwise.save(model, out, command=command_line, data=None if data is None else Path(data))


def _train_in_memory(
    console: Console,
    data: str,
    algorithm: str,
    settings: Settings,
    options: DataOptions,
    groups: str | int | None,
    drop: tuple[ColumnKey, ...],
    started: float,
) -> tuple[Any, dict[str, Any]]:
    from metricwise.estimators.selection.profile import recognise_columns
    from metricwise.io import read_table

    entry = algorithms.find_algorithm(algorithm)
    with console.progress(f"reading {data}"), spool_input(data) if entry.ranks_queries else nullcontext(data) as path:
        groups = find_query_column(path, options, groups) if entry.ranks_queries else groups
        table = read_table(
            path,
            target=options.target or None,
            weight=options.weight,
            groups=groups,
            drop=drop,
            **options.file_options(),
        )
    console.note(table.recognised)
    for line in recognise_columns(table.X).describe_conversions():
        console.note(line)
    assert table.y is not None
    is_multilabel = table.y.ndim == 2
    algorithms.check_usage(algorithm, settings, is_multilabel, stream=False, disk=False)
    if not is_multilabel and settings.pos_label is not None:
        settings = replace(
            settings, pos_label=algorithms.parse_label(settings.pos_label, sorted(set(table.y.tolist())))
        )
    given = {"sample_weight": table.sample_weight, "groups": table.groups}
    given = {name: values for name, values in given.items() if values is not None}
    if settings.checkpoint is not None:
        if entry.family == "streaming":
            settings = replace(settings, every=_SAMPLES_BETWEEN_CHECKPOINTS)
        console.interrupt_message = f"stopped; the same command resumes from {settings.checkpoint}, if it was written"
    with console.progress(f"training {algorithm} for {settings.measure}"):
        entry.load()  # imports count, too
        settings = algorithms.deduct_seconds(settings, time.perf_counter() - started)
        y = algorithms.name_labels(table, settings)
        model = algorithms.build_estimator(algorithm, settings, table.X).fit(table.X, y, **given)
    n_features = None if table.kinds else int(table.X.shape[1])
    # Later files without column names have the groups at the same position.
    unused = (*drop, groups) if isinstance(groups, int) else drop
    store_table_info(model, table, options, settings, n_features, unused, groups if entry.ranks_queries else None)
    facts = {"algorithm": algorithm, "rows": table.n_rows, "features": int(table.X.shape[1]), "data": table.recognised}
    if entry.ranks_queries:
        return model, facts
    if not is_multilabel:
        facts |= _find_positive_class(model, table.y)
    return model, facts | _evaluate_degenerate(model, table, settings.pos_label)


def _train_on_disk(
    console: Console,
    path: str,
    algorithm: str,
    settings: Settings,
    options: DataOptions,
    drop: tuple[ColumnKey, ...],
    memory_limit: int | str,
    on_error: Literal["raise", "skip"],
    out: str,
    started: float,
) -> tuple[Any, dict[str, Any]]:
    import numpy as np

    with console.progress(f"opening {path}"):
        table = open_labelled_table(path, options, memory_limit, drop=drop, on_error=on_error)
    scaling = (
        "" if algorithm == algorithms.AUTO else ", numbers are used unscaled: scale the features if their ranges differ"
    )
    console.note(f"{table.recognised}{scaling}")
    assert table.y is not None
    if settings.pos_label is not None:
        settings = replace(settings, pos_label=algorithms.parse_label(settings.pos_label, np.unique(table.y).tolist()))
    if algorithms.find_algorithm(algorithm).has_checkpoints:
        settings = replace(settings, checkpoint=settings.checkpoint or f"{out}.checkpoint")
        console.interrupt_message = (
            f"stopped; the same command resumes from {settings.checkpoint}, which is written twice a minute"
        )
        if Path(str(settings.checkpoint)).exists():
            console.note(f"resuming from {settings.checkpoint}")
    with console.progress(f"training {algorithm} for {settings.measure}"):
        if algorithm == algorithms.AUTO:  # others count their own seconds
            settings = algorithms.deduct_seconds(settings, time.perf_counter() - started)
        model = algorithms.build_learner(algorithm, settings).fit(table.X)
    if algorithms.find_algorithm(algorithm).has_checkpoints:
        model.checkpoint = None
    store_table_info(model, table, options, settings, None if table.kinds else int(table.X.shape[1]), drop)
    model.table_["on_error"] = on_error
    if has_separate_labels(path):
        model.table_["target"] = None  # other samples have their labels in another file
    facts = {"algorithm": algorithm, "rows": table.n_rows, "features": int(table.X.shape[1]), "data": table.recognised}
    facts |= _find_positive_class(model, table.y)
    return model, facts | _evaluate_degenerate(model, table, settings.pos_label)


class _Stream:
    """Training on a file that is read in chunks."""

    def __init__(
        self,
        console: Console,
        path: str,
        options: DataOptions,
        drop: tuple[ColumnKey, ...],
        passes: int,
        classes: str | None,
        on_error: Literal["raise", "skip"],
        hashing: dict[str, Any],
    ) -> None:
        self._console, self._path, self._options, self._passes = console, path, options, passes
        self._on_error, self._drop, self._hashing = on_error, drop, hashing
        self._classes = None if classes is None else [_parse_label(text) for text in classes.split(",")]

    def run(self, algorithm: str, settings: Settings, checkpoint: str) -> tuple[Any, dict[str, Any]]:
        """Train; return the model and the facts to print."""
        from metricwise.estimators.inputs import set_feature_names
        from metricwise.io import stream

        if algorithm == "auto":
            algorithm = algorithms.choose_stream_algorithm(settings.measure)
            self._console.note(f"auto: {algorithm} trains on streams for {settings.measure}")
        options = self._options
        target = options.target[0] if options.target else None
        source = stream(
            self._path,
            target=target,
            weight=options.weight,
            drop=self._drop,
            on_error=self._on_error,
            **self._hashing,
            **options.file_options(),
        )
        description = f"{source.recognised}, read in chunks"
        self._console.note(description)
        if algorithms.find_algorithm(algorithm).has_checkpoints:
            settings = self._add_checkpoint(settings, settings.checkpoint or checkpoint)
        pos_label = None if settings.pos_label is None else _parse_label(settings.pos_label)
        settings = replace(settings, pos_label=pos_label)
        model = algorithms.build_learner(algorithm, settings)
        with self._console.progress(f"training {algorithm} for {settings.measure}") as stage:
            model.callback = show_passes(stage, self._passes, estimate_n_rows(self._path))
            model.fit_stream(source, classes=self._classes, n_passes=self._passes)
        model.callback = None
        if settings.every is not None:
            model.checkpoint = None
        store_table_info(model, None, replace(options, decimal=source.decimal), settings, source.n_features, self._drop)
        if source.format != "svmlight":
            names = source.feature_names or [f"x{number}" for number in range(1, source.n_features + 1)]
            rule = source.hashed_columns
            model.table_["columns"] = dict.fromkeys(names, "number") if rule is None else rule.file_kinds
            if rule is None:
                set_feature_names(model, names)
        facts = {
            "algorithm": algorithm,
            "rows": model.result_.n_samples,
            "features": source.n_features,
            "data": description,
        }
        return model, facts | _find_positive_class(model, None)

    def _add_checkpoint(self, settings: Settings, path: str) -> Settings:
        """Return settings with a checkpoint, from which an interrupted command resumes."""
        if Path(path).exists():
            self._console.note(f"resuming from {path}")
        self._console.interrupt_message = (
            f"stopped; the same command resumes from {path}, which is written every "
            f"{_SAMPLES_BETWEEN_CHECKPOINTS:,} samples"
        )
        return replace(settings, checkpoint=path, every=_SAMPLES_BETWEEN_CHECKPOINTS)


def _parse_label(text: str) -> Any:
    """Return a label as streams have it: a number if the text is one, an integer if it is whole."""
    try:
        number = float(text)
    except ValueError:
        return text.strip()
    return int(number) if number.is_integer() else number


# ------------------------------------------------------------------------------------------------------------- results


def _result_of(model: Any) -> Any:
    return getattr(getattr(model, "learner_", model), "result_", None)


def _evaluate_degenerate(model: Any, table: Any, pos_label: Any) -> dict[str, Any]:
    """Return what a model with a degenerate surrogate is worth on its training samples; nothing for other models."""
    from metricwise.reporting.models import measure_of, results_of

    if not any(result.is_degenerate for result in results_of(model)):
        return {}
    from metricwise.reporting.evaluation import evaluate_constant, evaluate_predictions, resolve_measure
    from metricwise.reporting.predictions import collect_predictions

    found = collect_predictions(model, table.X, table.y, pos_label, sample_weight=table.sample_weight)
    measure = resolve_measure(measure_of(model, found.kind != "binary")[0], found)
    return {"worth": {"value": evaluate_predictions(found, measure), "constant": evaluate_constant(found, measure)}}


def _find_positive_class(model: Any, y: Any) -> dict[str, Any]:
    """Return the positive class of two and its share among the labels, or among the samples of a stream without any."""
    from metricwise.reporting.models import find_positive_class

    if len(model.classes_) != 2:
        return {}
    positive = find_positive_class(model)
    share = model.result_.positive_share if y is None else float((y == positive).mean())
    return {"positive": {"label": positive, "share": share, "is_estimated": y is None}}


def _collect_quality(model: Any) -> dict[str, Any]:
    """Return the expected measure on new samples and the certificate of training, as far as the model has them."""
    facts: dict[str, Any] = {}
    if hasattr(model, "expected_score_"):
        facts["expected"] = float(model.expected_score_)
        facts["interval"] = [float(end) for end in model.expected_score_interval_]
    facts |= collect_savings(model)
    result = _result_of(model)
    certificate = getattr(result, "certificate", None)
    if certificate is not None and certificate.is_bounded:
        facts["certificate"] = {"upper": certificate.upper, "lower": certificate.lower, "gap": certificate.relative}
        facts["status"] = result.status.value
    history = getattr(result, "history", None)
    if certificate is None and history is not None and len(history) and hasattr(history[-1], "measure"):
        facts["recent"] = float(history[-1].measure)
    return facts


def _describe_positive_class(facts: dict[str, Any]) -> str:
    from metricwise.decisions.targets import describe_positive_class
    from metricwise.measures import get_measure

    return describe_positive_class(**facts["positive"], measure=get_measure(facts["measure"]))


def _format_summary(model: Any, facts: dict[str, Any]) -> str:
    lines = [
        f"{facts['algorithm']} for {facts['measure']}: {facts['rows']:,} samples, {facts['features']:,} features, "
        f"{facts['seconds']:.1f} s; written to {facts['model']}"
    ]
    if "positive" in facts and facts["algorithm"] != "auto":  # which explains it below
        lines.append(_describe_positive_class(facts))
    if "expected" in facts:
        low, high = facts["interval"]
        lines.append(
            f"{facts['measure']} expected on new samples: {facts['expected']:.4f} (90 %: {low:.4f} to {high:.4f})"
        )
    lines += [*describe(facts), *format_savings(facts)]
    if "recent" in facts:
        lines.append(f"{facts['measure']} of recent samples, predicted before training on them: {facts['recent']:.4f}")
    if "certificate" in facts:
        from metricwise.reporting.optimality import describe_optimality

        lines.append(describe_optimality(_result_of(model), facts["measure"]))
    if "worth" in facts:
        from metricwise.reporting.optimality import describe_worth

        lines.append(describe_worth(facts["measure"], "the training samples", **facts["worth"]))
    if facts["algorithm"] == "auto":
        lines.append((model.estimator_ if sends_to_review(model) else model).explain())
    return "\n".join(lines)
