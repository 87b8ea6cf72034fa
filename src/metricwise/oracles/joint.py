"""The most violated multiclass labelling, whose samples have one score per class.

With the weights w_i and true classes y_i of n samples, a loss D of labellings y' and u its mistakes per loss, it is

    R = max over y' of  D(y') + (1/u) sum_i w_i (s_{i, y'_i} - s_{i, y_i}).

There are K^n labellings. If D is linear in the confusion matrix, it is a sum over the samples, too, and each sample has
its own best label: n K steps. If D is the largest of several linear losses, such as one minus the least recall, the
two maxima change places, and the same is done for each of them. Linear losses often share what they say of a class:
those of the least recall say "nothing" of all classes but one, so that two passes serve all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricwise._typing import Floats, Integers
from metricwise.oracles.base import MarginOracle


@dataclass(frozen=True)
class JointLabelling:
    """A labelling of all samples, or an average of equally violated ones.

    ``table`` holds the number of the linear loss that is the largest, and nothing else.
    """

    value: float
    loss: float
    table: tuple[float, float]
    coefficients_: Floats

    def coefficients(self) -> Floats:
        """Return one coefficient for every score."""
        return self.coefficients_

    def slope(self, direction: Floats) -> float:
        """Return the product of the coefficients with a change of the scores."""
        return float(self.coefficients_ @ direction)


class JointOracle(MarginOracle):
    """Finds the most violated labelling, one choice per sample for each of the linear losses.

    Parameters
    ----------
    losses : array of shape (n_losses, n_classes, n_classes)
        The loss of a sample of weight one by true and predicted class; not negative, and zero on the diagonals.
    codes : array of int of shape (n_samples,)
        True classes.
    weights : array of shape (n_samples,)
        Weights of the samples, above zero.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import MinRate
    >>> codes = np.array([0, 1, 2, 2])
    >>> losses = MinRate().mistake_losses(np.bincount(codes).astype(float), [0, 1, 2])
    >>> oracle = JointOracle(losses, codes, np.ones(4))
    >>> oracle.mistakes, oracle.violate(np.zeros(12)).value
    (1.0, 1.0)
    """

    def __init__(self, losses: Floats, codes: Integers, weights: Floats) -> None:
        self.losses, self.codes, self.weights = losses, codes, weights
        self.mistakes = 1.0 / float(losses.max())
        self._rows, self._row_of_loss = _find_distinct_rows(losses)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.losses.shape[1])

    def violate(self, scores: Floats) -> JointLabelling:
        """Return the most violated labelling at the scores of all samples, class by class, one sample after another."""
        samples, classes = np.arange(self.codes.size), np.arange(self.n_classes)
        gains = scores.reshape(self.codes.size, self.n_classes)
        gains = (gains - gains[samples, self.codes][:, None]) / self.mistakes
        sums = [
            np.bincount(self.codes, self.weights * (rows[self.codes] + gains).max(axis=1), self.n_classes)
            for rows in self._rows
        ]
        values = np.array(sums)[self._row_of_loss, classes].sum(axis=1)
        number = int(np.argmax(values))
        shares, loss = self._choose_labels(self.losses[number][self.codes], gains)
        shares[samples, self.codes] -= shares.sum(axis=1)
        coefficients = (self.weights / self.mistakes)[:, None] * shares
        value = loss + float(np.sum(self.weights[:, None] * shares * gains))
        return JointLabelling(value, loss, (float(number), np.nan), coefficients.ravel())

    def _choose_labels(self, losses: Floats, gains: Floats) -> tuple[Floats, float]:
        """Return the shares of wrong labels in the labelling of every sample, and their loss.

        Wrong labels that are tied get equal shares. A tie with the right label counts as wrong, unless the loss does
        not depend on it.
        """
        totals = losses + gains
        wrong = np.arange(self.n_classes) != self.codes[:, None]
        best = np.max(totals, axis=1, where=wrong, initial=-np.inf)
        reach = self._on_margin * max(1.0 / self.mistakes, float(np.abs(gains).max()))
        counts = np.max(losses, axis=1, where=wrong, initial=0.0) > 0.0
        is_wrong = np.where(counts, best >= -reach, best > reach)
        chosen = wrong & (totals >= best[:, None] - reach) & is_wrong[:, None]
        shares = chosen / np.maximum(chosen.sum(axis=1), 1)[:, None]
        return shares, float(self.weights @ np.sum(shares * losses, axis=1))


def _find_distinct_rows(losses: Floats) -> tuple[list[Floats], Integers]:
    """Return matrices that contain every distinct row of a true class once, and which of them each loss takes it from.

    Examples
    --------
    >>> import numpy as np
    >>> rows, row_of_loss = _find_distinct_rows(np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]]]))
    >>> len(rows), row_of_loss.tolist()
    (2, [[1, 0], [0, 1]])
    """
    n_losses, n_classes, _ = losses.shape
    row_of_loss = np.zeros((n_losses, n_classes), dtype=np.int64)
    distinct = []
    for true in range(n_classes):
        found, row_of_loss[:, true] = np.unique(losses[:, true], axis=0, return_inverse=True)
        distinct.append(found)
    n_rows = max(len(found) for found in distinct)
    rows = [np.array([found[min(k, len(found) - 1)] for found in distinct]) for k in range(n_rows)]
    return rows, row_of_loss
