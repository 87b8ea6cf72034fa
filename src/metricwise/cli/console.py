"""What a command says: results, notes, progress, warnings and errors, each where it belongs."""

from __future__ import annotations

import json
import math
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import click

_PATIENCE = 2.0  # seconds before progress is shown
_BAR = 24  # characters
_EXPECTED = (ValueError, TypeError, OSError, ImportError, MemoryError)


@dataclass(frozen=True)
class Outcome:
    """What came out, for readers and for programs."""

    text: str
    data: dict[str, Any]


class Console:
    """Where a command writes to."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self.if_stopped = "stopped; nothing was written"

    def note(self, text: str) -> None:
        """Say something that is no result."""
        if not self._quiet:
            click.echo(text, err=True)

    @contextmanager
    def progress(self, text: str) -> Iterator[Progress]:
        """Show what is done meanwhile, and how far it is: on a terminal, and only if it takes more than two seconds."""
        shown = Progress(text)
        if self._quiet or not sys.stderr.isatty():
            yield shown
            return
        ticker = threading.Thread(target=shown.run, daemon=True)
        ticker.start()
        try:
            yield shown
        finally:
            shown.over.set()
            ticker.join()


@dataclass
class Progress:
    """A line that says what is done, how far it is if that is known, and since when."""

    text: str
    share: float | None = None
    over: threading.Event = field(default_factory=threading.Event)

    def line(self, seconds: float) -> str:
        """Return the line.

        Examples
        --------
        >>> Progress("training", 0.5).line(63.0)
        '[############------------]  50 %  1:03  training'
        >>> Progress("reading").line(3.0)
        '0:03  reading'
        """
        bar = ""
        if self.share is not None:
            done = min(max(self.share, 0.0), 1.0)
            filled = round(_BAR * done)
            bar = f"[{'#' * filled}{'-' * (_BAR - filled)}] {done:4.0%}  ".replace("%", " %")
        return f"{bar}{int(seconds) // 60}:{int(seconds) % 60:02d}  {self.text}"

    def run(self) -> None:
        """Draw the line again and again until the work is over."""
        started = time.monotonic()
        if self.over.wait(_PATIENCE):
            return
        while not self.over.wait(0.2):
            click.echo(f"\r\x1b[K{self.line(time.monotonic() - started)[:78]}", nl=False, err=True)
        click.echo("\r\x1b[K", nl=False, err=True)


def command(function: Callable[..., Outcome]) -> Callable[..., None]:
    """Give a command its common options, and its errors one line each."""

    @click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
    @click.option("--quiet", "-q", is_flag=True, help="Say nothing but the result and errors.")
    @click.option("--debug", is_flag=True, help="Show the traceback of an error.")
    @wraps(function)
    def run(*args: Any, as_json: bool, quiet: bool, debug: bool, **options: Any) -> None:
        console = Console(quiet)
        with _reported(console, debug):
            outcome = function(console, *args, **options)
        if as_json:
            click.echo(json.dumps(_plain(outcome.data), indent=2, allow_nan=False))
        elif outcome.text:
            click.echo(outcome.text)

    return run


@contextmanager
def _reported(console: Console, debug: bool) -> Iterator[None]:
    """Turn warnings and errors into one line each; an error ends the command with code 1."""
    said: set[str] = set()

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        line = one_line(message)
        if line not in said:
            said.add(line)
            console.note(f"Warning: {line}")

    try:
        with warnings.catch_warnings():
            warnings.showwarning = show
            yield
    except KeyboardInterrupt:
        click.echo(f"Error: {console.if_stopped}", err=True)
        sys.exit(1)
    except (click.ClickException, click.exceptions.Exit):
        raise
    except Exception as error:
        if debug:
            raise
        kind = "" if isinstance(error, _EXPECTED) and str(error) else f"unexpected {type(error).__name__}: "
        click.echo(f"Error: {kind}{_in_options(one_line(error))}", err=True)
        if kind:
            click.echo("Run the command again with --debug to see where.", err=True)
        sys.exit(1)


def _in_options(message: str) -> str:
    """Return a message of the library in the words of the command.

    Examples
    --------
    >>> _in_options("Give at least memory_limit='350MB'")
    'Give at least --memory-limit 350MB'
    """
    message = message.replace("on_error='skip'", "--on-error skip")
    return re.sub(r"memory_limit='?(\w+)'?", r"--memory-limit \1", message)


def one_line(text: object) -> str:
    r"""Return a text without line ends.

    Examples
    --------
    >>> one_line("first\n  second")
    'first second'
    """
    return " ".join(str(text).split())


def _plain(value: Any) -> Any:
    """Return what JSON can hold: numbers that are none are null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return columns of text: the first to the left, the others to the right.

    Examples
    --------
    >>> print(as_table(["measure", "value"], [["f1", "0.81"]]))
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
