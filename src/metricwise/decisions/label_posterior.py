"""Intervals for a multilabel measure on new samples, from the labels of samples that the model has not seen.

Mistakes in the labels of one sample go together, so samples are drawn, not labels. The rates of each label, its recall
and its share of false alarms, then get a prior for what no sample shows, and move as they would between models; labels
of the drawn samples are changed at random until they have the moved rates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricwise._state import stored_fields
from metricwise._typing import Floats, Mask
from metricwise.decisions.confusion_posterior import PRIOR_SAMPLES, count_draws, mean_rate, unseen_mistakes
from metricwise.decisions.intervals import interval_around
from metricwise.decisions.model_spread import draw_other_models
from metricwise.measures import Averaged
from metricwise.measures.averages import matrix_table

_MOST_SETS = 4000  # of labels that are stored; if there are more, some are drawn
_TP, _FP, _FN, _TN = range(4)
_CODES = (3, 1, 2, 0)  # of these cells: two if a sample has the label, and one if it is predicted
_TINY = 1e-300


@stored_fields(version=1)
class LabelPosterior(NamedTuple):
    """A multilabel measure, and the true and predicted labels of out-of-fold samples.

    Attributes
    ----------
    measure : Averaged
        The measure.
    cells : array of uint8 of shape (n_sets, n_labels)
        Distinct rows of the samples: 3 for a label that is a true positive, 1 for a false positive, 2 for a false
        negative, 0 for a true negative.
    weights : array of shape (n_sets,)
        Weights of the samples that have them.
    tables : array of shape (n_folds, 4, n_labels)
        tp, fp, fn, tn of all samples: one table of the selected model, or one for each of several models like it.

    See Also
    --------
    metricwise.decisions.intervals.TablePosterior : The same for two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import FBeta
    >>> random = np.random.default_rng(0)
    >>> truth = random.random((300, 5)) < 0.3
    >>> posterior = summarize_labels(Averaged(FBeta()), truth, truth ^ (random.random((300, 5)) < 0.1), np.ones(300))
    >>> few, many = posterior.interval(n_samples=100), posterior.interval()
    >>> few[0] < many[0] < posterior.value < many[1] < few[1]
    True
    """

    measure: Averaged
    cells: NDArray[np.uint8]
    weights: Floats
    tables: Floats

    @property
    def n_samples(self) -> float:
        """The weight of all samples."""
        return float(self.weights.sum())

    @property
    def value(self) -> float:
        """The measure of all samples."""
        return float(self.measure.of_tables(*self.tables.sum(axis=0)))

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
        random = np.random.default_rng(0)
        weights = random.standard_gamma(self.weights, (count_draws(self.weights.size), self.weights.size))
        given = new = self._count(weights)
        if n_samples is not None:
            ratio = n_samples / float(self.weights.sum())
            new = np.rint(self._count(random.poisson(ratio * weights).astype(np.float64)))
        missed, alarms = (
            _change_mistakes(
                (new[wrong], new[right]),
                _share(given[wrong], given[right]),
                self._draw_mistake_rates(given, wrong, right, random),
                None if n_samples is None else random,
            )
            for wrong, right in ((_FN, _TP), (_FP, _TN))
        )
        true, not_true = new[_TP] + new[_FN], new[_FP] + new[_TN]
        values = np.asarray(self.measure.of_tables(true - missed, alarms, missed, not_true - alarms), dtype=np.float64)
        return interval_around(self.value, values[np.any(true + not_true > 0.0, axis=1)], confidence)

    def thin(self, factor: float) -> LabelPosterior:
        """Return the posterior of ``factor`` times fewer samples like these."""
        return self._replace(weights=self.weights / factor, tables=self.tables / factor)

    def _count(self, weights: Floats) -> Floats:
        """Return tables (cell, draw, label) of samples with drawn weights; on average, those of all samples."""
        cells = np.stack([weights @ (self.cells == code).astype(np.float64) for code in _CODES])
        stored = np.stack([self.weights @ (self.cells == code) for code in _CODES])
        scale = np.divide(self.tables.sum(axis=0), stored, out=np.ones_like(stored), where=stored > 0.0)
        return np.asarray(cells * scale[:, None, :])

    def _draw_mistake_rates(self, given: Floats, wrong: int, right: int, random: np.random.Generator) -> Floats:
        """Draw the share of mistakes among the samples that have each label, or lack it, of another such model."""
        of_folds, total_of_folds = self.tables[:, wrong], self.tables[:, wrong] + self.tables[:, right]
        mistakes, totals = of_folds.sum(axis=0), total_of_folds.sum(axis=0)
        size = given[wrong].shape
        mistakes_drawn = given[wrong] + random.standard_gamma(unseen_mistakes(mistakes, totals), size)
        right_drawn = given[right] + random.standard_gamma(PRIOR_SAMPLES * (1.0 - mean_rate(mistakes, totals)), size)
        rates = _share(mistakes_drawn, right_drawn)
        return rates if len(self.tables) == 1 else draw_other_models(rates, of_folds, total_of_folds, random)


def summarize_labels(
    measure: Averaged, truth: Mask, predicted: Mask, weights: Floats, sizes: list[int] | None = None
) -> LabelPosterior:
    """Return the posterior of samples with true and predicted labels.

    Parameters
    ----------
    measure : Averaged
        The measure.
    truth, predicted : arrays of bool of shape (n_samples, n_labels)
        The labels.
    weights : array of shape (n_samples,)
        Weights of the samples.
    sizes : list of int, optional
        Numbers of samples of the folds, in the order of the samples; by default all samples are of one model.
    """
    ends = np.cumsum([len(truth)] if sizes is None else sizes)[:-1]
    folds = zip(*(np.split(part, ends) for part in (truth, predicted, weights)), strict=True)
    found = [matrix_table(*fold) for fold in folds]
    tables = np.array([[table.tp, table.fp, table.fn, table.tn] for table in found], dtype=np.float64)
    cells = (2 * truth + predicted).astype(np.uint8)
    distinct, which = np.unique(cells, axis=0, return_inverse=True)
    totals = np.bincount(which.ravel(), weights).astype(np.float64)
    if len(distinct) > _MOST_SETS:
        drawn = np.random.default_rng(0).choice(len(distinct), _MOST_SETS, replace=False, p=totals / totals.sum())
        distinct, totals = distinct[drawn], totals[drawn] * (totals.sum() / totals[drawn].sum())
    return LabelPosterior(measure, distinct, totals, tables)


def _share(some: Floats, others: Floats) -> Floats:
    """Return some / (some + others); zero where there are none."""
    return np.asarray(some / np.maximum(some + others, _TINY))


def _change_mistakes(
    counts: tuple[Floats, Floats], before: Floats, after: Floats, random: np.random.Generator | None
) -> Floats:
    """Return the mistakes among samples when the rate of mistakes changes.

    Parameters
    ----------
    counts : pair of arrays
        Wrong and right samples.
    before, after : arrays
        Rates of mistakes.
    random : Generator or None
        Draws the samples that change, counts being whole numbers; None to take the expected number of them.
    """
    wrong, right = counts
    fewer = np.clip(after / np.maximum(before, _TINY), 0.0, 1.0)
    more = np.clip((after - before) / np.maximum(1.0 - before, _TINY), 0.0, 1.0)
    if random is None:
        return np.asarray(wrong * fewer + right * more)
    return np.asarray(random.binomial(wrong.astype(np.int64), fewer) + random.binomial(right.astype(np.int64), more))
