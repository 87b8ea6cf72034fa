"""Importance of the features of a model as it predicts: what the measure loses when one of them is taken away.

Every model is treated alike: columns are shuffled as the user gave them, before any preprocessing, and the whole model
predicts. What is estimated is the loss of this model on new samples of the same kind, the mean over shuffles. Texts,
and tables of very many columns, would take too long; for them a linear model has the contributions of its features
(`metricwise.reporting.contributions`). Any other model shuffles the columns, or does without the words, that vary most
with its scores.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metricwise._sklearn import count_samples, take_samples
from metricwise._typing import Floats
from metricwise.decisions.intervals import interval_around
from metricwise.measures import Measure
from metricwise.reporting.columns import column_names, correlated_pair, has_columns, rank_columns, shuffle_column
from metricwise.reporting.contributions import find_contributions
from metricwise.reporting.predictions import Predictions, collect_predictions, relabel
from metricwise.reporting.resampling import SampleGroups
from metricwise.reporting.shuffling import PairResamples
from metricwise.reporting.words import are_texts, find_words, remove_word

Kind = Literal["permutation", "removal", "contribution"]

_REPEATS, _FEWEST_REPEATS = 5, 2
_MOST_COLUMNS = 200  # that are shuffled
_FEWEST_SAMPLES, _MOST_SAMPLES = 2000, 10_000
_MOST_PREDICTIONS = 500_000  # of single samples: fewer samples are drawn where there are many columns
_RESAMPLES, _RANKING_RESAMPLES = 300, 80


@dataclass(frozen=True)
class Importance:
    """Features with their importance, the greatest (by absolute value) first.

    Attributes
    ----------
    names : list of str
        Names of the columns, words of texts, or names of the features that a linear model sees.
    values : array
        Losses of the measure by shuffling a column or removing a word, or contributions to the score of a linear model.
    intervals : array of shape (n, 2) or None
        Intervals of the losses on new samples, from resamples of the samples; contributions have none.
    kind : {"permutation", "removal", "contribution"}
        What the values are: losses by shuffling, losses by removing words, or contributions.
    n_features, n_samples : int
        Number of all features, and number of samples used.
    n_repeats : int
        How often each column was shuffled; 1 for words, 0 for contributions.
    n_columns : int
        How many columns there was time to shuffle, or words to remove; 0 for contributions.
    correlated : tuple of str, str and float, or None
        The two numeric columns of the greatest correlation, where it is strong.
    """

    names: list[str]
    values: Floats
    intervals: Floats | None
    kind: Kind
    n_features: int
    n_samples: int
    n_repeats: int = 0
    n_columns: int = 0
    correlated: tuple[str, str, float] | None = None

    def first(self, count: int) -> Iterator[tuple[str, float, tuple[float, float] | None]]:
        """Yield name, value and interval of the most important features."""
        for k in range(count):
            interval = None if self.intervals is None else (float(self.intervals[k, 0]), float(self.intervals[k, 1]))
            yield self.names[k], float(self.values[k]), interval


@dataclass(frozen=True)
class ImportanceSettings:
    """How importance is estimated.

    Attributes
    ----------
    names : list of str or None
        Names of the columns; by default those of a data frame.
    seconds : float
        Time limit for shuffling, approximately.
    confidence : float
        Confidence level of the intervals.
    seed : int
        Seeds the draws of samples, shuffles and resamples.
    """

    names: Any = None
    seconds: float = 5.0
    confidence: float = 0.9
    seed: int = 0


def compute_importance(
    model: Any,
    X: Any,
    y: Any,
    measure: Measure,
    pos_label: Any = None,
    sample_weight: Floats | None = None,
    settings: ImportanceSettings | None = None,
    groups: SampleGroups | None = None,
) -> Importance | None:
    """Return the importance of the features of a model; None if the samples are neither a table nor texts with words.

    Parameters
    ----------
    model : fitted classifier
        The model.
    X, y : samples and their truth
        Some of them are drawn if there are many.
    measure : Measure
        The measure whose loss is computed.
    pos_label : label or None
        The positive class.
    sample_weight : array or None
        Weights of the samples.
    settings : ImportanceSettings, optional
        Names, time limit, confidence level and seed.
    groups : SampleGroups, optional
        Groups of the samples, which resamples draw as a whole.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from metricwise.measures import Accuracy
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = X[:, 2] > 0.0
    >>> found = compute_importance(LogisticRegression().fit(X, y), X, y, Accuracy())
    >>> found.names[0], bool(found.intervals[0, 0] < found.values[0] < found.intervals[0, 1])
    ('feature 2', True)
    """
    settings = settings or ImportanceSettings()
    n_columns = X.shape[1] if has_columns(X) else 0
    names = column_names(X, settings.names) if n_columns else None
    chosen = _draw_samples(count_samples(X), n_columns, settings.seed)
    part, truth = take_samples(X, chosen), take_samples(y, chosen)
    weights = None if sample_weight is None else sample_weight[chosen]
    if not 0 < n_columns <= _MOST_COLUMNS:
        found = find_contributions(model, part, names, pos_label, weights)
        if found is not None:
            return _rank(*found, None, "contribution", len(found[0]), len(chosen))
    if names is None and not are_texts(part):
        return None
    predictions = collect_predictions(model, part, truth, pos_label, sample_weight=weights)
    predictions = replace(predictions, groups=None if groups is None else groups.take(chosen))
    losses = _Losses(model, part, truth, measure, pos_label, predictions, settings)
    return losses.remove_words() if names is None else losses.shuffle_columns(names)


def _draw_samples(n_samples: int, n_columns: int, seed: int) -> Any:
    """Return the positions of the samples to use: more of them where few columns are shuffled."""
    affordable = _MOST_PREDICTIONS // (_REPEATS * max(min(n_columns, _MOST_COLUMNS), 1))
    most = min(max(affordable, _FEWEST_SAMPLES), _MOST_SAMPLES)
    return np.sort(np.random.default_rng(seed).permutation(n_samples)[:most])


@dataclass(frozen=True)
class _Losses:
    """What the measure of a model loses on samples when one column is shuffled, or one word removed."""

    model: Any
    X: Any
    y: Any
    measure: Measure
    pos_label: Any
    predictions: Predictions
    settings: ImportanceSettings

    def shuffle_columns(self, names: list[str]) -> Importance:
        """Shuffle columns while time allows, the most correlated with the scores first and each equally often."""
        random = np.random.default_rng(self.settings.seed)
        resamples = self._draw_resamples(random)
        columns = self._rank_by_scores(self.X)

        def lose(column: int) -> Floats:
            donors = random.permutation(self.X.shape[0])
            return resamples.lose(self._predict(shuffle_column(self.X, column, donors)), donors)

        started = time.perf_counter()
        losses: list[list[Floats]] = []
        for column in columns:
            if losses and time.perf_counter() - started > self.settings.seconds:
                break
            losses.append([lose(int(column)) for _ in range(_FEWEST_REPEATS)])
        columns = columns[: len(losses)]
        while len(losses[0]) < _REPEATS and self._allows_another(time.perf_counter() - started, len(losses[0])):
            for found, column in zip(losses, columns, strict=True):
                found.append(lose(int(column)))
        ranked = self._summarise([names[k] for k in columns], len(names), np.array(losses), "permutation")
        return replace(ranked, correlated=correlated_pair(self.X, columns, [names[k] for k in columns]))

    def remove_words(self) -> Importance | None:
        """Remove words from texts while time allows, the most correlated with the scores first; None without words."""
        words, held = find_words(self.X)
        if not words:
            return None
        resamples = self._draw_resamples(np.random.default_rng(self.settings.seed))
        columns, held = self._rank_by_scores(held), held.tocsc()
        started = time.perf_counter()
        losses: list[list[Floats]] = []
        for column in columns:
            if losses and time.perf_counter() - started > self.settings.seconds:
                break
            texts = held.indices[held.indptr[column] : held.indptr[column + 1]]
            losses.append([resamples.lose(self._predict(remove_word(self.X, words[column], texts), texts))])
        return self._summarise([words[k] for k in columns[: len(losses)]], len(words), np.array(losses), "removal")

    def _rank_by_scores(self, columns: Any) -> NDArray[np.intp]:
        return rank_columns(columns, [one.scores for one in self.predictions.problems])[:_MOST_COLUMNS]

    def _draw_resamples(self, random: np.random.Generator) -> PairResamples:
        size = _RESAMPLES if self.measure.response == "labels" else _RANKING_RESAMPLES
        return PairResamples.draw(self.predictions, self.measure, size, random)

    def _allows_another(self, seconds: float, n_repeats: int) -> bool:
        """Return whether another shuffle of every column fits into the time limit, given the time of those so far."""
        return seconds * (n_repeats + 1) / n_repeats <= self.settings.seconds

    def _summarise(self, names: list[str], n_features: int, losses: NDArray[np.float64], kind: Kind) -> Importance:
        """Return mean losses with intervals, from losses of shape (names, repeats, 1 + resamples)."""
        mean = losses.mean(axis=1)
        intervals = np.array([interval_around(float(row[0]), row[1:], self.settings.confidence) for row in mean])
        ranked = _rank(names, mean[:, 0], intervals, kind, n_features, self.predictions.n_samples)
        return replace(ranked, n_repeats=losses.shape[1], n_columns=len(names))

    def _predict(self, samples: Any, changed: NDArray[np.intp] | None = None) -> Predictions:
        if self.measure.response == "labels":  # scores, which may double the time, are not needed
            return relabel(self.predictions, self.model, samples, changed)
        weights = self.predictions.weights
        return collect_predictions(self.model, samples, self.y, self.pos_label, sample_weight=weights)


def _rank(
    names: list[str], values: Floats, intervals: Floats | None, kind: Kind, n_features: int, n_samples: int
) -> Importance:
    order = np.argsort(-np.abs(values), kind="stable")
    ranked = None if intervals is None else intervals[order]
    return Importance([names[k] for k in order], values[order], ranked, kind, n_features, n_samples)
