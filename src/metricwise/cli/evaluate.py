"""``metricwise evaluate``: evaluate a model by every measure, with intervals."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from metricwise.cli.console import Console, Outcome, command, format_table
from metricwise.cli.disk import disk_options
from metricwise.cli.group_tables import evaluate_groups, format_groups
from metricwise.cli.models import (
    find_missing_measure,
    get_table_info,
    load_model,
    read_like_training,
    read_pos_label,
    set_threshold,
    threshold_option,
)
from metricwise.cli.options import (
    GROUPS_OF_INTERVALS,
    ColumnKey,
    DataOptions,
    MeasureText,
    confidence_option,
    data_options,
    groups_option,
    pos_label_option,
)
from metricwise.cli.profit import evaluate_money
from metricwise.cli.queries import evaluate_ranker, ranks_queries, read_queries_like_training
from metricwise.cli.samples import describe_samples, format_samples

if TYPE_CHECKING:
    from metricwise.reporting.predictions import Predictions

_AVERAGES = ("f1_macro", "f1_micro", "f1_weighted")
_FIRST = ("precision", "recall", "specificity", "npv")


@click.command(short_help="Evaluate a model by every measure, with intervals.")
@click.argument("model")
@click.argument("data")
@click.option(
    "--measure",
    "measures",
    multiple=True,
    type=MeasureText(),
    help="Measure to evaluate; may be repeated. By default all that apply.",
)
@confidence_option
@pos_label_option("that of the model")
@click.option("--seed", default=0, show_default=True, help="Seed of the bootstrap.")
@threshold_option
@groups_option(GROUPS_OF_INTERVALS)
@click.option(
    "--by",
    multiple=True,
    help="Column of the model's features: adds a table of its groups; may be repeated. By default those that the "
    "constraints of the model are by.",
)
@disk_options
@data_options
@command
def evaluate(
    console: Console,
    model: str,
    data: str,
    measures: tuple[str, ...],
    confidence: float,
    pos_label: str | None,
    seed: int,
    threshold: float | None,
    groups: ColumnKey | None,
    by: tuple[str, ...],
    memory_limit: int | str | None,
    data_options: DataOptions,
) -> Outcome:
    """Evaluate MODEL on the labelled samples of DATA, which should not be those of training.

    Intervals come from a Bayesian bootstrap of the samples, or of the groups that --groups names. For two classes, the
    counts of true and false positives and negatives are printed, too. Samples count by the weights that --weight names.
    A model that ranks is evaluated by means over the queries of an svmlight file (qid), or of the column --groups.
    """
    import numpy as np

    from metricwise.decisions.targets import describe_positive_class
    from metricwise.measures import Profit
    from metricwise.reporting.evaluation import evaluate, resolve_measure
    from metricwise.reporting.group_tables import drop_weightless_groups, find_columns_by
    from metricwise.reporting.guarantees import evaluate_guarantees
    from metricwise.reporting.markup import tally
    from metricwise.reporting.predictions import collect_predictions
    from metricwise.reporting.reviews import describe_reviews, set_reviews_aside

    trained = load_model(model)
    set_threshold(trained, threshold)
    missing = None if measures else find_missing_measure(trained)
    if missing is not None:
        console.note(
            f"the measure of the model, {missing!r}, is a function of yours, which its file does not hold: other "
            "measures follow; metricwise.load(path, measure=...) takes it in Python"
        )
    notes, records = get_table_info(trained), []
    if ranks_queries(trained):
        if pos_label is not None:
            raise click.UsageError("--pos-label is for classifiers, and the model ranks by relevance: leave it out")
        table = read_queries_like_training(console, trained, data, data_options, memory_limit, groups)
        return evaluate_ranker(console, trained, table, measures, notes.get("measure"), confidence, seed)
    table = read_like_training(
        console, trained, data, data_options, labelled=True, groups=groups, memory_limit=memory_limit
    )
    with console.progress("evaluating"):
        positive = read_pos_label(trained, pos_label)
        *samples, reviewed = set_reviews_aside(trained, table.X, table.y, table.sample_weight, table.groups)
        if reviewed is not None and by:
            raise click.UsageError("--by is for all samples, and the model sends some to review: leave it out")
        X, y, weights, group_codes = samples
        found = collect_predictions(trained, X, y, positive, _get_label_names(table), weights, group_codes)
        chosen = _choose_measures(measures, notes.get("measure"), found.kind)
        if not measures and found.unnamed is not None:
            chosen = _leave_out_asymmetric(console, chosen)
        if not measures:
            records += evaluate_money(trained, table, confidence)
        for text, measure in chosen:
            if records and isinstance(measure, Profit):
                continue  # evaluated above, with the amounts of the samples
            try:
                (evaluation,) = evaluate([found], resolve_measure(measure, found), confidence, seed)
            except ValueError as error:
                if measures:
                    raise
                console.note(f"{text} does not apply: {error}")
                continue
            low, high = evaluation.interval
            values = {"value": evaluation.value, "low": low, "high": high}
            records.append({"measure": text, **values, "settings": _find_settings(measure, found)})
    facts = {"rows": table.n_rows, "confidence": confidence, "measures": records}
    facts |= describe_samples(found.weights if found.is_weighted else None, found.groups)
    lines = [*format_samples(facts), _format_measures(records, confidence)]
    own = {} if reviewed is not None else find_columns_by(trained, table.X, None, table.n_rows)
    guaranteed = evaluate_guarantees(trained, found, drop_weightless_groups(own, table.sample_weight))
    if guaranteed:
        facts["guarantees"] = guaranteed
        lines.append(_format_guarantees(guaranteed))
    if found.kind == "binary":
        problem, counts = found.problems[0], _count_labels(found)
        positive_class = {"label": problem.label, "share": float(np.average(problem.truth, weights=problem.weights))}
        facts |= {"positive": positive_class, "counts": counts}
        lines[:0] = [
            describe_positive_class(**positive_class),
            ", ".join(f"{cell} {tally(count)}" for cell, count in counts.items()),
        ]
    tables = evaluate_groups(trained, table, found, by, confidence, seed)
    facts |= {"groups_of": tables} if tables else {}
    lines += [format_groups(column, rows, confidence) for column, rows in tables.items()]
    if reviewed is not None:
        facts |= {"review": {"rows": reviewed.n_reviewed, "share": reviewed.share}}
        lines.insert(0, describe_reviews(reviewed, chosen[0][1]))
    return Outcome("\n".join(lines), facts)


def _format_guarantees(records: list[dict[str, Any]]) -> str:
    """Return a table of guarantees, with their shares of these samples."""
    from metricwise.reporting.group_tables import name_groups

    words = {None: "no samples", True: "yes", False: "no"}
    has_groups = any(one.get("group") is not None for one in records)
    rows = [
        [
            one["guarantee"],
            *([name_groups(one.get("group") or "all")] if has_groups else []),
            f"{one['counted']:,.4g}",
            "" if one["share"] is None else f"{one['share']:.4f}",
            words[one["kept"]],
        ]
        for one in records
    ]
    return format_table(["guarantee", *(["worst group"] if has_groups else []), "counted", "share", "kept here"], rows)


def _count_labels(found: Predictions) -> dict[str, float]:
    """Return the contingency table of predictions for two classes: counts, or sums of weights."""
    table = found.problems[0].table
    number = float if found.is_weighted else int
    return {cell: number(getattr(table, cell)) for cell in ("tp", "fp", "fn", "tn")}


def _find_settings(measure: Any, found: Predictions) -> dict[str, float]:
    """Return what a ranking measure is evaluated at: the number of predicted positives, or its own parameters."""
    from metricwise.measures import RestrictsLabellings

    if isinstance(measure, RestrictsLabellings):
        weights = found.weights
        n_positives, n_samples = float(weights @ found.problems[0].truth), float(weights.sum())
        return {"k": round(measure.predicted_positives(n_positives, n_samples))}
    if measure.response == "labels":
        return {}
    own = {field.name: getattr(measure, field.name) for field in dataclasses.fields(measure)}
    return {name: value for name, value in own.items() if isinstance(value, float)}


def _get_label_names(table: Any) -> list[str] | None:
    return list(table.target_names) if table.y.ndim == 2 else None


def _choose_measures(given: tuple[str, ...], own: str | None, kind: str) -> list[tuple[str, Any]]:
    """Return the measures and their names: those given, or the model's own and then all that apply."""
    from metricwise.measures import get_measure, registered_names
    from metricwise.measures.base import CountsTable

    texts = list(given)
    if not texts and kind == "binary":
        texts = [*([own] if own else []), *_FIRST, *registered_names()]
    elif not texts:
        averages = [*_AVERAGES, *(["f1_samples"] if kind == "multilabel" else [])]
        tables = [f"{name}_macro" for name in registered_names(needs=CountsTable) if _can_be_averaged(name)]
        texts = [*([own] if own else []), *averages, *tables]
    found: dict[Any, str] = {}
    for text in texts:
        found.setdefault(get_measure(text), text)
    return [(text, measure) for measure, text in found.items()]


def _leave_out_asymmetric(console: Console, chosen: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the measures that do not depend on which class is positive; note the others."""
    from metricwise.measures import is_symmetric

    others = [text for text, measure in chosen if not is_symmetric(measure)]
    console.note(f"{', '.join(others)} depend on which class is positive: name it by --pos-label")
    return [(text, measure) for text, measure in chosen if is_symmetric(measure)]


def _can_be_averaged(name: str) -> bool:
    from metricwise.measures import get_measure

    return get_measure(name).response == "labels"


def _format_measures(records: list[dict[str, Any]], confidence: float) -> str:
    rows = [
        [_format_name(record), f"{record['value']:.4f}", f"{record['low']:.4f} to {record['high']:.4f}"]
        for record in records
    ]
    return format_table(["measure", "value", f"{100 * confidence:g} % interval"], rows)


def _format_name(record: dict[str, Any]) -> str:
    settings = ", ".join(f"{name}={value:g}" for name, value in record["settings"].items())
    return f"{record['measure']} ({settings})" if settings else str(record["measure"])
