"""Thresholds of several labels that keep constraints, on the samples at hand or on new ones with a confidence.

Every label with constraints has thresholds of its own, ordered on samples of the training half as those of two classes
are, the safest first, and tested on samples of their own. Two rules together keep the probability that any label breaks
any of its constraints at most delta, one minus the confidence:

1. The safest thresholds of all labels are tested at once, each at the full level: their joint hypothesis, that one of
   the labels breaks a constraint, is refuted only if every single one is (an intersection-union test; Berger 1982).
2. Each label then goes on along its own order up to its first failure, at delta divided by the number of labels that
   are not at the end of their order (Holm 1979). A label with a threshold that breaks a constraint can come to its
   end only by accepting that threshold. So when the first wrong threshold is accepted, all labels that have one are
   still counted, and the probability that any of them passes is at most delta.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from metricwise._typing import Floats
from metricwise.decisions.binary import Aim, ThresholdRule, choose_constrained, expect
from metricwise.decisions.class_constraints import ClassAim
from metricwise.decisions.decision import Calibration, Decision, ScoredSamples, Sigmoid, show_probability
from metricwise.decisions.guarantees import (
    Constraint,
    UnreachableGuaranteeError,
    describe_nearest,
    safest_first,
    tables_at,
)
from metricwise.decisions.label_posterior import summarize_labels
from metricwise.decisions.multiclass import (
    LabelThresholds,
    choose_label_thresholds,
    fit_lines,
    label_columns,
    refuse_batches,
)
from metricwise.decisions.score_reference import ScoreReference
from metricwise.decisions.smoothed_counts import smooth_candidates
from metricwise.inference.threshold import Candidates
from metricwise.measures import Averaged


class LabelOrder(NamedTuple):
    """The thresholds of a label, the safest first, with the p-values of its constraints on the test samples."""

    thresholds: Floats
    p_values: Floats


def choose_guaranteed_labels(
    aim: ClassAim,
    confidence: float,
    rule: ThresholdRule,
    ordering: ScoredSamples,
    testing: ScoredSamples,
    has_probabilities: bool,
) -> Decision:
    """Choose one threshold per label such that all constraints hold on new samples with the given confidence.

    Parameters
    ----------
    aim : ClassAim
        The measure, which chooses among the thresholds of a label that keep its constraints, and the constraints.
    confidence : float
        Probability that all of them hold.
    rule : ThresholdRule
        How the thresholds of labels without constraints are chosen.
    ordering : ScoredSamples
        Out-of-fold scores of the samples that the models were trained with.
    testing : ScoredSamples
        The models' scores of samples that they were not trained with.
    has_probabilities : bool
        Whether scores are log-odds.

    Raises
    ------
    UnreachableGuaranteeError
        If the safest threshold of a label fails its test.
    """
    measure: Averaged = aim.measure
    wanted, shown = aim.constraints.by_column(), show_probability if has_probabilities else float
    columns = label_columns(ordering), label_columns(testing)
    candidates = {k: smooth_candidates(*columns[0][k][:2]) for k in wanted}
    orders = {k: order_thresholds(measure, wanted[k], candidates[k], columns[1][k]) for k in wanted}
    failed = [k for k, order in orders.items() if order.p_values[0] > 1.0 - confidence]
    if failed:
        messages = [describe_nearest(wanted[k], confidence, candidates[k], columns[1][k][:2], shown) for k in failed]
        raise UnreachableGuaranteeError(_join_refusals(messages))
    ends = dict(
        zip(orders, advance_orders([order.p_values for order in orders.values()], 1.0 - confidence), strict=True)
    )
    thresholds, (low, high) = _choose_others(measure, rule, ordering, has_probabilities, set(wanted))
    for k, order in orders.items():
        known = order.thresholds[: ends[k] + 1]
        thresholds[k], low[k], high[k] = known[-1], known.min(), known.max()
    posterior = summarize_labels(measure, testing.target, testing.scores > thresholds, testing.weights)
    calibration = Calibration((Sigmoid(),) * thresholds.size)
    nothing = Decision(thresholds, (low, high), np.nan, (np.nan, np.nan), calibration=calibration)
    reference = ScoreReference.count(ordering.scores, testing.scores)
    found = expect(nothing, posterior, testing.weights)
    return replace(found, is_probability=has_probabilities, reference=reference)


def order_thresholds(
    measure: Averaged, wanted: list[Constraint], candidates: Candidates, testing: ScoredSamples
) -> LabelOrder:
    """Return the thresholds of a label, the safest first, with the largest p-value of its constraints for each."""
    thresholds = candidates.thresholds(safest_first(measure.base, wanted, candidates))
    tables = tables_at(thresholds, *testing[:2])
    return LabelOrder(thresholds, np.max([one.p_value(*tables) for one in wanted], axis=0))


def advance_orders(p_values: list[Floats], delta: float) -> list[int]:
    """Return the last accepted position of each order, given that the first positions of all were accepted.

    Parameters
    ----------
    p_values : list of arrays
        P-values along each order.
    delta : float
        Probability of accepting a position that breaks a constraint, in any of the orders.

    Examples
    --------
    >>> import numpy as np
    >>> advance_orders([np.array([0.01, 0.01, 0.01]), np.array([0.01, 0.04, 0.2])], 0.05)
    [2, 1]
    """
    ends = [0] * len(p_values)
    while True:
        unfinished = [k for k, order in enumerate(p_values) if ends[k] < order.size - 1]
        if not unfinished:
            return ends
        level, before = delta / len(unfinished), list(ends)
        for k in unfinished:
            failed = np.flatnonzero(p_values[k][1:] > level)
            ends[k] = int(failed[0]) if failed.size else p_values[k].size - 1
        if ends == before:
            return ends


def choose_constrained_labels(
    aim: ClassAim, rule: ThresholdRule, samples: ScoredSamples, has_probabilities: bool
) -> Decision:
    """Choose one threshold per label that keeps its constraints on out-of-fold samples, without a guarantee.

    Parameters
    ----------
    aim, rule
        What `choose_guaranteed_labels` takes.
    samples : ScoredSamples
        Out-of-fold samples.
    has_probabilities : bool
        Whether scores are log-odds.

    Raises
    ------
    UnreachableGuaranteeError
        If no threshold of a label keeps its constraints.
    """
    measure: Averaged = aim.measure
    lines = fit_lines(measure, samples, has_probabilities)
    shown = show_probability if has_probabilities else float
    thresholds, interval = find_constrained_thresholds(aim, rule, samples, has_probabilities, shown)
    posterior = summarize_labels(measure, samples.target, samples.scores > thresholds, samples.weights)
    decision = Decision(thresholds, interval, np.nan, (np.nan, np.nan), calibration=Calibration(tuple(lines)))
    return replace(expect(decision, posterior, samples.weights), is_probability=has_probabilities)


def find_constrained_thresholds(
    aim: ClassAim,
    rule: ThresholdRule,
    samples: ScoredSamples,
    has_probabilities: bool,
    shown: Callable[[float], float] = float,
) -> LabelThresholds:
    """Return the thresholds of `choose_constrained_labels`, and the range of those that keep the constraints."""
    measure: Averaged = aim.measure
    wanted, columns, messages = aim.constraints.by_column(), label_columns(samples), []
    thresholds, (low, high) = _choose_others(measure, rule, samples, has_probabilities, set(wanted))
    for k, own in wanted.items():
        try:
            found = choose_constrained(Aim(measure.base, measure.base, own), columns[k], shown)
        except UnreachableGuaranteeError as error:
            messages.append(str(error))
            continue
        thresholds[k], (low[k], high[k]) = found.threshold, found.interval
    if messages:
        raise UnreachableGuaranteeError(_join_refusals(messages))
    return LabelThresholds(thresholds, (low, high))


def judge_constrained_labels(
    aim: ClassAim,
    rule: ThresholdRule,
    decision: Decision,
    folds: list[tuple[ScoredSamples, ScoredSamples]],
    has_probabilities: bool,
) -> Decision:
    """Return a decision with the score to expect from folds, each at the thresholds that the other folds choose.

    Parameters
    ----------
    aim, rule, has_probabilities
        What `choose_constrained_labels` was given.
    decision : Decision
        Chosen on the samples of all folds.
    folds : list of pairs of ScoredSamples
        The samples of each fold, and all others.
    """
    measure: Averaged = aim.measure
    predicted = []
    for own, others in folds:
        thresholds = np.asarray(decision.threshold)  # where the other folds allow no choice
        with suppress(UnreachableGuaranteeError):
            thresholds = find_constrained_thresholds(aim, rule, others, has_probabilities).thresholds
        predicted.append(own.scores > thresholds)
    truth, weights = (np.concatenate([getattr(own, name) for own, _ in folds]) for name in ("target", "weights"))
    sizes = [len(own.target) for own, _ in folds]
    return expect(decision, summarize_labels(measure, truth, np.concatenate(predicted), weights, sizes), weights)


def _choose_others(
    measure: Averaged, rule: ThresholdRule, samples: ScoredSamples, has_probabilities: bool, constrained: set[int]
) -> LabelThresholds:
    """Return thresholds chosen by the measure alone, for labels without constraints; zeros if there are none."""
    refuse_batches(rule)
    size = samples.scores.shape[1]
    if len(constrained) == size:
        return LabelThresholds(np.zeros(size), (np.zeros(size), np.zeros(size)))
    lines = fit_lines(measure, samples, has_probabilities)
    return choose_label_thresholds(measure, rule, samples, lines)


def _join_refusals(messages: list[str]) -> str:
    return "; moreover, ".join(messages)
