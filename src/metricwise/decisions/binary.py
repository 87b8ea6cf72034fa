"""The threshold of a binary problem, from scores of samples that their models have not seen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from metricwise._typing import Floats, Mask
from metricwise.decisions.batch_rule import BatchRule
from metricwise.decisions.guarantees import Constraint, Share, UnkeepablePromiseError, safest_first
from metricwise.decisions.intervals import TableEvidence, score_interval
from metricwise.decisions.ranking_posterior import ScoreEvidence, rarer_weight, score_evidence
from metricwise.decisions.refitting import refit_shift
from metricwise.decisions.threshold_choice import ThresholdChoice, choose_threshold
from metricwise.inference.candidate_thresholds import Candidates
from metricwise.inference.threshold import threshold_for
from metricwise.measures import Measure, PrecisionAtRecall, RecallAtPrecision
from metricwise.measures.base import CountsTable, RestrictsLabellings


class HeldOut(NamedTuple):
    """Truth, scores and weights of samples that the models which scored them have not seen."""

    positive: Mask
    scores: Floats
    weights: Floats


class Aim(NamedTuple):
    """What thresholds are chosen for: a function of the table if it is one, under constraints."""

    measure: Measure
    table: CountsTable | None
    constraints: list[Constraint]


def aim_of(measure: Measure, subject_to: Any) -> Aim:
    """Return what a measure and constraints ask of a threshold.

    Examples
    --------
    >>> aim = aim_of(RecallAtPrecision(0.8), None)
    >>> aim.table.name, str(aim.constraints[0])
    ('recall', 'precision >= 0.8')
    """
    constraints = [Constraint.of(given) for given in ([] if subject_to is None else subject_to)]
    if isinstance(measure, RecallAtPrecision):
        return Aim(measure, Share("recall"), [Constraint.of(("precision", ">=", measure.precision)), *constraints])
    if isinstance(measure, PrecisionAtRecall):
        return Aim(measure, Share("precision"), [Constraint.of(("recall", ">=", measure.recall)), *constraints])
    of_table = isinstance(measure, CountsTable) and not isinstance(measure, RestrictsLabellings)
    if constraints and not of_table:
        raise ValueError(
            f"subject_to needs a measure of the contingency table to choose among the thresholds that keep the "
            f"constraints, and {measure.name!r} is none; use 'f1', RecallAtPrecision(0.9) or another measure of the "
            "table"
        )
    return Aim(measure, measure if of_table else None, constraints)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Sigmoid:
    """Log-odds of scores: slope * score + intercept, with a slope above zero."""

    slope: float = 1.0
    intercept: float = 0.0

    @classmethod
    def of(cls, held: HeldOut) -> Sigmoid:
        """Fit log-odds to decision values (Platt 1999); of a ranking worse than chance, the order is kept."""
        centre, spread = float(held.scores.mean()), float(held.scores.std()) or 1.0
        column = ((held.scores - centre) / spread)[:, None]
        model = LogisticRegression(C=1e3).fit(column, held.positive, sample_weight=held.weights)
        slope = max(float(model.coef_[0, 0]), 1e-3) / spread
        return cls(slope, float(model.intercept_[0]) - slope * centre)

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds of scores."""
        return self.slope * scores + self.intercept

    def score(self, log_odds: float) -> float:
        """Return the score that has the given log-odds."""
        return (log_odds - self.intercept) / self.slope


class Probe(NamedTuple):
    """Samples that models of folds and the model of all samples have seen: their scores by both, weights and truth."""

    by_folds: Floats
    by_whole: Floats
    weights: Floats
    positive: Mask

    def shift(self, threshold: float, line: Sigmoid) -> float:
        """Return by how much to raise a threshold on the log-odds that a line makes of the scores."""
        logs = line.log_odds(self.by_folds), line.log_odds(self.by_whole)
        return refit_shift(threshold, *logs, self.weights, rarer_weight(self.positive, self.weights))


class Chosen(NamedTuple):
    """A threshold on the scores with what is known of it; ``batch`` adapts it to a batch of log-odds."""

    threshold: float
    interval: tuple[float, float]
    expected: float
    expected_interval: tuple[float, float]
    batch: BatchRule | None = None
    sigmoid: Sigmoid = Sigmoid()
    evidence: ScoreEvidence | None = None  # of a measure of scores

    def for_whole(self, probe: Probe) -> Chosen:
        """Return what was chosen for models of folds as it applies to the model of all samples."""
        line = self.sigmoid
        shift = probe.shift(line.slope * self.threshold + line.intercept, line)
        low, high = (end + shift / line.slope for end in self.interval)
        rule = None if self.batch is None else replace(self.batch, threshold=self.batch.threshold + shift)
        return self._replace(threshold=self.threshold + shift / line.slope, interval=(low, high), batch=rule)


def choose(
    aim: Aim, strategy: str, held: HeldOut, probabilities: bool, seed: int, keeping: Literal["must", "may"] = "must"
) -> Chosen:
    """Choose a threshold on held-out scores by a strategy, for a measure without promises.

    If no threshold keeps the constraints of the aim that it "must" keep, an error is raised; if it "may", the nearest
    is chosen, with a warning.
    """
    sigmoid = Sigmoid() if probabilities else Sigmoid.of(held)
    if aim.table is None:
        return _for_ranking(aim.measure, held, seed)._replace(sigmoid=sigmoid)
    if aim.constraints:
        return described(aim, _best_keeping(aim, held, keeping), held)._replace(sigmoid=sigmoid)
    log_odds = sigmoid.log_odds(held.scores)
    found = choose_threshold(_estimate(strategy), aim.table, held.positive, log_odds, held.weights, seed)
    rule = None
    if strategy == "batch":
        share = float(held.weights[log_odds > found.threshold].sum() / held.weights.sum())
        rule = BatchRule(aim.table, found.threshold, share)
    low, high = (sigmoid.score(end) for end in found.interval)
    choice = ThresholdChoice(sigmoid.score(found.threshold), (low, high))
    return described(aim, choice, held)._replace(batch=rule, sigmoid=sigmoid)


def _estimate(strategy: str) -> Any:
    """Return how the threshold is estimated before there is a batch."""
    return "auto" if strategy == "batch" else strategy


def described(aim: Aim, choice: ThresholdChoice, held: HeldOut) -> Chosen:
    """Return a choice with the measure to expect of it, and where that lies on as many new samples as are held out."""
    assert aim.table is not None
    table = table_of(choice.threshold, held)
    interval = score_interval(aim.table.value, table, n_samples=max(1, round(sum(table))))
    return Chosen(choice.threshold, choice.interval, float(aim.table.value(*table)), interval)


def table_of(threshold: float, held: HeldOut) -> tuple[float, float, float, float]:
    """Return the weighted table of held-out samples."""
    above = held.scores > threshold
    cells = [held.weights[above & held.positive], held.weights[above & ~held.positive]]
    cells += [held.weights[~above & held.positive], held.weights[~above & ~held.positive]]
    tp, fp, fn, tn = (float(cell.sum()) for cell in cells)
    return tp, fp, fn, tn


def evidence_of_folds(
    aim: Aim, strategy: str, held: HeldOut, sizes: list[int], sigmoid: Sigmoid, threshold: float, seed: int
) -> TableEvidence:
    """Return the tables of folds, each at the threshold that is chosen without it, for a measure without constraints.

    A threshold looks better on the samples that it was chosen on than on any others, and models of other samples need
    other thresholds: both is seen in such tables.

    Parameters
    ----------
    aim, strategy, held, seed
        As `choose` takes them.
    sizes : list of int
        Numbers of samples of the folds, in the order of the held-out samples.
    sigmoid : Sigmoid
        What makes log-odds of the scores.
    threshold : float
        Chosen on all samples; for folds without which there are no samples of one class.
    seed : int
        Of resamples.
    """
    assert aim.table is not None
    log_odds = sigmoid.log_odds(held.scores)
    tables, fold = [], np.repeat(np.arange(len(sizes)), sizes)
    for number in range(len(sizes)):
        own, other = fold == number, fold != number
        at = threshold
        if 0 < np.count_nonzero(held.positive[other]) < np.count_nonzero(other):
            rows = held.positive[other], log_odds[other], held.weights[other]
            at = sigmoid.score(choose_threshold(_estimate(strategy), aim.table, *rows, seed).threshold)
        tables.append(table_of(at, HeldOut(*(column[own] for column in held))))
    return TableEvidence(aim.table, tuple(tables))


def _best_keeping(aim: Aim, held: HeldOut, keeping: Literal["must", "may"]) -> ThresholdChoice:
    """Return the best threshold whose held-out samples keep the constraints, without any promise."""
    assert aim.table is not None
    candidates = Candidates.of(*held)
    tables = candidates.tables()
    kept = np.min([constraint.margin(*tables) for constraint in aim.constraints], axis=0) >= 0.0
    if not kept.any():
        asked = " and ".join(map(str, aim.constraints))
        first = int(safest_first(aim.table, aim.constraints, candidates)[0])
        values = ", ".join(
            f"{c.share.name} {float(c.share.value(*(t[first] for t in tables))):.3g}" for c in aim.constraints
        )
        nearest = float(candidates.thresholds(first))
        message = f"no threshold has {asked} on held-out samples; the nearest, {nearest:.6g}, has {values}"
        if keeping == "must":
            raise UnkeepablePromiseError(message)
        warnings.warn(
            f"{message}, and is used: lower what is asked for, or collect more samples of the rarer class",
            UserWarning,
            stacklevel=2,
        )
        return ThresholdChoice(nearest, (nearest, nearest))
    allowed: Floats = np.where(kept, np.asarray(aim.table.value(*tables), dtype=np.float64), -np.inf)
    thresholds = candidates.thresholds(np.flatnonzero(kept))
    best = float(candidates.thresholds(candidates.best(allowed)))
    return ThresholdChoice(best, (float(thresholds.min()), float(thresholds.max())))


def _for_ranking(measure: Measure, held: HeldOut, seed: int) -> Chosen:
    """Choose for a measure of scores: the threshold that suits it, and what to expect of the scores."""
    threshold = threshold_for(measure, held.positive, held.scores, held.weights)
    random = np.random.default_rng(seed)
    drawn = [
        threshold_for(measure, *held[:2], held.weights * random.exponential(size=held.weights.size)) for _ in range(25)
    ]
    low, high = np.quantile(drawn, [0.05, 0.95])
    evidence = score_evidence(measure, *held)
    return Chosen(
        threshold,
        (float(low), float(high)),
        evidence.value,
        evidence.interval(n_samples=float(held.weights.sum())),
        evidence=evidence,
    )


def shown(threshold: float, probabilities: bool) -> float:
    """Return a threshold as users read it: a probability, where the learner has them."""
    return float(expit(threshold)) if probabilities else threshold
