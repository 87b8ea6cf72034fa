"""Convert samples to the numbers that trees compare, as the library did that trained the trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise._state import stored_fields
from metricwise._typing import Indices

_NO_COLUMNS = np.empty(0, dtype=np.int64)


@stored_fields(version=1)
@dataclass(frozen=True)
class LightGBMSamples:
    """Samples as LightGBM reads them: in double precision, integers of arrays in single precision.

    A category that was not in training is missing.

    Parameters
    ----------
    categories : list of lists
        The categories of each categorical column of a data frame, in the order of their codes.
    categorical : array of int64
        Columns that trees split by sets of codes; fractions of codes are dropped.
    """

    is_single: ClassVar[bool] = False
    missing: ClassVar[float] = np.nan
    missing_above: ClassVar[Indices] = _NO_COLUMNS

    categories: list[list[Any]]
    categorical: Indices

    @property
    def treated_columns(self) -> Indices:
        """Columns that are treated in their own way."""
        return self.categorical

    def convert(self, X: Any) -> NDArray[np.float64]:
        """Return samples in double precision, NaN where a value is missing."""
        if _is_frame(X):
            numbers = _encode_frame(X, self.categories)
        elif sparse.issparse(X):
            numbers = X.toarray()
        else:
            numbers = np.asarray(X)
        if numbers.dtype not in (np.float32, np.float64):
            numbers = numbers.astype(np.float32)
        if self.categorical.size == 0:
            return np.ascontiguousarray(numbers, dtype=np.float64)
        converted = np.array(numbers, dtype=np.float64, order="C")
        converted[:, self.categorical] = np.trunc(converted[:, self.categorical])
        return converted


@stored_fields(version=1)
@dataclass(frozen=True)
class XGBoostSamples:
    """Samples as XGBoost reads them: in single precision, what a sparse matrix does not store is missing.

    A category that was not in training is in no set, as a code beyond those of training is. (XGBoost 3.2 takes such a
    category of a data frame for the one that follows it in the alphabet.)

    Parameters
    ----------
    categories : list of lists
        The categories of each categorical column of a data frame, in the order of their codes.
    missing : float
        The value that counts as missing beside NaN.
    """

    is_single: ClassVar[bool] = True
    missing_above: ClassVar[Indices] = _NO_COLUMNS

    categories: list[list[Any]]
    missing: float

    @property
    def treated_columns(self) -> Indices:
        """Columns that are treated in their own way: none."""
        return _NO_COLUMNS

    def convert(self, X: Any) -> NDArray[np.float32]:
        """Return samples in single precision, NaN where a value is missing."""
        if _is_frame(X):
            numbers = _round(_encode_frame(X, self.categories, new=-1.0))
        elif sparse.issparse(X):
            entries = X.tocoo()
            numbers = np.full(X.shape, np.nan, dtype=np.float32)
            numbers[entries.row, entries.col] = _round(entries.data)
        else:
            numbers = _round(np.asarray(X))
        if not np.isnan(self.missing):
            numbers[numbers == np.float32(self.missing)] = np.nan
        return numbers


@stored_fields(version=1)
@dataclass(frozen=True)
class CatBoostSamples:
    """Samples as CatBoost reads them: in single precision.

    Parameters
    ----------
    missing_above : array of int64
        Columns whose missing values are above all thresholds; those of others are below.
    """

    is_single: ClassVar[bool] = True
    missing: ClassVar[float] = np.nan

    missing_above: Indices

    @property
    def treated_columns(self) -> Indices:
        """Columns that are treated in their own way."""
        return self.missing_above

    def convert(self, X: Any) -> NDArray[np.float32]:
        """Return samples in single precision, infinity where missing values are above all thresholds."""
        dense = X.toarray() if sparse.issparse(X) else X
        numbers = _round(_encode_frame(dense, []) if _is_frame(dense) else dense)
        for column in self.missing_above:
            numbers[np.isnan(numbers[:, column]), column] = np.inf
        return numbers


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def _round(numbers: Any) -> NDArray[np.float32]:
    """Return a copy in single precision; numbers beyond its range become infinite."""
    with np.errstate(over="ignore"):
        return np.array(numbers, dtype=np.float32, order="C")


def _encode_frame(frame: Any, categories: list[list[Any]], new: float = np.nan) -> NDArray[np.float64]:
    """Return the numbers of a data frame, with codes in the place of categories; ``new`` for those not in training."""
    import pandas as pd

    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame  # frames of polars and others
    positions = [k for k, dtype in enumerate(frame.dtypes) if isinstance(dtype, pd.CategoricalDtype)]
    if len(positions) != len(categories):
        raise ValueError(
            f"X has {len(positions)} categorical columns, and the classifier was trained with {len(categories)}: give "
            "the columns the types that they had in training"
        )
    numbers = np.empty(frame.shape, dtype=np.float64)
    known = dict(zip(positions, categories, strict=True))
    for k in range(frame.shape[1]):
        column = frame.iloc[:, k]
        if k in known:
            codes = np.asarray(column.cat.set_categories(known[k]).cat.codes)
            numbers[:, k] = np.where(column.isna(), np.nan, np.where(codes < 0, new, codes))
        else:
            numbers[:, k] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers
