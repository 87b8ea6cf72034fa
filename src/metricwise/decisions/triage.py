"""Decide which samples a person reviews: by guarantees of the predicted labels, or by the capacity of the reviewers.

With guarantees, the precision of the positives depends on the upper threshold alone, and the negative predictive value
of the negatives on the lower one. Each has a sequence of thresholds, ordered on samples of their own: the safest first,
then those that decide more samples. The safest of both sequences are tested at the full level, first the one, then the
other; if both pass, each sequence goes on at half the level, up to its first failure. The probability that any accepted
threshold breaks its guarantee is at most the level: if the safest threshold of a sequence breaks it, that has to pass a
test at the full level; if neither does, one of two thresholds, the first in each sequence that does, has to pass a test
at half the level (a graphical procedure; Bretz et al. 2009). All accepted thresholds hold together, so that any pair of
them may be used: the pair with fewest reviews.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers, Mask
from metricwise.decisions.binary import value_of_labels
from metricwise.decisions.decision import Posterior, Probe, ScoredSamples, Sigmoid, show_probability
from metricwise.decisions.design_effect import GroupedPosterior, estimate_design_effect
from metricwise.decisions.guarantees import (
    Constraint,
    UnreachableGuaranteeError,
    find_kept_thresholds,
    parse_constraints,
    tables_at,
)
from metricwise.decisions.intervals import TablePosterior, score_interval
from metricwise.decisions.review_window import POSITIVE, ReviewWindow, best_window
from metricwise.decisions.score_reference import ScoreReference
from metricwise.inference.threshold import Candidates
from metricwise.measures.base import CountsTable

_SIDES = ("precision", "npv")


@stored_fields(version=1)
@dataclass(frozen=True)
class TriageDecision:
    """Which scores are positive, negative or reviewed, and what to expect of it.

    Attributes
    ----------
    window : ReviewWindow
        The two thresholds.
    expected_score : float
        The measure of the samples that are not reviewed.
    expected_interval : pair of float
        Interval that contains the measure of as many new samples with probability 0.9.
    posterior : TablePosterior or GroupedPosterior
        Posterior from which intervals for any number of new samples are computed.
    review_share : float
        Share of the samples that are reviewed.
    review_interval : pair of float
        Interval that contains the share of as many new samples with probability 0.9.
    constraints : tuple of Constraint
        The guarantees.
    is_probability : bool
        Whether users read thresholds as probabilities, of scores that are log-odds.
    reference : ScoreReference or None
        With guarantees, the distribution of the scores of the samples that they were tested on.
    """

    window: ReviewWindow
    expected_score: float
    expected_interval: tuple[float, float]
    posterior: Posterior
    review_share: float
    review_interval: tuple[float, float]
    constraints: tuple[Constraint, ...] = ()
    is_probability: bool = False
    reference: ScoreReference | None = None

    prior: ClassVar[None] = None  # two thresholds are not adapted to other class priors

    @property
    def shown_thresholds(self) -> tuple[float, float]:
        """The lower and the upper threshold in the units that users see."""
        lower, upper = map(show_probability if self.is_probability else float, self.window)
        return lower, upper

    def margins(self, scores: Floats) -> Floats:
        """Return scores relative to the window; see `ReviewWindow.margins`."""
        return self.window.margins(scores)


def parse_review_constraints(subject_to: Any) -> tuple[Constraint, ...]:
    """Return guarantees of predicted labels: a least precision, a least negative predictive value, or both.

    Raises
    ------
    ValueError
        If there is another constraint, or one of them twice.

    Examples
    --------
    >>> [str(one) for one in parse_review_constraints(["negative-predictive-value>=0.98", ("precision", ">=", 0.9)])]
    ['precision >= 0.9', 'npv >= 0.98']
    """
    constraints = parse_constraints(subject_to)
    for one in constraints:
        if one.share.name not in _SIDES or not one.is_lower_bound:
            raise ValueError(
                f"reviews guarantee a least precision and a least npv, got {one}: write ('precision', '>=', 0.9) or "
                "('npv', '>=', 0.98), or use PlugInClassifier for other constraints, without reviews"
            )
        if one.of_class is not None:
            raise ValueError(
                f"reviews guarantee the precision of the positive class and the npv of the other, got {one}: leave 'of "
                f"{one.of_class}' out, or set pos_label"
            )
    names = [one.share.name for one in constraints]
    if len(set(names)) < len(names):
        raise ValueError(f"subject_to has two constraints on {names[0]}: give each guarantee once")
    return tuple(sorted(constraints, key=lambda one: _SIDES.index(one.share.name)))


@dataclass(frozen=True)
class _Decided:
    """The number of samples that a threshold decides: those predicted positive, or negative."""

    are_positive: bool

    def value(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        return tp + fp if self.are_positive else fn + tn


def find_guaranteed_window(
    measure: CountsTable,
    constraints: tuple[Constraint, ...],
    confidence: float,
    ordering: ScoredSamples,
    testing: ScoredSamples,
    shown: Callable[[float], float] = float,
) -> ReviewWindow:
    """Return the window with fewest reviews whose predicted labels keep all guarantees with the given confidence.

    Parameters
    ----------
    measure : CountsTable
        Chooses among windows with equally few reviews.
    constraints : tuple of Constraint
        One on precision, one on the negative predictive value, or both. A label without one is never predicted.
    confidence : float
        Probability, over the samples of ``testing``, that the guarantees hold together.
    ordering, testing : ScoredSamples
        Samples with scores. Those of ``testing`` must come from the model that is used later, trained on none of them.
    shown : callable, optional
        Converts a threshold for messages.

    Raises
    ------
    UnreachableGuaranteeError
        If a guarantee cannot be given; the message names it, and the nearest that can.

    Examples
    --------
    >>> import numpy as np
    >>> truth, scores = np.arange(600) % 2 == 0, np.tile([3.0, 0.0, 1.5, 1.0, 1.0, 1.5], 100)
    >>> samples = ScoredSamples(truth, scores, np.ones(600))
    >>> from metricwise.measures import Accuracy
    >>> wanted = parse_review_constraints(["precision>=0.9", "npv>=0.9"])
    >>> find_guaranteed_window(Accuracy(), wanted, 0.95, samples, samples)
    ReviewWindow(lower=0.5, upper=2.25)
    """
    kept = _find_kept_by_side(constraints, confidence, ordering, testing, shown)
    uppers = np.append(kept.get("precision", []), np.inf)
    lowers = np.append(kept.get("npv", []), -np.inf)
    return _fewest_reviews(measure, uppers, lowers, ordering)


def _find_kept_by_side(
    constraints: tuple[Constraint, ...],
    confidence: float,
    ordering: ScoredSamples,
    testing: ScoredSamples,
    shown: Callable[[float], float],
) -> dict[str, Floats]:
    """Return the thresholds that keep each guarantee, all of them together with the given confidence."""
    each = 1.0 - (1.0 - confidence) / len(constraints)
    kept, refusals = {}, []
    for constraint in constraints:
        counts = _Decided(constraint.share.name == "precision")
        samples = counts, [constraint], ordering[:2], testing[:2]
        try:
            kept[constraint.share.name] = find_kept_thresholds(*samples[:2], confidence, *samples[2:], shown, each)
        except UnreachableGuaranteeError as error:
            refusals.append(str(error))
    if refusals:
        raise UnreachableGuaranteeError("; ".join(refusals))
    return kept


def _fewest_reviews(measure: CountsTable, uppers: Floats, lowers: Floats, samples: ScoredSamples) -> ReviewWindow:
    """Return the window with fewest reviews, then the best measure, of a lower threshold for each upper one."""
    uppers, lowers = np.sort(uppers), np.sort(lowers)
    beneath = lowers[np.searchsorted(lowers, uppers, side="right") - 1]  # minus infinity is always there
    tp, fp, *_ = tables_at(uppers, *samples[:2])
    *_, fn, tn = tables_at(beneath, *samples[:2])
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.nan_to_num(np.asarray(measure.value(tp, fp, fn, tn), dtype=np.float64), nan=-np.inf)
    best = np.lexsort((-values, -(tp + fp + fn + tn)))[0]
    return ReviewWindow(float(beneath[best]), float(uppers[best]))


def choose_by_guarantees(
    measure: CountsTable,
    constraints: tuple[Constraint, ...],
    confidence: float,
    ordering: ScoredSamples,
    testing: ScoredSamples,
    is_probability: bool,
) -> TriageDecision:
    """Choose thresholds whose labels keep guarantees on new samples, with as few reviews as possible.

    Parameters
    ----------
    measure, constraints, confidence, ordering, testing
        See `find_guaranteed_window`.
    is_probability : bool
        Whether users read thresholds as probabilities, of scores that are log-odds.
    """
    shown = show_probability if is_probability else float
    window = find_guaranteed_window(measure, constraints, confidence, ordering, testing, shown)
    reference = _count_outside(window, ordering.scores, testing.scores)
    return describe_window(measure, window, testing, None, 0, is_probability, constraints, reference)


def _count_outside(window: ReviewWindow, others: Floats, scores: Floats) -> ScoreReference | None:
    """Return how many scores are above cuts outside of a window: the decision function is zero inside."""
    found = ScoreReference.count(others, scores)
    is_outside = np.array([], dtype=np.bool_) if found is None else ~window.holds(found.cuts)
    if found is None or not is_outside.any():
        return None
    return replace(found, cuts=found.cuts[is_outside], n_above=found.n_above[is_outside])


def choose_by_capacity(
    measure: CountsTable,
    capacity: float,
    samples: ScoredSamples,
    groups: Integers | None,
    seed: int,
    is_probability: bool,
) -> TriageDecision:
    """Choose thresholds between which the given share of out-of-fold samples lies, by the measure of all others.

    Parameters
    ----------
    measure : CountsTable
        The measure.
    capacity : float
        Share of the samples to review.
    samples : ScoredSamples
        Out-of-fold scores.
    groups : array of int or None
        The group of each sample, if they are in groups.
    seed : int
        Seeds the resamples of groups.
    is_probability : bool
        Whether users read thresholds as probabilities, of scores that are log-odds.
    """
    window = best_window(measure, Candidates.of(*samples), capacity)
    return describe_window(measure, window, samples, groups, seed, is_probability)


def describe_window(
    measure: CountsTable,
    window: ReviewWindow,
    samples: ScoredSamples,
    groups: Integers | None,
    seed: int,
    is_probability: bool,
    constraints: tuple[Constraint, ...] = (),
    reference: ScoreReference | None = None,
) -> TriageDecision:
    """Return the decision for a window: the score and the share of reviews to expect, on as many new samples.

    Parameters
    ----------
    measure : CountsTable
        The measure.
    window : ReviewWindow
        The window.
    samples : ScoredSamples
        Samples that the models which scored them were not trained with.
    groups : array of int or None
        Their groups, for intervals of new groups.
    seed : int
        Seeds the resamples of groups.
    is_probability, constraints, reference
        What the decision stores.
    """
    table = window.table(*samples)
    total = float(samples.weights.sum())
    reviewed = max(0.0, total - sum(table))
    score, reviews = _design_effects(measure, window, samples, groups, seed)
    posterior: Posterior = TablePosterior(measure, (table,))
    if score > 1.0:
        posterior = GroupedPosterior(posterior.thin(score), score, posterior.value)
    counts = reviewed / reviews, (total - reviewed) / reviews
    share_interval = score_interval(lambda yes, no: yes / (yes + no), counts, n_samples=max(1, round(sum(counts))))
    share = reviewed / total
    return TriageDecision(
        window,
        posterior.value,
        posterior.interval(n_samples=max(1, round(sum(table)))),
        posterior,
        share,
        (min(share_interval[0], share), max(share_interval[1], share)),
        constraints,
        is_probability,
        reference,
    )


def _design_effects(
    measure: CountsTable, window: ReviewWindow, samples: ScoredSamples, groups: Integers | None, seed: int
) -> tuple[float, float]:
    """Return the design effects of groups on the measure and on the share of reviews; 1 without groups."""
    is_decided = ~window.holds(samples.scores)
    if groups is None or not is_decided.any():
        return 1.0, 1.0
    positive: Mask = samples.target[is_decided]
    scores, weights = samples.scores[is_decided], samples.weights[is_decided]
    own = np.unique(groups[is_decided], return_inverse=True)[1].ravel()
    value = value_of_labels(measure, positive, window.assign(scores) == POSITIVE)
    score = estimate_design_effect(value, weights, own, positive.astype(np.int64), seed)

    def share(of: Floats) -> float:
        return float(np.average(~is_decided, weights=of))

    return score, estimate_design_effect(share, samples.weights, groups, is_decided.astype(np.int64), seed)


def shift_window(window: ReviewWindow, probe: Probe, line: Sigmoid) -> ReviewWindow:
    """Return a window shifted from the fold models to the final model.

    Parameters
    ----------
    window : ReviewWindow
        Chosen on the scores of fold models.
    probe : Probe
        Samples that all models were trained with.
    line : Sigmoid
        Makes log-odds of the scores.
    """
    lower, upper = (end + probe.shift(0, end, line) / line.slope for end in window)
    return ReviewWindow(min(lower, upper), upper)
