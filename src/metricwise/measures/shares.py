"""Shares of the contingency table, such as precision and recall: for evaluation and for constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats, Mask
from metricwise.measures.tables import EvaluatesTable, divide


class _Cells(NamedTuple):
    """Which of the cells tp, fp, fn, tn count, out of which, and the useless classifier whose share is greatest."""

    of: tuple[int, ...]
    among: tuple[int, ...]
    greatest_for: str


_FEW, _NONE, _MOST, _ALL = (
    "predicts only its surest samples positive",
    "predicts no sample positive",
    "predicts all but its surest negatives positive",
    "predicts every sample positive",
)
_SHARES: dict[str, _Cells] = {
    "accuracy": _Cells((0, 3), (0, 1, 2, 3), "predicts the majority class"),
    "false_positive_rate": _Cells((1,), (1, 3), _ALL),
    "npv": _Cells((3,), (2, 3), _MOST),
    "positive_rate": _Cells((0, 1), (0, 1, 2, 3), _ALL),
    "precision": _Cells((0,), (0, 1), _FEW),
    "recall": _Cells((0,), (0, 2), _ALL),
    "specificity": _Cells((3,), (1, 3), _NONE),
}
_SPELLINGS = {"negative_predictive_value": "npv", "sensitivity": "recall"}
SHARE_NAMES = tuple(_SHARES)


@stored_fields(version=1)
@dataclass(frozen=True)
class Share(EvaluatesTable):
    """A share of samples, such as precision: samples of one kind among samples of a wider kind; 0 where there are none.

    A share evaluates labels and bounds them (``subject_to``). It is nothing to train for alone: a classifier that is of
    no use has the greatest share.

    Parameters
    ----------
    name : str
        "precision", tp / (tp + fp); "recall", tp / (tp + fn), also "sensitivity"; "specificity", tn / (tn + fp); "npv",
        tn / (tn + fn), also "negative_predictive_value"; "false_positive_rate", fp / (tn + fp); "positive_rate", the
        share of samples predicted positive; or "accuracy".

    Examples
    --------
    >>> float(Share("recall").value(tp=3, fp=5, fn=1, tn=9))
    0.75
    >>> Share("negative_predictive_value").name
    'npv'
    """

    name: str

    def __post_init__(self) -> None:
        name = _SPELLINGS.get(self.name, self.name) if isinstance(self.name, str) else None
        if name not in _SHARES:
            raise ValueError(f"a share is one of {', '.join(SHARE_NAMES)}, got {self.name!r}")
        object.__setattr__(self, "name", name)

    @property
    def why_not_alone(self) -> str:
        """Why the share is not trained for without a constraint, and what to do."""
        another = "recall" if self.name == "precision" else "precision"
        return (
            f"{self.name!r} alone is greatest for a classifier that {_SHARES[self.name].greatest_for}: train for "
            f"another measure, such as 'f1', with subject_to=[('{self.name}', '>=', 0.9)], or for {self.name!r} with a "
            f"constraint on another share, subject_to=[('{another}', '>=', 0.9)]"
        )

    def counts(self, *table: Any) -> tuple[Any, Any]:
        """Return the samples of the kind, and of the wider kind, for tables given as tp, fp, fn, tn.

        Parameters
        ----------
        *table : float or array
            Weights of true positives, false positives, false negatives and true negatives.

        Returns
        -------
        tuple of two floats or arrays
            The weight of the samples of the kind, and of those of the wider kind.
        """
        cells = _SHARES[self.name]
        return sum(np.asarray(table[i]) for i in cells.of), sum(np.asarray(table[i]) for i in cells.among)

    def outcomes(self, truth: Mask, predicted: Mask) -> tuple[Mask, Mask]:
        """Return which samples are of the kind and which are of the wider kind.

        Parameters
        ----------
        truth : array of bool
            Which samples are positive.
        predicted : array of bool
            Which samples are predicted positive.

        Returns
        -------
        tuple of two arrays of bool
            Membership in the kind, and in the wider kind, of every sample.

        Examples
        --------
        >>> import numpy as np
        >>> truth, predicted = np.array([True, False, False]), np.array([True, True, False])
        >>> of_kind, among = Share("precision").outcomes(truth, predicted)
        >>> of_kind.tolist(), among.tolist()
        ([True, False, False], [True, True, False])
        """
        cells = truth & predicted, ~truth & predicted, truth & ~predicted, ~truth & ~predicted
        of_kind, among = self.counts(*cells)
        return of_kind > 0, among > 0

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        return divide(*self.counts(tp, fp, fn, tn))
