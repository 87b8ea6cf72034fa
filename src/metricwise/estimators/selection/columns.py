"""What the columns of a data frame hold: numbers, categories, texts, dates, durations or identifiers."""

from __future__ import annotations

import logging
import re
import warnings
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metricwise.estimators.selection.texts import MOST_COMPONENTS, are_texts
from metricwise.estimators.selection.times import DATES, DURATIONS, is_date, recognise_format

_LOG = logging.getLogger("metricwise")
_LEAST_SAMPLES = 30  # from which on different values show that a column identifies samples
_NEARLY_ALL = 0.95  # share of different values among those of identifiers
_LEAST_DENSITY = 0.5  # share of the whole numbers between the least and the largest that occur if they count samples
_NAMED_IDENTIFIER = re.compile(r"(.*[\s_.-])?(?i:id|uuid|guid|key|index)|.*[a-z]I[dD]", re.DOTALL)

Kind = Literal["number", "category", "text", "identifier"] | tuple[Literal["time"], str]


@dataclass(frozen=True)
class Columns:
    """Positions of the columns of a data frame by what they hold.

    Attributes
    ----------
    names : tuple
        Names of all columns.
    numbers, categories, texts, times, identifiers : tuple of int
        Numbers; categories; texts of several words; dates and durations; and other values that differ in nearly every
        sample, from which nothing can be learnt.
    formats : tuple of str
        For every column of ``times`` the format that `TimeEncoder` reads.
    """

    names: tuple[Any, ...] = ()
    numbers: tuple[int, ...] = ()
    categories: tuple[int, ...] = ()
    times: tuple[int, ...] = ()
    formats: tuple[str, ...] = ()
    identifiers: tuple[int, ...] = ()
    texts: tuple[int, ...] = ()

    @classmethod
    def of(cls, X: Any) -> Columns:
        """Return what the columns of a data frame hold.

        Raises
        ------
        ValueError
            If a column mixes texts and other values, or all columns are identifiers.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [31.0, 40.0], "job": ["cook", "clerk"], "hired": ["1.2.2020", "24.12.2021"]})
        >>> columns = Columns.of(frame)
        >>> columns.numbers, columns.categories, columns.times, columns.formats
        ((0,), (1,), (2,), ('%d.%m.%Y',))
        """
        names = tuple(X.columns)
        kinds = [_recognise_kind(name, read_values(X, name)) for name in names]
        if names and all(kind == "identifier" for kind in kinds):
            raise ValueError(
                f"every column of X has a different value in nearly every sample, as identifiers have: "
                f"{_join_names(names)}. Add columns from which something can be learnt"
            )

        def positions(wanted: str) -> tuple[int, ...]:
            return tuple(at for at, kind in enumerate(kinds) if kind == wanted or kind[0] == wanted)

        formats = tuple(kind[1] for kind in kinds if kind[0] == "time")
        return cls(
            names,
            positions("number"),
            positions("category"),
            positions("time"),
            formats,
            positions("identifier"),
            positions("text"),
        )

    def names_of(self, positions: tuple[int, ...]) -> tuple[Any, ...]:
        """Return the names of the columns at some positions."""
        return tuple(self.names[position] for position in positions)

    def describe(self) -> list[str]:
        """Return a sentence each about dates, durations, texts and identifiers, as far as there are any."""
        left_out = [f"Identifiers, left out: {_join_names(self.names_of(self.identifiers))}."]
        return self.describe_conversions() + (left_out if self.identifiers else [])

    def describe_conversions(self) -> list[str]:
        """Return a sentence each about dates, durations and texts, which become numbers, as far as there are any."""
        dates = [at for at, format in zip(self.times, self.formats, strict=True) if format != DURATIONS]
        durations = [at for at in self.times if at not in dates]
        found = {
            "Dates, used as days since 1970, and month, weekday and hour where these vary": dates,
            "Durations, used as seconds": durations,
            f"Texts, used as up to {MOST_COMPONENTS} components of their words": self.texts,
        }
        return [f"{words}: {_join_names(self.names_of(tuple(at)))}." for words, at in found.items() if at]

    def announce(self) -> None:
        """Log how dates and texts are used; warn about identifiers, which are left out."""
        for line in self.describe_conversions():
            _LOG.info(line)
        if self.identifiers:
            warnings.warn(
                f"columns with a different value in nearly every sample are left out, as nothing can be learnt from "
                f"identifiers: {_join_names(self.names_of(self.identifiers))}. Drop them (--drop in the "
                "command) to avoid this warning; whole numbers that do matter are used if you scale them, as in "
                "X[name] / 1000",
                UserWarning,
                stacklevel=3,
            )


def _join_names(names: tuple[Any, ...]) -> str:
    return ", ".join(repr(name) for name in names)


def read_values(X: Any, name: Any) -> NDArray[Any]:
    """Return the values of a column: numbers of an extension type of pandas as floats, its categories as objects."""
    import pandas as pd

    column = X[name]
    if isinstance(column, pd.Series) and isinstance(column.dtype, pd.api.extensions.ExtensionDtype):
        if _has_extension_numbers(column):
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            return np.asarray(column.dt.tz_convert(None).to_numpy())
        if isinstance(column.dtype, pd.CategoricalDtype):  # also of numbers, which the user calls categories
            return np.asarray(column.astype(object).to_numpy())
    return np.asarray(column.to_numpy())


def convert_extension_numbers(X: Any) -> Any:
    """Return a data frame whose numbers of extension types of pandas are floats, NaN where missing.

    Examples
    --------
    >>> import pandas as pd
    >>> convert_extension_numbers(pd.DataFrame({"n": pd.array([1, None], dtype="Int64")}))["n"].tolist()
    [1.0, nan]
    """
    if not hasattr(X, "iloc"):
        return X
    extended = [name for name in X.columns if _has_extension_numbers(X[name])]
    if not extended:
        return X
    converted = X.copy(deep=False)
    for name in extended:
        converted[name] = read_values(X, name)
    return converted


def _has_extension_numbers(column: Any) -> bool:
    import pandas as pd

    is_extended = isinstance(column.dtype, pd.api.extensions.ExtensionDtype)
    return is_extended and bool(pd.api.types.is_numeric_dtype(column.dtype))


def holds_numbers(values: NDArray[Any]) -> bool:
    """Return whether values of a column are numbers, by their type."""
    return values.dtype.kind in "biuf"


def _recognise_kind(name: Any, values: NDArray[Any]) -> Kind:
    if holds_numbers(values):
        return "identifier" if _count_samples(name, values) else "number"
    if values.dtype.kind in "Mm":
        return "time", DATES if values.dtype.kind == "M" else DURATIONS
    present = check_one_type(name, values)
    if not present.size:
        return "category"
    first = present[0]
    if isinstance(first, str):
        texts = list(dict.fromkeys(present.tolist()))
        format = recognise_format(texts)
        if format is not None:
            return "time", format
        if present.size >= _LEAST_SAMPLES and are_texts(texts, present.size):
            return "text"
        is_identifier = present.size >= _LEAST_SAMPLES and len(texts) >= _NEARLY_ALL * present.size
        return "identifier" if is_identifier else "category"
    if is_date(first):
        return "time", DATES
    return ("time", DURATIONS) if isinstance(first, timedelta | np.timedelta64) else "category"


def check_one_type(name: Any, values: NDArray[Any]) -> NDArray[Any]:
    """Return the values of a column of objects that are not missing; ValueError if texts and others are mixed."""
    import pandas as pd

    present: NDArray[Any] = values[~pd.isna(values)]
    is_text = np.fromiter((isinstance(value, str) for value in present), dtype=bool, count=present.size)
    if is_text.any() and not is_text.all():
        text, other = present[is_text][0], present[~is_text][0]
        raise ValueError(
            f"column {name!r} of X mixes texts and other values, such as {text!r} and {other!r} "
            f"({type(other).__name__}): convert it to numbers with pandas.to_numeric, or to texts with astype(str)"
        )
    return present


def _count_samples(name: Any, values: NDArray[Any]) -> bool:
    """Return whether numbers count or identify samples: whole, different, and consecutive or named as identifiers."""
    if values.size < _LEAST_SAMPLES or values.dtype.kind == "b":
        return False
    if values.dtype.kind == "f" and not (np.isfinite(values).all() and bool(np.all(values == np.floor(values)))):
        return False
    different = np.unique(values)
    if different.size < _NEARLY_ALL * values.size:
        return False
    span = float(different[-1]) - float(different[0]) + 1.0
    return different.size >= _LEAST_DENSITY * span or _NAMED_IDENTIFIER.fullmatch(str(name)) is not None
