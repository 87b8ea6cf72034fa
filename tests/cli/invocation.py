"""Run the command inside the test process."""

from __future__ import annotations

from inspect import signature
from typing import Any

from click.testing import CliRunner, Result

from metricwise.cli import main

# Before version 8.2, click mixes stdout and stderr unless asked not to; since then it has both, and no such parameter.
SEPARATE = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


def make_runner() -> CliRunner:
    """Return a runner that keeps stdout and stderr apart, whichever version click has."""
    return CliRunner(**SEPARATE)


def run_command(*arguments: object, code: int = 0, **options: Any) -> Result:
    """Return the result of the command, which must exit with the given code."""
    result = make_runner().invoke(main, [str(argument) for argument in arguments], **options)
    assert result.exit_code == code, result.output + repr(result.exception)
    return result
