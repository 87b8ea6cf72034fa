"""The design of the multiclass problem: one vector of weights, and one score of every sample, for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise._typing import Floats
from metricwise.designs.matrix import LinearWeights
from metricwise.rounding import STEPS, RoundingErrors, gamma


class JointDesign(LinearWeights):
    """Samples whose scores are X W', one column per class, written sample by sample; W is written class by class.

    Parameters
    ----------
    samples : Design
        The samples, whose weights are plain vectors.
    n_classes : int
        Number of classes.

    Examples
    --------
    >>> from metricwise.designs import make_design
    >>> design = JointDesign(make_design(np.eye(2)), 3)
    >>> design.scores(np.arange(6.0)).reshape(2, 3)
    array([[0., 2., 4.],
           [1., 3., 5.]])
    """

    def __init__(self, samples: Any, n_classes: int) -> None:
        self.samples: Any = samples
        self.n_classes = n_classes

    @property
    def shape(self) -> tuple[int, int]:
        n_samples, n_columns = self.samples.shape
        return n_samples * self.n_classes, n_columns * self.n_classes

    @property
    def threads(self) -> int:
        return int(self.samples.threads)

    @property
    def is_sparse(self) -> bool:
        return bool(self.samples.is_sparse)

    @property
    def most_gathered(self) -> int:
        return int(self.samples.most_gathered) * self.n_classes

    def gather(self, samples: Any) -> JointDesign:
        """Return the design of some samples, with copies of them next to each other in memory."""
        return JointDesign(self.samples.gather(samples), self.n_classes)

    def scores(self, w: Floats) -> Floats:
        return np.column_stack([self.samples.scores(own) for own in self._blocks(w)]).ravel()

    def combine(self, c: Floats) -> Floats:
        by_class = c.reshape(-1, self.n_classes).T
        return np.concatenate([self.samples.combine(np.ascontiguousarray(own)) for own in by_class])

    def recompute_values(self, w: Floats) -> Floats:
        """Return ``w``: plain weights hold no values of samples."""
        return w

    def estimate_error(self, w: Floats) -> float:
        """Return 0: nothing cancels out in a sum of squares."""
        return 0.0

    def rounding_errors(self, w: Floats, g: Floats, mass: Floats, n_terms: int) -> RoundingErrors:
        """Return the errors of the scores and the square of ``w``, and of the square of the combination ``g``."""
        masses = mass.reshape(-1, self.n_classes).T
        of_classes = [
            self.samples.rounding_errors(own, combined, np.ascontiguousarray(sizes), n_terms)
            for own, combined, sizes in zip(self._blocks(w), self._blocks(g), masses, strict=True)
        ]
        scores = np.column_stack([errors.scores for errors in of_classes]).ravel()
        combination = sum(errors.combination for errors in of_classes) + gamma(g.size + STEPS) * float(g @ g)
        return RoundingErrors(scores, gamma(w.size + STEPS) * float(w @ w), combination)

    def _blocks(self, w: Floats) -> Floats:
        return w.reshape(self.n_classes, -1)
