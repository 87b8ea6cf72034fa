"""Intervals for a measure on new samples, from a contingency table of samples that the model has not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers
from metricwise.decisions.model_spread import draw_other_models
from metricwise.measures.base import CountsTable

_DRAWS = 4000
_RESAMPLES = 200
_TINY = 1e-12
_PRIOR = 0.5  # samples in a cell that has some (Jeffreys)
# Samples in a cell that has none. A threshold that was chosen on these samples lies just below the lowest positive if
# it finds them all; the next one is lower with the chance of the rule of succession.
_PRIOR_OF_EMPTY = 1.0


def middle_part(values: Floats, confidence: float) -> tuple[float, float]:
    """Return the quantiles between which the middle share ``confidence`` of the values lies; NaN values are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> middle_part(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    low, high = np.nanquantile(values, [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    return float(low), float(high)


def interval_around(value: float, drawn: Floats, confidence: float) -> tuple[float, float]:
    """Return the middle part of drawn values, extended to the estimate where that lies outside.

    Examples
    --------
    >>> import numpy as np
    >>> interval_around(90.0, np.arange(101.0), 0.5)
    (25.0, 90.0)
    """
    low, high = middle_part(drawn, confidence)
    return min(low, value), max(high, value)


def score_interval(
    value: Callable[..., Any],
    table: tuple[float, ...],
    confidence: float = 0.9,
    n_samples: int | None = None,
    seed: int = 0,
) -> tuple[float, float]:
    """Return an interval that holds the measure on new samples with the given probability.

    The shares of the cells are drawn given the table (a Dirichlet distribution); for a finite
    number of new samples, their table is drawn given the shares. The table is that of one model.

    Parameters
    ----------
    value : callable
        The measure of arrays of cells: tp, fp, fn, tn.
    table : tuple of float
        Weights of the cells, of samples that the model has not seen.
    confidence : float
        Probability that the interval holds the value.
    n_samples : int, optional
        Number of new samples; by default infinitely many.
    seed : int
        Seeds the draws.

    Examples
    --------
    >>> from metricwise.measures import FBeta
    >>> low, high = score_interval(FBeta().value, (80.0, 20.0, 20.0, 880.0))
    >>> round(low, 2), round(high, 2)
    (0.74, 0.85)
    """
    random = np.random.default_rng(seed)
    shares = _draw_shares(np.array(table, dtype=np.float64), random)
    return middle_part(_draw_values(value, shares, n_samples, random), confidence)


def _draw_shares(cells: Floats, random: np.random.Generator) -> Floats:
    shares: Floats = random.dirichlet(cells + np.where(cells > 0.0, _PRIOR, _PRIOR_OF_EMPTY), _DRAWS)
    return shares


def _draw_values(
    value: Callable[..., Any], shares: Floats, n_samples: int | None, random: np.random.Generator
) -> Floats:
    """Return the measure of tables with drawn shares of the cells."""
    drawn = shares if n_samples is None else random.multinomial(n_samples, shares).astype(np.float64)
    return np.asarray(value(*drawn.T), dtype=np.float64)


def resampled_interval(
    score: Callable[[Floats], float],
    weights: Floats,
    confidence: float = 0.9,
    seed: int = 0,
    groups: Integers | None = None,
) -> tuple[float, float]:
    """Return an interval for a score that is no function of one table, from resamples of the samples.

    Parameters
    ----------
    score : callable
        The score of out-of-fold samples, given their weights.
    weights : array
        Weights of the samples.
    confidence : float
        Share of the resamples (a Bayesian bootstrap) whose score the interval holds.
    seed : int
        Seeds the resamples.
    groups : array of int, optional
        The group of each sample; whole groups are then drawn.

    Notes
    -----
    Weights are drawn twice over, once for the given samples and once for as many new ones.

    Examples
    --------
    >>> import numpy as np
    >>> right = np.arange(200) % 4 > 0
    >>> low, high = resampled_interval(lambda w: float(np.average(right, weights=w)), np.ones(200))
    >>> low < 0.75 < high
    True
    """
    random = np.random.default_rng(seed)
    present = weights > 0.0
    values = []
    for _ in range(_RESAMPLES):
        drawn = np.zeros(weights.size)
        if groups is None:
            drawn[present] = random.gamma(random.gamma(weights[present]))
        else:
            drawn = weights * random.gamma(random.exponential(size=int(groups.max()) + 1))[groups]
        # Weights that small would only make quotients overflow.
        values.append(score(np.where(drawn > _TINY, drawn, 0.0)))
    return middle_part(np.array(values), confidence)


@stored_fields(version=1)
class TablePosterior(NamedTuple):
    """A measure of the contingency table, and the tables of out-of-fold samples.

    Attributes
    ----------
    measure : CountsTable
        The measure.
    tables : tuple of tuples of float
        True positives, false positives, false negatives, true negatives: one table of the selected model, or one for
        each of several models like it.

    Examples
    --------
    >>> from metricwise.measures import FBeta
    >>> alone = TablePosterior(FBeta(), ((80.0, 20.0, 20.0, 880.0),))
    >>> folds = TablePosterior(FBeta(), ((25.0, 2.0, 15.0, 448.0), (55.0, 18.0, 5.0, 432.0)))
    >>> round(alone.value, 3), round(folds.value, 3)
    (0.8, 0.8)
    >>> folds.interval()[0] < alone.interval()[0] < alone.interval()[1] < folds.interval()[1]
    True
    """

    measure: CountsTable
    tables: tuple[tuple[float, ...], ...]

    @property
    def n_samples(self) -> float:
        """The weight of all samples."""
        return float(np.sum(self.tables))

    @property
    def value(self) -> float:
        """The measure of all samples."""
        return float(self.measure.value(*np.sum(self.tables, axis=0)))

    def thin(self, factor: float) -> TablePosterior:
        """Return the posterior of ``factor`` times fewer samples like these, all of one model."""
        cells = np.sum(self.tables, axis=0) / factor
        return self._replace(tables=(tuple(cells.tolist()),))

    def interval(self, confidence: float = 0.9, n_samples: int | None = None) -> tuple[float, float]:
        """Return an interval for the measure of new samples; it contains the measure of the given ones.

        It accounts for the randomness of the given and of the new samples and, with tables of several models, for the
        spread between such models.

        Parameters
        ----------
        confidence : float
            Probability that the interval holds the value.
        n_samples : int, optional
            Number of new samples; by default infinitely many.
        """
        tables = np.array(self.tables, dtype=np.float64)
        random = np.random.default_rng(0)
        if len(tables) == 1:
            return self._interval_of(_draw_shares(tables[0], random), confidence, n_samples, random)
        tp, fp, fn, tn = _draw_shares(tables.sum(axis=0), random).T
        positive = tp + fn
        recall = draw_other_models(tp / positive, tables[:, 0], tables[:, 0] + tables[:, 2], random)
        alarms = draw_other_models(fp / (fp + tn), tables[:, 1], tables[:, 1] + tables[:, 3], random)
        found, wrong = positive * recall, (1.0 - positive) * alarms
        cells = found, wrong, positive - found, 1.0 - positive - wrong
        return self._interval_of(np.column_stack(cells), confidence, n_samples, random)

    def _interval_of(
        self, shares: Floats, confidence: float, n_samples: int | None, random: np.random.Generator
    ) -> tuple[float, float]:
        return interval_around(self.value, _draw_values(self.measure.value, shares, n_samples, random), confidence)
