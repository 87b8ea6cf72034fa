"""Resamples of what a measure loses by a shuffle, for samples and donors, with changes that no sample has shown.

A shuffle pairs every sample with a donor, whose value of a column it takes. Its loss on new samples depends on both, so
that a resample gives every pair the product of the weights of its sample and its donor (the Bayesian bootstrap of a
statistic of two samples). Both are drawn from the same samples.

A change of labels that no sample has shown is not impossible: none among n samples leaves room for about 2/n of them.
Every kind of change therefore counts half a sample more than were seen (Jeffreys), in resamples, not in the estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats, Mask
from metricwise.measures import Measure
from metricwise.measures.base import IsCost, show_value
from metricwise.reporting.evaluation import evaluate_resamples
from metricwise.reporting.predictions import Predictions

_UNSEEN = 0.5  # samples that every kind of change counts for besides those seen


@dataclass(frozen=True)
class PairResamples:
    """Random weights of samples, of donors and of changes that no sample has shown.

    Attributes
    ----------
    predictions : Predictions
        Of the samples as they are.
    measure : Measure
        The measure, as returned by `metricwise.reporting.evaluation.resolve_measure`.
    drawn : array of shape (n_resamples, n_samples)
        Weights of the samples, of mean 1.
    unseen : array of shape (n_resamples, n_kinds)
        Weights of one more change of every kind, in units of one sample.
    """

    predictions: Predictions
    measure: Measure
    drawn: Floats
    unseen: Floats

    @classmethod
    def draw(cls, predictions: Predictions, measure: Measure, size: int, random: np.random.Generator) -> PairResamples:
        """Draw resamples of the samples that predictions are for; where these are in groups, of whole groups."""
        groups, n_kinds = predictions.groups, len(_label_changes(predictions)[0])
        if groups is None:
            drawn, of_one = random.standard_exponential((size, predictions.n_samples)), 1.0
        else:
            drawn, of_one = groups.draw(size, random)[:, groups.codes], predictions.n_samples / groups.n_groups
        return cls(predictions, measure, drawn, of_one * random.gamma(_UNSEEN, size=(size, n_kinds)))

    def lose(self, shuffled: Predictions, donors: NDArray[np.intp] | None = None) -> Floats:
        """Return what the measure loses by a shuffle: on the samples themselves, then on every resample.

        Parameters
        ----------
        shuffled : Predictions
            Predictions for the samples with a column taken from the donors.
        donors : array of int, optional
            The donor of each sample; by default there are none, as the samples were changed otherwise.

        Examples
        --------
        >>> from metricwise.measures import Accuracy
        >>> from metricwise.reporting.predictions import Problem
        >>> truth = np.arange(300) % 3 == 0
        >>> problem = Problem("1", 1, truth, truth, 1.0 * truth, "score", 0.5, np.ones(300))
        >>> one = Predictions("binary", ["0", "1"], [problem])
        >>> resamples = PairResamples.draw(one, Accuracy(), 500, np.random.default_rng(0))
        >>> losses = resamples.lose(one, np.arange(300)[::-1])  # no label changes
        >>> float(losses[0]), bool(0.002 < np.quantile(losses, 0.95) < 0.02)
        (0.0, True)
        """
        weights = self.predictions.weights
        before, after = (self._evaluate(one, weights[None]) for one in (self.predictions, shuffled))
        before_unseen, after_unseen, chance = self._append_changes(shuffled)
        pairs = self.drawn if donors is None else self.drawn * self.drawn[:, donors]
        pairs = np.hstack([weights * pairs, weights.mean() * chance * self.unseen])
        drawn = self._evaluate(before_unseen, pairs) - self._evaluate(after_unseen, pairs)
        return np.concatenate([before - after, drawn])

    def _evaluate(self, predictions: Predictions, weights: Floats) -> Floats:
        """Return the measure for several weightings; a cost in its own units, negative, so that greater is better."""
        values = evaluate_resamples(predictions, self.measure, weights)
        shown = show_value(self.measure, values, float(self.predictions.weights.sum()))
        return np.asarray(-shown if isinstance(self.measure, IsCost) else shown)

    def _append_changes(self, shuffled: Predictions) -> tuple[Predictions, Predictions, float]:
        """Return both predictions with one more change of every kind, and the probability that it is not seen."""
        truth, before, after = _label_changes(self.predictions)
        if self.measure.response == "labels":
            return _extend(self.predictions, truth, before), _extend(shuffled, truth, after), 1.0
        first, other = self.predictions.problems[0].scores, shuffled.problems[0].scores
        highest, lowest = max(first.max(), other.max()) + 1.0, min(first.min(), other.min()) - 1.0
        best, middle, is_right = np.where(truth[:, 0], highest, lowest), np.median(first), (before == truth)[:, 0]
        return (
            _extend(self.predictions, truth, before, np.where(is_right, best, middle)),
            _extend(shuffled, truth, after, np.where(is_right, middle, best)),
            float(np.mean(first == other)),  # scores that change everywhere show every kind of change
        )


def _label_changes(predictions: Predictions) -> tuple[Mask, Mask, Mask]:
    """Return a sample for every kind of change: its truth, its labels as it is and its labels when shuffled.

    Of two classes, and of every label, a true or a false one becomes wrong or right; of several classes, the samples of
    each become wrong (another class) or right.
    """
    size = len(predictions.problems)
    if predictions.kind == "multiclass":
        right = np.eye(size, dtype=bool)
        wrong = np.roll(right, 1, axis=1)
        return np.vstack([right, right]), np.vstack([right, wrong]), np.vstack([wrong, right])
    truth, before = (np.repeat([values], size, axis=0).T.astype(bool) for values in ([1, 1, 0, 0], [1, 0, 0, 1]))
    return truth, before, ~before


def _extend(predictions: Predictions, truth: Mask, predicted: Mask, scores: Floats | None = None) -> Predictions:
    """Return predictions with further samples; their weights are left to resamples."""
    added = np.zeros(len(truth)) if scores is None else scores
    problems = [
        replace(
            problem,
            truth=np.append(problem.truth, truth[:, k]),
            predicted=np.append(problem.predicted, predicted[:, k]),
            scores=np.append(problem.scores, added),
            weights=np.append(problem.weights, np.ones(len(truth))),
        )
        for k, problem in enumerate(predictions.problems)
    ]
    return replace(predictions, problems=problems)
