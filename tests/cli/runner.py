"""Runs commands, and keeps what they print and what they report on stderr apart, whichever version click has."""

from __future__ import annotations

from inspect import signature

from click.testing import CliRunner

# Before version 8.2, click mixes both unless asked not to; since then it has both, and no such parameter.
SEPARATE = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


def make_runner() -> CliRunner:
    return CliRunner(**SEPARATE)
