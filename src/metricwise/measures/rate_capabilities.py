"""What measures of the contingency table may state of themselves as functions of the two rates."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple, Protocol, runtime_checkable


class Ratio(NamedTuple):
    """(a0 + a1 P + a2 N) / (b0 + b1 P + b2 N) of the rates P = tp/n+ and N = tn/n-.

    Parameters
    ----------
    a0, a1, a2 : float
        Coefficients of the numerator.
    b0, b1, b2 : float
        Coefficients of the denominator, which is positive.

    Examples
    --------
    >>> from metricwise import Jaccard
    >>> Jaccard().ratio(theta=3.0)  # P / (1 + theta - theta N)
    Ratio(a0=0.0, a1=1.0, a2=0.0, b0=4.0, b1=0.0, b2=-3.0)
    """

    a0: float
    a1: float
    a2: float
    b0: float
    b1: float
    b2: float


@runtime_checkable
class RatioOfRates(Protocol):
    """A ratio of affine functions of the rates, at theta = n-/n+ (pseudo-linear).

    Examples
    --------
    >>> from metricwise import FBeta, GMean
    >>> from metricwise.measures import RatioOfRates
    >>> isinstance(FBeta(), RatioOfRates), isinstance(GMean(), RatioOfRates)
    (True, False)
    """

    def ratio(self, theta: float) -> Ratio:
        """Return the coefficients of numerator and denominator.

        Parameters
        ----------
        theta : float
            Weight of the negatives over that of the positives.

        Returns
        -------
        Ratio
            The six coefficients.
        """
        ...


@runtime_checkable
class ConcaveInRates(Protocol):
    """A concave function of the true positive and the true negative rate.

    Examples
    --------
    >>> from metricwise import FBeta, GMean
    >>> from metricwise.measures import ConcaveInRates
    >>> isinstance(GMean(), ConcaveInRates), isinstance(FBeta(), ConcaveInRates)
    (True, False)
    """

    def rate_value(self, tpr: Any, tnr: Any) -> Any:
        """Evaluate the measure at rates.

        Parameters
        ----------
        tpr : float or array
            True positive rates, in [0, 1].
        tnr : float or array
            True negative rates, in [0, 1].

        Returns
        -------
        float or array
            The measure.
        """
        ...


class DualRegion(Enum):
    """The slopes (alpha, beta) that a concave function of the rates can have (Narasimhan et al. 2015, Table 1).

    Examples
    --------
    >>> from metricwise import GMean
    >>> GMean().dual_region.value
    'alpha beta >= 1/4'
    """

    POINT = "alpha = beta = 1/2"
    SIMPLEX = "alpha + beta = 1"
    ROOTS = "sqrt(alpha) + sqrt(beta) >= sqrt(2), within radius 2"
    DISC = "alpha^2 + beta^2 <= 1/2"
    HYPERBOLA = "alpha beta >= 1/4"


@runtime_checkable
class HasDualRegion(Protocol):
    """A concave function of the rates whose slopes fill a region that a solver can project onto.

    Examples
    --------
    >>> from metricwise import FBeta, GMean
    >>> from metricwise.measures import HasDualRegion
    >>> isinstance(GMean(), HasDualRegion), isinstance(FBeta(), HasDualRegion)
    (True, False)
    """

    @property
    def dual_region(self) -> DualRegion:
        """The region that the slopes fill."""
        ...

    def rate_value(self, tpr: Any, tnr: Any) -> Any:
        """Evaluate the measure at rates.

        Parameters
        ----------
        tpr : float or array
            True positive rates, in [0, 1].
        tnr : float or array
            True negative rates, in [0, 1].

        Returns
        -------
        float or array
            The measure.
        """
        ...
