"""Suggest the option that is meant where users know it by the name of another tool."""

from __future__ import annotations

import click

_SYNONYMS = {
    "--delimiter": ("--separator", "--sep", "--delim"),
    "--target": ("--label", "--labels", "--y", "--response", "--class-column"),
    "--weight": ("--weights", "--sample-weight", "--sample-weights"),
    "--measure": ("--metric", "--score", "--scoring"),
    "--out": ("--output", "--model", "--save"),
    "--algorithm": ("--estimator", "--classifier", "--method"),
    "--pos-label": ("--positive", "--positive-class", "--positive-label"),
    "--subject-to": ("--constraint", "--guarantee"),
    "--time-budget": ("--budget", "--time-limit", "--timeout", "--max-seconds"),
    "--passes": ("--epochs", "--iterations"),
    "--folds": ("--cv",),
    "--seed": ("--random-state",),
    "--probabilities": ("--proba", "--predict-proba"),
}


def suggest_option(error: click.NoSuchOption) -> click.NoSuchOption:
    """Return the error with the option that a synonym stands for, if the command has it; else as click words it.

    Examples
    --------
    >>> command = click.Command("train", params=[click.Option(["--delimiter"]), click.Option(["--learner"])])
    >>> given = click.NoSuchOption("--separator", possibilities=["--learner"], ctx=click.Context(command))
    >>> print(suggest_option(given).format_message())
    No such option '--separator'. Did you mean '--delimiter'?
    """
    known = [name for option in error.ctx.command.params for name in option.opts] if error.ctx is not None else []
    for option, synonyms in _SYNONYMS.items():
        if error.option_name in synonyms and option in known:
            message = f"No such option {error.option_name!r}. Did you mean {option!r}?"
            return click.NoSuchOption(error.option_name, message, ctx=error.ctx)
    return error
