"""Columns in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Integers
from metricwise.io.notation import Decimal


class Field(NamedTuple):
    """The content of a column: numbers, nan where missing, or codes of texts, -1 where missing."""

    values: NDArray[Any]
    categories: list[str] | None = None

    @property
    def is_text(self) -> bool:
        """Whether the column holds texts."""
        return self.categories is not None

    @property
    def missing(self) -> NDArray[np.bool_]:
        """The entries without a value, as a mask."""
        return np.asarray(self.values < 0 if self.is_text else np.isnan(self.values))

    def objects(self) -> NDArray[Any]:
        """Return the entries as objects: numbers, or texts and None."""
        return self.values if self.categories is None else np.array([*self.categories, None], object)[self.values]


def restore_integers(y: NDArray[Any]) -> NDArray[Any]:
    """Return labels as integers if all of them are whole numbers, else as they are.

    Examples
    --------
    >>> restore_integers(np.array([0.0, 1.0])), restore_integers(np.array([0.5, 1.0]))
    (array([0, 1]), array([0.5, 1. ]))
    """
    whole = y.dtype.kind == "f" and bool(np.all(y == np.round(y)) and np.all(np.abs(y) < 2**53))
    return y.astype(np.int64) if whole else y


def sort_categories(codes: Integers, texts: list[str]) -> Field:
    """Return a column of texts whose categories are sorted, each once, from the codes of others."""
    categories = sorted(set(texts))
    if categories == texts:
        return Field(codes, texts)
    position = {text: number for number, text in enumerate(categories)}
    order = np.array([*(position[text] for text in texts), -1], dtype=np.int64)
    return Field(order[codes], categories)


class Content(NamedTuple):
    """The columns of a file that are used, by position.

    ``locate`` returns line and column of an entry for error messages. If the columns of numbers form one matrix,
    ``numbers``, then ``places`` maps their positions to its columns. ``decimal`` is the decimal point of its texts.
    """

    fields: dict[int, Field]
    n_rows: int
    locate: Callable[[int, int], tuple[int, int]]
    numbers: NDArray[np.float64] | None = None
    places: Integers | None = None
    decimal: Decimal = "."

    def matrix(self, columns: list[int]) -> NDArray[np.float64]:
        """Return columns of numbers as a matrix, without a copy where they are adjacent."""
        if self.numbers is None or self.places is None:
            return np.column_stack([self.fields[number].values for number in columns])
        places = self.places[columns]
        if np.all(np.diff(places) == 1):
            return self.numbers[:, places[0] : places[-1] + 1]
        return self.numbers[:, places]
