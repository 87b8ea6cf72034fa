"""Dates and durations as numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from metricwise._state import StoredState, stored_fields
from metricwise._typing import Floats

DATES, DURATIONS = "dates", "durations"  # formats of columns that need no parsing
_ISO = "ISO8601"
_ISO_TEXT = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?")
# Month before day where both fit every value, as pandas reads such dates.
_DAYS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d-%b-%Y", "%d %b %Y", "%d.%m.%y")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_DATE_TEXT = re.compile(
    r"(\d{1,2}([./-])\d{1,2}\2\d{4}|\d{4}/\d\d?/\d\d?|\d\d?[- ][A-Za-z]{3}[- ]\d{4}|\d\d?\.\d\d?\.\d\d)\b.*"
)
_FIRST_TEXTS = 20
_DAY = np.timedelta64(1, "D")


def recognise_format(texts: Sequence[str]) -> str | None:
    """Return the one format in which all texts are dates; None if there is none.

    Parameters
    ----------
    texts : sequence of str
        Different texts.

    Examples
    --------
    >>> recognise_format(["2024-05-01", "2024-05-02T10:00"]), recognise_format(["24.12.2024", "1.1.2025"])
    ('ISO8601', '%d.%m.%Y')
    >>> recognise_format(["2024-05-01", "never"]) is None
    True
    """
    first = texts[:_FIRST_TEXTS]
    if first and all(map(_ISO_TEXT.fullmatch, first)):
        is_date = all(map(_ISO_TEXT.fullmatch, texts)) and _are_dates(texts, _ISO)
        return _ISO if is_date else None
    if not first or not all(map(_DATE_TEXT.fullmatch, first)):
        return None
    formats = (day + clock for day in _DAYS for clock in _CLOCKS)
    return next((known for known in formats if _are_dates(first, known) and _are_dates(texts, known)), None)


def _are_dates(texts: Sequence[str], format: str) -> bool:
    return not np.isnat(_parse(np.array(texts, dtype=object), format)).any()


def _parse(values: NDArray[Any], format: str) -> NDArray[np.datetime64]:
    """Return dates, in universal time where they name a time zone; what is no date is not a time."""
    if values.dtype.kind == "f":  # a column without any value
        return np.full(values.shape, np.datetime64("NaT"), dtype="datetime64[us]")
    import pandas as pd

    is_parsed = values.dtype.kind == "M"
    given = {} if format == DATES or is_parsed else {"format": format}
    dates = pd.to_datetime(pd.Series(values), errors="coerce", utc=True, **given)
    return np.asarray(dates.dt.tz_localize(None).to_numpy(dtype="datetime64[us]"))


def is_date(value: object) -> bool:
    """Return whether an object is a date, with a time of day or without."""
    return isinstance(value, date | np.datetime64)


@stored_fields(version=1)
class Part(NamedTuple):
    """A part of the dates of a column that varies: its name, and the values that it had in training."""

    name: str
    values: Floats


class TimeEncoder(TransformerMixin, BaseEstimator):
    """Converts dates to days since 1970, month, weekday and hour as far as these vary, and durations to seconds.

    Parameters
    ----------
    formats : tuple of str
        For every column "dates" or "durations", or the format in which its texts are dates.
    one_hot : bool, default=False
        Whether the parts of dates become indicators, as linear models need them, and not numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"day": ["1970-01-02", "1970-02-01", "unknown"]})
    >>> TimeEncoder(("%Y-%m-%d",)).fit_transform(frame)
    array([[ 1.,  1.,  4.],
           [31.,  2.,  6.],
           [nan, nan, nan]])
    """

    __stored_state__: ClassVar[StoredState] = StoredState(1, ("parts_", "n_features_in_", "feature_names_in_"))

    def __init__(self, formats: tuple[str, ...], one_hot: bool = False) -> None:
        self.formats = formats
        self.one_hot = one_hot

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the parts of the dates that vary."""
        names, columns = split_columns(X)
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.parts_ = [
            [] if format == DURATIONS else _find_parts(_parse(values, format))
            for values, format in zip(columns, self.formats, strict=True)
        ]
        return self

    def transform(self, X: Any) -> Floats:
        """Return numbers; NaN where a date or duration is missing or cannot be read."""
        check_is_fitted(self, "parts_")
        parts: list[Floats] = []
        for values, format, varying in zip(split_columns(X)[1], self.formats, self.parts_, strict=True):
            if format == DURATIONS:
                parts.append(_count_seconds(values))
                continue
            dates = _parse(values, format)
            parts.append(_divide(dates - np.datetime64(0, "us"), _DAY))
            for part in varying:
                numbers = _PARTS[part.name](dates)
                # A month that is missing has none of the indicators.
                parts += [np.equal(numbers, one) * 1.0 for one in part.values] if self.one_hot else [numbers]
        return np.column_stack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the numbers: the column, and the part of its dates."""
        check_is_fitted(self, "parts_")
        names: list[str] = []
        given = self.feature_names_in_ if input_features is None else input_features
        for name, format, parts in zip(given, self.formats, self.parts_, strict=True):
            names.append(f"{name} ({'seconds' if format == DURATIONS else 'days'})")
            for part in parts:
                suffixes = [f" {value:g}" for value in part.values] if self.one_hot else [""]
                names += [f"{name} ({part.name}{suffix})" for suffix in suffixes]
        return np.array(names, dtype=object)


def split_columns(X: Any) -> tuple[list[Any], list[NDArray[Any]]]:
    """Return the names and the values of the columns of a data frame or an array."""
    if hasattr(X, "columns"):
        return list(X.columns), [np.asarray(X[name].to_numpy()) for name in X.columns]
    array = np.asarray(X)
    return [f"x{number}" for number in range(array.shape[1])], list(array.T)


def _find_parts(dates: NDArray[np.datetime64]) -> list[Part]:
    present = dates[~np.isnat(dates)]
    found = [Part(name, np.unique(part_of(present))) for name, part_of in _PARTS.items()]
    return [part for part in found if part.values.size > 1]


def _divide(lengths: NDArray[np.timedelta64], unit: np.timedelta64) -> Floats:
    return np.asarray(lengths / unit, dtype=np.float64)  # NaT becomes NaN


def _count_seconds(values: NDArray[Any]) -> Floats:
    if values.dtype.kind == "f":  # a column without any value
        return values.astype(np.float64)
    import pandas as pd

    lengths = pd.to_timedelta(pd.Series(values), errors="coerce").to_numpy(dtype="timedelta64[us]")
    return _divide(lengths, np.timedelta64(1, "s"))


def _months(dates: NDArray[np.datetime64]) -> Floats:
    months = dates.astype("datetime64[M]")
    return _divide(months - dates.astype("datetime64[Y]").astype("datetime64[M]"), np.timedelta64(1, "M")) + 1.0


def _weekdays(dates: NDArray[np.datetime64]) -> Floats:
    # The first of January 1970 was a Thursday; weeks start on Mondays, which are 0.
    return np.mod(_divide(dates.astype("datetime64[D]") - np.datetime64(0, "D"), _DAY) + 3.0, 7.0)


def _hours(dates: NDArray[np.datetime64]) -> Floats:
    return np.floor(_divide(dates - dates.astype("datetime64[D]"), np.timedelta64(1, "h")))


_PARTS = {"month": _months, "weekday": _weekdays, "hour": _hours}
