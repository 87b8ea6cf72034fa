"""Predictions and fitted attributes of a learner that is decided for a measure while samples keep coming."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from metricwise._typing import Floats, Labels
from metricwise.decisions.task import Task
from metricwise.designs.finite import LARGEST
from metricwise.estimators.inputs import validate_samples
from metricwise.estimators.parameters import NumericParameters
from metricwise.estimators.streaming.online_learning import OnlineModel, predict_chances
from metricwise.estimators.summary import ShowsSummary
from metricwise.measures import CostMatrix, Measure
from metricwise.measures.base import show_interval, show_value
from metricwise.results import History, StreamEntry, StreamResult


class OnlinePredictor(ShowsSummary, ClassifierMixin, NumericParameters):
    """Predicts by the probabilities of a learner and the rule of running tables, which subclasses store as a model."""

    _model: OnlineModel

    @property
    def _task(self) -> Task:
        check_is_fitted(self, "_model")
        return self._model.task

    def _chances(self, X: Any) -> Floats:
        check_is_fitted(self, "_model")
        X = validate_samples(self, X, reset=False, order="C", largest=LARGEST)
        return self._model.decision.calibrate(predict_chances(self._model.estimators, self._model.task, X))

    def decision_function(self, X: Any) -> Floats:
        """Return the expected gain in the measure of predicting each class or label; the greatest decides.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        array of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            Of two classes, ``classes_[1]`` is predicted above zero; of labels, all above zero.
        """
        chances = self._chances(X)
        gains = self._model.decision.average.gains(chances)
        return self._task.orient(gains[:, 0] if self._task.is_binary else gains)

    def predict(self, X: Any) -> Any:
        """Return labels, each sample by itself; the model stays as it is.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        array or CSR matrix of shape (n_samples,) or (n_samples, n_labels)
            Classes, or zeros and ones; a CSR matrix if the labels of training were sparse.
        """
        margins = self.decision_function(X)
        return self._task.labels(margins)

    def predict_sequence(self, X: Any) -> Any:
        """Return labels of samples that follow the stream in this order; the model stays as it is.

        Each sample is counted, with the label predicted and those that its probabilities expect, before the next is
        predicted: for samples whose labels come late.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            New samples, in their order.

        Returns
        -------
        array or CSR matrix of shape (n_samples,) or (n_samples, n_labels)
            Classes, or zeros and ones; a CSR matrix if the labels of training were sparse.
        """
        check_is_fitted(self, "_model")
        X = validate_samples(self, X, reset=False, order="C", largest=LARGEST)
        chances = predict_chances(self._model.estimators, self._model.task, X)
        return self._model.decode(self._model.decision.anticipate(chances).predicted)

    def predict_proba(self, X: Any) -> Floats:
        """Return the learner's probabilities, calibrated if ``calibrate``.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        array of shape (n_samples, n_classes) or (n_samples, n_labels)
            Probabilities of the classes, in the order of ``classes_``, or of the labels.
        """
        chances = self._chances(X)
        if self._task.is_multilabel:
            return chances
        if not self._task.is_binary:
            return np.asarray(chances / chances.sum(axis=1, keepdims=True))
        columns = [1.0 - chances[:, 0], chances[:, 0]]
        return np.column_stack(columns if self._task.points_up else columns[::-1])  # type: ignore[attr-defined]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the measure of the predictions.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            The measure; less is better if it is a cost.
        """
        margins = self.decision_function(X)
        return self._task.score(y, margins, sample_weight)

    # ------------------------------------------------------------------------------------------------------- the model

    @property
    def measure_(self) -> Measure:
        """The measure."""
        return self._model.task.measure

    @property
    def classes_(self) -> Labels:
        """The labels, sorted; for several labels, their numbers."""
        return self._model.task.classes

    @property
    def estimator_(self) -> Any:
        """The trained learner; a list with one per label for several labels."""
        return self._model.estimators if self._model.task.is_multilabel else self._model.estimators[0]

    @property
    def threshold_(self) -> float | Floats:
        """The probability above which a sample is positive, or has each label; classes and costs have none."""
        task = self._model.task
        if not (task.is_binary or task.is_multilabel):
            raise AttributeError("more than two classes have no thresholds: the class of the largest gain is predicted")
        found = self._model.decision.average.thresholds
        return found if task.is_multilabel else float(found[0])

    @property
    def confusion_(self) -> Floats:
        """Weights of the samples that count, by true and predicted class or label."""
        totals = self._model.decision.running.totals
        return totals if self._model.task.is_multilabel else totals[0]

    @property
    def running_score_(self) -> float:
        """The measure of the samples that count, each predicted before it was learnt from; nan before there is one."""
        decision = self._model.decision
        return float(show_value(self.measure_, decision.value, decision.weight))

    @property
    def running_score_interval_(self) -> tuple[float, float]:
        """Interval that contains the measure of samples like these with probability 0.9, for measures of classes."""
        decision = self._model.decision
        if decision.task.is_multilabel or isinstance(self.measure_, CostMatrix):
            raise AttributeError("there is no interval for several labels or a cost matrix: read running_score_")
        return show_interval(self.measure_, decision.interval(), decision.weight)

    @property
    def history_(self) -> History[StreamEntry]:
        """The running score while the stream grew."""
        return History(self._model.entries)

    @property
    def result_(self) -> StreamResult:
        """Status, samples seen and history; there are no weights of its own."""
        model = self._model
        facts = model.status, model.n_samples, model.n_passes, model.seconds, self.history_
        positive = model.decision.running.totals[0].sum(axis=1)
        share = float(positive[1] / positive.sum()) if positive.any() else float("nan")
        return StreamResult(np.zeros(0), *facts, positive_share=share)
