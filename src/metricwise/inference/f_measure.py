"""Label sets with the largest expected F-measure under any joint distribution of the labels.

Dembczynski, Waegeman, Cheng, Hullermeier 2011, *An Exact Algorithm for F-Measure Maximization* (GFM), for F-beta:

1. A set of k labels has the expected measure: sum over its labels i of
   gain(i, k) = sum over s of (1 + beta^2) p(y_i = 1, s labels) / (beta^2 s + k).
2. For each k the best set holds the k labels with the largest gains (GFM), or, restricted to the order of the marginal
   probabilities, the k most probable labels (GFM-T).
3. The best of these sets, and of the empty one, whose expected measure is p(no labels), is the answer.

Only sizes s that occur are summed over, and only those k are tried whose upper bound reaches the best value so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from metricwise._typing import Floats, LabelMatrix
from metricwise.inference.probabilities import check_joint, check_samples, split_beta
from metricwise.kernels.fmeasure import dense_sample_sets, joint_sets, sparse_sample_sets
from metricwise.raw_inputs import check_sparse
from metricwise.threads import available_threads, block_bounds, run_blocks


class LabelSets(NamedTuple):
    """Labels (0 or 1) and their expected F-measure, of one instance or a batch.

    Parameters
    ----------
    labels : array of int8, of shape (n_labels,) or (n_instances, n_labels)
        Zeros and ones.
    expected : float or array of shape (n_instances,)
        Expected F-measure of these labels.

    Examples
    --------
    >>> from metricwise.inference import gfm, multinomial, LabelSets
    >>> LabelSets([1, 0, 1], 0.8).expected
    0.8
    """

    labels: LabelMatrix
    expected: Any


@overload
def gfm(
    P: ArrayLike, p_zero: ArrayLike, *, beta: float = ..., consistent: bool = ..., return_expected: Literal[False] = ...
) -> LabelMatrix: ...
@overload
def gfm(
    P: ArrayLike, p_zero: ArrayLike, *, beta: float = ..., consistent: bool = ..., return_expected: Literal[True]
) -> LabelSets: ...
def gfm(
    P: ArrayLike, p_zero: ArrayLike, *, beta: float = 1.0, consistent: bool = True, return_expected: bool = False
) -> LabelMatrix | LabelSets:
    """Return the label set with the largest expected F-measure, exact for every joint distribution (GFM).

    Parameters
    ----------
    P : array of shape (m, m) or (instances, m, m)
        ``P[i, s - 1]`` is the probability that label i is on *and* that s labels are on in all: rows are labels,
        columns the sizes 1 to m. This, with ``p_zero``, is all that matters of the joint distribution.
    p_zero : float or array of shape (instances,)
        Probability that no label is on.
    beta : float, default=1.0
        Weight of recall in F-beta, above zero. An empty prediction for an empty truth counts as 1.
    consistent : bool, default=True
        Whether to insist that ``P`` and ``p_zero`` can belong to one distribution: that the probabilities of all sizes
        add up to 1, and that no entry of ``P`` is above that of its size. Estimates of single entries need not.
    return_expected : bool, default=False
        Whether to return the expected F-measure of the labels too.

    Returns
    -------
    labels : int8 array of shape (m,) or (instances, m)
        Of equally good sets one with fewest labels, and of those the first labels.
    expected : float or array of shape (instances,)
        With ``return_expected`` only; the two come as a named tuple.

    See Also
    --------
    gfm_from_samples : The same from samples of the distribution.
    meuf : For independent labels, from their probabilities alone.

    Notes
    -----
    Takes O(m^2) times the number of sizes that occur, at most. Dembczynski, Waegeman, Cheng, Hullermeier (2011).

    Examples
    --------
    Label 0 is alone half of the time; else it is off and labels 1 and 2, or 1 and 3, are on.

    >>> import numpy as np
    >>> P = np.zeros((4, 4))
    >>> P[0, 0] = 0.5
    >>> P[[1, 2, 3], 1] = [0.5, 0.25, 0.25]
    >>> labels, expected = gfm(P, 0.0, return_expected=True)
    >>> labels, round(expected, 3)
    (array([1, 1, 0, 0], dtype=int8), 0.583)
    """
    return _from_joint(P, p_zero, beta, consistent, return_expected, ordered=False)


@overload
def gfm_threshold(
    P: ArrayLike, p_zero: ArrayLike, *, beta: float = ..., consistent: bool = ..., return_expected: Literal[False] = ...
) -> LabelMatrix: ...
@overload
def gfm_threshold(
    P: ArrayLike, p_zero: ArrayLike, *, beta: float = ..., consistent: bool = ..., return_expected: Literal[True]
) -> LabelSets: ...
def gfm_threshold(
    P: ArrayLike, p_zero: ArrayLike, *, beta: float = 1.0, consistent: bool = True, return_expected: bool = False
) -> LabelMatrix | LabelSets:
    """Return the best label set among those that hold the most probable labels (GFM-T).

    That is as good as `gfm` for independent and for mutually exclusive labels. In general it can lose: the best set
    need not follow the order of the marginal probabilities, and the expected measure can be smaller by nearly 1/6.

    Parameters
    ----------
    P : array of shape (m, m) or (instances, m, m)
        ``P[i, s - 1]`` is the probability that label i is on *and* that s labels are on in all: rows are labels,
        columns the sizes 1 to m.
    p_zero : float or array of shape (instances,)
        Probability that no label is on.
    beta : float, default=1.0
        Weight of recall in F-beta, above zero. An empty prediction for an empty truth counts as 1.
    consistent : bool, default=True
        Whether to insist that ``P`` and ``p_zero`` can belong to one distribution: that the probabilities of all sizes
        add up to 1, and that no entry of ``P`` is above that of its size. Estimates of single entries need not.
    return_expected : bool, default=False
        Whether to return the expected F-measure of the labels too.

    Returns
    -------
    labels : int8 array of shape (m,) or (instances, m)
        The best set. Labels of equal marginal probability are added in their order.
    expected : float or array of shape (instances,)
        With ``return_expected`` only; the two come as a named tuple.

    Notes
    -----
    Takes O(m) times the number of sizes that occur. Dembczynski, Waegeman, Cheng, Hullermeier (2011), Section 3.

    Examples
    --------
    >>> import numpy as np
    >>> gfm_threshold(np.array([[0.3, 0.2], [0.1, 0.2]]), 0.4, return_expected=True)
    LabelSets(labels=array([1, 1], dtype=int8), expected=0.466...)
    """
    return _from_joint(P, p_zero, beta, consistent, return_expected, ordered=True)


def _from_joint(
    joint: ArrayLike, p_zero: ArrayLike, beta: float, consistent: bool, return_expected: bool, ordered: bool
) -> LabelMatrix | LabelSets:
    shares = split_beta(beta)
    mass, zero, single = check_joint(joint, p_zero, consistent)
    n, m = mass.shape[:2]
    labels, expected = np.zeros((n, m), np.int8), np.empty(n)

    def task(_: int, start: int, stop: int) -> None:
        part = slice(start, stop)
        joint_sets(mass[part], zero[part], ordered, *shares, labels[part], expected[part])

    run_blocks(task, block_bounds(n, float(n) * m * m * (1 if ordered else m)), available_threads())
    return select_output(labels, expected, single, return_expected)


def select_output(
    labels: LabelMatrix, expected: Floats, single: bool, return_expected: bool
) -> LabelMatrix | LabelSets:
    """Return the labels, with their expected measure if asked for, without the axis of a single instance."""
    if not return_expected:
        return labels[0] if single else labels
    return LabelSets(labels[0], float(expected[0])) if single else LabelSets(labels, expected)


@overload
def gfm_from_samples(
    samples: Any, *, beta: float = ..., ordered: bool = ..., return_expected: Literal[False] = ...
) -> LabelMatrix: ...
@overload
def gfm_from_samples(
    samples: Any, *, beta: float = ..., ordered: bool = ..., return_expected: Literal[True]
) -> LabelSets: ...
def gfm_from_samples(
    samples: Any, *, beta: float = 1.0, ordered: bool = False, return_expected: bool = False
) -> LabelMatrix | LabelSets:
    """Return the label set with the largest average F-measure over samples of the label distribution (GFM).

    Parameters
    ----------
    samples : array of shape (samples, m) or (instances, samples, m), sparse matrix, or list of sparse matrices
        Label sets of 0 and 1 drawn from the distribution of one instance or of several. A scipy sparse matrix (samples
        x labels) is one instance, a list of them a batch, in which the numbers of samples may differ.
    beta : float, default=1.0
        Weight of recall in F-beta, above zero. An empty prediction for an empty truth counts as 1.
    ordered : bool, default=False
        Whether to keep to the order of the marginal probabilities, as `gfm_threshold` does.
    return_expected : bool, default=False
        Whether to return the average F-measure of the labels over the samples too.

    Returns
    -------
    labels : int8 array of shape (m,) or (instances, m)
        Of equally good sets one with fewest labels, and of those the first labels.
    expected : float or array of shape (instances,)
        With ``return_expected`` only; the two come as a named tuple.

    Examples
    --------
    >>> import numpy as np
    >>> samples = np.array([[1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 0, 0]])
    >>> gfm_from_samples(samples, return_expected=True)
    LabelSets(labels=array([1, 1, 1], dtype=int8), expected=0.525)
    """
    shares = split_beta(beta)
    if sp.issparse(samples):
        return _from_sparse([samples], True, shares, ordered, return_expected)
    if isinstance(samples, (list, tuple)) and samples and sp.issparse(samples[0]):
        return _from_sparse(samples, False, shares, ordered, return_expected)
    binary, single = check_samples(samples)
    n, n_drawn, m = binary.shape
    labels, expected = np.zeros((n, m), np.int8), np.empty(n)

    def task(_: int, start: int, stop: int) -> None:
        part = slice(start, stop)
        dense_sample_sets(binary[part], ordered, *shares, labels[part], expected[part])

    run_blocks(task, block_bounds(n, float(n) * n_drawn * m), available_threads())
    return select_output(labels, expected, single, return_expected)


def _from_sparse(
    batch: Sequence[Any], single: bool, shares: tuple[float, float], ordered: bool, return_expected: bool
) -> LabelMatrix | LabelSets:
    for instance, matrix in enumerate(batch):
        _check_sparse(matrix, "samples" if single else f"samples[{instance}]", batch[0].shape[-1])
    stacked = sp.csr_array(sp.vstack(batch, format="csr"), copy=True)
    stacked.sum_duplicates()
    stacked.eliminate_zeros()
    starts = np.concatenate([[0], np.cumsum([matrix.shape[0] for matrix in batch])]).astype(np.int64)
    indptr, indices = stacked.indptr.astype(np.int64), stacked.indices.astype(np.int64)
    n, m = len(batch), stacked.shape[1]
    labels, expected = np.zeros((n, m), np.int8), np.empty(n)

    def task(_: int, start: int, stop: int) -> None:
        part = slice(start, stop)
        sparse_sample_sets(indptr, indices, starts, start, ordered, *shares, labels[part], expected[part])

    run_blocks(task, block_bounds(n, float(stacked.nnz) + n * m), available_threads())
    return select_output(labels, expected, single, return_expected)


def summarize_joint(vectors: LabelMatrix, joint: Floats) -> tuple[Floats, Floats]:
    """Return what `gfm` takes, given all label vectors and the probability of each for every instance.

    That is P[instance, i, s - 1] = p(y_i = 1, |y| = s), and the probability of no label at all.
    """
    n_labels = vectors.shape[1]
    sizes = vectors.sum(axis=1)
    P = np.zeros((joint.shape[0], n_labels, n_labels))
    for size in range(1, n_labels + 1):
        of_size = sizes == size
        P[:, :, size - 1] = joint[:, of_size] @ vectors[of_size]
    return P, joint[:, sizes == 0].sum(axis=1)


def _check_sparse(matrix: Any, name: str, m: int) -> None:
    """Raise ValueError unless a sparse matrix holds samples of m labels, and entries 0 and 1 alone."""
    if not sp.issparse(matrix):
        raise ValueError(
            f"{name} is of type {type(matrix).__name__}; in a list with sparse samples all must be sparse."
        )
    if matrix.ndim != 2 or 0 in matrix.shape or matrix.shape[1] != m:
        raise ValueError(
            f"{name} must be of shape (samples, {m} labels), with at least one of both; got {matrix.shape}."
        )
    entries = sp.coo_array(check_sparse(matrix, name), copy=True)
    entries.sum_duplicates()
    wrong = np.flatnonzero((entries.data != 0) & (entries.data != 1))
    if wrong.size:
        sample, label = (int(axis[wrong[0]]) for axis in (entries.row, entries.col))
        raise ValueError(
            f"samples must hold 0 and 1, but {name}[{sample}, {label}] (sample {sample}, label {label}) is "
            f"{entries.data[wrong[0]]}; draw label sets, not probabilities."
        )
