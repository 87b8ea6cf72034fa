"""``metricwise adapt``: adapt a model to other class priors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from metricwise.cli.console import Console, Outcome, command, format_table
from metricwise.cli.models import load_model, read_like_training
from metricwise.cli.options import DataOptions, data_options
from metricwise.cli.outputs import Output, check_outputs

if TYPE_CHECKING:
    from metricwise.decisions.prior_shift import PriorEstimate


@click.command(short_help="Adapt a model to other class priors.")
@click.argument("model")
@click.argument("data", required=False)
@click.option("--out", required=True, help="Model file to write: a path other than MODEL, which stays as it is.")
@click.option(
    "--prior",
    help="The new shares, instead of DATA: that of the positive class, such as 0.1, or one per class, such as "
    '"a=0.2,b=0.5,c=0.3".',
)
@data_options
@command
def adapt(
    console: Console, model: str, data: str | None, out: str, prior: str | None, data_options: DataOptions
) -> Outcome:
    """Adapt MODEL to the class priors among the unlabelled samples of DATA, or to those of --prior.

    Probabilities and thresholds follow; the learner is not trained again. Samples of each class must look like those of
    training: only how frequent the classes are has changed.
    """
    import metricwise

    if (data is None) == (prior is None):
        raise click.UsageError("adapt needs either DATA, samples to estimate the class priors from, or --prior")
    check_outputs([Output("the model file", out)], [model, data])
    trained = load_model(model)
    if data is None:
        adapted = metricwise.adapt_prior(trained, prior=_parse_prior(trained, prior or ""))
    else:
        table = read_like_training(console, trained, data, data_options, labelled=False)
        with console.progress("adapting"):
            adapted = metricwise.adapt_prior(trained, table.X)
    metricwise.save(adapted, out, command=click.get_current_context().obj)
    records = _describe(trained, adapted)
    facts = {"out": out, "n_samples": adapted.prior_.n_samples, "classes": records}
    return Outcome(f"{_format(records)}\nwritten to {out}", facts)


def _parse_prior(model: Any, text: str) -> Any:
    """Return the shares that an option names: a number, or a dictionary by class."""
    try:
        if "=" not in text:
            return float(text)
        parts = [part.rpartition("=") for part in text.split(",")]
        return {_find_label(model, name.strip()): float(share) for name, _, share in parts}
    except ValueError as error:
        raise click.UsageError(
            f'--prior is a number such as 0.1, or a share for each class such as "a=0.2,b=0.8", got {text!r} ({error})'
        ) from error


def _find_label(model: Any, text: str) -> Any:
    """Return the label that prints as a text; the text itself if there is none, which `adapt_prior` reports."""
    return next((label for label in model.classes_.tolist() if str(label) == text), text)


def _describe(before: Any, after: Any) -> list[dict[str, Any]]:
    """Return the shares and thresholds of the positive class of two, or of every class."""
    import numpy as np

    prior: PriorEstimate = after.prior_
    task = after._task
    names = [task.positive] if task.is_binary else task.classes.tolist()
    low, high = prior.interval
    columns = [np.ravel(one).tolist() for one in (prior.training, prior.estimate, low, high)]
    thresholds = [np.ravel(one.threshold_).tolist() for one in (before, after)]
    keys = ("class", "old_prior", "prior", "low", "high", "old_threshold", "threshold")
    return [dict(zip(keys, row, strict=True)) for row in zip(map(str, names), *columns, *thresholds, strict=True)]


def _format(records: list[dict[str, Any]]) -> str:
    rows = [
        [
            one["class"],
            f"{one['old_prior']:.4g}",
            f"{one['prior']:.4g}",
            f"{one['low']:.4g} to {one['high']:.4g}",
            f"{one['old_threshold']:.4g}",
            f"{one['threshold']:.4g}",
        ]
        for one in records
    ]
    return format_table(["class", "old prior", "new prior", "interval", "old threshold", "new threshold"], rows)
