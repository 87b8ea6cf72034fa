"""Words and categories as hashed features, for streams whose values are not known in advance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise._state import stored_fields
from metricwise.io.options import check_columns
from metricwise.io.roles import ColumnFinder, Kind, Which

ColumnKind = Literal["number", "category", "text"]

N_HASHED = 2**18
DECIDING_ROWS = 10_000  # from which kinds are found: a fixed number, so that they do not depend on the chunks
_NEARLY_ALL = 0.95  # share of numbers in a column above which its texts are mistakes
_ENOUGH_ROWS = 20  # needed for that decision
_MOST_HASHED = 2**31 - 1  # of scikit-learn's FeatureHasher
_WORD = re.compile(r"\w\w+")  # as scikit-learn's vectorizers find words
_KINDS = ("number", "category", "text")


class HashOptions(NamedTuple):
    """The requested hashing of a file: the options of :func:`metricwise.io.stream`."""

    n_hashed: int
    categories: tuple[Which, ...] = ()
    texts: tuple[Which, ...] = ()

    def find_kinds(self, path: str, names: Sequence[str] | None, count: int) -> dict[int, ColumnKind]:
        """Return the kinds of the columns that are named, by position; raise if a column has two."""
        columns = ColumnFinder(path, names, count)
        found: dict[int, ColumnKind] = {columns.find("categories", which): "category" for which in self.categories}
        for which in self.texts:
            number = columns.find("texts", which)
            if number in found:
                raise ValueError(f"{path}: column {which!r} is named in categories and in texts: leave one out")
            found[number] = "text"
        return found


def make_hash_options(
    hash_features: int | None, categories: Sequence[Which], texts: Sequence[Which]
) -> HashOptions | None:
    """Return the requested hashing; None if no option asks for it."""
    named = check_columns("categories", categories), check_columns("texts", texts)
    if hash_features is None and not any(named):
        return None
    n_hashed = N_HASHED if hash_features is None else hash_features
    if not isinstance(n_hashed, int | np.integer) or isinstance(n_hashed, bool) or not 1 <= n_hashed <= _MOST_HASHED:
        raise ValueError(f"hash_features must be a whole number from 1 to {_MOST_HASHED:,}, got {hash_features!r}")
    return HashOptions(int(n_hashed), *named)


@stored_fields(version=1)
@dataclass(frozen=True)
class HashedColumns:
    """Turn a table of numbers, categories and texts into sparse features, without a dictionary of values.

    Columns of numbers come first, each a feature of its own. All else is hashed by scikit-learn's ``FeatureHasher``
    into ``n_hashed`` features: a category as "column=value", every word of a text, in lower case, as "column:word". A
    missing number or category is zero and the hashed feature "column="; a missing text has no words.

    Parameters
    ----------
    names : tuple of str
        The columns.
    kinds : tuple of {"number", "category", "text"}
        The kind of every column.
    n_hashed : int
        The number of hashed features.

    Examples
    --------
    >>> import pandas as pd
    >>> rule = HashedColumns(("age", "job"), ("number", "category"), 16)
    >>> X = rule.transform(pd.DataFrame({"age": [31.0, None], "job": ["cook", "clerk"]}))
    >>> X.shape, X.getnnz(axis=1)
    ((2, 17), array([2, 2], dtype=int32))
    """

    names: tuple[str, ...]
    kinds: tuple[ColumnKind, ...]
    n_hashed: int

    def __post_init__(self) -> None:
        is_valid = len(self.names) == len(self.kinds) == len(set(self.names)) > 0
        if not is_valid or any(kind not in _KINDS for kind in self.kinds) or not 1 <= self.n_hashed <= _MOST_HASHED:
            raise ValueError("the columns that were hashed, their kinds and the number of features do not fit together")

    @property
    def n_features(self) -> int:
        """The number of features: columns of numbers, and hashed features."""
        return self.kinds.count("number") + self.n_hashed

    @property
    def file_kinds(self) -> dict[str, Kind]:
        """The columns as :func:`metricwise.io.read_table` takes them."""
        return {
            name: "number" if kind == "number" else "text" for name, kind in zip(self.names, self.kinds, strict=True)
        }

    def transform(self, frame: Any) -> sparse.csr_matrix:
        """Return the features of a data frame, whose columns are found by name.

        Parameters
        ----------
        frame : data frame of shape (n_samples, n_columns)
            Numbers, nan where missing, and texts; other columns are ignored.

        Returns
        -------
        csr_matrix of shape (n_samples, n_features)
            The numbers of the columns, followed by the hashed features.
        """
        absent = [name for name in self.names if name not in frame.columns]
        if absent:
            raise ValueError(f"X lacks {len(absent)} of the columns of training: {', '.join(map(repr, absent[:10]))}")
        return self.transform_columns([self._read(frame, *pair) for pair in zip(self.names, self.kinds, strict=True)])

    def _read(self, frame: Any, name: str, kind: ColumnKind) -> NDArray[Any]:
        column = frame[name]
        if kind == "number":
            try:
                values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
            except (TypeError, ValueError) as error:
                raise ValueError(f"column {name!r} of X held numbers in training, and does not now: {error}") from error
            if np.isinf(values).any():
                raise ValueError(f"column {name!r} of X holds infinity: correct it, or write nan if it is missing")
            return values
        values = np.array([*column.astype(object).tolist(), None], dtype=object)[:-1]
        values[np.asarray(column.isna(), dtype=bool)] = None
        if any(isinstance(value, float | np.floating) for value in values):
            remedy = f"X.astype({{{name!r}: 'Int64'}}) or X.astype({{{name!r}: str}})"
            raise ValueError(
                f"column {name!r} of X holds floats, whose texts are not those of training, such as 3.0 instead of 3: "
                f"convert it, for example by {remedy}"
            )
        return values

    def transform_columns(self, columns: Sequence[NDArray[Any]], dtype: Any = np.float64) -> sparse.csr_matrix:
        """Return the features of columns in the order of training.

        Parameters
        ----------
        columns : sequence of arrays of shape (n_samples,)
            Floats, or objects with None where missing, in the order of ``names``.
        dtype : dtype, default=float64
            Type of the features.

        Returns
        -------
        csr_matrix of shape (n_samples, n_features)
            The numbers of the columns, followed by the hashed features.
        """
        from sklearn.feature_extraction import FeatureHasher

        numbers = [values for values, kind in zip(columns, self.kinds, strict=True) if kind == "number"]
        tokens: list[list[str]] = [[] for _ in range(len(columns[0]))]
        for name, kind, values in zip(self.names, self.kinds, columns, strict=True):
            _add_tokens(tokens, name, kind, values)
        hasher = FeatureHasher(self.n_hashed, input_type="string", dtype=dtype)
        hashed = hasher.transform(tokens) if tokens else sparse.csr_matrix((0, self.n_hashed), dtype=dtype)
        if not numbers:
            return sparse.csr_matrix(hashed)
        dense = np.nan_to_num(np.column_stack(numbers), nan=0.0, posinf=np.inf, neginf=-np.inf).astype(dtype)
        return sparse.csr_matrix(sparse.hstack([sparse.csr_matrix(dense), hashed], format="csr"))


def _add_tokens(tokens: list[list[str]], name: str, kind: ColumnKind, values: NDArray[Any]) -> None:
    """Add to every sample what is hashed of a column."""
    if kind == "number":
        for row in np.flatnonzero(np.isnan(values)).tolist():
            tokens[row].append(f"{name}=")
    elif kind == "category":
        for sample, value in zip(tokens, values.tolist(), strict=True):
            sample.append(f"{name}={'' if value is None else value}")
    else:
        for sample, value in zip(tokens, values.tolist(), strict=True):
            if value is not None:
                sample += [f"{name}:{word}" for word in _WORD.findall(str(value).lower())]


def decide_kind(n_numbers: int, n_texts: int) -> ColumnKind:
    """Return the kind of a column by its first entries; a few texts among many numbers are mistakes.

    Examples
    --------
    >>> decide_kind(0, 0), decide_kind(3, 1), decide_kind(99, 1)
    ('number', 'category', 'number')
    """
    n_given = n_numbers + n_texts
    is_mistake = n_numbers >= _ENOUGH_ROWS and n_numbers / n_given > _NEARLY_ALL
    return "number" if not n_texts or is_mistake else "category"
