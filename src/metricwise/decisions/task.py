"""The interface of binary, multiclass and multilabel classification: all that differs between them.

A task holds no samples. It encodes targets, trains models and reads their scores, chooses thresholds or offsets, and
turns scores into labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from metricwise._typing import Floats, Indices, Integers, Labels
from metricwise.decisions.binary import Aim, ThresholdRule
from metricwise.decisions.decision import Calibration, Decision, ScoredSamples
from metricwise.decisions.log_loss import Loss
from metricwise.decisions.out_of_fold import draw_probe
from metricwise.decisions.scoring import class_probabilities, fit_copy
from metricwise.measures import Measure


@dataclass(frozen=True)
class Task(ABC):
    """What is predicted, and the measure of it.

    Attributes
    ----------
    classes : array
        The labels; for multilabel targets, the numbers of the columns.
    measure : Measure
        What predictions are judged by.
    """

    classes: Labels
    measure: Measure
    plural: ClassVar[str] = "classes"
    is_binary: ClassVar[bool] = False
    is_multilabel: ClassVar[bool] = False
    adapts_to_priors: ClassVar[bool] = True  # see `adapt_prior`

    @abstractmethod
    def encode(self, y: Any) -> Labels:
        """Return targets as thresholds are chosen for them; see `ScoredSamples`."""

    @abstractmethod
    def strata(self, target: Labels) -> Integers:
        """Return the codes that folds are stratified by."""

    @abstractmethod
    def scores(self, model: Any, X: Any) -> Floats:
        """Return the scores of samples: log-odds, log-probabilities or decision values."""

    @abstractmethod
    def prior_scores(self, target: Labels, weights: Floats) -> Any:
        """Return the scores of samples of which nothing is known: log-odds or log-probabilities of the classes."""

    @abstractmethod
    def limit_certainty(self, model: Any, scores: Floats, prior: Any) -> Floats:
        """Return scores, those from probabilities no further from the prior than a limit."""

    @abstractmethod
    def calibrate(self, samples: ScoredSamples) -> Calibration:
        """Return what makes log-odds of out-of-fold scores."""

    @abstractmethod
    def log_loss(self, samples: ScoredSamples) -> Loss:
        """Return the log loss of calibrated scores, and its gradient with respect to them."""

    @abstractmethod
    def decide(self, samples: ScoredSamples, rule: ThresholdRule, has_probabilities: bool) -> Decision:
        """Choose thresholds or offsets on out-of-fold scores."""

    @abstractmethod
    def best_value(self, samples: ScoredSamples, rule: ThresholdRule) -> Callable[[Floats], float]:
        """Return the measure of calibrated scores at their best thresholds, as a function of the weights."""

    @abstractmethod
    def value_at(self, decision: Decision, samples: ScoredSamples) -> Callable[[Floats], float]:
        """Return the measure of scores at the thresholds of a decision, as a function of the weights."""

    @abstractmethod
    def labels(self, margins: Floats) -> Any:
        """Return the labels that belong to a decision function."""

    @abstractmethod
    def probabilities(self, scores: Floats) -> Floats:
        """Return the probabilities that belong to calibrated scores."""

    @abstractmethod
    def score(self, y: Any, margins: Floats, weights: Any) -> float:
        """Return the measure of predictions, given their decision function."""

    def describe_positive_class(self, target: Labels) -> str | None:
        """Return a sentence about the positive class and its share; None unless binary."""
        return None

    def share_positive_class(self, estimator: Any) -> Any:
        """Return a classifier that is trained for the positive class of this task, where its own is not named."""
        return estimator

    def fit(
        self,
        estimator: Any,
        X: Any,
        y: Labels,
        weights: Floats | None,
        n_jobs: int | None = None,
        groups: Integers | None = None,
    ) -> Any:
        """Train a copy of a classifier, or one copy per label, and return the model."""
        return fit_copy(estimator, X, y, weights, groups)

    def learners(self, model: Any) -> list[Any]:
        """Return the trained classifiers that a model consists of."""
        return [model]

    def learner_probabilities(self, model: Any, X: Any) -> Floats:
        """Return the probabilities that the model itself predicts, in the order of the classes or labels."""
        return class_probabilities(model, X, self.classes)

    @property
    def names(self) -> list[Any]:
        """The classes, or the names of the labels, by which constraints name them."""
        return list(self.classes.tolist())

    @abstractmethod
    def aim(self, rule: ThresholdRule) -> Aim | None:
        """Return what thresholds or offsets are chosen for; None unless binary or constrained."""

    @abstractmethod
    def guarantee(
        self,
        rule: ThresholdRule,
        confidence: float,
        ordering: ScoredSamples,
        testing: ScoredSamples,
        has_probabilities: bool,
    ) -> Decision:
        """Choose thresholds or offsets whose constraints hold on new samples with a confidence.

        Parameters
        ----------
        rule : ThresholdRule
            The constraints, and how thresholds are chosen.
        confidence : float
            The probability.
        ordering : ScoredSamples
            Out-of-fold scores of the samples that the model was trained with.
        testing : ScoredSamples
            The model's scores of samples that it was not trained with, none of which helped to select it.
        has_probabilities : bool
            Whether scores are log-odds or log-probabilities.
        """

    @abstractmethod
    def refuse_too_few(self, rule: ThresholdRule, confidence: float, target: Labels) -> None:
        """Raise if no classifier at all could pass the test of a constraint on samples with the given targets."""

    def refuse_chunks(self) -> None:
        """Raise if chunks of a Dask collection cannot be predicted one by one."""
        return

    def orient(self, margins: Floats) -> Floats:
        """Return scores minus thresholds as scikit-learn signs a decision function."""
        return margins

    @abstractmethod
    def judge(
        self,
        decision: Decision,
        samples: ScoredSamples,
        rule: ThresholdRule,
        sizes: list[int],
        has_probabilities: bool,
    ) -> Decision:
        """Return a decision with the score to expect by folds, of the given sizes, that had no part in it."""

    def draw_probe(self, target: Labels, seed: int, **most: int) -> Indices:
        """Return samples that the fold models score though trained with them; see `OutOfFoldScores`."""
        return draw_probe(self.strata(target), seed, **most)
