"""Options of ``metricwise train --stream`` for columns of words and categories."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from metricwise.cli.options import ColumnList


def hash_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of hashed columns; the command gets those that are given as ``hashing``."""

    @click.option(
        "--categories",
        multiple=True,
        type=ColumnList(),
        help="Columns of categories of a stream, hashed: names or positions, separated by commas.",
    )
    @click.option(
        "--texts",
        multiple=True,
        type=ColumnList(),
        help="Columns of texts of a stream, whose words are hashed: names or positions, separated by commas.",
    )
    @click.option(
        "--hash-features",
        type=click.IntRange(1, 2**31 - 1),
        help="Number of hashed features, 262144 by default; also hashes all columns that are no numbers.",
    )
    @wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        given = {name: [which for part in options.pop(name) for which in part] for name in ("categories", "texts")}
        given["hash_features"] = options.pop("hash_features")
        return function(*args, hashing={name: value for name, value in given.items() if value}, **options)

    return wrapped


def check_hash_options(hashing: dict[str, Any], stream: bool) -> None:
    """Raise a usage error if columns are to be hashed that are not streamed."""
    if hashing and not stream:
        name = "--" + next(iter(hashing)).replace("_", "-")
        raise click.UsageError(f"{name} is for --stream; other files are read with their categories: leave {name} out")
