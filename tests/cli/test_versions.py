"""``--version`` names what a bug report needs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import metricwise
from metricwise.cli import versions
from tests.cli.invocation import run_command

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def names(requirements):
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


def test_the_version_comes_with_those_of_all_dependencies():
    first, *lines = run_command("--version").stdout.splitlines()
    found = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in lines)
    assert first == f"metricwise, version {metricwise.__version__}"
    assert found["numpy"] == version("numpy") and found["scikit-learn"] == version("scikit-learn")
    assert {"Python", "system"} | names(PROJECT["dependencies"]) <= found.keys()


def test_every_package_that_metricwise_uses_is_listed():
    extras = ("parquet", "onnx", "boosters", "dask")
    optional = [one for extra in extras for one in PROJECT["optional-dependencies"][extra]]
    assert set(versions.REQUIRED) == names(PROJECT["dependencies"])
    assert set(versions.OPTIONAL) == names(optional)


def test_a_missing_package_is_named_as_missing(monkeypatch):
    monkeypatch.setattr(versions, "OPTIONAL", ("no-such-package",))
    assert versions.list_versions()["no-such-package"] == "not installed"


def test_versions_are_read_without_importing_the_packages():
    code = "import sys, metricwise.cli.versions as v; v.list_versions(); print('numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False"]
