"""``--disk``: open files larger than memory, whose samples stay on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from metricwise.cli.options import ColumnKey, DataOptions, Size

if TYPE_CHECKING:
    from metricwise.io import Table

_ARRAYS = (".npy", ".npz")
_MEMORY_LIMIT = "1GB"


def disk_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--disk`` and its limit; the command gets ``memory_limit``, None without ``--disk``."""

    @click.option("--disk", is_flag=True, help="Leave the samples on disk and read them in blocks, as often as needed.")
    @click.option(
        "--memory-limit", type=Size(), help=f"Memory limit with --disk, such as 800MB; {_MEMORY_LIMIT} by default."
    )
    @wraps(function)
    def wrapped(*args: Any, disk: bool, memory_limit: int | None, **options: Any) -> Any:
        if memory_limit is not None and not disk:
            raise click.UsageError("--memory-limit is for --disk: add it, or leave the limit out")
        limit = (memory_limit or _MEMORY_LIMIT) if disk else None
        return function(*args, memory_limit=limit, **options)

    return wrapped


def has_separate_labels(path: str) -> bool:
    """Return whether the labels of a file are in another file, as those of arrays."""
    return Path(path).suffix in _ARRAYS


def list_label_files(path: str, options: DataOptions) -> list[str]:
    """Return the files beside the arrays of a file that have its labels; none beside other files."""
    return [str(name) for name in options.target] if has_separate_labels(path) else []


def open_table(
    path: str,
    options: DataOptions,
    memory_limit: int | str,
    target: Sequence[ColumnKey],
    weight: ColumnKey | None = None,
    drop: Sequence[ColumnKey] = (),
    n_features: int | None = None,
    may_lack_labels: bool = False,
    on_error: Literal["raise", "skip"] = "raise",
) -> Table:
    """Return a table whose samples stay on disk.

    Parameters
    ----------
    path : str
        The file: .npy or .npz, or a table or svmlight file, which is converted once.
    options : DataOptions
        How to read it.
    memory_limit : int or str
        Most memory to use, in bytes or as text such as "800MB".
    target : sequence of columns, or of one .npy file
        Where the labels are.
    weight : column, optional
        Where the weights are.
    drop : sequence of columns
        Which columns to leave out.
    n_features : int, optional
        Number of features of the model, which an svmlight file does not state.
    may_lack_labels : bool
        Whether a table with as many columns as there are features has no labels, whatever the target.
    on_error : {"raise", "skip"}
        Whether a malformed line of a converted file is an error or is skipped.
    """
    import metricwise.io
    from metricwise.io import Table
    from metricwise.io.notation import check_decimal

    if path == "-":
        raise click.UsageError("--disk reads a file repeatedly, and standard input can be read only once: name a file")
    if len(target) > 1:
        raise click.UsageError("--disk takes one --target: train a model for each, or leave --disk out")
    where = target[0] if target else None
    given = options.file_options() | {"target": where, "weight": weight, "drop": tuple(drop)}
    if has_separate_labels(path):
        if isinstance(where, int):
            raise click.UsageError(f"{path} has no column of labels: name the .npy file that has them by --target")
    else:
        given |= _fit_to_model(path, given, n_features, may_lack_labels)
    samples = metricwise.io.open(path, memory_limit=memory_limit, on_error=on_error, **given)
    description = f"{samples.recognised}; {samples.shape[0]:,} rows; {samples.shape[1]:,} features; on disk"
    kinds: dict[str, Any] = dict.fromkeys(samples.feature_names or (), "number")
    names = samples.feature_names
    decimal = check_decimal(given["decimal"]) or "."
    return Table(samples, samples.y, samples.sample_weight, names, (str(where),), kinds, description, decimal=decimal)


def open_labelled_table(path: str, options: DataOptions, memory_limit: int | str, **settings: Any) -> Table:
    """Return a table with labels whose samples stay on disk; the settings are those of `open_table`."""
    table = open_table(path, options, memory_limit, options.target, options.weight, **settings)
    if table.y is None:
        raise click.UsageError(f"{path} has no labels: name the .npy file that has them by --target")
    return table


def _fit_to_model(path: str, given: dict[str, Any], n_features: int | None, may_lack_labels: bool) -> dict[str, Any]:
    """Return the reader options that give a file the features of the model."""
    from metricwise.io.spec import describe_file
    from metricwise.io.streaming import STREAMED

    spec = describe_file(path, STREAMED, **given)
    if spec.format == "svmlight":
        return {"n_features": n_features}
    found = {"decimal": spec.decimal}
    if not may_lack_labels or n_features is None:
        return found
    count = spec.n_columns - (spec.roles.weight is not None) - len(spec.roles.drop)
    if count not in (n_features, n_features + 1):
        raise ValueError(
            f"{path} has {count} columns, and the model takes {n_features} features, and at most one "
            "column of labels beside them: put the columns in the order of training, or leave --disk out, since "
            "columns are then found by name"
        )
    return found | ({"target": None, "labelled": False} if count == n_features else {})
