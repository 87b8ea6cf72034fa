"""``metricwise report``: write a page about a model."""

from __future__ import annotations

import click

from metricwise.cli.console import Console, Outcome, command
from metricwise.cli.models import (
    find_missing_measure,
    get_table_info,
    load_model,
    read_like_training,
    read_pos_label,
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
from metricwise.cli.outputs import Output, check_outputs
from metricwise.cli.queries import refuse_ranker


@click.command(short_help="Write an HTML page about a model.")
@click.argument("model")
@click.argument("data")
@click.option("--out", default="report.html", show_default=True, help="The page to write.")
@click.option(
    "--measure", type=MeasureText(), help="Measure to evaluate; by default the one the model was trained for."
)
@click.option(
    "--compare", "others", multiple=True, help="Another model file, evaluated on the same samples; may be repeated."
)
@click.option("--title", help="Title of the page.")
@click.option("--intended-use", help="What the model is for, for its card.")
@click.option("--data-origin", help="Where the samples are from, for its card.")
@click.option("--limit", "limits", multiple=True, help="What it must not be used for, for its card; may be repeated.")
@confidence_option
@pos_label_option("that of the model")
@groups_option(GROUPS_OF_INTERVALS)
@data_options
@command
def report(
    console: Console,
    model: str,
    data: str,
    out: str,
    measure: str | None,
    others: tuple[str, ...],
    title: str | None,
    intended_use: str | None,
    data_origin: str | None,
    limits: tuple[str, ...],
    confidence: float,
    pos_label: str | None,
    groups: ColumnKey | None,
    data_options: DataOptions,
) -> Outcome:
    """Write a page about MODEL, evaluated on the labelled samples of DATA: one HTML file that needs no network.

    Samples count by the weights that --weight names, and intervals are for new groups of the column --groups. With
    --json the model card, the last section of the page, is part of the result on standard output.
    """
    import metricwise

    check_outputs([Output("the page", out, sequential=True)], [model, data, *others])
    trained = load_model(model)
    refuse_ranker(trained, "report")
    missing = None if measure else find_missing_measure(trained)
    if missing is not None:
        raise click.UsageError(
            f"the measure of {model}, {missing!r}, is a function of yours, which the file does not hold: name another "
            "by --measure, or call metricwise.report in Python with metricwise.load(path, measure=...)"
        )
    table = read_like_training(console, trained, data, data_options, labelled=True, groups=groups)
    assert table.y is not None
    notes = get_table_info(trained)
    card = {"intended_use": intended_use, "data_origin": data_origin, "limits": list(limits)}
    labels = list(table.target_names) if table.y.ndim == 2 else None
    with console.progress("writing the page"):
        page = metricwise.report(
            trained,
            table.X,
            table.y,
            out,
            title=title,
            measure=measure or notes.get("measure"),
            samples=f"the {table.n_rows:,} samples of {'standard input' if data == '-' else data}",
            compare={path: load_model(path) for path in others} or None,
            label_names=labels,
            pos_label=read_pos_label(trained, pos_label),
            sample_weight=table.sample_weight,
            groups=table.groups,
            confidence=confidence,
            card={name: text for name, text in card.items() if text},
        )
    low, high = page.interval
    return Outcome(f"written to {out}", {"out": out, "value": page.value, "low": low, "high": high, "card": page.card})
