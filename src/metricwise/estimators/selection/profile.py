"""Properties of the samples that decide which candidates fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from metricwise._sklearn import count_samples
from metricwise.estimators.inputs import refuse_empty_frame, validate_samples

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
    categorical : tuple
        Names of the columns of a data frame that hold no numbers.
    numeric : tuple
        Names of the others; both are empty unless the samples are a data frame.
    has_missing : bool
        Whether a number is missing.
    has_counts : bool
        Whether the samples are a sparse matrix of counts, as of terms in texts.
    is_uneven : bool
        Whether they are a sparse matrix whose columns have very different scales.
    density : float
        Share of the stored entries.
    """

    n_samples: int
    n_features: int
    is_sparse: bool
    categorical: tuple[Any, ...]
    numeric: tuple[Any, ...]
    has_missing: bool
    has_counts: bool = False
    is_uneven: bool = False
    density: float = 1.0

    @classmethod
    def of(cls, X: Any) -> Profile:
        """Return the profile of an array, a sparse matrix or a data frame.

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
            return cls(n_samples, int(X.shape[1]), True, (), (), missing, _are_counts(X), is_uneven, density)
        if not hasattr(X, "columns"):
            return cls(n_samples, int(X.shape[1]), False, (), (), bool(np.isnan(X).any()))
        columns = list(X.columns)
        numeric = tuple(name for name in columns if np.asarray(X[name].to_numpy()).dtype.kind in "biuf")
        others = tuple(name for name in columns if name not in set(numeric))
        missing = any(bool(np.isnan(np.asarray(X[name].to_numpy(), dtype=np.float64)).any()) for name in numeric)
        return cls(n_samples, len(columns), False, others, numeric, missing)

    @property
    def is_wide(self) -> bool:
        """Whether the samples are sparse with too many features for a dense matrix, like texts."""
        return self.is_sparse and not self.fits_dense

    @property
    def fits_dense(self) -> bool:
        """Whether a dense matrix of the samples fits into memory."""
        return self.n_features <= _MOST_DENSE_FEATURES and self.n_samples * self.n_features <= _MOST_DENSE_VALUES

    @property
    def is_frame(self) -> bool:
        """Whether the samples are a data frame."""
        return bool(self.categorical or self.numeric)


def validate_columns(estimator: Any, X: Any, reset: bool, missing: bool) -> Any:
    """Return valid samples: a data frame unchanged if columns of it hold no numbers, otherwise arrays.

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
    """
    refuse_empty_frame(X)
    if hasattr(X, "columns") and Profile.of(X).categorical:
        return validate_data(estimator, X, reset=reset, skip_check_array=True)
    return validate_samples(estimator, X, reset=reset, least=2 if reset else 1, missing=missing)


def _are_counts(X: Any) -> bool:
    """Return whether a sparse matrix holds counts: non-negative integers, not all of them one."""
    values = X.data
    whole = values.size > 0 and bool(np.all((values >= 0) & (values == np.floor(values))))
    return whole and X.shape[1] >= _FEWEST_TERMS and bool(values.max() > 1)


def _are_uneven(X: Any) -> bool:
    largest = np.asarray(abs(X).max(axis=0).todense()).ravel()
    present = largest[largest > 0.0]
    return present.size > 0 and bool(np.quantile(present, 0.95) > _UNEVEN * np.quantile(present, 0.05))
