"""What is known of the rows before anything is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples


@dataclass(frozen=True)
class Profile:
    """The shape of the rows, and what stands in the way of a learner that wants numbers.

    Attributes
    ----------
    n_rows, n_features : int
        The shape.
    is_sparse : bool
        Whether the rows are a sparse matrix.
    categorical : tuple
        Names of the columns of a data frame that hold no numbers.
    numeric : tuple
        Names of the others; both are empty unless the rows are a data frame.
    has_missing : bool
        Whether a number is missing.
    """

    n_rows: int
    n_features: int
    is_sparse: bool
    categorical: tuple[Any, ...]
    numeric: tuple[Any, ...]
    has_missing: bool

    @classmethod
    def of(cls, X: Any) -> Profile:
        """Look at rows: an array, a sparse matrix or a data frame.

        Examples
        --------
        >>> import numpy as np
        >>> Profile.of(np.array([[1.0, np.nan]])).has_missing
        True
        """
        n_rows = _num_samples(X)
        if sparse.issparse(X):
            return cls(n_rows, int(X.shape[1]), True, (), (), bool(np.isnan(X.data).any()))
        if not hasattr(X, "columns"):
            return cls(n_rows, int(X.shape[1]), False, (), (), bool(np.isnan(X).any()))
        columns = list(X.columns)
        numeric = tuple(name for name in columns if np.asarray(X[name].to_numpy()).dtype.kind in "biuf")
        others = tuple(name for name in columns if name not in set(numeric))
        missing = any(bool(np.isnan(np.asarray(X[name].to_numpy(), dtype=np.float64)).any()) for name in numeric)
        return cls(n_rows, len(columns), False, others, numeric, missing)

    @property
    def is_frame(self) -> bool:
        """Whether the rows are a data frame."""
        return bool(self.categorical or self.numeric)
