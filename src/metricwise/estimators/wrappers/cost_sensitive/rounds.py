"""Rounds of training with prices of the classes, each judged on samples that its models have not seen.

Order of steps (`Rounds.run`):

1. train without prices and choose the threshold: this is `PlugInClassifier`;
2. take the prices at the contingency table of the last round (`metricwise.solvers.class_costs`);
3. train with weights by these prices on the same folds, choose the threshold again in the same way;
4. go on while the measure rises and the prices change.

The best round is kept if held-out samples make a gain over the first likely, otherwise the first one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from metricwise._sklearn import take_samples
from metricwise._typing import Floats, Indices
from metricwise.decisions.binary import Aim, Chosen, HeldOut, Sigmoid, choose, shown, table_of
from metricwise.decisions.fitting import Fitting
from metricwise.decisions.intervals import score_interval
from metricwise.decisions.out_of_fold import (
    Scores,
    Splits,
    binary_scores,
    collected,
    draw_probe,
    make_splits,
    with_probe,
)
from metricwise.estimators.wrappers.cost_sensitive.learners import WeightedLearner
from metricwise.measures.base import CountsTable
from metricwise.solvers.amp_problem import ClassCosts
from metricwise.solvers.class_costs import compute_class_costs

# A gain is believed if this interval for it lies above zero, that is with a chance of three in four. On average, as
# measured, more doubt throws away more than it saves, and less lets noise in where positives are few.
CONFIDENCE = 0.5


class Round(NamedTuple):
    """One round of training.

    Attributes
    ----------
    prices : ClassCosts
        Weights of a positive (``pos``) and a negative (``neg``) sample in training.
    score : float
        The measure of held-out samples.
    threshold : float
        The threshold chosen: a probability, or a decision value, of models trained with these prices.
    """

    prices: ClassCosts
    score: float
    threshold: float


class Trial(NamedTuple):
    """A round with its held-out scores (log-odds without the prices, where they are log-odds) and what was chosen.

    ``scores`` are those of the models, with the prices.
    """

    prices: ClassCosts
    chosen: Chosen
    held: HeldOut
    scores: Scores

    @property
    def table(self) -> tuple[float, float, float, float]:
        """The contingency table of the held-out samples."""
        return table_of(self.chosen.threshold, self.held)


@dataclass
class Rounds:
    """The rounds of one call of `fit`.

    Attributes
    ----------
    fitting : Fitting
        Samples and parameters.
    learner : WeightedLearner
        What is trained.
    aim : Aim
        The measure.
    y, positive : array and label
        Labels of the samples, and that of the positives.
    most : int
        Most rounds after the first.
    tol : float
        Rounds end when no price changes by more than this share.
    """

    fitting: Fitting
    learner: WeightedLearner
    aim: Aim
    y: NDArray[Any]
    positive: Any
    most: int
    tol: float

    def __post_init__(self) -> None:
        codes = (self.y == self.positive).astype(np.int64)
        splits = make_splits(self.fitting.cv, self.fitting.X, codes, self.fitting.seed)
        everything = np.arange(codes.size)
        # Without held-out samples, of which the user has been warned, nothing tells whether prices help.
        self.held_out = bool(splits)
        self.most = self.most if splits else 0
        self.splits: Splits = splits or [(everything, everything)]
        self.probe = draw_probe(codes, self.fitting.seed)
        self.models: list[Any] = [None] * len(self.splits)
        self.n_fits = 0

    def run(self) -> list[Trial]:
        """Return the trials of all rounds."""
        trials = [self._trial(ClassCosts(1.0, 1.0))]
        while len(trials) <= self.most:
            last = trials[-1]
            prices = compute_class_costs(self.aim.measure, last.table)
            # A class without a price cannot be learnt.
            if min(prices) <= 0.0 or self._settled(last.prices, prices):
                break
            trials.append(self._trial(prices))
            if trials[-1].chosen.expected <= last.chosen.expected:
                break
        return trials

    def _settled(self, last: ClassCosts, prices: ClassCosts) -> bool:
        return all(abs(new - old) <= self.tol * old for old, new in zip(last, prices, strict=True))

    def weights(self, prices: ClassCosts) -> Floats | None:
        """Return the weights of the samples in training; None if the user gave none and the prices are alike."""
        if prices.pos == prices.neg:
            return self.fitting.weights
        weights: Floats = self.fitting.sample_weights_of * np.where(self.y == self.positive, prices.pos, prices.neg)
        return weights

    def _trial(self, prices: ClassCosts) -> Trial:
        scored = partial(self._scored, self.weights(prices))
        found = Parallel(n_jobs=self.fitting.n_jobs)(
            delayed(scored)(*split, start)
            for split, start in zip(with_probe(self.splits, self.probe), self.models, strict=True)
        )
        self.n_fits += len(found)
        self.models = [model for model, *_ in found]
        scores = collected(self.splits, self.probe, [(unseen, seen) for _, unseen, seen in found])
        unseen = scores.unseen - self._shift(prices)
        held = HeldOut(self.y[scores.rows] == self.positive, unseen, self.fitting.sample_weights_of[scores.rows])
        chosen = choose(self.aim, self.fitting.strategy, held, self.fitting.probabilities, self.fitting.seed)
        return Trial(prices, chosen, held, scores)

    def _scored(
        self, weights: Floats | None, train: Indices, test: Indices, seen: Indices, start: Any
    ) -> tuple[Any, Floats, Floats]:
        """Return a model to start the next round from, if it can be, with its out-of-fold and its in-fold scores."""
        part = None if weights is None else weights[train]
        model = self.learner.fitted(take_samples(self.fitting.X, train), self.y[train], part, start)
        unseen = binary_scores(model, take_samples(self.fitting.X, test), self.positive)
        known = binary_scores(model, take_samples(self.fitting.X, seen), self.positive)
        return model if self.learner.continues(model) else None, unseen, known

    def _shift(self, prices: ClassCosts) -> float:
        """Return how far prices move the scores of a learner: its log-odds, if it has them."""
        return math.log(prices.pos / prices.neg) if self.fitting.probabilities else 0.0

    def final_model(self, trials: list[Trial]) -> Any:
        """Return a model of all samples with the prices of the last trial, trained as those of the folds were."""
        path = trials if self.models[0] is not None else trials[-1:]
        self.n_fits += len(path)
        model = None
        for trial in path:
            model = self.learner.fitted(self.fitting.X, self.y, self.weights(trial.prices), model)
        return model

    def described(self, trial: Trial) -> Round:
        """Return what users are told of a trial."""
        threshold = trial.chosen.threshold + self._shift(trial.prices)
        return Round(trial.prices, trial.chosen.expected, shown(threshold, self.fitting.probabilities))

    def of_model(self, trial: Trial, model: Any) -> Chosen:
        """Return what was chosen in a trial as it applies to the scores of a model of all samples, prices included."""
        shift, chosen = self._shift(trial.prices), trial.chosen
        if self.held_out:
            by_whole = binary_scores(model, take_samples(self.fitting.X, trial.scores.probe), self.positive) - shift
            seen = trial.scores._replace(seen=trial.scores.seen - shift)
            chosen = chosen.for_whole(self.fitting.probe(seen, self.y == self.positive, by_whole))
        if shift == 0.0:
            return chosen
        low, high = (end + shift for end in chosen.interval)
        return chosen._replace(threshold=chosen.threshold + shift, interval=(low, high), sigmoid=Sigmoid(1.0, -shift))


def best_trial(measure: CountsTable, trials: list[Trial]) -> int:
    """Return which trial to keep: the best, if it is likely to gain over the first."""
    best = int(np.argmax([trial.chosen.expected for trial in trials]))
    return best if best > 0 and least_gain(measure, trials[0], trials[best]) > 0.0 else 0


class Judged(Protocol):
    """Held-out samples with the threshold that was chosen on them."""

    @property
    def held(self) -> HeldOut:
        """The samples."""

    @property
    def chosen(self) -> Chosen:
        """The threshold."""


def least_gain(measure: CountsTable, first: Judged, other: Judged, confidence: float = CONFIDENCE) -> float:
    """Return the lower end of an interval for what one gains over another on new samples.

    Both have labelled the same samples, so the interval is that of a function of eight cells: truth and both labels.
    """
    truth, weights = first.held.positive, first.held.weights
    labels = [trial.held.scores > trial.chosen.threshold for trial in (first, other)]
    cell = 4 * truth.astype(np.int64) + 2 * labels[0] + labels[1]
    cells = np.bincount(cell, weights, 8)

    def gain(*drawn: Floats) -> Any:
        counts = np.array(drawn)
        before, after = counts.reshape(2, 2, 2, -1).sum(axis=2), counts.reshape(2, 2, 2, -1).sum(axis=1)
        return _value(measure, after) - _value(measure, before)

    return score_interval(gain, tuple(float(weight) for weight in cells), confidence)[0]


def _value(measure: CountsTable, counts: Floats) -> Any:
    """Return the measure of counts (truth, label, draws)."""
    return measure.value(tp=counts[1, 1], fp=counts[0, 1], fn=counts[1, 0], tn=counts[0, 0])
