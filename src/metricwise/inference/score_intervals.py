"""What to expect of a measure on new rows, from a contingency table of rows that the model has not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from metricwise.measures.base import CountsTable

Floats = NDArray[np.float64]

_DRAWS = 4000
_RESAMPLES = 200
_TINY = 1e-12
_PRIOR_ROWS = 2.0  # shared among the cells: one half for each of four (Jeffreys)


def middle_part(values: Floats, confidence: float) -> tuple[float, float]:
    """Return the ends between which a share of the values lies; those that are none do not count.

    Examples
    --------
    >>> import numpy as np
    >>> middle_part(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    low, high = np.nanquantile(values, [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    return float(low), float(high)


def score_interval(
    value: Callable[..., Any],
    table: tuple[float, ...],
    confidence: float = 0.9,
    n_rows: int | None = None,
    seed: int = 0,
) -> tuple[float, float]:
    """Return an interval that holds the measure on new rows with the given probability.

    The shares of the cells are drawn given the table (a Dirichlet distribution); for a finite
    number of new rows, their table is drawn given the shares.

    Parameters
    ----------
    value : callable
        The measure of arrays of cells: tp, fp, fn, tn.
    table : tuple of float
        Weights of the cells, of rows that the model has not seen.
    confidence : float
        Probability that the interval holds the value.
    n_rows : int, optional
        Number of new rows; by default so many that chance has no part in their measure.
    seed : int
        Of the draws.

    Examples
    --------
    >>> from metricwise.measures import FBeta
    >>> low, high = score_interval(FBeta().value, (80.0, 20.0, 20.0, 880.0))
    >>> round(low, 2), round(high, 2)
    (0.74, 0.85)
    """
    random = np.random.default_rng(seed)
    cells = np.array(table, dtype=np.float64)
    shares = random.dirichlet(cells + _PRIOR_ROWS / cells.size * (cells > 0) + 1e-9, _DRAWS)
    drawn = shares if n_rows is None else random.multinomial(n_rows, shares).astype(np.float64)
    values = np.asarray(value(*drawn.T), dtype=np.float64)
    return middle_part(values, confidence)


def resampled_interval(
    score: Callable[[Floats], float], weights: Floats, confidence: float = 0.9, seed: int = 0
) -> tuple[float, float]:
    """Return an interval for a score that is no function of one table, from resamples of the rows.

    Parameters
    ----------
    score : callable
        The score of held-out rows, given their weights.
    weights : array
        Weights of the rows.
    confidence : float
        Share of the resamples (a Bayesian bootstrap) whose score the interval holds.
    seed : int
        Of the resamples.

    Notes
    -----
    Weights are drawn twice over, once for the rows at hand and once for as many new ones.

    Examples
    --------
    >>> import numpy as np
    >>> right = np.arange(200) % 4 > 0
    >>> low, high = resampled_interval(lambda w: float(np.average(right, weights=w)), np.ones(200))
    >>> low < 0.75 < high
    True
    """
    return middle_part(_resampled_values(score, weights, seed), confidence)


class TableEvidence(NamedTuple):
    """A measure of the contingency table, and the table of held-out rows."""

    measure: CountsTable
    table: tuple[float, ...]

    def interval(self, confidence: float = 0.9, n_rows: int | None = None) -> tuple[float, float]:
        """Return an interval for the measure of new rows; see `score_interval`."""
        return score_interval(self.measure.value, self.table, confidence, n_rows)


class Spread(NamedTuple):
    """A measure of scores, between zero and one, with what is known of its chance.

    Attributes
    ----------
    value : float
        The measure of held-out rows.
    deviation : float
        Its standard deviation for so many rows.
    rare : float
        Rows of the rarer class, on which it depends most.
    n_rows : float
        All rows.
    """

    value: float
    deviation: float
    rare: float
    n_rows: float

    def interval(self, confidence: float = 0.9, n_rows: float | None = None) -> tuple[float, float]:
        """Return an interval for the measure of new rows: symmetric on the scale of log-odds, with Student's quantiles.

        Parameters
        ----------
        confidence : float
            Probability that the interval holds the value.
        n_rows : float, optional
            Number of new rows; by default so many that chance has no part in their measure.

        Examples
        --------
        >>> spread = Spread(0.95, 0.02, 40.0, 1000.0)
        >>> few, many = spread.interval(n_rows=100), spread.interval()
        >>> few[0] < many[0] < 0.95 < many[1] < few[1] < 1.0
        True
        """
        share = (
            1.0 if n_rows is None else 1.0 + self.n_rows / n_rows
        )  # variance of both, in units of the held-out rows'
        if self.deviation <= 0.0 or not 0.0 < self.value < 1.0:
            # Nothing was ever wrong, or right: the limit of so many equal outcomes.
            room = 1.0 - float((1.0 - confidence) ** (share / max(self.rare, 1.0)))
            return max(self.value - room, 0.0), min(self.value + room, 1.0)
        error = self.deviation * np.sqrt(share) / (self.value * (1.0 - self.value))
        reach = float(stdtrit(max(self.rare - 1.0, 1.0), (1.0 + confidence) / 2.0)) * error
        centre = float(logit(self.value))
        return float(expit(centre - reach)), float(expit(centre + reach))


def spread_of(
    score: Callable[[Floats], float], weights: Floats, rare: float, confidence: float = 0.9, seed: int = 0
) -> tuple[Spread, tuple[float, float]]:
    """Return the spread of a measure of scores, and an interval for as many new rows as there are.

    Resamples of few rows know nothing of rows worse than those at hand, and the quantiles of Student's distribution
    nothing of values that cannot exceed one: the interval holds what either of them does.

    Parameters
    ----------
    score : callable
        The measure of held-out rows, given their weights.
    weights : array
        Weights of the rows.
    rare : float
        Weight of the rarer class.
    confidence, seed
        As in `resampled_interval`.
    """
    values = _resampled_values(score, weights, seed)
    # Resamples vary as the rows at hand and as new ones do.
    deviation = float(np.nanstd(values)) / np.sqrt(2.0)
    total = float(weights.sum())
    spread = Spread(float(score(weights)), deviation, rare, total)
    low, high = middle_part(values, confidence)
    least, most = spread.interval(confidence, total)
    return spread, (min(low, least), max(high, most))


def _resampled_values(score: Callable[[Floats], float], weights: Floats, seed: int) -> Floats:
    """Return scores with weights that are drawn twice over, for the rows at hand and for as many new ones."""
    random = np.random.default_rng(seed)
    present = weights > 0.0
    values = []
    for _ in range(_RESAMPLES):
        drawn = np.zeros(weights.size)
        drawn[present] = random.gamma(random.gamma(weights[present]))
        # Weights that small would only make quotients overflow.
        values.append(score(np.where(drawn > _TINY, drawn, 0.0)))
    return np.array(values)
