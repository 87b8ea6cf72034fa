"""The threshold of a binary problem, from out-of-fold scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from metricwise._typing import Floats, Mask
from metricwise.decisions.batch_rule import BatchRule
from metricwise.decisions.decision import (
    Calibration,
    Decision,
    Posterior,
    ScoredSamples,
    Sigmoid,
    show_probability,
)
from metricwise.decisions.guarantees import (
    Constraint,
    UnreachableGuaranteeError,
    find_guaranteed_threshold,
    parse_constraints,
    safest_first,
)
from metricwise.decisions.intervals import TablePosterior
from metricwise.decisions.ranking_posterior import summarize_scores
from metricwise.decisions.score_reference import ScoreReference
from metricwise.decisions.threshold_choice import ThresholdChoice, choose_threshold
from metricwise.inference.threshold import Candidates, threshold_for
from metricwise.measures import Measure, PrecisionAtRecall, RecallAtPrecision, contingency_table
from metricwise.measures.base import CountsTable, NeedsConstraint, RestrictsLabellings
from metricwise.measures.shares import Share


@dataclass(frozen=True)
class ThresholdRule:
    """How thresholds are chosen.

    Attributes
    ----------
    strategy : str
        "auto", "max", "bagged", "expected", "gains" or "batch", as in `PlugInClassifier`.
    subject_to : str, tuple or list, optional
        Constraints as users write them.
    seed : int
        Of folds and resamples.
    randomised : bool
        Whether rules of greatest expected gain ("gains") may be a randomised mixture.
    """

    strategy: str = "auto"
    subject_to: Any = None
    seed: int = 0
    randomised: bool = False


class Aim(NamedTuple):
    """What thresholds are chosen for: a function of the contingency table if the measure is one, under constraints."""

    measure: Measure
    table: CountsTable | None
    constraints: list[Constraint]


def make_aim(measure: Measure, subject_to: Any) -> Aim:
    """Return what a measure and constraints require of a threshold.

    Examples
    --------
    >>> aim = make_aim(RecallAtPrecision(0.8), None)
    >>> aim.table.name, str(aim.constraints[0])
    ('recall', 'precision >= 0.8')
    """
    constraints = parse_constraints(subject_to)
    if isinstance(measure, RecallAtPrecision):
        return Aim(measure, Share("recall"), [Constraint.of(("precision", ">=", measure.precision)), *constraints])
    if isinstance(measure, PrecisionAtRecall):
        return Aim(measure, Share("precision"), [Constraint.of(("recall", ">=", measure.recall)), *constraints])
    if isinstance(measure, NeedsConstraint) and all(one.share.name == measure.name for one in constraints):
        raise ValueError(measure.why_not_alone)
    of_table = isinstance(measure, CountsTable) and not isinstance(measure, RestrictsLabellings)
    if constraints and not of_table:
        raise ValueError(
            f"subject_to needs a measure of the contingency table to choose among the thresholds that keep the "
            f"constraints, and {measure.name!r} is none; use 'f1', RecallAtPrecision(0.9) or another measure of the "
            "table"
        )
    return Aim(measure, measure if of_table else None, constraints)  # type: ignore[arg-type]


def wants_guarantee(aim: Aim | None, confidence: float | None) -> TypeGuard[Aim]:
    """Return whether constraints must hold on new samples, not only on those at hand."""
    return aim is not None and bool(aim.constraints) and confidence is not None


def choose(aim: Aim, rule: ThresholdRule, samples: ScoredSamples, has_probabilities: bool) -> Decision:
    """Choose a threshold on out-of-fold scores, without a guarantee.

    Parameters
    ----------
    aim : Aim
        The measure and its constraints.
    rule : ThresholdRule
        How to choose.
    samples : ScoredSamples
        A mask of the positives, their scores and weights.
    has_probabilities : bool
        Whether scores are log-odds; if not, a line makes log-odds of them.
    """
    line = Sigmoid() if has_probabilities else Sigmoid.fit(samples)
    if aim.table is None:
        decision = _choose_for_ranking(aim.measure, samples, rule.seed)
    elif aim.constraints:
        shown = show_probability if has_probabilities else float
        decision = describe(aim.table, choose_constrained(aim, samples, shown), samples)
    else:
        decision = _choose_for_table(aim.table, rule, samples, line)
    return replace(decision, calibration=Calibration((line,)), is_probability=has_probabilities)


def choose_guaranteed(
    aim: Aim, confidence: float, ordering: ScoredSamples, testing: ScoredSamples, is_probability: bool
) -> Decision:
    """Choose a threshold whose constraints hold on new samples with the given confidence.

    Parameters
    ----------
    aim : Aim
        The measure and its constraints, at least one.
    confidence : float
        The probability.
    ordering : ScoredSamples
        Out-of-fold scores of the samples that the model was trained with.
    testing : ScoredSamples
        The model's scores of samples that it was not trained with, none of which helped to select it.
    is_probability : bool
        Whether users read the threshold as a probability, of scores that are log-odds.

    Raises
    ------
    UnreachableGuaranteeError
        If no threshold can guarantee the constraints.
    """
    assert aim.table is not None
    guarantee = find_guaranteed_threshold(
        aim.table,
        aim.constraints,
        confidence,
        ordering=ordering[:2],
        testing=testing[:2],
        shown=show_probability if is_probability else float,
    )
    decision = describe(aim.table, ThresholdChoice(guarantee.threshold, guarantee.kept_by), testing)
    reference = ScoreReference.count(ordering.scores, testing.scores)
    calibration = Calibration((Sigmoid(),))
    return replace(decision, calibration=calibration, is_probability=is_probability, reference=reference)


def _choose_for_table(table: CountsTable, rule: ThresholdRule, samples: ScoredSamples, line: Sigmoid) -> Decision:
    log_odds = line.log_odds(samples.scores)
    found = choose_threshold(_estimate(rule), table, samples.target, log_odds, samples.weights, rule.seed)
    low, high = (line.score(end) for end in found.interval)
    decision = describe(table, ThresholdChoice(line.score(found.threshold), (low, high)), samples)
    if rule.strategy != "batch":
        return decision
    share = float(samples.weights[log_odds > found.threshold].sum() / samples.weights.sum())
    return replace(decision, batch=BatchRule(table, found.threshold, share))


def _estimate(rule: ThresholdRule) -> Any:
    """Return how the threshold is estimated before there is a batch."""
    return "auto" if rule.strategy == "batch" else rule.strategy


def describe(measure: CountsTable, choice: ThresholdChoice, samples: ScoredSamples) -> Decision:
    """Return the decision for a threshold: the score to expect, and its interval on as many new samples."""
    table = count_table(choice.threshold, samples)
    posterior = TablePosterior(measure, (table,))
    interval = posterior.interval(n_samples=max(1, round(sum(table))))
    return Decision(choice.threshold, choice.interval, float(measure.value(*table)), interval, posterior)


def count_table(threshold: float, samples: ScoredSamples) -> tuple[float, float, float, float]:
    """Return the weighted contingency table of samples."""
    positive, scores, weights = samples
    above = scores > threshold
    cells = above & positive, above & ~positive, ~above & positive, ~above & ~positive
    tp, fp, fn, tn = (float(weights[cell].sum()) for cell in cells)
    return tp, fp, fn, tn


def judge_by_folds(
    aim: Aim, rule: ThresholdRule, decision: Decision, samples: ScoredSamples, sizes: list[int]
) -> Decision:
    """Return a decision with the score to expect from samples that had no part in choosing the threshold.

    A threshold looks better on the samples it was chosen on than on others, and models of other samples need other
    thresholds. The table of each fold is therefore that of the threshold chosen without the fold. Ranking measures do
    not depend on the threshold.

    Parameters
    ----------
    aim, rule, samples
        What `choose` was given.
    decision : Decision
        Chosen on all samples, whose scores are log-odds.
    sizes : list of int
        Numbers of samples of the folds, in the order of the samples.
    """
    if aim.table is None:
        return decision
    if aim.measure.response == "scores" and not rule.subject_to:  # the measure has the only constraint in itself
        return expect(decision, summarize_scores(aim.measure, *samples), samples.weights)
    return expect(decision, fold_tables(aim, rule, decision, samples, sizes), samples.weights)


def expect(decision: Decision, posterior: Posterior, weights: Floats) -> Decision:
    """Return a decision with the score to expect from a posterior, and its interval on as many new samples."""
    interval = posterior.interval(n_samples=max(1, round(float(weights.sum()))))
    return replace(decision, expected_score=posterior.value, expected_interval=interval, posterior=posterior)


def separate_folds(samples: ScoredSamples, sizes: list[int]) -> Iterator[tuple[ScoredSamples, ScoredSamples]]:
    """Yield the samples of every fold, and all others.

    Parameters
    ----------
    samples : ScoredSamples
        Samples, fold by fold.
    sizes : list of int
        Numbers of samples of the folds.
    """
    fold = np.repeat(np.arange(len(sizes)), sizes)
    for number in range(len(sizes)):
        own = fold == number
        yield tuple(ScoredSamples(*(column[part] for column in samples)) for part in (own, ~own))  # type: ignore[misc]


def fold_tables(
    aim: Aim, rule: ThresholdRule, decision: Decision, samples: ScoredSamples, sizes: list[int]
) -> TablePosterior:
    """Return the table of every fold at the threshold that is chosen without the fold; see `judge_by_folds`."""
    assert aim.table is not None
    (line,) = decision.calibration.lines
    tables = []
    for own, others in separate_folds(samples, sizes):
        threshold = _choose_on_others(aim, rule, line, others)
        tables.append(count_table(decision.threshold if threshold is None else threshold, own))  # type: ignore[arg-type]
    return TablePosterior(aim.table, tuple(tables))


def _choose_on_others(aim: Aim, rule: ThresholdRule, line: Sigmoid, others: ScoredSamples) -> float | None:
    """Return the threshold chosen on the samples of all folds but one; None if these allow no choice."""
    assert aim.table is not None
    if not 0 < np.count_nonzero(others.target) < others.target.size:
        return None
    if not aim.constraints:
        log_odds = line.log_odds(others.scores)
        found = choose_threshold(_estimate(rule), aim.table, others.target, log_odds, others.weights, rule.seed)
        return line.score(found.threshold)
    try:
        return choose_constrained(aim, others).threshold
    except UnreachableGuaranteeError:
        return None


def choose_constrained(aim: Aim, samples: ScoredSamples, shown: Callable[[float], float] = float) -> ThresholdChoice:
    """Return the best threshold that keeps the constraints on out-of-fold samples, without a guarantee.

    Parameters
    ----------
    aim : Aim
        The measure and its constraints.
    samples : ScoredSamples
        Out-of-fold samples.
    shown : callable
        Converts a threshold for messages.

    Raises
    ------
    UnreachableGuaranteeError
        If no threshold keeps them.
    """
    assert aim.table is not None
    candidates = Candidates.of(*samples)
    tables = candidates.tables()
    kept = np.min([constraint.margin(*tables) for constraint in aim.constraints], axis=0) >= 0.0
    if not kept.any():
        wanted = " and ".join(map(str, aim.constraints))
        first = int(safest_first(aim.table, aim.constraints, candidates)[0])
        values = ", ".join(
            f"{c.share.name} {float(c.share.value(*(t[first] for t in tables))):.3g}" for c in aim.constraints
        )
        nearest = shown(float(candidates.thresholds(first)))
        raise UnreachableGuaranteeError(
            f"no threshold has {wanted} on out-of-fold samples; the nearest, {nearest:.6g}, has {values}: relax the "
            "constraints, or collect more minority samples"
        )
    allowed: Floats = np.where(kept, np.asarray(aim.table.value(*tables), dtype=np.float64), -np.inf)
    thresholds = candidates.thresholds(np.flatnonzero(kept))
    best = float(candidates.thresholds(candidates.best(allowed)))
    return ThresholdChoice(best, (float(thresholds.min()), float(thresholds.max())))


def _choose_for_ranking(measure: Measure, samples: ScoredSamples, seed: int) -> Decision:
    """Choose for a ranking measure: the threshold that suits it, and what to expect of the scores."""
    threshold = threshold_for(measure, *samples)
    random = np.random.default_rng(seed)
    resamples = [samples.weights * random.exponential(size=samples.weights.size) for _ in range(25)]
    low, high = np.quantile([threshold_for(measure, *samples[:2], weights) for weights in resamples], [0.05, 0.95])
    posterior = summarize_scores(measure, *samples)
    interval = posterior.interval(n_samples=float(samples.weights.sum()))
    return Decision(threshold, (float(low), float(high)), posterior.value, interval, posterior)


def value_of_labels(measure: Any, truth: Mask, predicted: Mask) -> Callable[[Floats], float]:
    """Return the measure of predicted labels as a function of the weights of the samples."""

    def evaluate(weights: Floats) -> float:
        table = contingency_table(truth, predicted, weights)
        return float(measure.value(table.tp, table.fp, table.fn, table.tn))

    return evaluate
