"""Properties of the samples that decide which candidates fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from metricwise._sklearn import count_samples
from metricwise.clusters import is_dask
from metricwise.estimators.inputs import is_chunked, refuse_empty_frame, validate_samples
from metricwise.estimators.selection.columns import (
    Columns,
    check_one_type,
    convert_extension_numbers,
    holds_numbers,
    read_values,
)
from metricwise.raw_inputs import check_frame

MANY_SAMPLES = 100_000
_MOST_DENSE_FEATURES, _MOST_DENSE_VALUES = 2000, 50_000_000  # of a sparse matrix; 200 megabytes
_FEWEST_TERMS = 100  # of texts
_UNEVEN = 30.0  # ratio of the largest values of columns


@dataclass(frozen=True)
class Profile:
    """The shape of the samples, and the properties that preprocessing depends on.

    Attributes
    ----------
    n_samples, n_features : int
        The shape.
    is_sparse : bool
        Whether the samples are a sparse matrix.
    columns : Columns
        What the columns of a data frame hold, if they are not all of numbers to learn from; empty for other samples.
    has_missing : bool
        Whether a number is missing.
    has_counts : bool
        Whether the samples are a sparse matrix of counts, as of terms in texts.
    is_uneven : bool
        Whether they are a sparse matrix whose columns have very different scales.
    density : float
        Share of the stored entries.
    is_grouped : bool
        Whether samples are in groups, or in folds of the user's own, so that no learner may hold out random ones.
    is_part : bool
        Whether they are a part of more samples than fit into memory, so that memory is scarce.
    """

    n_samples: int
    n_features: int
    is_sparse: bool
    columns: Columns
    has_missing: bool
    has_counts: bool = False
    is_uneven: bool = False
    density: float = 1.0
    is_grouped: bool = False
    is_part: bool = False

    @classmethod
    def of(cls, X: Any, columns: Columns | None = None) -> Profile:
        """Return the profile of an array, a sparse matrix or a data frame.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Samples.
        columns : Columns, optional
            What the columns of the data frame hold that the samples come from; found in X by default.

        Examples
        --------
        >>> import numpy as np
        >>> Profile.of(np.array([[1.0, np.nan]])).has_missing
        True
        """
        n_samples = count_samples(X)
        if sparse.issparse(X):
            missing = bool(np.isnan(X.data).any())
            is_uneven = not missing and _are_uneven(X)
            density = X.nnz / max(1, n_samples * X.shape[1])
            return cls(n_samples, int(X.shape[1]), True, Columns(), missing, _are_counts(X), is_uneven, density)
        if hasattr(X, "columns"):
            known = Columns.of(X) if columns is None else columns
            numbers = known.names_of(known.numbers)
            missing = any(bool(np.isnan(read_values(X, name).astype(np.float64)).any()) for name in numbers)
            return cls(n_samples, len(known.names), False, known, missing)
        known = columns if columns is not None and columns.identifiers else Columns()
        used = X[:, list(known.numbers)] if known.identifiers else X
        return cls(n_samples, int(X.shape[1]), False, known, bool(np.isnan(used).any()))

    @property
    def n_values(self) -> int:
        """The number of stored values."""
        return round(self.density * self.n_samples * self.n_features)

    @property
    def is_large(self) -> bool:
        """Whether there are so many samples that time and memory matter more than the last digit of a score."""
        return self.is_part or self.n_samples > MANY_SAMPLES

    @property
    def categorical(self) -> tuple[int, ...]:
        """Positions of the columns of categories."""
        return self.columns.categories

    @property
    def is_wide(self) -> bool:
        """Whether the samples are sparse with too many features for a dense matrix, like texts."""
        return self.is_sparse and not self.fits_dense

    @property
    def fits_dense(self) -> bool:
        """Whether a dense matrix of the samples fits into memory."""
        return self.n_features <= _MOST_DENSE_FEATURES and self.n_samples * self.n_features <= _MOST_DENSE_VALUES

    @property
    def has_columns(self) -> bool:
        """Whether columns are preprocessed by what they hold."""
        return bool(self.columns.names)


def recognise_columns(X: Any) -> Columns:
    """Return what the columns of a data frame hold; nothing of other samples."""
    check_frame(X)
    refuse_empty_frame(X)
    return Columns.of(X) if hasattr(X, "columns") and not is_chunked(X) and not is_dask(X) else Columns()


def validate_columns(estimator: Any, X: Any, reset: bool, missing: bool) -> Any:
    """Return valid samples: a data frame if columns of it hold no numbers, otherwise arrays.

    Parameters
    ----------
    estimator : estimator
        Its number and names of the features are set, or (``reset=False``) compared.
    X : array, sparse matrix or data frame
        Samples.
    reset : bool
        Whether these are the samples of training, of which there are two or more.
    missing : bool
        Whether numbers may be missing (NaN).

    Raises
    ------
    ValueError
        If a column mixes texts and other values; the message names it.
    """
    check_frame(X)
    refuse_empty_frame(X)
    if hasattr(X, "columns") and not is_chunked(X) and not is_dask(X) and _holds_other_than_numbers(X):
        return convert_extension_numbers(validate_data(estimator, X, reset=reset, skip_check_array=True))
    return validate_samples(estimator, X, reset=reset, least=2 if reset else 1, missing=missing)


def _holds_other_than_numbers(X: Any) -> bool:
    others = {name: values for name in X.columns if not holds_numbers(values := read_values(X, name))}
    for name, values in others.items():
        if values.dtype == object:
            check_one_type(name, values)
    return bool(others)


def _are_counts(X: Any) -> bool:
    """Return whether a sparse matrix holds counts: non-negative integers, not all of them one."""
    values = X.data
    whole = values.size > 0 and bool(np.all((values >= 0) & (values == np.floor(values))))
    return whole and X.shape[1] >= _FEWEST_TERMS and bool(values.max() > 1)


def _are_uneven(X: Any) -> bool:
    rows, largest = X.tocsr(), np.zeros(X.shape[1])
    np.maximum.at(largest, rows.indices, np.abs(rows.data))  # abs(X) would sort the caller's matrix
    present = largest[largest > 0.0]
    return present.size > 0 and bool(np.quantile(present, 0.95) > _UNEVEN * np.quantile(present, 0.05))
