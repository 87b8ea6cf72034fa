"""Resamples of test samples: weights drawn anew, by the Bayesian bootstrap.

The weight of each sample is drawn from an exponential distribution; with groups, all samples of a group share one draw.
Samples that are alike for every model (a pattern) are drawn together, so that a million of them cost no more than a few
thousand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise._typing import Floats, Integers, Mask
from metricwise.decisions.design_effect import small_number_factor
from metricwise.decisions.groups import validate_groups

_BLOCK = 2_000_000  # weights that are drawn at a time


class SampleGroups(NamedTuple):
    """The groups of test samples, which are drawn as a whole.

    Attributes
    ----------
    codes : array of int
        The number of the group of each sample, without gaps.
    variance : float
        Variance of the drawn weight of a group: 1 if groups are many, more if they are few.
    """

    codes: Integers
    variance: float

    @classmethod
    def of(cls, groups: Any, strata: Integers) -> SampleGroups | None:
        """Return the groups of samples; None if there are none.

        Parameters
        ----------
        groups : array or None
            The group of each sample.
        strata : array of int
            The class of each sample; the class that is in fewest groups decides how far weights vary.

        Examples
        --------
        >>> import numpy as np
        >>> SampleGroups.of(["b", "a", "b", "c"], np.zeros(4)).codes
        array([1, 0, 1, 2])
        """
        codes = validate_groups(groups, len(strata))
        return None if codes is None else cls(codes, small_number_factor(codes, strata))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.codes.max()) + 1

    def take(self, samples: NDArray[Any]) -> SampleGroups:
        """Return the groups of some of the samples, whose weights vary as those of all."""
        return self._replace(codes=np.unique(self.codes[samples], return_inverse=True)[1].ravel())

    def draw(self, n_resamples: int, random: np.random.Generator) -> Floats:
        """Return weights of the groups of shape (n_resamples, n_groups), of mean one."""
        shape = (n_resamples, self.n_groups)
        return np.asarray(self.variance * random.standard_gamma(1.0 / self.variance, shape))


@dataclass(frozen=True)
class PatternWeights(ABC):
    """The weight of each pattern of samples, and how it varies between resamples."""

    weight: Floats

    @property
    def n_drawn(self) -> int:
        """Number of weights that one resample draws."""
        return self.weight.size

    @abstractmethod
    def add_unseen(self, samples: float, n_patterns: int) -> Self:
        """Return the weights with further patterns that stand for so many samples or groups of mean weight each."""

    @abstractmethod
    def draw(self, n_resamples: int, random: np.random.Generator) -> Floats:
        """Return the weights of the patterns in resamples, of shape (n_resamples, n_patterns)."""


@dataclass(frozen=True)
class _WeightsOfSamples(PatternWeights):
    """Weights of independent samples: a pattern has as many equally weighted ones as vary as much (Kish)."""

    n_effective: Floats

    def add_unseen(self, samples: float, n_patterns: int) -> Self:
        mean = float(self.weight.sum() / self.n_effective.sum())
        weight, n_effective = (np.full(n_patterns, value) for value in (samples * mean, samples))
        return replace(
            self, weight=np.append(self.weight, weight), n_effective=np.append(self.n_effective, n_effective)
        )

    def draw(self, n_resamples: int, random: np.random.Generator) -> Floats:
        mean = self.weight / self.n_effective
        return np.asarray(mean * random.gamma(self.n_effective, size=(n_resamples, self.weight.size)))


@dataclass(frozen=True)
class _WeightsOfGroups(PatternWeights):
    """Weights of samples in groups, by group and pattern; unseen patterns are groups of their own."""

    by_group: Any
    groups: SampleGroups
    unseen: Floats

    @property
    def n_drawn(self) -> int:
        return max(self.weight.size, self.groups.n_groups)

    def add_unseen(self, samples: float, n_patterns: int) -> Self:
        mean = float(self.weight.sum() / self.groups.n_groups)
        weight = np.append(self.weight, np.full(n_patterns, samples * mean))
        return replace(self, weight=weight, unseen=np.append(self.unseen, np.full(n_patterns, samples)))

    def draw(self, n_resamples: int, random: np.random.Generator) -> Floats:
        seen = self.groups.draw(n_resamples, random) @ self.by_group
        mean = self.weight[seen.shape[1] :] / self.unseen
        unseen = mean * random.gamma(self.unseen, size=(n_resamples, self.unseen.size))
        return np.hstack([seen, unseen])


def _weigh(pattern_of: Integers, weights: Floats, groups: SampleGroups | None) -> PatternWeights:
    """Return the weights of patterns, given the number of the pattern of each sample and the samples' weights."""
    total: Floats = np.bincount(pattern_of, weights=weights).astype(np.float64)
    if groups is None:
        squares: Floats = np.bincount(pattern_of, weights=weights**2).astype(np.float64)
        return _WeightsOfSamples(total, total**2 / squares)
    by_group = sparse.csr_array((weights, (groups.codes, pattern_of)), shape=(groups.n_groups, total.size))
    return _WeightsOfGroups(total, by_group, groups, np.zeros(0))


def distinct_patterns(rows: Mask, weights: Floats, groups: SampleGroups | None = None) -> tuple[Mask, PatternWeights]:
    """Return the distinct rows of a table of booleans, and the weights of the samples that have them.

    Parameters
    ----------
    rows : array of bool
        One row per sample.
    weights : array
        Weights of the samples.
    groups : SampleGroups, optional
        Their groups.
    """
    packed = np.packbits(rows, axis=1)
    codes = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, pattern_of = np.unique(codes, return_index=True, return_inverse=True)
    return rows[first], _weigh(pattern_of.ravel(), weights, groups)


def distinct_codes(
    rows: NDArray[np.int64], weights: Floats, groups: SampleGroups | None = None
) -> tuple[NDArray[np.int64], PatternWeights]:
    """Return the distinct rows of a table of small numbers, and the weights of the samples that have them.

    Parameters
    ----------
    rows : array of int
        One row per sample.
    weights : array
        Weights of the samples.
    groups : SampleGroups, optional
        Their groups.
    """
    codes = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:  # numbered anew after each column, so that codes stay small
        codes = np.unique(codes * (int(column.max()) + 1) + column, return_inverse=True)[1].ravel()
    _, first, pattern_of = np.unique(codes, return_index=True, return_inverse=True)
    return rows[first], _weigh(pattern_of.ravel(), weights, groups)


def draw_weights(patterns: PatternWeights, resamples: int, random: np.random.Generator) -> Iterator[Floats]:
    """Yield blocks of drawn weights, one resample per row; the weight of a pattern is the sum of those of its samples.

    Parameters
    ----------
    patterns : PatternWeights
        The patterns.
    resamples : int
        How many to draw; fewer are if the patterns are very many.
    random : Generator
        Random generator.
    """
    size = max(1, min(resamples, _BLOCK // patterns.n_drawn))
    resamples = resamples if size >= 100 else 200
    for start in range(0, resamples, size):
        yield patterns.draw(min(size, resamples - start), random)
