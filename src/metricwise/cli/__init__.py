"""The command ``metricwise``: train, predict, evaluate, compare, adapt, certify, report, watch, warm-up: a module each.

Commands are thin: they read files, call the public API and print the result. Nothing but click is imported before a
command has its arguments, so that help appears at once.
"""

from __future__ import annotations

import shlex
from typing import Any

import click

from metricwise.cli.adapt import adapt
from metricwise.cli.certify import certify
from metricwise.cli.compare import compare
from metricwise.cli.console import Console, name_lost_output, report_errors
from metricwise.cli.evaluate import evaluate
from metricwise.cli.predict import predict
from metricwise.cli.report import report
from metricwise.cli.suggestions import suggest_option
from metricwise.cli.train import train
from metricwise.cli.versions import print_versions
from metricwise.cli.warm_up import warm_up
from metricwise.cli.watch import watch

__all__ = ["main"]


class _Group(click.Group):
    """Command group that keeps the command line, which is stored in the model file, and suggests options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.obj = shlex.join(["metricwise", *args])
        self._debug = "--debug" in args  # needed before a command has its options
        return super().parse_args(ctx, args)

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        with report_errors(Console(quiet=False), debug=False), name_lost_output("the text"):  # of help and versions
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            # Of options and help; commands report their own errors.
            with report_errors(Console(quiet=False), self._debug), name_lost_output("the text"):
                return super().invoke(ctx)
        except click.NoSuchOption as error:
            raise suggest_option(error) from None


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_versions,
    help="Show the versions of metricwise and of what it uses, for bug reports.",
)
def main() -> None:
    """Train classifiers and rankers for the measure they are judged by.

    \b
    metricwise train data.csv --target y --measure f1 --out model.mw
    metricwise evaluate model.mw test.csv
    metricwise predict model.mw new.csv --out labels.csv

    Data are svmlight, CSV, TSV, ARFF or Parquet files, optionally compressed by gzip; "-" is standard input. Results
    go to standard output, everything else to standard error.

    Exit codes: 0 success, 1 the run failed, 2 wrong usage, 3 an alarm of watch.
    """  # noqa: D301 (click keeps the lines after a backspace character)


for _command in (train, predict, evaluate, compare, adapt, certify, report, watch, warm_up):
    main.add_command(_command)
