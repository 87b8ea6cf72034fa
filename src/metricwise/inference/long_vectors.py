"""The labels of one long vector, the samples of a binary problem, with the largest expected F-measure."""

from __future__ import annotations

from typing import Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from metricwise._typing import Floats, LabelMatrix
from metricwise.inference.exponential_sums import ExponentialSum, approximate_reciprocal
from metricwise.inference.f_measure_marginals import EXACT, TIE, node_factors
from metricwise.inference.probabilities import check_probabilities, split_beta
from metricwise.kernels.fmeasure import advance_nodes, smallest_best, start_nodes
from metricwise.threads import available_threads, block_bounds, run_blocks

_UNIT = 2.0**-53
_PART = 1 << 16  # samples processed at a time, so that the values of all blocks of nodes stay in the cache


class ExpectedFLabels(NamedTuple):
    """Labels of one long vector, with threshold, expected F-measure and its error.

    Parameters
    ----------
    labels : int8 array
        0 or 1 for each sample.
    threshold : float
        Samples with a probability above it are labelled 1; of samples exactly on it, the first ones may be.
    expected : float
        The expected F-measure of the labels.
    error : float
        The true value differs from ``expected`` by at most this, and no labels exceed ``expected`` by more.

    Examples
    --------
    >>> from metricwise.inference import expected_f_labels
    >>> found = expected_f_labels([0.9, 0.6, 0.2, 0.1], return_details=True)
    >>> found.labels.tolist(), round(found.expected, 3)
    ([1, 1, 0, 0], 0.768)
    """

    labels: LabelMatrix
    threshold: float
    expected: float
    error: float


@overload
def expected_f_labels(p: ArrayLike, *, beta: float = ..., return_details: Literal[False] = ...) -> LabelMatrix: ...
@overload
def expected_f_labels(p: ArrayLike, *, beta: float = ..., return_details: Literal[True]) -> ExpectedFLabels: ...
def expected_f_labels(
    p: ArrayLike, *, beta: float = 1.0, return_details: bool = False
) -> LabelMatrix | ExpectedFLabels:
    """Return the labels of the samples of a binary problem that have the largest expected F-measure over all samples.

    The same as `meuf` of one instance, made for millions of samples: one vector is shared among the cores, and the
    error is bounded.

    Parameters
    ----------
    p : array of shape (samples,)
        Probability of each sample to be positive. Samples are independent.
    beta : float, default=1.0
        Weight of recall in F-beta, above zero. An empty prediction for an empty truth counts as 1.
    return_details : bool, default=False
        Whether to return the threshold, the expected F-measure and the bound of its error too.

    Returns
    -------
    ExpectedFLabels or int8 array
        The labels; with ``return_details`` a named tuple ``labels, threshold, expected, error``.

    Notes
    -----
    The bound is that of the sum of exponentials, 2.2e-16, and of rounding, 8 (m + 100) 2^-53, both relative, together
    with 1e-12 for taking the smallest of nearly equally good sets: 9e-10 for a million samples.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.0, 1.0, 100_001) ** 2
    >>> found = expected_f_labels(p, return_details=True)
    >>> int(found.labels.sum()), round(found.threshold, 4), round(found.expected, 4)
    (40303, 0.3564, 0.7127)
    >>> found.error < 1e-10
    True
    """
    shares = split_beta(beta)
    given = check_probabilities(p, "p", (1,), ("samples",))
    order = np.argsort(-given, kind="stable")
    descending = given[order]
    rule = approximate_reciprocal(float(given.size), EXACT)
    values = _values_of_all_counts(descending, rule, shares)
    count = int(smallest_best(values))
    labels = np.zeros(given.size, np.int8)
    labels[order[:count]] = 1
    if not return_details:
        return labels
    error = rule.error + 8.0 * (given.size + 100) * _UNIT + TIE
    return ExpectedFLabels(labels, _threshold(descending, count), float(values[count]), error)


def _values_of_all_counts(descending: Floats, rule: ExponentialSum, shares: tuple[float, float]) -> Floats:
    """Return the expected measure of the first 0, 1, 2, ... samples."""
    of_size, of_count = node_factors(rule, shares)
    powers, held = np.empty(rule.nodes.size), np.zeros(rule.nodes.size)
    bounds = block_bounds(rule.nodes.size, float(descending.size) * rule.nodes.size)
    threads = available_threads()

    def start(_: int, first: int, last: int) -> None:
        nodes = slice(first, last)
        start_nodes(descending, of_size[nodes], rule.weights[nodes], powers[nodes])

    run_blocks(start, bounds, threads)
    values = np.empty(descending.size + 1)
    values[0] = np.prod(1.0 - descending)
    for at in range(0, descending.size, _PART):
        part = descending[at : at + _PART]
        pieces = np.zeros((len(bounds), part.size))
        values[at + 1 : at + 1 + part.size] = _advance(part, of_size, of_count, powers, held, pieces, bounds, threads)
    return values


def _advance(
    part: Floats,
    of_size: Floats,
    of_count: Floats,
    powers: Floats,
    held: Floats,
    pieces: Floats,
    bounds: list[tuple[int, int]],
    threads: int,
) -> Floats:
    def task(block: int, first: int, last: int) -> None:
        nodes = slice(first, last)
        advance_nodes(part, of_size[nodes], of_count[nodes], powers[nodes], held[nodes], pieces[block])

    run_blocks(task, bounds, threads)
    total: Floats = pieces.sum(axis=0)
    return total


def _threshold(descending: Floats, count: int) -> float:
    """Return the middle between the last sample that is labelled 1 and the first that is not."""
    if count == 0:
        return float(descending[0])
    # Samples of probability zero are never labelled 1, so there is room below the last sample.
    below = float(descending[count]) if count < descending.size else 0.0
    return 0.5 * (float(descending[count - 1]) + below)
