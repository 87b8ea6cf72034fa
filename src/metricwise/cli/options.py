"""Options that commands share, and the types that parse their values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

ColumnKey = str | int

_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_POSITION = re.compile(r"-?\d{1,9}", re.ASCII)
_BUDGET = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")
_NAMED_DECIMALS = {"point": ".", "dot": ".", "comma": ",", ".": ".", ",": ","}
_NAMED_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "blank": " "}


class Number(click.FloatRange):
    """A number within bounds, which NaN is not, although it is neither below nor above them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a valid number", param, ctx)
        return number


class Column(click.ParamType):
    """A column by name, or by position: 1 is the first, -1 the last."""

    name = "column"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ColumnKey:
        """Return the name, or the position as Python counts."""
        if not _POSITION.fullmatch(str(value)):
            return str(value)
        number = int(value)
        if number == 0:
            self.fail("columns are counted from 1, or backwards from -1", param, ctx)
        return number - 1 if number > 0 else number


class ColumnList(Column):
    """Columns by name or position, separated by commas."""

    name = "columns"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the names and positions."""
        parts = [part.strip() for part in str(value).split(",")]
        return tuple(Column.convert(self, part, param, ctx) for part in parts if part)


class Seconds(click.ParamType):
    """A time such as 90, 30s, 5m or 1h30m."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        found = _BUDGET.fullmatch(str(value).strip().lower())
        parts = found.groups() if found else (None,)
        if not any(parts):
            self.fail(f"{value!r} is no time: write 90s, 5m or 1h30m", param, ctx)
        total = sum(float(part) * scale for part, scale in zip(parts, _SECONDS.values(), strict=True) if part)
        if total <= 0.0:
            self.fail("the time must be above zero", param, ctx)
        return total


class Size(click.ParamType):
    """An amount of memory such as 800MB or 2GiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return bytes."""
        from metricwise.memory import parse_bytes

        try:
            return parse_bytes(str(value))
        except ValueError:
            self.fail(f"{value!r} is no amount of memory: write 800MB or 2GiB", param, ctx)


class Constraint(click.ParamType):
    """A guarantee such as precision>=0.9."""

    name = "constraint"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text, or fail if it is no constraint."""
        from metricwise.decisions.group_constraints import separate_constraints
        from metricwise.decisions.guarantees import parse_constraints

        try:
            parse_constraints(separate_constraints(str(value)).pooled)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class MeasureText(click.ParamType):
    """A measure by name, with its parameter if it has one."""

    name = "measure"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text, or fail if it names no measure."""
        from metricwise.measures import get_measure

        try:
            get_measure(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class Delimiter(click.ParamType):
    """A single character, or the name of one."""

    name = "delimiter"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the character."""
        character = _NAMED_DELIMITERS.get(str(value).lower(), str(value))
        if len(character) != 1:
            self.fail(f"{value!r} is no single character, nor one of {', '.join(_NAMED_DELIMITERS)}", param, ctx)
        return character


class Decimal(click.ParamType):
    """The decimal point of numbers: a dot or a comma, or the name of one."""

    name = "point"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the character."""
        if str(value).lower() not in _NAMED_DECIMALS:
            self.fail(f"{value!r} is no decimal point: write point or comma", param, ctx)
        return _NAMED_DECIMALS[str(value).lower()]


class Encoding(click.ParamType):
    """The name of a text encoding."""

    name = "encoding"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail if Python knows no such encoding."""
        from metricwise.io.encodings import check_encoding

        try:
            check_encoding(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)


@dataclass(frozen=True)
class DataOptions:
    """How to read a file."""

    target: tuple[ColumnKey, ...]
    weight: ColumnKey | None
    format: str | None
    delimiter: str | None
    has_header: bool | None
    zero_based: bool
    decimal: str | None
    encoding: str | None

    def file_options(self) -> dict[str, Any]:
        """Return the arguments of `metricwise.io.read_table`, `stream` and `open` other than the columns."""
        return {
            "format": self.format,
            "delimiter": self.delimiter,
            "has_header": self.has_header,
            "zero_based": self.zero_based,
            "decimal": self.decimal,
            "encoding": self.encoding,
        }


def groups_option(effect: str) -> Callable[..., Any]:
    """Return a decorator that adds ``--groups``, given what the groups do."""
    return click.option("--groups", type=Column(), help=f"Column of groups, such as patients: {effect}; no feature.")


GROUPS_OF_FOLDS = "samples of one stay together in all folds, or are the query that ranking-svm ranks"
GROUPS_OF_INTERVALS = "samples of one are drawn together, so that intervals are for new groups"


def on_error_option(where: str) -> Callable[..., Any]:
    """Return a decorator that adds ``--on-error``, given with which options it has an effect."""
    return click.option(
        "--on-error",
        default="raise",
        show_default=True,
        type=click.Choice(["raise", "skip"]),
        help=f"Malformed lines {where}: raise an error, or skip them with a warning.",
    )


def pos_label_option(default: str) -> Callable[..., Any]:
    """Return a decorator that adds ``--pos-label``, given what it is by default."""
    return click.option("--pos-label", help=f"The positive class of two; by default {default}.")


def data_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a data file; the command gets them as ``data_options``."""

    @click.option(
        "--target",
        multiple=True,
        type=Column(),
        help="Column of labels: a name, or a position from 1; repeat it for multilabel data.",
    )
    @click.option("--weight", type=Column(), help="Column of sample weights.")
    @click.option(
        "--format", type=click.Choice(["csv", "svmlight", "arff", "parquet"]), help="Format, if not recognised."
    )
    @click.option("--delimiter", type=Delimiter(), help="Delimiter of a CSV file, if not recognised.")
    @click.option("--header/--no-header", "has_header", default=None, help="Whether a CSV file names its columns.")
    @click.option("--zero-based", is_flag=True, help="Features of an svmlight file are counted from 0.")
    @click.option("--decimal", type=Decimal(), help="Decimal point of a CSV file, point or comma, if not recognised.")
    @click.option(
        "--encoding",
        type=Encoding(),
        help="Encoding of a text file, such as latin-1; by default that of its byte order mark, else UTF-8.",
    )
    @wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        names = ("target", "weight", "format", "delimiter", "has_header", "zero_based", "decimal", "encoding")
        return function(*args, data_options=DataOptions(*(options.pop(name) for name in names)), **options)

    return wrapped


def confidence_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option --confidence to a command that shows intervals."""
    bounds, text = Number(0, 1, min_open=True, max_open=True), "Level of intervals."
    return click.option("--confidence", default=0.9, show_default=True, type=bounds, help=text)(function)
