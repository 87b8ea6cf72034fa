"""Print results to standard output; notes, progress, warnings and errors to standard error."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import sys
import warnings
from ast import literal_eval
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from metricwise.progress import Stage, show_progress

_POS_LABEL = re.compile(r"pos_label=('[^']*'|\"[^\"]*\"|-?\d+(?:\.\d+)?|True|False)")
_ENCODING = re.compile(r"encoding='([\w-]+)'")
_MEMORY_LIMIT = re.compile(r"memory_limit='?(\w+)'?")
_STANDARD_OUTPUT = 1  # the number of its file
_RESULT_FILES = ("out", "html", "state")  # options that name a file for the result
_EXPECTED_ERRORS = (ValueError, TypeError, OSError, ImportError, MemoryError)


@dataclass(frozen=True)
class Outcome:
    """The result of a command, as text and as data for --json, and its exit code."""

    text: str
    data: dict[str, Any]
    exit_code: int = 0


class Console:
    """Write notes and progress to standard error, unless quiet."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self.interrupt_message = "stopped; nothing was written"

    def note(self, text: str) -> None:
        """Print a note to standard error."""
        if not self._quiet:
            click.echo(text, err=True)

    @contextmanager
    def progress(self, text: str) -> Iterator[Stage]:
        """Show progress on a terminal while the block runs, if it takes more than two seconds."""
        with show_progress(text, 0 if self._quiet else None) as stage:
            yield stage


def show_passes(stage: Stage, passes: int, n_rows: float | None) -> Any:
    """Return a callback that shows the share of a stream that is read; the classifier shows what else there is."""

    def update(entry: Any) -> None:
        if n_rows is not None:
            stage.fraction = entry.n_samples / (n_rows * passes)

    return update


def command(function: Callable[..., Outcome]) -> Callable[..., None]:
    """Add the common options to a command, and print its warnings and errors as one line each."""

    @click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
    @click.option("--quiet", "-q", is_flag=True, help="Print only the result and errors.")
    @click.option("--debug", is_flag=True, help="Show the traceback of an error.")
    @wraps(function)
    def run(*args: Any, as_json: bool, quiet: bool, debug: bool, **options: Any) -> None:
        console = Console(quiet)
        with report_errors(console, debug):
            is_closed = sys.stdout is None
            if is_closed:
                if not any(map(options.get, _RESULT_FILES)):
                    raise OSError("standard output is closed, and the result is printed to it: send it to a file")
                _fill_standard_output()
            outcome = function(console, *args, **options)
        with report_errors(console, debug):
            if not is_closed:
                _print_result(outcome, as_json)
        if outcome.exit_code:
            sys.exit(outcome.exit_code)

    return run


def _fill_standard_output() -> None:
    """Let no file that is opened later have the closed descriptor of standard output, to which libraries may print."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    if descriptor != _STANDARD_OUTPUT:
        os.dup2(descriptor, _STANDARD_OUTPUT)
        os.close(descriptor)


def _print_result(outcome: Outcome, as_json: bool) -> None:
    """Print a result to standard output; raise an OSError if it cannot take all of it."""
    text = json.dumps(_to_json_value(outcome.data), indent=2, allow_nan=False) if as_json else outcome.text
    if not text:
        return
    with name_lost_output("the result"):
        click.echo(text)


@contextmanager
def name_lost_output(text: str) -> Iterator[None]:
    """Raise an OSError that names standard output if it cannot take all of the text that is printed."""
    try:
        yield
    except (OSError, UnicodeEncodeError) as error:
        if getattr(error, "filename", None) is not None:  # an error about another file
            raise
        with suppress(OSError):
            sys.stdout.close()  # else Python writes the rest when it ends, and fails again
        if isinstance(error, BrokenPipeError):  # the reader has read enough
            raise click.exceptions.Exit(1) from error
        raise OSError(f"{text} cannot be written to standard output: {error}") from error


@contextmanager
def report_errors(console: Console, debug: bool) -> Iterator[None]:
    """Print warnings and errors as one line each; an error exits with code 1."""
    printed: set[str] = set()

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        line = join_lines(message)
        if line not in printed:
            printed.add(line)
            console.note(f"Warning: {line}")

    try:
        with warnings.catch_warnings():
            warnings.showwarning = show
            yield
    except KeyboardInterrupt:
        click.echo(f"Error: {console.interrupt_message}", err=True)
        sys.exit(1)
    except (click.ClickException, click.exceptions.Exit):
        raise
    except Exception as error:
        if debug:
            raise
        kind = "" if isinstance(error, _EXPECTED_ERRORS) and str(error) else f"unexpected {type(error).__name__}: "
        click.echo(f"Error: {kind}{_replace_parameters(join_lines(error))}", err=True)
        if kind:
            click.echo("Run the command again with --debug to see the traceback.", err=True)
        sys.exit(1)


def _replace_parameters(message: str) -> str:
    """Replace parameters of the library in a message by options of the command.

    Examples
    --------
    >>> _replace_parameters("Give at least memory_limit='350MB'")
    'Give at least --memory-limit 350MB'
    >>> _replace_parameters("Name the positive class: pos_label='not paid' or pos_label=2")
    "Name the positive class: --pos-label 'not paid' or --pos-label 2"
    """
    message = message.replace("on_error='skip'", "--on-error skip")
    message = _POS_LABEL.sub(_name_pos_label, message)
    message = message.replace("pos_label", "--pos-label")
    message = message.replace("decimal=','", "--decimal comma")
    message = _ENCODING.sub(r"--encoding \1", message)
    return _MEMORY_LIMIT.sub(r"--memory-limit \1", message)


def _name_pos_label(parameter: re.Match[str]) -> str:
    return f"--pos-label {shlex.quote(str(literal_eval(parameter[1])))}"


def join_lines(text: object) -> str:
    r"""Return a text on one line.

    Examples
    --------
    >>> join_lines("first\n  second")
    'first second'
    """
    return " ".join(str(text).split())


def _to_json_value(value: Any) -> Any:
    """Return a value that JSON can hold; NaN and infinity become None."""
    if isinstance(value, dict):
        return {str(key): _to_json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_value(item) for item in value]
    if hasattr(value, "tolist"):
        return _to_json_value(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def format_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text: the first column is aligned to the left, the others to the right.

    Examples
    --------
    >>> print(format_table(["measure", "value"], [["f1", "0.81"]]))
    measure  value
    f1        0.81
    """
    cells = [list(headings), *map(list, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    lines = []
    for row in cells:
        first, *rest = (
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)
