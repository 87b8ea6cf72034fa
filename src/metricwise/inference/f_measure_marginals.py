"""Label sets with a large expected F-measure from the probabilities of single labels.

For independent labels the best set of k labels holds the k most probable ones, so that only k has to be found. With
S the number of labels that are on and T how many of the k chosen ones are, F-beta is T / (a S + c k), where
a = beta^2 / (1 + beta^2) and c = 1 / (1 + beta^2). As one over a number is a short sum of exponentials
(`exponential_sums`),

    E[F_k] = sum over nodes v of weight * E[T exp(-v (a S + c k))]
           = sum over nodes v of weight * exp(-v c k) * product over all i of (1 - p_i + p_i z)
                                        * sum over chosen i of p_i z / (1 - p_i + p_i z),    z = exp(-v a),

which gives the values of all k in one pass over the sorted probabilities. Every term is positive: nothing cancels, for
any number of labels, any beta, and probabilities of exactly 0 and 1. Jansche's exact algorithm (2007) takes O(m^4),
that of Ye, Chai, Lee and Chieu (2012) O(m^2) where beta^2 is a ratio of small numbers; this takes O(m log m).
"""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from metricwise._typing import Floats, Integers, LabelMatrix
from metricwise.inference.exponential_sums import ExponentialSum, approximate_reciprocal
from metricwise.inference.f_measure import LabelSets, select_output
from metricwise.inference.probabilities import check_probabilities, split_beta
from metricwise.kernels.fmeasure import independent_counts
from metricwise.measures.checks import check_positive
from metricwise.threads import available_threads, block_bounds, run_blocks

EXACT = 2.0**-52  # the error of the sum of exponentials is then below that of adding it up
_LARGEST_TOLERANCE = 0.1
TIE = 1e-12  # relative difference within which sets count as equally good
_ABOVE_ONE = 1e-5


@overload
def meuf(p: ArrayLike, *, beta: float = ..., return_expected: Literal[False] = ...) -> LabelMatrix: ...
@overload
def meuf(p: ArrayLike, *, beta: float = ..., return_expected: Literal[True]) -> LabelSets: ...
def meuf(p: ArrayLike, *, beta: float = 1.0, return_expected: bool = False) -> LabelMatrix | LabelSets:
    """Return the label set with the largest expected F-measure for independent labels, exact up to rounding (MEUF).

    Parameters
    ----------
    p : array of shape (m,) or (instances, m)
        Probabilities of the labels.
    beta : float, default=1.0
        Weight of recall in F-beta, above zero. An empty prediction for an empty truth counts as 1.
    return_expected : bool, default=False
        Whether to return the expected F-measure of the labels, if they are independent, too.

    Returns
    -------
    labels : int8 array of the shape of p
        The most probable labels, equally probable ones in their order. Of equally good sets the smallest.
    expected : float or array of shape (instances,)
        With ``return_expected`` only; the two come as a named tuple.

    See Also
    --------
    gfm, gfm_from_samples : For labels that depend on each other.
    expected_f_labels : For one long vector, the samples of a binary problem, with a bound of the error.

    Notes
    -----
    Takes O(m log m) for each instance and any beta. The relative error is below 1e-13 + 1e-15 m. If labels are not
    independent, the loss is not bounded.

    Examples
    --------
    >>> import numpy as np
    >>> labels, expected = meuf(np.array([0.4, 0.3, 0.3, 0.2, 0.1]), return_expected=True)
    >>> labels, round(expected, 6)
    (array([1, 1, 1, 0, 0], dtype=int8), 0.414231)
    >>> meuf(np.array([[0.9, 0.4, 0.5], [0.4, 0.2, 0.1]]))
    array([[1, 1, 1],
           [0, 0, 0]], dtype=int8)
    """
    return _independent(p, beta, return_expected, EXACT)


@overload
def meuf_approx(
    p: ArrayLike, *, beta: float = ..., tolerance: float = ..., return_expected: Literal[False] = ...
) -> LabelMatrix: ...
@overload
def meuf_approx(
    p: ArrayLike, *, beta: float = ..., tolerance: float = ..., return_expected: Literal[True]
) -> LabelSets: ...
def meuf_approx(
    p: ArrayLike, *, beta: float = 1.0, tolerance: float = 1e-3, return_expected: bool = False
) -> LabelMatrix | LabelSets:
    """Return a label set with nearly the largest expected F-measure for independent labels, faster than `meuf`.

    Parameters
    ----------
    p : array of shape (m,) or (instances, m)
        Probabilities of the labels.
    beta : float, default=1.0
        Weight of recall in F-beta, above zero. An empty prediction for an empty truth counts as 1.
    tolerance : float, default=1e-3
        Largest relative error of an expected F-measure, at most 0.1. The labels' own then falls short of the largest
        by at most twice as much.
    return_expected : bool, default=False
        Whether to return the expected F-measure of the labels, if they are independent, too.

    Returns
    -------
    labels : int8 array of the shape of p
        The most probable labels, equally probable ones in their order.
    expected : float or array of shape (instances,)
        Within the tolerance. With ``return_expected`` only; the two come as a named tuple.

    Raises
    ------
    ValueError
        If ``tolerance`` is not above 0 and at most 0.1, or p holds values outside [0, 1].

    Notes
    -----
    Takes the same walk as `meuf` with a coarser sum of exponentials: about 10 nodes instead of 80 for a hundred labels.

    Examples
    --------
    >>> import numpy as np
    >>> meuf_approx(np.array([0.4, 0.3, 0.3, 0.2, 0.1]))
    array([1, 1, 1, 0, 0], dtype=int8)
    """
    wanted = check_positive(tolerance, "tolerance")
    if wanted > _LARGEST_TOLERANCE:
        raise ValueError(f"tolerance must be at most {_LARGEST_TOLERANCE}, got {tolerance!r}.")
    return _independent(p, beta, return_expected, max(wanted, EXACT))


def _independent(p: ArrayLike, beta: float, return_expected: bool, tolerance: float) -> LabelMatrix | LabelSets:
    shares = split_beta(beta)
    descending, order, single = _sort(p)
    counts, expected = _find_counts(descending, shares, tolerance, None)
    return select_output(_switch_on(order, counts), expected, single, return_expected)


def _sort(p: ArrayLike) -> tuple[Floats, Integers, bool]:
    """Return the probabilities of a batch in descending order, that order, and whether it was one instance."""
    given = check_probabilities(p, "p", (1, 2), ("instances", "labels"))
    descending = np.atleast_2d(given)
    order = np.argsort(-descending, axis=1, kind="stable")
    return np.take_along_axis(descending, order, axis=1), order, given.ndim == 1


def _switch_on(order: Integers, counts: Integers) -> LabelMatrix:
    """Return the labels that switch on the first ``counts`` of each instance's order."""
    labels = np.empty(order.shape, np.int8)
    np.put_along_axis(labels, order, (np.arange(order.shape[1]) < counts[:, None]).astype(np.int8), axis=1)
    return labels


def node_factors(rule: ExponentialSum, shares: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return the factors of each node's term for a label that is on and for a label that is chosen."""
    return np.exp(-shares[0] * rule.nodes), np.exp(-shares[1] * rule.nodes)


def _find_counts(
    descending: Floats, shares: tuple[float, float], tolerance: float, given: Integers | None
) -> tuple[Integers, Floats]:
    """Return the best numbers of labels, or the given ones, and the expected measure for independent labels."""
    n, m = descending.shape
    rule = approximate_reciprocal(float(m), tolerance)
    size_factors, count_factors = node_factors(rule, shares)
    counts = np.zeros(n, np.int64) if given is None else given
    expected = np.empty(n)

    def task(_: int, start: int, stop: int) -> None:
        part = slice(start, stop)
        independent_counts(
            descending[part], size_factors, count_factors, rule.weights, given is None, counts[part], expected[part]
        )

    run_blocks(task, block_bounds(n, float(n) * m * rule.nodes.size), available_threads())
    return counts, expected


@overload
def lewis(p: ArrayLike, *, beta: float = ..., return_expected: Literal[False] = ...) -> LabelMatrix: ...
@overload
def lewis(p: ArrayLike, *, beta: float = ..., return_expected: Literal[True]) -> LabelSets: ...
def lewis(p: ArrayLike, *, beta: float = 1.0, return_expected: bool = False) -> LabelMatrix | LabelSets:
    """Return the label set with the largest ratio of expectations for independent labels (Lewis 1995).

    The expected F-measure of a set that is not empty is replaced by
    (1 + beta^2) E[right labels] / (beta^2 E[labels that are on] + chosen labels). That is inexact for few labels;
    `meuf` is exact and hardly slower.

    Parameters
    ----------
    p : array of shape (m,) or (instances, m)
        Probabilities of the labels.
    beta : float, default=1.0
        Weight of recall in F-beta, above zero. An empty prediction for an empty truth counts as 1.
    return_expected : bool, default=False
        Whether to return the expected F-measure of the labels, if they are independent, too.

    Returns
    -------
    labels : int8 array of the shape of p
        The most probable labels, equally probable ones in their order. Of equally good sets the smallest.
    expected : float or array of shape (instances,)
        The true expected F-measure of the labels, not its replacement. With ``return_expected`` only; the two come as a
        named tuple.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([0.3, 0.3, 0.2])
    >>> for rule in (lewis, meuf):
    ...     labels, expected = rule(p, return_expected=True)
    ...     print(labels, round(expected, 4))
    [1 1 0] 0.3524
    [0 0 0] 0.392
    """
    shares = split_beta(beta)
    descending, order, single = _sort(p)
    held = np.cumsum(descending, axis=1)
    ratios = held / (shares[0] * held[:, -1:] + shares[1] * np.arange(1, descending.shape[1] + 1))
    return _evaluate_counts(
        order, descending, _first_best(np.prod(1.0 - descending, axis=1), ratios), shares, single, return_expected
    )


def _first_best(of_none: Floats, of_some: Floats) -> Integers:
    """Return the smallest best number of labels; ``of_some`` holds the values for 1, 2, ... labels."""
    values = np.column_stack([of_none, of_some])
    best: Integers = np.argmax(values >= values.max(axis=1, keepdims=True) * (1.0 - TIE), axis=1)
    return best


def _evaluate_counts(
    order: Integers,
    descending: Floats,
    counts: Integers,
    shares: tuple[float, float],
    single: bool,
    return_expected: bool,
) -> LabelMatrix | LabelSets:
    expected = _find_counts(descending, shares, EXACT, counts)[1] if return_expected else np.empty(0)
    return select_output(_switch_on(order, counts), expected, single, return_expected)


@overload
def hamming(p: ArrayLike, *, beta: float = ..., return_expected: Literal[False] = ...) -> LabelMatrix: ...
@overload
def hamming(p: ArrayLike, *, beta: float = ..., return_expected: Literal[True]) -> LabelSets: ...
def hamming(p: ArrayLike, *, beta: float = 1.0, return_expected: bool = False) -> LabelMatrix | LabelSets:
    """Return the labels with probabilities of at least one half: best for the Hamming loss, not for the F-measure.

    Parameters
    ----------
    p : array of shape (m,) or (instances, m)
        Marginal probabilities of the labels, which may depend on each other.
    beta : float, default=1.0
        Weight of recall in the expected F-beta, above zero. The labels do not depend on it.
    return_expected : bool, default=False
        Whether to return the expected F-measure of the labels, if they are independent, too.

    Returns
    -------
    labels : int8 array of the shape of p
        The labels with probabilities of at least one half.
    expected : float or array of shape (instances,)
        With ``return_expected`` only; the two come as a named tuple.

    Examples
    --------
    >>> import numpy as np
    >>> labels, expected = hamming(np.array([0.9, 0.4, 0.5]), return_expected=True)
    >>> labels, round(expected, 6)
    (array([1, 0, 1], dtype=int8), 0.714)
    """
    shares = split_beta(beta)
    descending, order, single = _sort(p)
    return _evaluate_counts(
        order, descending, np.count_nonzero(descending >= 0.5, axis=1), shares, single, return_expected
    )


@overload
def multinomial(p: ArrayLike, *, beta: float = ..., return_expected: Literal[False] = ...) -> LabelMatrix: ...
@overload
def multinomial(p: ArrayLike, *, beta: float = ..., return_expected: Literal[True]) -> LabelSets: ...
def multinomial(p: ArrayLike, *, beta: float = 1.0, return_expected: bool = False) -> LabelMatrix | LabelSets:
    """Return the label set with the largest expected F-measure for labels of which at most one is on.

    The classes of a multiclass problem are such labels: this is the best set-valued prediction.

    Parameters
    ----------
    p : array of shape (m,) or (instances, m)
        Probabilities of the labels. One minus their sum is the probability that no label is on.
    beta : float, default=1.0
        Weight of recall in F-beta, above zero. An empty prediction for an empty truth counts as 1.
    return_expected : bool, default=False
        Whether to return the expected F-measure of the labels, of which at most one is on, too.

    Returns
    -------
    labels : int8 array of the shape of p
        The most probable labels, equally probable ones in their order. Of equally good sets the smallest.
    expected : float or array of shape (instances,)
        With ``return_expected`` only; the two come as a named tuple.

    Raises
    ------
    ValueError
        If the probabilities of an instance add up to more than 1, or one is outside [0, 1].

    Notes
    -----
    Del Coz, Diez, Bahamonde (2009): the most probable labels are taken until the next is worth less than the sum so
    far divided by k + beta^2.

    Examples
    --------
    >>> import numpy as np
    >>> multinomial(np.array([0.45, 0.4, 0.1, 0.05]), return_expected=True)
    LabelSets(labels=array([1, 1, 0, 0], dtype=int8), expected=0.566...)
    """
    shares = split_beta(beta)
    descending, order, single = _sort(p)
    held = np.cumsum(descending, axis=1)
    above = held[:, -1] > 1.0 + _ABOVE_ONE
    if above.any():
        bad = int(np.argmax(above))
        raise ValueError(
            f"probabilities of labels that exclude each other add up to at most 1, but those of instance {bad} add up "
            f"to {held[bad, -1]}; divide by the sum, or use meuf for independent labels."
        )
    values = held / (shares[0] + shares[1] * np.arange(1, descending.shape[1] + 1))
    of_none = np.maximum(1.0 - held[:, -1], 0.0)
    counts = _first_best(of_none, values)
    expected = np.column_stack([of_none, values])[np.arange(len(descending)), counts]
    return select_output(_switch_on(order, counts), expected, single, return_expected)
