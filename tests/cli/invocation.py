"""Run the command inside the test process."""

from __future__ import annotations

from click.testing import CliRunner, Result

from metricwise.cli import main


def run_command(*arguments: object, code: int = 0) -> Result:
    """Return the result of the command, which must exit with the given code."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result
