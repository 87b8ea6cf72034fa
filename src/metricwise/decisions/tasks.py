"""What is predicted: one of two classes, one of several, or several labels; all as columns of scores.

Scores of all candidates are brought to one scale, log-odds or log-probabilities, so that they can be averaged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit

from metricwise._sklearn import take_samples
from metricwise._typing import Floats, Indices, Labels
from metricwise.decisions.binary import HeldOut, Probe, Sigmoid, aim_of, choose, evidence_of_folds, table_of
from metricwise.decisions.class_offsets import best_offsets
from metricwise.decisions.intervals import TableEvidence
from metricwise.decisions.label_matrix import validate_label_matrix
from metricwise.decisions.multiclass import averaged, choose_offsets, choose_thresholds
from metricwise.decisions.out_of_fold import (
    binary_scores,
    class_scores,
    fitted,
    fitted_label,
    gives_probabilities,
)
from metricwise.decisions.ranking_posterior import ScoreEvidence, score_evidence
from metricwise.measures import HasMulticlassValue, Measure, contingency_table
from metricwise.measures.averages import matrix_table

# Of probabilities, in log-odds beyond those of the classes themselves: forests are sure of what all of their trees say,
# and a single one must not outweigh all other candidates.
_SUREST = 6.0


class Decision(NamedTuple):
    """Thresholds of the columns of scores, and the measure to expect of them."""

    thresholds: Any
    interval: Any
    expected: float
    expected_interval: tuple[float, float]
    evidence: TableEvidence | ScoreEvidence | None = None  # of samples out of fold, for two classes

    def raised(self, shift: Any) -> Decision:
        """Return the decision with higher thresholds."""
        low, high = self.interval
        return self._replace(thresholds=self.thresholds + shift, interval=(low + shift, high + shift))


class Calibration(NamedTuple):
    """Straight lines that turn the scores of a candidate into log-odds, one a column; none for log-probabilities."""

    lines: tuple[Sigmoid, ...]

    def __call__(self, scores: Floats) -> Floats:
        if not self.lines:
            return scores
        if scores.ndim == 1:
            return self.lines[0].log_odds(scores)
        return np.column_stack([line.log_odds(column) for line, column in zip(self.lines, scores.T, strict=True)])


@dataclass
class Task(ABC):
    """Samples with their truth and what they are judged by.

    Attributes
    ----------
    X : samples
        Arrays, sparse matrices or data frames.
    y : array
        Classes, or a 0/1 matrix.
    weights : array or None
        Weights of the samples.
    measure : Measure
        The measure.
    seed : int
        Of resamples.
    usual : float or array
        Scores of samples of which nothing is known: by how many samples there are of each class.
    """

    X: Any
    y: Labels
    weights: Floats | None
    measure: Measure
    seed: int
    usual: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.usual is None:
            self.usual = self._usual_scores()

    @abstractmethod
    def _usual_scores(self) -> Any:
        """Return log-odds, or log-probabilities, by the shares of the classes."""

    @property
    @abstractmethod
    def strata(self) -> Labels:
        """What folds spread evenly."""

    @abstractmethod
    def learn(self, estimator: Any, rows: Indices) -> Any:
        """Return a model of some samples."""

    @abstractmethod
    def raw_scores(self, model: Any, X: Any) -> Floats:
        """Return scores of samples as the model gives them."""

    @abstractmethod
    def calibration(self, rows: Indices, scores: Floats) -> Calibration:
        """Return what brings held-out scores of a candidate to the common scale."""

    @abstractmethod
    def decide(self, rows: Indices, scores: Floats) -> Decision:
        """Choose thresholds on held-out scores of the common scale."""

    @abstractmethod
    def judge(self, rows: Indices, scores: Floats) -> Callable[[Floats], float]:
        """Return the measure of held-out scores, at their best thresholds, as a function of weights of the samples."""

    @abstractmethod
    def predicted(self, scores: Floats, decision: Decision) -> Labels:
        """Return the columns or classes that scores stand for."""

    @abstractmethod
    def score(self, y: Any, scores: Floats, decision: Decision, weights: Any) -> float:
        """Return the measure of scores of new samples."""

    def forget_rows(self) -> None:
        """Drop what is needed for training only."""
        self.X, self.y, self.weights = None, np.zeros(0), None

    def judged(self, decision: Decision, rows: Indices, scores: Floats, sizes: list[int]) -> Decision:
        """Return a decision with what to expect of it by folds, so many samples each, that had no part in it."""
        return decision

    def for_whole(self, decision: Decision, rows: Indices, by_folds: Floats, by_whole: Floats) -> Decision:
        """Return the decision for the fold models shifted to the final model, by samples that both have seen."""
        return decision

    def held_out(self, estimator: Any, train: Indices, test: Indices, seen: Indices) -> tuple[Floats, Floats]:
        """Return scores of samples by a model of others, and of samples that it has seen."""
        model = self.learn(estimator, train)
        unseen, known = (self.raw_scores(model, take_samples(self.X, rows)) for rows in (test, seen))
        return unseen, known

    def sample_weights_of(self, rows: Indices) -> Floats:
        """Return weights of samples, one each if there are none."""
        return np.ones(rows.size) if self.weights is None else self.weights[rows]

    def _fitted(self, estimator: Any, rows: Indices, y: Labels) -> Any:
        part = None if self.weights is None else self.weights[rows]
        return fitted(estimator, take_samples(self.X, rows), y, part)


@dataclass
class TwoClasses(Task):
    """One class against the other."""

    positive: Any

    @property
    def strata(self) -> Labels:
        strata: Labels = self.y == self.positive
        return strata

    def learn(self, estimator: Any, rows: Indices) -> Any:
        return self._fitted(estimator, rows, self.y[rows])

    def raw_scores(self, model: Any, X: Any) -> Floats:
        scores = binary_scores(model, X, self.positive)
        return _not_too_sure(scores, self.usual) if gives_probabilities(model) else scores

    def _usual_scores(self) -> float:
        return float(_log_odds(np.mean(self.strata), len(self.y)))

    def calibration(self, rows: Indices, scores: Floats) -> Calibration:
        return Calibration((Sigmoid.of(self._held(rows, scores)),))

    def decide(self, rows: Indices, scores: Floats) -> Decision:
        held = self._held(rows, scores)
        aim = aim_of(self.measure, None)
        chosen = choose(aim, "auto", held, True, self.seed, keeping="may")  # scores are of use without a threshold
        found = Decision(chosen.threshold, chosen.interval, chosen.expected, chosen.expected_interval, chosen.evidence)
        if aim.table is None:
            return found
        if not aim.constraints:
            return found._replace(evidence=TableEvidence(aim.table, (table_of(chosen.threshold, held),)))
        evidence = score_evidence(self.measure, *held)
        interval = evidence.interval(n_samples=float(held.weights.sum()))
        return found._replace(expected=evidence.value, expected_interval=interval, evidence=evidence)

    def judged(self, decision: Decision, rows: Indices, scores: Floats, sizes: list[int]) -> Decision:
        aim = aim_of(self.measure, None)
        if aim.table is None or aim.constraints:
            return decision
        held = self._held(rows, scores)
        evidence = evidence_of_folds(aim, "auto", held, sizes, Sigmoid(), decision.thresholds, self.seed)
        interval = evidence.interval(n_samples=max(1, round(float(held.weights.sum()))))
        return decision._replace(expected=evidence.value, expected_interval=interval, evidence=evidence)

    def for_whole(self, decision: Decision, rows: Indices, by_folds: Floats, by_whole: Floats) -> Decision:
        probe = Probe(by_folds, by_whole, self.sample_weights_of(rows), self.strata[rows])
        return decision.raised(probe.shift(decision.thresholds, Sigmoid()))

    def judge(self, rows: Indices, scores: Floats) -> Callable[[Floats], float]:
        truth = self.strata[rows]
        if self.measure.response == "scores":
            return lambda weights: float(self.measure.score(truth, scores, weights))
        found = scores > self.decide(rows, scores).thresholds
        return lambda weights: _value_of_table(self.measure, truth, found, weights)

    def predicted(self, scores: Floats, decision: Decision) -> Labels:
        found: Labels = scores > decision.thresholds
        return found

    def score(self, y: Any, scores: Floats, decision: Decision, weights: Any) -> float:
        truth = np.asarray(y) == self.positive
        response = scores if self.measure.response == "scores" else self.predicted(scores, decision)
        return float(self.measure.score(truth, response, weights))

    def _held(self, rows: Indices, scores: Floats) -> HeldOut:
        return HeldOut(self.strata[rows], scores, self.sample_weights_of(rows))


@dataclass
class SeveralClasses(Task):
    """One of several classes."""

    classes: Labels

    @property
    def strata(self) -> Labels:
        return self.y

    def learn(self, estimator: Any, rows: Indices) -> Any:
        return self._fitted(estimator, rows, self.y[rows])

    def raw_scores(self, model: Any, X: Any) -> Floats:
        scores = class_scores(model, X, self.classes)
        return np.maximum(scores, self.usual - _SUREST) if gives_probabilities(model) else scores

    def _usual_scores(self) -> Floats:
        shares: Floats = np.mean(self.y[:, None] == self.classes, axis=0)
        return np.asarray(np.log(shares))

    def calibration(self, rows: Indices, scores: Floats) -> Calibration:
        return Calibration(())

    def decide(self, rows: Indices, scores: Floats) -> Decision:
        return Decision(
            *choose_offsets(self._value, "auto", self._codes(rows), scores, self.sample_weights_of(rows), self.seed)
        )

    def judge(self, rows: Indices, scores: Floats) -> Callable[[Floats], float]:
        codes = self._codes(rows)
        offsets = best_offsets(self._value, codes, scores, self.sample_weights_of(rows)).offsets
        truth = codes[:, None] == np.arange(self.classes.size)
        found = np.argmax(scores - offsets, axis=1)[:, None] == np.arange(self.classes.size)
        return lambda weights: _value_of_columns(self._value, truth, found, weights)

    def predicted(self, scores: Floats, decision: Decision) -> Labels:
        found: Labels = self.classes[np.argmax(scores - decision.thresholds, axis=1)]
        return found

    def score(self, y: Any, scores: Floats, decision: Decision, weights: Any) -> float:
        measure, found = averaged(self.measure, "classes"), self.predicted(scores, decision)
        score = measure.multiclass_score if isinstance(measure, HasMulticlassValue) else measure.score
        return float(score(np.asarray(y), found, weights))

    @property
    def _value(self) -> Any:
        return averaged(self.measure, "classes").of_tables

    def _codes(self, rows: Indices) -> Indices:
        return np.searchsorted(self.classes, self.y[rows])


@dataclass
class SeveralLabels(Task):
    """A set of labels, each with a classifier of its own."""

    @property
    def strata(self) -> Labels:
        return np.zeros(len(self.y), dtype=np.int64)

    def learn(self, estimator: Any, rows: Indices) -> Any:
        return [fitted_label(estimator, self.X, column, rows, self.weights) for column in self.y.T]

    def raw_scores(self, model: Any, X: Any) -> Floats:
        columns = [binary_scores(one, X, 1) for one in model]
        return np.column_stack(
            [
                _not_too_sure(scores, usual) if gives_probabilities(one) else scores
                for one, scores, usual in zip(model, columns, self.usual, strict=True)
            ]
        )

    def _usual_scores(self) -> Floats:
        return np.asarray(_log_odds(np.mean(self.y == 1, axis=0), len(self.y)))

    def calibration(self, rows: Indices, scores: Floats) -> Calibration:
        truth, weights = self.y[rows] == 1, self.sample_weights_of(rows)
        return Calibration(
            tuple(
                Sigmoid.of(HeldOut(t, s, weights)) if 0 < t.sum() < t.size else Sigmoid()
                for t, s in zip(truth.T, scores.T, strict=True)
            )
        )

    def decide(self, rows: Indices, scores: Floats) -> Decision:
        truth = self.y[rows] == 1
        measure = averaged(self.measure, "labels")
        return Decision(
            *choose_thresholds(measure, "auto", truth, scores, self.sample_weights_of(rows), True, self.seed)
        )

    def for_whole(self, decision: Decision, rows: Indices, by_folds: Floats, by_whole: Floats) -> Decision:
        weights, columns = self.sample_weights_of(rows), zip(by_folds.T, by_whole.T, self.y[rows].T == 1, strict=True)
        probes = [Probe(folds, whole, weights, truth) for folds, whole, truth in columns]
        pairs = zip(probes, decision.thresholds, strict=True)
        return decision.raised(np.array([probe.shift(float(one), Sigmoid()) for probe, one in pairs]))

    def judge(self, rows: Indices, scores: Floats) -> Callable[[Floats], float]:
        truth, value = self.y[rows] == 1, averaged(self.measure, "labels").of_tables
        found = scores > self.decide(rows, scores).thresholds
        return lambda weights: _value_of_columns(value, truth, found, weights)

    def predicted(self, scores: Floats, decision: Decision) -> Labels:
        found: Labels = (scores > decision.thresholds).astype(np.int8)
        return found

    def score(self, y: Any, scores: Floats, decision: Decision, weights: Any) -> float:
        found = self.predicted(scores, decision)
        return float(averaged(self.measure, "labels").score(validate_label_matrix(y), found, weights))


def _log_odds(share: Any, n_samples: int) -> Any:
    least = 0.5 / max(n_samples, 1)  # labels that all samples have, or none
    return logit(np.clip(share, least, 1.0 - least))


def _not_too_sure(scores: Floats, usual: float) -> Floats:
    return np.clip(scores, min(usual, 0.0) - _SUREST, max(usual, 0.0) + _SUREST)


def _value_of_table(measure: Any, truth: Labels, found: Labels, weights: Floats) -> float:
    table = contingency_table(truth, found, weights)
    return float(measure.value(table.tp, table.fp, table.fn, table.tn))


def _value_of_columns(value: Any, truth: Labels, found: Labels, weights: Floats) -> float:
    table = matrix_table(truth, found, weights)
    return float(value(table.tp, table.fp, table.fn, table.tn))
