"""Choose rules of greatest expected gain for measures of the confusion matrix, on out-of-fold samples.

Out-of-fold scores are calibrated by one slope and an intercept per class, after probabilities near zero are raised. A
ratio of linear functions is maximised by bisection, other measures by Frank-Wolfe; with constraints, by Frank-Wolfe on
an augmented Lagrangian. Labels are noisy where a class has few samples, and probabilities are biased where the learner
is. So gains are chosen twice: for the confusion matrix that probabilities expect, and for the mean of that and the one
of true labels. The mean of both gains decides. With constraints, the matrix is that of true labels. Instead of a single
rule, the mixture that is found can be kept (``randomised``).
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from metricwise._typing import Floats
from metricwise.decisions.binary import ThresholdRule, expect, separate_folds
from metricwise.decisions.calibrating import fit_limited_calibration
from metricwise.decisions.class_constraints import ClassConstraints, ClassTables
from metricwise.decisions.class_offsets import expected_offsets
from metricwise.decisions.confusion_posterior import ConfusionPosterior
from metricwise.decisions.constrained_frank_wolfe import linear_constraints, maximise_constrained
from metricwise.decisions.decision import Decision, ScoredSamples
from metricwise.decisions.frank_wolfe import Mixture, is_concave, maximise_measure, maximise_ratio
from metricwise.decisions.gain_rules import GainDecision, GainRule, KnownSamples
from metricwise.decisions.guarantees import UnreachableGuaranteeError
from metricwise.measures.confusion import one_vs_rest
from metricwise.measures.multiclass_capabilities import CountsConfusion, RatioOfConfusion, needs_whole_matrix
from metricwise.measures.tables import divide

_MOST_SAMPLES = 20_000  # that rules are compared on
_POLISHING = 10  # steps from a rule to that of the gradient at its matrix
_TIGHTER = (0.0, 0.01, 0.03, 0.06)  # bounds, of which single rules keep some where a mixture keeps the first
_LITTLE = 0.02  # of the measure, that a single rule may lose without a warning


class GainChoice(NamedTuple):
    """Matrices of gains, their probabilities, and by how much the best of them falls short of their mixture."""

    gains: Floats
    shares: Floats
    shortfall: float


def refuse_gains(rule: ThresholdRule, is_binary: bool, is_multilabel: bool, measure: object) -> None:
    """Raise a ValueError if a matrix of gains, or a mixture of them, is asked for where none decides."""
    if rule.strategy == "gains" and (is_binary or is_multilabel):
        what = "two classes" if is_binary else "several labels"
        raise ValueError(f"threshold='gains' is for more than two classes, and y has {what}: use threshold='auto'")
    if rule.randomised and rule.strategy != "gains" and not needs_whole_matrix(measure):
        raise ValueError("randomised=True is for a matrix of gains: set threshold='gains', or leave randomised out")


def choose_gains(
    measure: CountsConfusion,
    constraints: ClassConstraints | None,
    rule: ThresholdRule,
    samples: ScoredSamples,
    has_probabilities: bool,
) -> GainDecision:
    """Choose the rule, or the mixture of rules, that maximises a measure on out-of-fold samples.

    Parameters
    ----------
    measure : CountsConfusion
        The measure.
    constraints : ClassConstraints or None
        What rules have to keep on the samples.
    rule : ThresholdRule
        Its seed, and whether mixtures are wanted.
    samples : ScoredSamples
        Codes of the classes, scores and weights.
    has_probabilities : bool
        Whether the scores are log-probabilities.

    Raises
    ------
    UnreachableGuaranteeError
        If no rule keeps the constraints.
    """
    decision = find_gain_decision(measure, constraints, rule, samples, has_probabilities)
    if decision.shortfall > _LITTLE and not rule.randomised:
        warnings.warn(
            f"the best single rule is expected to lose {decision.shortfall:.3g} of {measure.name} "  # type: ignore[attr-defined]
            "to a randomised mixture of rules: set randomised=True to predict by the mixture",
            stacklevel=2,
        )
    posterior = ConfusionPosterior(measure, count_decided(decision, samples)[None])
    return expect(decision, posterior, samples.weights)  # type: ignore[return-value]


def judge_gains(
    measure: CountsConfusion,
    constraints: ClassConstraints | None,
    rule: ThresholdRule,
    decision: Any,
    samples: ScoredSamples,
    sizes: list[int],
    has_probabilities: bool,
) -> Any:
    """Return a decision with the score to expect from folds, each by the rules that the other folds choose.

    Parameters
    ----------
    measure, constraints, rule, samples, has_probabilities
        What `choose_gains` was given.
    decision : GainDecision
        Chosen on all samples.
    sizes : list of int
        Numbers of samples of the folds, in the order of the samples.
    """
    matrices = []
    for own, others in separate_folds(samples, sizes):
        found = decision  # for folds without which a class has no samples, or no rule keeps the constraints
        if np.unique(others.target).size == samples.scores.shape[1]:
            with suppress(UnreachableGuaranteeError):
                found = find_gain_decision(measure, constraints, rule, others, has_probabilities)
        matrices.append(count_decided(found, own))
    return expect(decision, ConfusionPosterior(measure, np.array(matrices)), samples.weights)


def find_gain_decision(
    measure: CountsConfusion,
    constraints: ClassConstraints | None,
    rule: ThresholdRule,
    samples: ScoredSamples,
    has_probabilities: bool,
) -> GainDecision:
    """Return the decision of `choose_gains` without the score to expect."""
    samples = _draw(samples, rule.seed)
    limited = fit_limited_calibration(samples, has_probabilities)
    found = find_gains(
        measure, constraints, samples._replace(scores=limited.log_probabilities(samples.scores)), rule.randomised
    )
    none, unknown = np.zeros(samples.scores.shape[1]), (np.nan, np.nan)
    return GainDecision(none, (none, none), np.nan, unknown, seed=rule.seed, **limited._asdict(), **found._asdict())


def count_decided(decision: Decision, samples: ScoredSamples) -> Floats:
    """Return the weights of samples by true class and the class that a decision predicts."""
    size = samples.scores.shape[1]
    predicted = np.argmax(decision.margins(samples.scores), axis=1)
    cells = np.bincount(samples.target * size + predicted, samples.weights, size * size)
    return np.asarray(cells, dtype=np.float64).reshape(size, size)


def find_gains(
    measure: CountsConfusion, constraints: ClassConstraints | None, samples: ScoredSamples, randomised: bool = False
) -> GainChoice:
    """Return the gains that maximise a measure.

    Parameters
    ----------
    measure : CountsConfusion
        The measure.
    constraints : ClassConstraints or None
        What rules have to keep.
    samples : ScoredSamples
        Codes of the classes, log-probabilities up to a constant per sample, and weights.
    randomised : bool
        Whether a mixture of rules is wanted.

    Raises
    ------
    UnreachableGuaranteeError
        If no rule keeps the constraints on the samples.
    """
    chances = softmax(samples.scores, axis=1)
    labels = (samples.target[:, None] == np.arange(chances.shape[1])).astype(np.float64)
    if constraints is not None:  # which hold for the labels of the samples
        return _find_constrained(measure, constraints, KnownSamples.of(chances, labels, samples.weights), randomised)
    known, expected = (
        KnownSamples.of(chances, truth, samples.weights) for truth in (0.5 * (labels + chances), chances)
    )
    start = _find_start(measure, samples)
    mixture, best = _maximise(measure, known, start)
    return _choose(measure, mixture, _combine(measure, known, best, _maximise(measure, expected, start)[1]), randomised)


def _maximise(measure: Any, known: KnownSamples, start: Floats | None) -> tuple[Mixture, GainRule]:
    """Return the best mixture, and the best single rule that is found on the way."""
    if isinstance(measure, RatioOfConfusion):
        rule = maximise_ratio(measure, known)
        return Mixture([rule], np.ones(1)), rule
    mixture = maximise_measure(measure, known, None if start is None else Mixture([known.respond(start)], np.ones(1)))
    rules = [*mixture.rules, *_polish(measure, known, mixture)]
    return mixture, max(rules, key=lambda one: _value(measure, one.matrix))


def _combine(measure: Any, known: KnownSamples, best: GainRule, expected: GainRule) -> GainRule:
    """Return the rule of the mean gains of two, which is less noisy; the first where their mean is worse than both."""
    mean = known.respond(_scale(best.gains) + _scale(expected.gains))
    both = (_value(measure, best.matrix), _value(measure, known.respond(expected.gains).matrix))
    return mean if _value(measure, mean.matrix) >= min(both) else best


def _scale(gains: Floats) -> Floats:
    """Return gains of size one that decide the same: what all predictions gain for a class does not matter."""
    centred: Floats = gains - gains.mean(axis=1, keepdims=True)
    return np.asarray(divide(centred, np.abs(centred).sum()))


def _find_start(measure: Any, samples: ScoredSamples) -> Floats | None:
    """Return gains to start at: any for a concave measure (None), those of the best class offsets for others."""
    if is_concave(measure) or needs_whole_matrix(measure) or isinstance(measure, RatioOfConfusion):
        return None
    return np.diag(np.exp(-expected_offsets(measure.of_tables, samples.scores, samples.weights)))


def _polish(measure: Any, known: KnownSamples, mixture: Mixture) -> list[GainRule]:
    """Return rules that follow the gradient, from that of the mixture on."""
    rules = [known.respond(measure.confusion_gradient(mixture.matrix))]
    while len(rules) <= _POLISHING:
        rule = known.respond(measure.confusion_gradient(rules[-1].matrix))
        if _value(measure, rule.matrix) <= _value(measure, rules[-1].matrix):
            break
        rules.append(rule)
    return rules


def _find_constrained(
    measure: Any, constraints: ClassConstraints, samples: KnownSamples, randomised: bool
) -> GainChoice:
    """Return the best of the rules that keep constraints, or the mixture that does."""
    wanted = linear_constraints(constraints, samples.shares)
    rules: list[GainRule] = []
    mixtures: list[Mixture] = []
    for tighter in _TIGHTER:
        found = maximise_constrained(measure, linear_constraints(constraints, samples.shares, tighter), samples)
        rules += [*found.mixture.rules, samples.respond(found.gains)]
        if wanted.slacks(found.mixture.matrix).min() >= 0.0:
            mixtures.append(found.mixture)
    kept = [rule for rule in rules if wanted.slacks(rule.matrix).min() >= 0.0]
    best = max(kept, key=lambda one: _value(measure, one.matrix), default=None)
    mixture = max(mixtures, key=lambda one: _value(measure, one.matrix), default=Mixture(kept[:1], np.ones(1)))
    if best is None and not (randomised and mixture.rules):
        raise UnreachableGuaranteeError(_describe_nearest(constraints, rules, wanted.slacks, bool(mixture.rules)))
    if best is None:
        return GainChoice(np.array([one.gains for one in mixture.rules]), mixture.shares, np.inf)
    return _choose(measure, mixture, best, randomised)


def _choose(measure: Any, mixture: Mixture, best: GainRule, randomised: bool) -> GainChoice:
    shortfall = max(_value(measure, mixture.matrix) - _value(measure, best.matrix), 0.0)
    if not randomised or shortfall == 0.0:
        return _single(best)._replace(shortfall=shortfall)
    return GainChoice(np.array([rule.gains for rule in mixture.rules]), mixture.shares, shortfall)


def _single(rule: GainRule) -> GainChoice:
    return GainChoice(rule.gains[None], np.ones(1), 0.0)


def _value(measure: Any, matrix: Floats) -> float:
    return float(measure.of_confusion(matrix))


def _draw(samples: ScoredSamples, seed: int) -> ScoredSamples:
    """Return some of many samples; all of every class that is rare."""
    if samples.target.size <= _MOST_SAMPLES:
        return samples
    random = np.random.default_rng(seed)
    drawn = random.choice(samples.target.size, _MOST_SAMPLES, replace=False)
    missing = np.setdiff1d(samples.target, samples.target[drawn])
    drawn = np.union1d(drawn, np.flatnonzero(np.isin(samples.target, missing)))
    return ScoredSamples(*(column[drawn] for column in samples))


def _describe_nearest(constraints: ClassConstraints, rules: list[GainRule], slacks: Any, has_mixture: bool) -> str:
    nearest = max(rules, key=lambda one: float(slacks(one.matrix).min()))
    table = ClassTables(*one_vs_rest(nearest.matrix))
    values = [
        f"{one.share.name} {float(one.share.value(*table.of(column))):.3g}"
        + ("" if one.of_class is None else f" of {one.of_class}")
        for one, column in zip(constraints.wanted, constraints.columns, strict=True)
    ]
    remedy = "set randomised=True, since a mixture of rules keeps them" if has_mixture else "relax the constraints"
    return (
        f"no matrix of gains has {' and '.join(map(str, constraints.wanted))} on out-of-fold samples; the nearest has "
        f"{', '.join(values)}: {remedy}, or collect more samples"
    )
