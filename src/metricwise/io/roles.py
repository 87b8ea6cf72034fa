"""What the columns of a table are for: features, targets, weights; and their content once it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Integers
from metricwise.io.columns import find_column

Kind = Literal["number", "text"]
Which = str | int


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
        """Where nothing is given."""
        return np.asarray(self.values < 0 if self.is_text else np.isnan(self.values))

    def objects(self) -> NDArray[Any]:
        """Return numbers as they are and texts as text."""
        return self.values if self.categories is None else np.array([*self.categories, None], object)[self.values]


def in_order(codes: Integers, texts: list[str]) -> Field:
    """Return a column of texts whose categories are sorted, each once, from the codes of others."""
    categories = sorted(set(texts))
    if categories == texts:
        return Field(codes, texts)
    position = {text: number for number, text in enumerate(categories)}
    order = np.array([*(position[text] for text in texts), -1], dtype=np.int64)
    return Field(order[codes], categories)


class Content(NamedTuple):
    """All columns of a file in its order, and where a row is to be found in it: line and column of a message.

    Columns of numbers may be those of one matrix, ``numbers``; then ``places`` says which is which.
    """

    fields: list[Field]
    place_of: Callable[[int, int], tuple[int, int]]
    numbers: NDArray[np.float64] | None = None
    places: Integers | None = None

    def matrix(self, columns: list[int]) -> NDArray[np.float64]:
        """Return columns of numbers as a matrix, without a copy where they lie side by side."""
        if self.numbers is None or self.places is None:
            return np.column_stack([self.fields[number].values for number in columns])
        places = self.places[columns]
        if np.all(np.diff(places) == 1):
            return self.numbers[:, places[0] : places[-1] + 1]
        return self.numbers[:, places]


class Roles(NamedTuple):
    """Positions of features, targets and weights among the columns, names, and the kinds that were asked for."""

    features: list[int]
    feature_names: tuple[str, ...]
    targets: list[int]
    target_names: tuple[str, ...]
    weight: int | None
    kinds: dict[int, Kind]


def assign_roles(
    path: str,
    names: Sequence[str] | None,
    count: int,
    target: Which | Sequence[Which] | None,
    weight: Which | None,
    columns: Sequence[str] | Mapping[str, Kind] | None,
) -> Roles:
    """Say what each of ``count`` columns is for.

    Examples
    --------
    >>> roles = assign_roles("data.csv", ["age", "y", "w"], 3, target="y", weight="w", columns=None)
    >>> roles.features, roles.targets, roles.weight
    ([0], [1], 2)
    """
    wanted: Sequence[Which] = [-1] if target is None else [target] if isinstance(target, str | int) else list(target)
    targets = [find_column(path, "target", which, names, count) for which in wanted]
    if len(set(targets)) < len(targets):
        raise ValueError(f"{path}: a column is named as a target twice: name each once")
    at = None if weight is None else find_column(path, "weight", weight, names, count)
    if at in targets:
        raise ValueError(f"{path}: target and weight are the same column: name the target, or another weight")
    rest = [number for number in range(count) if number not in set(targets) and number != at]
    features = rest if columns is None else _selected(path, names, rest, list(columns))
    if not features:
        raise ValueError(f"{path} has no columns left for features: it has {count} in all")
    titles = tuple(columns) if columns is not None else _titles(path, names, features)
    kinds: dict[int, Kind] = {}
    if isinstance(columns, Mapping):
        kinds = {number: columns[name] for number, name in zip(features, titles, strict=True)}
    target_names = tuple(f"column {number + 1}" if names is None else names[number] for number in targets)
    return Roles(features, titles, targets, target_names, at, kinds)


def _titles(path: str, names: Sequence[str] | None, features: list[int]) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{number}" for number in range(1, len(features) + 1))
    titles = tuple(names[number] for number in features)
    for title in titles:
        if titles.count(title) > 1:
            raise ValueError(f"{path} has more than one column {title!r}: give each a name of its own")
    return titles


def _selected(path: str, names: Sequence[str] | None, rest: list[int], wanted: list[str]) -> list[int]:
    """Return the columns of some names in this order; without names, all columns, of which there must be as many."""
    if names is None:
        if len(rest) != len(wanted):
            raise ValueError(
                f"{path} has {len(rest)} columns of features and no header, but {len(wanted)} are needed: "
                f"{', '.join(wanted[:10])}{', ...' if len(wanted) > 10 else ''}"
            )
        return rest
    absent = [name for name in wanted if name not in names]
    if absent:
        shown = ", ".join(map(repr, absent[:10])) + (", ..." if len(absent) > 10 else "")
        raise ValueError(f"{path} lacks {len(absent)} of the columns that are needed: {shown}")
    return [find_column(path, "columns", name, names, len(names)) for name in wanted]
