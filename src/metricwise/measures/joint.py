"""Which multiclass measures have a most violated labelling of all samples together."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from numpy.typing import ArrayLike

from metricwise._typing import Floats
from metricwise.measures.averages import Averaged
from metricwise.measures.contingency import Accuracy, FBeta


@runtime_checkable
class LargestOfLinearLosses(Protocol):
    """A multiclass measure whose loss is the largest of several functions that are linear in the confusion matrix.

    Its most violated labelling of all samples then falls apart into one choice per sample, for each of the functions.
    """

    def mistake_losses(self, class_weights: Floats, classes: ArrayLike) -> Floats:
        """Return the loss of a sample of weight one, an array of shape (functions, true class, predicted class).

        It is zero where the label is right. The weights of the true classes are above zero; ``classes`` are the labels.
        """
        ...


def find_joint_losses(measure: object) -> LargestOfLinearLosses | None:
    """Return a multiclass measure whose loss is the largest of linear ones, and that equals a given measure.

    Where every sample has one class, false positives are as many as false negatives, so that the micro average of an
    F-measure is the accuracy. None if there is no such measure.

    Examples
    --------
    >>> from metricwise.measures import GMean, MinRate, get_measure
    >>> find_joint_losses(MinRate()), find_joint_losses(get_measure("f1_micro")), find_joint_losses(GMean())
    (MinRate(), Accuracy(), None)
    """
    if isinstance(measure, Averaged) and measure.average == "micro" and isinstance(measure.base, FBeta):
        return Accuracy()
    return measure if isinstance(measure, LargestOfLinearLosses) else None
