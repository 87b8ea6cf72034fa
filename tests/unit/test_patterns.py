"""Regular expressions: matching takes linear time, whatever the text."""

from __future__ import annotations

import subprocess
import sys

import pytest

from metricwise.io.notation import is_comma_number, is_number, reads_as_number

# A pattern that takes quadratic time needs seconds for one of the texts, and all others milliseconds.
ATTACK = r"""
import importlib, itertools, pkgutil, re, resource
import metricwise

resource.setrlimit(resource.RLIMIT_CPU, (40, 40))
patterns = {}
for module in pkgutil.walk_packages(metricwise.__path__, "metricwise."):
    if module.name.endswith("__main__") or ".kernels" in module.name:
        continue
    found = vars(importlib.import_module(module.name))
    patterns |= {value: f"{module.name}.{name}" for name, value in found.items() if isinstance(value, re.Pattern)}
starts = ["", "1", "-", "'", "%", "f1>=", "f1>=1", "1 1:1", "-C", "@attribute a", "pos_label="]
units = ["1", " ", "a", ".", ",", "'", '"', "\\", "-", ":", "#", "\n", "1 ", "1.", "1,", "1:1 ", "'a", " %\n", "111."]
for pattern, name in patterns.items():
    print("pattern", name, flush=True)
    for start, unit, end in itertools.product(starts, units, ("", "!")):
        text = start + unit * (20_000 // len(unit)) + end
        text = text.encode() if isinstance(pattern.pattern, bytes) else text
        pattern.match(text)
        pattern.fullmatch(text)
print("done", len(patterns))
"""


def test_every_pattern_takes_linear_time():
    found = subprocess.run([sys.executable, "-c", ATTACK], capture_output=True, text=True, timeout=300)
    assert found.stdout.splitlines()[-1].startswith("done"), found.stdout[-200:] + found.stderr[-2000:]
    assert int(found.stdout.split()[-1]) > 15


@pytest.mark.parametrize(
    ("field", "point", "comma"),
    [
        ("1", True, True),
        ("-1.", True, False),
        ("1.5e-3", True, False),
        (".5", True, False),
        ("1,", False, True),
        ("+,5", False, True),
        ("1,5E9", False, True),
        ("1.234", True, True),
        ("1.234.567,8", False, True),
        ("1.23.456", False, False),
        (".", False, False),
        ("1.5.", False, False),
        ("1e", False, False),
        ("9" * 30_000 + "x", False, False),
        ("9" * 30_000, True, True),
    ],
    ids=lambda value: str(value)[:12],
)
def test_fields_are_recognised_as_numbers(field, point, comma):
    assert (is_number(field), is_comma_number(field)) == (point, comma)
    assert reads_as_number(field) == (point or comma)
