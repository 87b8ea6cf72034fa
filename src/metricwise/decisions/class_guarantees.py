"""Offsets of several classes that keep constraints, on the samples at hand or on new ones with a confidence.

On samples of the training half, offsets are found for a falling margin: the best by the measure among those whose
constraints all hold by so many standard deviations, by smoothed counts (`smoothed_counts`). That gives an order, the
safest first and each better by the measure than all safer ones, which is tested on samples of its own as the thresholds
of two classes are: up to the first offsets that fail an exact binomial test at the full level. With several constraints
the p-value of offsets is the largest of theirs, since breaking one is enough; so the confidence is not divided among
the constraints.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from metricwise._typing import Floats, Integers, Mask
from metricwise.decisions.binary import ThresholdRule, expect
from metricwise.decisions.class_constraints import ClassAim, ClassConstraints, ClassTables
from metricwise.decisions.class_offsets import TablesValue, ascend_offsets, best_offsets, tables_of
from metricwise.decisions.confusion_posterior import ConfusionPosterior
from metricwise.decisions.decision import Decision, ScoredSamples
from metricwise.decisions.guarantees import UnreachableGuaranteeError
from metricwise.decisions.multiclass import check_strategy, confusion_matrix, find_offsets
from metricwise.decisions.score_reference import ScoreReference
from metricwise.decisions.smoothed_counts import smooth_classes

_MARGINS = 16  # of the order
_MARGINS_ON_SAMPLES = 6  # without a guarantee, where the last of them counts
_NO_HOPE = -3.0  # margin below which offsets hardly pass a test
_SWEEPS = 2  # they start close to where they end
_MIXTURES = 16  # of the safest and the best offsets, from which the search at a margin may start
_MOST_ORDERING = 20_000  # samples that offsets are ordered on


class OffsetOrder(NamedTuple):
    """Offsets in rows, the margins they keep and the measure they have on the samples that ordered them."""

    offsets: Floats
    margins: Floats
    values: Floats


def choose_guaranteed_offsets(
    aim: ClassAim,
    confidence: float,
    rule: ThresholdRule,
    ordering: ScoredSamples,
    testing: ScoredSamples,
    has_probabilities: bool,
) -> Decision:
    """Choose offsets of the classes such that all constraints hold on new samples with the given confidence.

    Parameters
    ----------
    aim : ClassAim
        The measure, which chooses among the offsets that keep the constraints, and the constraints.
    confidence : float
        Probability that all of them hold.
    rule : ThresholdRule
        Its seed draws the samples that order the offsets, if there are many. Its strategy is checked only.
    ordering : ScoredSamples
        Out-of-fold scores of the samples that the model was trained with.
    testing : ScoredSamples
        The model's scores of samples that it was not trained with.
    has_probabilities : bool
        Whether scores are log-probabilities.

    Raises
    ------
    UnreachableGuaranteeError
        If the safest offsets fail their test.
    """
    check_strategy(rule.strategy, has_probabilities)
    measure, constraints = aim
    order = order_offsets(measure.of_tables, constraints, smooth_classes(_draw(ordering, rule.seed)))
    p_values = np.max(constraints.p_values(_tables_at(order.offsets, testing)), axis=0)
    failed = np.flatnonzero(p_values > 1.0 - confidence)
    kept = int(failed[0]) if failed.size else p_values.size
    if kept == 0:
        raise UnreachableGuaranteeError(_refusal(constraints, confidence, order, ordering, testing))
    known = order.offsets[:kept]
    posterior = ConfusionPosterior(measure, confusion_matrix(known[-1], testing)[None])
    interval = known.min(axis=0), known.max(axis=0)
    reference = ScoreReference.count(ordering.scores, testing.scores)
    decision = Decision(known[-1], interval, np.nan, (np.nan, np.nan), reference=reference)
    return expect(decision, posterior, testing.weights)


def order_offsets(
    value: TablesValue, constraints: ClassConstraints, samples: ScoredSamples, n_margins: int = _MARGINS
) -> OffsetOrder:
    """Return offsets by the margin they keep, widest first, each better by the measure than all before it.

    Parameters
    ----------
    value : callable
        The measure of tables tp, fp, fn, tn whose last axis runs over the classes.
    constraints : ClassConstraints
        The constraints.
    samples : ScoredSamples
        Codes of the classes, scores and weights.
    n_margins : int
        Number of margins at which the best offsets are searched.
    """
    found = _search(value, constraints, samples, n_margins)
    rank = np.lexsort((-found.values, -found.margins))
    values = found.values[rank]
    best_before = np.concatenate([[-np.inf], np.maximum.accumulate(values)[:-1]])
    front = rank[(values > best_before) & (found.margins[rank] > -np.inf)]
    return _take(found, front if front.size else rank[:1])


def choose_constrained_offsets(
    aim: ClassAim, rule: ThresholdRule, samples: ScoredSamples, has_probabilities: bool
) -> Decision:
    """Choose offsets that keep the constraints on out-of-fold samples, without a guarantee.

    Parameters
    ----------
    aim
        What `choose_guaranteed_offsets` takes.
    rule : ThresholdRule
        How offsets are chosen; its choice counts if it keeps the constraints.
    samples : ScoredSamples
        Out-of-fold samples.
    has_probabilities : bool
        Whether scores are log-probabilities.

    Raises
    ------
    UnreachableGuaranteeError
        If no offsets keep the constraints.
    """
    check_strategy(rule.strategy, has_probabilities)
    measure = aim.measure
    offsets = find_constrained_offsets(aim, rule, samples, has_probabilities)
    posterior = ConfusionPosterior(measure, confusion_matrix(offsets, samples)[None])
    return expect(Decision(offsets, (offsets, offsets), np.nan, (np.nan, np.nan)), posterior, samples.weights)


def find_constrained_offsets(
    aim: ClassAim, rule: ThresholdRule, samples: ScoredSamples, has_probabilities: bool
) -> Floats:
    """Return the offsets of `choose_constrained_offsets`."""
    measure, constraints = aim
    usual = find_offsets(measure, rule, samples, has_probabilities)
    if _keeps(constraints, usual, samples):
        return usual
    order = _search(measure.of_tables, constraints, samples, _MARGINS_ON_SAMPLES, least=0.0)
    kept = order.margins >= 0.0
    if not kept.any():
        raise UnreachableGuaranteeError(_describe_nearest_on_samples(constraints, order, samples))
    best: Floats = order.offsets[int(np.argmax(np.where(kept, order.values, -np.inf)))]
    return best


def judge_constrained_offsets(
    aim: ClassAim,
    rule: ThresholdRule,
    decision: Decision,
    folds: list[tuple[ScoredSamples, ScoredSamples]],
    has_probabilities: bool,
) -> Decision:
    """Return a decision with the score to expect from folds, each at the offsets that the other folds choose.

    Parameters
    ----------
    aim, rule, has_probabilities
        What `choose_constrained_offsets` was given.
    decision : Decision
        Chosen on the samples of all folds.
    folds : list of pairs of ScoredSamples
        The samples of each fold, and all others.
    """
    matrices = []
    for own, others in folds:
        offsets = np.asarray(decision.threshold)  # where the other folds allow no choice
        if np.unique(others.target).size == offsets.size:
            with suppress(UnreachableGuaranteeError):
                offsets = find_constrained_offsets(aim, rule, others, has_probabilities)
        matrices.append(confusion_matrix(offsets, own))
    weights = np.concatenate([own.weights for own, _ in folds])
    return expect(decision, ConfusionPosterior(aim.measure, np.array(matrices)), weights)


# -------------------------------------------------------------------------------------------------------------- search


def _search(
    value: TablesValue, constraints: ClassConstraints, samples: ScoredSamples, n_margins: int, least: float = -np.inf
) -> OffsetOrder:
    """Return the safest offsets, the best for each of falling margins down to ``least``, and the best of all."""
    free = best_offsets(value, *samples).offsets
    safest = _find_safest(constraints, samples, [free, *_simple_starts(samples)])
    ends = _evaluate(value, constraints, np.array([safest, free]), samples)
    widest, narrowest = float(ends.margins[0]), max(float(ends.margins[1]), least)
    if not widest > narrowest:
        return ends
    narrowest = max(narrowest, min(_NO_HOPE, widest - 1.0))
    shares = np.linspace(0.0, 1.0, _MIXTURES + 2)[1:-1, None]
    known = _join(ends, _evaluate(value, constraints, (1.0 - shares) * safest + shares * free, samples))
    # The narrow margins decide how far the test gets: they are closer together.
    for share in np.linspace(1.0, 0.0, n_margins + 1)[1:]:
        margin = narrowest + (widest - narrowest) * float(share) ** 2
        start = known.offsets[int(np.argmax(np.where(known.margins >= margin, known.values, -np.inf)))]
        offsets = _ascend_within(value, constraints, margin, samples, start)
        known = _join(known, _evaluate(value, constraints, offsets[None], samples))
    return known


def _find_safest(constraints: ClassConstraints, samples: ScoredSamples, starts: list[Floats]) -> Floats:
    """Return offsets whose smallest margin is as wide as ascents from some starts find."""

    def soft_minimum(*tables: Floats) -> Floats:
        # Unlike the smallest margin itself it rises when any margin does, so that an ascent has fewer dead ends.
        with np.errstate(over="ignore"):
            return np.asarray(-np.logaddexp.reduce(-constraints.margins(ClassTables(*tables)), axis=0))

    codes, scores, weights = samples
    ends = [ascend_offsets(soft_minimum, codes, scores, weights, start, _SWEEPS).offsets for start in starts]
    return max(ends, key=lambda offsets: float(_margins_at(constraints, offsets[None], samples)[0]))


def _ascend_within(
    value: TablesValue, constraints: ClassConstraints, margin: float, samples: ScoredSamples, start: Floats
) -> Floats:
    """Return offsets that no change of a single one improves among those that keep a margin, as the start does."""

    def value_within(*tables: Floats) -> Floats:
        keeps = np.min(constraints.margins(ClassTables(*tables)), axis=0) >= margin
        return np.where(keeps, value(*tables), -np.inf)

    codes, scores, weights = samples
    return ascend_offsets(value_within, codes, scores, weights, start, _SWEEPS).offsets


def _simple_starts(samples: ScoredSamples) -> list[Floats]:
    """Return equal offsets, and those that balance the classes."""
    size, total = samples.scores.shape[1], samples.weights.sum()
    shares = np.bincount(samples.target, samples.weights, size) / total
    balanced = np.log(np.maximum(shares, 1.0 / (total + 1.0)))
    return [np.zeros(size), balanced - balanced.mean()]


def _evaluate(
    value: TablesValue, constraints: ClassConstraints, offsets: Floats, samples: ScoredSamples
) -> OffsetOrder:
    tables = _tables_at(offsets, samples)
    margins = np.min(constraints.margins(tables), axis=0)
    return OffsetOrder(offsets, margins, np.asarray(value(*tables), dtype=np.float64))


def _tables_at(offsets: Floats, samples: ScoredSamples) -> ClassTables:
    """Return the tables of all classes for each row of offsets."""
    codes, scores, weights = samples
    tables = [tables_of(codes, np.argmax(scores - row, axis=1), weights, row.size) for row in offsets]
    return ClassTables(*(np.array([getattr(one, name) for one in tables]) for name in ClassTables._fields))


def _margins_at(constraints: ClassConstraints, offsets: Floats, samples: ScoredSamples) -> Floats:
    return np.asarray(np.min(constraints.margins(_tables_at(offsets, samples)), axis=0))


def _keeps(constraints: ClassConstraints, offsets: Floats, samples: ScoredSamples) -> bool:
    return bool(_margins_at(constraints, offsets[None], samples)[0] >= 0.0)


def _join(first: OffsetOrder, second: OffsetOrder) -> OffsetOrder:
    return OffsetOrder(*(np.concatenate(both) for both in zip(first, second, strict=True)))


def _take(order: OffsetOrder, which: Integers | Mask) -> OffsetOrder:
    return OffsetOrder(*(column[which] for column in order))


def _draw(samples: ScoredSamples, seed: int) -> ScoredSamples:
    """Return some of many samples."""
    size = samples.target.size
    if size <= _MOST_ORDERING:
        return samples
    drawn = np.random.default_rng(seed).choice(size, _MOST_ORDERING, replace=False)
    return ScoredSamples(*(column[drawn] for column in samples))


# ------------------------------------------------------------------------------------------------------------ refusals


def _refusal(
    constraints: ClassConstraints,
    confidence: float,
    order: OffsetOrder,
    ordering: ScoredSamples,
    testing: ScoredSamples,
) -> str:
    """Return that no offsets keep the constraints, and what the nearest guarantee on the test samples."""
    nearest = max(order.offsets, key=lambda row: _shortfall(constraints, confidence, row, ordering))
    table = _table_at(nearest, testing)
    possible = constraints.guaranteed_bounds(confidence, table)
    p_values = constraints.p_values(table)
    broken = [str(one) for one, p in zip(constraints.wanted, p_values, strict=True) if p > 1.0 - confidence]
    counts = np.bincount(testing.target, minlength=testing.scores.shape[1])
    named = [
        f"{counts[k]} of {one.of_class}"
        for one, k in zip(constraints.wanted, constraints.columns, strict=True)
        if k is not None
    ]
    tested = f"{testing.target.size} samples" + (f" ({', '.join(dict.fromkeys(named))})" if named else "")
    return (
        f"no class offsets can guarantee {' and '.join(map(str, constraints.wanted))} with confidence {confidence:g} "
        f"on the {tested} set aside to test it; the nearest can guarantee {' and '.join(map(str, possible))}"
        + (f", which falls short of {' and '.join(broken)}" if broken else "")
        + ". Ask for that, lower the confidence, collect more samples, or use a better estimator"
    )


def _shortfall(constraints: ClassConstraints, confidence: float, offsets: Floats, samples: ScoredSamples) -> float:
    """Return by how much the worst of the guaranteed bounds exceeds what is wanted; negative if it falls short."""
    possible = constraints.guaranteed_bounds(confidence, _table_at(offsets, samples))
    pairs = zip(possible, constraints.wanted, strict=True)
    return min((found.bound - one.bound) * (1.0 if one.is_lower_bound else -1.0) for found, one in pairs)


def _table_at(offsets: Floats, samples: ScoredSamples) -> ClassTables:
    """Return the tables of all classes at offsets."""
    return ClassTables(*(count[0] for count in _tables_at(offsets[None], samples)))


def _describe_nearest_on_samples(constraints: ClassConstraints, order: OffsetOrder, samples: ScoredSamples) -> str:
    table = _table_at(order.offsets[int(np.argmax(order.margins))], samples)
    values = [
        f"{one.share.name} {float(one.share.value(*table.of(column))):.3g}"
        + ("" if one.of_class is None else f" of {one.of_class}")
        for one, column in zip(constraints.wanted, constraints.columns, strict=True)
    ]
    return (
        f"no class offsets have {' and '.join(map(str, constraints.wanted))} on out-of-fold samples; the nearest have "
        f"{', '.join(values)}: relax the constraints, or collect more samples"
    )
