"""Columns of texts as numbers: the main components of their words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from metricwise._state import StoredState
from metricwise._typing import Floats
from metricwise.estimators.selection.times import split_columns

MOST_COMPONENTS = 50
_LEAST_WORDS = 3  # of a text in the middle
_LEAST_DIFFERENT = 0.5  # share of different values
_SPARE_WORDS = "__ ___"  # a text of its own: a small part of the samples may have no words, and a SVD needs two
_WORD = re.compile(r"[^\W\d_]{2,}")  # of letters: "3 days 05:12:00" is no text


def are_texts(different: Sequence[str], n_present: int) -> bool:
    """Return whether the values of a column are texts of several words, rather than categories or identifiers.

    Parameters
    ----------
    different : sequence of str
        The different values.
    n_present : int
        Number of samples that have a value.

    Examples
    --------
    >>> are_texts(["the box came late", "all was fine", "my order is lost"], 3), are_texts(["C-1", "C-2", "C-3"], 3)
    (True, False)
    """
    if len(different) < _LEAST_DIFFERENT * n_present:
        return False
    return float(np.median([len(_WORD.findall(text)) for text in different])) >= _LEAST_WORDS


class TextEncoder(TransformerMixin, BaseEstimator):
    """Converts columns of texts to numbers: the main components (truncated SVD) of their words, weighted by tf-idf.

    A missing text has no words, and a component of 0.

    Parameters
    ----------
    n_components : int, default=50
        Most components of each column; fewer if it has fewer different words.

    References
    ----------
    Deerwester, Dumais, Furnas, Landauer and Harshman (1990). Indexing by latent semantic analysis. Journal of the
    American Society for Information Science 41(6).

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"note": ["came late", "late again", "fine", None]})
    >>> TextEncoder(2).fit_transform(frame).shape
    (4, 2)
    """

    __stored_state__: ClassVar[StoredState] = StoredState(1, ("encoders_", "n_features_in_", "feature_names_in_"))

    def __init__(self, n_components: int = MOST_COMPONENTS) -> None:
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the words of every column and their components."""
        names, columns = split_columns(X)
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.encoders_ = [self._fit_column(_read_texts(values)) for values in columns]
        return self

    def transform(self, X: Any) -> Floats:
        """Return the components of every column."""
        check_is_fitted(self, "encoders_")
        columns = split_columns(X)[1]
        parts = [
            encoder.transform(_read_texts(values)) for encoder, values in zip(self.encoders_, columns, strict=True)
        ]
        return np.hstack(parts).astype(np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the components: the column and a number."""
        check_is_fitted(self, "encoders_")
        given = self.feature_names_in_ if input_features is None else input_features
        counts = [len(encoder[-1].components_) for encoder in self.encoders_]
        names = [f"{name} ({k + 1})" for name, count in zip(given, counts, strict=True) for k in range(count)]
        return np.array(names, dtype=object)

    def _fit_column(self, texts: list[str]) -> Pipeline:
        words = TfidfVectorizer(sublinear_tf=True)
        weights = words.fit_transform([*texts, _SPARE_WORDS])
        components = TruncatedSVD(min(self.n_components, weights.shape[1]), random_state=0)
        components.fit(weights)
        return make_pipeline(words, components)


def _read_texts(values: NDArray[Any]) -> list[str]:
    """Return the texts of a column; an empty one where it is missing."""
    return [value if isinstance(value, str) else "" for value in values]
