"""``metricwise --version``: the versions that a bug report needs."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import click

import metricwise

REQUIRED = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "psutil",
    "joblib",
    "threadpoolctl",
    "matplotlib",
    "click",
    "pandas",
)
OPTIONAL = ("pyarrow", "skl2onnx", "lightgbm", "catboost", "xgboost", "dask", "distributed")


def list_versions() -> dict[str, str]:
    """Return the versions of Python, the system and all packages that metricwise uses; none is imported.

    Returns
    -------
    dict of str to str
        Versions by name, "not installed" for packages that are missing.

    Examples
    --------
    >>> list(list_versions())[:3]
    ['Python', 'system', 'numpy']
    """
    found = {"Python": platform.python_version(), "system": platform.platform()}
    return found | {name: _find_version(name) for name in (*REQUIRED, *OPTIONAL)}


def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def print_versions(context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    """Print the version of metricwise and those of what it uses, and end the command."""
    if not is_wanted or context.resilient_parsing:
        return
    found = list_versions()
    width = max(map(len, found))
    lines = [f"{name:{width}}  {found[name]}" for name in found]
    click.echo("\n".join([f"metricwise, version {metricwise.__version__}", *lines]))
    context.exit()
