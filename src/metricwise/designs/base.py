"""The design: all that solvers and decisions know of the data matrix X.

Two protocols describe it. `MatrixProducts` is what can be multiplied: X w and X' c. `SampleAccess` is what can be
looked at: subsets, copies in memory and fingerprints of samples. A `Design` is both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from metricwise._typing import Floats, Hashes, Indices
from metricwise.rounding import RoundingErrors

ScoresT_co = TypeVar("ScoresT_co", covariant=True)
CoefficientsT_contra = TypeVar("CoefficientsT_contra", contravariant=True)


class MatrixProducts(Protocol[ScoresT_co, CoefficientsT_contra]):
    """A data matrix X, with a constant column at the end if there is an intercept, seen through its products.

    ``shape`` counts that virtual column. Implementations never copy, densify or extend the matrix they are given.
    Weights are vectors with one entry per column of X, or represent functions that are not written down as such
    (`KernelDesign`): solvers add and scale them, and measure them by `covector`. Scores are one number per sample, or a
    handle of numbers that stay with the samples (`RemoteDesign`).
    """

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def threads(self) -> int:
        """How many threads may compute products."""
        ...

    @property
    def bytes_moved(self) -> int:
        """Bytes that products have moved between processes so far; 0 for samples in this one."""
        ...

    def scores(self, w: Floats) -> ScoresT_co:
        """Return X w."""
        ...

    def combine(self, c: CoefficientsT_contra) -> Floats:
        """Return X' c."""
        ...

    def covector(self, w: Floats) -> Floats:
        """Return the vector whose product with any weights is their inner product with ``w``."""
        ...

    def portable(self, w: Floats) -> Floats:
        """Return weights in a form that does not depend on which samples this design lists."""
        ...


@runtime_checkable
class BoundsRounding(Protocol):
    """A design that bounds the rounding errors of its products; one whose samples are elsewhere does not."""

    def recompute_values(self, w: Floats) -> Floats:
        """Return the same weights without the rounding errors that sums of weights have gathered."""
        ...

    def estimate_error(self, w: Floats) -> float:
        """Return about how large the rounding error of the square of weights may be, at little cost."""
        ...

    def rounding_errors(self, w: Floats, g: Floats, mass: Floats, n_terms: int) -> RoundingErrors:
        """Return the errors of the scores and the square of weights w, and of the square of a combination g of samples.

        The values of w are recomputed (`recompute_values`). Every coefficient of g is a sum of ``n_terms`` terms, whose
        absolute values add up to ``mass`` at most. One pass over the samples.
        """
        ...


class SampleAccess(Protocol):
    """Samples that can be selected, brought into memory and compared."""

    @property
    def is_sparse(self) -> bool: ...

    @property
    def most_gathered(self) -> int:
        """How many samples `gather` may bring into memory."""
        ...

    def take(self, samples: Indices) -> Self:
        """Return the design of some samples, by their positions within this design; the matrix is shared."""
        ...

    def gather(self, samples: Indices) -> Design:
        """Return the design of some samples, as `take` does, with copies of all of them next to each other in memory.

        Samples that are far apart take several times longer to read.
        """
        ...

    def fingerprints(self, seed: int = 0) -> Hashes:
        """Return one hash per sample, equal for equal samples whatever their storage."""
        ...


class Design(MatrixProducts[Floats, Floats], SampleAccess, Protocol):
    """A data matrix whose scores are vectors and whose samples can be looked at."""

    def scores_by(self, model: Floats) -> Floats:
        """Return the scores that portable weights give to the samples of this design."""
        ...


DesignT = TypeVar("DesignT", bound=Design)


def iterate_blocks(design: DesignT, size: int) -> Iterator[DesignT]:
    """Yield the designs of consecutive samples, at most ``size`` each.

    Examples
    --------
    >>> from metricwise.designs import make_design
    >>> [block.shape[0] for block in iterate_blocks(make_design(np.eye(5)), 2)]
    [2, 2, 1]
    """
    n_samples = design.shape[0]
    for start in range(0, n_samples, size):
        yield design.take(np.arange(start, min(start + size, n_samples)))


def sample_sizes(n_pos: int, n_neg: int, n_samples: int) -> tuple[int, int]:
    """Return how many samples of both classes a stratified subsample has, at least one of each.

    Examples
    --------
    >>> sample_sizes(10, 990, 200), sample_sizes(1, 999, 10)
    ((2, 198), (1, 9))
    """
    few_pos = min(max(round(n_samples * n_pos / (n_pos + n_neg)), 1), n_pos)
    return few_pos, min(max(n_samples - few_pos, 1), n_neg)
