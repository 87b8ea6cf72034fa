"""Thresholds that keep a guarantee on new samples: precision of at least 0.9, say, with confidence 0.95.

The samples are in two parts. The first orders the thresholds (by counts that are smoothed, see `smoothed_counts`): the
safest first, and after it only those that are better by the measure than all safer ones. On the second, samples that
neither the model nor the order has seen, thresholds are tested in that order, each with an exact binomial test at the
full level, up to the first that fails. Because the order is fixed before, and nothing is tested behind a failure, the
probability of accepting any threshold that breaks the guarantee is at most one minus the confidence, however many are
tested: the first such threshold in the order must pass its own test for that (fixed-sequence testing; Angelopoulos et
al. 2021, *Learn then Test*). With several constraints a threshold's p-value is the largest of theirs, since breaking
one is enough.

This is the probability that a broken guarantee is issued, refusals counted as not broken. It is no statement about the
share of broken ones among those that were issued: where most attempts are refused, the few that pass may owe it to
chance, and that share may exceed one minus the confidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv

from metricwise._state import stored_fields
from metricwise._typing import Floats, Indices, Mask
from metricwise.decisions.smoothed_counts import smooth_candidates
from metricwise.inference.threshold import Candidates
from metricwise.measures.base import CountsTable
from metricwise.measures.checks import shorten, to_float
from metricwise.measures.shares import SHARE_NAMES, Share
from metricwise.measures.tables import divide

_SIGNS = (">=", "<=")
_TEXT = re.compile(
    r"\s*([a-z][a-z0-9_-]*)\s*(>=|<=)\s*(\d+(?:\.\d+)?|\.\d+)\s*+(%?)\s*+(?:\b(of)\s+(\S.*?))?\s*", re.IGNORECASE
)


class UnreachableGuaranteeError(ValueError):
    """No threshold can guarantee the constraints; the message reports what can be guaranteed.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from metricwise import PlugInClassifier, UnreachableGuaranteeError
    >>> X, y = make_classification(400, weights=[0.9], flip_y=0.1, random_state=0)
    >>> try:
    ...     PlugInClassifier(LogisticRegression(), subject_to=[("precision", ">=", 0.99)]).fit(X, y)
    ... except UnreachableGuaranteeError as error:
    ...     print(error)
    no threshold ... precision >= 0.99 ...
    """


@stored_fields(version=2)
@dataclass(frozen=True)
class Constraint:
    """A share that is at least, or at most, a bound; that ``of`` one class or label if it is not None."""

    share: Share
    is_lower_bound: bool
    bound: float
    of_class: str | float | bool | None = None

    @classmethod
    def of(cls, given: Any) -> Constraint:
        """Return the constraint that a user writes as text or as a tuple; ValueError if it is none.

        Examples
        --------
        >>> str(Constraint.of(("precision", ">=", 0.9))), str(Constraint.of("positive-rate <= 5%"))
        ('precision >= 0.9', 'positive_rate <= 0.05')
        >>> str(Constraint.of(("recall", ">=", 0.8, "of", "fraud"))), str(Constraint.of("recall >= 80% of fraud"))
        ('recall >= 0.8 of fraud', 'recall >= 0.8 of fraud')
        """
        try:
            name, sign, bound, *named = _read_text(given) if isinstance(given, str) else given
            of_class = _read_class(*named) if named else None
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{given!r} is no constraint: write 'precision>=0.9' or ('precision', '>=', 0.9), and for one class or "
                "label 'precision>=0.9 of name' or ('precision', '>=', 0.9, 'of', name)"
            ) from error
        try:
            share = Share(name)
        except (TypeError, ValueError) as error:
            raise ValueError(f"a constraint is on one of {', '.join(SHARE_NAMES)}, got {name!r}") from error
        if sign not in _SIGNS:
            raise ValueError(f"the sign of a constraint is '>=' or '<=', got {sign!r} for {name!r}")
        if isinstance(bound, bool) or not isinstance(bound, Real) or not 0.0 < to_float(bound) < 1.0:
            raise ValueError(
                f"the bound on {name!r} must lie between 0 and 1, got {shorten(bound)}; write 90 percent as 0.9"
            )
        return cls(share, sign == ">=", to_float(bound), of_class)

    def __str__(self) -> str:
        named = "" if self.of_class is None else f" of {self.of_class}"
        return f"{self.share.name} {'>=' if self.is_lower_bound else '<='} {self.bound:.4g}{named}"

    def p_value(self, *table: Any) -> Any:
        """Return the probability of counts as good as these if the constraint just failed to hold."""
        kind, among = self.share.counts(*table)
        # Tails of the binomial distribution by the incomplete beta function.
        if self.is_lower_bound:
            return np.where(kind > 0, betainc(np.maximum(kind, 1.0), among - kind + 1.0, self.bound), 1.0)
        rest = among - kind
        return np.where(rest > 0, betainc(np.maximum(rest, 1.0), kind + 1.0, 1.0 - self.bound), 1.0)

    def margin(self, *table: Any) -> Any:
        """Return by how many standard deviations the constraint holds; minus infinity without samples."""
        kind, among = self.share.counts(*table)
        excess = (divide(kind, among) - self.bound) * (1.0 if self.is_lower_bound else -1.0)
        return np.where(among > 0, excess * np.sqrt(among / (self.bound * (1.0 - self.bound))), -np.inf)

    def guaranteed_bound(self, confidence: float, *table: Any) -> Any:
        """Return the bound on the share that holds with the given confidence (Clopper and Pearson 1934)."""
        kind, among = self.share.counts(*table)
        rest = among - kind
        if self.is_lower_bound:
            return np.where(kind > 0, betaincinv(np.maximum(kind, 1.0), rest + 1.0, 1.0 - confidence), 0.0)
        return np.where(rest > 0, betaincinv(kind + 1.0, np.maximum(rest, 1.0), confidence), 1.0)


def parse_constraints(subject_to: Any) -> list[Constraint]:
    """Return the constraints that a user gives: none, one, or a list, each as text or as a tuple.

    Raises
    ------
    ValueError
        If one of them is no constraint.

    Examples
    --------
    >>> [str(constraint) for constraint in parse_constraints(["precision>=0.9", ("recall", ">=", 0.5)])]
    ['precision >= 0.9', 'recall >= 0.5']
    """
    if subject_to is None:
        return []
    is_single = isinstance(subject_to, str) or (len(subject_to) in (3, 5) and str(subject_to[1]) in _SIGNS)
    return [Constraint.of(given) for given in ([subject_to] if is_single else subject_to)]


def _read_text(text: str) -> tuple[Any, ...]:
    """Return name, sign and bound of a constraint such as "recall >= 90%", and ("of", name) if a class is named."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError("there must be a name, a sign and a bound")
    name, sign, bound, percent, *named = found.groups()
    share = name.lower().replace("-", "_"), sign, float(bound) / (100.0 if percent else 1.0)
    return share if named[0] is None else (*share, named[0].lower(), named[1])


def _read_class(of: Any, name: Any) -> str | float | bool:
    """Return the class or label that the end of a constraint names."""
    value = name.item() if isinstance(name, np.generic) else name
    if of != "of" or not isinstance(value, str | float | int):
        raise ValueError("behind the bound there must be 'of' and the name of a class or label")
    return value


class Guarantee(NamedTuple):
    """A threshold that keeps the constraints, and the range of those known to keep them."""

    threshold: float
    kept_by: tuple[float, float]


def find_guaranteed_threshold(
    measure: CountsTable,
    constraints: Iterable[Constraint],
    confidence: float,
    ordering: tuple[Mask, Floats],
    testing: tuple[Mask, Floats],
    shown: Callable[[float], float] = float,
    chances: Floats | None = None,
) -> Guarantee:
    """Return a threshold that keeps all constraints on new samples with the given confidence.

    Parameters
    ----------
    measure : CountsTable
        The best threshold by this measure, among those known to keep the constraints, is returned.
    constraints : iterable of Constraint
        The constraints.
    confidence : float
        Probability, over the samples of ``testing``, that they hold or the guarantee is refused.
    ordering, testing : pairs of arrays
        Truth and scores of samples. The scores of ``testing`` must come from the model that is used later, trained on
        none of its samples; those of ``ordering`` may come from models like it.
    shown : callable, optional
        Converts a threshold for messages.
    chances : array, optional
        Calibrated probabilities of the samples of ``ordering``, where the scores alone do not determine them.

    Raises
    ------
    UnreachableGuaranteeError
        If the safest threshold fails its test.

    Examples
    --------
    >>> import numpy as np
    >>> truth, scores = np.arange(400) % 2 == 0, np.tile([3.0, 1.0, 2.0, 0.0], 100)
    >>> wanted = [Constraint.of(("precision", ">=", 0.9))]
    >>> find_guaranteed_threshold(Share("recall"), wanted, 0.95, (truth, scores), (truth, scores)).threshold
    1.5
    """
    known = find_kept_thresholds(measure, constraints, confidence, ordering, testing, shown, chances=chances)
    return Guarantee(float(known[-1]), (float(known.min()), float(known.max())))


def find_kept_thresholds(
    measure: CountsTable,
    constraints: Iterable[Constraint],
    confidence: float,
    ordering: tuple[Mask, Floats],
    testing: tuple[Mask, Floats],
    shown: Callable[[float], float] = float,
    confidence_after: float | None = None,
    chances: Floats | None = None,
) -> Floats:
    """Return the thresholds that pass their test, in order: with the given confidence all of them keep the constraints.

    Parameters
    ----------
    measure, constraints, confidence, ordering, testing, shown, chances
        See `find_guaranteed_threshold`, which returns the last of these thresholds.
    confidence_after : float, optional
        Confidence at which all thresholds after the first are tested, if it differs.

    Raises
    ------
    UnreachableGuaranteeError
        If the safest threshold fails its test.

    Examples
    --------
    >>> import numpy as np
    >>> truth, scores = np.arange(400) % 2 == 0, np.tile([3.0, 1.0, 2.0, 0.0], 100)
    >>> wanted = [Constraint.of(("precision", ">=", 0.9))]
    >>> find_kept_thresholds(Share("recall"), wanted, 0.95, (truth, scores), (truth, scores))
    array([1.5])
    """
    wanted = list(constraints)
    candidates = smooth_candidates(*ordering, chances)
    order = safest_first(measure, wanted, candidates)
    thresholds: Floats = candidates.thresholds(order)
    tables = tables_at(thresholds, *testing)
    p_values = np.max([constraint.p_value(*tables) for constraint in wanted], axis=0)
    levels = np.full(p_values.size, 1.0 - (confidence if confidence_after is None else confidence_after))
    levels[0] = 1.0 - confidence
    failed = p_values > levels
    kept = int(np.argmax(failed)) if failed.any() else failed.size
    if kept == 0:
        raise UnreachableGuaranteeError(describe_nearest(wanted, confidence, candidates, testing, shown))
    return thresholds[:kept]


def refuse_too_few(constraints: Iterable[Constraint], confidence: float, positive: Mask) -> None:
    """Raise if no classifier at all could pass the test of a constraint on so few samples.

    Parameters
    ----------
    constraints : iterable of Constraint
        The constraints.
    confidence : float
        Probability that they hold.
    positive : array of bool
        Truth of the samples set aside for the test.

    Raises
    ------
    UnreachableGuaranteeError
        If the samples are too few.

    Examples
    --------
    >>> import numpy as np
    >>> refuse_too_few([Constraint.of("precision>=0.9")], 0.95, np.arange(100) < 40)
    """
    n_positive, n_negative = float(np.count_nonzero(positive)), float(np.count_nonzero(~positive))
    # A share is greatest or least where all labels are right, or where all samples have one label.
    right, none, every = (
        (n_positive, 0.0, 0.0, n_negative),
        (0.0, 0.0, n_positive, n_negative),
        (n_positive, n_negative, 0.0, 0.0),
    )
    for constraint in constraints:
        if min(float(constraint.p_value(*table)) for table in (right, none, every)) > 1.0 - confidence:
            raise UnreachableGuaranteeError(
                f"{constraint} cannot be guaranteed with confidence {confidence:g} by any classifier: the "
                f"{positive.size} samples ({n_positive:.0f} positive) set aside to test it are too few. Collect more "
                "samples, or lower the bound or the confidence"
            )


def safest_first(measure: CountsTable, constraints: list[Constraint], candidates: Candidates) -> Indices:
    """Return candidates by the margin they keep, widest first, each better by the measure than all before it."""
    tables = candidates.tables()
    margins = np.min([constraint.margin(*tables) for constraint in constraints], axis=0)
    values = np.asarray(measure.value(*tables), dtype=np.float64)
    order = np.lexsort((-values, -margins))
    ordered = values[order]
    best_before = np.concatenate([[-np.inf], np.maximum.accumulate(ordered)[:-1]])
    front: Indices = order[(ordered > best_before) & (margins[order] > -np.inf)]
    return front if front.size else order[:1]


def tables_at(thresholds: Floats, positive: Mask, scores: Floats) -> tuple[Floats, ...]:
    """Return tp, fp, fn, tn when samples with scores above each threshold are predicted positive.

    Examples
    --------
    >>> import numpy as np
    >>> tables_at(np.array([0.5]), np.array([True, False, True]), np.array([1.0, 0.7, 0.2]))
    (array([1.]), array([1.]), array([1.]), array([0.]))
    """
    above = [
        mask_scores.size - np.searchsorted(np.sort(mask_scores), thresholds, side="right").astype(np.float64)
        for mask_scores in (scores[positive], scores[~positive])
    ]
    n_pos = float(np.count_nonzero(positive))
    return above[0], above[1], n_pos - above[0], positive.size - n_pos - above[1]


def _nearest(wanted: list[Constraint], confidence: float, candidates: Candidates) -> int:
    """Return the candidate whose own samples guarantee most, compared with what is wanted."""
    tables = candidates.tables()
    short = [(c.guaranteed_bound(confidence, *tables) - c.bound) * (1.0 if c.is_lower_bound else -1.0) for c in wanted]
    return int(np.argmax(np.min(short, axis=0)))


def describe_nearest(
    wanted: list[Constraint],
    confidence: float,
    candidates: Candidates,
    testing: tuple[Mask, Floats],
    shown: Callable[[float], float],
) -> str:
    """Return that no threshold keeps the constraints, and what the nearest candidate guarantees on the test samples."""
    threshold = float(candidates.thresholds(_nearest(wanted, confidence, candidates)))
    table = [count[0] for count in tables_at(np.array([threshold]), *testing)]
    possible = [replace(c, bound=float(c.guaranteed_bound(confidence, *table))) for c in wanted]
    nearest = " and ".join(map(str, possible))
    asked = " and ".join(map(str, wanted))
    return (
        f"no threshold can guarantee {asked} with confidence {confidence:g} on the {testing[0].size} samples "
        f"({np.count_nonzero(testing[0])} positive) set aside to test it; the nearest is threshold "
        f"{shown(threshold):.6g}, which can guarantee {nearest}. Ask for that, lower the confidence, collect more "
        "samples, or use a better estimator"
    )
