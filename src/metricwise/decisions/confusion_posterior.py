"""Intervals for a multiclass measure on new samples, from the confusion matrices of folds.

The cells of the matrix are drawn given the samples (a Dirichlet distribution). With many classes most cells are empty,
and a whole pseudo-sample in each would outweigh the mistakes that are made. The prior therefore has little mass:

- one sample per class, wrong at the mean error rate of all classes, so that no class is taken as perfect because its
  few samples happen to be right, and the mean over the classes hardly moves;
- a wrong sample in all classes together, half of one if mistakes are known, for what no sample shows.

Wrong pseudo-samples are spread over the other classes by their shares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.decisions.intervals import interval_around
from metricwise.decisions.model_spread import draw_other_models
from metricwise.measures.confusion import of_matrices
from metricwise.measures.multiclass_capabilities import CountsClassTables, CountsConfusion, needs_whole_matrix

PRIOR_SAMPLES = 1.0  # per class, at the mean rates of all classes
_CELLS_TO_DRAW = 1_000_000
_FEWEST_DRAWS, _MOST_DRAWS = 500, 2000
_TINY = 1e-300


def unseen_mistakes(mistakes: Floats, totals: Floats) -> Floats:
    """Return the prior mass of mistakes of each class: see the description of this module.

    Parameters
    ----------
    mistakes, totals : arrays of shape (n_classes,)
        Mistakes in the samples of each class, and all samples of each.

    Examples
    --------
    >>> import numpy as np
    >>> unseen_mistakes(np.array([0.0, 0.0]), np.array([49.0, 49.0]))
    array([0.51, 0.51])
    """
    in_all = 0.5 if mistakes.any() else 1.0
    return PRIOR_SAMPLES * mean_rate(mistakes, totals) + in_all * totals / max(float(totals.sum()), 1.0)


def mean_rate(counts: Floats, totals: Floats) -> float:
    """Return the mean over the classes of their rates, each with half a sample more in both cells."""
    return float(np.mean((counts + 0.5) / (totals + 1.0)))


def count_draws(size: int) -> int:
    """Return how often arrays of a size are drawn."""
    return int(np.clip(_CELLS_TO_DRAW // size, _FEWEST_DRAWS, _MOST_DRAWS))


@stored_fields(version=1)
class ConfusionPosterior(NamedTuple):
    """A multiclass measure, and the confusion matrices of out-of-fold samples.

    Attributes
    ----------
    measure : CountsClassTables or CountsConfusion
        The measure.
    matrices : array of shape (n_folds, n_classes, n_classes)
        Samples by true and predicted class: one matrix of the selected model, or one for each of several models like
        it.

    See Also
    --------
    metricwise.decisions.intervals.TablePosterior : The same for two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import Averaged, FBeta
    >>> matrix = np.array([[90.0, 10.0, 0.0], [5.0, 95.0, 0.0], [0.0, 0.0, 50.0]])
    >>> posterior = ConfusionPosterior(Averaged(FBeta()), matrix[None])
    >>> few, many = posterior.interval(n_samples=100), posterior.interval()
    >>> few[0] < many[0] < posterior.value < many[1] < few[1]
    True
    """

    measure: CountsClassTables | CountsConfusion
    matrices: Floats

    @property
    def n_samples(self) -> float:
        """The weight of all samples."""
        return float(self.matrices.sum())

    @property
    def value(self) -> float:
        """The measure of all samples."""
        return float(of_matrices(self.measure, self.matrices.sum(axis=0)))

    def interval(self, confidence: float = 0.9, n_samples: int | None = None) -> tuple[float, float]:
        """Return an interval for the measure of new samples; it contains the measure of the given ones.

        It accounts for the randomness of the given and of the new samples and, with matrices of several models, for
        the spread between such models.

        Parameters
        ----------
        confidence : float
            Probability that the interval holds the value.
        n_samples : int, optional
            Number of new samples; by default infinitely many.
        """
        random = np.random.default_rng(0)
        shares = self._draw_shares(random)
        if n_samples is not None:
            drawn = random.multinomial(n_samples, shares.reshape(len(shares), -1))
            shares = drawn.reshape(shares.shape).astype(np.float64)
        return interval_around(self.value, self._evaluate(shares), confidence)

    def thin(self, factor: float) -> ConfusionPosterior:
        """Return the posterior of ``factor`` times fewer samples like these."""
        return self._replace(matrices=self.matrices / factor)

    def _draw_shares(self, random: np.random.Generator) -> Floats:
        """Draw the shares of the cells, with the recall of each class that another model would have."""
        counts = self.matrices.sum(axis=0)
        cells = random.standard_gamma(counts + _prior(counts), (count_draws(counts.size), *counts.shape))
        shares = cells / cells.sum(axis=(1, 2), keepdims=True)
        if len(self.matrices) == 1:
            return np.asarray(shares)
        classes = np.arange(len(counts))
        right = shares[:, classes, classes]
        shares[:, classes, classes] = 0.0
        wrong = shares.sum(axis=2)  # not as a difference, which would round the smallest to nothing
        true = np.maximum(right + wrong, _TINY)
        of_folds = self.matrices.sum(axis=2) - self.matrices[:, classes, classes]
        moved = true * draw_other_models(wrong / true, of_folds, self.matrices.sum(axis=2), random)
        shares *= (moved / np.maximum(wrong, _TINY))[:, :, None]
        shares[:, classes, classes] = true - moved
        return np.asarray(shares / shares.sum(axis=(1, 2), keepdims=True))

    def _evaluate(self, matrices: Floats) -> Floats:
        """Return the measure of each matrix; as in scikit-learn, of the classes that it contains."""
        if needs_whole_matrix(self.measure):  # the order and number of all classes matter
            return np.asarray(of_matrices(self.measure, matrices), dtype=np.float64)
        present = matrices.sum(axis=-1) + matrices.sum(axis=-2) > 0.0
        values = np.empty(len(matrices))
        kinds, kind = np.unique(present, axis=0, return_inverse=True)
        for number, classes in enumerate(kinds):
            own = kind.ravel() == number
            values[own] = of_matrices(self.measure, matrices[own][:, classes][:, :, classes])
        return values


def _prior(counts: Floats) -> Floats:
    """Return the prior mass of the cells."""
    totals, right = counts.sum(axis=1), np.diagonal(counts)
    wrong = unseen_mistakes(totals - right, totals)
    others = np.tile(totals + 1.0, (len(totals), 1))
    np.fill_diagonal(others, 0.0)
    prior: Floats = wrong[:, None] * others / others.sum(axis=1, keepdims=True)
    np.fill_diagonal(prior, PRIOR_SAMPLES * (1.0 - mean_rate(totals - right, totals)))
    return prior
