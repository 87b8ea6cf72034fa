"""What the columns of a table are for: features, targets, weights and groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Literal, NamedTuple

Kind = Literal["number", "text"]
Which = str | int


class RoleOptions(NamedTuple):
    """The requested use of the columns of a file: the options of :func:`metricwise.io.read_table`."""

    target: tuple[Which, ...] | None = None
    weight: Which | None = None
    columns: tuple[str, ...] | None = None
    drop: tuple[Which, ...] = ()
    kinds: Mapping[str, Kind] | None = None
    n_features: int | None = None
    labelled: bool = True
    groups: Which | None = None

    @property
    def names(self) -> list[str]:
        """The columns that are requested by name."""
        asked = [*(self.target or ()), self.weight, self.groups, *(self.columns or ()), *self.drop]
        return [which for which in asked if isinstance(which, str)]


class Roles(NamedTuple):
    """Positions of features, targets and weights among the columns, their names, and the requested kinds."""

    features: list[int]
    feature_names: tuple[str, ...]
    targets: list[int]
    target_names: tuple[str, ...]
    weight: int | None
    kinds: dict[int, Kind]
    groups: int | None = None

    @property
    def used(self) -> list[int]:
        """The columns that are not ignored."""
        others = [number for number in (self.weight, self.groups) if number is not None]
        return [*self.features, *self.targets, *others]


class ColumnFinder:
    """Finds the columns of a file by name or position.

    Parameters
    ----------
    path : str
        The file, for messages.
    names : sequence of str or None
        The names of its columns, if it has them.
    count : int
        The number of its columns.

    Examples
    --------
    >>> columns = ColumnFinder("train.csv", ["age", "label"], 2)
    >>> columns.find("target", "label"), columns.find("target", -2)
    (1, 0)
    >>> columns.find("target", "lable")
    Traceback (most recent call last):
    ValueError: train.csv has no column 'lable' for target: did you mean 'label'?
    """

    def __init__(self, path: str, names: Sequence[str] | None, count: int) -> None:
        self._path, self._names, self._count = path, names, count
        self.positions = {name: number for number, name in enumerate(names or ())}
        counts = Counter(names or ()) if len(self.positions) < len(names or ()) else Counter[str]()
        self._repeated = {name for name, count in counts.items() if count > 1}

    def find(self, argument: str, which: Which) -> int:
        """Return the position of a column given by name or position as an argument."""
        path, names, count = self._path, self._names, self._count
        if not isinstance(which, str):
            if not -count <= which < count:
                raise ValueError(f"{path} has {count} columns, so {argument}={which} is none of them")
            return which % count
        if names is None:
            raise ValueError(
                f"{path} has no line of column names: give {argument} by position, or pass has_header=True"
            )
        if which in self._repeated:
            raise ValueError(f"{path} has more than one column {which!r}: give {argument} by position")
        if which not in self.positions:
            close = get_close_matches(which, names)
            hint = (
                f"did you mean {' or '.join(map(repr, close))}?" if close else f"its columns are {_list_names(names)}"
            )
            raise ValueError(f"{path} has no column {which!r} for {argument}: {hint}")
        return self.positions[which]

    def find_all(self, argument: str, columns: Iterable[Which]) -> list[int]:
        """Return the positions of some columns."""
        return [self.find(argument, which) for which in columns]


def assign_roles(path: str, names: Sequence[str] | None, count: int, options: RoleOptions) -> Roles:
    """Return the roles of ``count`` columns; columns that are not requested are ignored.

    Examples
    --------
    >>> roles = assign_roles("data.csv", ["age", "y", "w"], 3, RoleOptions(target=("y",), weight="w"))
    >>> roles.features, roles.targets, roles.weight
    ([0], [1], 2)
    """
    wanted: Sequence[Which] = () if not options.labelled else (-1,) if options.target is None else options.target
    columns = ColumnFinder(path, names, count)
    targets = columns.find_all("target", wanted)
    if len(set(targets)) < len(targets):
        raise ValueError(f"{path}: a column is named as a target twice: name each once")
    weight = None if options.weight is None else columns.find("weight", options.weight)
    if weight in targets:
        raise ValueError(f"{path}: target and weight are the same column: name the target, or another weight")
    groups = None if options.groups is None else columns.find("groups", options.groups)
    if groups is not None and groups in (*targets, weight):
        raise ValueError(f"{path}: the column of groups is the target or the weight, too: name another column")
    taken = {*targets, weight, groups}
    dropped = _find_dropped(path, names, columns, options, taken)
    rest = [number for number in range(count) if number not in taken and number not in dropped]
    features = rest if options.columns is None else _select_features(path, names, rest, options.columns, columns)
    if not features:
        raise ValueError(
            f"{path} has no columns left for features: it has {count} in all, and a row needs "
            f"{'a label and ' if options.labelled else ''}at least one feature"
        )
    if options.n_features not in (None, len(features)):
        raise ValueError(f"{path} has {len(features)} columns of features, not n_features={options.n_features}")
    feature_names = options.columns or _name_features(path, names, features)
    kinds = {
        number: options.kinds[name]
        for number, name in zip(features, feature_names, strict=True)
        if options.kinds is not None
    }
    target_names = tuple(f"column {number + 1}" if names is None else names[number] for number in targets)
    return Roles(features, feature_names, targets, target_names, weight, kinds, groups)


def _find_dropped(
    path: str, names: Sequence[str] | None, columns: ColumnFinder, options: RoleOptions, taken: set[int | None]
) -> set[int]:
    """Return the columns to leave out; raise if one of them has a role."""
    selected = set(options.columns or ())
    if both := [which for which in options.drop if which in selected]:
        raise ValueError(
            f"{path}: column {both[0]!r} is named among the features and among those to drop: leave one out"
        )
    # Features that are found by name leave out all other columns anyway.
    drop = options.drop if options.columns is None or names is None else ()
    dropped = set(columns.find_all("drop", drop))
    for number in sorted(dropped.intersection(taken)):
        name = f"column {number + 1}" if names is None else f"column {names[number]!r}"
        raise ValueError(f"{path}: {name} holds labels, weights or groups, and is named among those to drop, too")
    return dropped


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return shown + (", ..." if len(names) > 10 else "")


def _name_features(path: str, names: Sequence[str] | None, features: list[int]) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{number}" for number in range(1, len(features) + 1))
    found = tuple(names[number] for number in features)
    if len(set(found)) < len(found):
        twice = Counter(found).most_common(1)[0][0]
        raise ValueError(f"{path} has more than one column {twice!r}: give each a name of its own")
    return found


def _select_features(
    path: str, names: Sequence[str] | None, rest: list[int], wanted: Sequence[str], columns: ColumnFinder
) -> list[int]:
    """Return the columns with the wanted names, in this order; without a header, all columns, as many as wanted."""
    if names is None:
        if len(rest) != len(wanted):
            raise ValueError(
                f"{path} has {len(rest)} columns of features and no header, but {len(wanted)} are needed: "
                f"{', '.join(wanted[:10])}{', ...' if len(wanted) > 10 else ''}"
            )
        return rest
    absent = [name for name in wanted if name not in columns.positions]
    if absent:
        raise ValueError(f"{path} lacks {len(absent)} of the columns that are needed: {_list_names(absent)}")
    found, free = columns.find_all("columns", wanted), set(rest)
    taken = [names[number] for number in found if number not in free]
    if taken:
        raise ValueError(
            f"{path}: column {taken[0]!r} holds labels, weights or groups, and is named among the features, too: leave "
            "it out of the features, or name another target, weight or column of groups"
        )
    return found
