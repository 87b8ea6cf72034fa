"""What measures of more than two classes may state of themselves, by tables of the classes or the confusion matrix."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from metricwise._typing import Floats


@runtime_checkable
class HasMulticlassValue(Protocol):
    """The measure has a multiclass definition that is not an average over one-vs-rest problems.

    Examples
    --------
    >>> from metricwise import Accuracy, FBeta
    >>> from metricwise.measures import HasMulticlassValue
    >>> isinstance(Accuracy(), HasMulticlassValue), isinstance(FBeta(), HasMulticlassValue)
    (True, False)
    """

    def multiclass_score(self, y: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate labels of any number of classes.

        Parameters
        ----------
        y : array of shape (n_samples,)
            True classes.
        labels : array of shape (n_samples,)
            Predicted classes.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; by default all are 1.

        Returns
        -------
        float
            The measure.
        """
        ...


@runtime_checkable
class CountsClassTables(Protocol):
    """The multiclass measure is a function of the one-vs-rest tables, along the last axis.

    Examples
    --------
    >>> from metricwise import Accuracy, Averaged, FBeta
    >>> from metricwise.measures import CountsClassTables
    >>> isinstance(Averaged(FBeta()), CountsClassTables), isinstance(Accuracy(), CountsClassTables)
    (True, True)
    """

    def of_tables(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Any:
        """Evaluate the measure on the tables of all classes.

        Parameters
        ----------
        tp, fp, fn, tn : array of shape (..., n_classes)
            Cells of the tables of one class vs the rest.

        Returns
        -------
        float or array
            The measure, one value for each set of tables.
        """
        ...


class ConfusionRatio(NamedTuple):
    """Matrices A and B: a measure is <A, C> / <B, C> of all confusion matrices C with the same class shares.

    Parameters
    ----------
    numerator, denominator : array of shape (n_classes, n_classes)
        The matrices A and B; one row per true class.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise import Accuracy
    >>> Accuracy().confusion_ratio(np.array([0.2, 0.3, 0.5])).numerator.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    numerator: Floats
    denominator: Floats


@runtime_checkable
class CountsConfusion(Protocol):
    """The multiclass measure is a function of the confusion matrix: last axes true class, predicted class.

    ``of_confusion`` takes matrices of counts, weights or shares, which may be stacked. ``confusion_gradient`` takes one
    matrix of shares, which add up to one, and returns the slopes among matrices with the same class shares: a constant
    added to a row of it has no meaning.

    Examples
    --------
    >>> from metricwise import CohenKappa, FBeta
    >>> from metricwise.measures import CountsConfusion
    >>> isinstance(CohenKappa(), CountsConfusion), isinstance(FBeta(), CountsConfusion)
    (True, False)
    """

    def of_confusion(self, matrices: Floats) -> Any:
        """Evaluate confusion matrices.

        Parameters
        ----------
        matrices : array of shape (..., n_classes, n_classes)
            Confusion matrices of counts, weights or shares; one row per true class.

        Returns
        -------
        float or array
            The measure of each matrix.
        """
        ...

    def confusion_gradient(self, matrix: Floats) -> Floats:
        """Return the slopes of the measure at a confusion matrix.

        Parameters
        ----------
        matrix : array of shape (n_classes, n_classes)
            A confusion matrix of shares, which add up to one.

        Returns
        -------
        array of shape (n_classes, n_classes)
            The slopes, up to a constant for each row.
        """
        ...


def needs_whole_matrix(measure: object) -> bool:
    """Return whether a multiclass measure needs more than the one-vs-rest tables.

    Parameters
    ----------
    measure : Measure
        The measure.

    Returns
    -------
    bool
        True if the kind of confusion between two wrong classes counts, not only the table of each class.

    Examples
    --------
    >>> from metricwise import CohenKappa, FBeta
    >>> needs_whole_matrix(CohenKappa("quadratic")), needs_whole_matrix(CohenKappa()), needs_whole_matrix(FBeta())
    (True, False, False)
    """
    return bool(getattr(measure, "needs_whole_matrix", False))


@runtime_checkable
class RatioOfConfusion(Protocol):
    """A ratio of linear functions of the confusion matrix, given the shares of the true classes.

    Examples
    --------
    >>> from metricwise import CohenKappa, GMean
    >>> from metricwise.measures import RatioOfConfusion
    >>> isinstance(CohenKappa(), RatioOfConfusion), isinstance(GMean(), RatioOfConfusion)
    (True, False)
    """

    def confusion_ratio(self, shares: Floats) -> ConfusionRatio:
        """Return the measure as a ratio of linear functions of the confusion matrix.

        Parameters
        ----------
        shares : array of shape (n_classes,)
            Shares of the true classes.

        Returns
        -------
        ConfusionRatio
            The matrices of numerator and denominator.
        """
        ...


@runtime_checkable
class ConcaveInRecalls(Protocol):
    """A concave function of the recalls of all classes, along the last axis; ``counts`` masks those that count.

    Examples
    --------
    >>> from metricwise import FBeta, GMean
    >>> from metricwise.measures import ConcaveInRecalls
    >>> isinstance(GMean(), ConcaveInRecalls), isinstance(FBeta(), ConcaveInRecalls)
    (True, False)
    """

    def of_recalls(self, recalls: Floats, counts: Any) -> Any:
        """Evaluate the measure at recalls.

        Parameters
        ----------
        recalls : array of shape (..., n_classes)
            Recalls of the classes, in [0, 1].
        counts : array of bool
            Which classes count; those without samples do not.

        Returns
        -------
        float or array
            The measure.
        """
        ...
