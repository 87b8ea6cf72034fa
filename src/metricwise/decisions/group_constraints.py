"""Constraints on the groups of a column, such as a recall of at least 0.8 in every region."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from metricwise._state import stored_fields
from metricwise.decisions.guarantees import Constraint

_SUFFIX = "_difference"
_BY = re.compile(r"(?<=[0-9.%])\s++by\s++(?=\S)", re.IGNORECASE)  # between a bound and a column
_SUFFIX_IN_TEXT = re.compile(r"[-_]difference(?=\s*[<>]=)", re.IGNORECASE)
_SIGNS = (">=", "<=")


@stored_fields(version=1)
@dataclass(frozen=True)
class GroupConstraint:
    """A bound on a share in every group of a column, or on its difference between any two groups.

    Attributes
    ----------
    constraint : Constraint
        The share and its bound; an upper bound if it is on differences.
    by : str
        The column that has the groups.
    is_difference : bool
        Whether the bound is on the difference between two groups.
    """

    constraint: Constraint
    by: str
    is_difference: bool = False

    @classmethod
    def of(cls, given: Any) -> GroupConstraint:
        """Return the constraint that a user writes as text or as a tuple; ValueError if it is none.

        Examples
        --------
        >>> str(GroupConstraint.of(("recall", ">=", 0.8, "by", "region")))
        'recall >= 0.8 by region'
        >>> str(GroupConstraint.of("recall-difference <= 5% by home country"))
        'recall_difference <= 0.05 by home country'
        """
        rest, by = _split(given)
        if not isinstance(by, str) or not by:
            raise ValueError(f"a constraint by group names a column, got {by!r} in {given!r}")
        plain, is_difference = _drop_suffix(rest)
        constraint = Constraint.of(plain)
        if constraint.of_class is not None:
            raise ValueError(
                f"constraints by group are on the positive class: leave 'of {constraint.of_class}' out of {given!r}, "
                "or set pos_label"
            )
        if is_difference and constraint.is_lower_bound:
            raise ValueError(f"a difference between groups has a greatest value: write '<=' in {given!r}")
        return cls(constraint, by, is_difference)

    def __str__(self) -> str:
        text = str(self.constraint)
        if self.is_difference:
            text = text.replace(self.constraint.share.name, self.constraint.share.name + _SUFFIX, 1)
        return f"{text} by {self.by}"


class Separated(NamedTuple):
    """The constraints on all samples together, as the user gave them, and those by group."""

    pooled: list[Any]
    by_group: list[GroupConstraint]

    @property
    def implied(self) -> list[Any]:
        """Constraints on all samples together that follow from all: a share is a mean of the shares of the groups."""
        return self.pooled + [(one.share.name, ">=" if one.is_lower_bound else "<=", one.bound) for one in self.bounds]

    @property
    def bounds(self) -> list[Constraint]:
        """The constraints on the shares of groups, without those on differences."""
        return [one.constraint for one in self.by_group if not one.is_difference]


def separate_constraints(subject_to: Any) -> Separated:
    """Return the constraints that a user gives, those on all samples apart from those by group.

    Examples
    --------
    >>> found = separate_constraints(["precision>=0.5", "recall>=0.8 by region"])
    >>> found.pooled, [str(one) for one in found.by_group], found.implied
    (['precision>=0.5'], ['recall >= 0.8 by region'], ['precision>=0.5', ('recall', '>=', 0.8)])
    """
    if subject_to is None:
        return Separated([], [])
    is_single = isinstance(subject_to, str) or (len(subject_to) in (3, 5) and str(subject_to[1]) in _SIGNS)
    given = [subject_to] if is_single else list(subject_to)
    return Separated(
        [one for one in given if not _is_by_group(one)],
        [GroupConstraint.of(one) for one in given if _is_by_group(one)],
    )


def _is_by_group(given: Any) -> bool:
    if isinstance(given, str):
        return _BY.search(given) is not None
    return isinstance(given, list | tuple) and len(given) == 5 and given[3] == "by"


def _split(given: Any) -> tuple[Any, Any]:
    """Return a constraint without its group, and the column."""
    if not _is_by_group(given):
        raise ValueError(
            f"{given!r} is no constraint by group: write 'recall>=0.8 by region' or "
            "('recall', '>=', 0.8, 'by', 'region')"
        )
    if isinstance(given, str):
        constraint, column = _BY.split(given, maxsplit=1)
        return constraint, column.strip()
    return tuple(given[:3]), given[4]


def _drop_suffix(rest: Any) -> tuple[Any, bool]:
    """Return a constraint on the share itself, and whether the one given is on its differences."""
    if isinstance(rest, str):
        plain, n_found = _SUFFIX_IN_TEXT.subn("", rest, count=1)
        return plain, n_found > 0
    name = str(rest[0])
    return (name.removesuffix(_SUFFIX), *rest[1:]), name.endswith(_SUFFIX)
