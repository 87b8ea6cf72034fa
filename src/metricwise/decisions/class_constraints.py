"""Constraints on multiclass and multilabel predictions: on one class or label, or on each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats, Mask
from metricwise.decisions.binary import Aim
from metricwise.decisions.guarantees import Constraint, UnreachableGuaranteeError, parse_constraints
from metricwise.measures import Measure
from metricwise.measures.multiclass_capabilities import CountsClassTables

# What a perfect classifier has most of among the samples that a share counts: which samples these are.
_COUNTED = {"precision": "positive", "recall": "positive", "specificity": "negative", "npv": "negative"}
_NOUNS = {"classes": "class", "labels": "label"}


class ClassTables(NamedTuple):
    """The one-vs-rest tables of all classes or labels; the last axis runs over them."""

    tp: Any
    fp: Any
    fn: Any
    tn: Any

    def of(self, column: int | None) -> tuple[Any, ...]:
        """Return the table of a class or label; of None, right and wrong predictions of all classes."""
        if column is not None:
            return tuple(np.asarray(count)[..., column] for count in self)
        right, wrong = np.sum(self.tp, axis=-1), np.sum(self.fn, axis=-1)
        return right, wrong, np.zeros_like(right), np.zeros_like(wrong)


class ClassConstraints(NamedTuple):
    """Constraints with the columns of their classes or labels; None for the accuracy over all classes.

    Attributes
    ----------
    wanted : list of Constraint
        The constraints, each of one class or label.
    columns : list of int or None
        Positions of these classes.
    """

    wanted: list[Constraint]
    columns: list[int | None]

    @classmethod
    def locate(cls, wanted: list[Constraint], names: Sequence[Any]) -> ClassConstraints:
        """Return constraints that `name_classes` made, with the columns of their classes."""
        return cls(wanted, [None if one.of_class is None else names.index(one.of_class) for one in wanted])

    def margins(self, tables: ClassTables) -> Floats:
        """Return by how many standard deviations each constraint holds, constraints along the first axis."""
        pairs = zip(self.wanted, self.columns, strict=True)
        return np.array([one.margin(*tables.of(column)) for one, column in pairs])

    def p_values(self, tables: ClassTables) -> Floats:
        """Return the p-value of each constraint, constraints along the first axis."""
        pairs = zip(self.wanted, self.columns, strict=True)
        return np.array([one.p_value(*tables.of(column)) for one, column in pairs])

    def guaranteed_bounds(self, confidence: float, tables: ClassTables) -> list[Constraint]:
        """Return the constraints with the bounds that hold with a confidence, given the counts of one labelling."""
        pairs = zip(self.wanted, self.columns, strict=True)
        bounds = [float(one.guaranteed_bound(confidence, *tables.of(column))) for one, column in pairs]
        return [replace(one, bound=bound) for one, bound in zip(self.wanted, bounds, strict=True)]

    def by_column(self) -> dict[int, list[Constraint]]:
        """Return the constraints of each label that has some."""
        found: dict[int, list[Constraint]] = {}
        for one, column in zip(self.wanted, self.columns, strict=True):
            assert column is not None  # labels have constraints of their own
            found.setdefault(column, []).append(one)
        return found


class ClassAim(NamedTuple):
    """What class offsets or label thresholds are chosen for: the measure of all classes, under constraints."""

    measure: Any
    constraints: ClassConstraints


def aim_at_classes(measure: Measure, average: CountsClassTables, subject_to: Any, names: list[Any], plural: str) -> Aim:
    """Return what a measure and constraints require of class offsets or label thresholds.

    Parameters
    ----------
    measure : Measure
        The measure.
    average : CountsClassTables
        What it is of all classes or labels.
    subject_to : str, tuple or list
        Constraints as users write them.
    names : list
        The classes, or the names of the labels.
    plural : str
        "classes" or "labels".

    Examples
    --------
    >>> from metricwise.measures import Accuracy, Averaged
    >>> aim = aim_at_classes(Accuracy(), Averaged(Accuracy()), ["recall>=0.5", "accuracy>=0.9"], ["a", "b"], "classes")
    >>> [str(one) for one in aim.constraints]
    ['recall >= 0.5 of a', 'recall >= 0.5 of b', 'accuracy >= 0.9']
    """
    return Aim(measure, average, name_classes(parse_constraints(subject_to), names, plural))  # type: ignore[arg-type]


def name_classes(constraints: list[Constraint], names: list[Any], plural: str) -> list[Constraint]:
    """Return constraints each of which is on one class or label; one that names none is on each.

    The accuracy of classes is that of all samples unless it names a class.

    Parameters
    ----------
    constraints : list of Constraint
        As users write them.
    names : list
        The classes, or the names of the labels.
    plural : str
        "classes" or "labels".

    Raises
    ------
    ValueError
        If a class or label is unknown, or a constraint is there twice.
    """
    named: list[Constraint] = []
    for one in constraints:
        if one.of_class is not None:
            named.append(replace(one, of_class=_find_name(one, names, plural)))
        elif one.share.name == "accuracy" and plural == "classes":
            named.append(one)
        else:
            named += [replace(one, of_class=name) for name in names]
    repeated = next((one for k, one in enumerate(named) if one in named[:k]), None)
    if repeated is not None:
        raise ValueError(f"{repeated} is asked for twice in subject_to: leave one of them out")
    return named


def _find_name(constraint: Constraint, names: list[Any], plural: str) -> Any:
    """Return the class or label that a constraint names, by itself or by its text."""
    wanted = constraint.of_class
    if not isinstance(wanted, str):
        known = [name for name in names if name == wanted and not isinstance(name, str)]
    else:
        known = [name for name in names if wanted in _spellings(name)]
    if len(known) == 1:
        return known[0]
    if plural == "labels" and wanted == "micro" and not known:
        raise ValueError(
            f"{str(constraint)!r} asks for a share of all labels pooled, which no constraint states: the labels of one "
            "sample depend on each other, so that an exact test of independent outcomes is not valid for them. Leave "
            f"out 'of {wanted}': if each label keeps the bound, all labels pooled keep it, too"
        )
    listed = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
    problem = "is none of" if not known else "is the text of several of"
    raise ValueError(f"{wanted!r} in the constraint {str(constraint)!r} {problem} the {plural}: {listed}")


def _spellings(name: Any) -> set[str]:
    """Return the texts that stand for a class: whole numbers are written without a point, too."""
    whole = {str(int(name))} if isinstance(name, float) and name.is_integer() else set()
    return {str(name)} | whole


def refuse_rare(constraints: ClassConstraints, confidence: float, truth: Mask, plural: str) -> None:
    """Raise if no classifier at all could pass the test of a constraint, since its class or label is too rare.

    Parameters
    ----------
    constraints : ClassConstraints
        The constraints.
    confidence : float
        Probability that they hold.
    truth : array of bool of shape (n_samples, n_classes)
        Which of the samples set aside for the test have which class or label.
    plural : str
        "classes" or "labels".

    Raises
    ------
    UnreachableGuaranteeError
        If the samples are too few.

    Examples
    --------
    >>> import numpy as np
    >>> wanted = ClassConstraints.locate([Constraint.of("recall>=0.8 of spam")], ["spam"])
    >>> refuse_rare(wanted, 0.95, np.arange(100)[:, None] < 14, "labels")
    """
    for constraint, column in zip(constraints.wanted, constraints.columns, strict=True):
        positive = np.ones(len(truth), dtype=bool) if column is None else truth[:, column]
        n_positive, n_negative = float(np.count_nonzero(positive)), float(np.count_nonzero(~positive))
        # A share is greatest or least where all labels are right, or where all samples have one label.
        tables = (n_positive, 0.0, 0.0, n_negative), (0.0, 0.0, n_positive, n_negative), (n_positive, n_negative, 0, 0)
        if min(float(constraint.p_value(*table)) for table in tables) > 1.0 - confidence:
            raise UnreachableGuaranteeError(_describe_rare(constraint, confidence, positive, plural))


def count_needed(constraint: Constraint, confidence: float) -> int:
    """Return how many samples must count for a share, all of them as wanted, for a constraint to pass its test.

    Examples
    --------
    >>> count_needed(Constraint.of("recall>=0.8"), 0.95)
    14
    """
    chance = constraint.bound if constraint.is_lower_bound else 1.0 - constraint.bound
    return math.ceil(math.log(1.0 - confidence) / math.log(chance))


def _describe_rare(constraint: Constraint, confidence: float, positive: Mask, plural: str) -> str:
    needed, kind = count_needed(constraint, confidence), _COUNTED.get(constraint.share.name)
    n_positive = int(np.count_nonzero(positive))
    if kind is None or not constraint.is_lower_bound or constraint.of_class is None:
        found = f"{positive.size} samples are set aside to test it"
    elif kind == "positive":
        found = (
            f"of the {positive.size} samples set aside to test it, {n_positive} have the {_NOUNS[plural]} "
            f"{constraint.of_class!r}"
        )
    else:
        found = (
            f"of the {positive.size} samples set aside to test it, {positive.size - n_positive} are without the "
            f"{_NOUNS[plural]} {constraint.of_class!r}"
        )
    return (
        f"{constraint} cannot be guaranteed with confidence {confidence:g} by any classifier: {found}, and {needed} "
        "are needed. Collect more samples, lower the bound or the confidence, or ask for other "
        f"{plural} only, such as ('{constraint.share.name}', '{'>=' if constraint.is_lower_bound else '<='}', "
        f"{constraint.bound:g}, 'of', name)"
    )
